/* SPDX-License-Identifier: MIT */
/* program.h - a lock under a client, as a program that can be explored. */
#pragma once

#include "core/client.h"
#include "core/error.h"
#include "engine/check/explore.h"

struct ll_program_spec {
    const struct ll_lock_desc *lock; /* of the virtual build, as the client */
    const struct ll_client_desc *client;
    uint32_t threads, turns;
    uint32_t writers, orders; /* see struct ll_client */
    const struct ll_setting *settings;
    size_t n_settings;
    uint32_t extra; /* bytes that the caller wants in the same memory */
};

struct ll_program {
    struct ck_program ck; /* for ck_explore; its arg is this */
    struct ll_client *client;
    const struct ll_client_desc *desc;
    void *extra;
    char name[CK_OBJECTS][24]; /* of objects */
};

#define LL_ORDERS_TEXT (LL_CLIENT_MAX_THREADS + 1)
/* Orders as text, a letter for each thread: a is A, then B; b is B, then A; A and B are one of them.
 * False: not such, or of another number of threads. */
bool ll_orders_read(const char *text, uint32_t threads, uint32_t *orders);
void ll_orders_write(uint32_t orders, uint32_t threads, char text[LL_ORDERS_TEXT]);

/* Can the client judge the lock? */
bool ll_client_applies(const struct ll_client_desc *client, const struct ll_lock_desc *lock);

/* Lock, nodes and client in one piece of memory, initialised, with the parameters' values for the
 * checker and the settings on top. 0, -ENOMEM, or what the settings or the lock's init say. */
int ll_program_init(struct ll_program *p, const struct ll_program_spec *spec, struct ll_error *err);
void ll_program_fini(struct ll_program *p);
