/* SPDX-License-Identifier: MIT */
/* random_programs.c - little programs over the shim: the checker against brute force.
 *
 *   random_programs [MOST] <FILE
 *
 * One program a line, one answer a line: "ok EXECUTIONS CLASSES STATES FAULTS RACES ABORTED all|part"
 * or "differs: ...". `part`: more than MOST executions by brute force, so those that were run must be
 * among what the checker found, and bounds are not compared. Without an argument the programs of
 * explorer_programs.txt beside this file are run and must be ok. Exit 1: some differ; 2: syntax.
 *
 *   MEMORY GIVEUPS | OP; OP; ... | OP; ...      sc or tso; one | before each thread
 *
 *   ld OFF WIDTH ORDER             st xchg add sub or and OFF WIDTH ORDER V
 *   cas OFF WIDTH ORDER E V        fence ORDER      rlx acq rel ar, of fences acq rel full
 *   any REASONS TERM ...           reasons to give up as a mask; TERM is TEST OFF WIDTH MASK V ORDER,
 *                                  TEST eq ne ge meq mne
 *   tas OFF WIDTH V HOW            exchange until the old value is 0
 *   ttas OFF WIDTH V HOW           load, if that is 0 compare and exchange 0 for V, until it succeeds
 *                                  HOW: none resched oncpu cancel, asked before each relax and ending
 *                                  the loop; yield: the relax is one
 *   park DEADLINE   unpark THREAD   resched   oncpu   cancel   delay
 *   rd FIELD   wr FIELD V          plain
 *   in SHARED   out SHARED         marks
 *   if V                           the next operation is left out unless the last result was V
 *
 * OFF and WIDTH in bytes, into 24 bytes of shared memory, aligned.
 */
#include <stdarg.h>

#include "brute.h"

#define THREADS 4u
#define OPS 12u
#define SHARED_BYTES 24u
#define FIELDS 2u
#define MOST 200000u

static const char *const orders[] = {
    [__ATOMIC_RELAXED] = "rlx", [__ATOMIC_ACQUIRE] = "acq",  [__ATOMIC_RELEASE] = "rel",
    [__ATOMIC_ACQ_REL] = "ar",  [__ATOMIC_SEQ_CST] = "full",
};
static const char *const tests[] = {[ENG_EQ] = "eq",
                                    [ENG_NE] = "ne",
                                    [ENG_GE] = "ge",
                                    [ENG_MASK_EQ] = "meq",
                                    [ENG_MASK_NE] = "mne"};
enum how { HOW_NONE, HOW_RESCHED, HOW_ONCPU, HOW_CANCEL, HOW_YIELD };
static const char *const hows[] = {"none", "resched", "oncpu", "cancel", "yield"};

enum code {
    LD,
    ST,
    XCHG,
    ADD,
    SUB,
    OR,
    AND,
    CAS,
    FENCE,
    ANY,
    TAS,
    TTAS,
    PARK,
    UNPARK,
    ASK_RESCHED,
    ASK_ONCPU,
    ASK_CANCEL,
    DELAY,
    RD,
    WR,
    IN,
    OUT,
    IF
};
static const struct {
    const char *name, *arguments; /* o offset and width, r order, n number, h how, t terms */
    enum vt_kind kind;
} codes[] = {
    [LD] = {"ld", "or", VT_LOAD},
    [ST] = {"st", "orn", VT_STORE},
    [XCHG] = {"xchg", "orn", VT_xchg},
    [ADD] = {"add", "orn", VT_add},
    [SUB] = {"sub", "orn", VT_sub},
    [OR] = {"or", "orn", VT_or},
    [AND] = {"and", "orn", VT_and},
    [CAS] = {"cas", "ornn", VT_CAS},
    [FENCE] = {"fence", "r", 0},
    [ANY] = {"any", "nt", 0},
    [TAS] = {"tas", "onh", 0},
    [TTAS] = {"ttas", "onh", 0},
    [PARK] = {"park", "n", 0},
    [UNPARK] = {"unpark", "n", 0},
    [ASK_RESCHED] = {"resched", "", 0},
    [ASK_ONCPU] = {"oncpu", "", 0},
    [ASK_CANCEL] = {"cancel", "", 0},
    [DELAY] = {"delay", "", 0},
    [RD] = {"rd", "n", 0},
    [WR] = {"wr", "nn", 0},
    [IN] = {"in", "n", 0},
    [OUT] = {"out", "n", 0},
    [IF] = {"if", "n", 0},
};
#define CODES (sizeof(codes) / sizeof(codes[0]))

struct op {
    enum code code;
    uint32_t offset, width, order, how, n_terms, n_numbers;
    uint64_t number[2];
    struct eng_term term[4];
    struct eng_site site;
    struct eng_site_use use;
};

struct arena {
    unsigned char shared[SHARED_BYTES];
    uint64_t result[THREADS][OPS];
    /* what depends on plain fields */
    uint32_t field[FIELDS];
    uint64_t plain_result[THREADS][OPS];
};

static struct arena arena __attribute__((aligned(64)));
static struct op op[THREADS][OPS];
static uint32_t n_ops[THREADS], n_threads;
static enum ll_memory memory;
static uint32_t giveups;

/* ---- running ---- */

static uint64_t access_at(const struct op *o, enum vt_kind kind, int order, uint64_t expected,
                          uint64_t value)
{
    return vt_access(&(struct vt_access){.kind = kind,
                                         .addr = arena.shared + o->offset,
                                         .width = o->width,
                                         .order = order,
                                         .value = value,
                                         .expected = expected,
                                         .site = &o->site});
}

static uint64_t plain_at(const struct op *o, enum vt_kind kind, uint64_t value)
{
    return vt_access(&(struct vt_access){.kind = kind,
                                         .addr = &arena.field[o->number[0]],
                                         .width = 4,
                                         .value = value,
                                         .site = &o->site});
}

static bool asked(const struct op *o)
{
    switch ((enum how)o->how) {
    case HOW_RESCHED: return vt_engine->need_resched(&o->site);
    case HOW_ONCPU: return !vt_engine->on_cpu(vt_engine->self(), &o->site);
    case HOW_CANCEL: return vt_engine->cancelled(&o->site);
    case HOW_NONE:
    case HOW_YIELD: break;
    }
    return false;
}

/* 1: got it, 2: gave up. */
static uint64_t retry(const struct op *o)
{
    uint64_t v = o->number[0];

    for (;;) {
        if (o->code == TAS && access_at(o, VT_xchg, __ATOMIC_ACQUIRE, 0, v) == 0)
            return 1;
        if (o->code == TTAS && access_at(o, VT_LOAD, __ATOMIC_RELAXED, 0, 0) == 0 &&
            access_at(o, VT_CAS, __ATOMIC_ACQUIRE, 0, v) == 0)
            return 1;
        if (asked(o))
            return 2;
        if (o->how == HOW_YIELD)
            vt_engine->yield(&o->site);
        else
            vt_engine->relax(1, &o->site);
    }
}

static uint64_t await_any(const struct op *o)
{
    uint32_t reasons = (uint32_t)o->number[0];
    struct eng_giveup giveup = {.deadline_ns = reasons & 1,
                                .budget = reasons >> 1 & 1,
                                .resched = reasons >> 2 & 1,
                                .owner = reasons >> 3 & 1 ? vt_engine->self() : NULL,
                                .cancel = reasons >> 4 & 1};
    uint64_t seen = 0;
    int which = vt_engine->await(o->term, o->n_terms, reasons ? &giveup : NULL, &seen, &o->site);

    return (uint64_t)(which + 8) << 32 | (uint32_t)seen;
}

static uint64_t perform(const struct op *o)
{
    switch (o->code) {
    case FENCE: vt_engine->fence((int)o->order, &o->site); return 0;
    case ANY: return await_any(o);
    case TAS:
    case TTAS: return retry(o);
    case PARK: return vt_engine->park(&(struct eng_giveup){.deadline_ns = o->number[0]}, &o->site);
    case UNPARK: vt_engine->unpark(&ck.thread[o->number[0]], &o->site); return 0;
    case ASK_RESCHED: return vt_engine->need_resched(&o->site);
    case ASK_ONCPU: return vt_engine->on_cpu(vt_engine->self(), &o->site);
    case ASK_CANCEL: return vt_engine->cancelled(&o->site);
    case DELAY: vt_engine->delay(1, &o->site); return 0;
    case WR: plain_at(o, VT_WRITE, o->number[1]); return 0;
    case IN: vt_engine->mark(ENG_ENTERED, o->number[0], &o->site); return 0;
    case OUT:
        vt_engine->mark(ENG_LEAVING, o->number[0], &o->site);
        vt_engine->mark(ENG_OUTSIDE, o->number[0], &o->site);
        return 0;
    default:
        return access_at(o, codes[o->code].kind, (int)o->order, o->code == CAS ? o->number[0] : 0,
                         o->number[o->code == CAS]);
    }
}

static void body(uint32_t thread, void *arg)
{
    uint64_t last = 0;

    LL_UNUSED(arg);
    for (uint32_t i = 0; i < n_ops[thread]; i++) {
        const struct op *o = &op[thread][i];
        if (o->code == IF)
            i += last != o->number[0];
        else if (o->code == RD)
            arena.plain_result[thread][i] = plain_at(o, VT_READ, 0) + 1;
        else
            arena.result[thread][i] = (last = perform(o)) + 1;
    }
}

/* ---- reading ---- */

static bool number(char **at, uint64_t *out)
{
    char *word = strsep(at, " "), *end;

    if (!word || !*word)
        return false;
    *out = strtoull(word, &end, 0);
    return !*end;
}

static bool name(char **at, const char *const *names, size_t n, uint32_t *out)
{
    char *word = strsep(at, " ");

    for (size_t i = 0; word && i < n; i++)
        if (names[i] && !strcmp(word, names[i])) {
            *out = (uint32_t)i;
            return true;
        }
    return false;
}

static bool place(char **at, uint32_t *offset, uint32_t *width)
{
    uint64_t o, w;

    if (!number(at, &o) || !number(at, &w) || (w != 1 && w != 2 && w != 4 && w != 8) || o % w ||
        o + w > SHARED_BYTES)
        return false;
    *offset = (uint32_t)o;
    *width = (uint32_t)w;
    return true;
}

static bool term(char **at, struct op *o)
{
    struct eng_term *t = &o->term[o->n_terms++];
    uint32_t test, offset, width, order;

    if (o->n_terms > 4 || !name(at, tests, 5, &test) || !place(at, &offset, &width) ||
        !number(at, &t->mask) || !number(at, &t->operand) || !name(at, orders, 6, &order))
        return false;
    t->addr = arena.shared + offset;
    t->width = (uint8_t)width;
    t->test = (uint8_t)test;
    t->acquire = order == __ATOMIC_ACQUIRE;
    return true;
}

static bool argument(char what, char **at, struct op *o)
{
    switch (what) {
    case 'o': return place(at, &o->offset, &o->width);
    case 'r': return name(at, orders, 6, &o->order);
    case 'n': return number(at, &o->number[o->n_numbers++]);
    case 'h': return name(at, hows, 5, &o->how);
    default:
        do
            if (!term(at, o))
                return false;
        while (*at);
        return true;
    }
}

static bool in_range(const struct op *o)
{
    bool plain = o->code == RD || o->code == WR;

    return (!plain || o->number[0] < FIELDS) && (o->code != UNPARK || o->number[0] < n_threads);
}

static char *trimmed(char *text)
{
    char *end = text + strlen(text);

    while (*text == ' ')
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\n'))
        *--end = 0;
    return text;
}

static bool read_op(char *text, struct op *o, uint32_t line)
{
    char *at = trimmed(text), *word;

    memset(o, 0, sizeof(*o));
    o->site = (struct eng_site){"program", "thread", codes[0].name, line + 1, "program", &o->use};
    word = strsep(&at, " ");
    for (size_t i = 0; i < CODES; i++)
        if (!strcmp(word, codes[i].name)) {
            o->code = (enum code)i;
            o->site.expr = codes[i].name;
            for (const char *a = codes[i].arguments; *a; a++)
                if (!at || !argument(*a, &at, o))
                    return false;
            return !at;
        }
    return false;
}

static bool read_program(char *line)
{
    char *head = trimmed(strsep(&line, "|")), *thread, *text;
    const char *model = strsep(&head, " ");
    uint64_t n;

    if (!head || !number(&head, &n) || (strcmp(model, "sc") != 0 && strcmp(model, "tso") != 0))
        return false;
    memory = *model == 's' ? LL_MEMORY_SC : LL_MEMORY_TSO;
    giveups = (uint32_t)n;
    for (n_threads = 0; (thread = strsep(&line, "|")); n_threads++) {
        if (n_threads == THREADS)
            return false;
        for (n_ops[n_threads] = 0; (text = strsep(&thread, ";")); n_ops[n_threads]++)
            if (n_ops[n_threads] == OPS ||
                !read_op(text, &op[n_threads][n_ops[n_threads]], n_ops[n_threads]))
                return false;
    }
    for (uint32_t t = 0; t < n_threads; t++)
        for (uint32_t i = 0; i < n_ops[t]; i++)
            if (!in_range(&op[t][i]))
                return false;
    return n_threads > 0;
}

/* ---- judging ---- */

static bool differs(const char *how, const char *what)
{
    if (what)
        printf("differs: %s: %s\n", how, what);
    return what;
}

static bool run_program(uint64_t most)
{
    struct ck_program program = {
        .threads = n_threads,
        .body = body,
        .memory = &arena,
        .memory_size = sizeof(arena),
        .object = {{.base = &arena, .size = sizeof(arena), .name = "arena"}},
        .n_objects = 1,
    };
    const struct brute_program p = {&program, offsetof(struct arena, field)};
    struct ck_options options = {.memory = memory, .giveups = giveups, .races = true};
    struct found all, found;
    uint64_t runs = 0;
    bool bad;

    memset(&arena, 0, sizeof(arena));
    brute_force(&p, options, most, &all);
    options.strategy = CK_DFS;
    recorded(&p, options, UINT64_MAX, &found);
    bad = differs("reduction", found_same(&all, &found));
    found_empty(&found);
    options.strategy = CK_BOUNDED;
    for (uint32_t bound = 0; all.wholly && bound <= 3 && !bad; bound++) {
        options.bound = bound;
        recorded(&p, options, UINT64_MAX, &found);
        bad = differs("bound", found_same_bounded(&all, &found, bound));
        found_empty(&found);
    }
    for (uint32_t i = 0; i < FOUND_PREEMPTIONS; i++)
        runs += all.runs[i];
    if (!bad)
        printf("ok %llu %zu %zu %zu %zu %llu %s\n", (unsigned long long)runs, all.classes.used,
               all.states.used, all.faults.used, all.races.used, (unsigned long long)all.aborted,
               all.wholly ? "all" : "part");
    fflush(stdout);
    found_empty(&all);
    return !bad;
}

int main(int argc, char **argv)
{
    FILE *in = argc > 1 ? stdin : fopen("tests/c/explorer_programs.txt", "r");
    uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : MOST;
    size_t room = 0;
    char *line = NULL;
    int status = 0;

    if (!in)
        return 2;
    while (status < 2 && getline(&line, &room, in) > 0) {
        if (*line == '#' || *line == '\n')
            continue;
        if (!read_program(line))
            status = 2;
        else if (!run_program(most))
            status = 1;
    }
    free(line);
    fclose(in);
    return status;
}
