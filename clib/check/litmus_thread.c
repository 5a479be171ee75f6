/* SPDX-License-Identifier: MIT */
/* litmus_thread.c - a thread of a litmus test: registers, flags and jumps here, memory in the engine. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/litmus.h"
#include "core/error.h"

bool litmus_accesses(enum ll_litmus_code code)
{
    return code <= LL_LITMUS_CAS;
}

static uint64_t mask_of(uint32_t width)
{
    return width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
}

/* 32 bits clear the upper half, fewer leave the rest as it is. */
static void set_register(struct litmus_thread *t, uint32_t reg, uint32_t width, uint64_t value)
{
    uint64_t keep = width >= 4 ? 0 : ~mask_of(width);

    t->reg[reg] = (t->reg[reg] & keep) | (value & mask_of(width));
}

static uint64_t source(const struct litmus_thread *t, const struct ll_litmus_op *op)
{
    uint64_t v = op->src == LITMUS_NO_REGISTER ? op->value : t->reg[op->src];

    return v & mask_of(op->width);
}

/* ---- arithmetic ---- */

static uint64_t add(struct litmus_thread *t, uint64_t a, uint64_t b, uint32_t width)
{
    uint64_t r = (a + b) & mask_of(width), sign = UINT64_C(1) << (8 * width - 1);

    t->carry = r < a;
    t->overflow = ~(a ^ b) & (a ^ r) & sign;
    return r;
}

static uint64_t subtract(struct litmus_thread *t, uint64_t a, uint64_t b, uint32_t width)
{
    uint64_t r = (a - b) & mask_of(width), sign = UINT64_C(1) << (8 * width - 1);

    t->carry = a < b;
    t->overflow = (a ^ b) & (a ^ r) & sign;
    return r;
}

static void calculate(struct litmus_thread *t, const struct ll_litmus_op *op)
{
    uint64_t a = t->reg[op->dst] & mask_of(op->width), b = source(t, op), r = 0;
    bool carry = t->carry, logical = false;

    switch ((enum ll_litmus_code)op->code) {
    case LL_LITMUS_ADD: r = add(t, a, b, op->width); break;
    case LL_LITMUS_INC: r = add(t, a, 1, op->width); break;
    case LL_LITMUS_SUB:
    case LL_LITMUS_CMP: r = subtract(t, a, b, op->width); break;
    case LL_LITMUS_DEC: r = subtract(t, a, 1, op->width); break;
    case LL_LITMUS_NEG: r = subtract(t, 0, a, op->width); break;
    case LL_LITMUS_OR: r = a | b, logical = true; break;
    case LL_LITMUS_XOR: r = a ^ b, logical = true; break;
    default: r = a & b, logical = true;
    }
    if (logical)
        t->carry = t->overflow = false;
    if (op->code == LL_LITMUS_INC || op->code == LL_LITMUS_DEC)
        t->carry = carry;
    t->zero = r == 0;
    t->sign = r >> (8 * op->width - 1);
    if (op->code != LL_LITMUS_CMP && op->code != LL_LITMUS_TEST)
        set_register(t, op->dst, op->width, r);
}

/* The codes of x86's conditional jumps: an odd one is the opposite of the even one before it. */
static bool holds(const struct litmus_thread *t, uint32_t cond)
{
    bool is = true;

    if (cond == LL_LITMUS_NONE)
        return true;
    switch (cond / 2) {
    case 0: is = t->overflow; break;
    case 1: is = t->carry; break;
    case 2: is = t->zero; break;
    case 3: is = t->carry || t->zero; break;
    case 4: is = t->sign; break;
    case 6: is = t->sign != t->overflow; break;
    case 7: is = t->zero || t->sign != t->overflow; break;
    default: LL_ASSERT(!"parity");
    }
    return is != (cond & 1);
}

/* ---- memory ---- */

/* -1: it is not one whole location, which has ended the run. */
static int location_of(struct litmus *l, uint32_t thread, const struct ll_litmus_op *op)
{
    const struct ll_litmus_program *p = l->program;
    uint64_t at, i = op->location;
    struct ll_error err;

    if (op->base != LITMUS_NO_REGISTER) {
        at = l->thread[thread].reg[op->base];
        i = (at - LL_LITMUS_ADDRESS(0)) / LITMUS_CELL;
        if (i >= p->n_locations || at != LL_LITMUS_ADDRESS(i)) {
            litmus_fail(l,
                        ll_fail(&err, -EINVAL, "program",
                                "line %u: thread %u uses address 0x%" PRIx64
                                ", which is no location of the test",
                                op->line, thread, at),
                        &err);
            return -1;
        }
    }
    if (p->location[i].width != op->width) {
        litmus_fail(l,
                    ll_fail(&err, -EINVAL, "program",
                            "line %u: thread %u accesses %u bytes of a location that has %u",
                            op->line, thread, op->width, p->location[i].width),
                    &err);
        return -1;
    }
    return (int)i;
}

static enum vt_kind kind_of(enum ll_litmus_code code)
{
    static const enum vt_kind kind[] = {
        [LL_LITMUS_LOAD] = VT_LOAD,     [LL_LITMUS_STORE] = VT_STORE,
        [LL_LITMUS_SWAP] = VT_xchg,     [LL_LITMUS_FETCH_ADD] = VT_add,
        [LL_LITMUS_FETCH_SUB] = VT_sub, [LL_LITMUS_FETCH_AND] = VT_and,
        [LL_LITMUS_FETCH_OR] = VT_or,   [LL_LITMUS_FETCH_XOR] = VT_xor,
        [LL_LITMUS_CAS] = VT_CAS,
    };

    return kind[code];
}

static struct eng_site_use site_use;
static const struct eng_site site = {
    .file = "litmus", .function = "", .expr = "", .base = "litmus", .use = &site_use};

static void out_of_buffer(struct litmus *l, const struct ll_litmus_op *op)
{
    struct ll_error err;

    litmus_fail(l,
                ll_fail(&err, -ERANGE, "program",
                        "line %u: more than %u stores without a fence between them", op->line,
                        LITMUS_MAX_STORES),
                &err);
}

/* A store is taken to, whatever was there: it is on its way. */
static bool changes(enum ll_litmus_code code, const struct vt_access *a, uint64_t old)
{
    switch (code) {
    case LL_LITMUS_LOAD: return false;
    case LL_LITMUS_SWAP: return a->value != old;
    case LL_LITMUS_FETCH_ADD:
    case LL_LITMUS_FETCH_SUB:
    case LL_LITMUS_FETCH_XOR: return a->value != 0;
    case LL_LITMUS_FETCH_AND: return (old & a->value) != old;
    case LL_LITMUS_FETCH_OR: return (old | a->value) != old;
    case LL_LITMUS_CAS: return old == a->expected && a->value != old;
    default: return true;
    }
}

/* False: the run has ended. */
static bool access_memory(struct litmus *l, uint32_t thread, const struct ll_litmus_op *op)
{
    struct litmus_thread *t = &l->thread[thread];
    int location = location_of(l, thread, op);
    struct vt_access a = {
        .kind = kind_of(op->code),
        .width = op->width,
        .order = op->code == LL_LITMUS_LOAD    ? __ATOMIC_ACQUIRE
                 : op->code == LL_LITMUS_STORE ? __ATOMIC_RELEASE
                                               : __ATOMIC_ACQ_REL,
        .value = source(t, op),
        .expected = t->reg[0] & mask_of(op->width),
        .site = &site,
    };
    uint64_t old;

    if (location < 0)
        return false;
    a.addr = l->memory + LITMUS_CELL * (uint32_t)location;
    t->stores = op->code == LL_LITMUS_STORE  ? t->stores + 1
                : op->code == LL_LITMUS_LOAD ? t->stores
                                             : 0;
    if (l->program->memory == LL_MEMORY_TSO && t->stores > LITMUS_MAX_STORES) {
        out_of_buffer(l, op);
        return false;
    }
    old = vt_access(&a);
    t->wrote = t->wrote || changes(op->code, &a, old);
    if (op->code != LL_LITMUS_STORE)
        set_register(t, op->dst, op->width, old);
    return true;
}

/* ---- the thread ---- */

/* A jump backwards: false if the thread goes no further in this execution. */
static bool again(struct litmus *l, struct litmus_thread *t, uint32_t pc)
{
    uint64_t now[LL_LITMUS_REGISTERS + 1];

    memcpy(now, t->reg, sizeof(t->reg));
    now[LL_LITMUS_REGISTERS] = t->zero | t->sign << 1 | t->carry << 2 | t->overflow << 3;
    if (t->jumped == pc + 1 && !t->wrote && !memcmp(now, t->before, sizeof(now)))
        t->idle = true;
    else if (t->turns[pc]++ == l->program->turns)
        t->cut = true;
    memcpy(t->before, now, sizeof(now));
    t->jumped = pc + 1;
    t->wrote = false;
    return !t->idle && !t->cut;
}

/* Where it goes on after operation `pc`. */
static uint32_t step(struct litmus *l, uint32_t thread, uint32_t pc)
{
    const struct ll_litmus_thread *text = &l->program->thread[thread];
    const struct ll_litmus_op *op = &text->op[pc];
    struct litmus_thread *t = &l->thread[thread];

    if (litmus_accesses(op->code))
        return access_memory(l, thread, op) ? pc + 1 : text->n_ops;
    switch ((enum ll_litmus_code)op->code) {
    case LL_LITMUS_FENCE:
        t->stores = 0;
        vt_fence(__ATOMIC_SEQ_CST, &site);
        break;
    case LL_LITMUS_MOVE:
        set_register(t, op->dst, op->width, holds(t, op->cond) ? source(t, op) : t->reg[op->dst]);
        break;
    case LL_LITMUS_NOT: set_register(t, op->dst, op->width, ~t->reg[op->dst]); break;
    case LL_LITMUS_JUMP:
        if (!holds(t, op->cond))
            break;
        return op->target > pc || again(l, t, pc) ? op->target : text->n_ops;
    default: calculate(t, op);
    }
    return pc + 1;
}

void litmus_thread_run(uint32_t index, void *litmus)
{
    struct litmus *l = litmus;
    struct litmus_thread *t = &l->thread[index];
    const struct ll_litmus_thread *text = &l->program->thread[index];

    memset(t, 0, offsetof(struct litmus_thread, turns));
    memset(t->turns, 0, text->n_ops * sizeof(t->turns[0]));
    memcpy(t->reg, text->initial, sizeof(t->reg));
    for (uint32_t pc = 0; pc < text->n_ops;)
        pc = step(l, index, pc);
}
