# SPDX-License-Identifier: MIT
"""The hand-off of a ticket lock against an independent program that passes a word to and fro."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import programs
from common import Effort, Outcome, Progress, Target, UnmeasurableError
from figures import median, median_interval, percent, spread

import locklab
from locklab import _core

TITLE = "Ping-pong cross-check: spin/ticket, 2 threads, section_ns=0 think_ns=0 lines=0"
COLUMNS = ["figure", ">ns", "against half a round trip", ">ns ", ">deviation", ">95% interval", ""]
EMPTY = {"section_ns": 0, "think_ns": 0, "lines": 0}
LIMIT = 0.15
SAME_REGIME = 1.25  # readings within one block may differ by this factor
PATIENCE_S = 1.0  # a block in which a thread gets no CPU is dropped and counted
ROUNDS = 2000  # of one batch of the program

WHY = (
    "A word that is returned at once costs one line transfer, since the CPU asks for the line to "
    "write it while its poll still reads it; once it was held for 10 ns it costs two. The bare "
    "build's empty section compares with the former, a section between two clock readings with "
    "the latter"
)

Block = dict[str, Any]
Row = tuple[str, str, str, str]  # what, its key, against what, its key


def regime(cpus: list[int]) -> float:
    return _core.regime(cpus[0], cpus[1])


def passes(program: Path, cpus: list[int]) -> Block:
    """Half the round trips of the independent program, without the time the word was held."""
    words = [str(program), str(cpus[0]), str(cpus[1]), str(ROUNDS)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise UnmeasurableError(done.stderr.strip() or f"{program.name}: exit {done.returncode}")
    at_once, held, hold = map(float, done.stdout.split())
    return {"at_once_ns": at_once / 2, "held_ns": held / 2 - hold, "hold_ns": hold}


def run(**options: Any) -> locklab.Result:
    return locklab.run("spin/ticket", params=EMPTY, watchdog_s=PATIENCE_S, **options)


def turn_ns(found: locklab.Result) -> float | None:
    """Time per acquisition; None if there was none, because the waiters never had their CPUs."""
    rate = found["total"]["rate_per_s"]
    return 1e9 / rate if rate else None


def bare() -> Block:
    found = run(seconds=0.06, warmup_s=0.01, build="bare")
    return {"bare_ns": turn_ns(found)}


def instrumented() -> Block:
    found = run(seconds=0.12, warmup_s=0.02)
    return {
        "instrumented_ns": turn_ns(found),
        "handoff_ns": found["handoff_ns"]["mean"],
        "handoff_p50_ns": found["handoff_ns"]["p50"],
        "handoff_count": found["handoff_ns"]["count"],
        "lock_hold_ns": found["hold_ns"]["mean"],
    }


def one_block(program: Path, cpus: list[int], turn: int) -> Block:
    """All three in turn, each time beginning with another, the regime between any two."""
    pieces = [lambda: passes(program, cpus), bare, instrumented]
    block: Block = {"regime_ns": [regime(cpus)]}
    for i in range(len(pieces)):
        block |= pieces[(turn + i) % len(pieces)]()
        block["regime_ns"].append(regime(cpus))
    return block


def add(
    outcome: Outcome, blocks: list[Block], row: tuple[str, str, str, str], target: bool
) -> None:
    """One row: the median over blocks of the ratio within a block."""
    what, ours, against, theirs = row
    ratios = [b[ours] / b[theirs] for b in blocks]
    interval = median_interval(ratios)
    deviation = median(ratios) - 1
    figure = {
        "figure": ours,
        "ns": median([b[ours] for b in blocks]),
        "against": theirs,
        "their_ns": median([b[theirs] for b in blocks]),
        "deviation": deviation,
        "interval": interval and [interval[0] - 1, interval[1] - 1],
        "blocks": len(ratios),
    }
    outcome.figures.append(figure)
    verdict = "for information"
    if target:
        made = Target(
            f"{what} against half the ping-pong ({against})",
            median(ratios),
            interval,
            "within 15%",
            abs(deviation) <= LIMIT,
            WHY if theirs == "at_once_ns" and ours == "handoff_ns" else "",
        )
        outcome.targets.append(made)
        verdict = made.verdict
    shown = spread(interval and (interval[0] - 1, interval[1] - 1), percent)
    columns = [what, f"{figure['ns']:.1f}", against, f"{figure['their_ns']:.1f}"]
    outcome.rows.append([*columns, percent(deviation), shown, verdict])


def measure(effort: Effort, progress: Progress) -> Outcome:
    cpus = list(dict.fromkeys(_core.place("compact", 2)))
    if len(cpus) < 2:
        raise UnmeasurableError("needs two CPUs")
    outcome = Outcome("pingpong", TITLE, COLUMNS)
    program = programs.pingpong()
    wanted = effort.count(60, 3)
    blocks: list[Block] = []
    lost = 0
    for turn in range(wanted):
        progress.step(turn, wanted)
        try:
            blocks.append(one_block(program, cpus, turn))
        except locklab.RunTimeout:
            lost += 1
    same = [b for b in blocks if max(b["regime_ns"]) < SAME_REGIME * min(b["regime_ns"])]
    steady = [b for b in same if None not in b.values()]
    dropped = (
        f"in {len(blocks) - len(same)} the regime changed, in {lost} a thread got no CPU, "
        f"{len(same) - len(steady)} had no hand-off"
    )
    if not steady:
        raise UnmeasurableError(f"no block of {wanted} is of use: {dropped}")
    add(outcome, steady, ("seconds / acquisition, bare", "bare_ns", "at once", "at_once_ns"), True)
    add(outcome, steady, ("handoff_ns.mean", "handoff_ns", "at once", "at_once_ns"), True)
    add(outcome, steady, ("handoff_ns.mean", "handoff_ns", "held", "held_ns"), True)
    add(outcome, steady, ("handoff_ns.p50", "handoff_p50_ns", "held", "held_ns"), False)
    sums = [b | {"turn_ns": b["handoff_ns"] + b["lock_hold_ns"]} for b in steady]
    add(
        outcome,
        sums,
        ("hand-off + hold", "turn_ns", "(ours) seconds / acquisition, full", "instrumented_ns"),
        False,
    )
    outcome.notes += [
        f"{len(steady)} blocks; dropped: {dropped}",
        "at once: the players return the word in the turn in which they see it; held: they read "
        "their clock twice before, and the time between is taken off. " + WHY,
    ]
    outcome.samples = {"blocks": blocks}
    return outcome
