# SPDX-License-Identifier: MIT
"""How fast the model checker is, and that its numbers of executions are the known ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from common import Effort, Outcome, Progress, Target
from figures import judge_at_least, judge_at_most, median, median_interval, spread

import locklab
from locklab import _core

TITLE = "Model checker: complete executions per second"
COLUMNS = ["lock", "strategy", "memory", ">median", ">95% interval", ">limit", "verdict"]
REPEATS = 15
RANDOM = 300_000  # executions of one sample

# Complete executions of the same locks under GenMC and Nidhugg: one for each trace.
KNOWN = (
    ("spin/ticket", "mutex", {(3, 1): 6, (4, 1): 24, (3, 2): 90, (3, 3): 1680, (4, 2): 2520}),
    ("spin/mcs", "mutex", {(2, 1): 6, (3, 1): 66, (4, 1): 1080, (3, 2): 17670, (5, 1): 23640}),
    ("spin/ttas", "mutex-once", {(3, 1): 36, (4, 1): 576, (3, 2): 7134}),
)


@dataclass(frozen=True)
class Case:
    """One program and one way of exploring it."""

    n: int
    strategy: Literal["dfs", "pct", "random"]
    memory: Literal["sc", "tso"]
    at_least: float | None  # executions per second
    races: bool = True  # happens-before of plain fields is judged

    @property
    def how(self) -> str:
        return self.strategy if self.races else f"{self.strategy}, races not judged"

    @property
    def what(self) -> str:
        return f"spin/mcs 3x{self.n}, {self.how}, {self.memory}"

    def run(self) -> _core.CheckResult:
        plan: _core.CheckPlan = {
            "lock": "spin/mcs",
            "threads": 3,
            "n": self.n,
            "strategy": self.strategy,
            "memory": self.memory,
            "races": self.races,
            "seconds": 100,
        }
        if self.strategy != "dfs":
            plan["budget"] = RANDOM
        handle = _core.check_start(plan)
        while not handle.wait(1.0):
            pass
        return handle.result()


EXHAUSTED = Case(2, "dfs", "sc", 2e5)
CASES = (
    Case(1, "random", "sc", 2e6),
    Case(1, "pct", "sc", 2e6),
    Case(1, "random", "tso", None),
    Case(1, "pct", "tso", None),
    Case(1, "random", "sc", None, races=False),
    Case(1, "pct", "sc", None, races=False),
    Case(1, "random", "tso", None, races=False),
    Case(1, "pct", "tso", None, races=False),
    EXHAUSTED,
    Case(2, "dfs", "tso", None),
)
EXHAUSTED_MS = 100.0  # spin/mcs 3x2 with reduction


def rates(outcome: Outcome, effort: Effort, progress: Progress) -> None:
    samples: dict[Case, list[float]] = {case: [] for case in CASES}
    took: list[float] = []
    repeats = effort.count(REPEATS, 6)
    for i in range(repeats):
        progress.step(i, repeats)
        for case in CASES if i % 2 else reversed(CASES):
            result = case.run()
            samples[case].append(result["executions"] / result["seconds"])
            if case == EXHAUSTED:
                took.append(1e3 * result["seconds"])
    for case, found in samples.items():
        interval = median_interval(found)
        target: Target | None = None
        if case.at_least is not None:
            shown = f">= {case.at_least / 1e3:g} k/s"
            target = judge_at_least(case.what, median(found), interval, case.at_least, shown)
            outcome.targets.append(target)
        outcome.samples[case.what] = found
        outcome.figures.append(
            {"what": case.what, "median_per_s": median(found), "interval": interval}
        )
        outcome.rows.append(
            [
                f"spin/mcs 3x{case.n}",
                case.how,
                case.memory,
                f"{median(found) / 1e3:,.0f} k/s",
                spread(interval, lambda v: f"{v / 1e3:,.0f}"),
                target.limit if target else "",
                target.verdict if target else "for information",
            ]
        )
    limit = f"<= {EXHAUSTED_MS:g} ms"
    outcome.samples["spin/mcs 3x2 exhausted, ms"] = took
    target = judge_at_most(
        "spin/mcs 3x2 exhausted, ms", median(took), median_interval(took), EXHAUSTED_MS, limit
    )
    outcome.targets.append(target)
    whole = spread(median_interval(took), "{:.0f}".format)
    row = ["spin/mcs 3x2", "dfs, to its end", "sc", f"{median(took):.0f} ms", whole, limit]
    outcome.rows.append([*row, target.verdict])


def counts(outcome: Outcome) -> None:
    for memory in ("sc", "tso"):
        wrong = []
        for lock, client, known in KNOWN:
            for (threads, n), executions in known.items():
                found = locklab.check(
                    lock,
                    threads=threads,
                    n=n,
                    client=client,
                    memory=memory,
                    strategy="dfs",
                    seconds=100,
                )
                if found.executions != executions:
                    wrong.append(f"{lock} {threads}x{n}: {found.executions} for {executions}")
        of = sum(len(known) for _, _, known in KNOWN)
        what = f"numbers of executions under {memory} equal the known ones"
        outcome.targets.append(
            Target(what, of - len(wrong), None, f"{of} of {of}", not wrong, "; ".join(wrong))
        )
        outcome.rows.append(
            [
                "13 programs",
                "dfs",
                memory,
                f"{of - len(wrong)} counts",
                "-",
                f"{of} of {of}",
                outcome.targets[-1].verdict,
            ]
        )


def measure(effort: Effort, progress: Progress) -> Outcome:
    outcome = Outcome("check", TITLE, COLUMNS)
    counts(outcome)
    rates(outcome, effort, progress)
    outcome.notes.append(
        f"the cases in turn; {RANDOM:,} executions a sample at random and by priority; "
        "executions that ended early do not count"
    )
    return outcome
