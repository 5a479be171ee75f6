/* SPDX-License-Identifier: MIT */
/* ww.c - wound/wait contexts: the protocol of back-offs, by the validator's own record of it.
 *
 * An open context is a lock that its thread holds, of a class of its own; what is taken through it is
 * nested in it. So thousands of locks are one entry, their mutual order is nobody's concern, and
 * their order against all other locks is.
 */
#include <stdio.h>

#include "validate/validate.h"

struct ll_validator_context *va_open_context(const struct ll_validator_thread *t, uint32_t class_id)
{
    struct ll_validator_context *c = t->open;
    uint32_t wanted = t->v->class[class_id].context_class;

    while (c && c->outer.class_id != wanted)
        c = c->next;
    return c;
}

static struct ll_validator_context *context_of(const struct ll_validator_lock *l)
{
    return (struct ll_validator_context *)(uintptr_t)eng_own_read(&l->context);
}

static void tell(struct ll_validator_thread *t, enum va_kind kind, const struct ll_site *site,
                 const struct ll_validator_lock *l, const char *what)
{
    struct va_finding f = {.kind = kind, .thread = t, .site = site};
    char name[VA_LOCK_NAME] = "";

    pthread_mutex_lock(&t->v->mutex);
    if (l) {
        f.node = (uint16_t)l->node;
        va_lock_name(t->v, f.node, l->index, name);
    }
    va_report(t->v, &f, "%s %s%s%s", t->name, what, l ? " " : "", name);
    pthread_mutex_unlock(&t->v->mutex);
}

static void unlink_context(struct ll_validator_thread *t, struct ll_validator_context *c)
{
    struct ll_validator_context **at = &t->open;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
}

/* ---- life ---- */

/* Ends the pseudo-lock; the entry of the locks nested in it may stay behind, if some are held. */
static void close_context(struct ll_validator_thread *t, struct ll_validator_context *c)
{
    struct va_entry *e = va_find(t, &c->outer);

    if (e)
        va_drop(t, e, &c->outer);
    unlink_context(t, c);
    c->open = false;
    c->closed = true;
    c->outer.magic = 0;
}

void ll_validator_context_init(struct ll_validator_thread *t, struct ll_validator_context *c,
                               uint32_t class_id, const struct ll_site *site)
{
    struct ll_validator *v = t->v;
    uint32_t own = v->class[class_id].context_class;
    struct va_request r;

    if (c->open && c->thread == t) {
        tell(t, VA_WW_CONTEXT_LEFT, site, &c->outer, "opens once more, without having ended it,");
        close_context(t, c);
    }
    if (c->contending) {
        pthread_mutex_lock(&v->mutex);
        v->restamped++; /* its age was lost: see stats */
        pthread_mutex_unlock(&v->mutex);
    }
    *c = (struct ll_validator_context){.thread = t, .open = true};
    pthread_mutex_lock(&v->mutex);
    c->outer = (struct ll_validator_lock){.magic = va_magic(&c->outer),
                                          .validator = v,
                                          .class_id = own,
                                          .index = v->class[own].instances++,
                                          .node = va_node_of(v, own, 0)};
    pthread_mutex_unlock(&v->mutex);
    r = va_request(t, &c->outer, 0, site);
    if (va_open_context(t, class_id)) {
        tell(t, VA_WW_SECOND_CONTEXT, site, &c->outer,
             "has a context of that class open and opens another:");
        r.quiet = true;
    }
    va_take(t, &r);
    c->next = t->open;
    t->open = c;
}

/* The context is open and this thread's. */
static bool in_order(struct ll_validator_thread *t, const struct ll_validator_context *c,
                     enum va_kind if_closed, const char *what, const struct ll_site *site)
{
    if (!c->open) {
        tell(t, if_closed, site, NULL, what);
        return false;
    }
    if (c->thread != t) {
        tell(t, VA_WW_FOREIGN_CONTEXT, site, &c->outer, "uses another thread's");
        return false;
    }
    return true;
}

void ll_validator_context_done(struct ll_validator_thread *t, struct ll_validator_context *c,
                               const struct ll_site *site)
{
    if (!in_order(t, c, VA_WW_NOT_OPEN, "calls acquire_done on a context that is not open", site))
        return;
    if (c->done)
        tell(t, VA_WW_DONE_TWICE, site, &c->outer, "calls acquire_done a second time on");
    c->done = true;
}

void ll_validator_context_fini(struct ll_validator_thread *t, struct ll_validator_context *c,
                               const struct ll_site *site)
{
    enum va_kind kind = c->closed ? VA_WW_FINI_TWICE : VA_WW_NOT_OPEN;

    if (!in_order(t, c, kind,
                  c->closed ? "ends a context a second time" : "ends a context that is not open",
                  site))
        return;
    if (c->acquired)
        tell(t, VA_WW_FINI_HELD, site, &c->outer, "holds locks through the context that it ends:");
    close_context(t, c);
}

void va_contexts_left(struct ll_validator_thread *t, const struct ll_site *site)
{
    while (t->open) {
        tell(t, VA_WW_CONTEXT_LEFT, site, &t->open->outer, "ends without having ended");
        close_context(t, t->open);
    }
}

/* ---- through a context ---- */

static bool holds_through(const struct ll_validator_thread *t, const struct ll_validator_lock *l,
                          const struct ll_validator_context *c)
{
    return eng_own_read(&l->nested) == va_word(t) && context_of(l) == c;
}

static void check_protocol(struct ll_validator_thread *t, const struct ll_validator_lock *l,
                           const struct ll_validator_context *c, bool slow,
                           const struct ll_site *site)
{
    if (c->done)
        tell(t, VA_WW_AFTER_DONE, site, l, "takes, after acquire_done,");
    if (t->v->class[l->class_id].context_class != c->outer.class_id)
        tell(t, VA_WW_WRONG_CLASS, site, l, "takes through a context of another class");
    if (c->contending && c->contending != l)
        tell(t, VA_WW_OTHER_LOCK, site, l,
             "was told to back off and wait for another lock, but takes");
    else if (c->contending && c->acquired)
        tell(t, VA_WW_NOT_BACKED_OFF, site, l,
             "was told to back off, but holds on to other locks and takes");
    else if (slow && !c->contending)
        tell(t, VA_WW_SLOW_UNPROMPTED, site, l,
             "was not told to back off, but takes by acquire_slow");
}

void ll_validator_acquire_ww(struct ll_validator_thread *t, struct ll_validator_lock *l,
                             struct ll_validator_context *c, bool slow, const struct ll_site *site)
{
    struct va_request r;

    if (!va_usable(t, l, site) ||
        !in_order(t, c, VA_WW_NOT_OPEN, "takes a lock through a context that is not open", site))
        return;
    check_protocol(t, l, c, slow, site);
    r = va_request(t, l, 0, site);
    r.outer = &c->outer;
    if (holds_through(t, l, c)) { /* what the call will answer is -EALREADY */
        eng_own_set(&t->in_call[t->irq_depth], va_word(l) | VA_CALL_AGAIN);
        return;
    }
    va_check_acquire(t, &r, true);
    eng_own_set(&t->in_call[t->irq_depth], va_word(l));
    va_take(t, &r);
}

static void got(struct ll_validator_thread *t, struct ll_validator_lock *l,
                struct ll_validator_context *c, const struct ll_site *site)
{
    if (eng_own_read(&l->context))
        tell(t, VA_WW_STALE_CONTEXT, site, l, "found a context in the free lock");
    eng_own_set(&l->nested, va_word(t));
    eng_own_set(&l->context, va_word(c));
    c->acquired++;
    c->contending = NULL;
}

static void lost(struct ll_validator_thread *t, struct ll_validator_lock *l,
                 struct ll_validator_context *c, bool slow, int ret, const struct ll_site *site)
{
    struct va_entry *e = va_find_asked(t, l);

    if (e)
        va_drop(t, e, l);
    if (ret != -EDEADLK)
        return;
    if (slow)
        tell(t, VA_WW_SLOW_REFUSED, site, l, "was sent away by acquire_slow from");
    c->contending = l;
}

void ll_validator_acquired_ww(struct ll_validator_thread *t, struct ll_validator_lock *l,
                              struct ll_validator_context *c, bool slow, int ret,
                              const struct ll_site *site)
{
    bool again = t->in_call[t->irq_depth] & VA_CALL_AGAIN;

    eng_own_set(&t->in_call[t->irq_depth], 0);
    if (!va_is_initialised(l) || !c->open || c->thread != t)
        return;
    if (again) {
        if (ret == 0)
            tell(t, VA_RECURSION, site, l, "got, which it held before,");
    } else if (ret == 0) {
        got(t, l, c, site);
    } else {
        lost(t, l, c, slow, ret, site);
    }
}

void va_acquired_plain(struct ll_validator_thread *t, struct ll_validator_lock *l)
{
    if (!eng_own_read(&l->context))
        return;
    tell(t, VA_WW_STALE_CONTEXT, NULL, l, "found a context in the free lock");
    eng_own_set(&l->context, 0);
}

void va_leave_context(struct ll_validator_thread *t, struct ll_validator_lock *l,
                      const struct ll_site *site)
{
    struct ll_validator_context *c = context_of(l);

    if (!c || !va_find(t, l))
        return;
    eng_own_set(&l->context, 0);
    if (c->acquired == 0)
        tell(t, VA_WW_NONE_ACQUIRED, site, l, "holds none through the context of");
    else
        c->acquired--;
}
