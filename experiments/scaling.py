# SPDX-License-Identifier: MIT
"""How do locks scale with the threads that want them?

Question     Throughput and hand-off time of every spin lock and host lock against threads: which
             lock keeps its rate, which collapses, and from which number of threads on?
Expectation  All threads spin on one word under tas, ttas and ticket, so a hand-off costs more with
             each thread; under mcs and clh each waits on its own, so it does not (Mellor-Crummey
             and Scott 1991, doi:10.1145/103727.103729). With more threads than CPUs the locks that
             serve in order stop for a time slice whenever the next one is not running.
Method       Workload critical-section at its defaults; rounds interleave all locks and all numbers
             of threads, every second one backwards. Medians over the rounds, every sample drawn;
             fastest and slowest lock by `locklab.compare` (bootstrap interval, Mann-Whitney).
Output       JSON `locklab.scaling/1` with every result document, a figure, the conclusion in words.
Time         About 7 minutes on 2 CPUs; `--quick` under 10 s.
"""

import os
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import locklab
from _frame import Document, main


@dataclass(frozen=True)
class Plan:
    """What is run; the same plan asks the same question on any machine."""

    families: tuple[str, ...] = ("spin", "host")
    threads_per_cpu: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)  # 0: one thread
    rounds: int = 9
    seconds: float = 0.5
    warmup_s: float = 0.05
    seed: int = 1

    def threads(self, cpus: int) -> list[int]:
        """The numbers of threads on a machine of so many CPUs, ascending."""
        return sorted({max(1, round(share * cpus)) for share in self.threads_per_cpu})


PLAN = Plan()
QUICK = replace(PLAN, threads_per_cpu=(0.0, 1.0), rounds=1, seconds=0.08, warmup_s=0.01)


def run(plan: Plan) -> Document:
    """Measure; the document, which holds all that :func:`plot` and :func:`conclude` need."""
    locks = [lock["id"] for lock in locklab.locks() if lock["family"] in plan.families]
    threads = plan.threads(len(os.sched_getaffinity(0)))
    parts: dict[tuple[str, int], list[locklab.Result]] = {}
    for number in range(plan.rounds):
        cells = [(lock, n) for lock in locks for n in threads]
        for lock, n in cells if number % 2 == 0 else reversed(cells):
            result = locklab.run(
                lock,
                threads=n,
                seconds=plan.seconds,
                warmup_s=plan.warmup_s,
                seed=plan.seed + number,
                watchdog_s=30,
            )
            parts.setdefault((lock, n), []).append(result)
    cells = [locklab.merge(results).to_dict() for results in parts.values()]
    return {"plan": asdict(plan), "threads": threads, "cells": cells}


def rates(cell: dict[str, Any]) -> list[float]:
    """The rate of each round, per second."""
    return [repeat["rate_per_s"] for repeat in cell["repeats"]]


def by_lock(document: dict[str, Any]) -> dict[str, dict[int, dict[str, Any]]]:
    """The cells of a document by lock and number of threads."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for cell in document["cells"]:
        found.setdefault(cell["config"]["lock"], {})[cell["config"]["threads"]] = cell
    return found


def conclude(document: Document) -> list[str]:
    """What the figures say, a sentence each."""
    locks = by_lock(document)
    excluding = {k: v for k, v in locks.items() if not any(c["overlap"] for c in v.values())}
    cpus = document["cells"][0]["environment"]["identity"]["topology"]["cpus"]
    said = []
    for n in document["threads"]:
        rate = {lock: median(rates(cells[n])) for lock, cells in excluding.items()}
        best, worst = max(rate, key=lambda k: rate[k]), min(rate, key=lambda k: rate[k])
        found = locklab.compare(*(locklab.Result(excluding[lock][n]) for lock in (worst, best)))
        sure = "95% interval {:.3g} to {:.3g}".format(*found.interval or (0, 0))
        said.append(
            f"{n} thread{'s' * (n > 1)}: {best} is fastest ({rate[best]:.4g}/s), {worst} slowest; "
            f"ratio {found.ratio or float('inf'):.3g}, {sure if found.interval else found.verdict}."
        )
        fell = [k for k in rate if n > cpus and rate[k] < 0.1 * median(rates(excluding[k][cpus]))]
        if n > cpus:
            left = f"less than a tenth is left of {', '.join(fell)}" if fell else "none collapses"
            said.append(f"{n} threads on {cpus} CPUs: {left}.")
    return said


def plot(document: Document, axes: Any) -> None:
    """Rate and hand-off against threads."""
    left, right = axes
    for i, (lock, cells) in enumerate(by_lock(document).items()):
        style = {"linestyle": ("-", "--", ":", "-.")[i // 10 % 4], "marker": "os^vDP*X"[i % 8]}
        threads = sorted(cells)
        left.plot(threads, [median(rates(cells[n])) for n in threads], label=lock, **style)
        samples = [(n, x) for n in threads for x in rates(cells[n])]
        left.scatter(*zip(*samples, strict=True), s=4, alpha=0.4, color=left.lines[-1].get_color())
        handed = [n for n in threads if (cells[n]["handoff_ns"] or {}).get("p50") is not None]
        right.plot(handed, [cells[n]["handoff_ns"]["p50"] for n in handed], label=lock, **style)
    left.set(xlabel="threads", ylabel="acquisitions per second, median", yscale="log")
    right.set(xlabel="threads", ylabel="hand-off, median (ns)", yscale="log")
    left.legend(fontsize="x-small", ncols=2)
    for ax in axes:
        ax.set(xticks=document["threads"])


if __name__ == "__main__":
    main("scaling", __doc__, lambda quick: run(QUICK if quick else PLAN), plot, conclude)
