/* SPDX-License-Identifier: MIT */
/* inject_tmpl.h - contexts that are told to back off without need, to exercise the path that users
 * who never collide would never take.
 *
 * Only after an acquisition that succeeded: what is a real -EDEADLK or -EALREADY stays as it is.
 *
 *   backoff   after so many acquisitions, each interval 3.5 times the one before: the number of
 *             back-offs of a transaction grows with the logarithm of its length. Where it begins
 *             depends on the stamp
 *   fixed     by chance at each acquisition, for contrast: the cost is exponential in the length
 */
#pragma once

#include "locks/ww/ww_tmpl.h"

enum ww_inject { WW_INJECT_OFF, WW_INJECT_BACKOFF, WW_INJECT_FIXED };

LL_TEMPLATE uint32_t ww_next_interval(uint32_t interval)
{
    return interval > UINT32_MAX / 4 ? UINT32_MAX : 2 * interval + interval + interval / 2;
}

LL_TEMPLATE bool ww_injects(struct ww *l, struct ww_context *ctx)
{
    if (eng_read(&ctx->acquired) < l->inject_min_acquired)
        return false;
    if (l->inject == WW_INJECT_FIXED) {
        if (l->inject_cap && ctx->injected >= l->inject_cap)
            return false;
        return (double)(eng_random() >> 11) * 0x1p-53 < l->inject_p;
    }
    if (ctx->inject_countdown) {
        ctx->inject_countdown--;
        return false;
    }
    ctx->inject_interval = ww_next_interval(ctx->inject_interval);
    ctx->inject_countdown = ctx->inject_interval;
    return true;
}
