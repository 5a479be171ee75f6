/* SPDX-License-Identifier: MIT */
/* perf.c - perf_event_open for one thread at a time: groups, reading, scaling, reasons.
 *
 * Nothing is mapped (we count, we do not sample), so closing a descriptor is all that frees an event.
 */
#define _GNU_SOURCE
#include "metrics/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "metrics/perf_sys.h"
#include "core/error.h"

struct event {
    struct perf_event_attr attr;
    struct mt_perf_kind kind;
    bool by_usage;
    int usage_err; /* why perf does not count it */
    char name[MT_PERF_NAME_MAX + 1];
    char reason[256];
    /* over the merged threads */
    uint64_t value, enabled, running;
    int err; /* first failure */
    uint32_t merged, failed;
};

struct mt_perf_set {
    uint32_t n;
    uint8_t order[LL_MAX_PERF]; /* events of the PMU first */
    struct event event[];
};

static void read_usage(uint64_t usage[MT_USAGE_COUNT])
{
    struct rusage r;

    getrusage(RUSAGE_THREAD, &r);
    usage[MT_USAGE_NONE] = 0;
    usage[MT_USAGE_SWITCHES] = (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
    usage[MT_USAGE_FAULTS] = (uint64_t)(r.ru_minflt + r.ru_majflt);
    usage[MT_USAGE_MINOR] = (uint64_t)r.ru_minflt;
    usage[MT_USAGE_MAJOR] = (uint64_t)r.ru_majflt;
}

/* Why event `e` does not count: `err`, or that it would count something else. */
static void explain(const struct event *e, int err, char *text, size_t size)
{
    if (e->kind.refusal)
        snprintf(text, size, "EINVAL: %s", e->kind.refusal);
    else
        mt_perf_explain(err, e->kind.software, !e->attr.exclude_kernel, text, size);
}

/* ---- the set ---- */

static int open_event(const struct event *e, int group_fd)
{
    struct perf_event_attr attr = e->attr;

    if (e->kind.refusal)
        return -EINVAL;
    attr.size = sizeof(attr);
    attr.disabled = group_fd < 0; /* members follow their leader */
    attr.read_format =
        PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP;
    return mt_perf_sys->open(&attr, group_fd);
}

/* Encodes `name` and decides who counts it. */
static int make_event(const char *name, struct event *e, struct ll_error *err)
{
    int fd, rc = mt_perf_encode(name, &e->attr, &e->kind, err);

    if (rc)
        return rc;
    snprintf(e->name, sizeof(e->name), "%s", name);
    if (e->kind.usage != MT_USAGE_NONE) {
        fd = open_event(e, -1);
        if (fd >= 0)
            mt_perf_sys->close(fd);
        e->by_usage = fd < 0;
        e->usage_err = fd < 0 ? fd : 0;
    }
    return 0;
}

static const char *source_of(const struct event *e)
{
    return e->by_usage ? "rusage" : e->kind.software ? "perf-sw" : "pmu";
}

int mt_perf_set_new(const char *const *names, size_t n, struct mt_perf_set **out,
                    struct ll_error *err)
{
    struct mt_perf_set *set;
    uint32_t placed = 0;

    *out = NULL;
    if (n > LL_MAX_PERF)
        return ll_fail(err, -ERANGE, "perf", "%zu events asked, 0 to %u allowed", n, LL_MAX_PERF);
    set = calloc(1, sizeof(*set) + n * sizeof(*set->event));
    if (!set)
        return ll_fail(err, -ENOMEM, "perf", "out of memory");
    set->n = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        int rc = make_event(names[i], &set->event[i], err);
        for (uint32_t j = 0; !rc && j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                rc = ll_fail(err, -EINVAL, "perf", "'%s' is asked for twice, once is allowed",
                             names[i]);
        if (rc) {
            free(set);
            return rc;
        }
    }
    for (int software = 0; software < 2; software++)
        for (uint32_t i = 0; i < n; i++)
            if (set->event[i].kind.software == (software == 1))
                set->order[placed++] = (uint8_t)i;
    *out = set;
    return 0;
}

void mt_perf_set_free(struct mt_perf_set *set)
{
    free(set);
}

/* ---- one thread ---- */

static void note(struct mt_perf_thread *t, uint32_t event, int err)
{
    t->fd[event] = -1;
    if (!t->err[event])
        t->err[event] = err;
}

void mt_perf_open(const struct mt_perf_set *set, struct mt_perf_thread *t)
{
    int leader = -1;

    LL_ASSERT(!t->set);
    t->set = set;
    for (uint32_t k = 0; k < set->n; k++) {
        uint32_t i = set->order[k];
        const struct event *e = &set->event[i];
        int fd;
        t->fd[i] = -1;
        if (e->by_usage)
            continue;
        if (leader >= 0 && set->event[leader].kind.software != e->kind.software)
            leader = -1;
        fd = open_event(e, leader < 0 ? -1 : t->fd[leader]);
        if (fd == -EINVAL && leader >= 0 && !e->kind.refusal) {
            /* it may not fit beside the others; in a group of its own it takes turns with them */
            fd = open_event(e, -1);
            if (fd >= 0)
                leader = -1;
        }
        if (fd < 0) {
            note(t, i, fd);
            continue;
        }
        if (leader < 0)
            leader = (int)i;
        t->fd[i] = fd;
        t->leader[i] = (uint8_t)leader;
    }
}

/* Does event `i` lead a group that is open? */
static bool leads(const struct mt_perf_thread *t, uint32_t i)
{
    return t->fd[i] >= 0 && t->leader[i] == i;
}

static void switch_groups(struct mt_perf_thread *t, bool on)
{
    uint32_t n = t->set->n;

    for (uint32_t i = 0; i < n; i++) {
        int rc = leads(t, i) ? mt_perf_sys->enable(t->fd[i], on) : 0;
        for (uint32_t j = 0; rc && j < n; j++)
            if (t->fd[j] >= 0 && t->leader[j] == i && !t->err[j])
                t->err[j] = rc;
    }
}

void mt_perf_enable(struct mt_perf_thread *t)
{
    if (!t->set)
        return;
    read_usage(t->usage_start);
    switch_groups(t, true);
}

void mt_perf_disable(struct mt_perf_thread *t)
{
    uint64_t now[MT_USAGE_COUNT];

    if (!t->set)
        return;
    switch_groups(t, false);
    read_usage(now);
    for (int u = 0; u < MT_USAGE_COUNT; u++)
        t->usage[u] += now[u] - t->usage_start[u];
    t->phases++;
}

/* Adds the values of the group that event `leader` leads; they come in the order of opening. */
static void read_group(const struct mt_perf_set *set, struct mt_perf_thread *t, uint32_t leader)
{
    uint64_t words[3 + LL_MAX_PERF]; /* count, time enabled, time running, values */
    int got = mt_perf_sys->read(t->fd[leader], words, 3 + LL_MAX_PERF), next = 3;

    for (uint32_t k = 0; k < set->n; k++) {
        uint32_t i = set->order[k];
        if (t->fd[i] < 0 || t->leader[i] != leader)
            continue;
        if (got < 0 || next >= got) {
            /* end of file: a pinned group that could not be kept on the PMU */
            if (!t->err[i])
                t->err[i] = got < 0 ? got : -EIO;
            continue;
        }
        t->value[i] += words[next++];
        t->enabled[i] += words[1];
        t->running[i] += words[2];
    }
}

void mt_perf_close(const struct mt_perf_set *set, struct mt_perf_thread *t)
{
    if (!t->set)
        return;
    t->set = NULL;
    for (uint32_t i = 0; i < set->n; i++)
        if (leads(t, i))
            read_group(set, t, i);
    for (uint32_t i = 0; i < set->n; i++) {
        if (t->fd[i] >= 0)
            mt_perf_sys->close(t->fd[i]);
        t->fd[i] = -1;
    }
}

/* ---- all threads ---- */

static uint64_t scale(uint64_t value, uint64_t enabled, uint64_t running)
{
    return running == enabled ? value : (uint64_t)((unsigned __int128)value * enabled / running);
}

static int failure_of(const struct event *e, const struct mt_perf_thread *t, uint32_t i)
{
    if (t->err[i])
        return t->err[i];
    return e->by_usage || t->running[i] ? 0 : -ENODATA;
}

void mt_perf_merge(struct mt_perf_set *set, const struct mt_perf_thread *t)
{
    LL_ASSERT(!t->set);
    if (t->phases == 0)
        return;
    for (uint32_t i = 0; i < set->n; i++) {
        struct event *e = &set->event[i];
        int err = failure_of(e, t, i);
        e->merged++;
        if (err) {
            e->failed++;
            e->err = e->err ? e->err : err;
            continue;
        }
        e->enabled += t->enabled[i];
        e->running += t->running[i];
        e->value += e->by_usage ? t->usage[e->kind.usage]
                                : scale(t->value[i], t->enabled[i], t->running[i]);
    }
}

static void value_of(struct event *e, struct ll_perf_value *out)
{
    int err = e->merged ? e->err : -ECANCELED;
    size_t used = 0;

    *out = (struct ll_perf_value){
        .name = e->name,
        .unit = e->kind.unit,
        .source = source_of(e),
        .counted = !err,
        .err = err,
        .reason = e->reason,
    };
    e->reason[0] = '\0';
    if (!err) {
        out->value = e->value;
        out->running_ratio = e->by_usage ? 1 : (double)e->running / (double)e->enabled;
        return;
    }
    if (e->failed < e->merged)
        used = (size_t)snprintf(e->reason, sizeof(e->reason),
                                "in %u of %u threads and repetitions ", e->failed, e->merged);
    explain(e, err, e->reason + used, sizeof(e->reason) - used);
}

uint32_t mt_perf_values(struct mt_perf_set *set, struct ll_perf_value *out, uint32_t max)
{
    uint32_t n = set->n < max ? set->n : max;

    for (uint32_t i = 0; i < n; i++)
        value_of(&set->event[i], &out[i]);
    return n;
}

/* ---- probing ---- */

int ll_perf_probe(const char *name, struct ll_perf_probe *out, struct ll_error *err)
{
    struct event e = {.by_usage = false};
    int fd, rc = make_event(name, &e, err);

    *out = (struct ll_perf_probe){.size = sizeof(*out), .version = LL_ABI, .unit = "events"};
    out->source = "pmu";
    if (rc)
        return rc;
    out->type = e.attr.type;
    out->config = e.attr.config;
    out->source = source_of(&e);
    out->unit = e.kind.unit;
    if (e.by_usage) {
        char why[200];
        explain(&e, e.usage_err, why, sizeof(why));
        snprintf(out->reason, sizeof(out->reason), "counted by getrusage; perf: %s", why);
        return 0;
    }
    fd = open_event(&e, -1);
    if (fd >= 0) {
        mt_perf_sys->close(fd);
        return 0;
    }
    out->err = fd;
    explain(&e, fd, out->reason, sizeof(out->reason));
    return 0;
}
