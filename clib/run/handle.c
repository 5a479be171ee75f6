/* SPDX-License-Identifier: MIT */
/* handle.c - one lock for any thread of the program: struct ll_lock.
 *
 * The instance keeps a node for every thread that ever used it, as the locks demand (a CLH
 * predecessor's node is in use after its thread has ended). Not a measured path.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/params.h"
#include "core/registry.h"
#include "core/topology.h"
#include "engine/native_thread.h"
#include "engine/own.h"
#include "run/run.h"
#include "run/validated.h"

#define BUCKETS 64u
#define POLL_S 0.01

enum holding { HOLDS_NOT, WAITS, HOLDS, HOLDS_SHARED };

struct user { /* a thread that has used the lock */
    uint64_t key;
    void *node;
    enum holding holding;
    struct ll_validator_thread *validated; /* NULL: no validator looks on */
    struct user *next;
};

struct ll_lock {
    const struct ll_lock_desc *desc;
    bool host;
    pid_t pid;
    void *lock;
    pthread_mutex_t mutex; /* protects the table */
    struct user *table[BUCKETS];
    uint32_t holders, waiters;      /* atomic */
    uint32_t broken;                /* atomic: a thread was torn out of its wait */
    struct ll_validator *validator; /* NULL: nobody looks on */
    struct ll_validator_lock guard;
};

/* ---- threads that nobody has attached: their descriptor goes back when they end ---- */

static pthread_key_t detach_key;
static uint64_t next_key;

static void detach(void *descriptor)
{
    eng_native_self = NULL;
    eng_native_recycle(descriptor);
}

static void make_key(void)
{
    pthread_key_create(&detach_key, detach);
}

/* A number of its own for each thread of the process, never reused as thread ids are; 0: no memory. */
static uint64_t thread_key(void)
{
    static __thread uint64_t key;
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_key);
    if (!key)
        key = eng_shared_add64(&next_key, 1) + 1;
    if (!eng_native_self) {
        struct eng_thread *t = eng_native_attach((uint32_t)key, key);
        if (!t)
            return 0;
        pthread_setspecific(detach_key, t);
    }
    return key;
}

/* This thread's entry, made on first use; NULL: no memory. */
static struct user *find_user(struct ll_lock *l)
{
    uint64_t key = thread_key();
    struct user *u = NULL, **bucket = &l->table[key % BUCKETS];

    if (!key)
        return NULL;
    pthread_mutex_lock(&l->mutex);
    for (u = *bucket; u && u->key != key; u = u->next)
        ;
    if (!u && (u = calloc(1, sizeof(*u)))) {
        u->key = key;
        if (l->validator)
            u->validated = validated_thread(l->validator);
        u->node = ll_zeroed(l->desc->node_size);
        if (u->node) {
            if (l->desc->node_init)
                l->desc->node_init(l->lock, u->node);
            u->next = *bucket;
            *bucket = u;
        } else {
            free(u);
            u = NULL;
        }
    }
    pthread_mutex_unlock(&l->mutex);
    return u;
}

/* ---- life ---- */

static void free_lock(struct ll_lock *l)
{
    for (unsigned b = 0; b < BUCKETS; b++)
        while (l->table[b]) {
            struct user *u = l->table[b];
            l->table[b] = u->next;
            free(u->node);
            free(u);
        }
    if (l->validator) {
        ll_validator_lock_fini(&l->guard, NULL, NULL);
        ll_validator_unref(l->validator);
    }
    pthread_mutex_destroy(&l->mutex);
    free(l->lock);
    free(l);
}

int ll_lock_create(const char *id, const struct ll_setting *settings, size_t n_settings,
                   struct ll_lock **out, struct ll_error *err)
{
    struct ll_plan plan;
    const struct ll_lock_desc *desc;
    const struct ll_topology *topo;
    struct ll_lock *l;
    int ret;

    ll_plan_init(&plan);
    plan.lock = id;
    plan.threads = 1;
    if ((ret = ll_plan_validate(&plan, err))) /* knows the names and suggests the nearest */
        return ret;
    desc = ll_lock_find(id, LL_VARIANT_NATIVE);
    l = calloc(1, sizeof(*l));
    if (!l || !(l->lock = ll_zeroed(desc->lock_size))) {
        free(l);
        return ll_fail(err, -ENOMEM, "", "out of memory");
    }
    pthread_mutex_init(&l->mutex, NULL);
    l->desc = desc;
    l->host = ll_lock_find(id, LL_VARIANT_VIRTUAL) == NULL;
    l->pid = getpid();
    ll_params_default(l->lock, desc->params);
    ret = ll_params_apply(settings, n_settings, desc->params, l->lock, NULL, NULL, err);
    if (!ret)
        ret = ll_topology_get(&topo, err);
    if (!ret && desc->init && (ret = desc->init(l->lock, topo)))
        ll_fail(err, ret, "lock", "%s could not be initialised: %s", id, strerror(-ret));
    if (ret) {
        free_lock(l);
        return ret;
    }
    *out = l;
    return 0;
}

static bool has_waiters(const void *address)
{
    const struct ll_lock *l = address;

    return eng_native_holds(l->desc->waiters(l->lock));
}

int ll_lock_validate(struct ll_lock *l, struct ll_validator *v, const char *class_name,
                     uint32_t subclass, struct ll_error *err)
{
    uint32_t id;
    int ret;

    if (l->validator)
        return ll_fail(err, -EBUSY, "validator", "a validator looks on already");
    if (subclass >= LL_VALIDATOR_SUBCLASSES)
        return ll_fail(err, -ERANGE, "subclass", "subclass %u is outside 0 to %u", subclass,
                       LL_VALIDATOR_SUBCLASSES - 1);
    ret = ll_validator_class(v, class_name, ll_lock_traits(l->desc), &id, err);
    if (!ret && ll_validator_lock_init(v, &l->guard, id, subclass, l,
                                       l->desc->waiters ? has_waiters : NULL, NULL, NULL))
        ret = ll_fail(err, -ENOSPC, "subclass", "there are too many classes and subclasses");
    if (!ret)
        l->validator = ll_validator_ref(v);
    return ret;
}

int ll_lock_destroy(struct ll_lock *l)
{
    if (l->pid != getpid())
        return 0;
    if (eng_own_read_acq32(&l->waiters) ||
        (eng_own_read_acq32(&l->holders) && !eng_own_read_acq32(&l->broken)))
        return -EBUSY;
    if (l->desc->fini)
        l->desc->fini(l->lock);
    free_lock(l);
    return 0;
}

bool ll_lock_held(const struct ll_lock *l)
{
    return eng_own_read_acq32(&l->holders) != 0;
}

/* ---- acquire ---- */

struct wait {
    struct ll_lock *lock;
    int (*poll)(void *arg);
    void *arg;
    double next_poll, until;
    int why; /* -ECANCELED, -ETIMEDOUT or -ENOTRECOVERABLE once it is over */
};

/* Called from inside a wait, by the shim and by the try loop. Once over, it stays so: `poll` must
 * not be asked again. */
static bool wait_is_over(struct wait *w)
{
    double now;

    if (w->why)
        return true;
    now = run_now();
    if (eng_own_read_acq32(&w->lock->broken)) {
        w->why = -ENOTRECOVERABLE;
    } else if (now >= w->until) {
        w->why = -ETIMEDOUT;
    } else if (w->poll && now >= w->next_poll) {
        w->next_poll = now + POLL_S;
        if (w->poll(w->arg))
            w->why = -ECANCELED;
    }
    return w->why != 0;
}

static bool tear_out(struct eng_thread *self)
{
    return wait_is_over(self->owner_data);
}

/* For an attempt that queues, such as osq's: it leaves by itself when it is told to yield. */
static bool ask_to_leave(struct eng_thread *self)
{
    if (wait_is_over(self->owner_data))
        eng_own_set32(&self->resched, 1);
    return false;
}

/* Who listens to this thread's polls. A wait may lie inside another one's `poll`. */
struct listener {
    bool (*on_poll)(struct eng_thread *self);
    void *owner_data;
    bool can_unwind;
    jmp_buf unwind;
};

static void listen(struct listener *outer, bool (*on_poll)(struct eng_thread *self), struct wait *w)
{
    struct eng_thread *self = eng_native_self;

    outer->on_poll = self->on_poll;
    outer->owner_data = self->owner_data;
    outer->can_unwind = self->can_unwind;
    memcpy(outer->unwind, self->unwind, sizeof(outer->unwind));
    self->can_unwind = false; /* until `unwind` is set */
    self->owner_data = w;
    self->on_poll = on_poll;
}

static void listen_no_more(const struct listener *outer)
{
    struct eng_thread *self = eng_native_self;

    self->on_poll = outer->on_poll;
    self->owner_data = outer->owner_data;
    memcpy(self->unwind, outer->unwind, sizeof(self->unwind));
    self->can_unwind = outer->can_unwind;
}

static bool try_once(struct ll_lock *l, struct user *u, bool shared)
{
    return shared ? l->desc->shared.try_acquire_shared(l->lock, u->node)
                  : l->desc->ops.try_acquire(l->lock, u->node);
}

static void give_back(struct ll_lock *l, struct user *u, bool shared)
{
    if (shared)
        l->desc->shared.release_shared(l->lock, u->node);
    else
        l->desc->ops.release(l->lock, u->node);
}

static int by_trying(struct ll_lock *l, struct user *u, bool shared, struct wait *w)
{
    struct timespec nap = {0, 20 * 1000};
    struct listener outer;
    bool got;

    for (;;) {
        listen(&outer, ask_to_leave, w);
        got = try_once(l, u, shared);
        eng_own_set32(&eng_native_self->resched, 0);
        listen_no_more(&outer);
        if (got && w->why != -ECANCELED)
            return 0;
        if (got)
            give_back(l, u, shared);
        if (wait_is_over(w))
            return w->why;
        nanosleep(&nap, NULL);
    }
}

static int by_waiting(struct ll_lock *l, struct user *u, bool shared, struct wait *w)
{
    struct listener outer;

    listen(&outer, tear_out, w);
    if (setjmp(eng_native_self->unwind)) {
        listen_no_more(&outer);
        eng_native_spin_end();
        /* who waits in no queue leaves no trace */
        if (l->desc->claims & (LL_QUEUES | LL_FIFO))
            eng_own_set_rel32(&l->broken, 1);
        return w->why;
    }
    eng_native_self->can_unwind = true;
    if (shared)
        l->desc->shared.acquire_shared(l->lock, u->node);
    else
        l->desc->ops.acquire(l->lock, u->node);
    listen_no_more(&outer);
    return 0;
}

/* What the validator is told before a call: one that does not wait is told of afterwards alone. */
static void tell_asks(struct ll_lock *l, const struct user *u, const struct ll_lock_call *call)
{
    uint32_t how = (call->shared ? LL_VALIDATOR_SHARED : 0) | call->subclass;

    if (!u->validated || call->timeout_s == 0)
        return;
    if (call->outer && call->outer->validator == l->validator)
        ll_validator_acquire_nested(u->validated, &l->guard, how, &call->outer->guard, call->site);
    else
        ll_validator_acquire(u->validated, &l->guard, how, call->site);
}

static void tell_answer(struct ll_lock *l, const struct user *u, const struct ll_lock_call *call,
                        int ret)
{
    uint32_t how = (call->shared ? LL_VALIDATOR_SHARED : 0) | call->subclass;

    if (!u->validated)
        return;
    if (call->timeout_s == 0)
        ll_validator_tried(u->validated, &l->guard, how, ret == 0, call->site);
    else
        ll_validator_acquired(u->validated, &l->guard, ret);
}

int ll_lock_acquire(struct ll_lock *l, bool shared, double timeout_s, int (*poll)(void *arg),
                    void *arg)
{
    struct ll_lock_call call = {.shared = shared, .timeout_s = timeout_s, .poll = poll, .arg = arg};

    return ll_lock_acquire_as(l, &call);
}

int ll_lock_acquire_as(struct ll_lock *l, const struct ll_lock_call *call)
{
    bool shared = call->shared;
    double now = run_now(), timeout_s = call->timeout_s;
    struct wait w = {.lock = l,
                     .poll = call->poll,
                     .arg = call->arg,
                     .next_poll = now + POLL_S,
                     .until = timeout_s < 0 ? INFINITY : now + timeout_s};
    bool has_try =
        shared ? l->desc->shared.try_acquire_shared != NULL : l->desc->ops.try_acquire != NULL;
    struct user *u;
    int ret;

    if (l->pid != getpid())
        return -EPERM;
    if (shared && l->desc->kind != LL_KIND_SHARED)
        return -ENOTSUP;
    if (eng_own_read_acq32(&l->broken))
        return -ENOTRECOVERABLE;
    if (!(u = find_user(l)))
        return -ENOMEM;
    if (timeout_s >= 0 && !has_try)
        return -ENOTSUP;
    tell_asks(l, u, call);
    if (u->holding != HOLDS_NOT) {
        tell_answer(l, u, call, -EDEADLK);
        return -EDEADLK;
    }
    eng_shared_add32(&l->waiters, 1);
    u->holding = WAITS; /* `poll` may come back here: its node is in use */
    if (has_try && (timeout_s >= 0 || l->host))
        ret = by_trying(l, u, shared, &w);
    else
        ret = by_waiting(l, u, shared, &w);
    u->holding = ret ? HOLDS_NOT : shared ? HOLDS_SHARED : HOLDS;
    if (!ret)
        eng_shared_add32(&l->holders, 1);
    eng_shared_add32(&l->waiters, (uint32_t)-1);
    tell_answer(l, u, call, ret);
    return ret;
}

int ll_lock_release(struct ll_lock *l, bool shared)
{
    return ll_lock_release_at(l, shared, NULL);
}

/* What is refused leaves the lock as it is: who holds it in the other mode goes on to. */
static int refuse_release(struct ll_lock *l, const struct user *u)
{
    if (u->validated && (u->holding == HOLDS || u->holding == HOLDS_SHARED))
        ll_validator_tried(u->validated, &l->guard,
                           u->holding == HOLDS_SHARED ? LL_VALIDATOR_SHARED : 0, true, NULL);
    return -EPERM;
}

int ll_lock_release_at(struct ll_lock *l, bool shared, const struct ll_site *site)
{
    struct user *u;

    if (l->pid != getpid() || !(u = find_user(l)))
        return -EPERM;
    if (u->validated)
        ll_validator_release(u->validated, &l->guard, shared ? LL_VALIDATOR_SHARED : 0, site);
    if (u->holding != (shared ? HOLDS_SHARED : HOLDS)) {
        if (u->validated)
            ll_validator_released(u->validated, &l->guard);
        return refuse_release(l, u);
    }
    u->holding = HOLDS_NOT;
    eng_shared_add32(&l->holders, (uint32_t)-1);
    if (!eng_own_read_acq32(
            &l->broken)) /* else nobody can be let in any more; not this one's fault */
        give_back(l, u, shared);
    if (u->validated)
        ll_validator_released(u->validated, &l->guard);
    return 0;
}

void __attribute__((weak)) ll_server_after_fork_child(void);

/* Handles carry the pid of their maker, so there is nothing to mark here but what others own. */
void ll_after_fork_child(void)
{
    validated_forget();
    eng_native_self = NULL; /* the parent's descriptor: its pool is ours too, but not this entry */
    if (ll_server_after_fork_child)
        ll_server_after_fork_child();
}
