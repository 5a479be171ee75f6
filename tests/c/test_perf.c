/* SPDX-License-Identifier: MIT */
/* test_perf.c - names against libpfm4's tables, counting for real, and every failure by injection. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "expect.h"
#include "metrics/perf.h"
#include "metrics/perf_sys.h"

/* ---- names ---- */

enum { U = 1, K = 2, H = 4, ALL = U | K | H };

static void encodes(const char *name, uint32_t type, uint64_t config, unsigned levels,
                    bool software)
{
    struct perf_event_attr attr;
    struct mt_perf_kind kind;
    struct ll_error err = {.text = ""};
    int rc = mt_perf_encode(name, &attr, &kind, &err);
    unsigned got;

    EXPECT(rc == 0, "%s: %d %s", name, rc, err.text);
    if (rc)
        return;
    got = (attr.exclude_user ? 0 : U) | (attr.exclude_kernel ? 0 : K) | (attr.exclude_hv ? 0 : H);
    EXPECT(attr.type == type && attr.config == config, "%s: type %u config %llx", name, attr.type,
           (unsigned long long)attr.config);
    EXPECT(got == levels, "%s counts levels %u, not %u", name, got, levels);
    EXPECT(kind.software == software && !kind.refusal, "%s: software %d, %s", name, kind.software,
           kind.refusal ? kind.refusal : "");
    EXPECT(!attr.exclude_guest && !attr.sample_period, "%s", name);
}

static void fails(const char *name, int code, const char *part)
{
    struct perf_event_attr attr;
    struct mt_perf_kind kind;
    struct ll_error err = {.text = ""};
    int rc = mt_perf_encode(name, &attr, &kind, &err);

    EXPECT(rc == code && strcmp(err.field, "perf") == 0 && strstr(err.text, part),
           "%s: %d, field %s: %s", name, rc, err.field, err.text);
    EXPECT(mt_perf_encode(name, &attr, &kind, NULL) == code, "%s without an error to fill", name);
}

static void refuses(const char *name, const char *part)
{
    struct ll_perf_probe probe;
    struct perf_event_attr attr;
    struct mt_perf_kind kind;

    EXPECT(mt_perf_encode(name, &attr, &kind, NULL) == 0 && kind.refusal &&
               strstr(kind.refusal, part),
           "%s is not refused", name);
    EXPECT(ll_perf_probe(name, &probe, NULL) == 0 && probe.err == -EINVAL &&
               strstr(probe.reason, part),
           "%s: %d %s", name, probe.err, probe.reason);
}

static void generic_names(void)
{
    encodes("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, U, false);
    encodes("Instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, U, false);
    encodes("cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, U, false);
    encodes("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, U, false);
    encodes("ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, U, false);
    encodes("context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, ALL, true);
    encodes("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, ALL, true);
    encodes("cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, ALL, true);
    encodes("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, ALL, true);
    encodes("alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, ALL, true);
    /* a clock runs in the kernel whatever is excluded, so it asks for no more than it must */
    encodes("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, U | H, true);

    encodes("cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, U, false);
    encodes("cycles:k", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, K, false);
    encodes("cycles:u:k", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, U | K, false);
    encodes("cycles:uk", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, U | K, false);
    encodes("cycles:h", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, H, false);
    encodes("page-faults:u", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, U, true);
    refuses("context-switches:u", "0 for ever");
    refuses("cpu-migrations:u", "0 for ever");
    refuses("task-clock:u", "take no notice");
    refuses("cpu-clock:k", "take no notice");

    fails("", -EINVAL, "0 bytes, 1 to 127");
    fails("cycles ", -EINVAL, "blank, comma or unprintable character at 7");
    fails("cycles,instructions", -EINVAL, "at 7");
    fails("cycles\xc3\xa9", -EINVAL, "at 7");
    fails("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          -EINVAL, "1 to 127");
#ifdef HAVE_PFM
    encodes("perf::CACHE-MISSES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, U, false);
    encodes("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, U, false);
    encodes("r01c2", PERF_TYPE_RAW, 0x1c2, U, false);
    fails("cache-mises", -ENOENT, "called 'cache-mises', did you mean cache-misses?");
    fails("perf::cache-mises:u", -ENOENT, "did you mean cache-misses?");
    fails("no-such-thing-at-all", -ENOENT, "'no-such-thing-at-all'");
    fails("cycles:period=1000", -EINVAL, "leave out period, freq and cpu");
    fails("cycles:freq=100", -EINVAL, "leave out period");
    fails("cycles:cpu=0", -EINVAL, "leave out period");
    fails("cycles:bogus", -EINVAL, "libpfm4 refuses 'cycles:bogus'");
#else
    fails("cache-mises", -ENOTSUP, "did you mean cache-misses? (this build is without libpfm4");
    fails("perf::CACHE-MISSES", -ENOTSUP, "without libpfm4");
    fails("cycles:bogus", -EINVAL, "other than u, k and h");
#endif
}

#ifdef HAVE_PFM
/* libpfm4 reads its environment once, so each setting has a child of its own. */
static void in_child_with(const char *variable, const char *value, void (*body)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        setenv(variable, value, 1);
        expect_failures = 0;
        body();
        _exit(expect_failures ? 1 : 0);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0, "child with %s=%s: %x", variable, value,
           (unsigned)status);
}

/* Event select and unit masks as AMD's processor programming references print them: select in bits
 * 7:0 and 35:32, unit mask in bits 15:8. The CPU itself is not needed. */
static void pmu_specific_names(void)
{
    encodes("amd64_fam19h_zen4::RETIRED_INSTRUCTIONS", PERF_TYPE_RAW, 0xc0, U, false);
    encodes("amd64_fam19h_zen3::CYCLES_NOT_IN_HALT", PERF_TYPE_RAW, 0x76, U, false);
    encodes("amd64_fam19h_zen3::RETIRED_LOCK_INSTRUCTIONS:BUS_LOCK", PERF_TYPE_RAW, 0x125, U,
            false);
    encodes("amd64_fam19h_zen4::RETIRED_LOCK_INSTRUCTIONS:BUS_LOCK", PERF_TYPE_RAW, 0x125, U,
            false);
    encodes("amd64_fam19h_zen4::RETIRED_FUSED_INSTRUCTIONS", PERF_TYPE_RAW, 0x1000000d0, U, false);
    encodes("amd64_fam19h_zen4::ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:LOCAL_CCX:"
            "NEAR_CACHE_NEAR_FAR:FAR_CACHE_NEAR_FAR:DRAM_IO_NEAR",
            PERF_TYPE_RAW, 0x1f44, U, false);
    encodes("amd64_fam19h_zen4::RETIRED_INSTRUCTIONS:k", PERF_TYPE_RAW, 0xc0, K, false);
    encodes("amd64_fam19h_zen4::RETIRED_INSTRUCTIONS:u:k", PERF_TYPE_RAW, 0xc0, U | K, false);
    encodes("amd64_fam19h_zen4::RETIRED_INSTRUCTIONS:u:h", PERF_TYPE_RAW, 0xc0, U | H, false);
    fails("amd64_fam19h_zen4::RETIRED_INSTRUCTIONS:NO_SUCH_UMASK", -EINVAL, "libpfm4 refuses");
    fails("amd64_fam19h_zen4::NO_SUCH_EVENT", -ENOENT, "no perf event is called");
}

static void forced_pmu_is_named(void)
{
    struct ll_perf_probe probe;

    fails("perf::cycles", -ENOENT, "(LIBPFM_FORCE_PMU=amd64_fam19h_zen4 hides all other PMUs)");
    encodes("RETIRED_INSTRUCTIONS", PERF_TYPE_RAW, 0xc0, U, false);
    /* the generic names do not go away with libpfm4's `perf` PMU */
    encodes("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, U, false);
    encodes("context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, ALL, true);
    EXPECT(ll_perf_probe("RETIRED_INSTRUCTIONS", &probe, NULL) == 0, "known");
    EXPECT(probe.err != -ENOENT || strstr(probe.reason, "LIBPFM_FORCE_PMU=amd64_fam19h_zen4"),
           "reason: %s", probe.reason);
}

static void nonsense_pmu_leaves_generic_names(void)
{
    encodes("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, U, false);
    encodes("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, ALL, true);
}
#endif

static void sets_are_checked(void)
{
    const char *twice[] = {"cycles", "cs", "cycles"}, *wrong[] = {"cs", "sc-no-such"};
    const char *many[LL_MAX_PERF + 1] = {NULL};
    struct mt_perf_set *set;
    struct ll_error err;

    EXPECT(mt_perf_set_new(twice, 3, &set, &err) == -EINVAL && !set && strstr(err.text, "twice"),
           "%s", err.text);
    EXPECT(mt_perf_set_new(wrong, 2, &set, &err) < 0 && !set && strstr(err.text, "sc-no-such"),
           "%s", err.text);
    EXPECT(mt_perf_set_new(many, LL_MAX_PERF + 1, &set, &err) == -ERANGE && !set, "%s", err.text);
    EXPECT(mt_perf_set_new(NULL, 0, &set, &err) == 0 && set, "an empty set");
    mt_perf_set_free(set);
    mt_perf_set_free(NULL);
}

/* ---- counting for real ---- */

static unsigned open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void touch_pages(size_t n)
{
    size_t size = n * 4096;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT(p != MAP_FAILED, "no memory");
    madvise(p, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += 4096)
        ((volatile char *)p)[i] = 1;
    munmap(p, size);
}

static void sleep_often(int n)
{
    for (int i = 0; i < n; i++)
        nanosleep(&(struct timespec){0, 50000}, NULL);
}

static uint64_t page_faults(void)
{
    struct rusage r;

    getrusage(RUSAGE_THREAD, &r);
    return (uint64_t)(r.ru_minflt + r.ru_majflt);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void counts_what_happens(void)
{
    const char *names[] = {"cycles", "context-switches", "task-clock", "page-faults",
                           "minor-faults"};
    struct ll_perf_value v[5];
    struct mt_perf_thread t = {.phases = 0};
    struct mt_perf_set *set;
    struct ll_error err = {.text = ""};
    unsigned files = open_files();
    uint64_t cpu;

    EXPECT(mt_perf_set_new(names, 5, &set, &err) == 0, "%s", err.text);
    mt_perf_open(set, &t);
    for (int i = 0; i < 5; i++)
        EXPECT(t.fd[i] < 0 || (fcntl(t.fd[i], F_GETFD) & FD_CLOEXEC), "%s is inherited", names[i]);
    sleep_often(10);
    touch_pages(64);
    cpu = cpu_ns();
    mt_perf_enable(&t);
    sleep_often(20);
    touch_pages(100);
    mt_perf_disable(&t);
    cpu = cpu_ns() - cpu;
    sleep_often(10);
    touch_pages(64);
    mt_perf_close(set, &t);
    mt_perf_close(set, &t);
    EXPECT(open_files() == files, "%u files were open, now %u", files, open_files());
    mt_perf_merge(set, &t);
    EXPECT(mt_perf_values(set, v, 5) == 5, "five were asked for");
    for (int i = 0; i < 5; i++) {
        printf("%-18s %s %lu %s, running %.3f, %s\n", v[i].name, v[i].source, v[i].value, v[i].unit,
               v[i].running_ratio, v[i].reason);
        EXPECT(strcmp(v[i].name, names[i]) == 0, "order");
        EXPECT(v[i].counted == !v[i].err && v[i].counted == !*v[i].reason, "%s: %d '%s'", v[i].name,
               v[i].err, v[i].reason);
        EXPECT(v[i].counted || v[i].value == 0, "a value that does not count");
    }
    /* no PMU in most test machines: then the reason says so */
    EXPECT(v[0].counted ? v[0].value > 0 : strlen(v[0].reason) > 20, "cycles: %s", v[0].reason);
    EXPECT(strcmp(v[0].source, "pmu") == 0, "cycles by %s", v[0].source);
    /* these count everywhere, if need be by getrusage */
    EXPECT(v[1].counted && v[1].value >= 20, "%lu switches in 20 sleeps", v[1].value);
    EXPECT(v[3].counted && v[3].value >= 100, "%lu faults for 100 pages", v[3].value);
    EXPECT(v[4].counted && v[4].value <= v[3].value, "%lu minor faults", v[4].value);
    EXPECT(v[1].running_ratio == 1 && v[3].running_ratio == 1, "software events always run");
    EXPECT(strcmp(v[2].unit, "ns") == 0, "task-clock in %s", v[2].unit);
    EXPECT(!v[2].counted || (v[2].value > 0 && v[2].value <= cpu), "task-clock %lu of %lu ns",
           v[2].value, cpu);
    mt_perf_set_free(set);
}

static void probing(void)
{
    struct ll_perf_probe p;
    struct ll_error err = {.text = ""};
    unsigned files = open_files();

    EXPECT(ll_perf_probe("context-switches", &p, &err) == 0 && p.err == 0, "%s", err.text);
    EXPECT(p.type == PERF_TYPE_SOFTWARE && p.config == PERF_COUNT_SW_CONTEXT_SWITCHES, "type %u",
           p.type);
    EXPECT(strcmp(p.source, "perf-sw") == 0 || (strcmp(p.source, "rusage") == 0 && *p.reason),
           "source %s", p.source);
    EXPECT(ll_perf_probe("cycles", &p, &err) == 0 && (p.err == 0) == (*p.reason == 0), "%d %s",
           p.err, p.reason);
    EXPECT(ll_perf_probe("no-such-event", &p, &err) < 0 && *err.text, "unknown");
    EXPECT(ll_perf_probe(NULL, &p, NULL) == -EINVAL, "no name");
    EXPECT(open_files() == files, "probing leaks");
}

/* ---- a made-up system ---- */

static struct {
    int err_hw, err_sw, err_kernel; /* answers of open: for all of a class, or with the kernel */
    int group_max;                  /* events of a PMU group that fit */
    int after, err_after;           /* from the after-th open on, if err_after */
    int level;
    bool pmu;
    int opens, closes, members[64], group[64], enable_err;
    uint64_t value, enabled, running; /* what a group reads */
    bool eof;
} fake;

static int fake_open(struct perf_event_attr *attr, int group_fd)
{
    bool software = attr->type == PERF_TYPE_SOFTWARE;
    int fd;

    EXPECT(attr->size == sizeof(*attr) && attr->disabled == (group_fd < 0), "size, disabled");
    EXPECT((attr->read_format & PERF_FORMAT_GROUP) && (attr->read_format & 3) == 3, "read format");
    if (software ? fake.err_sw : fake.err_hw)
        return software ? fake.err_sw : fake.err_hw;
    if (!attr->exclude_kernel && fake.err_kernel)
        return fake.err_kernel;
    if (fake.err_after && fake.opens >= fake.after)
        return fake.err_after;
    if (!software && group_fd >= 0 && fake.members[group_fd - 100] >= fake.group_max)
        return -EINVAL;
    fd = 100 + fake.opens++;
    fake.group[fd - 100] = group_fd < 0 ? fd : group_fd;
    fake.members[fake.group[fd - 100] - 100]++;
    return fd;
}

static int fake_enable(int fd, bool on)
{
    (void)on;
    EXPECT(fake.group[fd - 100] == fd, "only leaders are switched");
    return fake.enable_err;
}

static int fake_read(int fd, uint64_t *words, size_t n)
{
    int members = fake.members[fd - 100];

    EXPECT(n >= 3 + (size_t)members, "room for %zu words", n);
    if (fake.eof)
        return 0;
    words[0] = (uint64_t)members;
    words[1] = fake.enabled;
    words[2] = fake.running;
    for (int i = 0; i < members; i++)
        words[3 + i] = fake.value + (uint64_t)i;
    return 3 + members;
}

static int fake_close(int fd)
{
    (void)fd;
    fake.closes++;
    return 0;
}

static int fake_paranoid(void)
{
    return fake.level;
}

static bool fake_has_pmu(void)
{
    return fake.pmu;
}

static const struct mt_perf_sys fake_sys = {
    .open = fake_open,
    .enable = fake_enable,
    .read = fake_read,
    .close = fake_close,
    .paranoid = fake_paranoid,
    .has_pmu = fake_has_pmu,
};

static void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.group_max = 4;
    fake.level = 2;
    fake.value = 1000;
    fake.enabled = fake.running = 5000;
}

/* One thread through all steps, merged into `set`. */
static void count_once(struct mt_perf_set *set)
{
    struct mt_perf_thread t = {.phases = 0};

    mt_perf_open(set, &t);
    mt_perf_enable(&t);
    mt_perf_disable(&t);
    mt_perf_close(set, &t);
    EXPECT(fake.opens == fake.closes, "%d opened, %d closed", fake.opens, fake.closes);
    mt_perf_merge(set, &t);
}

static void each_errno_has_its_sentence(void)
{
    static const struct {
        int err, level;
        bool pmu;
        const char *name, *part;
    } cases[] = {
        {-ENOENT, 2, false, "cycles", "ENOENT: no hardware counters are visible"},
        {-ENOENT, 2, true, "cycles", "ENOENT: the PMU of this CPU has no such event"},
        {-ENOENT, 2, false, "cpu-migrations", "no such software event"},
        {-EACCES, 3, true, "cycles", "EACCES: kernel.perf_event_paranoid is 3 and forbids"},
        {-EACCES, 3, true, "cycles", "sysctl kernel.perf_event_paranoid=2"},
        {-EACCES, 2, true, "cycles:k", "sysctl kernel.perf_event_paranoid=1"},
        {-EPERM, 1, true, "cycles", "is 1 and would allow it: the container's seccomp filter"},
        {-EPERM, 2, true, "cpu-migrations", "sysctl kernel.perf_event_paranoid=1"},
        {-EPERM, 2, true, "cycles", "is 2 and would allow it"},
        {-EPERM, 1, true, "cycles:k", "is 1 and would allow it"},
        {-EPERM, INT_MIN, true, "cycles", "cannot be read; give the program CAP_PERFMON"},
        {-ENOSPC, 2, true, "cycles", "ENOSPC: all counters"},
        {-EMFILE, 2, true, "cycles", "ulimit -n"},
        {-ENFILE, 2, true, "cycles", "fs.file-max"},
        {-ENODEV, 2, true, "cycles", "ENODEV: the CPUs of this host"},
        {-EINVAL, 2, true, "cycles", "EINVAL: the kernel refuses this event"},
        {-EOPNOTSUPP, 2, true, "cycles", "cannot do what the event"},
        {-EBUSY, 2, true, "cycles", "another program has the PMU"},
        {-ENOSYS, 2, true, "cycles", "ENOSYS: this kernel is without perf events"},
        {-E2BIG, 2, true, "cycles", "older than the perf interface"},
        {-ENOMEM, 2, true, "cycles", "out of memory"},
        {-ELOOP, 2, true, "cycles", "ELOOP: Too many levels"},
        {-4000, 2, true, "cycles", "unknown error: the kernel says no more"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ll_perf_probe p;
        struct ll_perf_value v;
        struct mt_perf_set *set;
        fake_reset();
        fake.err_hw = fake.err_sw = cases[i].err;
        fake.level = cases[i].level;
        fake.pmu = cases[i].pmu;
        EXPECT(ll_perf_probe(cases[i].name, &p, NULL) == 0 && p.err == cases[i].err &&
                   strstr(p.reason, cases[i].part),
               "%s: %d %s", cases[i].name, p.err, p.reason);
        EXPECT(mt_perf_set_new(&cases[i].name, 1, &set, NULL) == 0, "no set");
        count_once(set);
        EXPECT(mt_perf_values(set, &v, 1) == 1 && !v.counted && v.err == cases[i].err &&
                   strcmp(v.reason, p.reason) == 0,
               "%s: %d %s", cases[i].name, v.err, v.reason);
        mt_perf_set_free(set);
    }
}

static void rusage_stands_in(void)
{
    const char *names[] = {"context-switches", "page-faults", "cpu-migrations", "task-clock",
                           "page-faults:u"};
    struct mt_perf_thread t = {.phases = 0};
    struct ll_perf_value v[5];
    struct ll_perf_probe p;
    struct mt_perf_set *set;
    uint64_t faults;

    fake_reset();
    fake.err_kernel = -EACCES;
    EXPECT(mt_perf_set_new(names, 5, &set, NULL) == 0, "no set");
    mt_perf_open(set, &t);
    EXPECT(fake.opens == 2, "the clock and the faults of user space, not %d", fake.opens);
    faults = page_faults();
    for (int round = 0; round < 2; round++) {
        touch_pages(5);
        sleep_often(5);
        mt_perf_enable(&t);
        sleep_often(10);
        touch_pages(50);
        mt_perf_disable(&t);
    }
    faults = page_faults() - faults;
    mt_perf_close(set, &t);
    mt_perf_merge(set, &t);
    mt_perf_values(set, v, 5);
    EXPECT(v[1].value + 10 <= faults, "%lu faults, %lu with those outside", v[1].value, faults);
    EXPECT(strcmp(v[0].source, "rusage") == 0 && v[0].counted && v[0].value >= 20 &&
               v[0].running_ratio == 1,
           "switches: %lu by %s", v[0].value, v[0].source);
    EXPECT(strcmp(v[1].source, "rusage") == 0 && v[1].value >= 100, "faults: %lu by %s", v[1].value,
           v[1].source);
    EXPECT(!v[2].counted && v[2].err == -EACCES && strstr(v[2].reason, "paranoid"), "%s",
           v[2].reason);
    EXPECT(v[3].counted && strcmp(v[3].source, "perf-sw") == 0, "task-clock: %s", v[3].reason);
    EXPECT(v[4].counted && strcmp(v[4].source, "perf-sw") == 0, "page-faults:u: %s", v[4].reason);
    mt_perf_set_free(set);

    EXPECT(ll_perf_probe("context-switches", &p, NULL) == 0 && p.err == 0 &&
               strcmp(p.source, "rusage") == 0 &&
               strstr(p.reason, "counted by getrusage; perf: EACC"),
           "%s: %s", p.source, p.reason);
}

static void groups(void)
{
    const char *names[] = {"cs",       "cycles",        "instructions",     "task-clock",
                           "branches", "branch-misses", "cache-references", "cache-misses"};
    struct mt_perf_thread t = {.phases = 0};
    struct ll_perf_value v[8];
    struct mt_perf_set *set;
    int sizes[3] = {0};

    fake_reset();
    EXPECT(mt_perf_set_new(names, 8, &set, NULL) == 0, "no set");
    fake.opens = fake.closes = 0; /* of the probing */
    memset(fake.members, 0, sizeof(fake.members));
    mt_perf_open(set, &t);
    /* six events of a PMU that groups four of: 4 + 2, and the two software events apart */
    for (int fd = 100, leaders = 0; fd < 108; fd++)
        if (fake.group[fd - 100] == fd && leaders < 3)
            sizes[leaders++] = fake.members[fd - 100];
    EXPECT(sizes[0] == 4 && sizes[1] == 2 && sizes[2] == 2, "%d, %d, %d", sizes[0], sizes[1],
           sizes[2]);
    mt_perf_enable(&t);
    mt_perf_disable(&t);
    mt_perf_close(set, &t);
    mt_perf_merge(set, &t);
    EXPECT(mt_perf_values(set, v, 3) == 3 && mt_perf_values(set, v, 8) == 8, "at most max");
    /* the values of a group come in the order of opening: 1000, 1001, ... */
    static const uint64_t wanted[] = {1000, 1000, 1001, 1001, 1002, 1003, 1000, 1001};
    for (int i = 0; i < 8; i++)
        EXPECT(v[i].counted && v[i].value == wanted[i], "%s: %lu, not %lu", v[i].name, v[i].value,
               wanted[i]);
    mt_perf_set_free(set);
}

static void multiplexing_is_told(void)
{
    const char *names[] = {"cycles"};
    struct ll_perf_value v;
    struct mt_perf_set *set;

    fake_reset();
    EXPECT(mt_perf_set_new(names, 1, &set, NULL) == 0, "no set");
    fake.running = 1250; /* a quarter of 5000 */
    count_once(set);
    fake.running = 5000;
    count_once(set);
    mt_perf_values(set, &v, 1);
    EXPECT(v.counted && v.value == 4000 + 1000 && v.running_ratio == 0.625, "%lu, ratio %g",
           v.value, v.running_ratio);
    fake.value = UINT64_MAX / 8; /* the product needs more than 64 bits */
    fake.running = 2500;
    count_once(set);
    mt_perf_values(set, &v, 1);
    EXPECT(v.value == 5000 + UINT64_MAX / 8 * 2, "%lu", v.value);
    mt_perf_set_free(set);
}

static void value_is_whole_or_absent(void)
{
    static const char *const names[] = {"cycles"};
    struct mt_perf_thread idle = {.phases = 0};
    struct ll_perf_value v;
    struct mt_perf_set *set;

    fake_reset();
    EXPECT(mt_perf_set_new(names, 1, &set, NULL) == 0, "no set");
    mt_perf_values(set, &v, 1);
    EXPECT(!v.counted && v.err == -ECANCELED && strstr(v.reason, "before its measured phase"), "%s",
           v.reason);
    mt_perf_open(set, &idle);
    mt_perf_close(set, &idle);
    mt_perf_merge(set, &idle);
    count_once(set);
    mt_perf_values(set, &v, 1);
    EXPECT(v.counted && v.value == 1000, "an idle thread takes nothing away: %s", v.reason);

    fake.err_after = -EMFILE; /* the second thread does not get its file */
    fake.after = fake.opens;
    count_once(set);
    mt_perf_values(set, &v, 1);
    EXPECT(!v.counted && v.err == -EMFILE && v.value == 0 &&
               strstr(v.reason, "in 1 of 2 threads and repetitions EMFILE"),
           "%s", v.reason);
    mt_perf_set_free(set);

    static const struct {
        uint64_t enabled, running;
        bool eof;
        int enable_err, err;
        const char *part;
    } cases[] = {
        {5000, 0, false, 0, -ENODATA, "never got a counter"},
        {5000, 5000, true, 0, -EIO, "pinned event lost its counter"},
        {0, 0, false, -ENOTTY, -ENOTTY, "ENOTTY"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fake_reset();
        fake.enabled = cases[i].enabled;
        fake.running = cases[i].running;
        fake.eof = cases[i].eof;
        fake.enable_err = cases[i].enable_err;
        EXPECT(mt_perf_set_new(names, 1, &set, NULL) == 0, "no set");
        count_once(set);
        mt_perf_values(set, &v, 1);
        EXPECT(!v.counted && v.err == cases[i].err && strstr(v.reason, cases[i].part), "%zu: %d %s",
               i, v.err, v.reason);
        mt_perf_set_free(set);
    }
}

int main(void)
{
    unsetenv("LIBPFM_FORCE_PMU");
    unsetenv("LIBPFM_ENCODE_INACTIVE");
#ifdef HAVE_PFM
    in_child_with("LIBPFM_ENCODE_INACTIVE", "1", pmu_specific_names);
    in_child_with("LIBPFM_FORCE_PMU", "amd64_fam19h_zen4", forced_pmu_is_named);
    in_child_with("LIBPFM_FORCE_PMU", "no_such_pmu", nonsense_pmu_leaves_generic_names);
#endif
    generic_names();
    sets_are_checked();
    counts_what_happens();
    probing();
    mt_perf_inject(&fake_sys);
    each_errno_has_its_sentence();
    rusage_stands_in();
    groups();
    multiplexing_is_told();
    value_is_whole_or_absent();
    mt_perf_inject(NULL);
    DONE();
}
