# SPDX-License-Identifier: MIT
"""What there is to run: the catalogue made from the descriptors of the C core.

Every list is new at each call, so that the caller may change it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from locklab import _core

Entry = dict[str, Any]


def locks() -> list[Entry]:
    """All locks of this build, sorted by id.

    Returns
    -------
    list of dict
        ``id`` (``"spin/mcs"``), ``name``, ``family``, ``kind`` (``exclusive`` or ``shared``),
        ``summary``, ``origin`` (doi or URL), ``engines`` (list), ``claims`` (list: what it
        promises; ``broken`` means that it does not exclude, on purpose), ``lock_size`` and
        ``node_size`` (bytes), ``has_try``, ``has_until`` (timed and cancellable waits),
        ``lock_fields`` and ``node_fields`` (list of ``name``, ``offset``, ``size`` in bytes),
        ``params`` (list), ``expect`` (dict: client of the checker to the verdict it must give,
        ``"none-found"`` or kinds of fault with commas between them; a client that is not there
        must give none-found), ``expect_with`` (list of
        ``client``, ``verdict``, ``setting``: the same where a parameter is not at its default).

    Source: the descriptor at the end of each lock's file.
    """
    return cast("list[Entry]", _core.locks())


def workloads() -> list[Entry]:
    """All workloads: ``id``, ``summary``, ``origin`` and ``params``, sorted by id."""
    return cast("list[Entry]", _core.workloads())


def clients() -> list[Entry]:
    """The clients of the model checker, which say what the threads do with a lock, sorted by id.

    Returns
    -------
    list of dict
        ``id``, ``summary``, ``kind`` (``exclusive``, or ``shared`` if it needs a lock with that
        mode), ``needs_try`` and ``needs_until`` (whether the lock must offer try_acquire, or
        timed and cancellable waits) and ``ends_early`` (a thread ends where it would have to
        wait: for comparing counts, no judge of what waits).

    Source: the descriptor at the end of each client's file.
    """
    return cast("list[Entry]", _core.clients())


def machines() -> list[Entry]:
    """The machine models of the simulator; empty until the simulator comes."""
    return []


def events() -> list[Entry]:
    """The counters of a result's ``events``: ``name``, ``unit`` and ``help``, in report order."""
    return cast("list[Entry]", _core.events())


CATALOGUE: dict[str, Callable[[], list[Entry]]] = {
    "locks": locks,
    "workloads": workloads,
    "machines": machines,
}


def document(*parts: str) -> Entry:
    """The catalogue as ``locklab list --json`` prints it (schema ``locklab.list/1``).

    Parameters
    ----------
    parts
        ``"locks"``, ``"workloads"``, ``"machines"``; all of them if none is named.
    """
    return {"schema": "locklab.list/1"} | {part: CATALOGUE[part]() for part in parts or CATALOGUE}


def lock_of(lock_id: str) -> Entry | None:
    """The catalogue's entry for a lock, or None if this build has none of that id."""
    return next((entry for entry in locks() if entry["id"] == lock_id), None)


def workload_of(workload_id: str) -> Entry | None:
    """The catalogue's entry for a workload, or None if this build has none of that id."""
    return next((entry for entry in workloads() if entry["id"] == workload_id), None)


def may_overlap(lock_id: str) -> bool:
    """Whether the lock's descriptor says that it does not exclude."""
    entry = lock_of(lock_id)
    return entry is not None and "broken" in entry["claims"]
