# SPDX-License-Identifier: MIT
"""One block of the ping-pong table: spin/ticket with nothing to do, bare and instrumented.

A process of its own, so that the lock lies on another line of memory each time: which slice of the
last cache is home to the line decides how long it takes from CPU to CPU. Its argument says which
of the two goes first (0 bare, 1 instrumented). Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from statistics import median
from typing import Any

import locklab

EMPTY = {"section_ns": 0, "think_ns": 0, "lines": 0}
PATIENCE_S = 1.0  # without progress; the block is lost then

Block = dict[str, float | None]


def run(**options: Any) -> locklab.Result:
    return locklab.run("spin/ticket", params=EMPTY, watchdog_s=PATIENCE_S, **options)


def middle(values: list[float | None]) -> float | None:
    """The median of what was measured; None if nothing was: the waiters never had their CPUs."""
    found = [value for value in values if value is not None]
    return median(found) if found else None


def bare() -> Block:
    """Many short repeats: the other program takes the median of such pieces as well."""
    repeats = run(seconds=0.005, warmup_s=0.002, repeat=15, build="bare")["repeats"]
    turns = [1e9 / r["rate_per_s"] if r["rate_per_s"] else None for r in repeats]
    return {"bare_ns": middle(turns)}


def instrumented() -> Block:
    """Some runs, each long enough for a few of the windows in which hand-offs are logged."""
    runs = [run(seconds=0.03, warmup_s=0.01) for _ in range(5)]
    rates = [found["total"]["rate_per_s"] for found in runs]
    return {
        "instrumented_ns": middle([1e9 / rate if rate else None for rate in rates]),
        "handoff_ns": middle([found["handoff_ns"]["mean"] for found in runs]),
        "handoff_p50_ns": middle([found["handoff_ns"]["p50"] for found in runs]),
        "handoff_count": sum(found["handoff_ns"]["count"] for found in runs),
        "lock_hold_ns": middle([found["hold_ns"]["mean"] for found in runs]),
    }


def main() -> None:
    order = [instrumented, bare] if sys.argv[1:] == ["1"] else [bare, instrumented]
    block: Block = {}
    try:
        for piece in order:
            block |= piece()
    except locklab.RunTimeout:
        block = {}
    print(json.dumps(block))


if __name__ == "__main__":
    main()
