# SPDX-License-Identifier: MIT
"""What the order validator costs: two nested locks of two classes, uncontended, its chain known."""

from __future__ import annotations

import json
import subprocess

import programs
from common import Effort, Outcome, Progress, UnmeasurableError
from figures import bootstrap_interval, judge_at_most, median, spread

TITLE = "Order validator: two nested locks, uncontended, in ns a turn"
COLUMNS = ["lock", "metrics", ">off", ">on", ">on / off", ">95% interval", "verdict"]
LOCKS = ("mutex/mcs", "mutex/v10", "mutex/nospin", "host/pthread-mutex")
METRICS = ("events", "full")
LIMIT = 2.0

Samples = dict[str, list[float]]  # ns of each block


def measure(effort: Effort, progress: Progress) -> Outcome:
    outcome = Outcome("validator", TITLE, COLUMNS)
    program = programs.validator()
    rounds, blocks = effort.count(15, 2), effort.count(200, 10)
    for i, lock in enumerate(LOCKS):
        samples = []
        for k in range(rounds):
            progress.step(i * rounds + k, len(LOCKS) * rounds)
            samples.append(_run(str(program), lock, blocks, k))
        for metrics in METRICS:
            _row(outcome, lock, metrics, samples)
        outcome.samples[lock] = samples
    outcome.notes.append(
        f"{rounds} processes for each lock, {blocks} interleaved blocks of 4000 turns a process; "
        "per process the ratio of the medians of its blocks, then the median over processes"
    )
    return outcome


def _run(program: str, lock: str, blocks: int, seed: int) -> Samples:
    done = subprocess.run(
        [program, lock, str(blocks), str(seed)], capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise UnmeasurableError(f"{program} {lock} failed with exit code {done.returncode}")
    found: Samples = json.loads(done.stdout)
    return found


def _row(outcome: Outcome, lock: str, metrics: str, samples: list[Samples]) -> None:
    off = [median(s[f"off-{metrics}"]) for s in samples]
    on = [median(s[f"on-{metrics}"]) for s in samples]
    ratios = [b / a for a, b in zip(off, on, strict=True)]
    interval = bootstrap_interval(ratios)
    target = judge_at_most(
        f"{lock}, {metrics}", median(ratios), interval, LIMIT, f"on / off <= {LIMIT}"
    )
    outcome.targets.append(target)
    outcome.figures.append(
        {
            "lock": lock,
            "metrics": metrics,
            "off_ns": median(off),
            "on_ns": median(on),
            "ratio": median(ratios),
            "interval": interval,
        }
    )
    outcome.rows.append(
        [
            lock,
            metrics,
            f"{median(off):.1f}",
            f"{median(on):.1f}",
            f"{median(ratios):.3f}",
            spread(interval, "{:.3f}".format),
            target.verdict,
        ]
    )
