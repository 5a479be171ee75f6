/* SPDX-License-Identifier: MIT */
/* memory.c - the program's memory as cells, store buffers, and what happens before what.
 *
 * Happens-before follows the C11 orders as they are written, whatever the memory model: a release
 * store puts the thread's clock into its cells, an acquire load takes it from there; a relaxed store
 * puts what the last release fence saw (nothing without one: as in C++20, a later relaxed store of the
 * same thread does not go on with an older release); a read-modify-write adds to what it finds.
 * A plain access that is not ordered after the conflicting ones before it is a race.
 */
#include "engine/check/memory.h"

uint32_t ck_offset(const void *addr)
{
    size_t at = (size_t)((const char *)addr - ck.memory);

    return at < ck.memory_size ? (uint32_t)at : CK_NO_OFFSET;
}

static const struct ck_object *object_at(uint32_t offset)
{
    for (uint32_t i = 0; i < ck.program->n_objects; i++) {
        const struct ck_object *o = &ck.program->object[i];
        uint32_t base = ck_offset(o->base);
        if (offset >= base && offset < base + o->size)
            return o;
    }
    return NULL;
}

/* Does the descriptor of the object name all these bytes? */
static bool covered(uint32_t offset, uint32_t end)
{
    const struct ck_object *o = object_at(offset);
    uint32_t base;

    if (!o)
        return false;
    base = ck_offset(o->base);
    if (end > base + o->size)
        return false;
    for (; o->judged && offset < end; offset++) {
        const struct ll_field *f = o->fields;
        while (f && f->name && !(offset - base >= f->offset && offset - base < f->offset + f->size))
            f++;
        if (!f || !f->name)
            return false;
    }
    return true;
}

/* So that an access which has exactly the cell's bytes finds it in one look. */
static void note_whole(uint32_t i)
{
    const struct ck_cell *c = &ck.cell[i];
    uint32_t width = c->end - c->offset;

    ck.whole[c->offset] = width <= 8 && !c->uncovered ? CK_WHOLE(i, width) : 0;
}

static uint32_t new_cell(uint32_t offset, uint32_t end)
{
    uint32_t i = ck.n_cells;
    struct ck_cell *c = &ck.cell[i];

    LL_ASSERT(i < CK_CELLS);
    ck.n_cells++;
    memset(c, 0, sizeof(*c));
    c->offset = offset;
    c->end = end;
    c->uncovered = !covered(offset, end);
    for (uint32_t b = offset; b < end; b++)
        ck.cell_of[b] = (uint16_t)i;
    note_whole(i);
    return i;
}

/* Cells begin and end at `offset` and `end`, and there is one wherever there was none. */
static LL_SLOW void divide(uint32_t offset, uint32_t end)
{
    for (uint32_t b = offset; b < end;) {
        uint32_t i = ck.cell_of[b], e;
        if (!i) {
            for (e = b + 1; e < end && !ck.cell_of[e]; e++)
                ;
            new_cell(b, e);
            b = e;
            continue;
        }
        e = ck.cell[i].end;
        if (ck.cell[i].offset < b || e > end) { /* somebody used it whole */
            uint32_t start = ck.cell[i].offset, cut = e > end ? end : e;
            ck.cell[i].end = start < b ? b : cut;
            note_whole(i);
            if (start < b)
                new_cell(b, cut);
            if (e > cut)
                new_cell(cut, e);
            ck_resplit();
            e = cut;
        }
        b = e;
    }
}

void ck_cell_fresh(struct ck_cell *c)
{
    c->stamp = ck.stamp;
    c->released = c->read_at = (ck_vc){0};
    c->wrote_at = 0;
    c->wrote_by = 0;
    c->last_write = -1;
    c->readers = 0;
}

uint32_t ck_cells(const void *addr, uint32_t width, uint16_t *out)
{
    uint32_t offset = ck_offset(addr), end = offset + width, n = 0;

    LL_ASSERT(offset != CK_NO_OFFSET && end <= ck.memory_size);
    if (LL_LIKELY(ck.cell_of[offset])) {
        const struct ck_cell *c = &ck.cell[ck.cell_of[offset]];
        if (LL_LIKELY(c->offset == offset && c->end == end)) {
            out[0] = ck.cell_of[offset];
            return 1;
        }
    }
    divide(offset, end);
    for (uint32_t b = offset; b < end; b = ck.cell[ck.cell_of[b]].end)
        out[n++] = ck.cell_of[b];
    return n;
}

static bool in_freed(uint32_t offset, uint32_t end)
{
    for (uint32_t i = 0; i < ck.n_freed; i++)
        if (offset < ck.freed[i].end && end > ck.freed[i].offset)
            return true;
    return false;
}

void ck_judge_flush(const struct eng_thread *t, const struct ck_store *store)
{
    uint32_t offset = ck_offset(store->addr);

    if (LL_UNLIKELY(ck.n_freed) && in_freed(offset, offset + store->width))
        ck_fault("life-time", t->index,
                 "a store of T%u reaches memory that has been freed, %s at %s:%u", t->index,
                 store->site->expr, ck_short(store->site->file), store->site->line);
}

bool ck_allowed_slowly(const struct vt_access *a)
{
    uint32_t offset = ck_offset(a->addr), me = ck.current->index;
    uint16_t cell[8];

    if (LL_UNLIKELY(offset == CK_NO_OFFSET || offset + a->width > ck.memory_size)) {
        ck_fault("freed-memory", me,
                 "T%u uses memory that is no lock's or node's, through %s at %s:%u", me,
                 a->site->expr, ck_short(a->site->file), a->site->line);
        return false;
    }
    if (LL_UNLIKELY(ck.n_freed && in_freed(offset, offset + a->width))) {
        ck_fault("life-time", me, "T%u uses memory that has been freed, %s at %s:%u", me,
                 a->site->expr, ck_short(a->site->file), a->site->line);
        return false;
    }
    if (LL_LIKELY(ck.cell_of[offset] && !ck.cell[ck.cell_of[offset]].uncovered))
        return true;
    for (uint32_t i = 0, n = ck_cells(a->addr, a->width, cell); i < n; i++)
        if (ck.cell[cell[i]].uncovered) {
            ck_fault("overflow", me,
                     "T%u uses a byte that no field of the descriptor covers, %s at %s:%u", me,
                     a->site->expr, ck_short(a->site->file), a->site->line);
            return false;
        }
    return true;
}

/* ---- values ---- */

uint64_t ck_cell_bits(uint32_t i)
{
    const struct ck_cell *c = &ck.cell[i];
    uint64_t v = 0;

    if (c->offset == CK_NO_OFFSET)
        return i >= CK_CELL_PERMIT(0) && i < CK_FIRST_CELL ? ck.thread[i - CK_CELL_PERMIT(0)].permit
                                                           : 0;
    memcpy(&v, ck.memory + c->offset, c->end - c->offset < 8 ? c->end - c->offset : 8);
    return v;
}

enum ck_cover ck_find_store(struct eng_thread *t, const void *addr, uint32_t width,
                            struct ck_store **found)
{
    const char *a = addr;

    for (uint32_t k = t->buffered; k-- > 0;) { /* newest first */
        struct ck_store *s = &t->buffer[(t->buffered_first + k) % CK_BUFFER];
        const char *b = s->addr;
        if (a + width <= b || b + s->width <= a)
            continue;
        *found = s;
        return b <= a && a + width <= b + s->width ? CK_FORWARDED : CK_PARTLY;
    }
    return CK_IN_MEMORY;
}

uint64_t ck_value_buffered(struct eng_thread *t, const void *addr, uint32_t width,
                           struct ck_store **from)
{
    struct ck_store *s;
    uint64_t v;

    if (from)
        *from = NULL;
    if (ck_find_store(t, addr, width, &s) != CK_FORWARDED)
        return ck_memory_value(addr, width);
    if (from)
        *from = s;
    v = s->value >> (8 * ((const char *)addr - (const char *)s->addr));
    return width == 8 ? v : v & ((UINT64_C(1) << 8 * width) - 1);
}

static struct ck_word *remembered(struct eng_thread *t, const void *addr, uint32_t width)
{
    for (uint32_t i = 0; i < t->n_read; i++)
        if (t->read[i].addr == addr && t->read[i].width == width)
            return &t->read[i];
    return NULL;
}

void ck_remember(struct eng_thread *t, const void *addr, uint32_t width, uint64_t value)
{
    struct ck_word *w = remembered(t, addr, width);

    if (w)
        w->value = value;
    else if (t->n_read == CK_READ_SET)
        t->read_overflow = true;
    else
        t->read[t->n_read++] = (struct ck_word){addr, value, width};
}

void ck_remember_own(struct eng_thread *t, const void *addr, uint32_t width, uint64_t value)
{
    struct ck_word *w = remembered(t, addr, width);

    if (w)
        w->value = value;
}

/* ---- happens-before ---- */

void ck_hb_read(struct eng_thread *t, bool acquire, uint32_t n, const uint16_t *cell)
{
    for (uint32_t i = 0; i < n; i++) {
        ck_vc released = ck_cell(cell[i])->released;
        if (acquire)
            t->vc = ck_vc_join(t->vc, released);
        else
            t->fence_acquired = ck_vc_join(t->fence_acquired, released);
    }
}

void ck_hb_write(ck_vc released, bool rmw, uint32_t n, const uint16_t *cell)
{
    for (uint32_t i = 0; i < n; i++) {
        struct ck_cell *c = ck_cell(cell[i]);
        c->released = rmw ? ck_vc_join(c->released, released) : released;
    }
}

void ck_hb_fence(struct eng_thread *t, int order)
{
    if (order != __ATOMIC_RELEASE)
        t->vc = ck_vc_join(t->vc, t->fence_acquired);
    if (order != __ATOMIC_ACQUIRE) {
        t->fence_released = t->vc;
        t->vc[t->index]++;
    }
}

static void race(const struct eng_thread *t, const struct vt_access *a, uint32_t with,
                 const struct eng_site *there, bool there_writes)
{
    struct ck_fault *f = ck_fault(
        "race", t->index,
        "T%u %s %s at %s:%u, unordered with T%u, which %s it at %s:%u: no release and acquire "
        "lie between the two",
        t->index, a->kind == VT_WRITE ? "writes" : "reads", a->site->expr, ck_short(a->site->file),
        a->site->line, with, there_writes ? "writes" : "reads", there ? ck_short(there->file) : "?",
        there ? there->line : 0);

    if (f)
        f->addr = a->addr;
}

LL_SLOW void ck_hb_race_written(struct eng_thread *t, const struct vt_access *a,
                                const struct ck_cell *c)
{
    race(t, a, c->wrote_by, c->write_site, true);
}

LL_SLOW void ck_hb_race_read(struct eng_thread *t, const struct vt_access *a,
                             const struct ck_cell *c)
{
    ck_vc later = c->read_at > t->vc;

    for (uint32_t u = 0; u < ck.program->threads; u++)
        if (later[u])
            race(t, a, u, c->read_site[u], false);
}

void ck_hb_plain_slowly(struct eng_thread *t, const struct vt_access *a)
{
    uint16_t cell[8];

    for (uint32_t i = 0, n = ck_cells(a->addr, a->width, cell); i < n; i++)
        ck_hb_plain_cell(t, a, a->kind, ck_cell(cell[i]));
}
