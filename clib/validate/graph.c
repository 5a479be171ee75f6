/* SPDX-License-Identifier: MIT */
/* graph.c - which class was taken while which was held, and what closes a cycle.
 *
 * An edge Y -> X says: X was asked for while Y was held. Its bits say how: Y shared or exclusive; X as
 * a recursive reader or otherwise. A cycle is a deadlock that can happen if at every node whoever
 * asks waits for who holds: not so only where a recursive reader comes to a shared holder. (A fair
 * reader does wait for a shared holder, behind a writer that waits.) Hence a search runs over pairs
 * of a node and whether it was come to as a recursive reader, and the rule needs no look back.
 *
 * Interrupts add edges that nobody walks: a lock B held with interrupts on, and A taken in an
 * interrupt, are an edge B -> A. A cycle with one of them is the interrupt that waits for A, whose
 * holder waits, perhaps by others, for B, which the interrupted thread cannot let go.
 */
#include <stdio.h>
#include <stdlib.h>

#include "validate/validate.h"

#define STATES (2 * VA_NODES)
#define STATE(node, recursive) (2u * (node) + (recursive))

struct va_search { /* breadth first, so that the cycle that is told is a shortest one */
    uint32_t round;
    uint32_t seen[STATES]; /* the round in which it was come to */
    uint16_t queue[STATES];
    struct {
        uint16_t state;
        uint32_t edge; /* of the node of `state` */
    } from[STATES];
    struct va_link link[STATES + 1];
};

struct va_search *va_search_make(void)
{
    return calloc(1, sizeof(struct va_search));
}

/* Would whoever comes to the node wait for who holds it so? */
static bool waits(uint32_t recursive, uint32_t held_shared)
{
    return !(recursive && held_shared);
}

static uint32_t begin(struct va_search *s, uint16_t node, bool recursive)
{
    uint32_t state = STATE(node, recursive);

    s->round++;
    s->seen[state] = s->round;
    s->queue[0] = (uint16_t)state;
    s->from[state].state = (uint16_t)state;
    return 1; /* states in the queue */
}

static uint32_t go_on(struct ll_validator *v, uint32_t state, uint32_t tail)
{
    struct va_search *s = v->search;
    const struct va_node *n = &v->node[state / 2];

    for (uint32_t i = 0; i < n->n_edges; i++) {
        const struct va_edge *e = &n->edge[i];
        uint32_t next = STATE(e->to, (e->bits & VA_TAKES_RECURSIVE) != 0);

        if (e->bad || s->seen[next] == s->round || !waits(state & 1, e->bits & VA_HELD_SHARED))
            continue;
        s->seen[next] = s->round;
        s->from[next].state = (uint16_t)state;
        s->from[next].edge = i;
        s->queue[tail++] = (uint16_t)next;
    }
    return tail;
}

/* The way from where the search began to `state`, as links from link[1] on; their number. */
static uint32_t way_to(struct ll_validator *v, uint32_t state)
{
    struct va_search *s = v->search;
    uint32_t n = 0, at;

    for (at = state; s->from[at].state != at; at = s->from[at].state)
        n++;
    at = state;
    for (uint32_t i = n; i > 0; i--) {
        uint32_t from = s->from[at].state;
        const struct va_edge *e = &v->node[from / 2].edge[s->from[at].edge];

        s->link[i] = (struct va_link){.from = (uint16_t)(from / 2),
                                      .to = e->to,
                                      .bits = e->bits,
                                      .from_site = e->from_site,
                                      .to_site = e->to_site,
                                      .stack = e->stack};
        at = from;
    }
    return n;
}

/* ---- order ---- */

static struct va_edge *find(struct va_node *n, uint16_t to, uint8_t bits)
{
    for (uint32_t i = 0; i < n->n_edges; i++)
        if (n->edge[i].to == to && n->edge[i].bits == bits)
            return &n->edge[i];
    return NULL;
}

static struct va_edge *append(struct va_node *n)
{
    if (n->n_edges == n->room) {
        uint32_t room = n->room ? 2 * n->room : 4;
        struct va_edge *bigger = realloc(n->edge, room * sizeof(*bigger));

        if (!bigger)
            return NULL;
        n->edge = bigger;
        n->room = room;
    }
    return &n->edge[n->n_edges++];
}

/* The number of links of the cycle that the new edge closes, told from link[0] on; 0: none. */
static uint32_t cycle_by(struct ll_validator *v, const struct va_link *new)
{
    struct va_search *s = v->search;
    uint32_t tail = begin(s, new->to, (new->bits &VA_TAKES_RECURSIVE) != 0);

    for (uint32_t head = 0; head < tail; head++) {
        uint32_t state = s->queue[head];

        if (state / 2 == new->from && waits(state & 1, new->bits &VA_HELD_SHARED)) {
            s->link[0] = *new;
            return way_to(v, state) + 1;
        }
        tail = go_on(v, state, tail);
    }
    return 0;
}

static void tell_cycle(struct ll_validator_thread *t, const struct va_entry *held,
                       const struct va_request *r, uint32_t n)
{
    struct ll_validator *v = t->v;
    const struct va_link *link = v->search->link;
    struct va_finding f = {.kind = VA_INVERSION,
                           .thread = t,
                           .site = r->site,
                           .asked = r,
                           .node = held->node,
                           .link = link,
                           .n_links = n};
    char asked[VA_LOCK_NAME], holds[VA_LOCK_NAME], way[512];
    size_t used = 0;

    va_lock_name(v, r->node, r->lock->index, asked);
    va_lock_name(v, held->node, held->index, holds);
    for (uint32_t i = 0; i < n && used < sizeof(way) - 2 * VA_LOCK_NAME; i++)
        used +=
            (size_t)snprintf(way + used, sizeof(way) - used, "%s -> ", v->node[link[i].from].name);
    snprintf(way + used, sizeof(way) - used, "%s", v->node[link[0].from].name);
    va_report(v, &f, "%s asks for %s while it holds %s, but %s: %s", t->name, asked, holds,
              n == 2 ? "they have been taken in the other order"
                     : "others have been taken in orders that close a cycle",
              way);
}

/* ---- interrupts ---- */

static const uint8_t irq_use_bits[VA_USES] = {
    [VA_USE_IRQ_RECURSIVE] = VA_TAKES_RECURSIVE, [VA_USE_ON_SHARED] = VA_HELD_SHARED};

static void tell_irq(struct ll_validator_thread *t, const struct va_request *r, uint32_t n)
{
    struct ll_validator *v = t->v;
    const struct va_link *link = v->search->link;
    struct va_finding f = {.kind = VA_IRQ_UNSAFE,
                           .thread = t,
                           .site = r->site,
                           .asked = r->lock ? r : NULL, /* NULL: held, interrupts come on */
                           .node = link[0].from,
                           .link = link,
                           .n_links = n};
    const char *taken = v->node[link[0].to].name, *held = v->node[link[0].from].name;

    if (n == 1)
        va_report(v, &f,
                  "interrupts take %s, which is also held with interrupts on: one that comes then "
                  "waits for whom it interrupts",
                  taken);
    else
        va_report(
            v, &f,
            "interrupts take %s, whose holders wait for %s, which is held with interrupts on: "
            "one that comes then waits for whom it interrupts",
            taken, held);
}

/* Every cycle of the graph with one interrupt whose lock is `taken` (recursively or not). */
static void look_from(struct ll_validator_thread *t, uint16_t taken, enum va_use irq_use,
                      const struct va_request *r)
{
    struct ll_validator *v = t->v;
    struct va_search *s = v->search;
    uint32_t tail = begin(s, taken, irq_use == VA_USE_IRQ_RECURSIVE);

    for (uint32_t head = 0; head < tail; head++) {
        uint32_t state = s->queue[head];
        const struct va_node *b = &v->node[state / 2];

        for (enum va_use on = VA_USE_ON; on <= VA_USE_ON_SHARED; on++) {
            if (!(b->uses & 1u << on) || !waits(state & 1, irq_use_bits[on]))
                continue;
            s->link[0] = (struct va_link){.from = (uint16_t)(state / 2),
                                          .to = taken,
                                          .bits = irq_use_bits[on] | irq_use_bits[irq_use],
                                          .interrupt = true,
                                          .from_site = b->use_site[on],
                                          .to_site = v->node[taken].use_site[irq_use]};
            tell_irq(t, r, way_to(v, state) + 1);
        }
        tail = go_on(v, state, tail);
    }
}

/* Something new is in the graph: what is said twice is counted, not kept (report.c). */
static void look_at_interrupts(struct ll_validator_thread *t, const struct va_request *r)
{
    struct ll_validator *v = t->v;

    if (!v->irqs_used)
        return;
    for (uint32_t n = 1; n < v->n_nodes; n++)
        for (enum va_use use = VA_USE_IRQ; use <= VA_USE_IRQ_RECURSIVE; use++)
            if (v->node[n].uses & 1u << use)
                look_from(t, (uint16_t)n, use, r);
}

void va_use_add(struct ll_validator_thread *t, uint16_t node, enum va_use use,
                const struct va_request *r)
{
    struct va_node *n = &t->v->node[node];

    if (n->uses & 1u << use)
        return;
    n->uses |= 1u << use;
    n->use_site[use] = r->site;
    if (use == VA_USE_IRQ || use == VA_USE_IRQ_RECURSIVE)
        t->v->irqs_used = true;
    look_at_interrupts(t, r);
}

void va_edge_add(struct ll_validator_thread *t, const struct va_entry *held,
                 const struct va_request *r)
{
    struct ll_validator *v = t->v;
    struct va_node *n = &v->node[held->node];
    struct va_link new = {.from = held->node,
                          .to = r->node,
                          .bits = (held->shared ? VA_HELD_SHARED : 0) |
                                  (r->recursive ? VA_TAKES_RECURSIVE : 0),
                          .from_site = va_site_of(held),
                          .to_site = r->site};
    struct va_edge *e;
    uint32_t cycle;

    if (find(n, r->node, new.bits) || !(e = append(n)))
        return;
    new.stack = va_stack_now(t, r);
    *e = (struct va_edge){.to = new.to,
                          .bits = new.bits,
                          .bad = true, /* until it is known to close nothing */
                          .from_site = new.from_site,
                          .to_site = new.to_site,
                          .stack = (struct va_stack *)new.stack};
    cycle = cycle_by(v, &new);
    if (cycle) {
        tell_cycle(t, held, r, cycle);
        return;
    }
    e->bad = false;
    v->n_edges++;
    look_at_interrupts(t, r);
}

int ll_validator_edge_get(struct ll_validator *v, size_t i, struct ll_validator_link *out)
{
    int ret = -ENOENT;

    pthread_mutex_lock(&v->mutex);
    for (uint16_t n = 1; n < v->n_nodes && ret; n++)
        for (uint32_t k = 0; k < v->node[n].n_edges && ret; k++) {
            const struct va_edge *e = &v->node[n].edge[k];

            if (e->bad || i-- > 0)
                continue;
            va_link_out(v,
                        &(struct va_link){.from = n,
                                          .to = e->to,
                                          .bits = e->bits,
                                          .from_site = e->from_site,
                                          .to_site = e->to_site,
                                          .stack = e->stack},
                        out);
            ret = 0;
        }
    pthread_mutex_unlock(&v->mutex);
    return ret;
}

void va_graph_fini(struct ll_validator *v)
{
    for (uint32_t n = 0; n < v->n_nodes; n++) {
        for (uint32_t i = 0; i < v->node[n].n_edges; i++)
            free(v->node[n].edge[i].stack);
        free(v->node[n].edge);
    }
    free(v->search);
}
