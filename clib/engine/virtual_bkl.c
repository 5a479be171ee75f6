/* SPDX-License-Identifier: MIT */
/* virtual_bkl.c - the big lock on fibers, and the park that drops it. */
#include "engine/bkl_tmpl.h"

void vt_bkl_acquire(void)
{
    bkl_acquire(vt_engine->bkl());
}

void vt_bkl_release(void)
{
    bkl_release(vt_engine->bkl());
}

uint32_t vt_bkl_drop(void)
{
    return bkl_drop(vt_engine->bkl());
}

void vt_bkl_retake(uint32_t depth)
{
    if (depth)
        bkl_take(vt_engine->bkl(), depth);
}

enum eng_park_result vt_park(const struct eng_giveup *giveup, const struct eng_site *site)
{
    uint32_t depth = vt_bkl_drop();
    enum eng_park_result result = vt_engine->park(giveup, site);

    vt_bkl_retake(depth);
    return result;
}

void vt_sleep(uint64_t ns, const struct eng_site *site)
{
    uint32_t depth = vt_bkl_drop();

    vt_engine->delay(ns, site);
    vt_bkl_retake(depth);
}
