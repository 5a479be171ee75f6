# SPDX-License-Identifier: MIT
"""What does the look before the exchange save a mutex?

Question     mutex/count-check is mutex/3.7 but for a look at the counter before each exchange and
             compare-exchange, which are skipped where they cannot succeed. How many RMWs for each
             acquisition does that save, and does it show in the rate?
Expectation  Far fewer RMWs under contention, the same without; a higher rate only on many cores in
             several cache domains, none on few (mutex changes of Linux 3.10, 2013).
Method       Workload aim7-high_systime, threads from one a CPU to eight; rounds interleave both
             locks. RMWs on the counter are counted by the lock, failed ones included. Ratios are
             taken round by round; medians with 95% intervals by order statistics.
Output       JSON `locklab.mutex_rmw/1` with every result document, a figure, conclusions.
Time         About 1 minute on 2 CPUs; `--quick` under 10 s.
"""

import os
from typing import Any

from _frame import (
    Document,
    each,
    figures,
    lines,
    main,
    measure,
    pick,
    rate,
    ratios,
    told,
    verdict,
)

LOCKS = ("mutex/3.7", "mutex/count-check")
PER_CPU = (0.5, 1, 2, 4, 8)


def run(quick: bool) -> Document:
    """Measure; the document, which holds all that is drawn and said."""
    cpus = len(os.sched_getaffinity(0))
    threads = sorted({max(1, round(cpus * k)) for k in ((0.5, 2) if quick else PER_CPU)})
    runs = [{"lock": lock, "threads": n} for n in threads for lock in LOCKS]
    rounds, seconds = (1, 0.1) if quick else (9, 0.5)
    cells = measure(
        runs, rounds, workload="aim7-high_systime", seconds=seconds, warmup_s=seconds / 10
    )
    return {"threads": threads, "locks": LOCKS, "cells": cells}


def rmws(cell: Document) -> float:
    """On the counter, for each acquisition; releases included."""
    return each(cell, "count_rmw")


def skipped(cell: Document) -> float:
    """Share of the attempts that the look spared, in percent."""
    spared = each(cell, "xchg_skipped", "cas_skipped")
    tried = each(cell, "xchg_issued", "cas_issued")
    return 100 * spared / (spared + tried) if spared + tried else 0.0


def conclude(document: Document) -> list[str]:
    """What the figures say, a sentence each."""
    said = []
    for n in document["threads"]:
        before, after = (pick(document, lock=lock, threads=n) for lock in document["locks"])
        fewer = ratios(before, after, rmws)
        faster = ratios(before, after, rate)
        said.append(
            f"{n} thread{'s' * (n > 1)}: {told(figures(after, rmws))} RMWs on the counter for each "
            f"acquisition with the look, {told(figures(before, rmws))} without; ratio "
            f"{told(fewer)}: {verdict(fewer, 'more', 'fewer', 'no difference to be seen')}. It "
            f"spares {told(figures(after, skipped))} % of the attempts."
        )
        said.append(
            f"{n} thread{'s' * (n > 1)}: rate with / without the look {told(faster)}: "
            f"{verdict(faster, 'faster', 'slower', 'no difference to be seen')}."
        )
    return said


def plot(document: Document, axes: Any) -> None:
    """RMWs and rate against threads."""
    for ax, figure, label in (
        (axes[0], rmws, "RMWs on the counter per acquisition"),
        (axes[1], rate, "acquisitions per second"),
    ):
        lines(
            ax,
            {
                lock: {
                    n: figures(pick(document, lock=lock, threads=n), figure)
                    for n in document["threads"]
                }
                for lock in document["locks"]
            },
        )
        ax.set(xlabel="threads", ylabel=label, xticks=document["threads"])


if __name__ == "__main__":
    main("mutex_rmw", __doc__, run, plot, conclude)
