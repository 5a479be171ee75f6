# SPDX-License-Identifier: MIT
"""Which of the published claims about these mutexes does this machine bear out?

Question     Six claims, H1 to H6, made on machines of up to 80 cores. Which halves of them can be
             seen on this one, and do they hold?
Expectation  The directions, not the sizes: the look before the exchange saves RMWs (H1) and time in
             the slow path (H2); a queue of spinners helps under high load (H3) and costs where
             queues are short (H4), and more wait in it than poll (H5); spinning past sleepers is
             faster and less even (H6). Mutex changes of 2013, adaptive spinning discussion of 2009.
Method       Workloads aim7-high_systime, aim7-fserver, aim7-short, dbench-50, creates-4k; rounds
             interleave all. Where a claim needs many cores in several cache domains and this
             machine has not got them, it is not testable here, and counters say what they can.
             Confirmed: the 95% interval of the ratio lies wholly on the claimed side; about equal:
             wholly within 10%.
Output       JSON `locklab.hypotheses/1` with every result document, a figure, a verdict a claim.
Time         About 2 minutes on 2 CPUs; `--quick` under 10 s.
"""

import os
from collections.abc import Sequence
from typing import Any

from _frame import Cell, Document, each, events, figures, main, measure, pick, rate, ratios, told
from locklab.stats import median_interval

BASE, LOOKS, QUEUES = "mutex/3.7", "mutex/count-check", "mutex/mcs"
GATE, NOWAIT = "mutex/v10", "mutex/v10-nowait"
EQUAL = 0.1
MANY_CORES, DOMAINS = 16, 2
# load, locks, threads per CPU: one a CPU and a crowd
LOADS: tuple[tuple[str, tuple[str, str], tuple[int, ...]], ...] = (
    ("aim7-high_systime", (BASE, LOOKS), (1, 4)),
    ("aim7-fserver", (LOOKS, QUEUES), (1, 4)),
    ("aim7-short", (LOOKS, QUEUES), (1, 4)),
    ("dbench-50", (GATE, NOWAIT), (25,)),
    ("creates-4k", (GATE, NOWAIT), (4,)),
)
CONFIRMED, NOT_CONFIRMED, NOT_TESTABLE = "confirmed", "not confirmed", "not testable here"


def run(quick: bool) -> Document:
    """Measure; the document, which holds all that is drawn and said."""
    cpus = len(os.sched_getaffinity(0))
    runs = [
        {"workload": load, "threads": max(2, cpus * k), "lock": lock}
        for load, locks, per_cpu in LOADS
        for k in per_cpu
        for lock in locks
    ]
    rounds, seconds = (1, 0.06) if quick else (9, 0.4)
    cells = measure(runs, rounds, seconds=seconds, warmup_s=seconds / 8)
    return {"cpus": cpus, "cells": cells}


# --- figures ------------------------------------------------------------------------------------


def rmws(cell: Cell) -> float:
    """On the mutex's counter, per acquisition."""
    return each(cell, "count_rmw")


def slow(cell: Cell) -> float:
    """Share of the acquisitions that went by the list of sleepers."""
    return each(cell, "queued")


def queue(cell: Cell) -> float:
    """Spinners in the queue for each that polls."""
    polling = events(cell, "spin_owner_ns")
    return events(cell, "spin_queued_ns") / polling if polling else 0.0


def wins(cell: Cell) -> float:
    """Spinners that got the mutex, per acquisition."""
    return each(cell, "spin_win")


def unevenness(cell: Cell) -> float:
    """Coefficient of variation of the threads' acquisitions."""
    return float(cell["fairness"]["cov"] or 0.0)


# --- verdicts -----------------------------------------------------------------------------------


def above(samples: Sequence[float], limit: float = 1.0) -> str:
    found = median_interval(samples)
    return CONFIRMED if found and found[0] > limit else NOT_CONFIRMED


def below(samples: Sequence[float], limit: float = 1.0) -> str:
    found = median_interval(samples)
    return CONFIRMED if found and found[1] < limit else NOT_CONFIRMED


def equal(samples: Sequence[float]) -> str:
    found = median_interval(samples)
    near = found and found[0] >= 1 - EQUAL and found[1] <= 1 + EQUAL
    return CONFIRMED if near else NOT_CONFIRMED


def conclude(document: Document) -> list[str]:
    """A verdict for each half of each claim, with its figures."""
    topology = document["cells"][0]["environment"]["identity"]["topology"]
    many = topology["cores"] >= MANY_CORES and topology["l3_groups"] >= DOMAINS
    here = f"{topology['cores']} cores, {topology['l3_groups']} last-level cache(s)"
    said: list[str] = []

    def pair(load: str, per_cpu: int) -> tuple[list[Cell], list[Cell]]:
        locks = next(locks for name, locks, _ in LOADS if name == load)
        n = max(2, per_cpu * document["cpus"])
        a, b = (pick(document, workload=load, threads=n, lock=lock) for lock in locks)
        return a, b

    def say(claim: str, text: str, verdict: str, evidence: str) -> None:
        said.append(f"{claim}: {text}: {verdict}. {evidence}")

    def on_many(verdict: str) -> str:
        return verdict if many else f"{NOT_TESTABLE} ({here})"

    alone, crowd = pair("aim7-high_systime", 1), pair("aim7-high_systime", 4)
    light, heavy = ratios(*alone, rate), ratios(*crowd, rate)
    saved = ratios(*crowd, rmws)
    say(
        "H1",
        f"{LOOKS} is much faster than {BASE} on many cores",
        on_many(above(heavy)),
        f"Rate {told(heavy)} times with four threads a CPU.",
    )
    say(
        "H1",
        "no difference at low core counts",
        NOT_TESTABLE if many else equal(light),
        f"Rate {told(light)} times with a thread a CPU.",
    )
    say(
        "H1",
        "it saves RMWs on the counter under contention",
        below(saved),
        f"RMWs per acquisition {told(saved)} times, with four threads a CPU.",
    )
    share = ratios(*crowd, slow)
    say(
        "H2",
        "the share of the slow path falls by an order of magnitude",
        on_many(below(share, 0.1)),
        f"Acquisitions by way of the list {told(share)} times.",
    )
    light, heavy = (ratios(*pair("aim7-fserver", k), rate) for k in (1, 4))
    say(
        "H3",
        f"{QUEUES} is faster than {LOOKS} at high load on many cores",
        on_many(above(heavy)),
        f"Rate {told(heavy)} times with four threads a CPU.",
    )
    say(
        "H3",
        "about equal at light load",
        equal(light),
        f"Rate {told(light)} times with a thread a CPU.",
    )
    short = [ratios(*pair("aim7-short", k), rate) for k in (1, 4)]
    say(
        "H4",
        f"{QUEUES} is slower than {LOOKS} for aim7-short",
        below(short[0]),
        f"Rate {told(short[0])} times with a thread a CPU, {told(short[1])} with four.",
    )
    waiting = figures(pair("aim7-short", 4)[1], queue)
    say(
        "H5",
        "more spinners wait in the queue than poll the owner",
        above(waiting),
        f"Time in the queue over time on the owner {told(waiting)}, four threads a CPU.",
    )
    say("H5", "that grows with the cores", NOT_TESTABLE, "One machine has one number of cores.")
    gate, nowait = pair("dbench-50", 25)
    faster, spun = ratios(gate, nowait, rate), ratios(gate, nowait, wins)
    say(
        "H6",
        f"{NOWAIT} is much faster than {GATE} for dbench-50",
        above(faster),
        f"Rate {told(faster)} times; spinners that win {told(spun)} times as often.",
    )
    spread = ratios(*pair("creates-4k", 4), unevenness)
    say(
        "H6",
        "it serves the threads of creates-4k less evenly",
        above(spread),
        f"Coefficient of variation of the threads' shares {told(spread)} times.",
    )
    return said


def plot(document: Document, axes: Any) -> None:
    """The ratio of rates of each load, and of RMWs on the counter."""
    for ax, figure, label in (
        (axes[0], rate, "rate, second lock / first"),
        (axes[1], rmws, "RMWs per acquisition, second lock / first"),
    ):
        names, samples = [], []
        for load, locks, per_cpu in LOADS:
            for k in per_cpu:
                n = max(2, k * document["cpus"])
                a, b = (pick(document, workload=load, threads=n, lock=lock) for lock in locks)
                names.append(f"{load} x{n}\n{locks[1].split('/')[1]} / {locks[0].split('/')[1]}")
                samples.append(ratios(a, b, figure))
        at = range(len(names))
        for x, found in zip(at, samples, strict=True):
            ax.scatter([x] * len(found), found, s=12, alpha=0.5)
        ax.axhline(1, linewidth=0.8, color="gray")
        ax.set(ylabel=label, yscale="log")
        ax.set_xticks(list(at), names, rotation=60, ha="right", fontsize="x-small")


if __name__ == "__main__":
    main("hypotheses", __doc__, run, plot, conclude)
