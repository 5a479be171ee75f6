/* SPDX-License-Identifier: MIT */
/* words.h - the types of the shim: shared words, sites, terms and reasons. Semantics in engine.h. */
#pragma once

#include "core/types.h"
#include "metrics/events.h"

struct eng_thread;

struct eng_site_use { /* virtual build */
    uint64_t executed, blocked;
    bool waits;
};

struct eng_site {
    const char *file, *function, *expr;
    unsigned line;
    /* virtual build: the file that was compiled, and the counts */
    const char *base;
    struct eng_site_use *use;
};

/* Where a client stands, as it tells: around its calls of acquire and release. */
enum eng_mark {
    ENG_OUTSIDE,
    ENG_ACQUIRING,
    ENG_HOLDING, /* holds a lock and comes for another; keeps nobody out */
    ENG_ENTERED,
    ENG_LEAVING
};

/* clang-format off */
typedef struct { uint8_t raw; } __attribute__((may_alias)) eng_u8;
typedef struct { uint16_t raw; } __attribute__((may_alias)) eng_u16;
typedef struct { uint32_t raw; } __attribute__((may_alias)) eng_u32;
typedef struct { uint64_t raw; } eng_u64;
typedef struct { int32_t raw; } eng_i32;
typedef struct { int64_t raw; } eng_i64;
#define eng_ptr(T) struct { T *raw; }
#define eng_plain(T) struct { T raw; }
/* clang-format on */

#define eng_half(w, i) (eng_view_half(w) + (i))
#define eng_byte(w, i) (eng_view_byte(w) + (i))
LL_TEMPLATE eng_u16 *eng_view_half(eng_u32 *w)
{
    return (eng_u16 *)(void *)w;
}
LL_TEMPLATE eng_u8 *eng_view_byte(eng_u32 *w)
{
    return (eng_u8 *)(void *)w;
}

/* Why a wait ended without its condition. */
enum eng_gave_up {
    ENG_GAVE_UP_DEADLINE = -1,
    ENG_GAVE_UP_BUDGET = -2,
    ENG_GAVE_UP_RESCHED = -3,
    ENG_GAVE_UP_OWNER = -4,
    ENG_GAVE_UP_CANCEL = -5,
};
enum eng_park_result { ENG_WOKEN, ENG_TIMED_OUT, ENG_CANCELLED };

/* What a waiting loop does between two looks. */
enum eng_relax_kind {
    ENG_RELAX_PAUSE, /* the instruction meant for it */
    ENG_RELAX_NONE,  /* nothing: the compiler alone is told */
    ENG_RELAX_YIELD, /* the CPU is given away */
    ENG_RELAX_UMWAIT, /* the CPU sleeps lightly until the line is written, or for some microseconds */
};

struct eng_giveup {
    uint64_t deadline_ns;      /* eng_now() at or after this; 0 never */
    uint32_t budget;           /* rounds; 0 no bound */
    bool resched;              /* need_resched */
    bool cancel;               /* cancel token of this thread */
    struct eng_thread *owner;  /* no longer on a CPU; NULL: not asked */
    enum eng_relax_kind relax; /* between two rounds; says nothing about giving up */
};

/* The big lock of the run as one thread sees it. */
struct eng_bkl {
    eng_u32 *word;  /* 1: somebody holds it */
    uint32_t depth; /* how often this thread holds it */
};

enum eng_test { ENG_EQ, ENG_NE, ENG_GE, ENG_MASK_EQ, ENG_MASK_NE };

struct eng_term {
    const void *addr;
    uint64_t operand, mask;
    uint8_t width; /* bytes */
    uint8_t test;  /* enum eng_test */
    bool acquire;
};

LL_TEMPLATE bool eng_term_holds(const struct eng_term *t, uint64_t v)
{
    switch ((enum eng_test)t->test) {
    case ENG_EQ: return v == t->operand;
    case ENG_NE: return v != t->operand;
    case ENG_GE: return v >= t->operand;
    case ENG_MASK_EQ: return (v & t->mask) == t->operand;
    case ENG_MASK_NE: return (v & t->mask) != t->operand;
    }
    return false;
}
