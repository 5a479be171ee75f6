# SPDX-License-Identifier: MIT
"""Where a run takes place: what must be equal before results are pooled, and what is only noted."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from locklab import _core

_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_SMT = Path("/sys/devices/system/cpu/smt/active")


def read_text(path: Path) -> str | None:
    """The stripped content of a file of /proc or /sys, or None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


@cache
def build_parts() -> dict[str, str]:
    """``_core.build_info()`` by name; a value may itself hold commas."""
    parts: dict[str, str] = {}
    last = ""
    for word in _core.build_info().split(","):
        name, equals, value = word.partition("=")
        if equals and name.strip().isidentifier():
            last = name.strip()
            parts[last] = value.strip()
        elif last:
            parts[last] += "," + word
    return parts


@cache
def cpu_model() -> str | None:
    """The CPU's name as the kernel gives it, or None where it gives none."""
    for line in (read_text(Path("/proc/cpuinfo")) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() in ("model name", "cpu model", "uarch", "processor model"):
            return value.strip()
    return None


def governor() -> str | None:
    """The frequency governor of the first CPU, or None (a virtual machine has none)."""
    return read_text(_CPUFREQ)


def smt(cpus: list[_core.Cpu]) -> bool | None:
    """Whether two hardware threads of one core are in use."""
    if len({cpu["core"] for cpu in cpus}) < len(cpus):
        return True
    active = read_text(_SMT)
    return None if active is None else active == "1"


def topology(cpus: list[_core.Cpu]) -> dict[str, int]:
    """How many of each there are among the CPUs that this process may use."""
    return {
        "cpus": len(cpus),
        "cores": len({cpu["core"] for cpu in cpus}),
        "packages": len({cpu["package"] for cpu in cpus}),
        "nodes": len({cpu["node"] for cpu in cpus}),
        "l3_groups": len({cpu["l3"] for cpu in cpus}),
    }


def identity() -> dict[str, Any]:
    """What must be equal before results may be pooled (`environment.identity`)."""
    cpus = _core.cpus()
    build = build_parts()
    uname = os.uname()
    found: dict[str, Any] = {
        "cpu_model": cpu_model(),
        "topology": topology(cpus),
        "kernel": f"{uname.sysname} {uname.release} {uname.machine}",
        "governor": governor(),
        "smt": smt(cpus),
        "compiler": build.get("compiler"),
        "flags": build.get("flags"),
    }
    why = {
        "cpu_model": "/proc/cpuinfo names no model",
        "governor": "no cpufreq here: a virtual machine, or no frequency driver",
        "smt": "the kernel does not say",
        "compiler": "this build does not record it",
        "flags": "this build does not record them",
    }
    reasons = {name: text for name, text in why.items() if found[name] is None}
    return found | ({"reasons": reasons} if reasons else {})


@cache
def git_revision() -> str | None:
    """The commit of the source tree that locklab runs from, read without starting git."""
    root = Path(__file__).resolve().parents[2]
    git = root / ".git"
    if not (root / "setup.py").is_file() or not git.exists():
        return None
    if git.is_file():  # a worktree or submodule: "gitdir: PATH"
        git = (root / (read_text(git) or "").partition(":")[2].strip()).resolve()
    head = read_text(git / "HEAD") or ""
    if not head.startswith("ref:"):
        return head or None
    ref = head.partition(":")[2].strip()
    common = git / (read_text(git / "commondir") or ".")
    for base in (git, common):
        revision = read_text(base / ref)
        if revision:
            return revision
    for line in (read_text(common / "packed-refs") or "").splitlines():
        if line.endswith(f" {ref}"):
            return line.split()[0]
    return None


def load_average() -> list[float] | None:
    """Load of the last 1, 5 and 15 minutes, or None where the kernel does not tell."""
    try:
        return [round(x, 2) for x in os.getloadavg()]
    except OSError:
        return None


def moment(started_ns: int, load: list[float] | None) -> dict[str, Any]:
    """When it was, and by which version.

    Parameters
    ----------
    started_ns
        CLOCK_REALTIME at the start.
    load
        Load average before it.
    """
    from locklab import __version__

    started = datetime.fromtimestamp(started_ns / 1e9, UTC)
    return {
        "started": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "load_average": load,
        "git_revision": git_revision(),
        "python": sys.version.partition(" ")[0],
        "locklab": __version__,
    }


def observed(
    started_ns: int, load: list[float] | None, regime_ns: list[float | None]
) -> dict[str, Any]:
    """Facts of the moment of a run (`environment.observed`).

    Parameters
    ----------
    started_ns, load
        As in :func:`moment`.
    regime_ns
        Round trip between the first two CPUs before and after, in ns.
    """
    from locklab.doctor import lasting_capabilities

    return moment(started_ns, load) | {
        "clock": _core.clock(),
        "regime_ns": regime_ns,
        "capabilities": lasting_capabilities(),
    }
