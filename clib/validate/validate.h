/* SPDX-License-Identifier: MIT */
/* validate.h - the order validator as its files share it.
 *
 * What a thread tells goes to its own struct ll_validator_thread: a stack of held locks and a hash of
 * it, the *chain*. An acquisition whose chain was seen before has nothing new to say about order,
 * classes or interrupts and ends there: no lock is taken, no line written that others read often. All
 * else (held.c: judged anew) happens under `mutex`, which also protects classes, graph and reports.
 *
 * Who else looks at a thread's stack: va_find_holder, for reports, and the watch. Both read words
 * that the owner sets one by one (engine/own.h): each is whole, together they are a hint.
 */
#pragma once

#include <pthread.h>

#include "core/error.h"
#include "core/types.h"
#include "engine/own.h"

#define VA_NODES 4096u /* classes x subclasses in use; node 0 is none */
#define VA_NAME 64u
#define VA_LOCK_NAME 96u /* "class[index]/subclass"; no index if there is but one */
#define VA_THREAD_NAME 24u
#define VA_CHAINS (1u << 15) /* cells of the chain cache; a power of two */

enum va_kind {
#define VA_KIND(symbol, name, help) VA_##symbol,
#include "validate/reports.def"
#undef VA_KIND
    VA_KINDS
};

/* How a lock is held: an edge out of it. How it was asked for: an edge into it. A recursive reader
 * (R) does not wait for readers; shared (S) and fair (N) it may. */
#define VA_HELD_SHARED 1u
#define VA_TAKES_RECURSIVE 2u

/* The call in which a thread is. */
#define VA_CALL_RELEASE 1u
#define VA_CALL_AGAIN 2u  /* through the context through which it holds the lock */
#define VA_CALL_NESTED 4u /* exclusively */
#define VA_CALL_BITS UINT64_C(7)

/* The state of interrupts at an acquisition. */
#define VA_IN_IRQ 1u
#define VA_IRQS_ON 2u

/* What is known of the use of a node: in interrupts; with interrupts on, outside of them. */
enum va_use { VA_USE_IRQ, VA_USE_IRQ_RECURSIVE, VA_USE_ON, VA_USE_ON_SHARED, VA_USES };

struct va_entry {   /* of held[] */
    uint64_t lock;  /* struct ll_validator_lock *; the first, if it stands for many */
    uint64_t outer; /* likewise; 0: not nested */
    uint64_t site;
    uint64_t chain;   /* of what lies below */
    uint64_t element; /* what it adds to the chain */
    uint32_t refs;
    uint32_t index, outer_index; /* of the locks, which may be gone by the time of a report */
    uint16_t node, outer_node;
    bool shared, tried, spins;
};

/* A copy of an entry that outlives the lock. */
struct va_seen {
    const struct ll_site *site;
    uint32_t index, outer_index, refs;
    uint16_t node, outer_node;
    bool shared, tried, asked;
};

struct va_stack { /* of a moment */
    char thread[VA_THREAD_NAME];
    uint32_t n;
    struct va_seen seen[];
};

struct va_edge {
    uint16_t to;
    uint8_t bits; /* VA_HELD_SHARED | VA_TAKES_RECURSIVE */
    bool bad;     /* closed a cycle and was reported: no part of the graph */
    const struct ll_site *from_site, *to_site;
    struct va_stack *stack;
};

struct va_node {
    char name[VA_NAME + 4]; /* "inode", "inode/1" */
    uint32_t class_id, subclass;
    uint32_t uses; /* bits 1 << enum va_use; under mutex */
    const struct ll_site *use_site[VA_USES];
    struct va_edge *edge;
    uint32_t n_edges, room;
};

struct va_class {
    char name[VA_NAME];
    uint32_t traits;
    uint32_t instances, live; /* numbers given out, since there was none; locks there are */
    uint16_t node[LL_VALIDATOR_SUBCLASSES];
    uint32_t context_class; /* WW: what its contexts are */
};

struct va_search; /* graph.c */

struct va_report {
    struct va_report *next;
    uint64_t key;
    enum va_kind kind;
    struct ll_validator_report out;
};

struct va_site {
    struct ll_site site;
    struct va_site *next;
};
#define VA_SITE_BUCKETS 256u

struct ll_validator {
    /* read by every acquisition, written when something new is learnt */
    LL_OWN_LINE uint64_t *chain; /* [VA_CHAINS] open addressing; 0: free */
    struct va_class *class;      /* [LL_VALIDATOR_CLASSES], class 0 is none */
    struct va_node *node;        /* [VA_NODES] */
    LL_OWN_LINE pthread_mutex_t mutex;
    uint32_t refs, closed; /* atomic */
    uint32_t n_classes, n_nodes, n_edges, n_chains;
    struct va_search *search;
    bool irqs_used; /* an interrupt has taken a lock */
    struct ll_validator_thread *threads;
    struct ll_validator_lock *locks;
    struct va_site *sites[VA_SITE_BUCKETS];
    struct va_report *first, *last;
    uint32_t n_reports, max_reports;
    uint64_t dropped, restamped, most_held;
    uint32_t threads_made;
};

struct ll_validator_thread {
    /* the lock in whose call the thread is, with VA_CALL_*, by depth of interrupts */
    LL_OWN_LINE uint64_t in_call[LL_VALIDATOR_IRQ_NEST + 1];
    uint64_t chain;
    uint32_t depth, base; /* entries; those below base belong to what was interrupted */
    uint32_t spin_depth, irq_depth, irqs_off;
    uint32_t irq_state; /* VA_IN_IRQ, VA_IRQS_ON */
    uint32_t untracked; /* locks held that held[] had no room for */
    struct ll_validator *v;
    struct va_entry held[LL_VALIDATOR_HELD];
    struct { /* of what each level of interrupts has interrupted */
        uint32_t base, irqs_off;
    } saved[LL_VALIDATOR_IRQ_NEST];
    struct ll_validator_context *open; /* contexts */
    bool (*asleep)(const void *arg);
    const void *asleep_arg;
    char name[VA_THREAD_NAME];
    struct ll_validator_thread *next, *previous;
};

LL_TEMPLATE uint64_t va_word(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

LL_TEMPLATE const struct ll_site *va_site_of(const struct va_entry *e)
{
    return (const struct ll_site *)(uintptr_t)eng_own_read(&e->site);
}

LL_TEMPLATE uint64_t va_magic(const struct ll_validator_lock *l)
{
    return va_word(l) ^ UINT64_C(0x6c6f636b6c6162);
}

LL_TEMPLATE bool va_is_initialised(const struct ll_validator_lock *l)
{
    return l->magic == va_magic(l);
}

/* Mixes well enough that two of a few thousand chains share a hash once in 2^40 runs. */
LL_TEMPLATE uint64_t va_mix(uint64_t chain, uint64_t element)
{
    uint64_t x = (chain ^ element) * UINT64_C(0x9e3779b97f4a7c15);

    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x ? x : 1;
}

/* What is being done when something is found: the request that is judged. */
struct va_request {
    struct ll_validator_lock *lock;
    uint16_t node;
    bool shared, tried, recursive;
    bool quiet; /* the same class was reported in other words */
    struct ll_validator_lock *outer;
    const struct ll_site *site;
};

/* ---- classes.c; under mutex ---- */

/* The node of a level of a class; 0: no room. */
uint16_t va_node_of(struct ll_validator *v, uint32_t class_id, uint32_t subclass);
uint32_t va_class_make(struct ll_validator *v, const char *name, uint32_t traits); /* 0: no room */
LL_TEMPLATE const struct va_class *va_class_of(const struct ll_validator *v, uint16_t node)
{
    return &v->class[v->node[node].class_id];
}
/* "inode[17]", "inode[17]/1" */
void va_lock_name(const struct ll_validator *v, uint16_t node, uint32_t index,
                  char out[VA_LOCK_NAME]);

/* ---- graph.c; under mutex ---- */

struct va_search *va_search_make(void);
/* The request's lock is asked for while `t` holds `e`: adds the edge, or reports what it would close. */
void va_edge_add(struct ll_validator_thread *t, const struct va_entry *e,
                 const struct va_request *r);
/* The node is used so: reports what interrupts may then meet. */
void va_use_add(struct ll_validator_thread *t, uint16_t node, enum va_use use,
                const struct va_request *r);
void va_graph_fini(struct ll_validator *v);

/* ---- held.c ---- */

/* The entry that stands for `l`, which the thread holds, or NULL. */
struct va_entry *va_find(struct ll_validator_thread *t, const struct ll_validator_lock *l);
/* The entry that counts `l`, which the thread has asked for and does not get. */
struct va_entry *va_find_asked(struct ll_validator_thread *t, const struct ll_validator_lock *l);
/* Takes one lock off an entry. */
void va_drop(struct ll_validator_thread *t, struct va_entry *e, struct ll_validator_lock *l);
/* Computes the chain, which begins at `base`, afresh. */
void va_chain_again(struct ll_validator_thread *t);
/* The holder of an entry is one of the shared ones from here on. */
void va_make_shared(struct ll_validator_thread *t, struct va_entry *e);
/* Judges, then pushes an entry or counts one more of a nest. */
void va_take(struct ll_validator_thread *t, const struct va_request *r);
struct va_request va_request(struct ll_validator_thread *t, struct ll_validator_lock *l,
                             uint32_t how, const struct ll_site *site);

/* ---- misuse.c ---- */

/* False, and reported: it was never initialised where it lies. */
bool va_usable(struct ll_validator_thread *t, const struct ll_validator_lock *l,
               const struct ll_site *site);
/* Before a call that may wait: sleeping where one must not, asking for what one holds. */
void va_check_acquire(struct ll_validator_thread *t, struct va_request *r, bool may_wait);
/* Takes it off the stack, if it is there in that mode. */
void va_check_release(struct ll_validator_thread *t, struct ll_validator_lock *l, bool shared,
                      const struct ll_site *site);
/* Somebody who holds it, `not_me` apart; NULL: nobody, as far as one can see. */
struct ll_validator_thread *va_find_holder(const struct ll_validator *v,
                                           const struct ll_validator_lock *l,
                                           const struct ll_validator_thread *not_me);
/* Somebody inside one of its calls. */
struct ll_validator_thread *va_find_caller(const struct ll_validator *v,
                                           const struct ll_validator_lock *l,
                                           const struct ll_validator_thread *not_me);

/* ---- ww.c ---- */

struct ll_validator_context *va_context_of(const struct ll_validator_lock *l);
struct ll_validator_context *va_open_context(const struct ll_validator_thread *t,
                                             uint32_t class_id);
/* A ww lock was got without a context. */
void va_acquired_plain(struct ll_validator_thread *t, struct ll_validator_lock *l);
/* Before a release: the lock leaves its context. */
void va_leave_context(struct ll_validator_thread *t, struct ll_validator_lock *l,
                      const struct ll_site *site);
void va_contexts_left(struct ll_validator_thread *t, const struct ll_site *site);

/* ---- report.c; under mutex ---- */

struct va_link { /* of a cycle; bits as in struct va_edge */
    uint16_t from, to;
    uint8_t bits;
    bool interrupt;
    const struct ll_site *from_site, *to_site;
    const struct va_stack *stack;
};

struct va_finding {
    enum va_kind kind;
    struct ll_validator_thread *thread; /* may be NULL */
    const struct ll_site *site;
    const struct va_request *asked;          /* the last entry of the stack; may be NULL */
    const struct ll_validator_thread *other; /* its stack is part of the report; may be NULL */
    uint16_t node;                           /* part of what makes two reports the same */
    const struct va_link *link;
    uint32_t n_links;
};
/* Keeps it, or counts it with its like. */
void va_report(struct ll_validator *v, const struct va_finding *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The stack of this moment with what is asked for; NULL: no memory. */
struct va_stack *va_stack_now(const struct ll_validator_thread *t, const struct va_request *asked);
void va_link_out(struct ll_validator *v, const struct va_link *in, struct ll_validator_link *out);
void va_reports_fini(struct ll_validator *v);
