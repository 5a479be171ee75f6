/* SPDX-License-Identifier: MIT */
/* validated.h - any thread of the program as the validators see it that look on its locks. */
#pragma once

#include "include/locklab.h"

/* The calling thread for that validator, made on first use; it ends with
 * the thread, or after the validator was closed. NULL: no memory. */
struct ll_validator_thread *validated_thread(struct ll_validator *validator);
/* In a forked child: what the parent's threads had is nobody's. */
void validated_forget(void);
