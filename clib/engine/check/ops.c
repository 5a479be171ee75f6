/* SPDX-License-Identifier: MIT */
/* ops.c - the shim's operations under the checker.
 *
 * An operation that others can see arrives (it becomes pending), waits until it is chosen, and is
 * then performed. What nobody else can see is done at once: plain accesses (happens-before judges
 * them), a store into the buffer under TSO, fences with nothing to wait for, marks.
 *
 * The operations that programs mostly consist of are templates: `lean`, a constant, leaves out what is
 * for those who look on (struct ck_machine), and takes the short way where there is one.
 */
#include "core/rng.h"
#include "engine/check/memory.h"
#include "engine/check/turn.h"

static bool is_rmw(enum vt_kind kind)
{
    return kind != VT_LOAD && kind != VT_STORE && kind != VT_READ && kind != VT_WRITE;
}

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static uint64_t masked(uint64_t v, uint32_t width)
{
    return width == 8 ? v : v & ((UINT64_C(1) << 8 * width) - 1);
}

/* ---- what can go on ---- */

static int holding_term(struct eng_thread *t, const struct ck_op *op, uint64_t *seen)
{
    for (uint32_t i = 0; i < op->n_terms; i++) {
        uint64_t v = ck_value(t, op->term[i].addr, op->term[i].width, NULL);
        if (eng_term_holds(&op->term[i], v)) {
            if (seen)
                *seen = v;
            return (int)i;
        }
    }
    return -1;
}

/* Has another thread changed what this one has read since its last relax? What it has written there
 * itself cannot be what it waits for. */
static bool changed(struct eng_thread *t)
{
    for (uint32_t i = 0; i < t->n_read; i++)
        if (ck_value(t, t->read[i].addr, t->read[i].width, NULL) != t->read[i].value)
            return true;
    return t->read_overflow;
}

/* The common wait: one term, and nothing in the buffer. */
static inline bool holds_simply(const struct eng_term *term)
{
    return eng_term_holds(term, ck_memory_value(term->addr, term->width));
}

/* A word that the wait reads is partly in the thread's own buffer. */
static bool reads_partly(struct eng_thread *t)
{
    const struct ck_op *op = &t->op;
    struct ck_store *s;

    if (!t->buffered)
        return false;
    for (uint32_t i = 0; op->kind == CK_AWAIT && i < op->n_terms; i++)
        if (ck_find_store(t, op->term[i].addr, op->term[i].width, &s) == CK_PARTLY)
            return true;
    for (uint32_t i = 0; op->kind == CK_RELAX && i < t->n_read; i++)
        if (ck_find_store(t, t->read[i].addr, t->read[i].width, &s) == CK_PARTLY)
            return true;
    return false;
}

bool ck_can_go(struct eng_thread *t)
{
    const struct ck_op *op = &t->op;
    struct ck_store *s;

    switch (op->kind) {
    case CK_ACCESS:
        if (op->access->kind == VT_STORE) /* TSO: the buffer is full */
            return t->buffered < CK_BUFFER;
        if (op->access->kind == VT_LOAD)
            return ck_find_store(t, op->access->addr, op->access->width, &s) != CK_PARTLY;
        return !t->buffered;
    case CK_AWAIT:
        if (LL_LIKELY(op->n_terms == 1 && !t->buffered))
            return holds_simply(op->term);
        return !reads_partly(t) && holding_term(t, op, NULL) >= 0;
    case CK_RELAX: return !reads_partly(t) && changed(t);
    case CK_PARK: return t->permit && !t->buffered;
    case CK_UNPARK:
    case CK_FREE: /* whoever gets the memory next has synchronised with us */
    case CK_FENCE: return !t->buffered;
    case CK_QUERY:
    case CK_ENTER:
    case CK_LEAVE:
    case CK_DELAY: return true;
    case CK_NOTHING: break;
    }
    return false;
}

/* The reasons for which t may be told to go on without what it waits for. */
uint32_t ck_reasons(struct eng_thread *t, bool can_go)
{
    const struct ck_op *op = &t->op;
    uint32_t reasons = op->reasons;

    if (op->kind == CK_RELAX)
        reasons = t->asked;
    else if (op->kind != CK_QUERY && can_go)
        return 0; /* what holds is never given up */
    if (op->kind == CK_PARK && t->buffered)
        return 0;
    if (reads_partly(t))
        return 0;
    for (uint32_t r = 0; r < CK_REASONS; r++)
        if (reasons & 1u << r && t->given_up[r] >= ck.options->giveups &&
            !((int)r == -1 - ENG_GAVE_UP_RESCHED && t->resched)) {
            reasons &= ~(1u << r);
            ck.gave_up_all = true;
        }
    return reasons;
}

/* ---- arriving ---- */

static inline bool has_condition(struct eng_thread *t)
{
    switch (t->op.kind) {
    case CK_ACCESS:
    case CK_UNPARK:
    case CK_FREE:
    case CK_FENCE: return t->buffered;
    case CK_ENTER:
    case CK_LEAVE:
    case CK_DELAY: return false;
    default: return true;
    }
}

/* Begins to describe the next operation. */
static struct eng_thread *prepare(enum ck_op_kind kind, const struct eng_site *site)
{
    struct eng_thread *self = ck.current;

    self->op.kind = kind;
    self->op.site = site;
    self->op.reasons = 0;
    return self;
}

static void note_blocked(struct eng_thread *self, struct eng_site_use *use)
{
    self->waited = true;
    ck.report->waits++;
    if (use)
        use->blocked++;
    if (!self->wait_began)
        self->wait_began = ck.steps + 1;
}

/* The pending operation has a condition: notes whether it has to wait. */
static void arrive_waiting(struct eng_thread *self, struct eng_site_use *use)
{
    ck.waiting |= 1u << self->index;
    self->watch = UINT64_MAX;
    ck.stirred = true;
    if (self->op.kind != CK_AWAIT && self->op.kind != CK_RELAX && self->op.kind != CK_PARK)
        return;
    if (use)
        use->waits = true;
    if (!ck_can_go(self))
        note_blocked(self, use);
}

/* The operation in self->op becomes pending; comes back when it has been chosen. */
static void arrive(struct eng_thread *self)
{
    struct eng_site_use *use = self->op.site ? self->op.site->use : NULL;

    self->waited = false;
    self->reason = 0;
    if (has_condition(self))
        arrive_waiting(self, use);
    else
        ck.ready |= CK_BIT(CK_GO(self->index));
    ck_go_on(self, false);
    ck.stirred = true; /* by what the operation now does */
    self->last = self->op.site;
    if (use)
        use->executed++;
}

/* The same of an operation without a condition, of which nobody asks what it is. */
LL_TEMPLATE void arrive_leanly(struct eng_thread *self, enum ck_op_kind kind,
                               const struct eng_site *site)
{
    self->op.kind = kind;
    self->op.site = site;
    ck.ready |= CK_BIT(CK_GO(self->index));
    ck_go_on(self, true);
    self->last = site;
    site->use->executed++;
}

/* The same of a wait for one word that is a whole cell, which cannot be given up. */
static void arrive_waiting_leanly(struct eng_thread *self, uint32_t cell)
{
    struct eng_site_use *use = self->op.site->use;

    self->waited = false;
    ck.waiting |= 1u << self->index;
    self->watch = CK_WATCH(cell);
    ck.watched |= self->watch;
    use->waits = true;
    if (holds_simply(self->op.term))
        ck.able |= CK_BIT(CK_GO(self->index));
    else
        note_blocked(self, use);
    ck_go_on(self, true);
    self->last = self->op.site;
    use->executed++;
}

static int chosen(const struct eng_thread *self)
{
    return self->reason ? CK_GIVE_UP(self->index, (unsigned)(-1 - self->reason))
                        : CK_GO(self->index);
}

/* The strategy learns what the chosen operation touched, before memory changes. */
static void note(const struct eng_thread *self, const struct ck_foot *foot)
{
    if (ck.policy->happened)
        ck.policy->happened(chosen(self), foot, NULL);
}

/* This event took its value from a store on its way to memory: no memory was touched. */
static void note_own(struct ck_store *from)
{
    from->read_by = (int32_t)ck.steps - 1;
}

static void emit(const struct ck_happening *h)
{
    ck.options->trace(ck.options->trace_arg, h);
}

static void tell(struct eng_thread *self, struct ck_happening h)
{
    h.choice = chosen(self);
    h.kind = self->op.kind;
    h.site = self->op.site;
    h.reason = self->reason;
    h.blocked = self->waited;
    h.mark = self->op.mark;
    h.target = h.kind == CK_UNPARK ? self->op.target : NULL;
    h.preempts = ck.preempts;
    emit(&h);
}

/* The cell that has exactly these bytes, or 0; does not come back if they may not be touched. */
LL_TEMPLATE uint32_t judge_access(struct eng_thread *self, const struct vt_access *a)
{
    uint32_t cell = ck_whole_cell(a->addr, a->width);

    if (LL_UNLIKELY(!cell) && !ck_allowed_slowly(a))
        ck_abort(self);
    return cell;
}

/* Once more when it takes effect: the memory may have been freed while it was pending. */
LL_TEMPLATE void judge_again(struct eng_thread *self, const struct vt_access *a)
{
    if (LL_UNLIKELY(ck.n_freed))
        judge_access(self, a);
}

/* ---- accesses ---- */

static void take_doorway(struct eng_thread *self, bool wrote)
{
    self->at_doorway = false;
    if (wrote) /* a failed CAS has not stood in line */
        self->doorway = ++ck.doorways;
}

/* The cell, if it is a whole one, has been written. */
LL_TEMPLATE void stir(uint32_t cell)
{
    if (LL_UNLIKELY(ck.watched & CK_WATCH(cell) || !cell))
        ck.stirred = true;
}

LL_TEMPLATE uint64_t plain(struct eng_thread *self, const struct vt_access *a, enum vt_kind kind,
                           uint32_t cell, bool lean)
{
    uint64_t old = ck_memory_value(a->addr, a->width);

    if (LL_LIKELY(ck.judge))
        ck_hb_plain(self, a, kind, cell);
    if (kind == VT_WRITE) {
        ck_memory_set(a->addr, a->width, a->value);
        stir(cell);
    }
    a->site->use->executed++;
    self->last = a->site;
    if (!lean && ck_traced())
        emit(&(struct ck_happening){.choice = CK_GO(self->index),
                                    .kind = CK_ACCESS,
                                    .access = a->kind,
                                    .site = a->site,
                                    .addr = a->addr,
                                    .width = a->width,
                                    .old_value = old,
                                    .new_value = a->kind == VT_WRITE ? a->value : old,
                                    .wrote = a->kind == VT_WRITE,
                                    .plain = true});
    return old;
}

static void buffer_store(struct eng_thread *self, const struct vt_access *a)
{
    struct ck_store *s = &self->buffer[(self->buffered_first + self->buffered++) % CK_BUFFER];

    if (ck.remembers)
        ck_remember_own(self, a->addr, a->width, a->value);
    s->addr = a->addr;
    s->width = a->width;
    s->value = a->value;
    s->site = a->site;
    s->read_by = -1;
    s->released = ck_hb_release(self, releases(a->order));
    if (ck.policy->clock)
        s->clock = *ck.policy->clock(self->index);
    ck.ready |= CK_BIT(CK_FLUSH(self->index));
    if (ck_traced())
        emit(&(struct ck_happening){.choice = CK_GO(self->index),
                                    .kind = CK_ACCESS,
                                    .access = VT_STORE,
                                    .site = a->site,
                                    .addr = a->addr,
                                    .width = a->width,
                                    .new_value = a->value,
                                    .buffered = true});
}

void ck_flush(struct eng_thread *t)
{
    struct ck_store *s = &t->buffer[t->buffered_first];
    struct ck_foot foot = {.write = true};
    uint64_t old = ck_memory_value(s->addr, s->width);

    ck.stirred = true;
    t->buffered_first = (t->buffered_first + 1) % CK_BUFFER;
    if (--t->buffered == 0)
        ck.ready &= ~CK_BIT(CK_FLUSH(t->index));
    foot.n = ck_cells(s->addr, s->width, foot.cell);
    ck_judge_flush(t, s);
    if (ck.judge)
        ck_hb_write(s->released, false, foot.n, foot.cell);
    if (ck.policy->happened)
        ck.policy->happened(CK_FLUSH(t->index), &foot, s);
    ck_memory_set(s->addr, s->width, s->value);
    if (ck_traced())
        emit(&(struct ck_happening){.choice = CK_FLUSH(t->index),
                                    .kind = CK_ACCESS,
                                    .access = VT_STORE,
                                    .site = s->site,
                                    .addr = s->addr,
                                    .width = s->width,
                                    .old_value = old,
                                    .new_value = s->value,
                                    .preempts = ck.preempts,
                                    .wrote = true});
}

/* The value that the RMW leaves; whether it writes at all. */
LL_TEMPLATE bool result_of(enum vt_kind kind, const struct vt_access *a, uint64_t old,
                           uint64_t *new)
{
    switch (kind) {
    case VT_add: *new = old + a->value; break;
    case VT_sub: *new = old - a->value; break;
    case VT_or: *new = old | a->value; break;
    case VT_and: *new = old & a->value; break;
    case VT_xor: *new = old ^ a->value; break;
    case VT_CAS:
        if (old != a->expected)
            return false;
        *new = a->value;
        break;
    case VT_LOAD:
    case VT_READ: return false;
    default: *new = a->value;
    }
    *new = masked(*new, a->width);
    return true;
}

static uint64_t perform(struct eng_thread *self, const struct vt_access *a)
{
    struct ck_store *from = NULL;
    struct ck_foot foot;
    bool rmw = is_rmw(a->kind);
    uint64_t old, new = 0;
    bool writes;

    foot.n = ck_cells(a->addr, a->width, foot.cell);
    old = a->kind == VT_STORE ? ck_memory_value(a->addr, a->width)
                              : ck_value(self, a->addr, a->width, &from);
    writes = result_of(a->kind, a, old, &new);
    /* a failed exchange over several cells: which of them made it fail is no matter of one order */
    foot.write = writes || (rmw && foot.n > 1);
    if (from) {
        note_own(from);
        foot.n = 0;
    }
    if (a->kind != VT_STORE) {
        if (ck.remembers)
            ck_remember(self, a->addr, a->width, old);
        if (ck.judge && !from) /* a failed exchange is relaxed */
            ck_hb_read(self, acquires(a->order) && (writes || !rmw), foot.n, foot.cell);
    }
    if (ck.judge && writes)
        ck_hb_write(ck_hb_release(self, releases(a->order)), rmw, foot.n, foot.cell);
    note(self, &foot);
    if (writes) {
        ck_memory_set(a->addr, a->width, new);
        if (ck.remembers)
            ck_remember_own(self, a->addr, a->width, new);
    }
    if (self->at_doorway)
        take_doorway(self, writes);
    if (ck_traced())
        tell(self, (struct ck_happening){.access = a->kind,
                                         .addr = a->addr,
                                         .width = a->width,
                                         .old_value = old,
                                         .new_value = writes ? new : old,
                                         .wrote = writes,
                                         .own = from != NULL});
    return old;
}

/* The same for one whole cell, with nothing in the buffer, when nobody looks on. */
LL_TEMPLATE uint64_t perform_leanly(struct eng_thread *self, const struct vt_access *a,
                                    enum vt_kind kind, uint32_t cell)
{
    struct ck_cell *c = ck_cell(cell);
    bool stores = kind == VT_STORE, loads = kind == VT_LOAD;
    uint64_t old = ck_memory_value(a->addr, a->width), new = 0;
    bool writes = result_of(kind, a, old, &new);

    if (LL_LIKELY(ck.judge) && !stores) {
        if (acquires(a->order) && (writes || loads))
            self->vc = ck_vc_join(self->vc, c->released);
        else
            self->fence_acquired = ck_vc_join(self->fence_acquired, c->released);
    }
    if (writes) {
        if (LL_LIKELY(ck.judge)) {
            ck_vc released = ck_hb_release(self, releases(a->order));
            c->released = stores ? released : ck_vc_join(c->released, released);
        }
        ck_memory_set(a->addr, a->width, new);
        stir(cell);
    }
    if (LL_UNLIKELY(self->at_doorway))
        take_doorway(self, writes);
    return old;
}

static uint64_t shared_access(struct eng_thread *self, const struct vt_access *a)
{
    if (ck.tso && a->kind == VT_STORE && self->buffered < CK_BUFFER) {
        a->site->use->executed++;
        self->last = a->site;
        buffer_store(self, a);
        return 0;
    }
    prepare(CK_ACCESS, a->site);
    self->op.access = a;
    arrive(self);
    if (ck.tso && a->kind == VT_STORE) {
        note(self, &(struct ck_foot){0});
        buffer_store(self, a);
        return 0;
    }
    judge_again(self, a);
    return perform(self, a);
}

static uint64_t op_access(const struct vt_access *a)
{
    struct eng_thread *self = ck.current;
    uint32_t cell = judge_access(self, a);

    if (a->kind == VT_READ || a->kind == VT_WRITE)
        return plain(self, a, a->kind, cell, false);
    return shared_access(self, a);
}

/* What has exactly the bytes of a cell and nothing to do with a buffer: one way for each kind. */
LL_TEMPLATE uint64_t access_leanly(const struct vt_access *a, enum vt_kind kind)
{
    struct eng_thread *self = ck.current;
    uint32_t cell = ck_whole_cell(a->addr, a->width);

    if (LL_UNLIKELY(!cell))
        return op_access(a);
    if (kind == VT_READ || kind == VT_WRITE)
        return plain(self, a, kind, cell, true);
    if (LL_UNLIKELY((kind == VT_STORE ? ck.tso : self->buffered) || ck.remembers))
        return op_access(a);
    arrive_leanly(self, CK_ACCESS, a->site);
    if (LL_LIKELY(!ck.n_freed))
        return perform_leanly(self, a, kind, cell);
    judge_access(self, a);
    return perform(self, a);
}

#define LEAN(kind)                                                                                 \
    static uint64_t lean_##kind(const struct vt_access *a)                                         \
    {                                                                                              \
        return access_leanly(a, kind);                                                             \
    }
LEAN(VT_LOAD)
LEAN(VT_STORE)
LEAN(VT_xchg)
LEAN(VT_add)
LEAN(VT_sub)
LEAN(VT_or)
LEAN(VT_and)
LEAN(VT_xor)
LEAN(VT_CAS)
LEAN(VT_READ)
LEAN(VT_WRITE)

static void op_fence(int order, const struct eng_site *site)
{
    struct eng_thread *self = ck.current;

    if (order == __ATOMIC_SEQ_CST && self->buffered) {
        prepare(CK_FENCE, site);
        arrive(self);
        note(self, &(struct ck_foot){0});
    } else {
        site->use->executed++;
    }
    ck_hb_fence(self, order);
}

/* ---- waiting ---- */

static uint32_t reasons_of(const struct eng_giveup *g)
{
    return !g ? 0
              : (g->deadline_ns != 0) << (-1 - ENG_GAVE_UP_DEADLINE) |
                    (g->budget != 0) << (-1 - ENG_GAVE_UP_BUDGET) |
                    g->resched << (-1 - ENG_GAVE_UP_RESCHED) |
                    (g->owner != NULL) << (-1 - ENG_GAVE_UP_OWNER) |
                    g->cancel << (-1 - ENG_GAVE_UP_CANCEL);
}

static void give_up(struct eng_thread *self)
{
    int r = -1 - self->reason;

    if (!(self->reason == ENG_GAVE_UP_RESCHED && self->resched))
        self->given_up[r]++;
    if (self->reason == ENG_GAVE_UP_RESCHED)
        self->resched = true; /* until it yields or sleeps */
    else if (self->op.kind == CK_RELAX)
        self->fired |= 1u << r; /* the next question is answered with it */
}

static int op_await(const struct eng_term *terms, unsigned n, const struct eng_giveup *giveup,
                    uint64_t *seen, const struct eng_site *site)
{
    struct eng_thread *self = ck.current;
    struct ck_store *from = NULL;
    struct ck_foot foot = {0};
    uint64_t value = 0;
    int result;

    LL_ASSERT(n >= 1 && n <= 4);
    for (unsigned i = 0; i < n; i++)
        judge_access(self, &(struct vt_access){.addr = (void *)(uintptr_t)terms[i].addr,
                                               .width = terms[i].width,
                                               .site = site});
    prepare(CK_AWAIT, site);
    self->op.term = terms;
    self->op.n_terms = n;
    self->op.reasons = reasons_of(giveup);
    self->op.owner = giveup ? giveup->owner : NULL;
    arrive(self);
    result = self->reason ? self->reason : holding_term(self, &self->op, &value);
    for (unsigned i = 0; i < n; i++) {
        uint32_t here;
        uint64_t v = ck_value(self, terms[i].addr, terms[i].width, &from);
        judge_again(self, &(struct vt_access){.addr = (void *)(uintptr_t)terms[i].addr,
                                              .width = terms[i].width,
                                              .site = site});
        if (ck.remembers)
            ck_remember(self, terms[i].addr, terms[i].width, v);
        if (from) {
            note_own(from);
        } else {
            here = ck_cells(terms[i].addr, terms[i].width, foot.cell + foot.n);
            if (ck.judge)
                ck_hb_read(self, terms[i].acquire, here, foot.cell + foot.n);
            foot.n += here;
        }
        if ((int)i == result)
            break; /* later terms were not read */
    }
    note(self, &foot);
    if (seen)
        *seen = value;
    if (ck_traced())
        tell(self, (struct ck_happening){.addr = terms[result > 0 ? result : 0].addr,
                                         .width = terms[result > 0 ? result : 0].width,
                                         .old_value = value,
                                         .new_value = value});
    if (self->reason)
        give_up(self);
    return result;
}

/* One term, no reason to give up: the common wait. */
static int op_await_leanly(const struct eng_term *terms, unsigned n,
                           const struct eng_giveup *giveup, uint64_t *seen,
                           const struct eng_site *site)
{
    struct eng_thread *self = ck.current;
    uint32_t cell = n == 1 && !giveup ? ck_whole_cell(terms->addr, terms->width) : 0;

    if (LL_UNLIKELY(!cell || self->buffered || ck.remembers))
        return op_await(terms, n, giveup, seen, site);
    prepare(CK_AWAIT, site);
    self->op.term = terms;
    self->op.n_terms = 1;
    self->op.owner = NULL;
    arrive_waiting_leanly(self, cell);
    judge_again(self, &(struct vt_access){.addr = (void *)(uintptr_t)terms->addr,
                                          .width = terms->width,
                                          .site = site});
    if (ck.judge)
        ck_hb_read(self, terms->acquire, 1, &(uint16_t){(uint16_t)cell});
    if (seen)
        *seen = ck_memory_value(terms->addr, terms->width);
    return 0;
}

static void op_relax(uint32_t turns, const struct eng_site *site)
{
    struct eng_thread *self = ck.current;
    struct ck_foot foot;

    LL_UNUSED(turns);
    if (ck.options->first_relax_ends) {
        self->quit = true;
        ck_leave(self);
    }
    if (!ck.remembers) { /* from now on; what was not remembered until here is missing */
        ck.remembers = true;
        ck_resplit();
    }
    prepare(CK_RELAX, site);
    arrive(self);
    ck_footprint(chosen(self), &foot);
    for (uint32_t i = 0; i < self->n_read; i++) {
        struct ck_store *from;
        ck_value(self, self->read[i].addr, self->read[i].width, &from);
        if (from)
            note_own(from);
    }
    note(self, &foot);
    if (ck_traced())
        tell(self, (struct ck_happening){0});
    if (self->reason)
        give_up(self);
    self->n_read = 0;
    self->read_overflow = false;
    self->asked = 0;
}

static void op_yield(const struct eng_site *site)
{
    op_relax(1, site);
    ck.current->resched = false;
}

static enum eng_park_result op_park(const struct eng_giveup *giveup, const struct eng_site *site)
{
    struct eng_thread *self = ck.current;
    struct ck_foot foot = {.n = 1, .write = true, .cell = {CK_CELL_PERMIT(self->index)}};

    prepare(CK_PARK, site);
    self->op.reasons =
        reasons_of(giveup) & (1u << (-1 - ENG_GAVE_UP_DEADLINE) | 1u << (-1 - ENG_GAVE_UP_CANCEL));
    arrive(self);
    foot.write = !self->reason;
    if (ck.judge && !self->reason)
        ck_hb_read(self, true, 1, foot.cell);
    note(self, &foot);
    if (ck_traced())
        tell(self, (struct ck_happening){0});
    if (self->reason) {
        give_up(self);
        return self->reason == ENG_GAVE_UP_DEADLINE ? ENG_TIMED_OUT : ENG_CANCELLED;
    }
    self->permit = 0;
    self->resched = false;
    return ENG_WOKEN;
}

static void op_unpark(struct eng_thread *target, const struct eng_site *site)
{
    struct eng_thread *self = ck.current;
    uint32_t index = (uint32_t)(target - ck.thread);
    struct ck_foot foot = {.n = 1, .write = true, .cell = {CK_CELL_PERMIT(index)}};

    if (target < ck.thread || index >= ck.program->threads) {
        ck_fault("freed-memory", self->index, "T%u wakes what is no thread, at %s:%u", self->index,
                 ck_short(site->file), site->line);
        ck_abort(self);
    }
    prepare(CK_UNPARK, site);
    self->op.target = target;
    arrive(self);
    if (ck.judge)
        ck_hb_write(ck_hb_release(self, true), true, 1, foot.cell);
    note(self, &foot);
    if (ck_traced())
        tell(self, (struct ck_happening){.old_value = target->permit, .new_value = 1});
    target->permit = 1;
}

/* ---- environment ---- */

/* Either answer is explored, "yes" at most `giveups` times. */
static bool query(enum eng_gave_up reason, const struct eng_site *site)
{
    struct eng_thread *self = ck.current;
    uint32_t bit = 1u << (-1 - reason);

    self->asked |= bit;
    if ((reason == ENG_GAVE_UP_RESCHED && self->resched) || (self->fired & bit)) {
        self->fired &= ~bit;
        return true;
    }
    if (self->given_up[-1 - reason] >= ck.options->giveups) {
        ck.gave_up_all = true;
        return false;
    }
    prepare(CK_QUERY, site);
    self->op.reasons = bit;
    arrive(self);
    note(self, &(struct ck_foot){0});
    if (ck_traced())
        tell(self, (struct ck_happening){0});
    if (!self->reason)
        return false;
    give_up(self);
    return true;
}

static bool op_on_cpu(const struct eng_thread *t, const struct eng_site *site)
{
    LL_UNUSED(t);
    return !query(ENG_GAVE_UP_OWNER, site);
}

static bool op_need_resched(const struct eng_site *site)
{
    return query(ENG_GAVE_UP_RESCHED, site);
}

static bool op_cancelled(const struct eng_site *site)
{
    return query(ENG_GAVE_UP_CANCEL, site);
}

static struct eng_thread *op_self(void)
{
    return ck.current;
}

static struct eng_bkl *op_bkl(void)
{
    return &ck.current->bkl;
}

static uint64_t op_now(void)
{
    return ck.steps + 1;
}

static unsigned op_cpu(void)
{
    return ck.current->index;
}

static uint64_t op_random(void)
{
    uint64_t x = ck.current->random;

    if (!x)
        x = ll_rng_seed(ck.options->seed, ck.current->index);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    ck.current->random = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* Time does not pass here, but others can come in between. */
static void op_delay(uint64_t ns, const struct eng_site *site)
{
    struct eng_thread *self = prepare(CK_DELAY, site);

    LL_UNUSED(ns);
    arrive(self);
    note(self, &(struct ck_foot){0});
}

static void op_count(enum ll_event ev)
{
    ck.counted[ev]++;
}

static void op_doorway(void)
{
    ck.current->at_doorway = true; /* its place in line is taken when the operation takes effect */
}

/* ---- where clients stand ---- */

static void check_entry(struct eng_thread *self)
{
    if ((ck.program->claims & LL_FIFO) && !self->doorway)
        ck_fault(
            "fifo", self->index,
            "T%u is let in, and no operation of its acquire is marked as the doorway whose order "
            "the lock promises",
            self->index);
    for (uint32_t i = 0; i < ck.program->threads; i++) {
        const struct eng_thread *u = &ck.thread[i];
        if (u == self)
            continue;
        if (u->place == ENG_ENTERED && !(u->shared && self->shared)) {
            ck_fault("exclusion", self->index, "T%u is let in%s while T%u is inside%s", self->index,
                     self->shared ? " to read" : "", i, u->shared ? " to read" : "");
            ck_abort(self);
        }
        if ((ck.program->claims & LL_FIFO) && self->doorway && u->doorway &&
            u->doorway < self->doorway)
            ck_fault("fifo", i, "T%u is let in before T%u, which was in line before it",
                     self->index, i);
    }
}

static void pass(struct eng_thread *self, enum eng_mark mark, bool shared,
                 const struct eng_site *site)
{
    struct ck_foot foot = {.n = 1, .write = !shared, .cell = {CK_CELL_SECTION}};

    prepare(mark == ENG_ENTERED ? CK_ENTER : CK_LEAVE, site);
    self->op.mark = mark;
    self->op.shared = shared;
    arrive(self);
    note(self, &foot);
    if (ck_traced())
        tell(self, (struct ck_happening){0});
}

LL_TEMPLATE void mark_at(enum eng_mark mark, bool shared, const struct eng_site *site, bool lean)
{
    struct eng_thread *self = ck.current;

    if ((mark == ENG_ENTERED || mark == ENG_LEAVING) && lean)
        arrive_leanly(self, mark == ENG_ENTERED ? CK_ENTER : CK_LEAVE, site);
    else if (mark == ENG_ENTERED || mark == ENG_LEAVING)
        pass(self, mark, shared, site);
    self->place = mark;
    self->shared = shared;
    self->n_read = 0;
    self->read_overflow = false;
    if (mark == ENG_ENTERED) {
        check_entry(self);
        if (!lean && ck.options->starvation)
            ck_starvation_entry(self->index);
        self->doorway = self->wait_began = 0;
        self->entered++;
        ck.progress_step = ck.steps;
    } else if (mark == ENG_ACQUIRING || mark == ENG_HOLDING) {
        self->doorway = self->wait_began = 0;
    }
}

static void op_mark(enum eng_mark mark, bool shared, const struct eng_site *site)
{
    mark_at(mark, shared, site, false);
}

static void op_mark_leanly(enum eng_mark mark, bool shared, const struct eng_site *site)
{
    mark_at(mark, shared, site, true);
}

/* The cells from self->op.from on, as many as one event can write; where the next ones begin. */
static uint32_t cells_to_free(const struct ck_op *op, struct ck_foot *foot)
{
    uint32_t b = op->from;

    foot->write = true;
    for (foot->n = 0; b < op->to && foot->n < CK_WRITE_CELLS;) {
        uint32_t i = ck.cell_of[b];
        if (i)
            foot->cell[foot->n++] = (uint16_t)i;
        b = i ? ck.cell[i].end : b + 1;
    }
    return b;
}

/* Freeing is a write to all that is freed, so that the order of each access with it is explored. */
static void op_freed(const void *base, size_t size)
{
    struct eng_thread *self = ck.current;
    uint32_t at = ck_offset(base), end = at + (uint32_t)size;
    struct ck_range *range;

    LL_ASSERT(at != CK_NO_OFFSET && ck.n_freed < CK_THREADS);
    range = &ck.freed[ck.n_freed++];
    ck.whole_size = 0;
    range->offset = range->end = at;
    while (at < end) {
        struct ck_foot foot;
        prepare(CK_FREE, NULL);
        self->op.from = at;
        self->op.to = end;
        arrive(self);
        at = cells_to_free(&self->op, &foot);
        note(self, &foot);
        if (ck_traced())
            tell(self, (struct ck_happening){.addr = (char *)ck.memory + range->end,
                                             .width = at - range->end,
                                             .wrote = true});
        range->end = at;
    }
}

#define EACH_KIND(access)                                                                          \
    {                                                                                              \
        access(VT_LOAD), access(VT_STORE), access(VT_xchg), access(VT_add), access(VT_sub),        \
            access(VT_or), access(VT_and), access(VT_xor), access(VT_CAS), access(VT_READ),        \
            access(VT_WRITE)                                                                       \
    }
#define SAME(kind) [kind] = op_access
#define OWN(kind) [kind] = lean_##kind
#define ENGINE(access_, await_, mark_)                                                             \
    {                                                                                              \
        .access = EACH_KIND(access_), .fence = op_fence, .await = await_, .relax = op_relax,       \
        .yield = op_yield, .park = op_park, .unpark = op_unpark, .self = op_self, .bkl = op_bkl,   \
        .on_cpu = op_on_cpu, .need_resched = op_need_resched, .cancelled = op_cancelled,           \
        .now = op_now, .cpu = op_cpu, .random = op_random, .delay = op_delay, .count = op_count,   \
        .doorway = op_doorway, .mark = mark_, .freed = op_freed,                                   \
    }

const struct vt_engine ck_engine = ENGINE(SAME, op_await, op_mark);
const struct vt_engine ck_lean_engine = ENGINE(OWN, op_await_leanly, op_mark_leanly);

/* ---- footprints of what is pending ---- */

void ck_footprint(int c, struct ck_foot *f)
{
    struct eng_thread *t = &ck.thread[ck_thread_of(c)];
    const struct ck_op *op = &t->op;
    struct ck_store *from = NULL;
    uint64_t new;

    f->n = 0;
    f->write = false;
    if (ck_is_flush(c)) {
        const struct ck_store *s = &t->buffer[t->buffered_first];
        f->n = ck_cells(s->addr, s->width, f->cell);
        f->write = true;
        return;
    }
    switch (op->kind) {
    case CK_ACCESS: {
        uint64_t old = ck_value(t, op->access->addr, op->access->width, &from);
        if (from || (ck.tso && op->access->kind == VT_STORE))
            break; /* in the buffer */
        f->n = ck_cells(op->access->addr, op->access->width, f->cell);
        f->write = result_of(op->access->kind, op->access, old, &new) ||
                   (op->access->kind == VT_CAS && f->n > 1);
        break;
    }
    case CK_AWAIT:
        for (uint32_t i = 0; i < op->n_terms; i++) {
            ck_value(t, op->term[i].addr, op->term[i].width, &from);
            if (!from)
                f->n += ck_cells(op->term[i].addr, op->term[i].width, f->cell + f->n);
            if (c == (int)CK_GO(t->index) &&
                eng_term_holds(&op->term[i],
                               ck_value(t, op->term[i].addr, op->term[i].width, &from)))
                break;
        }
        break;
    case CK_RELAX:
        for (uint32_t i = 0; i < t->n_read && f->n + 8 <= CK_FOOT_CELLS; i++) {
            ck_value(t, t->read[i].addr, t->read[i].width, &from);
            if (!from)
                f->n += ck_cells(t->read[i].addr, t->read[i].width, f->cell + f->n);
        }
        break;
    case CK_PARK:
        f->cell[f->n++] = CK_CELL_PERMIT(t->index);
        f->write = c == (int)CK_GO(t->index);
        break;
    case CK_UNPARK:
        f->cell[f->n++] = CK_CELL_PERMIT(op->target->index);
        f->write = true;
        break;
    case CK_ENTER:
    case CK_LEAVE:
        f->cell[f->n++] = CK_CELL_SECTION;
        f->write = !op->shared;
        break;
    case CK_FREE: cells_to_free(op, f); break;
    case CK_FENCE:
    case CK_QUERY:
    case CK_DELAY:
    case CK_NOTHING: break;
    }
}

bool ck_independent(const struct ck_foot *a, const struct ck_foot *b)
{
    if (!a->write && !b->write)
        return true;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++)
            if (a->cell[i] == b->cell[k])
                return false;
    return true;
}
