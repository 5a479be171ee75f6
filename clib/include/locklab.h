/* SPDX-License-Identifier: MIT */
/* locklab.h - all that the Python binding and the dashboard may know of the C core.
 *
 * Conventions. Functions return 0 or a negative errno from the list in core/error.h; those that judge
 * user input take a last `struct ll_error *` (may be NULL) that receives the field at fault and one
 * sentence with the value and the allowed range. Nothing here prints, exits or sets errno. Strings
 * that are returned live as long as the library unless a function says otherwise. Structs that
 * cross this border start with `size` (their sizeof as the caller knows it) and `version`.
 * Times are nanoseconds in integers (`_ns`) or seconds in doubles (`_s`).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LL_API __attribute__((visibility("default")))
#define LL_ABI 1u            /* `version` of every struct below */
#define LL_MAX_THREADS 1024u /* threads of one run */
#define LL_MAX_REPEATS 1000u
#define LL_MAX_PERF 32u /* perf events of one run */

struct ll_error {
    char field[48]; /* the option or parameter at fault, "" if none */
    char text[464]; /* one sentence, no full stop, with the value and the allowed range */
};
/* Fills *err (may be NULL) and returns `code`, for `return ll_fail(err, -EINVAL, ...)`. */
LL_API int ll_fail(struct ll_error *err, int code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---------------------------------------------------------------- catalogue */

enum ll_kind { LL_KIND_EXCLUSIVE, LL_KIND_SHARED, LL_KIND_WW, LL_KIND_COUNT };

enum ll_claim {                    /* promises that tests and the checker verify */
                LL_FIFO = 1u << 0, /* entered in the order of the operation marked as doorway */
                LL_STARVATION_FREE = 1u << 1,
                LL_PARKS = 1u << 2,     /* waiters may sleep */
                LL_QUEUES = 1u << 3,    /* each waiter waits on its own word */
                LL_BROKEN = 1u << 4,    /* does not exclude, on purpose: overlap is expected */
                LL_LIFE_TIME = 1u << 5, /* the last holder may free the lock once it is out */
                LL_READ_RECURSIVE = 1u
                                    << 6, /* who holds it shared may take it shared again, even if
                                                a writer waits */
};

enum ll_engine { LL_ENGINE_NATIVE = 1u << 0, LL_ENGINE_SIM = 1u << 1, LL_ENGINE_CHECK = 1u << 2 };

struct ll_field { /* a word of a lock or node, for attribution; tables end with name NULL */
    const char *name;
    uint16_t offset, size;
};

enum ll_param_type {
    LL_PARAM_UINT,
    LL_PARAM_BOOL,
    LL_PARAM_ENUM,
    LL_PARAM_REAL,
    LL_PARAM_LOCK /* another lock, by its id */
};

struct ll_param { /* a run-time parameter; tables end with name NULL */
    const char *name, *unit, *help;
    enum ll_param_type type;
    uint16_t offset;          /* of a double (REAL) or else a uint32_t in the lock or state */
    double def, min, max;     /* inclusive range; ENUM: 0 .. number of names - 1; LOCK: unused */
    double check;             /* value under the model checker; 0 means def */
    const char *const *names; /* ENUM only, end-marked by NULL */
    const char *lock;         /* LOCK only: the id that is the default */
    uint32_t kinds;           /* LOCK only: bits 1 << enum ll_kind that will do; 0: any */
};

struct ll_expect { /* verdict the checker must give on a client; tables end with NULL */
    const char *client, *verdict; /* kinds of fault, comma between them, or "none-found" */
    const char *setting;          /* NULL, or "name=value": only under this parameter */
};

struct ll_lock_info {
    uint32_t size, version;
    const char *id; /* "spin/mcs" */
    const char *name, *family, *summary, *origin;
    enum ll_kind kind;
    uint32_t claims;                                  /* enum ll_claim */
    uint32_t engines;                                 /* enum ll_engine */
    uint32_t lock_size, node_size;                    /* bytes */
    bool has_try;                                     /* offers try_acquire */
    bool has_until;                                   /* offers acquire_until */
    const struct ll_field *lock_fields, *node_fields; /* never NULL */
    const struct ll_param *params;                    /* never NULL */
    const struct ll_expect *expect;                   /* never NULL */
};

struct ll_workload_info {
    uint32_t size, version;
    const char *id, *summary, *origin;
    const struct ll_param *params; /* never NULL */
};

struct ll_event_info { /* one counter of events.def */
    const char *name, *unit, *help;
};

/* Number of entries, and entry `i` (sorted by id). -ENOENT: no such entry. */
LL_API size_t ll_lock_count(void);
LL_API int ll_lock_get(size_t i, struct ll_lock_info *out);
LL_API size_t ll_workload_count(void);
LL_API int ll_workload_get(size_t i, struct ll_workload_info *out);
LL_API size_t ll_event_count(void);
LL_API int ll_event_get(size_t i, struct ll_event_info *out);
LL_API const char *ll_kind_name(enum ll_kind kind);
/* Comma list of "name=version-or-yes/no" for the build: compiler, flags, pfm, ck, sanitizer. */
LL_API const char *ll_build_info(void);

/* ---------------------------------------------------------------- host */

struct ll_cpu { /* a CPU that this process may use */
    uint32_t os_index, core, package, node,
        l3; /* logical indices but for os_index; l3: cache group */
};

/* Fills at most `max` CPUs in topology order and returns how many there are, or -errno. */
LL_API int ll_cpus(struct ll_cpu *out, size_t max, struct ll_error *err);
/* The CPU (os index) of each of `threads` threads under placement `place`: compact, scatter,
 * interleave:K, nodes:LIST, cpus:LIST (lists like 0,2-3). More threads than CPUs wrap round.
 * Returns the number of distinct CPUs, or -EINVAL, -ERANGE. */
LL_API int ll_place(const char *place, uint32_t threads, uint32_t *cpus, struct ll_error *err);

struct ll_clock_info {
    uint32_t size, version;
    const char *source; /* "tsc", "cntvct" or "clock_gettime" */
    double ticks_per_s;
    uint64_t step_ns;    /* smallest step seen between two different readings, in ns */
    double read_cost_ns; /* one reading, mean */
};
/* Calibrates once per process (about 50 ms the first time). */
LL_API void ll_clock(struct ll_clock_info *out);
/* Median round trip of one word between two CPUs (os indices) in ns; 0 if both are the same.
 * Takes 1 to 5 ms. Returns 0 or -errno (pinning refused). */
LL_API int ll_regime(uint32_t cpu_a, uint32_t cpu_b, double *round_trip_ns);
/* 0 if the kernel's rseq area can tell this thread that it was preempted, else -errno. */
LL_API int ll_rseq_selftest(void);

struct ll_perf_probe { /* what counting one event would do on this host */
    uint32_t size, version;
    uint32_t type; /* perf_event_attr.type and .config as encoded */
    uint64_t config;
    const char *source; /* "pmu", "perf-sw" or "rusage" */
    const char *unit;   /* "events" or "ns" */
    int err;            /* 0, or the -errno of opening it now for the calling thread */
    char reason[256];   /* "" or the sentence that helps */
};
/* Encodes the user's spelling `name` (libpfm4 names; context-switches and its like) and tries to
 * open it. Returns 0 if the name is known (see out->err for whether it counts here), -ENOENT if
 * not, -ENOTSUP if built without libpfm4. */
LL_API int ll_perf_probe(const char *name, struct ll_perf_probe *out, struct ll_error *err);

/* ---------------------------------------------------------------- histograms */

/* Log-linear buckets: values 0..63 exactly, then 32 buckets an octave, so a bucket's width is at
 * most 1/32 of its lower bound. Bucket i holds values in (upper(i-1), upper(i)]. */
#define LL_BUCKETS 1216u
#define LL_HIST_MAX_NS ((UINT64_C(1) << 42) - 1) /* larger values land in the last bucket */
LL_API uint64_t ll_bucket_upper(uint32_t i);     /* largest value of bucket i */
LL_API uint32_t ll_bucket_of(uint64_t value);

struct ll_histogram {
    uint64_t count, sum, max; /* sum and max exact, also beyond LL_HIST_MAX_NS */
    uint64_t bucket[LL_BUCKETS];
};
LL_API void ll_histogram_record(struct ll_histogram *h, uint64_t value);
LL_API void ll_histogram_merge(struct ll_histogram *into, const struct ll_histogram *from);
/* Largest value of the bucket in which the q-quantile lies (0 <= q <= 1), at most max; 0 if empty. */
LL_API uint64_t ll_histogram_quantile(const struct ll_histogram *h, double q);

/* ---------------------------------------------------------------- plan and run */

struct ll_setting { /* -p NAME=VALUE; NAME may be "lock.NAME" or "workload.NAME" */
    const char *name, *value;
};

enum ll_metrics { LL_METRICS_EVENTS, LL_METRICS_FULL }; /* full adds clock readings and logs */
enum ll_build { LL_BUILD_INSTRUMENTED, LL_BUILD_BARE, LL_BUILD_PROBED };
/* How a waiter judges whether another thread is on a CPU: by its own word (off it while it sleeps in
 * the lab's park), by its last sign of life, yes, no, by the kernel's context-switch records, by
 * a look into procfs every millisecond. */
enum ll_owner_run {
    LL_OWNER_COOP,
    LL_OWNER_HEARTBEAT,
    LL_OWNER_ALWAYS,
    LL_OWNER_NEVER,
    LL_OWNER_SWITCH_REC,
    LL_OWNER_SAMPLE
};
/* What tells a thread to stop spinning: the length of its spin phase, a tick of the monitor on a CPU
 * that more than one thread wants, nothing. */
enum ll_resched { LL_RESCHED_BUDGET, LL_RESCHED_TICK, LL_RESCHED_NEVER };

struct ll_plan {
    uint32_t size, version;
    const char *lock, *workload, *place;
    uint32_t threads, repeat;
    double seconds, warmup_s;
    uint64_t seed;
    enum ll_metrics metrics;
    enum ll_build build;
    enum ll_owner_run owner_run;
    double heartbeat_s; /* LL_OWNER_HEARTBEAT: younger than this means running */
    enum ll_resched resched;
    uint64_t resched_budget_ns; /* LL_RESCHED_BUDGET: how long a spin phase may last */
    uint32_t hz;                /* LL_RESCHED_TICK: ticks a second */
    double watchdog_s;          /* no acquisition by anybody for so long ends the run as hung */
    double tick_s;              /* period of the series */
    bool overhead;              /* afterwards, bare against instrumented in interleaved blocks */
    bool validate;              /* the order validator looks on; needs LL_BUILD_INSTRUMENTED */
    const struct ll_setting *settings;
    size_t n_settings;
    const char *const *perf; /* user's spellings */
    size_t n_perf;
};

/* Defaults: critical-section, compact, 2 threads, 1 repeat, 1 s after 0.1 s, seed 1, full,
 * instrumented, coop, budget of 100 us, 250 Hz, watchdog 10 s, tick 0.1 s; lock is NULL and must be set. */
LL_API void ll_plan_init(struct ll_plan *plan);
/* 0, or -EINVAL/-ERANGE/-ENOENT/-ENOTSUP with err->field = the plan's or parameter's name. */
LL_API int ll_plan_validate(const struct ll_plan *plan, struct ll_error *err);

enum ll_phase {
    LL_PHASE_START,
    LL_PHASE_WARMUP,
    LL_PHASE_MEASURE,
    LL_PHASE_DRAIN,
    LL_PHASE_OVERHEAD,
    LL_PHASE_DONE
};
enum ll_status { LL_STATUS_COMPLETE, LL_STATUS_INTERRUPTED, LL_STATUS_HUNG, LL_STATUS_FAILED };

struct ll_run; /* reference-counted; all functions may be called from any thread */

/* Copies the plan, starts the controller thread and returns at once. -EBUSY never: runs may
 * overlap, but then they disturb each other. */
LL_API int ll_run_start(const struct ll_plan *plan, struct ll_run **out, struct ll_error *err);
/* Waits until the run is done or `timeout_s` (0 polls) has passed: 0 done, -ETIMEDOUT not yet. */
LL_API int ll_run_wait(struct ll_run *run, double timeout_s);
/* Asks the run to stop now; it still yields a valid partial result (status interrupted). */
LL_API void ll_run_stop(struct ll_run *run);
LL_API struct ll_run *ll_run_ref(struct ll_run *run);
/* Drops a reference; the last one stops the run, joins it and frees it. */
LL_API void ll_run_unref(struct ll_run *run);

struct ll_run_info {
    uint32_t size, version;
    const char *lock, *workload; /* live as long as the run */
    uint32_t threads, repeat;
    const uint32_t *cpus; /* [threads] os indices; lives as long as the run */
    double seconds;
};
LL_API void ll_run_info(const struct ll_run *run, struct ll_run_info *out);

/* A consistent-enough picture of a run under way: each number is whole, they may be of slightly
 * different moments. Reads each worker's line once; writes none. */
struct ll_snapshot {
    uint32_t size, version;
    enum ll_phase phase;
    uint32_t threads, repeat; /* repeat: index of the current repetition */
    double t_s;               /* since the current repetition's measured phase began; 0 before */
    double elapsed_s, expected_s;          /* of the whole run, for progress */
    uint64_t acquisitions[LL_MAX_THREADS]; /* of the current repetition, by thread */
    uint64_t overlap;
    struct ll_histogram wait,
        hold; /* over all threads and repetitions so far; empty under events */
};
LL_API void ll_run_snapshot(struct ll_run *run, struct ll_snapshot *out);

struct ll_repeat {
    double seconds; /* measured phase as the controller timed it */
    uint64_t acquisitions;
    double regime_ns[2]; /* word round trip between the first two distinct CPUs before, after;
                                NaN if there is only one CPU */
    const uint64_t *thread_acquisitions; /* [threads] */
};

struct ll_perf_value {
    const char *name, *unit, *source; /* name = the user's spelling */
    bool counted;                     /* false: reason and err say why */
    uint64_t value;       /* scaled by enabled/running, over all threads and repetitions */
    double running_ratio; /* time running / time enabled */
    int err;
    const char *reason; /* "" if counted */
};

struct ll_waiter { /* one thread of a hung run */
    uint32_t thread, cpu;
    const char *state; /* "waiting", "parked", "holding", "thinking", "in a host lock" */
    /* "lock", "node of thread 2", or with several locks "leaf[17]", "leaf[17], node of thread 2";
     * "" if unknown; lives as long as the run */
    const char *object;
    const char *field; /* field name or "" */
    const char *file;  /* source file of the wait, "" if unknown */
    uint32_t line;
    double since_s; /* how long it has waited */
};

struct ll_group { /* one group of the run's lock instances, over all threads and repeats */
    const char *name, *lock; /* lock: id */
    uint32_t count;          /* instances */
    bool counted;            /* part of the totals and histograms: the lock under test */
    uint64_t acquisitions;   /* only counted groups have any in the bare build */
    uint64_t wait_ns, hold_ns, wait_max_ns; /* sums and longest; 0 where no clock is read */
};

struct ll_validator;

struct ll_result {
    uint32_t size, version;
    enum ll_status status;
    struct ll_error failure;                 /* text says why if status is hung or failed */
    uint32_t threads, repeats;               /* repeats: those that ran, at least in part */
    const struct ll_repeat *repeat;          /* [repeats] */
    double seconds;                          /* sum over repeats */
    const uint64_t *acquisitions;            /* [threads] over all repeats */
    const uint64_t *shared_acquisitions;     /* [threads] the part of them in shared mode */
    const uint32_t *cpu;                     /* [threads] os index */
    const uint64_t *wait_max_ns;             /* [threads] */
    const uint64_t *cpu_ns;                  /* [threads] CPU time in measured phases */
    const uint64_t *voluntary, *involuntary; /* [threads] context switches in measured phases */
    const struct ll_histogram *wait, *hold, *handoff, *wake; /* NULL: does not apply, see reason */
    /* of runs with ww locks, NULL else: locks released by each back-off, restarts of each transaction
     * that came to hold all it wanted, and then its age: stamps drawn after its own (NULL as well if
     * the lock does not tell) */
    const struct ll_histogram *backoff_depth, *restarts, *age;
    const char *wait_reason, *hold_reason, *handoff_reason, *wake_reason; /* "" if present */
    /* acquisitions by others between a thread's call and its acquire; acquisitions in a row by one
     * thread; from the hand-off log, NULL where there is none */
    const struct ll_histogram *bypass, *run_length;
    uint64_t log_pairs;        /* consecutive owners in the log, by the same thread or another */
    uint64_t bypass_estimated; /* of those in `bypass` */
    uint64_t bypass_max;       /* also of long waits that ended where the log does not sample */
    double handoff_sampled;    /* share of the time in which hand-offs were logged */
    uint64_t log_dropped;      /* hand-off log windows thrown away because a log was full */
    uint32_t n_cpus;
    const uint32_t *matrix_cpus; /* [n_cpus] */
    const uint64_t *matrix;      /* [n_cpus][n_cpus], row = from */
    bool overlap_checked;        /* false: the workload has no check (lines=0) */
    uint64_t overlap;
    const uint64_t *events; /* [ll_event_count()] */
    bool rseq;              /* preempted_* events are counted (rseq works here) */
    uint32_t n_perf;
    const struct ll_perf_value *perf;
    uint32_t n_series;
    const double *series_t_s;  /* [n_series] end of each interval, over all repeats */
    const double *series_rate; /* [n_series][threads] per second */
    uint32_t n_groups;
    const struct ll_group *group; /* [n_groups], in the order of the workload */
    uint32_t n_waiters;
    const struct ll_waiter *waiter;
    uint32_t n_blocks;                             /* overhead: pairs of blocks */
    const double *block_bare, *block_instrumented; /* [n_blocks] acquisitions per second */
    double drain_s;                                /* longest drain */
    uint64_t started_ns;                           /* CLOCK_REALTIME */
    struct ll_validator *validation; /* NULL: the plan asks for none; lives as long as the run */
};
/* The result of a finished run (-EAGAIN before); lives as long as the run. */
LL_API int ll_run_result(struct ll_run *run, const struct ll_result **out);

/* ---------------------------------------------------------------- checker */

#define LL_CHECK_MAX_THREADS 8u
#define LL_CHECK_MAX_N 64u

enum ll_strategy { LL_STRATEGY_AUTO, LL_STRATEGY_DFS, LL_STRATEGY_PCT, LL_STRATEGY_RANDOM };
enum ll_memory { LL_MEMORY_TSO, LL_MEMORY_SC };
enum ll_verdict { LL_NONE_FOUND, LL_FAULT, LL_VACUOUS, LL_INCONCLUSIVE };

struct ll_check_plan {
    uint32_t size, version;
    const char *lock;
    const char
        *client; /* NULL: shared for a kind with that mode, ww for one with contexts, else mutex */
    uint32_t threads;   /* 1 .. LL_CHECK_MAX_THREADS */
    uint32_t n;         /* turns of each thread; 0: 1, 2, ... until the budget ends */
    uint32_t writers;   /* shared mode: threads that write; 0: every split */
    const char *orders; /* contexts: a letter for each thread, a: lock A then B, b: B then A, A, B:
                           that one; NULL: those that are tried for so many threads */
    enum ll_strategy strategy;
    enum ll_memory memory;
    int32_t bound;    /* preemptions an execution may have (dfs); -1: any number */
    uint32_t giveups; /* how often each reason may end a wait, by thread and execution */
    bool starvation;  /* look for executions in which a waiter is passed over for ever */
    bool first;       /* stop at the first fault */
    bool races;       /* judge plain fields by happens-before */
    uint64_t budget;  /* executions; 0: no bound */
    double seconds;   /* at most; kept within 0.2 s */
    uint64_t seed;    /* pct and random */
    const struct ll_setting *settings;
    size_t n_settings;
};

/* Defaults: 3 threads, n = 1, 2, ..., auto, TSO, no bound, 1 give-up, races, 10 s, seed 1. */
LL_API void ll_check_plan_init(struct ll_check_plan *plan);

struct ll_check; /* reference-counted; all functions may be called from any thread */

/* Copies the plan, starts a thread that explores, returns at once. Checks of one process take turns.
 * 0, -EINVAL, -ERANGE, -ENOENT, -ENOTSUP (a host lock, a client that the lock cannot run), -ENOMEM. */
LL_API int ll_check_start(const struct ll_check_plan *plan, struct ll_check **out,
                          struct ll_error *err);
/* Runs one execution again, as the string of a fault says. The result has that fault with its steps, or
 * none. -EINVAL: not a schedule, or one of another version of the lock's code. */
LL_API int ll_check_replay(const char *schedule, struct ll_check **out, struct ll_error *err);
/* 0 done, -ETIMEDOUT not yet. */
LL_API int ll_check_wait(struct ll_check *check, double timeout_s);
/* Ends it now; the result says what was explored until then. */
LL_API void ll_check_stop(struct ll_check *check);
LL_API void ll_check_unref(struct ll_check *check); /* stops it first if it still runs */

/* The parameters that it was given, or that its schedule holds, in full; *n of them, as long as it lives. */
LL_API const struct ll_setting *ll_check_settings(const struct ll_check *check, size_t *n);

struct ll_check_progress {
    uint32_t size, version;
    const char
        *phase; /* "waiting", "0 preemptions", "every interleaving", "shrinking", "done" ... */
    uint32_t n, writers;
    uint64_t executions, faults;
    double elapsed_s, seconds;
};
LL_API void ll_check_get_progress(struct ll_check *check, struct ll_check_progress *out);

struct ll_check_step { /* one operation of a trace */
    uint32_t thread;
    const char *op; /* "load", "store", "exchange", "add", ..., "await", "park", "flush", "enter" */
    const char *file, *function, *expression; /* where it stands in the source */
    uint32_t line;
    const char *object, *field; /* "lock", "node of T1", ...; field "" if there is none */
    bool writes;                /* memory was changed (a store's buffering is not: see flush) */
    uint64_t old_value, new_value;
    const char *old_name,
        *new_name;    /* "node of T1" where the value points into an object, else "" */
    bool preempts;    /* the thread that ran before could have gone on */
    const char *text; /* the step in words */
};

struct ll_check_fault {
    const char
        *kind; /* exclusion, deadlock, stranded, race, freed-memory, livelock, overflow, fifo,
                         starvation, life-time */
    const char *role; /* of the victim: "reader", "writer", or "" */
    const char *text; /* one sentence */
    uint32_t threads, n, writers, preemptions;
    const char *orders;   /* contexts: as in the plan; else "" */
    const char *schedule; /* for ll_check_replay; "" in notes */
    uint64_t execution;   /* number of the execution that showed it first */
    double seconds;       /* after which it was found */
    uint32_t n_steps;     /* 0 in notes */
    const struct ll_check_step *step;
};

struct ll_check_site { /* one operation in the source of the lock */
    const char *file, *function, *expression;
    uint32_t line;
    uint64_t executed, blocked; /* blocked: times that a thread waited here */
    bool waits;                 /* an await, relax or park */
};

struct ll_check_result {
    uint32_t size, version;
    enum ll_verdict verdict;
    const char *reason; /* why vacuous or inconclusive, else "" */
    const char *client;
    bool interrupted; /* by ll_check_stop */
    uint32_t n;       /* largest n that was explored wholly; 0: none was */
    bool exhaustive;  /* n = 1 wholly, with any number of preemptions */
    int32_t bound; /* explored wholly with so many preemptions; -1: with any number; -2: not so */
    int32_t
        giveups; /* give-ups by thread and reason that were explored, where more could be; -1: no wait was cut short so */
    uint32_t operations;   /* likewise, of operations in an execution */
    uint64_t executions;   /* complete ones */
    uint64_t blocked;      /* ended early by a client or a bound */
    uint64_t redundant;    /* recognised as equivalent to one that was run already */
    uint64_t preliminary;  /* executions of passes that a later one repeats: small bounds first */
    uint64_t waits;        /* times that somebody was blocked */
    uint64_t memory_bytes; /* what the explorer held at most */
    double seconds;
    uint32_t n_faults, n_notes, n_sites;
    const struct ll_check_fault *fault, *note;
    const struct ll_check_site *site;
};
/* The result of a finished check (-EAGAIN before); lives as long as the check. */
LL_API int ll_check_result(struct ll_check *check, const struct ll_check_result **out);

struct ll_client_info {
    uint32_t size, version;
    const char *id, *summary;
    enum ll_kind kind;
    bool needs_try, needs_until;
    bool ends_early; /* for counting: a thread ends where it would have to wait */
};
LL_API int ll_client_get(size_t i, struct ll_client_info *out); /* -ENOENT: no such entry */

/* ---------------------------------------------------------------- litmus tests */

/* A litmus test as a program of small operations on registers and locations; every execution of it
 * that the memory model allows is run, one for each choice of reads-from and coherence. */
#define LL_LITMUS_MAX_OPS 1024u /* of a thread */
#define LL_LITMUS_MAX_LOCATIONS 64u
#define LL_LITMUS_MAX_OBSERVED 256u
#define LL_LITMUS_MAX_TURNS 1000u
#define LL_LITMUS_REGISTERS 24u /* 64 bits; 0 is what LL_LITMUS_CAS compares with */
#define LL_LITMUS_NONE 255u
/* What a register or location holds that points to location `i`. */
#define LL_LITMUS_ADDRESS(i) (UINT64_C(0x4c4c0000) + 64u * (i))

enum ll_litmus_code {
    LL_LITMUS_LOAD,  /* dst = memory */
    LL_LITMUS_STORE, /* memory = src */
    /* atomic, and full fences under TSO; dst = what memory held */
    LL_LITMUS_SWAP, /* memory = src */
    LL_LITMUS_FETCH_ADD,
    LL_LITMUS_FETCH_SUB,
    LL_LITMUS_FETCH_AND,
    LL_LITMUS_FETCH_OR,
    LL_LITMUS_FETCH_XOR,
    LL_LITMUS_CAS, /* memory = src if it held register 0, else a mere read */
    LL_LITMUS_FENCE,
    /* on registers; all but MOVE and NOT set the flags */
    LL_LITMUS_MOVE, /* dst = src, if cond */
    LL_LITMUS_ADD,
    LL_LITMUS_SUB,
    LL_LITMUS_AND,
    LL_LITMUS_OR,
    LL_LITMUS_XOR,
    LL_LITMUS_CMP,  /* SUB without a result */
    LL_LITMUS_TEST, /* AND without a result */
    LL_LITMUS_INC,  /* these two leave the carry as it is */
    LL_LITMUS_DEC,
    LL_LITMUS_NEG,
    LL_LITMUS_NOT,
    LL_LITMUS_JUMP, /* to operation `target`, if cond; the number of operations: to the end */
    LL_LITMUS_CODES
};

struct ll_litmus_op {
    uint8_t code;  /* enum ll_litmus_code */
    uint8_t width; /* bytes: 1, 2, 4, 8 */
    uint8_t dst;   /* register */
    uint8_t src;   /* register, or LL_LITMUS_NONE: `value` */
    uint8_t base;  /* of memory: register that points to it, or LL_LITMUS_NONE: `location` */
    uint8_t cond;  /* LL_LITMUS_NONE: always; else x86's condition code 0 .. 15, but not parity */
    uint16_t location;
    uint16_t target;
    uint32_t line; /* of the test, for errors */
    uint64_t value;
};

struct ll_litmus_thread {
    const struct ll_litmus_op *op;
    uint32_t n_ops;
    uint64_t initial[LL_LITMUS_REGISTERS];
};

struct ll_litmus_location {
    uint32_t width; /* bytes; every access must have it */
    uint64_t initial;
};

struct ll_litmus_observed { /* a part of the final state */
    uint32_t thread;        /* LL_LITMUS_NONE: a location */
    uint32_t index;         /* register or location */
    uint32_t width;         /* bytes, of a register */
};

struct ll_litmus_program {
    uint32_t size, version;
    uint32_t threads; /* 1 .. LL_CHECK_MAX_THREADS */
    const struct ll_litmus_thread *thread;
    uint32_t n_locations;
    const struct ll_litmus_location *location;
    uint32_t n_observed;
    const struct ll_litmus_observed *observed;
    enum ll_memory memory;
    uint32_t turns;         /* how often a jump backwards may be taken; more cuts the execution */
    uint64_t budget;        /* executions; 0: no bound */
    double seconds;         /* 0: no bound */
    int (*poll)(void *arg); /* called every 10 ms or so; non-zero: give up. May be NULL */
    void *poll_arg;
};

struct ll_litmus_state {
    const uint64_t *value; /* [n_observed] */
    uint64_t executions;
};

struct ll_litmus_result {
    uint32_t size, version;
    uint32_t n_states;
    const struct ll_litmus_state *state; /* distinct ones, ascending */
    uint64_t executions;                 /* complete ones, their sum */
    uint64_t cut;                        /* executions that went on beyond `turns` */
    /* Executions in which a thread goes round a loop and nothing changes, in its registers or in
     * memory: they end as those do that leave the round out, and are not counted above. */
    uint64_t idle;
    uint64_t redundant; /* recognised as equivalent to one that was run already */
    bool wholly;        /* all there are were run, but for those beyond `turns` */
    double seconds;
};

/* Runs on the calling thread; programs and checks of a process take turns. 0; -EINVAL, -ERANGE (not
 * such a program; an access that is not one whole location), -ECANCELED (poll), -ENOMEM. */
LL_API int ll_litmus_run(const struct ll_litmus_program *program, struct ll_litmus_result **out,
                         struct ll_error *err);
LL_API void ll_litmus_free(struct ll_litmus_result *result);

/* ---------------------------------------------------------------- one lock for any thread */

struct ll_lock; /* a lock instance with a node for every thread that ever uses it */

LL_API int ll_lock_create(const char *id, const struct ll_setting *settings, size_t n_settings,
                          struct ll_lock **out, struct ll_error *err);
/* Acquires. timeout_s < 0: by the lock's own acquire; while it waits, `poll(arg)` (may be NULL) is
 * called every 10 ms or so, and if it answers non-zero the thread is torn out of its wait: a
 * lock with a queue (LL_QUEUES, LL_FIFO) is broken from then on, for everybody. timeout_s >= 0: by repeated try_acquire (0: one), after
 * which the lock stays usable. Host locks that have a try_acquire are always taken that way, since
 * nothing can tear a thread out of them; those that have none ignore `poll`.
 * 0, -ECANCELED (poll), -ETIMEDOUT, -EDEADLK (this thread holds it), -ENOTSUP (no shared mode, or no
 * try_acquire for a timeout), -ENOTRECOVERABLE (broken), -ENOMEM. */
LL_API int ll_lock_acquire(struct ll_lock *lock, bool shared, double timeout_s,
                           int (*poll)(void *arg), void *arg);
/* 0 (also of a broken lock), -EPERM (this thread does not hold it in this mode). */
LL_API int ll_lock_release(struct ll_lock *lock, bool shared);
LL_API bool ll_lock_held(const struct ll_lock *lock); /* by any thread, a hint */

/* Lets a validator look on (a reference is kept), which judges the lock as one of that class; before
 * its first use. 0, -EINVAL, -ERANGE (subclass), -ENOSPC, -EBUSY (it has one). */
LL_API int ll_lock_validate(struct ll_lock *lock, struct ll_validator *validator,
                            const char *class_name, uint32_t subclass, struct ll_error *err);
struct ll_lock_call { /* as ll_lock_acquire, and what the validator is told besides */
    uint32_t size, version;
    bool shared;
    double timeout_s; /* of 0, it is judged as a call that does not wait */
    int (*poll)(void *arg);
    void *arg;
    const struct ll_site *site; /* may be NULL */
    struct ll_lock *outer;      /* NULL: not nested; of the same validator */
    uint32_t subclass;          /* LL_VALIDATOR_SUBCLASS(n); 0: the lock's own */
};
LL_API int ll_lock_acquire_as(struct ll_lock *lock, const struct ll_lock_call *call);
LL_API int ll_lock_release_at(struct ll_lock *lock, bool shared, const struct ll_site *site);
/* Frees the instance; -EBUSY if a thread holds it or waits for it. */
LL_API int ll_lock_destroy(struct ll_lock *lock);

/* ---------------------------------------------------------------- order validator */

/* Watches who takes which lock while holding which, and says what can deadlock before it does, and what
 * is no proper use of a lock. It is told: by calls around the lock's own, which stay as they are.
 * Locks are judged by class: whoever makes many alike (one for each file, say) makes one class.
 *
 * A thread tells its own events, in order; threads need not care for each other. All strings that go
 * in are copied, sites must live as long as the validator. */

#define LL_VALIDATOR_HELD 64u      /* entries of a thread's stack of held locks */
#define LL_VALIDATOR_NEST_MAX 255u /* spin locks that a thread may hold */
#define LL_VALIDATOR_SUBCLASSES 8u /* levels of a hierarchy within a class */
#define LL_VALIDATOR_IRQ_NEST 4u   /* interrupts that interrupt each other */
#define LL_VALIDATOR_CLASSES 1024u
#define LL_VALIDATOR_STRANDED_NS UINT64_C(100000000)

struct ll_site { /* a place in the source of who uses a lock */
    const char *file, *function;
    uint32_t line;
};

enum ll_validator_trait { /* of a class */
                          LL_VALIDATOR_SPINS =
                              1u
                              << 0, /* waiters spin: no holder may sleep; without it, taking may sleep */
                          /* no writer that waits keeps readers out: shared inside shared is safe, always or in interrupts */
                          LL_VALIDATOR_READ_RECURSIVE = 1u << 1,
                          LL_VALIDATOR_READ_RECURSIVE_IRQ = 1u << 2,
                          LL_VALIDATOR_WW = 1u << 3, /* taken through contexts, in any order */
};

struct ll_validator;
struct ll_validator_thread;

struct ll_validator_options {
    uint32_t size, version;
    uint32_t max_reports; /* kept; the rest are counted. 0: 64 */
};

/* The caller's memory beside a lock; every member is the validator's. It tells by its address whether
 * somebody copied it. */
struct ll_validator_lock {
    uint64_t magic;
    struct ll_validator *validator;
    const void *lock;
    bool (*has_waiters)(const void *lock);
    struct ll_validator_lock *next, *previous;
    uint64_t nested, context; /* while held: who holds it under an outer lock; through what */
    uint64_t stranded_ns;
    uint32_t class_id, index, subclass, traits, node;
};

/* The caller's memory beside a ww context, zeroed once. */
struct ll_validator_context {
    struct ll_validator_lock outer; /* what the locks are nested in */
    struct ll_validator_thread *thread;
    struct ll_validator_context *next;
    const struct ll_validator_lock *contending;
    uint32_t acquired;
    bool open, done, closed;
};

/* `options` may be NULL. 0, -EINVAL, -ENOMEM. */
LL_API int ll_validator_create(const struct ll_validator_options *options,
                               struct ll_validator **out, struct ll_error *err);
/* Its locks are gone: who has kept a reference for the sake of its threads may drop it. */
LL_API void ll_validator_close(struct ll_validator *validator);
LL_API bool ll_validator_is_closed(const struct ll_validator *validator);
LL_API struct ll_validator *ll_validator_ref(struct ll_validator *validator);
/* Drops a reference; for the last one: nobody uses it or a lock or thread of it any more. */
LL_API void ll_validator_unref(struct ll_validator *validator);

/* The class of that name, made if it is new. 0, -EINVAL (other traits than before; no name), -ENOSPC. */
LL_API int ll_validator_class(struct ll_validator *validator, const char *name, uint32_t traits,
                              uint32_t *class_id, struct ll_error *err);
/* A site that lives as long as the validator; NULL: out of memory. */
LL_API const struct ll_site *ll_validator_site(struct ll_validator *validator, const char *file,
                                               const char *function, uint32_t line);

/* One for each thread. `asleep` (may be NULL) says whether it is parked, with nobody on the way to
 * wake it: for stranded waiters. 0, -ENOMEM. */
LL_API int ll_validator_thread_create(struct ll_validator *validator, const char *name,
                                      bool (*asleep)(const void *arg), const void *arg,
                                      struct ll_validator_thread **out);
/* The thread has ended: may hold nothing. */
LL_API void ll_validator_thread_end(struct ll_validator_thread *thread, const struct ll_site *site);
/* Likewise, but it was torn out of what it did: nothing is said of what it holds. */
LL_API void ll_validator_thread_abandon(struct ll_validator_thread *thread);

/* A lock comes to be and goes; `thread` may be NULL if none of the validator's threads does that.
 * `has_waiters` may be NULL: then nobody looks for stranded ones. 0, -ERANGE (class, subclass). */
LL_API int ll_validator_lock_init(struct ll_validator *validator, struct ll_validator_lock *lock,
                                  uint32_t class_id, uint32_t subclass, const void *address,
                                  bool (*has_waiters)(const void *address),
                                  struct ll_validator_thread *thread, const struct ll_site *site);
LL_API void ll_validator_lock_fini(struct ll_validator_lock *lock,
                                   struct ll_validator_thread *thread, const struct ll_site *site);

/* `how` of an acquisition: exclusive, unless shared; of the lock's own subclass, unless another. */
#define LL_VALIDATOR_SHARED 1u
#define LL_VALIDATOR_SUBCLASS(n) (((n) + 1u) << 8)
/* `how` of a release: by the plain hook of a lock that was taken through a context. */
#define LL_VALIDATOR_BASE 2u

/* Before the call that may wait ... */
LL_API void ll_validator_acquire(struct ll_validator_thread *thread, struct ll_validator_lock *lock,
                                 uint32_t how, const struct ll_site *site);
/* ... one of many of its class, which nobody takes two of but under `outer`, held exclusively ... */
LL_API void ll_validator_acquire_nested(struct ll_validator_thread *thread,
                                        struct ll_validator_lock *lock, uint32_t how,
                                        struct ll_validator_lock *outer,
                                        const struct ll_site *site);
/* ... and after it; `ret` not 0: it has come back without the lock. */
LL_API void ll_validator_acquired(struct ll_validator_thread *thread,
                                  struct ll_validator_lock *lock, int ret);
/* After a call that does not wait. */
LL_API void ll_validator_tried(struct ll_validator_thread *thread, struct ll_validator_lock *lock,
                               uint32_t how, bool got, const struct ll_site *site);
/* Before a release, and after. */
LL_API void ll_validator_release(struct ll_validator_thread *thread, struct ll_validator_lock *lock,
                                 uint32_t how, const struct ll_site *site);
LL_API void ll_validator_released(struct ll_validator_thread *thread,
                                  struct ll_validator_lock *lock);
/* Before the holder, exclusive until then, goes on as one of the shared ones. */
LL_API void ll_validator_downgrade(struct ll_validator_thread *thread,
                                   struct ll_validator_lock *lock, const struct ll_site *site);
/* An acquisition and a release that nobody shall judge; spin locks are counted all the same. */
LL_API void ll_validator_raw_acquire(struct ll_validator_thread *thread,
                                     struct ll_validator_lock *lock, const struct ll_site *site);
LL_API void ll_validator_raw_release(struct ll_validator_thread *thread,
                                     struct ll_validator_lock *lock);

/* Contexts, of a class with the trait WW; after the stamp was drawn, before the context ends. */
LL_API void ll_validator_context_init(struct ll_validator_thread *thread,
                                      struct ll_validator_context *context, uint32_t class_id,
                                      const struct ll_site *site);
LL_API void ll_validator_context_done(struct ll_validator_thread *thread,
                                      struct ll_validator_context *context,
                                      const struct ll_site *site);
LL_API void ll_validator_context_fini(struct ll_validator_thread *thread,
                                      struct ll_validator_context *context,
                                      const struct ll_site *site);
/* Before and after a call through a context; `slow`: of acquire_slow. */
LL_API void ll_validator_acquire_ww(struct ll_validator_thread *thread,
                                    struct ll_validator_lock *lock,
                                    struct ll_validator_context *context, bool slow,
                                    const struct ll_site *site);
LL_API void ll_validator_acquired_ww(struct ll_validator_thread *thread,
                                     struct ll_validator_lock *lock,
                                     struct ll_validator_context *context, bool slow, int ret,
                                     const struct ll_site *site);

/* What else happens to a thread: an emulated interrupt, interrupts off and on (they nest), sleep. */
LL_API void ll_validator_irq_enter(struct ll_validator_thread *thread);
LL_API void ll_validator_irq_exit(struct ll_validator_thread *thread, const struct ll_site *site);
LL_API void ll_validator_irq_disable(struct ll_validator_thread *thread);
LL_API void ll_validator_irq_enable(struct ll_validator_thread *thread, const struct ll_site *site);
LL_API void ll_validator_sleep(struct ll_validator_thread *thread, const struct ll_site *site);

/* Looks for locks that have had waiters, and nobody who could wake them, for LL_VALIDATOR_STRANDED_NS;
 * to be called several times in that time. */
LL_API void ll_validator_watch(struct ll_validator *validator, uint64_t now_ns);

struct ll_validator_held { /* an entry of a stack of held locks */
    const char *lock;      /* "inode[17]" */
    const char *class_name;
    uint32_t subclass;
    uint32_t refs; /* locks that this entry stands for, nested in `outer` */
    bool shared, tried;
    bool asked;        /* not held yet: asked for */
    const char *outer; /* "" if none */
    struct ll_site site;
};

struct ll_validator_link { /* `to` was taken while `from` was held: seen so first by `thread` */
    const char *from, *to; /* classes */
    bool from_shared, to_shared;
    bool interrupt; /* rather: `to` is taken by an interrupt that may come while `from` is held */
    const char *thread;
    struct ll_site from_site, to_site;
    uint32_t n_held; /* what the thread held, oldest first, and asked for */
    const struct ll_validator_held *held;
};

struct ll_validator_report { /* lives as long as the validator */
    uint32_t size, version;
    const char *kind; /* of validate/reports.def */
    const char *text; /* one sentence */
    const char *thread;
    struct ll_site site;
    uint64_t count;  /* how often the same was seen */
    uint32_t n_held; /* the thread's stack, oldest first, and what it asked for */
    const struct ll_validator_held *held;
    const char *other_thread; /* "" if no other one is part of it */
    uint32_t n_other;         /* its stack */
    const struct ll_validator_held *other;
    uint32_t n_links; /* the whole cycle, the new link first; 0: none is */
    const struct ll_validator_link *link;
};

struct ll_validator_stats {
    uint32_t size, version;
    uint32_t classes, edges, chains, reports; /* reports kept */
    uint64_t dropped;                         /* reports not kept */
    uint64_t restamped; /* contexts ended after a back-off without a success: their age is lost */
    uint64_t most_held; /* entries of a stack at most */
};
LL_API void ll_validator_get_stats(struct ll_validator *validator, struct ll_validator_stats *out);
/* Report `i` in the order of their first sight, -ENOENT: no such. */
LL_API int ll_validator_report_get(struct ll_validator *validator, size_t i,
                                   struct ll_validator_report *out);
/* Name and traits of class `i`; lives as long as the validator. -ENOENT. */
LL_API int ll_validator_class_get(struct ll_validator *validator, size_t i, const char **name,
                                  uint32_t *traits);
/* Edge `i`, in no order; `held` is left out. -ENOENT. */
LL_API int ll_validator_edge_get(struct ll_validator *validator, size_t i,
                                 struct ll_validator_link *out);

struct ll_validator_kind { /* a kind of report */
    const char *name, *help;
};
LL_API int ll_validator_kind_get(size_t i, struct ll_validator_kind *out); /* -ENOENT */

/* ---------------------------------------------------------------- server (dashboard/) */

struct ll_asset { /* a file served under GET; memory stays the caller's until stop */
    const char *path, *type, *etag; /* path "/app.js"; etag with its quotes */
    const void *body;
    size_t len;
    const void *gz; /* NULL, or the same gzip-compressed */
    size_t gz_len;
};

struct ll_server_options {
    uint32_t size, version;
    const char *host;     /* numeric address or "localhost" */
    uint16_t port;        /* 0: any */
    const char *token;    /* NULL only on loopback */
    double rate_hz;       /* stream events a second, 1 to 20 */
    uint32_t max_clients; /* connections */
    const struct ll_asset *assets;
    size_t n_assets;
};

struct ll_server;

struct ll_request { /* an API request that the embedding program answers */
    uint32_t size, version;
    uint64_t id;
    const char *method, *path, *body; /* live until answered */
    size_t body_len;
};

struct ll_server_stats {
    uint32_t size, version;
    uint64_t requests, refused, frames_sent, frames_lost, clients, clients_max;
    uint64_t cpu_ns; /* CPU time of the server's thread */
};

/* 0, -EINVAL, -EADDRINUSE, -EACCES, -ENOTSUP (built without libmicrohttpd). */
LL_API int ll_server_start(const struct ll_server_options *opt, struct ll_server **out,
                           struct ll_error *err);
LL_API uint16_t ll_server_port(const struct ll_server *server);
/* Takes a reference on `run` and serves its stream as /api/v1/runs/ID/stream; the newest 64 stay. */
LL_API int ll_server_attach(struct ll_server *server, const char *run_id, struct ll_run *run);
/* Next API request: 0, -ETIMEDOUT, -ECANCELED (server stopped). */
LL_API int ll_server_next(struct ll_server *server, double timeout_s, struct ll_request *out);
/* Answers it (copies). `location` may be NULL. -ENOENT: no such request (the client has gone). */
LL_API int ll_server_answer(struct ll_server *server, uint64_t id, uint32_t status,
                            const char *content_type, const char *location, const void *body,
                            size_t len);
LL_API void ll_server_get_stats(struct ll_server *server, struct ll_server_stats *out);
/* Ends all streams, frees everything. In a forked child it only forgets. */
LL_API void ll_server_stop(struct ll_server *server);

/* To be called in a forked child: all runs, locks and servers of the parent are dead here. */
LL_API void ll_after_fork_child(void);

#ifdef __cplusplus
}
#endif
