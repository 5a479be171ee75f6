/* SPDX-License-Identifier: MIT */
/* misuse.c - what is no proper use of a lock, whatever the order. */
#include <stdio.h>

#include "validate/validate.h"

/* ---- who else ---- */

/* Is the thread inside a call of the lock? */
static bool is_inside(const struct ll_validator_thread *t, const struct ll_validator_lock *l)
{
    for (uint32_t i = 0; i <= LL_VALIDATOR_IRQ_NEST; i++)
        if ((eng_own_read_acq(&t->in_call[i]) & ~VA_CALL_BITS) == va_word(l))
            return true;
    return false;
}

static bool holds(const struct ll_validator_thread *t, const struct ll_validator_lock *l)
{
    uint32_t depth = eng_own_read_acq32(&t->depth);

    if (eng_own_read(&l->nested) == va_word(t))
        return true;
    for (uint32_t i = 0; i < depth; i++)
        if (eng_own_read(&t->held[i].lock) == va_word(l) && !eng_own_read(&t->held[i].outer))
            return i + 1 < depth || !is_inside(t, l); /* the top may be what it asks for yet */
    return false;
}

struct ll_validator_thread *va_find_holder(const struct ll_validator *v,
                                           const struct ll_validator_lock *l,
                                           const struct ll_validator_thread *not_me)
{
    for (struct ll_validator_thread *t = v->threads; t; t = t->next)
        if (t != not_me && holds(t, l))
            return t;
    return NULL;
}

struct ll_validator_thread *va_find_caller(const struct ll_validator *v,
                                           const struct ll_validator_lock *l,
                                           const struct ll_validator_thread *not_me)
{
    for (struct ll_validator_thread *t = v->threads; t; t = t->next)
        if (t != not_me && is_inside(t, l))
            return t;
    return NULL;
}

static const char *mode_name(bool shared)
{
    return shared ? "shared" : "exclusively";
}

/* ---- acquire ---- */

bool va_usable(struct ll_validator_thread *t, const struct ll_validator_lock *l,
               const struct ll_site *site)
{
    struct va_finding f = {.kind = VA_COPIED, .thread = t, .site = site};

    if (va_is_initialised(l))
        return true;
    pthread_mutex_lock(&t->v->mutex);
    if (l->magic)
        va_report(t->v, &f, "%s uses a lock that is a copy of another one, or was overwritten",
                  t->name);
    else
        va_report(t->v, &f, "%s uses a lock that was never initialised, or is freed", t->name);
    pthread_mutex_unlock(&t->v->mutex);
    return false;
}

static void check_places(struct ll_validator_thread *t, const struct va_request *r, bool may_wait)
{
    bool sleeps = !(r->lock->traits & LL_VALIDATOR_SPINS);
    struct va_finding f = {.thread = t, .site = r->site, .asked = r, .node = r->node};
    char name[VA_LOCK_NAME];

    va_lock_name(t->v, r->node, r->lock->index, name);
    if (sleeps && t->irq_depth) {
        f.kind = VA_IRQ_USE;
        va_report(t->v, &f, "%s takes %s in an interrupt, where nobody can sleep", t->name, name);
    }
    if (sleeps && may_wait && t->spin_depth) {
        f.kind = VA_SLEEP_IN_SPIN;
        va_report(t->v, &f,
                  "%s takes %s, for which it may have to sleep, while it holds %u spin lock%s",
                  t->name, name, t->spin_depth, t->spin_depth == 1 ? "" : "s");
    }
}

static void check_again(struct ll_validator_thread *t, const struct va_request *r)
{
    const struct va_entry *e = va_find(t, r->lock);
    struct va_finding f = {.thread = t, .site = r->site, .asked = r, .node = r->node};
    char name[VA_LOCK_NAME];

    if (!e || (e->shared && r->recursive))
        return;
    va_lock_name(t->v, r->node, r->lock->index, name);
    f.kind = e->shared && !r->shared ? VA_UPGRADE : VA_RECURSION;
    if (f.kind == VA_UPGRADE)
        va_report(t->v, &f,
                  "%s holds %s shared and asks for it exclusively: it waits for itself to leave",
                  t->name, name);
    else if (e->shared)
        va_report(
            t->v, &f,
            "%s holds %s shared and asks for it again: if a writer waits in between, it waits "
            "for the writer, which waits for it",
            t->name, name);
    else
        va_report(t->v, &f, "%s holds %s and asks for it again: it waits for itself", t->name,
                  name);
}

static void check_outer(struct ll_validator_thread *t, struct va_request *r)
{
    struct va_finding f = {
        .kind = VA_NEST_NOT_HELD, .thread = t, .site = r->site, .asked = r, .node = r->node};
    char name[VA_LOCK_NAME], outer[VA_LOCK_NAME];

    if (!r->outer || va_find(t, r->outer))
        return;
    va_lock_name(t->v, r->node, r->lock->index, name);
    va_lock_name(t->v, (uint16_t)r->outer->node, r->outer->index, outer);
    va_report(t->v, &f, "%s takes %s as nested in %s, which it does not hold", t->name, name,
              outer);
    r->outer = NULL;
}

static void check_plain(struct ll_validator_thread *t, const struct va_request *r)
{
    struct va_finding f = {
        .kind = VA_WW_PLAIN_IN_CONTEXT, .thread = t, .site = r->site, .asked = r, .node = r->node};
    char name[VA_LOCK_NAME];

    if (!(r->lock->traits & LL_VALIDATOR_WW) || r->outer || !va_open_context(t, r->lock->class_id))
        return;
    va_lock_name(t->v, r->node, r->lock->index, name);
    va_report(t->v, &f, "%s takes %s without its open context of that class: nobody would back off",
              t->name, name);
}

void va_check_acquire(struct ll_validator_thread *t, struct va_request *r, bool may_wait)
{
    pthread_mutex_lock(&t->v->mutex);
    check_places(t, r, may_wait);
    if (may_wait) {
        check_again(t, r);
        check_outer(t, r);
        check_plain(t, r);
        r->quiet =
            r->lock->traits & LL_VALIDATOR_WW && !r->outer && va_open_context(t, r->lock->class_id);
    }
    pthread_mutex_unlock(&t->v->mutex);
}

/* ---- release ---- */

static void tell_release(struct ll_validator_thread *t, const struct ll_validator_lock *l,
                         bool shared, const struct ll_site *site, const struct va_entry *mine)
{
    struct va_finding f = {.thread = t, .site = site, .node = (uint16_t)l->node};
    char name[VA_LOCK_NAME];

    va_lock_name(t->v, (uint16_t)l->node, l->index, name);
    f.other = mine ? NULL : va_find_holder(t->v, l, t);
    f.kind = mine ? VA_WRONG_MODE : f.other ? VA_NOT_OWNER : VA_NOT_HELD;
    if (mine)
        va_report(t->v, &f, "%s gives %s back as held %s, but holds it %s", t->name, name,
                  mode_name(shared), mode_name(mine->shared));
    else if (f.other)
        va_report(t->v, &f, "%s gives %s back, which %s holds", t->name, name, f.other->name);
    else
        va_report(t->v, &f,
                  "%s gives %s back, which nobody holds: given back twice, or never taken", t->name,
                  name);
}

void va_check_release(struct ll_validator_thread *t, struct ll_validator_lock *l, bool shared,
                      const struct ll_site *site)
{
    struct va_entry *e;

    if (!va_usable(t, l, site))
        return;
    e = va_find(t, l);
    pthread_mutex_lock(&t->v->mutex);
    if (t->irq_depth && !(l->traits & LL_VALIDATOR_SPINS)) {
        struct va_finding f = {
            .kind = VA_IRQ_USE, .thread = t, .site = site, .node = (uint16_t)l->node};
        char name[VA_LOCK_NAME];

        va_lock_name(t->v, (uint16_t)l->node, l->index, name);
        va_report(t->v, &f, "%s gives %s back in an interrupt", t->name, name);
    }
    if ((!e && !t->untracked) || (e && e->shared != shared))
        tell_release(t, l, shared, site, e);
    pthread_mutex_unlock(&t->v->mutex);
    if (e) {
        va_drop(t, e, l);
    } else if (t->untracked) {
        t->untracked--;
        if (l->traits & LL_VALIDATOR_SPINS)
            t->spin_depth--;
    }
}

void ll_validator_downgrade(struct ll_validator_thread *t, struct ll_validator_lock *l,
                            const struct ll_site *site)
{
    struct va_finding f = {.kind = VA_WRONG_MODE, .thread = t, .site = site};
    struct va_entry *e;
    char name[VA_LOCK_NAME];

    if (!va_usable(t, l, site))
        return;
    e = va_find(t, l);
    if (e && !e->shared) {
        va_make_shared(t, e);
        return;
    }
    pthread_mutex_lock(&t->v->mutex);
    f.node = (uint16_t)l->node;
    va_lock_name(t->v, f.node, l->index, name);
    f.other = e ? NULL : va_find_holder(t->v, l, t);
    va_report(t->v, &f, "%s downgrades %s, which it does not hold exclusively", t->name, name);
    pthread_mutex_unlock(&t->v->mutex);
}

/* ---- sleep ---- */

void ll_validator_sleep(struct ll_validator_thread *t, const struct ll_site *site)
{
    struct va_finding f = {.thread = t, .site = site};

    if (LL_LIKELY(!(t->spin_depth | t->irq_depth)))
        return;
    pthread_mutex_lock(&t->v->mutex);
    f.kind = t->irq_depth ? VA_IRQ_USE : VA_SLEEP_IN_SPIN;
    if (t->irq_depth)
        va_report(t->v, &f, "%s sleeps in an interrupt", t->name);
    else
        va_report(t->v, &f, "%s sleeps while it holds %u spin lock%s", t->name, t->spin_depth,
                  t->spin_depth == 1 ? "" : "s");
    pthread_mutex_unlock(&t->v->mutex);
}

/* ---- the life of a lock ---- */

static void unlink_lock(struct ll_validator *v, struct ll_validator_lock *l)
{
    struct va_class *c = &v->class[l->class_id];

    if (--c->live == 0)
        c->instances = 0;
    if (l->next)
        l->next->previous = l->previous;
    if (l->previous)
        l->previous->next = l->next;
    else
        v->locks = l->next;
}

static bool is_linked(const struct ll_validator *v, const struct ll_validator_lock *l)
{
    const struct ll_validator_lock *k;

    for (k = v->locks; k && k != l; k = k->next)
        ;
    return k != NULL;
}

/* Before it is freed or initialised again. */
static void check_idle(struct ll_validator *v, const struct ll_validator_lock *l,
                       struct ll_validator_thread *t, const struct ll_site *site, bool freed)
{
    struct va_finding f = {.thread = t, .site = site, .node = (uint16_t)l->node};
    const char *verb = freed ? "freed" : "initialised again";
    char name[VA_LOCK_NAME];

    va_lock_name(v, (uint16_t)l->node, l->index, name);
    if ((f.other = va_find_holder(v, l, NULL))) {
        f.kind = freed ? VA_FREE_HELD : VA_REINIT_HELD;
        va_report(v, &f, "%s is %s while %s holds it", name, verb, f.other->name);
    } else if ((f.other = va_find_caller(v, l, NULL))) {
        f.kind = freed ? VA_FREE_BUSY : VA_REINIT_HELD;
        va_report(v, &f, "%s is %s while %s is inside %s", name, verb, f.other->name,
                  "one of its calls, which may touch it still");
    }
}

int ll_validator_lock_init(struct ll_validator *v, struct ll_validator_lock *l, uint32_t class_id,
                           uint32_t subclass, const void *address,
                           bool (*has_waiters)(const void *address), struct ll_validator_thread *t,
                           const struct ll_site *site)
{
    uint16_t node = 0;

    if (subclass >= LL_VALIDATOR_SUBCLASSES)
        return -ERANGE;
    pthread_mutex_lock(&v->mutex);
    if (va_is_initialised(l) && is_linked(v, l)) {
        check_idle(v, l, t, site, false);
        unlink_lock(v, l);
    }
    if (class_id > 0 && class_id < v->n_classes)
        node = va_node_of(v, class_id, subclass);
    if (node) {
        *l = (struct ll_validator_lock){.magic = va_magic(l),
                                        .validator = v,
                                        .lock = address,
                                        .has_waiters = has_waiters,
                                        .next = v->locks,
                                        .class_id = class_id,
                                        .index = v->class[class_id].instances++,
                                        .subclass = subclass,
                                        .traits = v->class[class_id].traits,
                                        .node = node};
        if (v->locks)
            v->locks->previous = l;
        v->locks = l;
        v->class[class_id].live++;
    }
    pthread_mutex_unlock(&v->mutex);
    return node ? 0 : -ERANGE;
}

void ll_validator_lock_fini(struct ll_validator_lock *l, struct ll_validator_thread *t,
                            const struct ll_site *site)
{
    struct ll_validator *v = l->validator;

    if (!va_is_initialised(l)) {
        if (t)
            va_usable(t, l, site);
        return;
    }
    pthread_mutex_lock(&v->mutex);
    check_idle(v, l, t, site, true);
    unlink_lock(v, l);
    l->magic = 0;
    pthread_mutex_unlock(&v->mutex);
}

/* ---- stranded waiters ---- */

/* Waiters, no holder, and whoever is inside one of its calls sleeps with nobody on the way to it. */
static bool seems_stranded(const struct ll_validator *v, const struct ll_validator_lock *l)
{
    if (!l->has_waiters || !l->has_waiters(l->lock) || va_find_holder(v, l, NULL))
        return false;
    for (struct ll_validator_thread *t = v->threads; t; t = t->next)
        if (is_inside(t, l) && (!t->asleep || !t->asleep(t->asleep_arg)))
            return false;
    return true;
}

static void tell_stranded(struct ll_validator *v, const struct ll_validator_lock *l)
{
    struct va_finding f = {
        .kind = VA_STRANDED, .node = (uint16_t)l->node, .other = va_find_caller(v, l, NULL)};
    char name[VA_LOCK_NAME];

    va_lock_name(v, (uint16_t)l->node, l->index, name);
    va_report(v, &f, "threads wait for %s, which nobody has held for %u ms, and nobody wakes them",
              name, (unsigned)(LL_VALIDATOR_STRANDED_NS / 1000000));
}

void ll_validator_watch(struct ll_validator *v, uint64_t now_ns)
{
    pthread_mutex_lock(&v->mutex);
    for (struct ll_validator_lock *l = v->locks; l; l = l->next) {
        if (!seems_stranded(v, l)) {
            l->stranded_ns = 0;
        } else if (l->stranded_ns == 0) {
            l->stranded_ns = now_ns;
        } else if (now_ns - l->stranded_ns >= LL_VALIDATOR_STRANDED_NS) {
            tell_stranded(v, l);
            l->stranded_ns = now_ns; /* once for each time that it lasts so long */
        }
    }
    pthread_mutex_unlock(&v->mutex);
}
