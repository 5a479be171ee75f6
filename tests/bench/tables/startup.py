# SPDX-License-Identifier: MIT
"""What a run takes besides its measured seconds, and what importing the package takes."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter

from common import Effort, Outcome, Progress, Target
from figures import judge_at_most, median, median_interval, spread

import locklab

TITLE = "Start-up, in ms"
COLUMNS = ["what", ">median", ">95% interval", ">limit", "verdict"]
RUN_MS, IMPORT_MS = 20.0, 60.0
MEASURED_S = 0.05


def run_overhead_ms() -> float:
    start = perf_counter()
    found = locklab.run("spin/ticket", seconds=MEASURED_S, warmup_s=0)
    return 1e3 * (perf_counter() - start - found["total"]["seconds"])


def interpreter_ms(statement: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, timeout=60)
    return 1e3 * (perf_counter() - start)


def add(outcome: Outcome, what: str, samples: list[float], limit: float | None) -> None:
    interval = median_interval(samples)
    target: Target | None = None
    if limit is not None:
        target = judge_at_most(what, median(samples), interval, limit, f"<= {limit:g} ms")
        outcome.targets.append(target)
    outcome.figures.append({"what": what, "median_ms": median(samples), "interval": interval})
    outcome.samples[what] = samples
    outcome.rows.append(
        [
            what,
            f"{median(samples):.1f}",
            spread(interval, "{:.1f}".format),
            "" if limit is None else f"{limit:g}",
            target.verdict if target else "for information",
        ]
    )


def measure(effort: Effort, progress: Progress) -> Outcome:
    outcome = Outcome("startup", TITLE, COLUMNS)
    runs, imports = effort.count(40, 8), effort.count(40, 8)
    locklab.run("spin/ticket", seconds=0.01, warmup_s=0)  # calibrates the clock, once a process
    overhead, empty, net = [], [], []
    for i in range(runs):
        progress.step(i, runs + imports)
        overhead.append(run_overhead_ms())
    for i in range(imports):
        progress.step(runs + i, runs + imports)
        order = ["pass", "import locklab"]
        took = {s: interpreter_ms(s) for s in (order if i % 2 else order[::-1])}
        empty.append(took["pass"])
        net.append(took["import locklab"] - took["pass"])
    add(outcome, "locklab.run beyond its measured seconds", overhead, RUN_MS)
    add(outcome, "import locklab, net of an empty interpreter", net, IMPORT_MS)
    add(outcome, "an empty interpreter", empty, None)
    outcome.notes.append(
        f"{runs} runs of {MEASURED_S:g} s without warm-up, after one that calibrated the clock; "
        f"{imports} fresh interpreters with and without the import, in turn"
    )
    return outcome
