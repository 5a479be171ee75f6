# SPDX-License-Identifier: MIT
"""Figures that follow from others of the document: shares and ratios of its counts."""

from __future__ import annotations

from typing import Any


def derived(document: dict[str, Any]) -> dict[str, Any]:
    """The document's `derived`, from its `total`, `threads` and `events`."""
    reasons: dict[str, str] = {}
    found = {
        "idle_share": _idle_share(document, reasons),
        "rmw_per_acquisition": _rmw(document, reasons),
        "acquisitions_per_handoff": _per_handoff(document, reasons),
        "queue_over_owner": _queue_over_owner(document, reasons),
    }
    return found | ({"reasons": reasons} if reasons else {})


def _idle_share(d: dict[str, Any], reasons: dict[str, str]) -> float | None:
    """What the CPUs of the run did not spend on its threads: idle, or with others."""
    seconds, used = d["total"]["seconds"], d["threads"].get("cpu_ns")
    if used is None or not seconds:
        reasons["idle_share"] = "no CPU time was measured"
        return None
    cpus = len(set(d["threads"]["cpu"]))
    # CPU time is read when a thread leaves its loop, a moment after the phase has ended
    return float(max(0.0, 1 - sum(used) / (1e9 * seconds * cpus)))


def _rmw(d: dict[str, Any], reasons: dict[str, str]) -> float | None:
    issued, acquisitions = d["events"].get("count_rmw"), d["total"]["acquisitions"]
    if not issued or not acquisitions:
        reasons["rmw_per_acquisition"] = "nothing counted the RMWs on the lock's counter"
        return None
    return float(issued / acquisitions)


def _per_handoff(d: dict[str, Any], reasons: dict[str, str]) -> float | None:
    pairs, passed = d.get("handoff_log", {}).get("pairs"), d.get("handoff_ns")
    if pairs is None or not passed or not passed["count"]:
        reasons["acquisitions_per_handoff"] = "no hand-off to another thread was logged"
        return None
    return float(pairs / passed["count"])


def _queue_over_owner(d: dict[str, Any], reasons: dict[str, str]) -> float | None:
    queued, spun = d["events"].get("spin_queued_ns"), d["events"].get("spin_owner_ns")
    if not queued or not spun:
        reasons["queue_over_owner"] = "no spinner was timed in a queue and in front of it"
        return None
    return float(queued / spun)
