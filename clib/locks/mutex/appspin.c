/* SPDX-License-Identifier: MIT */
/* appspin - mutex: tries so many times, then sleeps as nospin does
 *
 * Idea     Spinning as an application does it that knows nothing of the lock's owner: try, up to
 *          `spin_rounds` times more with a pause before each, then acquire as nospin does.
 * Lines    A contended acquire makes 1 + `spin_rounds` exchanges on `count` before those of nospin,
 *          each of which takes the line from the holder; with `test_first` most of them are loads.
 * Order    As nospin; spinners overtake sleepers, too. Spins on a holder that sleeps as well.
 * Origin   A file system of the time did so with 512 rounds; "spin" in the figures of January 2009
 *          on the Linux kernel mailing list, as we read them. From a description in prose.
 * Differs  As nospin. Where the rounds are a budget and not a wait, the checker explores few.
 */
#include "locks/mutex/hooks_tmpl.h"

/* The rounds are a budget: nothing is waited for, and nobody looks whether it is of any use. */
static bool spin(struct mutex *l)
{
    eng_count(LL_EV_spin_enter);
    for (uint32_t i = 0; i < l->spin_rounds; i++) {
        eng_pause_as((enum eng_relax_kind)l->relax);
        if (mutex_grab(l)) {
            eng_count(LL_EV_spin_win);
            return true;
        }
    }
    eng_pause_as((enum eng_relax_kind)l->relax);
    return false;
}

static int contend(struct mutex *l, struct mutex_node *n, struct mutex_wait *w)
{
    bool got;

    eng_count(LL_EV_fast_failed);
    eng_spin_begin();
    got = spin(l);
    eng_spin_end();
    return got || mutex_enter(l) ? 0 : mutex_sleep(l, n, w, policy);
}

static const struct mutex_policy policy = {.tries = true, .contend = contend};

static const struct ll_field node_fields[] = {MUTEX_NODE_FIELDS, LL_FIELD_END};

static const struct ll_param params[] = {
    {.name = "spin_rounds",
     .unit = "attempts",
     .help = "attempts after the first, before the thread queues and sleeps",
     .type = LL_PARAM_UINT,
     .offset = offsetof(struct mutex, spin_rounds),
     .def = 512,
     .max = 1000000,
     .check = 1},
    MUTEX_BOOL("test_first", preload, false, "an attempt only if a load says that it can succeed"),
    MUTEX_PARAM_RELAX,
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NONE),
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_appspin) = {
    .name = "appspin",
    .family = "mutex",
    .summary = "mutex: tries 513 times, then sleeps as mutex/nospin does",
    .origin = "Linux kernel mailing list, January 2009, adaptive mutex spinning",
    MUTEX_DESCRIPTION,
};
