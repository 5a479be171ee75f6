# SPDX-License-Identifier: MIT
"""The runs that a dashboard knows: one running at a time by its own hand, the newest 64 kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from locklab.errors import LocklabError
from locklab.runs import Handle

KEEP = 64


class Busy(Exception):  # noqa: N818 - reads as the state it reports
    """A run is under way; another would disturb it."""


class Runbook:
    """Runs by id (``"1"``, ``"2"``, ... in the order in which they came); safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, Handle] = {}
        self._next = 1

    def add(self, handle: Handle) -> str:
        """Take in a run that somebody else has started."""
        with self._lock:
            return self._add(handle)

    def start(self, make: Callable[[], Handle]) -> tuple[str, Handle]:
        """Start a run with `make`, unless one is under way.

        Raises
        ------
        Busy
            One is; the message names it.
        """
        with self._lock:
            for run_id, handle in self._runs.items():
                if not handle.done:
                    raise Busy(f"run {run_id} is under way; stop it or wait for its end")
            handle = make()
            return self._add(handle), handle

    def _add(self, handle: Handle) -> str:
        run_id = str(self._next)
        self._next += 1
        self._runs[run_id] = handle
        for old in list(self._runs)[:-KEEP]:
            if self._runs[old].done:
                del self._runs[old]
        return run_id

    def get(self, run_id: str) -> Handle | None:
        """The run of an id, or None."""
        with self._lock:
            return self._runs.get(run_id)

    def newest(self) -> tuple[str, Handle] | None:
        """The run that came last."""
        with self._lock:
            return next(reversed(self._runs.items()), None)

    def all(self) -> list[tuple[str, Handle]]:
        """Every run, oldest first."""
        with self._lock:
            return list(self._runs.items())

    def stop(self) -> None:
        """Stop what still runs and wait for it."""
        for _, handle in self.all():
            if not handle.done:
                handle.stop()
        for _, handle in self.all():
            handle.wait()


def finished(handle: Handle) -> dict[str, Any]:
    """The document of a run that has ended, hung and failed ones included."""
    try:
        return handle.result().to_dict()
    except LocklabError as error:
        result = getattr(error, "result", None)
        if result is None:
            raise
        document: dict[str, Any] = result.to_dict()
        return document


def row(run_id: str, handle: Handle) -> dict[str, Any]:
    """The run's entry in a list of runs."""
    entry: dict[str, Any] = {
        "id": run_id,
        "status": "running",
        "lock": handle.plan.lock,
        "workload": handle.plan.workload,
        "threads": handle.plan.threads,
        "rate_per_s": None,
    }
    if handle.done:
        document = finished(handle)
        failure = document.get("failure")
        entry["status"] = failure["kind"] if failure else document["status"]
        entry["rate_per_s"] = document["total"]["rate_per_s"]
    return entry
