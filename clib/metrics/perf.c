/* SPDX-License-Identifier: MIT */
/* perf.c - perf_event_open for one thread at a time: groups, reading, scaling, reasons.
 *
 * Nothing is mapped (we count, we do not sample), so closing a descriptor is all that frees an event.
 */
#define _GNU_SOURCE
#include "metrics/perf.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"

struct event {
    struct perf_event_attr attr;
    struct mt_perf_kind kind;
    bool by_usage;
    int usage_err; /* why perf does not count it */
    char name[MT_PERF_NAME_MAX + 1];
    char reason[256];
};

struct mt_perf_set {
    uint32_t n;
    uint8_t order[LL_MAX_PERF]; /* events of the PMU first */
    struct event event[];
};

/* ---- the system ---- */

static int sys_open(struct perf_event_attr *attr, int group_fd)
{
    long fd = syscall(SYS_perf_event_open, attr, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

static int sys_enable(int fd, bool on)
{
    unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

    return ioctl(fd, request, PERF_IOC_FLAG_GROUP) < 0 ? -errno : 0;
}

static int sys_read(int fd, uint64_t *words, size_t n)
{
    ssize_t got = read(fd, words, n * sizeof(*words));

    return got < 0 ? -errno : (int)((size_t)got / sizeof(*words));
}

static int sys_close(int fd)
{
    return close(fd);
}

static int sys_paranoid(void)
{
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int level = INT_MIN;

    if (f) {
        if (fscanf(f, "%d", &level) != 1)
            level = INT_MIN;
        fclose(f);
    }
    return level;
}

static bool sys_has_pmu(void)
{
    DIR *dir = opendir("/sys/bus/event_source/devices");
    struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir))) /* cpu, cpu_core, cpu_atom, armv8_pmuv3_0 */
        found = strcmp(entry->d_name, "cpu") == 0 || strncmp(entry->d_name, "cpu_", 4) == 0 ||
                strncmp(entry->d_name, "armv", 4) == 0;
    if (dir)
        closedir(dir);
    return found;
}

static const struct mt_perf_sys real_sys = {
    .open = sys_open,
    .enable = sys_enable,
    .read = sys_read,
    .close = sys_close,
    .paranoid = sys_paranoid,
    .has_pmu = sys_has_pmu,
};
static const struct mt_perf_sys *sys = &real_sys;

void mt_perf_inject(const struct mt_perf_sys *fake)
{
    sys = fake ? fake : &real_sys;
}

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

/* ---- reasons ---- */

/* Refused for lack of rights: by the paranoid level, or by somebody else? */
static void explain_rights(const struct event *e, char *text, size_t size)
{
    bool kernel = !e->attr.exclude_kernel;
    int level = sys->paranoid(), needed = kernel ? 1 : 2;

    if (level > needed)
        snprintf(text, size,
                 "kernel.perf_event_paranoid is %d and forbids it to this user; as root: sysctl "
                 "kernel.perf_event_paranoid=%d, or give the program CAP_PERFMON",
                 level, needed);
    else if (level != INT_MIN)
        snprintf(
            text, size,
            "kernel.perf_event_paranoid is %d and would allow it: the container's seccomp "
            "filter or a security module forbids perf_event_open; run it with --cap-add PERFMON",
            level);
    else
        snprintf(text, size,
                 "this user may not count it and kernel.perf_event_paranoid cannot be read; it "
                 "takes CAP_PERFMON");
}

static const char *explain_errno(const struct event *e, int err)
{
    switch (err) {
    case -ENOENT:
        if (e->kind.software)
            return "this kernel has no such software event";
        return sys->has_pmu()
                   ? "the PMU of this CPU has no such event"
                   : "no hardware counters are visible here, as in most virtual machines and "
                     "containers; run on bare metal or give the machine a virtual PMU";
    case -ENODEV: return "the CPUs of this host have no PMU that counts it";
    case -EOPNOTSUPP:
        return "the PMU of this CPU cannot do what the event or its modifiers ask for";
    case -EINVAL:
        return "the kernel refuses this event or its modifiers for a single thread (an uncore "
               "event counts for a whole package only)";
    case -ENOSPC:
        return "all counters or debug registers of this kind are taken; ask for fewer events";
    case -EBUSY: return "another program has the PMU, or a counter that it needs, to itself";
    case -EMFILE:
        return "the limit of open files is reached; every thread needs a file for every event, "
               "raise it with ulimit -n";
    case -ENFILE: return "the system's limit of open files is reached (sysctl fs.file-max)";
    case -ENOSYS:
        return "this kernel is without perf events, or the container's seccomp filter hides them";
    case -E2BIG:
        return "this kernel is older than the perf interface that the program was built for";
    case -ENOMEM: return "the kernel is out of memory for it";
    case -EINTR: return "a pinned event lost its counter to another one";
    case -ENODATA:
        return "it never got a counter while it was enabled; ask for fewer events at once (the NMI "
               "watchdog keeps one: sysctl kernel.nmi_watchdog=0)";
    case -ECANCELED: return "the run ended before the measured phase did";
    default: return strerrordesc_np(-err);
    }
}

/* Sentence for failure `err` of event `e`, led by the errno's name and perhaps the thread's number. */
static void explain(const struct event *e, int err, const char *where, char *text, size_t size)
{
    const char *name = strerrorname_np(-err), *forced = mt_perf_forced_pmu();
    char rights[224];
    const char *body = rights;
    int used;

    if (e->kind.refusal)
        body = e->kind.refusal;
    else if (err == -EACCES || err == -EPERM)
        explain_rights(e, rights, sizeof(rights));
    else
        body = explain_errno(e, err);
    used = snprintf(text, size, "%s%s: %s", where, name ? name : "error", body ? body : "unknown");
    if (forced && !e->kind.software && err == -ENOENT && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " (LIBPFM_FORCE_PMU=%s is set)", forced);
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
    return sys->open(&attr, group_fd);
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
            sys->close(fd);
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

    LL_ASSERT(!t->is_open);
    t->is_open = true;
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
            /* it may not fit beside the others; alone it takes turns with them */
            leader = -1;
            fd = open_event(e, -1);
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

static void switch_groups(const struct mt_perf_set *set, struct mt_perf_thread *t, bool on)
{
    for (uint32_t i = 0; i < set->n; i++) {
        int rc = leads(t, i) ? sys->enable(t->fd[i], on) : 0;
        for (uint32_t j = 0; rc && j < set->n; j++)
            if (t->fd[j] >= 0 && t->leader[j] == i && !t->err[j])
                t->err[j] = rc;
    }
}

void mt_perf_enable(const struct mt_perf_set *set, struct mt_perf_thread *t)
{
    if (!t->is_open)
        return;
    read_usage(t->usage_start);
    switch_groups(set, t, true);
}

void mt_perf_disable(const struct mt_perf_set *set, struct mt_perf_thread *t)
{
    uint64_t now[MT_USAGE_COUNT];

    if (!t->is_open)
        return;
    switch_groups(set, t, false);
    read_usage(now);
    for (int u = 0; u < MT_USAGE_COUNT; u++)
        t->usage[u] += now[u] - t->usage_start[u];
    t->phases++;
}

/* Adds the values of the group that event `leader` leads; they come in the order of opening. */
static void read_group(const struct mt_perf_set *set, struct mt_perf_thread *t, uint32_t leader)
{
    uint64_t words[3 + LL_MAX_PERF]; /* count, time enabled, time running, values */
    int got = sys->read(t->fd[leader], words, 3 + LL_MAX_PERF), next = 3;

    for (uint32_t k = 0; k < set->n; k++) {
        uint32_t i = set->order[k];
        if (t->fd[i] < 0 || t->leader[i] != leader)
            continue;
        if (got < 0 || next >= got) {
            /* end of file: a pinned group that could not be kept on the PMU */
            if (!t->err[i])
                t->err[i] = got < 0 ? got : -EINTR;
            continue;
        }
        t->value[i] += words[next++];
        t->enabled[i] += words[1];
        t->running[i] += words[2];
    }
}

void mt_perf_close(const struct mt_perf_set *set, struct mt_perf_thread *t)
{
    if (!t->is_open)
        return;
    t->is_open = false;
    for (uint32_t i = 0; i < set->n; i++)
        if (leads(t, i))
            read_group(set, t, i);
    for (uint32_t i = 0; i < set->n; i++) {
        if (t->fd[i] >= 0)
            sys->close(t->fd[i]);
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
    if (e->kind.refusal)
        return -EINVAL;
    if (t->phases == 0)
        return -ECANCELED;
    if (!e->by_usage && t->running[i] == 0)
        return t->enabled[i] ? -ENODATA : -ECANCELED;
    return 0;
}

static void merge_event(struct event *e, uint32_t i, const struct mt_perf_thread *const *threads,
                        uint32_t n, struct ll_perf_value *out)
{
    uint64_t enabled = 0, running = 0;
    uint32_t failed = 0, first = 0;
    char where[32] = "";

    *out = (struct ll_perf_value){
        .name = e->name,
        .unit = e->kind.unit,
        .source = source_of(e),
        .reason = e->reason,
    };
    for (uint32_t k = 0; k < n; k++) {
        const struct mt_perf_thread *t = threads[k];
        int err = failure_of(e, t, i);
        if (err && failed++ == 0) {
            out->err = err;
            first = k;
        }
        if (err)
            continue;
        enabled += t->enabled[i];
        running += t->running[i];
        out->value += e->by_usage ? t->usage[e->kind.usage]
                                  : scale(t->value[i], t->enabled[i], t->running[i]);
    }
    if (n == 0)
        out->err = -ECANCELED;
    out->counted = !out->err;
    out->running_ratio = enabled ? (double)running / (double)enabled : e->by_usage ? 1 : 0;
    e->reason[0] = '\0';
    if (out->counted)
        return;
    out->value = 0;
    out->running_ratio = 0;
    if (failed && failed < n) /* a sum over some threads would be a wrong figure */
        snprintf(where, sizeof(where), "in thread %u ", first);
    explain(e, out->err, where, e->reason, sizeof(e->reason));
}

void mt_perf_merge(struct mt_perf_set *set, const struct mt_perf_thread *const *threads, uint32_t n,
                   struct ll_perf_value *out)
{
    for (uint32_t i = 0; i < set->n; i++)
        merge_event(&set->event[i], i, threads, n, &out[i]);
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
        explain(&e, e.usage_err, "", why, sizeof(why));
        snprintf(out->reason, sizeof(out->reason), "counted by getrusage; perf: %s", why);
        return 0;
    }
    fd = open_event(&e, -1);
    if (fd >= 0) {
        sys->close(fd);
        return 0;
    }
    out->err = fd;
    explain(&e, fd, "", out->reason, sizeof(out->reason));
    return 0;
}
