/* SPDX-License-Identifier: MIT */
/* code_hash.h - a hash of the source of each lock, of the clients and of the engine; the table is made
 * by the build. */
#pragma once

#include "core/types.h"

struct ll_code_hash { /* ends with id NULL */
    const char *id;
    uint32_t hash; /* 24 bits */
};

extern const struct ll_code_hash ll_code_hashes[];
