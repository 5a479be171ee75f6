# SPDX-License-Identifier: MIT
"""Catalogue and host functions of the extension."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import Any

import pytest

from locklab import _core
from locklab.errors import ConfigError, LocklabError, RunTimeout, UnknownName, Unsupported
from struct_support import typed_keys
from support import ROOT

LOCKS = _core.locks()
PARAMS = [
    pytest.param(param, id=f"{owner['id']}-{param['name']}")
    for owner in [*LOCKS, *_core.workloads()]
    for param in owner["params"]
]


def entries(macro: str, path: str) -> list[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(rf"^{macro}\((\w+)", text, re.MULTILINE)


def test_the_catalogue_is_what_the_def_files_list() -> None:
    """Locks that need an absent library may be missing, nothing else."""
    symbols = {re.sub(r"\W", "_", lock["id"]) for lock in LOCKS}
    listed = set(entries("LL_LOCK_ENTRY", "clib/locks/locks.def"))
    assert symbols <= listed
    assert all(name.startswith("host_ck") for name in listed - symbols)
    workloads = [re.sub(r"\W", "_", w["id"]) for w in _core.workloads()]
    assert workloads == entries("LL_WORKLOAD_ENTRY", "clib/workloads/workloads.def")
    names = [event["name"] for event in _core.events()]
    assert names == entries("LL_EVENT", "clib/metrics/events.def")


def test_the_catalogue_is_sorted_and_new_at_each_call() -> None:
    ids = [lock["id"] for lock in LOCKS]
    assert ids == sorted(set(ids))
    again = _core.locks()
    assert again == LOCKS
    again[0]["id"] = "changed"
    assert _core.locks()[0]["id"] == LOCKS[0]["id"]


@pytest.mark.parametrize("lock", LOCKS, ids=[lock["id"] for lock in LOCKS])
def test_a_lock_is_described_in_full(lock: _core.LockInfo) -> None:
    assert set(lock) == typed_keys("LockInfo")
    assert lock["id"] == f"{lock['family']}/{lock['name']}"
    assert lock["kind"] in ("exclusive", "shared", "ww")
    assert "native" in lock["engines"]
    assert lock["summary"]
    assert lock["origin"]
    for size, fields in (("lock_size", "lock_fields"), ("node_size", "node_fields")):
        table: Any = lock[fields]  # type: ignore[literal-required]
        end = 0
        for field in table:
            assert set(field) == typed_keys("Field")
            assert field["offset"] >= end
            end = field["offset"] + field["size"]
        assert end <= lock[size]  # type: ignore[literal-required]


def test_only_locks_that_overlap_claim_to_be_broken() -> None:
    broken = [lock["id"] for lock in LOCKS if "broken" in lock["claims"]]
    assert broken == ["spin/none"]


@pytest.mark.parametrize("param", PARAMS)
def test_a_parameter_has_the_values_of_its_type(param: _core.Param) -> None:
    assert set(param) == typed_keys("Param")
    if param["type"] == "lock":
        assert param["default"] in {lock["id"] for lock in LOCKS if lock["kind"] in param["kinds"]}
        assert param["help"]
        return
    kind = {"uint": int, "bool": bool, "enum": int, "real": float}[param["type"]]
    assert param["kinds"] is None
    for key in ("default", "min", "max", "check"):
        assert type(param[key]) is kind  # type: ignore[literal-required]
    assert param["min"] <= param["default"] <= param["max"]
    assert param["min"] <= param["check"] <= param["max"]
    assert (param["names"] is not None) == (param["type"] == "enum")
    assert param["names"] is None or len(param["names"]) == param["max"] + 1
    assert param["help"]


def test_build_info_names_the_compiler() -> None:
    assert re.match(r"\w+=", _core.build_info())
    assert "compiler=" in _core.build_info()


# --- host ---------------------------------------------------------------------------------------


def test_cpus_are_those_of_the_affinity_mask() -> None:
    script = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from locklab import _core\n"
        "print([c['os_index'] for c in _core.cpus()] == sorted(os.sched_getaffinity(0)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "True\n"
    cpus = _core.cpus()
    assert all(set(cpu) == typed_keys("Cpu") for cpu in cpus)
    assert len({cpu["os_index"] for cpu in cpus}) == len(cpus)


@pytest.mark.parametrize("threads", [1, 2, 7, _core.MAX_THREADS])
def test_a_placement_names_a_cpu_for_each_thread(threads: int) -> None:
    allowed = {cpu["os_index"] for cpu in _core.cpus()}
    for place in ("compact", "scatter", "interleave:1", "nodes:0"):
        placed = _core.place(place, threads=threads)
        assert len(placed) == threads
        assert set(placed) <= allowed


@pytest.mark.parametrize(
    ("place", "threads", "field"),
    [("compact", 0, "threads"), ("compact", 1025, "threads"), ("compact", -1, "threads")]
    + [("all over", 2, "place"), ("cpus:", 2, "place"), ("cpus:99999", 2, "place")]
    + [("interleave:0", 2, "place"), ("", 2, "place"), ("a\0b", 2, "place")],
)
def test_a_placement_that_cannot_be_is_refused(place: str, threads: int, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _core.place(place, threads)
    assert caught.value.field == field


def test_the_clock_is_calibrated_once() -> None:
    clock = _core.clock()
    assert set(clock) == typed_keys("Clock")
    assert clock["source"] in ("tsc", "cntvct", "clock_gettime")
    assert clock["ticks_per_s"] > 0
    assert clock["read_cost_ns"] > 0
    assert _core.clock() == clock


def test_the_round_trip_of_a_cpu_with_itself_is_zero() -> None:
    cpus = [cpu["os_index"] for cpu in _core.cpus()]
    assert _core.regime(cpus[0], cpus[0]) == 0.0


@pytest.mark.native
def test_a_round_trip_between_two_cpus_takes_time() -> None:
    cpus = [cpu["os_index"] for cpu in _core.cpus()]
    if len(cpus) < 2:
        pytest.skip("one CPU")
    try:
        assert 0.0 < _core.regime(cpu_a=cpus[0], cpu_b=cpus[1]) < 1e6
    except RunTimeout as e:
        pytest.skip(str(e))


@pytest.mark.parametrize("cpu", [99999, 2**32 - 1, 2**32, -1])
def test_a_round_trip_to_no_cpu_is_an_error(cpu: int) -> None:
    with pytest.raises(LocklabError):
        _core.regime(_core.cpus()[0]["os_index"], cpu)


def test_rseq_selftest_is_an_errno_or_zero() -> None:
    assert 0 <= _core.rseq_selftest() < 200


def has_libpfm4() -> bool:
    try:
        _core.perf_probe("cycles")
    except Unsupported:
        return False
    return True


@pytest.mark.skipif(not has_libpfm4(), reason="built without libpfm4")
@pytest.mark.parametrize("name", ["cycles", "instructions", "context-switches", "page-faults"])
def test_a_perf_event_counts_or_says_why_not(name: str) -> None:
    probe = _core.perf_probe(name)
    assert set(probe) == typed_keys("PerfProbe")
    assert probe["source"] in ("pmu", "perf-sw", "rusage")
    assert (probe["errno"] == 0) == (probe["reason"] == "")


@pytest.mark.skipif(not has_libpfm4(), reason="built without libpfm4")
def test_an_unknown_perf_event_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        _core.perf_probe("no-such-event")


def test_a_perf_name_with_a_blank_is_refused() -> None:
    with pytest.raises((ConfigError, Unsupported)):
        _core.perf_probe("cycles instructions")


def test_arguments_of_the_wrong_type_are_type_errors() -> None:
    calls: list[Any] = [
        lambda: _core.place(b"compact", 2),  # type: ignore[arg-type]
        lambda: _core.place("compact", 2.0),  # type: ignore[arg-type]
        lambda: _core.place("compact"),  # type: ignore[call-arg]
        lambda: _core.regime("0", 1),  # type: ignore[arg-type]
        lambda: _core.regime(True, 1),
        lambda: _core.perf_probe(1),  # type: ignore[arg-type]
        lambda: _core.locks(1),  # type: ignore[call-arg]
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_every_function_has_a_docstring_with_its_signature() -> None:
    for name in dir(_core):
        member = getattr(_core, name)
        if name.startswith("__") or not callable(member):
            continue
        assert inspect.getdoc(member), name
        if not isinstance(member, type):
            inspect.signature(member)
            continue
        for method in vars(member):
            if not method.startswith("__"):
                assert inspect.getdoc(vars(member)[method]), f"{name}.{method}"


def test_the_module_is_for_the_main_interpreter() -> None:
    subinterpreters = pytest.importorskip(
        "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    )
    script = (
        f"import sys\nsys.path[:] = {sys.path!r}\n"
        "try:\n    from locklab import _core\n"
        "except ImportError as e:\n    assert 'interpreter' in str(e), e\n"
        "else:\n    raise AssertionError('it was imported')\n"
    )
    interpreter = subinterpreters.create()
    try:
        assert subinterpreters.run_string(interpreter, script) is None
    finally:
        subinterpreters.destroy(interpreter)


def test_clients_are_what_their_def_file_lists() -> None:
    found = _core.clients()
    listed = {
        name.replace("_", "-") for name in entries("LL_CLIENT_ENTRY", "clib/clients/clients.def")
    }
    assert {client["id"] for client in found} == listed
    assert [client["id"] for client in found] == sorted(client["id"] for client in found)
    for client in found:
        assert set(client) == typed_keys("ClientInfo")
        assert client["summary"]
        assert client["kind"] in ("exclusive", "shared", "ww")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock["id"])
def test_expectations_name_clients_verdicts_and_settings(lock: Any) -> None:
    clients = {client["id"] for client in _core.clients()}
    params = {param["name"] for param in lock["params"]}
    assert set(lock["expect"]) <= clients
    for entry in lock["expect_with"]:
        assert set(entry) == typed_keys("Expectation")
        assert entry["client"] in clients
        assert entry["setting"].partition("=")[0] in params


def test_what_holds_under_a_setting_is_not_said_of_the_default() -> None:
    fixed = next(lock for lock in LOCKS if lock["id"] == "rwsem/wakeup-flag-fixed")
    assert fixed["expect"].get("shared", "none-found") == "none-found"
    assert {"client": "shared", "verdict": "stranded", "setting": "mode=retry"} in fixed[
        "expect_with"
    ]
