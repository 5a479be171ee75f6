/* SPDX-License-Identifier: MIT */
/* wound-wait - a mutex with contexts: the older one wounds the younger holder, the younger one waits
 *
 * Idea     Of two transactions that collide, the younger one waits. The older one wounds the holder,
 *          which backs off if it comes to wait for anything itself: then it could be part of a
 *          circle. A holder that needs no further lock never notices. So one backs off only when
 *          two really wait for each other, or nearly; where few compete, less often than under
 *          wait-die.
 * Lines    As wait-die, and the word `wounded` in the context of a holder. Nobody wakes all sleepers:
 *          a new holder looks through them for somebody older, an older one wakes the holder only.
 * Order    Sleepers stand in the list by age, the oldest in front; those without a context, FIFO
 *          among themselves, where they came to stand. Spinners and newcomers overtake them. release
 *          and context: as wait-die. `wounded` is relaxed: it is written before the unpark that makes
 *          its context look, or by itself.
 * Origin   The mutexes of Linux 4.19 (2018), where a class chooses between the two rules; the rule is
 *          of Rosenkrantz, Stearns and Lewis 1978. From a description in prose.
 * Differs  Of Linux 4.19 we have the rule only: the mutex below is mutex/mcs as in wait-die, whose
 *          owner word and spin loop are those of 3.11.
 */
#include "locks/ww/hooks_tmpl.h"

/* Wounds of a time in which it held other locks say nothing about those that it takes now. */
static void heal(struct ww_context *ctx)
{
    eng_store_rlx(&ctx->wounded, 0);
}

/* In front of the first that is younger. */
static void by_age(struct ww *l, struct ww_node *n, struct ww_context *ctx)
{
    struct mutex_node *next = ctx ? eng_load_rlx(&l->base.list->first) : NULL;

    while (next) {
        struct ww_context *other = eng_read(&((struct ww_node *)next)->ctx);
        if (other && ww_younger(other, ctx))
            break;
        next = eng_read(&next->next);
    }
    mutex_insert(&l->base, &n->base, next);
}

/* Whoever has been wounded dies before it sleeps; else it wounds a younger holder, who may sleep. */
static int die_or_wound(struct ww *l, struct ww_context *ctx, struct ww_context *holder)
{
    LL_UNUSED(l);
    if (eng_load_rlx(&ctx->wounded))
        return -EDEADLK;
    if (holder && ww_younger(holder, ctx)) {
        eng_count(LL_EV_ww_wounds);
        eng_store_rlx(&holder->wounded, 1);
        eng_unpark(eng_read(&holder->task));
    }
    return 0;
}

/* Is somebody older among the sleepers, who holds a lock that we may come to want? */
static void wound_oneself(struct ww *l, struct ww_context *ctx)
{
    struct mutex_node *n = eng_load_rlx(&l->base.list->first);

    for (; n; n = eng_read(&n->next)) {
        struct ww_context *other = eng_read(&((struct ww_node *)n)->ctx);
        if (other && eng_read(&other->acquired) && ww_younger(ctx, other)) {
            eng_count(LL_EV_ww_wounds);
            eng_store_rlx(&ctx->wounded, 1);
            return;
        }
    }
}

static const struct ww_rule rule = {
    .begin = heal, .insert = by_age, .refuse = die_or_wound, .settle = wound_oneself};

static const struct ll_param params[] = {WW_PARAM_PUBLISH, WW_PARAMS, WW_BASE_PARAMS, LL_PARAM_END};

LL_LOCK(ww_wound_wait) = {
    .name = "wound-wait",
    .family = "ww",
    .summary = "mutex with contexts: of two that collide the younger one waits, or is wounded",
    .origin = "Linux 4.19, wound/wait mutex",
    WW_DESCRIPTION,
};
