# SPDX-License-Identifier: MIT
"""Batching bought with fairness: may a spinner take a mutex while somebody sleeps on it?

Question     mutex/v10 stops all spinning as soon as one thread sleeps on the mutex, v10-nowait does
             not. How much faster does that make it, and who pays?
Expectation  One sleeper is enough to send every later arrival to sleep, so v10 hardly spins and
             leaves CPUs idle; nowait keeps the lock busy, hands it to the running, and sleepers are
             passed over without bound (adaptive spinning discussion of January 2009).
Method       Workloads dbench-50 and critical-section, threads from two a CPU to 25 (50 on 2 CPUs,
             as the original); rounds interleave both locks. Paid for: the longest wait, and how
             often one waiter is passed over (sampled; where one lock gives owners an order).
Output       JSON `locklab.mutex_gate/1` with every result document, a figure, conclusions.
Time         About 1 minute on 2 CPUs; `--quick` under 10 s.
"""

import os
from math import isnan
from typing import Any

from _frame import (
    Document,
    Figure,
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

GATE, NOWAIT = "mutex/v10", "mutex/v10-nowait"
PER_CPU = (2, 8, 25)
NAMES = {GATE: "v10", NOWAIT: "v10-nowait"}


def run(quick: bool) -> Document:
    """Measure; the document, which holds all that is drawn and said."""
    cpus = len(os.sched_getaffinity(0))
    threads = [cpus * k for k in ((2,) if quick else PER_CPU)]
    loads = ("dbench-50", "critical-section")
    runs = [
        {"lock": lock, "threads": n, "workload": load}
        for load in loads
        for n in threads
        for lock in (GATE, NOWAIT)
    ]
    rounds, seconds = (1, 0.1) if quick else (9, 0.5)
    cells = measure(runs, rounds, seconds=seconds, warmup_s=seconds / 10)
    return {"threads": threads, "loads": loads, "cpus": cpus, "cells": cells}


def unused(cell: Document) -> float:
    """Share of the CPUs' time that the run left: idle or taken by others, in percent."""
    cpus = len(set(cell["threads"]["cpu"]))
    used = float(sum(cell["threads"]["cpu_ns"])) / 1e9
    return 100 * max(0.0, 1 - used / (float(cell["total"]["seconds"]) * cpus))


def wins(cell: Document) -> float:
    """Spinners that got the mutex, in a thousand acquisitions."""
    return 1000 * each(cell, "spin_win")


def longest(cell: Document) -> float:
    """The longest wait, in ms."""
    return float(cell["wait_ns"]["max"]) / 1e6


def passed_over(cell: Document) -> float:
    """The most acquisitions by others during one wait; NaN where owners have no order."""
    found = cell.get("bypass") or {}
    if found.get("max") is None:
        return float("nan")
    return float(max(found["max"], cell["handoff_log"].get("bypass_max", 0)))


TOLD = {
    "spins won in a thousand acquisitions": wins,
    "% of the CPUs left": unused,
    "longest wait in ms": longest,
    "most often passed over in one wait": passed_over,
}


def conclude(document: Document) -> list[str]:
    """What the figures say, a sentence each."""
    said = []
    for load in document["loads"]:
        for n in document["threads"]:
            where = f"{load}, {n} threads on {document['cpus']} CPUs"
            gate, nowait = (pick(document, lock=k, threads=n, workload=load) for k in NAMES)
            faster = ratios(gate, nowait, rate)
            passed = [x for x in ratios(gate, nowait, passed_over) if not isnan(x)]
            what = (
                "largest number of times that a waiter is passed over" if passed else "longest wait"
            )
            paid = passed or ratios(gate, nowait, longest)
            said.append(
                f"{where}: rate without / with the gate {told(faster)}: "
                f"{verdict(faster, 'batching pays', 'it costs', 'no difference to be seen')}. The "
                f"{what}, without / with {told(paid)}: "
                f"{verdict(paid, 'sleepers pay for it', 'it shrinks', 'no difference to be seen')}."
            )
            both = [
                f"{label} {told(known(gate, figure))} with the gate, "
                f"{told(known(nowait, figure))} without"
                for label, figure in TOLD.items()
            ]
            said.append(f"{where}: {'; '.join(both)}.")
    return said


def known(cells: list[Document], figure: Figure) -> list[float]:
    """The figure of the rounds that have it."""
    return [x for x in figures(cells, figure) if not isnan(x)]


def plot(document: Document, axes: Any) -> None:
    """Rate and longest wait against threads."""
    for ax, figure, label in (
        (axes[0], rate, "acquisitions per second"),
        (axes[1], longest, "longest wait (ms)"),
    ):
        lines(
            ax,
            {
                f"{name}, {load}": {
                    n: figures(pick(document, lock=lock, threads=n, workload=load), figure)
                    for n in document["threads"]
                }
                for load in document["loads"]
                for lock, name in NAMES.items()
            },
        )
        ax.set(xlabel="threads", ylabel=label, yscale="log", xticks=document["threads"])


if __name__ == "__main__":
    main("mutex_gate", __doc__, run, plot, conclude)
