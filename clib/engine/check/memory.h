/* SPDX-License-Identifier: MIT */
/* memory.h - cells, values, store buffers and happens-before. Internal to engine/check/. */
#pragma once

#include "core/error.h"
#include "engine/check/machine.h"

/* In the program's memory, or CK_NO_OFFSET. */
uint32_t ck_offset(const void *addr);
void ck_cell_fresh(struct ck_cell *c);

/* The cell, made fresh if this execution has not used it yet. */
static inline struct ck_cell *ck_cell(uint32_t i)
{
    struct ck_cell *c = &ck.cell[i];

    if (LL_UNLIKELY(c->stamp != ck.stamp))
        ck_cell_fresh(c);
    return c;
}
/* The cells of these bytes, at most 8; divides some if need be. The address must be in memory. */
uint32_t ck_cells(const void *addr, uint32_t width, uint16_t *out);
/* May the current thread touch these bytes? If not, a fault has been noted. */
bool ck_allowed_slowly(const struct vt_access *a);
/* The same of a store that leaves its buffer. */
void ck_judge_flush(const struct eng_thread *t, const struct ck_store *store);

/* The cell that has exactly these bytes, if there is one and all is well with it; else 0. */
static inline uint32_t ck_whole_cell(const void *addr, uint32_t width)
{
    size_t offset = (size_t)((const char *)addr - ck.memory);
    uint32_t whole;

    if (LL_UNLIKELY(offset >= ck.whole_size))
        return 0;
    whole = ck.whole[offset];
    return LL_LIKELY((whole & 0xff) == width) ? whole >> 8 : 0;
}

static inline uint64_t ck_memory_value(const void *addr, uint32_t width)
{
    uint64_t v = 0;

    if (LL_LIKELY(width == 8))
        memcpy(&v, addr, 8);
    else if (width == 4)
        memcpy(&v, addr, 4);
    else if (width == 2)
        memcpy(&v, addr, 2);
    else
        v = *(const uint8_t *)addr;
    return v; /* little endian, as everything here */
}

static inline void ck_memory_set(void *addr, uint32_t width, uint64_t value)
{
    if (LL_LIKELY(width == 8))
        memcpy(addr, &value, 8);
    else if (width == 4)
        memcpy(addr, &value, 4);
    else if (width == 2)
        memcpy(addr, &value, 2);
    else
        *(uint8_t *)addr = (uint8_t)value;
}

/* What the cell holds, as an integer; of a permit, whether it is there. */
uint64_t ck_cell_bits(uint32_t i);

enum ck_cover { CK_IN_MEMORY, CK_FORWARDED, CK_PARTLY };
/* The newest store in t's buffer that overlaps; CK_PARTLY: it does not have all the bytes, and a
 * load waits until it has reached memory, as on the machines. */
enum ck_cover ck_find_store(struct eng_thread *t, const void *addr, uint32_t width,
                            struct ck_store **found);
/* What t, which has stores in its buffer, reads there. */
uint64_t ck_value_buffered(struct eng_thread *t, const void *addr, uint32_t width,
                           struct ck_store **from);

/* What t reads there; *from (may be NULL): the buffered store it comes from, or NULL. */
static inline uint64_t ck_value(struct eng_thread *t, const void *addr, uint32_t width,
                                struct ck_store **from)
{
    if (LL_UNLIKELY(t->buffered))
        return ck_value_buffered(t, addr, width, from);
    if (from)
        *from = NULL;
    return ck_memory_value(addr, width);
}
/* For the next relax. */
void ck_remember(struct eng_thread *t, const void *addr, uint32_t width, uint64_t value);
/* ... and has written there itself: not news to it. */
void ck_remember_own(struct eng_thread *t, const void *addr, uint32_t width, uint64_t value);

void ck_hb_read(struct eng_thread *t, bool acquire, uint32_t n, const uint16_t *cell);
/* What a store of t, released or relaxed, hands to those who read it. */
static inline ck_vc ck_hb_release(struct eng_thread *t, bool release)
{
    ck_vc out = t->vc;

    if (!release)
        return t->fence_released;
    t->vc[t->index]++;
    return out;
}
void ck_hb_write(ck_vc released, bool rmw, uint32_t n, const uint16_t *cell);
void ck_hb_fence(struct eng_thread *t, int order);
/* A plain access of a cell: notes a fault if it races. */
void ck_hb_race_written(struct eng_thread *t, const struct vt_access *a, const struct ck_cell *c);
void ck_hb_race_read(struct eng_thread *t, const struct vt_access *a, const struct ck_cell *c);

static inline bool ck_vc_any(ck_vc v)
{
    union {
        ck_vc v;
        uint64_t word[2];
    } u = {v};

    return u.word[0] | u.word[1];
}

LL_TEMPLATE void ck_hb_plain_cell(struct eng_thread *t, const struct vt_access *a,
                                  enum vt_kind kind, struct ck_cell *c)
{
    if (LL_UNLIKELY(c->wrote_at > t->vc[c->wrote_by])) /* its own writes are not later */
        ck_hb_race_written(t, a, c);
    if (kind == VT_READ) {
        c->read_at[t->index] = t->vc[t->index];
        c->read_site[t->index] = a->site;
        return;
    }
    if (LL_UNLIKELY(ck_vc_any(c->read_at > t->vc))) /* nor its own reads */
        ck_hb_race_read(t, a, c);
    c->wrote_by = (uint8_t)t->index;
    c->wrote_at = t->vc[t->index];
    c->write_site = a->site;
}
/* The same; cell: as ck_whole_cell says. */
void ck_hb_plain_slowly(struct eng_thread *t, const struct vt_access *a);

LL_TEMPLATE void ck_hb_plain(struct eng_thread *t, const struct vt_access *a, enum vt_kind kind,
                             uint32_t cell)
{
    if (LL_LIKELY(cell))
        ck_hb_plain_cell(t, a, kind, ck_cell(cell));
    else
        ck_hb_plain_slowly(t, a);
}
