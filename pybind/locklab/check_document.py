# SPDX-License-Identifier: MIT
"""From what the model checker found to its document (schema ``locklab.check/1``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from locklab import contract
from locklab.environment import identity, moment

if TYPE_CHECKING:
    from locklab import _core

Document = dict[str, Any]

_COUNTS = ("executions", "blocked", "redundant", "preliminary")
_PLACE = ("file", "line", "function", "expression")


def build(
    config: dict[str, Any], raw: _core.CheckResult, started_ns: int, load: list[float] | None
) -> Document:
    """The document of a check or a replay that has ended.

    Parameters
    ----------
    config
        Every argument, as it was judged.
    raw
        ``_core.Check.result()``.
    started_ns, load
        CLOCK_REALTIME and load average at the start.
    """
    faults = [_fault(config["lock"], found) for found in raw["faults"]]
    notes = [_fault(config["lock"], found) for found in raw["notes"]]
    for note in notes:
        del note["schedule"], note["trace"]
    seconds = raw["seconds"]
    return {
        "schema": contract.CHECK,
        "verdict": raw["verdict"],
        "reason": raw["reason"] if raw["verdict"] in contract.REASONED else None,
        "config": config,
        "environment": {"identity": identity(), "observed": moment(started_ns, load)},
        "n": raw["n"],
        "exhaustive": raw["exhaustive"],
        "bound": _bound(raw),
        **{name: cast("dict[str, Any]", raw)[name] for name in _COUNTS},
        "executions_per_s": raw["executions"] / seconds if seconds > 0 else None,
        "seconds": seconds,
        "interrupted": raw["interrupted"],
        "waits": raw["waits"],
        "memory_bytes": raw["memory_bytes"],
        "fault": {name: faults[0][name] for name in contract.FAULT} if faults else None,
        "faults": faults,
        "notes": notes,
        "waits_blocked": [
            _place(site) | {"times": site["blocked"]} for site in raw["sites"] if site["blocked"]
        ],
        "not_executed": [_place(site) for site in raw["sites"] if not site["executed"]],
    }


def _bound(raw: _core.CheckResult) -> Document | None:
    """What limited the exploration; None: nothing did."""
    bound = {
        "preemptions": raw["bound"] if raw["bound"] >= 0 else None,
        "giveups": None if raw["giveups"] < 0 else raw["giveups"],
        "operations": raw["operations"] or None,
    }
    return bound if any(limit is not None for limit in bound.values()) else None


def _fault(lock: str, raw: _core.CheckFault) -> Document:
    return {
        "kind": raw["kind"],
        "role": raw["role"] or None,
        "lock": lock,
        "threads": raw["threads"],
        "n": raw["n"],
        "writers": raw["writers"] if raw["role"] else None,
        "orders": raw["orders"] or None,
        "text": raw["text"],
        "preemptions": raw["preemptions"],
        "execution": raw["execution"],
        "seconds": raw["seconds"],
        "schedule": raw["schedule"] or None,
        "trace": [_step(step) for step in raw["trace"]],
    }


def _step(raw: _core.CheckStep) -> Document:
    """A value that points at something has that name instead: the address means nothing later."""
    step: Document = dict(raw)
    for side in ("old", "new"):
        step[f"{side}_name"] = step[f"{side}_name"] or None
        if step[f"{side}_name"]:
            step[f"{side}_value"] = None
    return step


def _place(site: _core.CheckSite) -> Document:
    return {name: cast("dict[str, Any]", site)[name] for name in _PLACE}
