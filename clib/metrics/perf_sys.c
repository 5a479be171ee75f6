/* SPDX-License-Identifier: MIT */
/* perf_sys.c - the system calls of the counters, and what their failures mean. */
#define _GNU_SOURCE
#include "metrics/perf_sys.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "metrics/perf_names.h"

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
const struct mt_perf_sys *mt_perf_sys = &real_sys;

void mt_perf_inject(const struct mt_perf_sys *fake)
{
    mt_perf_sys = fake ? fake : &real_sys;
}

/* ---- reasons ---- */

/* Refused for lack of rights: by the paranoid level, or by somebody else? */
static void explain_rights(bool with_kernel, char *text, size_t size)
{
    int level = mt_perf_sys->paranoid(), needed = with_kernel ? 1 : 2;

    if (level > needed)
        snprintf(text, size,
                 "kernel.perf_event_paranoid is %d and forbids it to this user; as root: sysctl "
                 "kernel.perf_event_paranoid=%d, or give the program CAP_PERFMON",
                 level, needed);
    else if (level != INT_MIN)
        snprintf(text, size,
                 "kernel.perf_event_paranoid is %d and would allow it: the container's seccomp "
                 "filter or a security module forbids it; start the container with --cap-add "
                 "PERFMON",
                 level);
    else
        snprintf(text, size,
                 "this user may not count it and kernel.perf_event_paranoid cannot be read; give "
                 "the program CAP_PERFMON");
}

static const char *sentence(int err, bool software)
{
    switch (err) {
    case -ENOENT:
        if (software)
            return "this kernel has no such software event";
        return mt_perf_sys->has_pmu()
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
    case -E2BIG: return "this kernel is older than the perf interface the program was built for";
    case -ENOMEM: return "the kernel is out of memory for it";
    case -EIO: return "a pinned event lost its counter to another one";
    case -ENODATA:
        return "it never got a counter while it was enabled; ask for fewer events at once (the NMI "
               "watchdog keeps one: sysctl kernel.nmi_watchdog=0)";
    case -ECANCELED: return "the run ended before its measured phase";
    default: return strerrordesc_np(-err);
    }
}

void mt_perf_explain(int err, bool software, bool with_kernel, char *text, size_t size)
{
    const char *name = strerrorname_np(-err), *forced = mt_perf_forced_pmu();
    const char *body = NULL;
    char rights[224];

    if (err == -EACCES || err == -EPERM)
        explain_rights(with_kernel, rights, sizeof(rights));
    else
        body = sentence(err, software);
    snprintf(text, size, "%s: %s%s%s%s", name ? name : "unknown error",
             err == -EACCES || err == -EPERM ? rights
             : body                          ? body
                                             : "the kernel says no more",
             forced && err == -ENOENT && !software ? " (LIBPFM_FORCE_PMU=" : "",
             forced && err == -ENOENT && !software ? forced : "",
             forced && err == -ENOENT && !software ? " is set)" : "");
}
