/* SPDX-License-Identifier: MIT */
/* perf_names.c - names of perf events, through libpfm4 and a small table of the kernel's own. */
#include "metrics/perf_names.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_PFM
#include <perfmon/pfmlib_perf_event.h>
#endif

#include "core/error.h"

/* The generic names that perf(1) documents. They serve builds without libpfm4, hosts where
 * LIBPFM_FORCE_PMU hides its `perf` PMU, and modifiers in one word ("cycles:uk"). */
struct generic {
    const char *name;
    uint32_t type;
    uint64_t config;
};
static const struct generic generics[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    {"cgroup-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES},
};
#define N_GENERICS (sizeof(generics) / sizeof(*generics))

/* Which levels a spelling asks for; 0: none named. */
enum { LEVEL_USER = 1, LEVEL_KERNEL = 2, LEVEL_HV = 4 };

/* 0 and the levels named behind the name ("", ":u", ":uk", ":u:k"), or -EINVAL. */
static int parse_levels(const char *s, unsigned *levels)
{
    *levels = 0;
    if (*s && (*s != ':' || !s[1]))
        return -EINVAL;
    for (; *s; s++) {
        switch (*s) {
        case ':': break;
        case 'u': *levels |= LEVEL_USER; break;
        case 'k': *levels |= LEVEL_KERNEL; break;
        case 'h': *levels |= LEVEL_HV; break;
        default: return -EINVAL;
        }
    }
    return 0;
}

/* Names are compared without case, as libpfm4 does. 0 or -ENOENT, -EINVAL. */
static int encode_generic(const char *name, struct perf_event_attr *attr, unsigned *levels)
{
    size_t len = strcspn(name, ":");

    for (size_t i = 0; i < N_GENERICS; i++) {
        if (strlen(generics[i].name) != len || strncasecmp(generics[i].name, name, len) != 0)
            continue;
        attr->type = generics[i].type;
        attr->config = generics[i].config;
        return parse_levels(name + len, levels);
    }
    return -ENOENT;
}

/* ---- what counting it means ---- */

static enum mt_usage usage_of(uint64_t config)
{
    switch (config) {
    case PERF_COUNT_SW_CONTEXT_SWITCHES: return MT_USAGE_SWITCHES;
    case PERF_COUNT_SW_PAGE_FAULTS: return MT_USAGE_FAULTS;
    case PERF_COUNT_SW_PAGE_FAULTS_MIN: return MT_USAGE_MINOR;
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ: return MT_USAGE_MAJOR;
    default: return MT_USAGE_NONE;
    }
}

static void exclude(struct perf_event_attr *attr, unsigned levels)
{
    attr->exclude_user = !(levels & LEVEL_USER);
    attr->exclude_kernel = !(levels & LEVEL_KERNEL);
    attr->exclude_hv = !(levels & LEVEL_HV);
}

/* Sets the excluded levels and fills *kind. */
static void settle(struct perf_event_attr *attr, unsigned levels, struct mt_perf_kind *kind)
{
    *kind = (struct mt_perf_kind){.unit = "events"};
    /* "not while a guest runs" says nothing about a thread, and some PMUs refuse it */
    if (attr->exclude_guest && !attr->exclude_host)
        attr->exclude_guest = 0;
    kind->software = attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT ||
                     attr->type == PERF_TYPE_BREAKPOINT;
    if (!kind->software) {
        exclude(attr, levels ? levels : LEVEL_USER);
        return;
    }
    exclude(attr, levels ? levels : LEVEL_USER | LEVEL_KERNEL | LEVEL_HV);
    if (attr->type != PERF_TYPE_SOFTWARE)
        return;
    switch (attr->config) {
    case PERF_COUNT_SW_CPU_CLOCK:
    case PERF_COUNT_SW_TASK_CLOCK:
        kind->unit = "ns";
        if (levels && levels != (LEVEL_USER | LEVEL_KERNEL))
            kind->refusal = "the kernel's clock events take no notice of :u and :k and would count "
                            "both; leave the modifier out";
        /* they run in the kernel too whatever this says, and so need no privilege */
        attr->exclude_kernel = 1;
        break;
    case PERF_COUNT_SW_CONTEXT_SWITCHES:
    case PERF_COUNT_SW_CPU_MIGRATIONS:
    case PERF_COUNT_SW_CGROUP_SWITCHES:
        if (attr->exclude_kernel)
            kind->refusal = "this happens in the kernel and would count 0 for ever without it; "
                            "leave the modifier out";
        break;
    default: break;
    }
    if (!levels)
        kind->usage = usage_of(attr->config);
}

/* ---- libpfm4 ---- */

struct names {
    size_t n, max;
    char **name;
};

static void names_add(struct names *all, const char *name)
{
    char *copy;

    if (all->n + 1 >= all->max) {
        size_t max = all->max ? 2 * all->max : 128;
        char **more = realloc(all->name, max * sizeof(*more));
        if (!more)
            return; /* one suggestion less */
        all->name = more;
        all->max = max;
    }
    copy = strdup(name);
    if (!copy)
        return;
    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    all->name[all->n++] = copy;
}

static void names_free(struct names *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->name[i]);
    free(all->name);
}

static const char *names_at(size_t i, const void *ctx)
{
    const struct names *all = ctx;

    return i < all->n ? all->name[i] : NULL;
}

#ifdef HAVE_PFM

static pthread_mutex_t pfm_mutex =
    PTHREAD_MUTEX_INITIALIZER; /* libpfm4 promises no thread safety */
static int pfm_ready = 1;      /* 1: not yet tried, else its answer */
static char *pfm_forced;

static int start_pfm(void)
{
    if (pfm_ready == 1) {
        const char *forced = getenv("LIBPFM_FORCE_PMU");
        pfm_forced = forced && *forced ? strdup(forced) : NULL;
        pfm_ready = pfm_initialize();
    }
    return pfm_ready;
}

static int ask_pfm(const char *name, int levels, struct perf_event_attr *attr, int *cpu, bool *hv)
{
    char *full = NULL;
    pfm_perf_encode_arg_t arg = {.attr = attr, .fstr = &full, .size = sizeof(arg)};
    int rc;

    memset(attr, 0, sizeof(*attr));
    rc = pfm_get_os_event_encoding(name, levels, PFM_OS_PERF_EVENT_EXT, &arg);
    *cpu = arg.cpu;
    *hv = full && strstr(full, ":h=1");
    free(full);
    return rc;
}

/* Encodes twice, with different default levels: what does not follow the default was spelled. */
static int encode_pfm(const char *name, struct perf_event_attr *attr, unsigned *levels,
                      bool *samples)
{
    struct perf_event_attr other;
    int rc, cpu = -1;
    bool hv = false;

    *levels = 0;
    *samples = false;
    rc = start_pfm();
    if (rc == PFM_SUCCESS)
        rc = ask_pfm(name, PFM_PLM0, &other, &cpu, &hv);
    if (rc == PFM_SUCCESS)
        rc = ask_pfm(name, PFM_PLM3, attr, &cpu, &hv);
    if (rc != PFM_SUCCESS)
        return rc;
    if (other.exclude_user == attr->exclude_user && other.exclude_kernel == attr->exclude_kernel)
        *levels = (attr->exclude_user ? 0 : LEVEL_USER) |
                  (attr->exclude_kernel ? 0 : LEVEL_KERNEL) | (hv ? LEVEL_HV : 0);
    *samples = attr->sample_period || attr->freq || cpu != -1;
    return rc;
}

/* Names of the events that libpfm4 offers here. */
static void collect(struct names *all)
{
    pfm_pmu_info_t pmu;
    pfm_event_info_t event;

    for (int p = PFM_PMU_NONE; pfm_ready == PFM_SUCCESS && p < PFM_PMU_MAX; p++) {
        memset(&pmu, 0, sizeof(pmu));
        pmu.size = sizeof(pmu);
        if (pfm_get_pmu_info((pfm_pmu_t)p, &pmu) != PFM_SUCCESS || !pmu.is_present)
            continue;
        for (int i = pmu.first_event; i != -1; i = pfm_get_event_next(i)) {
            memset(&event, 0, sizeof(event));
            event.size = sizeof(event);
            if (pfm_get_event_info(i, PFM_OS_NONE, &event) == PFM_SUCCESS)
                names_add(all, event.name);
        }
    }
}

const char *mt_perf_forced_pmu(void)
{
    pthread_mutex_lock(&pfm_mutex);
    start_pfm();
    pthread_mutex_unlock(&pfm_mutex);
    return pfm_forced;
}

#else

const char *mt_perf_forced_pmu(void)
{
    return NULL;
}

#endif

/* ---- both ---- */

#ifdef HAVE_PFM
#define UNKNOWN -ENOENT
#define UNKNOWN_NOTE ""
#else
#define UNKNOWN -ENOTSUP
#define UNKNOWN_NOTE                                                                               \
    " (this build is without libpfm4 and knows the kernel's generic names only; install "          \
    "libpfm4-dev and build again for others)"
#endif

static int unknown(const char *name, struct ll_error *err)
{
    struct names all = {0};
    char bare[MT_PERF_NAME_MAX + 1];
    const char *event = name, *near, *forced = NULL;
    size_t n = strcspn(name, ":");

    /* "perf::cache-mises:u": the event's name is between its PMU and its modifiers */
    if (event[n] == ':' && event[n + 1] == ':') {
        event += n + 2;
        n = strcspn(event, ":");
    }
    for (size_t i = 0; i < n; i++)
        bare[i] = (char)tolower((unsigned char)event[i]);
    bare[n] = '\0';
    for (size_t i = 0; i < N_GENERICS; i++)
        names_add(&all, generics[i].name);
#ifdef HAVE_PFM
    collect(&all);
    forced = pfm_forced;
#endif
    near = ll_nearest(bare, names_at, &all);
    ll_fail(err, UNKNOWN, "perf", "no perf event is called '%s'%s%s%s%s%s%s" UNKNOWN_NOTE, name,
            near ? ", did you mean " : "", near ? near : "", near ? "?" : "",
            forced ? " (LIBPFM_FORCE_PMU=" : "", forced ? forced : "",
            forced ? " hides all other PMUs)" : "");
    names_free(&all);
    return UNKNOWN;
}

static int check_spelling(const char *name, struct ll_error *err)
{
    size_t len = name ? strlen(name) : 0;

    if (len < 1 || len > MT_PERF_NAME_MAX)
        return ll_fail(err, -EINVAL, "perf", "a perf event's name has %zu bytes, 1 to %u allowed",
                       len, MT_PERF_NAME_MAX);
    for (size_t i = 0; i < len; i++)
        if (!isgraph((unsigned char)name[i]) || name[i] == ',')
            return ll_fail(err, -EINVAL, "perf",
                           "a perf event's name has a blank, comma or unprintable character at %zu",
                           i + 1);
    return 0;
}

#ifdef HAVE_PFM

static int encode(const char *name, struct perf_event_attr *attr, unsigned *levels,
                  struct ll_error *err)
{
    bool samples;
    int generic, rc = encode_pfm(name, attr, levels, &samples);

    if (rc == PFM_SUCCESS) {
        if (samples)
            return ll_fail(err, -EINVAL, "perf",
                           "'%s' asks for samples or for one CPU, events are counted by thread; "
                           "leave out period, freq and cpu",
                           name);
        return 0;
    }
    memset(attr, 0, sizeof(*attr));
    generic = encode_generic(name, attr, levels);
    if (!generic)
        return 0;
    switch (rc) {
    case PFM_ERR_NOTFOUND: return unknown(name, err);
    case PFM_ERR_NOMEM: return ll_fail(err, -ENOMEM, "perf", "out of memory");
    case PFM_ERR_NOTSUPP:
        return ll_fail(err, -ENOTSUP, "perf",
                       "libpfm4 knows '%s', but the kernel of this host has no PMU for it", name);
    default:
        if (pfm_ready != PFM_SUCCESS)
            return ll_fail(err, -ENOTSUP, "perf",
                           "libpfm4 does not start here (%s%s%s), without it only generic names "
                           "like cycles are known, not '%s'",
                           pfm_strerror(pfm_ready), pfm_forced ? "; LIBPFM_FORCE_PMU=" : "",
                           pfm_forced ? pfm_forced : "", name);
        return ll_fail(err, -EINVAL, "perf", "libpfm4 refuses '%s': %s", name, pfm_strerror(rc));
    }
}

#else

static int encode(const char *name, struct perf_event_attr *attr, unsigned *levels,
                  struct ll_error *err)
{
    int rc = encode_generic(name, attr, levels);

    if (rc == -EINVAL)
        return ll_fail(err, rc, "perf", "'%s' has modifiers other than u, k and h", name);
    return rc == -ENOENT ? unknown(name, err) : rc;
}

#endif

int mt_perf_encode(const char *name, struct perf_event_attr *attr, struct mt_perf_kind *kind,
                   struct ll_error *err)
{
    unsigned levels = 0;
    int rc = check_spelling(name, err);

    if (rc)
        return rc;
    memset(attr, 0, sizeof(*attr));
#ifdef HAVE_PFM
    pthread_mutex_lock(&pfm_mutex);
    rc = encode(name, attr, &levels, err);
    pthread_mutex_unlock(&pfm_mutex);
#else
    rc = encode(name, attr, &levels, err);
#endif
    if (!rc)
        settle(attr, levels, kind);
    return rc;
}
