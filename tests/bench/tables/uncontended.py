# SPDX-License-Identifier: MIT
"""Acquire and release by one thread: our bare build against hand-written C11, libck and glibc."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import programs
from common import Effort, Outcome, Progress, UnmeasurableError
from figures import bootstrap_interval, judge_at_most, median, spread

from locklab import _core

TITLE = "Uncontended acquire + release, bare build, in ns a pair"
COLUMNS = [
    "lock",
    "against",
    ">ours",
    ">theirs",
    ">ratio",
    ">95% interval",
    ">net of none",
    ">95% interval ",
    "verdict",
]
# Code of ours and by hand at each offset in a cache line, in different combinations.
LAYOUTS = [(0, 0), (16, 32), (32, 16), (48, 48), (0, 32), (16, 0), (32, 48), (48, 16)]
COUNTERPARTS = {
    "tas": ["host/ck-fas", "host/pthread-spin"],
    "ttas": ["host/pthread-spin"],
    "ttas-backoff": ["host/pthread-spin"],
    "ticket": ["host/ck-ticket"],
    "mcs": ["host/ck-mcs"],
    "clh": ["host/ck-clh"],
}
MUTEX = "host/pthread-mutex"  # what every mutex of ours is measured against
WITH_CONTEXT = 1.5  # times that: the fence of publication is a third locked operation
BASELINE = "spin/none"
PAIRS = 4000  # a block, as uncontended.c has it

Samples = dict[str, list[float]]  # ns of each block, by lock


def run_once(program: Path, blocks: int, seed: int) -> Samples:
    try:
        done = subprocess.run(
            [program, str(blocks), str(seed)], capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        raise UnmeasurableError(f"{program.name} did not end within 120 s") from None
    if done.returncode:
        raise UnmeasurableError(f"{program.name} failed with exit code {done.returncode}")
    found: Samples = json.loads(done.stdout)
    return found


def compare(
    outcome: Outcome, medians: dict[str, list[float]], lock: str, peer: str, most: float = 1.0
) -> None:
    """One row: per process the ratio of the medians of its blocks, over processes the median."""
    ours, theirs, none = medians[lock], medians[peer], medians[BASELINE]
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    interval = bootstrap_interval(ratios)
    step = _core.clock()["step_ns"] / (PAIRS * min(theirs))
    target = judge_at_most(
        f"{lock} against {peer}", median(ratios), interval, most + step, f"ratio <= {most}"
    )
    figure = {
        "lock": lock,
        "against": peer,
        "ns": median(ours),
        "their_ns": median(theirs),
        "ratio": median(ratios),
        "interval": interval,
        "net_ratio": None,
        "net_interval": None,
        "ratios": ratios,
    }
    if lock != BASELINE:
        net = [(a - n) / (b - n) for a, b, n in zip(ours, theirs, none, strict=True) if b > n]
        figure |= {"net_ratio": median(net), "net_interval": bootstrap_interval(net)}
        outcome.targets.append(target)
    outcome.figures.append(figure)
    outcome.rows.append(
        [
            lock,
            peer,
            f"{figure['ns']:.2f}",
            f"{figure['their_ns']:.2f}",
            f"{figure['ratio']:.3f}",
            spread(interval, "{:.3f}".format),
            "-" if lock == BASELINE else f"{figure['net_ratio']:.3f}",
            spread(figure["net_interval"], "{:.3f}".format),
            "baseline" if lock == BASELINE else target.verdict,
        ]
    )


def measure(effort: Effort, progress: Progress) -> Outcome:
    outcome = Outcome("uncontended", TITLE, COLUMNS)
    rounds = effort.count(5, 1)
    layouts = LAYOUTS[: effort.count(len(LAYOUTS), 3)]
    blocks = effort.count(400, 10)
    made = programs.uncontended(layouts)
    samples: list[Samples] = []
    for i in range(rounds * len(made)):
        progress.step(i, rounds * len(made))
        samples.append(run_once(made[i % len(made)], blocks, i))
    medians = {name: [median(s[name]) for s in samples] for name in samples[0]}
    locks = [name for name in medians if name.startswith("spin/")]
    for lock in sorted(locks, key=lambda name: (name != BASELINE, name)):
        bare = lock.removeprefix("spin/")
        peers = [p for p in (f"hand/{bare}", *COUNTERPARTS.get(bare, [])) if p in medians]
        for peer in peers:
            compare(outcome, medians, lock, peer)
        if f"hand/{bare}" not in peers:
            outcome.notes.append(f"{lock} has no counterpart in tests/bench/handwritten.c")
    for lock in sorted(name for name in medians if name.startswith("mutex/")):
        compare(outcome, medians, lock, MUTEX)
    for lock in sorted(name for name in medians if name.startswith("ww/")):
        compare(outcome, medians, lock, MUTEX, WITH_CONTEXT)
    missing = {p for ps in COUNTERPARTS.values() for p in ps} - set(medians)
    if missing:
        outcome.notes.append(f"not in this build (libck): {', '.join(sorted(missing))}")
    outcome.notes.append(
        f"{len(samples)} processes of {len(made)} code layouts, {blocks} blocks of {PAIRS} pairs "
        "for each lock in random order; the interval is that of the median over processes, so it "
        "includes what layout does. A ratio within one step of the clock of 1 (a block is timed in "
        f"steps of {_core.clock()['step_ns']} ns, 0.01% to 0.1% of it) counts as 1"
    )
    outcome.samples = {"processes": samples, "layouts": layouts}
    return outcome
