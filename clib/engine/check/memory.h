/* SPDX-License-Identifier: MIT */
/* memory.h - cells, values, store buffers and happens-before. Internal to engine/check/. */
#pragma once

#include "core/error.h"
#include "engine/check/machine.h"

/* In the program's memory, or CK_NO_OFFSET. */
uint32_t ck_offset(const void *addr);
/* The cell, made fresh if this execution has not used it yet. */
struct ck_cell *ck_cell(uint32_t i);
/* The cells of these bytes, at most 8; divides some if need be. The address must be in memory. */
uint32_t ck_cells(const void *addr, uint32_t width, uint16_t *out);
/* May the current thread touch these bytes? If not, a fault has been noted. */
bool ck_allowed(const struct vt_access *a);

uint64_t ck_memory_value(const void *addr, uint32_t width);
/* What the cell holds, as an integer; of a permit, whether it is there. */
uint64_t ck_cell_bits(uint32_t i);
void ck_memory_set(void *addr, uint32_t width, uint64_t value);

enum ck_cover { CK_IN_MEMORY, CK_FORWARDED, CK_PARTLY };
/* The newest store in t's buffer that overlaps; CK_PARTLY: it does not have all the bytes, and a
 * load waits until it has reached memory, as on the machines. */
enum ck_cover ck_find_store(struct eng_thread *t, const void *addr, uint32_t width,
                            struct ck_store **found);
/* What t reads there; *from (may be NULL): the buffered store it comes from, or NULL. */
uint64_t ck_value(struct eng_thread *t, const void *addr, uint32_t width, struct ck_store **from);
/* For the next relax. */
void ck_remember(struct eng_thread *t, const void *addr, uint32_t width, uint64_t value);

void ck_hb_read(struct eng_thread *t, bool acquire, uint32_t n, const uint16_t *cell);
/* What a store of t, released or relaxed, hands to those who read it. */
ck_vc ck_hb_release(struct eng_thread *t, bool release);
void ck_hb_write(ck_vc released, bool rmw, uint32_t n, const uint16_t *cell);
void ck_hb_fence(struct eng_thread *t, int order);
/* A plain access: notes a fault if it races. */
void ck_hb_plain(struct eng_thread *t, const struct vt_access *a);
