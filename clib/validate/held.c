/* SPDX-License-Identifier: MIT */
/* held.c - a thread's stack of held locks: what is pushed, what is judged first, what comes off. */
#include "validate/validate.h"

/* ---- chains ---- */

#define SHARED 1u

/* What an acquisition adds to the chain: all on which its judgement may depend. */
LL_TEMPLATE uint64_t element(const struct ll_validator_thread *t, const struct va_request *r)
{
    uint64_t outer = r->outer ? r->outer->node : 0;

    return outer << 32 | (uint64_t)r->node << 8 | (uint64_t)t->irq_state << 4 |
           (uint64_t)r->recursive << 2 | (uint64_t)r->tried << 1 | (r->shared ? SHARED : 0);
}

LL_TEMPLATE bool known(const struct ll_validator *v, uint64_t chain)
{
    for (uint32_t i = (uint32_t)chain;; i++) {
        uint64_t have = eng_own_read(&v->chain[i & (VA_CHAINS - 1)]);

        if (have == chain)
            return true;
        if (have == 0)
            return false;
    }
}

/* Under mutex. A reader that misses what is being forgotten or learnt judges once more. */
static void learn(struct ll_validator *v, uint64_t chain)
{
    uint32_t i = (uint32_t)chain;

    if (v->n_chains >= VA_CHAINS / 2) {
        for (uint32_t k = 0; k < VA_CHAINS; k++)
            eng_own_set(&v->chain[k], 0);
        v->n_chains = 0;
    }
    while (v->chain[i & (VA_CHAINS - 1)])
        i++;
    eng_own_set(&v->chain[i & (VA_CHAINS - 1)], chain);
    v->n_chains++;
}

/* ---- the stack ---- */

LL_TEMPLATE void push(struct ll_validator_thread *t, const struct va_request *r, uint64_t added)
{
    struct va_entry *e = &t->held[t->depth];

    eng_own_set(&e->lock, va_word(r->lock));
    eng_own_set(&e->outer, va_word(r->outer));
    eng_own_set(&e->site, va_word(r->site));
    e->chain = t->chain;
    e->element = added;
    eng_own_set32(&e->refs, 1);
    e->index = r->lock->index;
    e->node = r->node;
    e->shared = r->shared;
    e->tried = r->tried;
    e->spins = (r->lock->traits & LL_VALIDATOR_SPINS) != 0;
    if (r->outer) {
        e->outer_index = r->outer->index;
        e->outer_node = (uint16_t)r->outer->node;
    }
    t->chain = va_mix(t->chain, added);
    eng_own_set_rel32(&t->depth, t->depth + 1);
    if (r->lock->traits & LL_VALIDATOR_SPINS)
        t->spin_depth++;
}

/* Where one lock after the other comes off, the top is the one that is released. */
LL_TEMPLATE bool is_top(const struct ll_validator_thread *t, const struct ll_validator_lock *l)
{
    return t->depth > t->base && t->held[t->depth - 1].lock == va_word(l) &&
           t->held[t->depth - 1].refs == 1;
}

LL_TEMPLATE void pop(struct ll_validator_thread *t, const struct ll_validator_lock *l)
{
    t->chain = t->held[t->depth - 1].chain;
    eng_own_set32(&t->depth, t->depth - 1);
    if (l->traits & LL_VALIDATOR_SPINS)
        t->spin_depth--;
}

/* From entry `at` on the chains are those of another sequence now. */
static void chain_again(struct ll_validator_thread *t, uint32_t at, uint64_t chain)
{
    for (; at < t->depth; at++) {
        t->held[at].chain = chain;
        chain = va_mix(chain, t->held[at].element);
    }
    t->chain = chain;
}

static void remove_entry(struct ll_validator_thread *t, uint32_t at)
{
    uint64_t chain = t->held[at].chain;

    for (uint32_t i = at; i + 1 < t->depth; i++) {
        struct va_entry *e = &t->held[i], *from = &t->held[i + 1];

        eng_own_set(&e->lock, from->lock);
        eng_own_set(&e->outer, from->outer);
        eng_own_set(&e->site, from->site);
        eng_own_set32(&e->refs, from->refs);
        e->element = from->element;
        e->index = from->index;
        e->outer_index = from->outer_index;
        e->node = from->node;
        e->outer_node = from->outer_node;
        e->shared = from->shared;
        e->tried = from->tried;
        e->spins = from->spins;
    }
    eng_own_set32(&t->depth, t->depth - 1);
    if (at >= t->base) {
        chain_again(t, at, chain);
        return;
    }
    /* in an interrupt, of what was interrupted */
    t->base--;
    for (uint32_t i = 0; i < t->irq_depth; i++)
        if (t->saved[i].base > at)
            t->saved[i].base--;
}

void va_chain_again(struct ll_validator_thread *t)
{
    chain_again(t, t->base, 0);
}

void va_make_shared(struct ll_validator_thread *t, struct va_entry *e)
{
    e->shared = true;
    e->element |= SHARED;
    chain_again(t, (uint32_t)(e - t->held), e->chain);
}

/* Of a nest the locks say themselves who holds them: the entry knows but their number. */
LL_TEMPLATE bool stands_for(const struct ll_validator_thread *t, const struct va_entry *e,
                            const struct ll_validator_lock *l, bool held)
{
    if (!e->outer)
        return e->lock == va_word(l);
    return t->v->node[e->node].class_id == l->class_id &&
           (!held || e->shared || eng_own_read(&l->nested) == va_word(t));
}

static struct va_entry *find(struct ll_validator_thread *t, const struct ll_validator_lock *l,
                             bool held)
{
    for (uint32_t i = t->depth; i > 0; i--)
        if (stands_for(t, &t->held[i - 1], l, held))
            return &t->held[i - 1];
    return NULL;
}

struct va_entry *va_find(struct ll_validator_thread *t, const struct ll_validator_lock *l)
{
    return find(t, l, true);
}

struct va_entry *va_find_asked(struct ll_validator_thread *t, const struct ll_validator_lock *l)
{
    return find(t, l, false);
}

void va_drop(struct ll_validator_thread *t, struct va_entry *e, struct ll_validator_lock *l)
{
    if (eng_own_read(&l->nested) == va_word(t))
        eng_own_set(&l->nested, 0);
    if (l->traits & LL_VALIDATOR_SPINS)
        t->spin_depth--;
    if (e->refs > 1)
        eng_own_set32(&e->refs, e->refs - 1);
    else
        remove_entry(t, (uint32_t)(e - t->held));
}

/* ---- judgement ---- */

static void tell_same_class(struct ll_validator_thread *t, const struct va_entry *e,
                            const struct va_request *r)
{
    struct va_finding f = {
        .kind = VA_SAME_CLASS, .thread = t, .site = r->site, .asked = r, .node = r->node};
    char asked[VA_LOCK_NAME], holds[VA_LOCK_NAME];

    va_lock_name(t->v, r->node, r->lock->index, asked);
    va_lock_name(t->v, e->node, e->index, holds);
    va_report(t->v, &f,
              "%s asks for %s while it holds %s of the same class: another thread may take the two "
              "in the other order, and nothing says that it does not",
              t->name, asked, holds);
}

/* Two of one class: only recursive readers, and what is nested in a lock that is held. What was
 * there before that lock is not. */
static bool judge_class(struct ll_validator_thread *t, const struct va_request *r)
{
    bool nested = false;

    for (uint32_t i = t->base; i < t->depth; i++) {
        const struct va_entry *e = &t->held[i];

        if (r->outer && e->lock == va_word(r->outer))
            nested = true;
        if (e->node != r->node || nested || (e->shared && r->recursive) ||
            (e->lock == va_word(r->lock) && !e->outer))
            continue;
        tell_same_class(t, e, r);
        return false;
    }
    return true;
}

static void mark_use(struct ll_validator_thread *t, const struct va_request *r)
{
    if (!(r->lock->traits & LL_VALIDATOR_SPINS))
        return; /* a sleeping lock in an interrupt is a misuse of its own */
    if (t->irq_state & VA_IN_IRQ)
        va_use_add(t, r->node, r->recursive ? VA_USE_IRQ_RECURSIVE : VA_USE_IRQ, r);
    else if (t->irq_state & VA_IRQS_ON)
        va_use_add(t, r->node, r->shared ? VA_USE_ON_SHARED : VA_USE_ON, r);
}

/* Edges from all that is held. Where two of the class are out of order already, the edge from the outer
 * lock would say the same in other words. */
static void judge_order(struct ll_validator_thread *t, const struct va_request *r)
{
    bool in_class = r->quiet || judge_class(t, r);

    for (uint32_t i = t->base; i < t->depth; i++) {
        const struct va_entry *e = &t->held[i];

        if (e->node != r->node && (in_class || e->lock != va_word(r->outer)))
            va_edge_add(t, e, r);
    }
}

/* The entry that stands for the locks nested so, or NULL. */
static struct va_entry *nest_of(struct ll_validator_thread *t, const struct va_request *r)
{
    for (uint32_t i = t->depth; r->outer && i > t->base; i--) {
        struct va_entry *e = &t->held[i - 1];

        if (e->outer == va_word(r->outer) && e->node == r->node && e->shared == r->shared)
            return e;
    }
    return NULL;
}

/* A sequence that was not seen before. */
static LL_SLOW void judge(struct ll_validator_thread *t, const struct va_request *r, uint64_t chain)
{
    struct ll_validator *v = t->v;
    uint32_t depth = t->depth + (nest_of(t, r) ? 0 : 1);

    pthread_mutex_lock(&v->mutex);
    mark_use(t, r);
    if (!r->tried) /* who does not wait closes no cycle */
        judge_order(t, r);
    if (depth > v->most_held)
        v->most_held = depth;
    learn(v, chain);
    pthread_mutex_unlock(&v->mutex);
}

static LL_SLOW void tell_depth(struct ll_validator_thread *t, const struct va_request *r,
                               enum va_kind kind)
{
    struct va_finding f = {.kind = kind, .thread = t, .site = r->site, .asked = r};

    pthread_mutex_lock(&t->v->mutex);
    if (kind == VA_HELD_OVERFLOW)
        va_report(t->v, &f,
                  "%s holds %u entries of locks, as many as are followed: what it takes beyond is "
                  "not judged",
                  t->name, LL_VALIDATOR_HELD);
    else
        va_report(t->v, &f, "%s holds more than the %u spin locks that can be counted", t->name,
                  LL_VALIDATOR_NEST_MAX);
    pthread_mutex_unlock(&t->v->mutex);
}

static LL_SLOW bool joins_nest(struct ll_validator_thread *t, const struct va_request *r)
{
    struct va_entry *e = nest_of(t, r);

    if (!e)
        return false;
    eng_own_set32(&e->refs, e->refs + 1);
    if (r->lock->traits & LL_VALIDATOR_SPINS)
        t->spin_depth++;
    return true;
}

LL_TEMPLATE void take(struct ll_validator_thread *t, const struct va_request *r)
{
    uint64_t added = element(t, r), chain = va_mix(t->chain, added);

    if (LL_UNLIKELY(!known(t->v, chain)))
        judge(t, r, chain);
    if (LL_UNLIKELY(r->outer != NULL) && joins_nest(t, r)) {
        ;
    } else if (LL_UNLIKELY(t->depth == LL_VALIDATOR_HELD)) {
        t->untracked++;
        if (r->lock->traits & LL_VALIDATOR_SPINS)
            t->spin_depth++;
        tell_depth(t, r, VA_HELD_OVERFLOW);
    } else {
        push(t, r, added);
    }
    if (LL_UNLIKELY(t->spin_depth > LL_VALIDATOR_NEST_MAX))
        tell_depth(t, r, VA_NEST_DEPTH_OVERFLOW);
}

void va_take(struct ll_validator_thread *t, const struct va_request *r)
{
    take(t, r);
}

/* ---- what threads tell ---- */

static LL_SLOW uint16_t other_node(struct ll_validator *v, const struct ll_validator_lock *l,
                                   uint32_t subclass)
{
    uint16_t node;

    pthread_mutex_lock(&v->mutex);
    node = va_node_of(v, l->class_id, subclass);
    pthread_mutex_unlock(&v->mutex);
    return node ? node : (uint16_t)l->node;
}

LL_TEMPLATE struct va_request request(const struct ll_validator_thread *t,
                                      struct ll_validator_lock *l, uint32_t how,
                                      const struct ll_site *site)
{
    struct va_request r = {.lock = l,
                           .node = (uint16_t)l->node,
                           .shared = (how & LL_VALIDATOR_SHARED) != 0,
                           .site = site};
    uint32_t subclass = how >> 8;

    r.recursive = r.shared && (l->traits & LL_VALIDATOR_READ_RECURSIVE ||
                               (l->traits & LL_VALIDATOR_READ_RECURSIVE_IRQ && t->irq_depth));
    if (LL_UNLIKELY(subclass != 0))
        r.node = other_node(t->v, l, (subclass - 1) % LL_VALIDATOR_SUBCLASSES);
    return r;
}

struct va_request va_request(struct ll_validator_thread *t, struct ll_validator_lock *l,
                             uint32_t how, const struct ll_site *site)
{
    return request(t, l, how, site);
}

/* Nothing that va_check_acquire looks for can be so. */
LL_TEMPLATE bool acquires_properly(const struct ll_validator_thread *t,
                                   const struct ll_validator_lock *l)
{
    if (t->spin_depth | t->irq_depth | (l->traits & LL_VALIDATOR_WW))
        return false;
    for (uint32_t i = 0; i < t->depth; i++)
        if (t->held[i].lock == va_word(l))
            return false;
    return eng_own_read(&l->nested) != va_word(t);
}

void ll_validator_acquire(struct ll_validator_thread *t, struct ll_validator_lock *l, uint32_t how,
                          const struct ll_site *site)
{
    struct va_request r;

    if (LL_UNLIKELY(!va_is_initialised(l))) {
        va_usable(t, l, site);
        return;
    }
    r = request(t, l, how, site);
    if (LL_UNLIKELY(!acquires_properly(t, l)))
        va_check_acquire(t, &r, true);
    eng_own_set(&t->in_call[t->irq_depth], va_word(l));
    take(t, &r);
}

void ll_validator_acquired(struct ll_validator_thread *t, struct ll_validator_lock *l, int ret)
{
    uint64_t call = t->in_call[t->irq_depth];
    struct va_entry *e;

    if (LL_UNLIKELY(call & VA_CALL_NESTED) && ret == 0)
        eng_own_set(&l->nested, va_word(t));
    if (LL_UNLIKELY(ret != 0) && va_is_initialised(l) && (e = va_find_asked(t, l)))
        va_drop(t, e, l);
    else if (LL_UNLIKELY(l->traits & LL_VALIDATOR_WW) && ret == 0)
        va_acquired_plain(t, l);
    eng_own_set(&t->in_call[t->irq_depth], 0);
}

void ll_validator_tried(struct ll_validator_thread *t, struct ll_validator_lock *l, uint32_t how,
                        bool got, const struct ll_site *site)
{
    struct va_request r;

    if (LL_UNLIKELY(!va_is_initialised(l))) {
        va_usable(t, l, site);
        return;
    }
    r = request(t, l, how, site);
    r.tried = true;
    if (LL_UNLIKELY(t->irq_depth != 0))
        va_check_acquire(t, &r, false);
    if (got)
        take(t, &r);
}

void ll_validator_release(struct ll_validator_thread *t, struct ll_validator_lock *l, uint32_t how,
                          const struct ll_site *site)
{
    bool shared = (how & LL_VALIDATOR_SHARED) != 0;

    eng_own_set_rel(&t->in_call[t->irq_depth], va_word(l) | VA_CALL_RELEASE);
    if (LL_LIKELY(is_top(t, l) && t->held[t->depth - 1].shared == shared && va_is_initialised(l) &&
                  !(l->traits & LL_VALIDATOR_WW) && !t->held[t->depth - 1].outer &&
                  !t->irq_depth)) {
        pop(t, l);
        return;
    }
    if (va_is_initialised(l) && l->traits & LL_VALIDATOR_WW && !(how & LL_VALIDATOR_BASE))
        va_leave_context(t, l, site);
    va_check_release(t, l, shared, site);
}

void ll_validator_released(struct ll_validator_thread *t, struct ll_validator_lock *l)
{
    LL_UNUSED(l);
    eng_own_set_rel(&t->in_call[t->irq_depth], 0);
}

void ll_validator_raw_acquire(struct ll_validator_thread *t, struct ll_validator_lock *l,
                              const struct ll_site *site)
{
    struct va_request r = request(t, l, 0, site);

    if (l->traits & LL_VALIDATOR_SPINS && ++t->spin_depth > LL_VALIDATOR_NEST_MAX)
        tell_depth(t, &r, VA_NEST_DEPTH_OVERFLOW);
}

void ll_validator_raw_release(struct ll_validator_thread *t, struct ll_validator_lock *l)
{
    if (l->traits & LL_VALIDATOR_SPINS && t->spin_depth)
        t->spin_depth--;
}

/* ---- nests ---- */

void ll_validator_acquire_nested(struct ll_validator_thread *t, struct ll_validator_lock *l,
                                 uint32_t how, struct ll_validator_lock *outer,
                                 const struct ll_site *site)
{
    struct va_request r;

    if (!va_usable(t, l, site) || !va_usable(t, outer, site))
        return;
    r = request(t, l, how, site);
    r.outer = outer;
    va_check_acquire(t, &r, true);
    eng_own_set(&t->in_call[t->irq_depth],
                va_word(l) | (r.outer && !r.shared ? VA_CALL_NESTED : 0));
    take(t, &r);
}
