/* SPDX-License-Identifier: MIT */
/* machine.h - the machine on which the checker runs a program: threads, memory, time in operations.
 *
 * Internal to engine/check/. Mechanics only: what can go on, and what an operation does. Who goes on
 * is the strategy's business (choose), and so is what it remembers of each operation (dpor.c).
 *
 * A CHOICE is a number below 64: thread t goes on (t), its oldest buffered store reaches memory
 * (8 + t), or its wait ends for a reason to give up (16 + 8 * reason + t). A set of choices is a mask.
 * An ACTOR is a thread (t) or a store buffer (8 + t): what one actor does is in program order.
 *
 * MEMORY is split into cells, the largest pieces that no access has divided so far. Whoever asks
 * whether two operations touch the same bytes compares cells. The first access that divides one makes
 * the exploration start again, which happens in the first few executions if at all.
 */
#pragma once

#include <string.h>

#include "engine/check/explore.h"
#include "engine/fiber.h"

#define CK_ACTORS (2 * CK_THREADS)
#define CK_CELLS 4096u
#define CK_BUFFER 32u /* stores that a thread can have on their way to memory */
#define CK_FOOT_CELLS 32u
#define CK_WRITE_CELLS 8u /* of a footprint that writes */
#define CK_READ_SET 16u

#define CK_BIT(choice) (UINT64_C(1) << (choice))
#define CK_GO(t) (t)
#define CK_FLUSH(t) (CK_THREADS + (t))
#define CK_GIVE_UP(t, reason) (2 * CK_THREADS + CK_THREADS * (reason) + (t))
#define CK_REASONS 5u /* -1 - enum eng_gave_up */
/* all choices that are thread t itself, in whichever way it goes on */
#define CK_THREAD_MASK(t) (UINT64_C(0x0001010101010001) << (t))

typedef int16_t ck_vc __attribute__((vector_size(16)));    /* by thread: C11 happens-before */
typedef int16_t ck_clock __attribute__((vector_size(32))); /* by actor: order of dependent events */

static inline ck_vc ck_vc_join(ck_vc a, ck_vc b)
{
    ck_vc m = a > b;

    return (a & m) | (b & ~m);
}

static inline void ck_clock_join(ck_clock *a, const ck_clock *b)
{
    ck_clock m = *a > *b;

    *a = (*a & m) | (*b & ~m);
}

struct ck_op {
    enum ck_op_kind kind;
    const struct vt_access *access; /* in the frame of the call, which waits */
    const struct eng_site *site;
    const struct eng_term *term; /* likewise */
    uint32_t n_terms;
    uint32_t reasons;               /* to give up: mask of -1 - enum eng_gave_up */
    const struct eng_thread *owner; /* await: that is off its CPU for ENG_GAVE_UP_OWNER */
    struct eng_thread *target;
    enum eng_mark mark; /* enter, leave */
    bool shared;
    uint32_t from, to; /* offsets in memory, to be freed */
};

struct ck_word { /* what a thread has read since its last relax */
    const void *addr;
    uint64_t value; /* as it knows it: last read, or written by itself since */
    uint32_t width;
};

struct ck_store { /* in a store buffer */
    void *addr;
    uint64_t value;
    uint32_t width;
    int32_t read_by; /* last event of the thread that took its value from here, or -1 */
    ck_vc released;
    ck_clock clock; /* of the thread when it issued the store */
    const struct eng_site *site;
};

struct ck_range {
    uint32_t offset, end;
};

struct eng_thread {
    ck_vc vc, fence_acquired, fence_released;
    struct ck_store buffer[CK_BUFFER];
    struct fiber fiber;
    struct ck_op op; /* what it does when it goes on */
    uint32_t index;
    uint32_t buffered_first, buffered; /* ring */
    int reason;                        /* with which it was told to go on: 0 or enum eng_gave_up */
    bool ended, quit;                  /* quit: ended by its first relax */
    bool resched, waited;
    bool at_doorway;
    uint32_t permit;
    uint8_t given_up[CK_REASONS];
    uint32_t asked; /* reasons asked for since the last relax */
    uint32_t fired; /* reasons that ended a relax and have not been asked for since */
    struct ck_word read[CK_READ_SET];
    uint32_t n_read;
    bool read_overflow;
    enum eng_mark place;
    bool shared;         /* in which mode it is inside */
    uint32_t doorway;    /* its number in line; 0: none */
    uint32_t wait_began; /* step at which it first waited in this acquire; 0: not */
    uint32_t entered;
    uint64_t watch; /* CK_WATCH of what it waits for; all ones if that is not one whole cell */
    uint32_t went,
        disabled_at; /* for starvation.c: operations so far; step when it last could not */
    uint64_t random; /* 0: not asked for yet */
    struct eng_bkl bkl;
    const struct eng_site *last; /* the operation it did last */
};

struct ck_cell {
    ck_vc released;  /* what an acquire load of it learns */
    ck_vc read_at;   /* plain: clock of each thread's last read */
    uint32_t stamp;  /* execution in which the above is meant */
    uint32_t offset; /* in the program's memory; CK_NO_OFFSET: not there */
    uint32_t end;
    int16_t wrote_at; /* plain: clock of the last write; 0: none */
    uint8_t wrote_by;
    bool uncovered;
    const struct eng_site *write_site, *read_site[CK_THREADS];
    /* for dpor.c, of this execution */
    int32_t last_write; /* event, or -1 */
    uint32_t readers;   /* actors that have read since */
    int32_t last_read[CK_ACTORS];
};

#define CK_NO_OFFSET UINT32_MAX
#define CK_WATCH(cell) (UINT64_C(1) << ((cell) % 64)) /* several may share a bit */
#define CK_WHOLE(cell, width) ((uint32_t)(cell) << 8 | (width))
/* cells that stand for the engine's own words */
#define CK_CELL_SECTION 1u
#define CK_CELL_PERMIT(t) (2u + (t))
#define CK_FIRST_CELL (2u + CK_THREADS)

struct ck_foot { /* what an operation touches */
    uint32_t n;  /* 0: nothing that others can see, e.g. its own buffered store */
    bool write;
    uint16_t cell[CK_FOOT_CELLS];
};

enum ck_end {
    CK_COMPLETE,
    CK_STUCK,
    CK_IMPATIENT, /* stuck, but somebody spins on an owner that sleeps: it has no give-up left */
    CK_REDUNDANT,
    CK_CUT,
    CK_ABORTED,
    CK_QUIT,
    CK_RESPLIT
};

/* What a strategy says. */
struct ck_policy {
    void (*begin)(void);             /* of an execution */
    int (*choose)(uint64_t enabled); /* one of them; < 0: end this execution as redundant */
    /* what the chosen one touched, before memory changes; store: of a flush, else NULL; may be NULL */
    void (*happened)(int choice, const struct ck_foot *foot, const struct ck_store *store);
    /* clock of what the thread did last; NULL: no clocks are kept */
    const ck_clock *(*clock)(uint32_t thread);
    void (*ended)(enum ck_end end);
};

struct ck_machine {
    const struct ck_program *program;
    const struct ck_options *options;
    const struct ck_policy *policy;
    struct ck_report *report;
    struct eng_thread thread[CK_THREADS];
    struct eng_thread *current; /* whose fiber runs */
    struct fiber main;
    uint64_t ready;   /* threads (GO) and buffers (FLUSH) that can surely go on */
    uint32_t waiting; /* threads whose pending operation has a condition */
    uint32_t running; /* last thread that went on */
    uint64_t able;    /* what those in `waiting` could do when they were last looked at */
    uint32_t stamp;
    uint32_t steps, progress_step; /* progress: somebody entered or ended */
    uint32_t ordinary;             /* steps up to which a turn is nothing special; 0: none is */
    uint64_t watched;              /* CK_WATCH of the cells that they may wait for */
    bool stirred;                  /* since then something may have changed for them */
    uint32_t fair_turn;
    bool fair, starting;
    bool tso, judge;  /* judge: happens-before */
    bool resplit;     /* a cell was divided */
    bool lean;        /* nobody looks on: no reduction, no trace, no search for starvation */
    bool remembers;   /* some relax needs to know what was read before it */
    bool gave_up_all; /* some reason was not offered because of the bound */
    uint64_t counted[LL_EVENT_COUNT];
    bool preempts; /* the choice under way: who ran could have gone on */
    uint32_t doorways;
    enum ck_end end;
    struct ck_fault fault[CK_FAULTS];
    uint32_t n_faults;
    uint8_t *choice; /* [CK_MAX_STEPS + CK_FAIR_STEPS] of this execution */
    /* memory */
    char *memory, *pristine;
    uint32_t memory_size;
    uint16_t *cell_of; /* by byte; 0: none yet */
    uint32_t *whole;   /* by byte: CK_WHOLE of the cell that begins here, if all is well with it */
    uint32_t whole_size; /* memory_size; 0 once something has been freed */
    struct ck_cell *cell;
    uint32_t n_cells;
    struct ck_range freed[CK_THREADS];
    uint32_t n_freed;
};

extern struct ck_machine ck __attribute__((visibility("hidden")));

int ck_machine_init(const struct ck_program *program, const struct ck_options *options,
                    struct ck_report *report);
void ck_machine_fini(void);
/* One execution under ck.policy. */
enum ck_end ck_machine_run(void);

/* Of choice `c`, which is enabled, in the present state. */
void ck_footprint(int c, struct ck_foot *foot);
/* No cell in common that one of them writes. */
bool ck_independent(const struct ck_foot *a, const struct ck_foot *b);
uint64_t ck_machine_memory(void);
/* In the present state: can t, which has something pending, do it; and the reasons (mask of
 * -1 - enum eng_gave_up) for which it may be told to give up instead. */
bool ck_can_go(struct eng_thread *t);
uint32_t ck_reasons(struct eng_thread *t, bool can_go);

/* The operations; the same, when nobody looks on. */
extern const struct vt_engine ck_engine, ck_lean_engine;
/* Ends the thread; ends the execution. Neither comes back. */
void ck_leave(struct eng_thread *self) __attribute__((noreturn));
void ck_abort(struct eng_thread *self) __attribute__((noreturn));
/* t's oldest buffered store reaches memory. */
void ck_flush(struct eng_thread *t);

struct ck_fault *ck_fault(const char *kind, uint32_t victim, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* starvation.c: before an execution, at each choice, when a thread is let in. */
void ck_starvation_reset(void);
void ck_starvation_note(uint64_t enabled);
void ck_starvation_entry(uint32_t entering);
/* "locks/spin/mcs.c" of a path that ends so. */
const char *ck_short(const char *file);

/* A cell was divided, or something was not known in time: this execution is worthless. */
static inline void ck_resplit(void)
{
    ck.resplit = true;
    ck.ordinary = 0;
}
static inline bool ck_traced(void)
{
    return ck.options->trace != NULL;
}
static inline uint32_t ck_thread_of(int choice)
{
    return (uint32_t)choice % CK_THREADS;
}
static inline bool ck_is_flush(int choice)
{
    return choice / CK_THREADS == 1;
}
static inline uint32_t ck_actor_of(int choice)
{
    return ck_is_flush(choice) ? (uint32_t)choice : ck_thread_of(choice);
}
