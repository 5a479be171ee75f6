# SPDX-License-Identifier: MIT
"""What a benchmark table is made of, and how much work goes into it."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # for support.py, the tests' own

Interval = tuple[float, float]


class UnmeasurableError(Exception):
    """A table cannot be had here; the text says why."""


@dataclass(frozen=True)
class Target:
    """A figure that the design promises, and what was measured."""

    what: str
    value: float | None
    interval: Interval | None
    limit: str  # as the reader sees it: "<= 1.0"
    met: bool | None  # None: not measured
    note: str = ""

    @property
    def verdict(self) -> str:
        return {True: "met", False: "NOT MET", None: "not measured"}[self.met]


@dataclass
class Outcome:
    """One table: text for people, figures and all raw samples for programs."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    samples: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)  # set by the runner

    def to_dict(self, samples: bool) -> dict[str, Any]:
        found = asdict(self)
        found["targets"] = [asdict(t) | {"verdict": t.verdict} for t in self.targets]
        return found if samples else {k: v for k, v in found.items() if k != "samples"}


@dataclass(frozen=True)
class Effort:
    """How much is measured: 1 is the default, `--quick` about an eighth of it."""

    share: float = 1.0

    def count(self, full: int, least: int) -> int:
        """So many of what the default takes `full` of."""
        return max(least, round(full * self.share))

    def seconds(self, full: float, least: float) -> float:
        """A duration, likewise."""
        return max(least, full * self.share)


class Progress:
    """On stderr: one line that is rewritten on a terminal, else a line at the ends of a table."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._name = ""
        self._start = 0.0

    def table(self, name: str) -> None:
        self._name, self._start = name, time.monotonic()
        if not self._live:
            print(f"bench: {name} ...", file=sys.stderr, flush=True)

    def step(self, done: int, of: int) -> None:
        if self._live:
            print(f"\r\x1b[Kbench: {self._name} {done}/{of}", end="", file=sys.stderr, flush=True)

    def end(self, how: str) -> None:
        took = f"{time.monotonic() - self._start:.0f} s"
        lead = "\r\x1b[K" if self._live else ""
        print(f"{lead}bench: {self._name} {how}, {took}", file=sys.stderr, flush=True)
