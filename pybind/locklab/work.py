# SPDX-License-Identifier: MIT
"""What a workload did beside taking the lock under test: groups of locks, jobs, transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from locklab.catalogue import lock_of

if TYPE_CHECKING:
    from locklab import _core
    from locklab.plan import Plan

    Row = dict[str, Any]

TRANSACTIONS = ("backoff_depth", "restarts", "age")
_TIMES = ("wait_ns", "hold_ns", "wait_max_ns")
_LINE_BYTES = 64


def locks(plan: Plan, raw: _core.RunResult) -> list[Row]:
    """A row for each group of locks that the workload has: its part of work and waiting."""
    untold = plan.build == "bare" and len(raw["group"]) > 1
    why = raw["wait_reason"] if raw["wait"] is None else None
    if untold:
        why = "the bare build counts no groups of locks"
    rows = []
    for group in cast("list[Row]", raw["group"]):
        row = {name: group[name] for name in ("name", "lock", "count", "counted")}
        row["acquisitions"] = None if untold else group["acquisitions"]
        row |= {k: None if why else group[k] for k in _TIMES}
        rows.append(row | ({"reason": why} if why else {}))
    return with_shares(rows)


def with_shares(rows: list[Row]) -> list[Row]:
    """The rows with each group's part of all waiting."""
    waited = sum(row["wait_ns"] or 0 for row in rows)
    for row in rows:
        known = row["wait_ns"] is not None and waited
        row["wait_share"] = row["wait_ns"] / waited if known else None
        if not known:
            row.setdefault("reason", "nobody waited")
    return rows


def pooled_locks(parts: list[list[Row]]) -> list[Row]:
    """The groups of several results of one configuration as one."""
    rows = []
    for same in zip(*parts, strict=True):
        row = {name: same[0][name] for name in ("name", "lock", "count", "counted")}
        for name in ("acquisitions", *_TIMES):
            values = [part[name] for part in same]
            best = max if name == "wait_max_ns" else sum
            row[name] = None if None in values else best(values)
        if row["wait_ns"] is None:
            row["reason"] = next(part["reason"] for part in same if "reason" in part)
        rows.append(row)
    return with_shares(rows)


def fields(groups: list[_core.Group]) -> list[Row]:
    """The words of the locks and their nodes, in the order of the groups."""
    why = "real threads tell misses by field only through address sampling, not in this release"
    rows = []
    for group in groups:
        entry = lock_of(group["lock"])
        prefix = "" if len(groups) == 1 else f"{group['name']} "
        for owner, name in ("lock", group["name"]), ("node", f"{prefix}node"):
            for field in entry[f"{owner}_fields"] if entry else ():
                figures = dict.fromkeys(("site", "reads", "writes", "misses", "miss_cycles"))
                rows.append(
                    {
                        "object": name,
                        "field": field["name"],
                        "offset": field["offset"],
                        "line": field["offset"] // _LINE_BYTES,
                        **figures,
                        "source": "native",
                        "reason": why,
                    }
                )
    return rows


def jobs(count: int | None, seconds: float) -> Row | None:
    """Units of the workload's own work and their rate; None if it has none."""
    if not count:
        return None
    return {"count": count, "per_min": 60 * count / seconds if seconds else None}


def no_jobs(bare: bool) -> str:
    """Why `jobs` is null."""
    return "the bare build counts no jobs" if bare else "the workload completed no job of its own"


def no_transactions(bare: bool) -> str:
    """Why `transactions` is null."""
    return "the bare build counts none" if bare else "no lock of the run takes contexts"
