/* SPDX-License-Identifier: MIT */
/* mutex_tmpl.h - hooks shared by pthread-mutex and pthread-adaptive, which differ in the type. */
#pragma once

#include <pthread.h>

#include "core/lock.h"

struct host_mutex {
    pthread_mutex_t mutex;
};

LL_TEMPLATE int host_mutex_init(struct host_mutex *l, int type)
{
    pthread_mutexattr_t attr;
    int err = pthread_mutexattr_init(&attr);

    if (err)
        return -err;
    err = pthread_mutexattr_settype(&attr, type);
    if (!err)
        err = pthread_mutex_init(&l->mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    return -err;
}

LL_TEMPLATE void fini(void *lock)
{
    struct host_mutex *l = lock;

    pthread_mutex_destroy(&l->mutex);
}

/* Results are not looked at: a mutex of these types that is used in order reports no error. */
LL_TEMPLATE void acquire(void *lock, void *node)
{
    struct host_mutex *l = lock;

    LL_UNUSED(node);
    pthread_mutex_lock(&l->mutex);
}

LL_TEMPLATE bool try_acquire(void *lock, void *node)
{
    struct host_mutex *l = lock;

    LL_UNUSED(node);
    if (pthread_mutex_trylock(&l->mutex) == 0)
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

LL_TEMPLATE void release(void *lock, void *node)
{
    struct host_mutex *l = lock;

    LL_UNUSED(node);
    pthread_mutex_unlock(&l->mutex);
}

static const struct ll_field fields[] = {LL_FIELD(struct host_mutex, mutex), LL_FIELD_END};
