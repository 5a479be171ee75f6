/* SPDX-License-Identifier: MIT */
/* ww_protocols.h - how a transaction takes its locks: four ways, all with a context but the last.
 *
 *   fixed     a list, in order. Told to back off it releases all, waits for the contended lock and
 *             starts anew, passing over that one; a lock listed twice is the caller's mistake
 *   reorder   the same, but the contended lock moves to the front of the list
 *   discover  locks are found on the way, some more than once: "have it" means go on. Told to back
 *             off it releases all, waits for the contended lock and walks anew
 *   single    one lock at a time, without a context
 *
 * The stamp stays over restarts, so the oldest open context always gets on.
 */
#pragma once

#include "core/workload.h"

#define WW_LOCKS_MAX 2046u

enum ww_protocol { WW_FIXED, WW_REORDER, WW_DISCOVER, WW_SINGLE };

struct ww_held {
    uint32_t n;
    uint32_t lock[WW_LOCKS_MAX];
};

LL_TEMPLATE void ww_release_all(struct wl_thread *t, struct ww_held *h)
{
    while (h->n)
        wl_release(t, h->lock[--h->n]);
}

/* Told to back off at `contended`: afterwards that is held and nothing else. */
static inline int ww_back_off(struct wl_thread *t, struct ww_held *h, uint32_t contended)
{
    int ret;

    wl_backs_off(t, h->n);
    ww_release_all(t, h);
    if (!wl_goes_on(t))
        return -ECANCELED;
    ret = wl_acquire_ww_slow(t, contended);
    if (!ret)
        h->lock[h->n++] = contended;
    return ret;
}

/* Puts entry `i` in front of those before it. */
static inline void ww_to_front(uint32_t *lock, uint32_t i)
{
    uint32_t contended = lock[i];

    for (; i > 0; i--)
        lock[i] = lock[i - 1];
    lock[0] = contended;
}

/* Takes the list through the open context. 0: all are held, in `h`. Else none is: -EALREADY (a lock is
 * listed twice, and not to be), -ECANCELED (the phase is over), or as wl_acquire_ww. Reorders `lock`
 * under WW_REORDER. */
static inline int ww_take(struct wl_thread *t, enum ww_protocol protocol, uint32_t *lock,
                          uint32_t n, struct ww_held *h)
{
    uint32_t slow_at = UINT32_MAX, restarts = 0, i = 0;
    int ret;

    h->n = 0;
    while (i < n) {
        ret = i == slow_at ? -EALREADY : wl_acquire_ww(t, lock[i]);
        if (ret == 0) {
            h->lock[h->n++] = lock[i++];
        } else if (ret == -EALREADY && (protocol == WW_DISCOVER || i == slow_at)) {
            i++;
        } else if (ret == -EDEADLK) {
            if ((ret = ww_back_off(t, h, lock[i])))
                return ret;
            restarts++;
            if (protocol == WW_REORDER)
                ww_to_front(lock, i);
            /* a walk does not know the contended lock again before it asks for it */
            slow_at = protocol == WW_FIXED ? i : protocol == WW_REORDER ? 0 : UINT32_MAX;
            i = 0;
        } else {
            ww_release_all(t, h);
            return ret;
        }
    }
    wl_context_done(t);
    wl_holds_all(t, restarts);
    return 0;
}

/* A whole transaction: `section` runs with all locks of the list held. As ww_take. */
static inline int ww_transact(
    struct wl_thread *t, enum ww_protocol protocol, uint32_t *lock, uint32_t n,
    void (*section)(struct wl_thread *t, const struct ww_held *h, void *arg), void *arg)
{
    struct ww_held h;
    int ret = 0;

    if (protocol == WW_SINGLE) {
        for (uint32_t i = 0; i < n; i++) {
            h = (struct ww_held){.n = 1, .lock = {lock[i]}};
            wl_acquire(t, lock[i]);
            section(t, &h, arg);
            wl_release(t, lock[i]);
        }
        return 0;
    }
    wl_context_init(t);
    ret = ww_take(t, protocol, lock, n, &h);
    if (!ret) {
        section(t, &h, arg);
        ww_release_all(t, &h);
    }
    wl_context_fini(t);
    return ret;
}

LL_TEMPLATE int ww_check_kind(const char *workload, const struct ll_lock_desc *lock,
                              struct ll_error *err)
{
    if (lock->kind == LL_KIND_WW)
        return 0;
    return ll_fail(err, -EINVAL, "lock", "%s needs a lock of kind ww, %s/%s is %s", workload,
                   lock->family, lock->name, ll_kind_name(lock->kind));
}
