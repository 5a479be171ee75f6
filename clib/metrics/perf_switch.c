/* SPDX-License-Identifier: MIT */
/* perf_switch.c - opening rings of context-switch records, and reading the newest of them. */
#define _GNU_SOURCE
#include "metrics/perf_switch.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"
#include "engine/own.h"
#include "metrics/perf_sys.h"

static int open_event(void)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
        .sample_id_all = 1, /* records of 32 bytes: none wraps at the end of a page */
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .context_switch = 1,
        .write_backward = 1,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX, /* nobody sleeps on it */
    };
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

int mt_switch_open(struct mt_switch_ring *ring)
{
    int fd = open_event();

    if (fd < 0)
        return fd;
    ring->size = 2 * (size_t)sysconf(_SC_PAGESIZE);
    /* read-only, so the kernel overwrites what is old */
    ring->pages = mmap(NULL, ring->size, PROT_READ, MAP_SHARED, fd, 0);
    if (ring->pages == MAP_FAILED) {
        int ret = -errno;
        *ring = (struct mt_switch_ring){NULL, 0};
        close(fd);
        return ret;
    }
    close(fd); /* the mapping keeps the event alive, and a run has no files to spare */
    return 0;
}

void mt_switch_close(struct mt_switch_ring *ring)
{
    if (ring->pages)
        munmap(ring->pages, ring->size);
    *ring = (struct mt_switch_ring){NULL, 0};
}

bool mt_switch_on_cpu(const void *pages)
{
    const struct perf_event_mmap_page *meta = pages;
    const char *data = (const char *)pages + meta->data_offset;
    const uint64_t *head_word = (const uint64_t *)(const void *)&meta->data_head;
    uint64_t head = eng_own_read_acq(head_word), seen, bits;
    struct perf_event_header newest;

    do {
        if (!head)
            return true;
        /* acq: the head again, after the record, which may have been overwritten meanwhile */
        bits = eng_own_read_acq((const void *)(data + (head & (meta->data_size - 1))));
        seen = head;
        head = eng_own_read_acq(head_word);
    } while (head != seen);
    memcpy(&newest, &bits, sizeof(newest));
    /* what else may stand there (a throttle record) says nothing: as before the first */
    return newest.type != PERF_RECORD_SWITCH || !(newest.misc & PERF_RECORD_MISC_SWITCH_OUT);
}

int mt_switch_refused(int error, uint32_t thread, struct ll_error *err)
{
    char why[320], of[32] = "";

    mt_perf_explain(error, true, false, why, sizeof(why));
    if (thread)
        snprintf(of, sizeof(of), " of thread %u", thread);
    return ll_fail(err, -ENOTSUP, "owner_run",
                   "owner_run switch-rec needs the context-switch records%s: %s", of, why);
}

int mt_switch_probe(struct ll_error *err)
{
    struct mt_switch_ring ring = {NULL, 0};
    int ret = mt_switch_open(&ring);

    mt_switch_close(&ring);
    return ret ? mt_switch_refused(ret, 0, err) : 0;
}
