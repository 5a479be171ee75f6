# SPDX-License-Identifier: MIT
"""What this host can and cannot measure, why, and what would change it."""

from __future__ import annotations

import os
import resource
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from locklab import _core
from locklab import environment as env
from locklab.errors import LocklabError

SCHEMA = "locklab.doctor/1"
STATIC = Path(__file__).with_name("static")
Capability = dict[str, Any]
_PROC = Path("/proc/sys/kernel")
_UNVERIFIED = "unverified on hardware: no machine of this project could count them"


def capabilities() -> dict[str, Any]:
    """What can be measured here and now, as ``locklab doctor --json`` prints it.

    Returns
    -------
    dict
        ``schema`` and ``capabilities``: name to a dict with ``available`` (bool), ``detail`` and,
        where they apply, ``reason`` (why not), ``errno`` (its name), ``enable`` (the command or
        step that would help) and ``note``.

    Source: each is tried out (events are opened, the rseq marker is provoked), not looked up.
    """
    found = lasting_capabilities()
    found["capabilities"] |= {"placement-regime": _regime(), "quiet-host": _quiet()}
    return found


def lasting_capabilities() -> dict[str, Any]:
    """The part of :func:`capabilities` that does not change while the process lives."""
    return {"schema": SCHEMA, "capabilities": {k: dict(v) for k, v in _lasting().items()}}


@cache
def _lasting() -> dict[str, Capability]:
    return {
        "clock": _clock(),
        "topology": _topology(),
        "rseq": _rseq(),
        "perf-hardware": _perf_hardware(),
        "perf-software": _perf_software(),
        "switch-records": _switch_records(),
        "perf-limits": _perf_limits(),
        "field-misses": {
            "available": False,
            "detail": "cache misses by field of a lock",
            "reason": "needs address sampling (PEBS, IBS) or the timing probe, which come later",
        },
        "steady-frequency": _frequency(),
        "bare-metal": _bare_metal(),
        **_parts(),
    }


def _capability(available: bool, detail: str, **more: str | None) -> Capability:
    wanted = ("note",) if available else ("reason", "errno", "enable", "note")
    extra = {name: more[name] for name in wanted if more.get(name)}
    return {"available": available, "detail": detail, **extra}


def _errno_name(number: int) -> str | None:
    import errno

    return errno.errorcode.get(abs(number), str(abs(number))) if number else None


def _clock() -> Capability:
    clock = _core.clock()
    detail = (
        f"{clock['source']} at {clock['ticks_per_s'] / 1e6:.1f} MHz, steps of {clock['step_ns']} "
        f"ns, {clock['read_cost_ns']:.0f} ns a reading"
    )
    cheap = clock["source"] != "clock_gettime"
    note = None if cheap else "no cycle counter to read: each time stamp costs a call"
    return _capability(True, detail, note=note)


def _topology() -> Capability:
    try:
        cpus = _core.cpus()
    except LocklabError as error:
        return _capability(False, "CPUs, caches and NUMA nodes", reason=str(error))
    t = env.topology(cpus)
    smt = {True: "SMT on", False: "no SMT", None: "SMT unknown"}[env.smt(cpus)]
    detail = (
        f"{t['cpus']} CPUs on {t['cores']} cores ({smt}), {t['packages']} packages, "
        f"{t['nodes']} NUMA nodes, {t['l3_groups']} last-level caches"
    )
    note = "one CPU: threads take turns, nothing is contended" if t["cpus"] == 1 else None
    return _capability(True, detail, note=note)


def _rseq() -> Capability:
    code = _core.rseq_selftest()
    return _capability(
        code == 0,
        "tells which critical sections and waits lost their CPU (preempted_* events)",
        reason="the kernel's rseq area does not tell this thread of a preemption",
        errno=_errno_name(code),
        enable="a kernel and a C library (glibc 2.35) that register rseq",
    )


def _perf(names: tuple[str, ...]) -> tuple[list[str], list[tuple[str, int, str]]]:
    counted, refused = [], []
    for name in names:
        try:
            probe = _core.perf_probe(name)
        except LocklabError as error:
            refused.append((name, 0, str(error)))
            continue
        if probe["errno"]:
            refused.append((name, probe["errno"], probe["reason"]))
        else:
            counted.append(f"{name} ({probe['source']})")
    return counted, refused


def _perf_capability(names: tuple[str, ...], what: str, note: str | None) -> Capability:
    counted, refused = _perf(names)
    detail = what + (": " + ", ".join(counted) if counted else "")
    if refused and counted:
        detail += "; not " + ", ".join(name for name, _, _ in refused)
    _, number, reason = refused[0] if refused else ("", 0, "")
    denied = _errno_name(number) in ("EACCES", "EPERM")
    return _capability(
        bool(counted),
        detail,
        reason=reason or (f"errno {number}" if number else None),
        errno=_errno_name(number),
        enable="sysctl kernel.perf_event_paranoid=1" if denied else None,
        note=note,
    )


def _perf_hardware() -> Capability:
    found = _perf_capability(
        ("cycles", "instructions", "cache-misses"), "hardware counters", _UNVERIFIED
    )
    if found.get("errno") == "ENOENT":
        found["enable"] = "a machine, or a virtual machine, with a PMU of its own"
    return found


def _perf_software() -> Capability:
    names = ("context-switches", "task-clock", "page-faults", "cpu-migrations")
    return _perf_capability(names, "kernel counters", None)


def _switch_records() -> Capability:
    what = "tells who is on a CPU at once (--owner-run switch-rec)"
    try:
        _core.validate({"lock": "spin/tas", "owner_run": "switch-rec"})
    except LocklabError as error:
        why = str(error).partition("records: ")[2] or str(error)
        number, colon, text = why.partition(": ")
        return _capability(
            False, what, reason=text if colon else why, errno=number if colon else None
        )
    return _capability(True, what, note="each context switch of a thread takes about 2 us more")


def _perf_limits() -> Capability:
    kb = env.read_text(_PROC / "perf_event_mlock_kb")
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    lock = "no limit" if soft == resource.RLIM_INFINITY else f"{soft // 1024} KiB"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    paranoid = env.read_text(_PROC / "perf_event_paranoid")
    detail = (
        f"kernel.perf_event_paranoid {paranoid}, {files} open files (threads x events must fit), "
        f"{kb} KiB of perf buffers a CPU, locked memory {lock}"
    )
    return _capability(kb is not None, detail, reason="the kernel has no perf events")


def _frequency() -> Capability:
    governor = env.governor()
    return _capability(
        governor == "performance",
        "frequency fixed by the governor " + (governor or "(none here)"),
        reason="governor " + governor if governor else "no cpufreq: the host decides, unseen",
        enable="cpupower frequency-set -g performance" if governor else None,
    )


def _bare_metal() -> Capability:
    guest = hypervisor()
    boxed = container()
    why = " in ".join(filter(None, [boxed, guest]))
    return _capability(
        not why,
        "no hypervisor or container between us and the CPUs",
        reason=f"this is {why}: the host may move or stop CPUs unseen"
        if guest
        else f"this is {why}: its limits and seccomp rules apply",
    )


def hypervisor() -> str | None:
    """The kind of virtual machine this is, or None."""
    flags = env.read_text(Path("/proc/cpuinfo")) or ""
    kind = env.read_text(Path("/sys/hypervisor/type"))
    product = env.read_text(Path("/sys/class/dmi/id/product_name"))
    if kind or "hypervisor" in flags.split():
        return f"a virtual machine ({kind or product})" if kind or product else "a virtual machine"
    return None


def container() -> str | None:
    """The kind of container this is, or None if nothing hints at one."""
    if Path("/.dockerenv").exists():
        return "a Docker container"
    if Path("/run/.containerenv").exists():
        return "a Podman container"
    named = env.read_text(Path("/run/systemd/container"))
    return f"a container ({named})" if named else None


def _parts() -> dict[str, Capability]:
    build = env.build_parts()
    again = "apt-get install {} and build again (make build)"
    found = {
        "libpfm4": _capability(
            build.get("pfm", "no") not in ("no", ""),
            f"perf event names ({build.get('pfm', 'no')})",
            reason="this build has no libpfm4",
            enable=again.format("libpfm4-dev"),
        ),
        "libck": _capability(
            build.get("ck", "no") not in ("no", ""),
            f"the locks host/ck-* ({build.get('ck', 'no')})",
            reason="this build has no libck",
            enable=again.format("libck-dev"),
        ),
        "dashboard": _capability(
            has_server(),
            "live page and HTTP interface",
            reason="this build has no libmicrohttpd",
            enable=again.format("libmicrohttpd-dev"),
        ),
        "page": _page(),
    }
    for name, extra, what in (
        ("scipy", "data", "intervals, compare"),
        ("pandas", "data", "Result.to_pandas"),
        ("matplotlib", "plot", "Result.plot, figures of experiments"),
    ):
        found[name] = _capability(
            find_spec(name) is not None,
            what,
            reason=f"{name} is not installed",
            enable=f"pip install 'locklab[{extra}]'",
        )
    return found


def has_server() -> bool:
    """Whether the dashboard was built in (libmicrohttpd was found)."""
    return _core.HAS_SERVER


def _page() -> Capability:
    missing = [n for n in ("index.html", "uPlot.iife.min.js") if not (STATIC / n).is_file()]
    return _capability(
        not missing,
        "files of the live page",
        reason=f"this build was made without {' and '.join(missing)}",
        enable="install npm and build again (make build)",
    )


def _regime() -> Capability:
    cpus = _core.cpus()
    if len(cpus) < 2:
        return _capability(False, "word round trip between two CPUs", reason="there is one CPU")
    a, b = cpus[0]["os_index"], cpus[1]["os_index"]
    try:
        now = _core.regime(a, b)
    except LocklabError as error:
        return _capability(False, "word round trip between two CPUs", reason=str(error))
    detail = f"a word goes from CPU {a} to CPU {b} and back in {now:.0f} ns now"
    note = (
        "a hypervisor may change it at any time; each repeat records it" if hypervisor() else None
    )
    return _capability(True, detail, note=note)


def _quiet() -> Capability:
    load, cpus = env.load_average(), len(_core.cpus())
    shown = f"{load[0]:.2f}" if load else "unknown"
    return _capability(
        bool(load) and load is not None and load[0] < 0.5 * cpus,
        f"load average {shown} on {cpus} CPUs ({os.cpu_count()} in the machine)",
        reason="other programs run: they take CPUs from the threads that are measured",
        enable="stop them, or leave the CPUs to locklab (--place cpus:LIST)",
    )
