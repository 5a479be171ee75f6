# SPDX-License-Identifier: MIT
"""How many spinners does the queue in front of a mutex keep away from its word?

Question     mutex/mcs and mutex/osq let one spinner at a time poll the owner, the others stand in a
             queue, each on its own word. How much of the spinning is spent in the queue, and what
             does the queue do to the rate, against mutex/count-check, which has none?
Expectation  Time in the queue over time on the owner is the mean number of queued spinners for each
             polling one: above 1 and growing with the cores (4.3 was published for 80). More
             threads than CPUs: who loses its CPU in mcs's queue holds up all behind; osq lets go.
Method       Workload aim7-short, threads from one a CPU to eight; rounds interleave the locks. The
             times are stamped where a spinner joins the queue, comes to its head, and leaves.
Output       JSON `locklab.mutex_queue/1` with every result document, a figure, conclusions.
Time         About 1 minute on 2 CPUs; `--quick` under 10 s.
"""

import os
from typing import Any

from _frame import (
    Document,
    each,
    events,
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

QUEUED = ("mutex/mcs", "mutex/osq")
BASE = "mutex/count-check"
PER_CPU = (1, 2, 4, 8)


def run(quick: bool) -> Document:
    """Measure; the document, which holds all that is drawn and said."""
    cpus = len(os.sched_getaffinity(0))
    threads = sorted({max(2, round(cpus * k)) for k in ((1, 2) if quick else PER_CPU)})
    runs = [{"lock": lock, "threads": n} for n in threads for lock in (BASE, *QUEUED)]
    rounds, seconds = (1, 0.1) if quick else (9, 0.5)
    cells = measure(runs, rounds, workload="aim7-short", seconds=seconds, warmup_s=seconds / 10)
    return {"threads": threads, "cpus": cpus, "cells": cells}


def queued(cell: Document) -> float:
    """Time in the queue over time on the owner."""
    on_owner = events(cell, "spin_owner_ns")
    return events(cell, "spin_queued_ns") / on_owner if on_owner else 0.0


def lost(cell: Document) -> float:
    """CPUs lost in the queue, in a million acquisitions."""
    return 1e6 * each(cell, "preempted_while_queued")


def conclude(document: Document) -> list[str]:
    """What the figures say, a sentence each."""
    said = []
    for n in document["threads"]:
        base = pick(document, lock=BASE, threads=n)
        for lock in QUEUED:
            cells = pick(document, lock=lock, threads=n)
            faster = ratios(base, cells, rate)
            said.append(
                f"{n} threads on {document['cpus']} CPUs, {lock}: {told(figures(cells, queued))} "
                f"in the queue for each that polls; in a million acquisitions a CPU is lost there "
                f"{told(figures(cells, lost))} times. Rate / that of {BASE} {told(faster)}: "
                f"{verdict(faster, 'faster', 'slower', 'no difference to be seen')}."
            )
    first, last = document["threads"][0], document["threads"][-1]
    ends = (figures(pick(document, lock=QUEUED[0], threads=n), queued) for n in (first, last))
    few, many = ends
    said.append(
        f"The queue of {QUEUED[0]} has {told(few)} at {first} threads and {told(many)} at {last}. "
        f"More than {last - 1} cannot stand there: beyond, the time is that of a head without a "
        f"CPU. How the queue grows with cores, {document['cpus']} of them cannot show."
    )
    return said


def plot(document: Document, axes: Any) -> None:
    """Queued spinners and rate against threads."""
    for ax, figure, locks, label in (
        (axes[0], queued, QUEUED, "time in the queue / time on the owner"),
        (axes[1], rate, (BASE, *QUEUED), "acquisitions per second"),
    ):
        lines(
            ax,
            {
                lock: {
                    n: figures(pick(document, lock=lock, threads=n), figure)
                    for n in document["threads"]
                }
                for lock in locks
            },
        )
        ax.set(xlabel="threads", ylabel=label, xticks=document["threads"])
    axes[0].set_yscale("symlog", linthresh=0.01)


if __name__ == "__main__":
    main("mutex_queue", __doc__, run, plot, conclude)
