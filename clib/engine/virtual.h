/* SPDX-License-Identifier: MIT */
/* virtual.h - fibers that switch at every shim operation.
 *
 * One OS thread runs all fibers; each operation of the shim is a scheduling point *before* it takes
 * effect. Who goes on is decided by a policy: round robin or seeded random here, an explorer or a
 * simulated machine later; fiber mechanics and policy are kept apart. An await that does not hold
 * disables its fiber until one of its terms holds or its reason to give up applies. Time is virtual:
 * one ns an operation, and whatever eng_delay asks for.
 */
#pragma once

#include "engine/words.h"

#define VT_MAX_FIBERS 64u
#define VT_MAX_OBJECTS 256u

enum vt_kind {
    VT_LOAD,
    VT_STORE,
    VT_xchg,
    VT_add,
    VT_sub,
    VT_or,
    VT_and,
    VT_CAS,
    VT_READ,
    VT_WRITE
};

struct vt_access {
    enum vt_kind kind;
    void *addr;
    unsigned width;
    int order;
    uint64_t value, expected;
    const struct eng_site *site;
};

/* ---- what the shim calls ---- */
uint64_t vt_access(const struct vt_access *a); /* load: the value; RMW: the old value */
void vt_fence(int order, const struct eng_site *site);
int vt_await(const struct eng_term *terms, unsigned n, const struct eng_giveup *giveup,
             uint64_t *seen, const struct eng_site *site);
void vt_relax(uint32_t turns, const struct eng_site *site);
uint32_t vt_backoff(uint32_t n, uint32_t max, const struct eng_site *site);
void vt_yield(const struct eng_site *site);
enum eng_park_result vt_park(uint64_t deadline_ns, const struct eng_site *site);
void vt_unpark(struct eng_thread *t, const struct eng_site *site);
struct eng_thread *vt_self(void);
bool vt_on_cpu(const struct eng_thread *t);
bool vt_need_resched(void);
bool vt_cancelled(void);
void vt_preempt(int delta);
void vt_irq(int delta);
void vt_irq_point(void);
uint64_t vt_now(void);
unsigned vt_cpu(void);
uint64_t vt_random(void);
void vt_delay(uint64_t ns);
void vt_count(enum ll_event ev);
void vt_doorway(void);
void vt_sync_point(const char *name);

/* ---- what a test or an engine calls ---- */
enum vt_policy { VT_ROUND_ROBIN, VT_SEEDED };

struct ll_field;

struct vt_options {
    unsigned fibers; /* 1 .. VT_MAX_FIBERS */
    void (*body)(unsigned fiber, void *arg);
    void *arg;
    enum vt_policy policy;
    uint64_t seed;
    uint64_t max_operations; /* the run is cut there; 0: 1,000,000 */
    /* VT_SEEDED: after one in so many operations some fiber is told need_resched; 0: never */
    uint32_t resched_one_in;
};

struct vt_report {
    bool complete; /* every fiber ended */
    bool deadlock; /* fibers are left and none can go on */
    bool cut;      /* max_operations */
    uint64_t operations, switches;
    uint64_t awaits_blocked; /* awaits that did not hold at first */
    uint64_t relaxes, parks_blocked, gave_up;
    uint64_t uncovered; /* accesses to an object's byte that no field covers */
    uint64_t
        fifo_inversions; /* fibers that were let in before one that passed its doorway earlier */
    uint64_t events[LL_EVENT_COUNT];
    char text[512]; /* deadlock: who waits where; uncovered: the first */
};

/* Declares memory whose fields are known, for the check that every access is covered. Objects are
 * forgotten at the end of vt_run. `plain`: no fields, every byte is allowed. */
void vt_register(const void *base, size_t size, const char *name, const struct ll_field *fields);

/* Runs the fibers to their end. Not re-entrant; one vt_run at a time in a process.
 * 0 or -ENOMEM, -EINVAL. */
int vt_run(const struct vt_options *options, struct vt_report *report);

/* For clients: this fiber has been let in (for the order of doorways). */
void vt_entered(void);
