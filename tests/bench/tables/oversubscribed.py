# SPDX-License-Identifier: MIT
"""More threads than CPUs: what is left of each mutex's rate, and how fast all are back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from common import Effort, Interval, Outcome, Progress, Target, UnmeasurableError
from figures import judge_at_least, ratio_interval, spread
from others import Others

import locklab
from locklab import _core

TITLE = "Mutexes on 2 CPUs, default section, coop, budget of 100 us: medians over repetitions"
COLUMNS = [
    "lock",
    ">threads",
    ">kept",
    ">rate M/s",
    ">/ 1 thread",
    ">/ 2 threads",
    ">/ pthread",
    ">idle",
    ">spins/1000",
    ">queued lost",
    ">back ms",
    "verdict",
]
FAMILIAR = "host/pthread-mutex"
THREADS = (1, 2, 4, 16)
CROWDS = (4, 16)
OF_ONE, OF_FAMILIAR = 0.85, 0.55
OF_TWO = {
    "mutex/appspin": 0.75,
    "mutex/v10-nowait": 0.60,
    "mutex/3.7": 0.60,
    "mutex/count-check": 0.60,
}
FREE = ("mutex/nospin", "mutex/v9", "mutex/v10", *OF_TWO)  # no queue of spinners
MCS, OSQ = "mutex/mcs", "mutex/osq"
YIELDING = "mutex/mcs mcs_yield=100"
OF_ONE_YIELDING = 0.75
BACK_S = 0.1
FOREIGN = 0.04  # share of the CPUs in other hands above which a repetition is discarded
LEAST = 7  # repetitions kept
Cell = tuple[str, int]


@dataclass
class Samples:
    """The repetitions of one lock with so many threads that were kept."""

    rate: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    spins: list[float] = field(default_factory=list)  # per 1000 acquisitions
    queued: list[int] = field(default_factory=list)  # lost their CPU in a queue
    back_s: list[float] = field(default_factory=list)  # from the end to the last thread's end

    def add(self, found: locklab.Result) -> None:
        events, acquisitions = found["events"], found.acquisitions
        self.rate.append(found.rate_per_s or 0.0)
        self.idle.append(found["derived"]["idle_share"] or 0.0)
        self.spins.append(1000 * (events["spin_enter"] or 0) / max(acquisitions, 1))
        self.queued.append(events["preempted_while_queued"] or 0)
        self.back_s.append(found["drain_s"])


def cells() -> Iterator[Cell]:
    for lock in (FAMILIAR, *FREE, MCS, OSQ):
        for threads in THREADS:
            yield lock, threads
    yield YIELDING, 1
    yield YIELDING, 16


def arguments(cell: Cell) -> dict[str, Any]:
    lock, _, setting = cell[0].partition(" ")
    cpus = sorted(set(_core.place("compact", 2)))
    return {
        "lock": lock,
        "threads": cell[1],
        "place": "cpus:" + ",".join(map(str, cpus)),
        "params": dict([setting.split("=")]) if setting else None,
    }


def repetition(cell: Cell, seconds: float) -> tuple[locklab.Result, float]:
    """The result, and the share of the CPUs that others had meanwhile."""
    others = Others()
    found = locklab.run(**arguments(cell), seconds=seconds, warmup_s=0.05, watchdog_s=5)
    return found, others.share() or 0.0


def stopped(seconds: float) -> float | None:
    """How long after a stop the last of 16 threads of mutex/mcs was back; None: disturbed."""
    others = Others()
    with locklab.start(**arguments((MCS, 16)), seconds=60, warmup_s=0) as handle:
        handle.wait(seconds)
        handle.stop()
        back: float = handle.result()["drain_s"]
    return back if (others.share() or 0.0) <= FOREIGN else None


def ratio(samples: dict[Cell, Samples], a: Cell, b: Cell) -> tuple[float, Interval | None] | None:
    """Rate of `b` over that of `a`, and its interval; None if either has no sample."""
    x, y = samples[a].rate, samples[b].rate
    if not x or not y or not median(x):
        return None
    enough = min(len(x), len(y)) >= LEAST
    return median(y) / median(x), ratio_interval(x, y) if enough else None


def judge(samples: dict[Cell, Samples], cell: Cell, base: Cell, limit: float, of: str) -> Target:
    what = f"{cell[0]}, {cell[1]} threads on 2 CPUs, of {of}"
    shown = f">= {limit:g}"
    found = ratio(samples, base, cell)
    if found is None:
        return Target(what, None, None, shown, None, "no repetition was undisturbed")
    short = f"fewer than {LEAST} undisturbed repetitions"
    return judge_at_least(what, *found, limit, shown, short if found[1] is None else "")


def targets(samples: dict[Cell, Samples]) -> dict[Cell, list[Target]]:
    found: dict[Cell, list[Target]] = {}
    for crowd in CROWDS:
        for lock in FREE:
            cell = (lock, crowd)
            found[cell] = [judge(samples, cell, (lock, 1), OF_ONE, "its one-thread rate")]
            if lock in OF_TWO:
                limit = OF_TWO[lock]
                found[cell].append(judge(samples, cell, (lock, 2), limit, "its 2-thread rate"))
            found[cell].append(judge(samples, cell, (FAMILIAR, crowd), OF_FAMILIAR, FAMILIAR))
    found[MCS, 4] = [judge(samples, (MCS, 4), (MCS, 1), OF_ONE, "its one-thread rate")]
    yielding = (YIELDING, 16)
    found[yielding] = [
        judge(samples, yielding, (YIELDING, 1), OF_ONE_YIELDING, "its one-thread rate")
    ]
    queued = samples[MCS, 16].queued
    found[MCS, 16] = [
        Target(
            "mutex/mcs, 16 threads: some lost their CPU in the queue (preempted_while_queued)",
            float(sum(queued)) if queued else None,
            None,
            "> 0",
            sum(queued) > 0 if queued else None,
        )
    ]
    return found


def all_back(samples: dict[Cell, Samples], stops: list[float]) -> Target:
    ends = [s for each in samples.values() for s in each.back_s] + stops
    what = "seconds from the end, or a stop, until all threads are back, slowest of all"
    shown = f"<= {BACK_S:g}"
    if not stops or not samples[MCS, 16].back_s:
        return Target(what, None, None, shown, None, "no repetition was undisturbed")
    return Target(what, max(ends), None, shown, max(ends) <= BACK_S)


def row(samples: dict[Cell, Samples], cell: Cell, judged: list[Target]) -> list[str]:
    here, (lock, threads) = samples[cell], cell
    shown = []
    for base in ((lock, 1), (lock, 2), (FAMILIAR, threads)):
        found = ratio(samples, base, cell) if base in samples and base != cell else None
        shown.append(f"{found[0]:.2f} {spread(found[1], lambda x: f'{x:.2f}')}" if found else "-")
    verdicts = [t.verdict for t in judged]
    worst = next((v for v in ("NOT MET", "not measured") if v in verdicts), "met")
    return [
        lock,
        str(threads),
        str(len(here.rate)),
        f"{median(here.rate) / 1e6:.2f}" if here.rate else "-",
        *shown,
        f"{median(here.idle):.0%}" if here.idle else "-",
        f"{median(here.spins):.2f}" if here.spins else "-",
        str(sum(here.queued)),
        f"{1e3 * max(here.back_s):.0f}" if here.back_s else "-",
        worst if judged else "for information",
    ]


def measure(effort: Effort, progress: Progress) -> Outcome:
    if len(set(_core.place("compact", 2))) < 2:
        raise UnmeasurableError("it needs 2 CPUs")
    outcome = Outcome("oversubscribed", TITLE, COLUMNS)
    samples = {cell: Samples() for cell in cells()}
    wanted, seconds = effort.count(9, 1), effort.seconds(0.4, 0.05)
    most = 3 * wanted  # on a busy machine more repetitions are tried, but not for ever
    done = discarded = 0
    for number in range(most):
        open_cells = [c for c in samples if len(samples[c].rate) < wanted]
        for cell in open_cells if number % 2 == 0 else reversed(open_cells):
            progress.step(sum(len(s.rate) for s in samples.values()), wanted * len(samples))
            found, foreign = repetition(cell, seconds)
            done += 1
            if foreign > FOREIGN:
                discarded += 1
            else:
                samples[cell].add(found)
    tried = [stopped(0.2 + 0.013 * k) for k in range(effort.count(20, 2))]
    stops = [back for back in tried if back is not None]
    judged = targets(samples)
    outcome.rows = [row(samples, cell, judged.get(cell, [])) for cell in samples]
    outcome.targets = [t for found in judged.values() for t in found] + [all_back(samples, stops)]
    outcome.figures = [
        {"lock": lock, "threads": threads, "rate_per_s": median(s.rate) if s.rate else None}
        for (lock, threads), s in samples.items()
    ]
    outcome.notes.append(
        f"{discarded} of {done} repetitions discarded: others had more than {FOREIGN:.0%} of the "
        "CPUs. nospin is bimodal with 2 threads and the gate of v9 and v10 leaves one runner, so "
        "these have no bound against their 2-thread rate: see idle and spins"
    )
    if stops:
        outcome.notes.append(
            f"{len(stops)} undisturbed stops of mutex/mcs with 16 threads: all back after "
            f"{1e3 * median(stops):.0f} ms in the median, {1e3 * max(stops):.0f} ms at most"
        )
    outcome.samples = {f"{lock} x {n}": vars(s) for (lock, n), s in samples.items()}
    outcome.samples["stops_s"] = stops
    return outcome
