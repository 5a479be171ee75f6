/* SPDX-License-Identifier: MIT */
/* virtual.h - what the shim becomes in the virtual build: calls into the engine that has the floor.
 *
 * One OS thread runs all fibers; an operation of the shim is a place where the engine may let another
 * fiber go first. The checker (engine/check/) chooses by a strategy; the simulator by virtual time.
 */
#pragma once

#include "engine/words.h"

enum vt_kind {
    VT_LOAD,
    VT_STORE,
    VT_xchg,
    VT_add,
    VT_sub,
    VT_or,
    VT_and,
    VT_xor, /* of litmus tests: the shim has none */
    VT_CAS,
    VT_READ,
    VT_WRITE
};
#define VT_KINDS (VT_WRITE + 1)

struct vt_access {
    enum vt_kind kind;
    void *addr;
    unsigned width;
    int order;
    uint64_t value, expected;
    const struct eng_site *site;
};

struct vt_engine {
    /* by kind, so that an engine can have a way of its own for each. Load: the value; RMW: the old
     * value */
    uint64_t (*access[VT_KINDS])(const struct vt_access *a);
    void (*fence)(int order, const struct eng_site *site);
    int (*await)(const struct eng_term *terms, unsigned n, const struct eng_giveup *giveup,
                 uint64_t *seen, const struct eng_site *site);
    void (*relax)(uint32_t turns, const struct eng_site *site);
    void (*yield)(const struct eng_site *site);
    enum eng_park_result (*park)(const struct eng_giveup *giveup, const struct eng_site *site);
    void (*unpark)(struct eng_thread *t, const struct eng_site *site);
    struct eng_thread *(*self)(void);
    struct eng_bkl *(*bkl)(void); /* of the thread that runs */
    bool (*on_cpu)(const struct eng_thread *t, const struct eng_site *site);
    bool (*need_resched)(const struct eng_site *site);
    bool (*cancelled)(const struct eng_site *site);
    uint64_t (*now)(void);
    unsigned (*cpu)(void);
    uint64_t (*random)(void);
    void (*delay)(uint64_t ns, const struct eng_site *site);
    void (*count)(enum ll_event ev);
    void (*doorway)(void);
    void (*mark)(enum eng_mark mark, bool shared, const struct eng_site *site);
    void (*freed)(const void *base, size_t size);
};

extern const struct vt_engine *vt_engine
    __attribute__((visibility("hidden"))); /* set while a program runs */

void vt_bkl_acquire(void);
void vt_bkl_release(void);
uint32_t vt_bkl_drop(void);
void vt_bkl_retake(uint32_t depth);
void vt_sleep(uint64_t ns, const struct eng_site *site);
enum eng_park_result vt_park(const struct eng_giveup *giveup, const struct eng_site *site);

LL_TEMPLATE uint64_t vt_access(const struct vt_access *a)
{
    return vt_engine->access[a->kind](a);
}
LL_TEMPLATE void vt_fence(int order, const struct eng_site *site)
{
    vt_engine->fence(order, site);
}
LL_TEMPLATE uint32_t vt_backoff(uint32_t n, uint32_t max, const struct eng_site *site)
{
    vt_engine->count(LL_EV_backoff);
    vt_engine->relax(n, site);
    return n < max / 2 ? 2 * n : max;
}
