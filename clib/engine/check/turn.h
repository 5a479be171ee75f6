/* SPDX-License-Identifier: MIT */
/* turn.h - whose turn it is. Internal to engine/check/.
 *
 * In a header, so that an operation has it in line: who goes on next is asked at every one. `lean`, a
 * constant, leaves out what only those who look on want to know (machine.h, struct ck_machine).
 */
#pragma once

#include "engine/check/machine.h"

/* Of `ck.waiting`, what can go on or be told to give up, asked anew. */
uint64_t ck_ask_waiting(void);
/* `self` has come to its first operation, or ended without one: the next thread starts, or the first
 * turn is taken. Comes back when self's operation has been chosen. */
void ck_started(struct eng_thread *self);
/* A choice in all that is out of the ordinary; < 0: the execution ends. */
int ck_unusual_choice(uint64_t mask);
/* A store reaches memory, or a thread is told to give up. */
void ck_unusual_turn(int c);

/* All that can be chosen. What threads wait for is looked at again only if it may have changed since:
 * a watched cell was written, or something less simple happened (`ck.stirred`). */
LL_TEMPLATE uint64_t ck_enabled(void)
{
    if (LL_LIKELY(!ck.waiting))
        return ck.ready;
    return ck.ready | (ck.stirred ? ck_ask_waiting() : ck.able);
}

LL_TEMPLATE int ck_turn_choice(bool lean)
{
    uint64_t mask = ck_enabled();
    int c;

    if (LL_UNLIKELY(!mask || ck.steps >= ck.ordinary))
        c = ck_unusual_choice(mask);
    else if (LL_UNLIKELY((c = ck.policy->choose(mask)) < 0))
        ck.end = CK_REDUNDANT;
    if (LL_UNLIKELY(c < 0))
        return c;
    if (!lean)
        ck.preempts =
            mask & CK_BIT(CK_GO(ck.running)) && (ck_is_flush(c) || ck_thread_of(c) != ck.running);
    ck.choice[ck.steps++] = (uint8_t)c;
    return c;
}

/* Chooses until a thread goes on: in `self` by coming back, else by switching. */
LL_TEMPLATE void ck_turn(struct eng_thread *self, bool lean)
{
    struct eng_thread *t;
    uint32_t index;
    int c;

    while (LL_UNLIKELY((uint32_t)(c = ck_turn_choice(lean)) >= CK_THREADS)) {
        if (c < 0) {
            fiber_switch(&self->fiber, &ck.main, true);
            return;
        }
        ck_unusual_turn(c);
        if (!ck_is_flush(c))
            break;
    }
    index = ck_thread_of(c);
    t = &ck.thread[index];
    ck.ready &= ~CK_BIT(CK_GO(index));
    ck.waiting &= ~(1u << index);
    ck.able &= ~CK_BIT(CK_GO(index));
    ck.running = index;
    t->went++;
    if (t == self)
        return;
    ck.current = t;
    fiber_switch(&self->fiber, &t->fiber, self->ended);
}

/* The pending operation of `self` is in place: comes back when it has been chosen. */
LL_TEMPLATE void ck_go_on(struct eng_thread *self, bool lean)
{
    if (LL_UNLIKELY(ck.steps >= ck.ordinary) && ck.starting)
        ck_started(self);
    else
        ck_turn(self, lean);
}
