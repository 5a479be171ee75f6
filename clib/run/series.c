/* SPDX-License-Identifier: MIT */
/* series.c - throughput by thread over time, in bounded memory. */
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

int series_init(struct series *s, uint32_t threads, double period_s)
{
    s->threads = threads;
    s->period_s = period_s;
    s->t_s = calloc(SERIES_MAX, sizeof(*s->t_s));
    s->rate = calloc((size_t)SERIES_MAX * threads, sizeof(*s->rate));
    s->before = calloc(threads, sizeof(*s->before));
    return s->t_s && s->rate && s->before ? 0 : -ENOMEM;
}

void series_fini(struct series *s)
{
    free(s->t_s);
    free(s->rate);
    free(s->before);
}

void series_start(struct series *s, double offset_s)
{
    memset(s->before, 0, s->threads * sizeof(*s->before));
    s->before_s = offset_s;
}

/* Merges neighbours: half the points, twice the period. The two halves are weighted alike. */
static void halve(struct series *s)
{
    for (uint32_t i = 0; i < s->n / 2; i++) {
        s->t_s[i] = s->t_s[2 * i + 1];
        for (uint32_t k = 0; k < s->threads; k++)
            s->rate[i * s->threads + k] =
                (s->rate[2 * i * s->threads + k] + s->rate[(2 * i + 1) * s->threads + k]) / 2;
    }
    s->n /= 2;
    s->period_s *= 2;
}

void series_point(struct series *s, const struct crew *crew, double t_s, bool last)
{
    double dt = t_s - s->before_s;

    /* a last sliver would only show noise */
    if (dt < s->period_s * (last ? 0.5 : 0.999))
        return;
    if (s->n == SERIES_MAX)
        halve(s);
    for (uint32_t k = 0; k < s->threads; k++) {
        uint64_t now = crew_measured(crew, k);
        s->rate[s->n * s->threads + k] = (double)(now - s->before[k]) / dt;
        s->before[k] = now;
    }
    s->t_s[s->n++] = t_s;
    s->before_s = t_s;
}
