/* SPDX-License-Identifier: MIT */
/* perf_switch.h - is another thread on a CPU now? By the context-switch records of the kernel.
 *
 * Each thread maps a ring in which the kernel notes when it takes the CPU away from that thread and
 * when it gives it back. The ring is written backwards, so the newest record always lies at
 * `data_head`: whoever asks reads two words, nothing is consumed and nothing can be full. A switch of
 * the thread costs it about 2 us more.
 */
#pragma once

#include "include/locklab.h"

struct mt_switch_ring {
    void *pages; /* NULL: none */
    size_t size;
};

/* Opens the ring of the calling thread: 0 or -errno. */
int mt_switch_open(struct mt_switch_ring *ring);
/* Any thread, once nobody asks any more. */
void mt_switch_close(struct mt_switch_ring *ring);

/* By the newest record of a ring (its pages): is the thread on a CPU? Without any record it is, since
 * it was when it opened the ring. How a thread ends is not recorded. */
bool mt_switch_on_cpu(const void *pages);

/* -ENOTSUP for a ring of thread number `thread` of the run (0: of any) that could not be opened. */
int mt_switch_refused(int error, uint32_t thread, struct ll_error *err);
/* 0, or -ENOTSUP with the errno and its reason: rings cannot be had here. */
int mt_switch_probe(struct ll_error *err);
