/* SPDX-License-Identifier: MIT */
/* osq - an MCS queue that a waiter can leave
 *
 * Idea     The queue of optimistic spinners in front of a sleeping lock: a doubly linked MCS queue
 *          in which a waiter gives up when it should yield or when its predecessor lost its CPU.
 *          Here it is a lock of its own: acquire repeats the attempt until one succeeds.
 * Lines    Uncontended 1 RMW to acquire, 1 to release, on `tail`. A hand-over writes the successor's
 *          `locked`; a waiter that leaves writes `next` before and `prev` behind it.
 * Order    FIFO among those that stay; who leaves comes back at the end, so no promise. unlock:
 *          store-rel `locked`, pairs with the acquire loads of `locked`; CAS-rel on `tail`, pairs
 *          with its exchange. All else hangs on RMWs: a link is taken by whoever swaps it out.
 * Origin   Linux 3.15, 2014, cancellable MCS lock for optimistic spinning; the plain queue behind it
 *          is explained at https://lwn.net/Articles/590243/. Written from a prose specification.
 * Differs  There is a node per (thread, lock), not per CPU, and `tail` is a pointer, not a CPU
 *          number; "predecessor's vCPU runs" becomes "predecessor's thread runs" (eng_on_cpu).
 *          try_acquire is one attempt: it may wait in the queue, and fails where a spinner would go.
 */
#include "locks/parts/osq_tmpl.h"

static const struct eng_giveup leaving = {.resched = true};

static LL_SLOW void repeat(struct osq *l, struct osq_node *n, struct osq_node *prev)
{
    eng_spin_begin();
    eng_spin_queue();
    do {
        eng_count(LL_EV_queued);
        if (osq_wait(l, n, prev, leaving) == 0)
            break;
        eng_yield(); /* also clears the wish that made us leave */
        prev = osq_join(l, n);
    } while (prev);
    eng_spin_end();
}

static LL_SLOW bool wait_once(struct osq *l, struct osq_node *n, struct osq_node *prev)
{
    eng_count(LL_EV_queued);
    return osq_wait(l, n, prev, leaving) == 0;
}

static void acquire(void *lock, void *node)
{
    struct osq_node *prev = osq_join(lock, node);

    if (LL_UNLIKELY(prev))
        repeat(lock, node, prev);
}

static bool try_acquire(void *lock, void *node)
{
    struct osq_node *prev = osq_join(lock, node);

    if (LL_LIKELY(!prev) || wait_once(lock, node, prev))
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static void release(void *lock, void *node)
{
    osq_release(lock, node);
}

static const struct ll_field lock_fields[] = {LL_FIELD(struct osq, tail), LL_FIELD_END};

static const struct ll_field node_fields[] = {
    LL_FIELD(struct osq_node, next),
    LL_FIELD(struct osq_node, prev),
    LL_FIELD(struct osq_node, locked),
    LL_FIELD(struct osq_node, thread),
    LL_FIELD_END,
};

LL_LOCK(spin_osq) = {
    .name = "osq",
    .family = "spin",
    .summary = "abortable MCS queue of optimistic spinners, repeated until it succeeds",
    .origin = "https://lwn.net/Articles/590243/",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct osq),
    .node_size = sizeof(struct osq_node),
    .claims = LL_QUEUES,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = lock_fields,
    .node_fields = node_fields,
};
