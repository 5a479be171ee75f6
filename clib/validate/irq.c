/* SPDX-License-Identifier: MIT */
/* irq.c - emulated interrupts: a stack of its own for each, and where they are let in. */
#include "validate/validate.h"

static void set_state(struct ll_validator_thread *t)
{
    t->irq_state = (t->irq_depth ? VA_IN_IRQ : 0) | (t->irqs_off ? 0 : VA_IRQS_ON);
}

void ll_validator_irq_enter(struct ll_validator_thread *t)
{
    LL_ASSERT(t->irq_depth < LL_VALIDATOR_IRQ_NEST);
    t->saved[t->irq_depth].base = t->base;
    t->saved[t->irq_depth].irqs_off = t->irqs_off;
    t->irq_depth++;
    /* what was interrupted waits, but not by a decision of its code: its locks come before none */
    t->base = t->depth;
    va_chain_again(t);
    t->irqs_off = 1;
    set_state(t);
}

void ll_validator_irq_exit(struct ll_validator_thread *t, const struct ll_site *site)
{
    struct va_finding f = {.kind = VA_IRQ_LEAK, .thread = t, .site = site};

    LL_ASSERT(t->irq_depth > 0);
    if (t->depth > t->base) {
        char name[VA_LOCK_NAME];

        pthread_mutex_lock(&t->v->mutex);
        f.node = t->held[t->depth - 1].node;
        va_lock_name(t->v, f.node, t->held[t->depth - 1].index, name);
        va_report(t->v, &f, "%s leaves an interrupt with %s held", t->name, name);
        pthread_mutex_unlock(&t->v->mutex);
    }
    t->irq_depth--;
    t->base = t->saved[t->irq_depth].base;
    t->irqs_off = t->saved[t->irq_depth].irqs_off;
    va_chain_again(t);
    set_state(t);
}

void ll_validator_irq_disable(struct ll_validator_thread *t)
{
    t->irqs_off++;
    set_state(t);
}

/* From here on an interrupt may come while what is held is held. */
void ll_validator_irq_enable(struct ll_validator_thread *t, const struct ll_site *site)
{
    if (t->irqs_off == 0 || --t->irqs_off > 0)
        return;
    set_state(t);
    if (t->irq_depth)
        return;
    pthread_mutex_lock(&t->v->mutex);
    for (uint32_t i = t->base; i < t->depth; i++) {
        const struct va_entry *e = &t->held[i];
        struct va_request r = {.node = e->node, .shared = e->shared, .site = site};

        if (e->spins)
            va_use_add(t, e->node, e->shared ? VA_USE_ON_SHARED : VA_USE_ON, &r);
    }
    pthread_mutex_unlock(&t->v->mutex);
}
