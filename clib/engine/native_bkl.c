/* SPDX-License-Identifier: MIT */
/* native_bkl.c - the big lock on real threads. */
#include "engine/bkl_tmpl.h"

void eng_native_bkl_acquire(void)
{
    bkl_acquire(&eng_native_self->bkl);
}

void eng_native_bkl_release(void)
{
    bkl_release(&eng_native_self->bkl);
}

uint32_t eng_native_bkl_drop(void)
{
    return bkl_drop(&eng_native_self->bkl);
}

void eng_native_bkl_retake(uint32_t depth)
{
    if (depth)
        bkl_take(&eng_native_self->bkl, depth);
}
