/* SPDX-License-Identifier: MIT */
/* osq - mutex: as mcs, with a queue of spinners that can be left
 *
 * Idea     As mcs, but a spinner leaves the queue, for the list of sleepers, when it should yield or
 *          when the thread ahead of it has lost its CPU; and the head keeps its place for all of its
 *          rounds.
 * Lines    As mcs; the tail of the queue is exchanged once or twice an acquisition. Who leaves the
 *          queue writes to the nodes in front of it and behind it.
 * Order    FIFO among spinners that stay. release: as 3.7; the queue as spin/osq.
 * Origin   Linux 3.15, 2014, cancellable queue for optimistic spinning, from a description in prose.
 * Differs  As mcs, spin/osq. A deadline and a cancelled wait end the spinning, too.
 */
#include "locks/mutex/owner_tmpl.h"

static const struct ll_param params[] = {
    MUTEX_PARAM_GATE(false),
    MUTEX_PARAM_NULL_GUARD(MUTEX_GUARD_BEHIND),
    MUTEX_PARAM_OWNER_FORM(MUTEX_QUIT),
    MUTEX_PARAM_PRELOAD(true),
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NEG),
    MUTEX_PARAM_QUEUE(MUTEX_QUEUE_OSQ),
    MUTEX_PARAM_PRECHECK(true),
    MUTEX_SPIN_PARAMS,
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_osq) = {
    .name = "osq",
    .family = "mutex",
    .summary = "mutex: as mutex/mcs with a queue of spinners that can be left",
    .origin = "Linux 3.15, mutex",
    MUTEX_DESCRIPTION,
};
