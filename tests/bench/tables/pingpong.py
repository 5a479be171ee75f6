# SPDX-License-Identifier: MIT
"""The hand-off of a ticket lock against an independent program that passes a word to and fro."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import programs
from common import HERE, Effort, Outcome, Progress, Target, UnmeasurableError
from figures import median, median_interval, percent, spread

import locklab
from locklab import _core

TITLE = "Ping-pong cross-check: spin/ticket, 2 threads, section_ns=0 think_ns=0 lines=0"
COLUMNS = ["figure", ">ns", "against half a round trip", ">ns ", ">deviation", ">95% interval", ""]
LIMIT = 0.15
SAME_REGIME = 1.25  # readings within one block may differ by this factor
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
    """The lower of two readings: one that was disturbed is too long, never too short."""
    return min(_core.regime(cpus[0], cpus[1]) for _ in range(2))


def output(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise UnmeasurableError(f"{words[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def passes(program: Path, cpus: list[int]) -> Block:
    """Half the round trips of the independent program, without the time the word was held."""
    words = [str(program), str(cpus[0]), str(cpus[1]), str(ROUNDS)]
    at_once, held, hold = map(float, output(words).split())
    return {"at_once_ns": at_once / 2, "held_ns": held / 2 - hold, "hold_ns": hold}


def turns(first: int) -> Block:
    """The same of the lock."""
    found: Block = json.loads(output([sys.executable, str(HERE / "turns.py"), str(first)]))
    return found


def one_block(program: Path, cpus: list[int], number: int) -> Block:
    """Program and lock, or lock and program, the regime before, between and after."""
    block: Block = {"regime_ns": [regime(cpus)]}
    pieces = [lambda: passes(program, cpus), lambda: turns(number // 2 % 2)]
    for piece in pieces if number % 2 == 0 else pieces[::-1]:
        block |= piece()
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
    for number in range(wanted):
        progress.step(number, wanted)
        try:
            block = one_block(program, cpus, number)
        except locklab.RunTimeout:  # of the regime
            block = {}
        if "handoff_ns" in block and "bare_ns" in block:
            blocks.append(block)
        else:
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
