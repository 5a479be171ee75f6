/* SPDX-License-Identifier: MIT */
/* validated.c - see validated.h. */
#include "run/validated.h"

#include <pthread.h>
#include <stdlib.h>

struct validated {                  /* of one thread */
    struct ll_validator *validator; /* a reference */
    struct ll_validator_thread *thread;
    struct validated *next;
};

static __thread struct validated *mine;
static pthread_key_t end_key;

static void drop(struct validated *x, bool ended)
{
    if (ended)
        ll_validator_thread_end(x->thread, NULL);
    else
        ll_validator_thread_abandon(x->thread);
    ll_validator_unref(x->validator);
    free(x);
}

static void end_thread(void *unused)
{
    (void)unused;
    while (mine) {
        struct validated *x = mine;

        mine = x->next;
        drop(x, true);
    }
}

static void make_key(void)
{
    pthread_key_create(&end_key, end_thread);
}

static void sweep_closed(void)
{
    struct validated **at = &mine;

    while (*at) {
        struct validated *x = *at;

        if (ll_validator_is_closed(x->validator)) {
            *at = x->next;
            drop(x, false);
        } else {
            at = &x->next;
        }
    }
}

struct ll_validator_thread *validated_thread(struct ll_validator *v)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct validated *x;

    sweep_closed();
    for (x = mine; x; x = x->next)
        if (x->validator == v)
            return x->thread;
    pthread_once(&once, make_key);
    x = malloc(sizeof(*x));
    if (!x)
        return NULL;
    if (ll_validator_thread_create(v, NULL, NULL, NULL, &x->thread)) {
        free(x);
        return NULL;
    }
    x->validator = ll_validator_ref(v);
    x->next = mine;
    mine = x;
    pthread_setspecific(end_key, x); /* anything but NULL: the list is what counts */
    return x->thread;
}

void validated_forget(void)
{
    mine = NULL;
}
