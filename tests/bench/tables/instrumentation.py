# SPDX-License-Identifier: MIT
"""What our instrumentation costs: the bare and the instrumented build in interleaved blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from common import Effort, Outcome, Progress
from figures import judge_at_most, median, median_interval, percent, spread

import locklab
from locklab import _core

TITLE = "Cost of the instrumentation: bare / instrumented - 1, blocks of 2 ms in the order A B B A"
COLUMNS = [
    "load",
    "metrics",
    "lock",
    ">pairs",
    ">bare ns/acq",
    ">cost",
    ">95% interval",
    ">added ns",
    "verdict",
]
LOCKS = ("spin/tas", "spin/ttas", "spin/ticket", "spin/mcs", "spin/clh")
LIMITS = {"events": 0.03, "full": 0.10}
EMPTY = {"section_ns": 0, "think_ns": 0, "lines": 0}
PATIENCE_S = 1.0  # a run in which a thread gets no CPU is dropped and counted
PART_S = 0.5  # of one run's blocks: 125 pairs
DEFAULT, ALONE = "default, 2 threads", "default, 1 thread"
LONGER, EMPTY_LOOP = "think 700, 2 threads", "empty loop, 2 threads"
PARAMS = {LONGER: {"think_ns": 700}, EMPTY_LOOP: EMPTY}


@dataclass
class Pairs:
    """Rates per second of the blocks of one lock under one load."""

    bare: list[float] = field(default_factory=list)
    instrumented: list[float] = field(default_factory=list)
    regimes: list[list[float | None]] = field(default_factory=list)

    def add(self, found: locklab.Result) -> None:
        blocks = found["overhead"]
        for bare, instrumented in zip(blocks["bare"], blocks["instrumented"], strict=True):
            if bare > 0 and instrumented > 0:  # else a thread never had its CPU in a block
                self.bare.append(bare)
                self.instrumented.append(instrumented)
        self.regimes += [repeat["regime_ns"] for repeat in found["repeats"]]

    @property
    def costs(self) -> list[float]:
        return [b / i - 1 for b, i in zip(self.bare, self.instrumented, strict=True)]

    @property
    def added_ns(self) -> list[float]:
        """Per acquisition, over all threads."""
        return [1e9 / i - 1e9 / b for b, i in zip(self.bare, self.instrumented, strict=True)]


def run(lock: str, metrics: str, load: str, seconds: float) -> locklab.Result:
    return locklab.run(
        lock,
        threads=1 if load == ALONE else 2,
        seconds=seconds,
        warmup_s=0.02,
        params=PARAMS.get(load),
        metrics=metrics,
        overhead=True,
        watchdog_s=PATIENCE_S,
    )


def pooled(all_pairs: list[Pairs]) -> Pairs:
    return Pairs(
        [x for p in all_pairs for x in p.bare], [x for p in all_pairs for x in p.instrumented]
    )


def add(outcome: Outcome, load: str, metrics: str, lock: str, pairs: Pairs) -> None:
    costs = pairs.costs
    interval = median_interval(costs)
    verdict = "for information"
    if load == DEFAULT:
        limit = LIMITS[metrics]
        target = judge_at_most(
            f"{metrics}, {lock}, default section", median(costs), interval, limit, f"<= {limit:.0%}"
        )
        outcome.targets.append(target)
        verdict = target.verdict
    figure: dict[str, Any] = {
        "load": load,
        "metrics": metrics,
        "lock": lock,
        "pairs": len(costs),
        "cost": median(costs),
        "interval": interval,
        "bare_ns": 1e9 / median(pairs.bare),
        "added_ns": median(pairs.added_ns),
        "added_ns_interval": median_interval(pairs.added_ns),
    }
    outcome.figures.append(figure)
    outcome.rows.append(
        [
            load,
            metrics,
            lock,
            str(len(costs)),
            f"{figure['bare_ns']:.0f}",
            percent(figure["cost"]),
            spread(interval, percent),
            f"{figure['added_ns']:+.1f}",
            verdict,
        ]
    )


def measure(effort: Effort, progress: Progress) -> Outcome:
    outcome = Outcome("instrumentation", TITLE, COLUMNS)
    two = len(set(_core.place("compact", 2))) == 2
    parts = effort.count(5, 1)
    # the shares of one part: most of the time goes into the load that has targets
    shares = {DEFAULT: 1.0, LONGER: 0.2, ALONE: 0.2, EMPTY_LOOP: 0.2} if two else {ALONE: 0.2}
    found = {(load, m, lock): Pairs() for load in shares for m in LIMITS for lock in LOCKS}
    done = lost = 0
    for part in range(parts):
        for load, metrics, lock in list(found)[:: 1 if part % 2 else -1]:
            progress.step(done, parts * len(found))
            done += 1
            seconds = max(0.02, min(1.0, effort.share * 4) * PART_S * shares[load])
            try:
                found[load, metrics, lock].add(run(lock, metrics, load, seconds))
            except locklab.RunTimeout:
                lost += 1
    for load in shares:
        for metrics in LIMITS:
            of_locks = {lock: found[load, metrics, lock] for lock in LOCKS}
            for lock, pairs in of_locks.items():
                if pairs.bare:
                    add(outcome, load, metrics, lock, pairs)
            if load == DEFAULT:
                add(outcome, load, metrics, "all of these", pooled(list(of_locks.values())))
    if not two:
        outcome.notes.append("one CPU: nothing contends, so the targets cannot be measured")
    outcome.notes.append(
        "The median over pairs and its interval by order statistics. 'added' is per acquisition "
        "of either thread; with one thread it is what the instructions themselves cost. Section "
        "and thinking have fixed lengths, so two threads can fall into a step in which one always "
        "arrives just when the other releases; there a few ns more cost much, "
        "and another think_ns shows what they cost elsewhere"
    )
    if lost:
        outcome.notes.append(f"{lost} of {done} runs dropped: the kernel left a thread without CPU")
    outcome.samples = {
        " | ".join(key): {
            "bare_rate_per_s": pairs.bare,
            "instrumented_rate_per_s": pairs.instrumented,
            "regime_ns": pairs.regimes,
        }
        for key, pairs in found.items()
    }
    return outcome
