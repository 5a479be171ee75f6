/* SPDX-License-Identifier: MIT */
/* strategy.h - the ways of choosing. Internal to engine/check/.
 *
 * Each is a policy of the machine and a `next` that turns to the next execution; false: none is left.
 */
#pragma once

#include "engine/check/machine.h"

extern const struct ck_policy ck_dpor, ck_bounded, ck_random, ck_pct, ck_given;

int ck_dpor_init(void);
void ck_dpor_restart(void);
bool ck_dpor_next(void);
uint64_t ck_dpor_memory(void);
void ck_dpor_fini(void);

int ck_bounded_init(uint32_t bound);
void ck_bounded_restart(void);
bool ck_bounded_next(void);
uint64_t ck_bounded_memory(void);
void ck_bounded_fini(void);

void ck_random_init(uint64_t seed);
/* `changes`: how often priorities change in an execution */
void ck_pct_init(uint64_t seed, uint32_t changes);

/* Follows choices that are known; CK_USUAL, one that cannot be made, or the end of the list, is left
 * to ck_default_choice. `sparse` (may be NULL) receives what was chosen, CK_USUAL where that is it. */
void ck_given_init(const uint8_t *choice, uint32_t n, uint8_t *sparse);
uint32_t ck_given_unfit(void); /* choices of the last execution that did not fit it */

/* What needs no mention in a schedule: the thread that ran goes on; else the lowest that can. */
int ck_default_choice(uint64_t enabled);
