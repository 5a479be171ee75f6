# SPDX-License-Identifier: MIT
"""What does it cost a transaction of N locks to be told to back off for exercise?

Question     ww locks can refuse a context without need, so that users who never collide go the way
             of those who do (`inject`). In intervals that grow by 3.5 or by a fixed chance: how
             many calls does a transaction of N locks then make?
Expectation  Growing intervals: at most 7 refusals for N up to 2046, and on average over the sixteen
             places where they can begin at most 2.72 N calls. A fixed chance p: the calls grow as
             (1 - p)^-N, so that a transaction of some length never ends.
Method       Workload ww-modeset, one thread, so that every refusal is an injected one; calls are
             counted, both those that end with the lock and those refused. Rounds interleave.
Output       JSON `locklab.ww_injection/1` with every result document, a figure, conclusions.
Time         About 1 minute; `--quick` under 10 s.
"""

from typing import Any

from _frame import Document, events, figures, lines, main, measure, pick, ratios, told
from locklab.stats import median_interval

LOCK = "ww/wait-die"
GROWING = (1, 4, 12, 37, 64, 256, 1024, 2046)
FIXED = {0.1: (1, 4, 8, 16, 32), 0.3: (1, 4, 8, 16)}
MEAN_BOUND, REFUSALS_BOUND = 2.72, 7


def run(quick: bool) -> Document:
    """Measure; the document, which holds all that is drawn and said."""
    growing = (4, 37) if quick else GROWING
    fixed = {0.1: (4, 16)} if quick else FIXED
    runs: list[dict[str, Any]] = [
        {"params": {"locks": n, "inject": inject}} for n in growing for inject in ("off", "backoff")
    ]
    runs += [
        {"params": {"locks": n, "inject": "fixed", "inject_p": p, "inject_cap": 0}}
        for p, lengths in fixed.items()
        for n in lengths
    ]
    for wanted in runs:
        wanted["params"] |= {"section_ns": 0, "think_ns": 0}
    rounds, seconds = (1, 0.1) if quick else (9, 0.2)
    cells = measure(
        runs,
        rounds,
        lock=LOCK,
        workload="ww-modeset",
        threads=1,
        seconds=seconds,
        warmup_s=seconds / 10,
    )
    return {
        "growing": growing,
        "fixed": [{"p": p, "locks": n} for p, n in fixed.items()],
        "cells": cells,
    }


def calls(cell: Document) -> float:
    """Calls of a transaction: those that got the lock, and those refused."""
    made = float(cell["total"]["acquisitions"]) + events(cell, "ww_edeadlk_injected")
    return made / events(cell, "ww_transactions")


def time_ns(cell: Document) -> float:
    """Length of a transaction."""
    return 1e9 * float(cell["total"]["seconds"]) / events(cell, "ww_transactions")


def expected(p: float, n: int) -> float:
    """Calls of a transaction of n locks, each refused with chance p but the first one held."""
    a = (1 - p) ** -(n - 1)
    return a + (a - 1) / p


def conclude(document: Document) -> list[str]:
    """What the figures say, a sentence each."""
    said, worst, refused = [], 0.0, 0
    for n in document["growing"]:
        off, on = (pick(document, locks=n, inject=inject) for inject in ("off", "backoff"))
        share = [x / n for x in figures(on, calls)]
        high = (median_interval(share) or (0.0, max(share, default=0.0)))[1]
        worst = max(worst, high)
        refused = max(refused, *(cell["transactions"]["restarts"]["max"] or 0 for cell in on))
        said.append(
            f"{n} lock{'s' * (n > 1)}, growing intervals: {told(share, 4)} N calls; the "
            f"transaction takes {told(ratios(off, on, time_ns))} times as long as without."
        )
    held = "held" if worst <= MEAN_BOUND and refused <= REFUSALS_BOUND else "broken"
    said.append(
        f"At most {worst:.3g} N calls on average (bound {MEAN_BOUND}) and {refused} refusals of "
        f"one transaction (bound {REFUSALS_BOUND}): the bounds are {held}."
    )
    for group in document["fixed"]:
        for n in group["locks"]:
            cells = pick(document, locks=n, inject="fixed", inject_p=group["p"])
            said.append(
                f"{n} lock{'s' * (n > 1)}, chance {group['p']}: {told(figures(cells, calls), 4)} "
                f"calls, {expected(group['p'], n):.4g} expected; growing intervals need at most "
                f"{MEAN_BOUND * n:.3g}."
            )
    return said


def plot(document: Document, axes: Any) -> None:
    """Calls against the length of the transaction, and what they cost in time."""
    points = {
        f"inject={inject}": {n: pick(document, locks=n, inject=inject) for n in document["growing"]}
        for inject in ("off", "backoff")
    }
    for group in document["fixed"]:
        points[f"chance {group['p']}"] = {
            n: pick(document, locks=n, inject="fixed", inject_p=group["p"]) for n in group["locks"]
        }
    for ax, figure, label in (
        (axes[0], calls, "calls of a transaction"),
        (axes[1], time_ns, "length of a transaction (ns)"),
    ):
        lines(ax, {k: {n: figures(c, figure) for n, c in row.items()} for k, row in points.items()})
        ax.set(xlabel="locks", ylabel=label, xscale="log", yscale="log")
    longest = max(document["growing"])
    axes[0].plot([1, longest], [MEAN_BOUND, MEAN_BOUND * longest], ":", color="grey", label="bound")


if __name__ == "__main__":
    main("ww_injection", __doc__, run, plot, conclude)
