/* SPDX-License-Identifier: MIT */
/* params.h - rows of a workload's parameter table. `member` of STATE,
 * which lies `at_` bytes into the workload's state (0: it is the state). */
#pragma once

#include "core/workload.h"

#define WL_UINT(at_, STATE, member, name_, unit_, def_, min_, max_, help_)                         \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .help = (help_), .type = LL_PARAM_UINT,                  \
        .offset = (at_) + offsetof(STATE, member), .def = (def_), .min = (min_), .max = (max_)     \
    }
#define WL_REAL(at_, STATE, member, name_, unit_, def_, min_, max_, help_)                         \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .help = (help_), .type = LL_PARAM_REAL,                  \
        .offset = (at_) + offsetof(STATE, member), .def = (def_), .min = (min_), .max = (max_)     \
    }
/* One of an end-marked list of names, of which the last has the number `last`. */
#define WL_CHOICE(at_, STATE, member, name_, names_, last_, def_, help_)                           \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = LL_PARAM_ENUM,                                   \
        .offset = (at_) + offsetof(STATE, member), .def = (def_), .max = (last_),                  \
        .names = (names_)                                                                          \
    }
#define WL_BOOL(at_, STATE, member, name_, def_, help_)                                            \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = LL_PARAM_BOOL,                                   \
        .offset = (at_) + offsetof(STATE, member), .def = (def_), .max = 1                         \
    }
/* A companion lock; kinds: bits 1 << LL_KIND_..., 0 for any. */
#define WL_LOCK(at_, STATE, member, name_, lock_, kinds_, help_)                                   \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = LL_PARAM_LOCK,                                   \
        .offset = (at_) + offsetof(STATE, member), .lock = (lock_), .kinds = (kinds_)              \
    }
