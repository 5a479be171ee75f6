# SPDX-License-Identifier: MIT
"""Plans, Run and its result as the extension hands them out."""

import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from locklab import _core
from locklab.errors import ConfigError, LocklabError, RunError, UnknownName, Unsupported
from struct_support import members, typed_keys

pytestmark = pytest.mark.native
SHORT: Any = {"lock": "spin/ticket", "seconds": 0.02, "warmup_s": 0.0}
LONG: Any = {"lock": "spin/ticket", "threads": 1, "seconds": 3600.0, "warmup_s": 0.0}


def finished(plan: Any = SHORT) -> _core.Run:
    """A run that is done; tried again where a busy machine gave a thread no CPU for seconds."""
    for _ in range(3):
        run = _core.start(plan)
        assert run.wait(60)
        if run.result()["status"] != "hung":
            return run
    raise AssertionError(run.result()["failure"]["text"])


@pytest.fixture
def long_run() -> Iterator[_core.Run]:
    run = _core.start(LONG)
    yield run
    run.stop()
    assert run.wait(60)


# --- the keys are the C members' names ----------------------------------------------------------


def test_a_result_has_every_member_of_the_c_struct() -> None:
    run = finished(SHORT | {"perf": ["context-switches"], "overhead": True})
    result: Any = run.result()
    assert set(result) == members("ll_result") == typed_keys("RunResult")
    assert set(result["repeat"][0]) == members("ll_repeat") == typed_keys("Repeat")
    assert set(result["perf"][0]) == members("ll_perf_value") == typed_keys("PerfValue")
    assert set(result["failure"]) == members("ll_error") == typed_keys("Failure")
    assert set(result["events"]) == {event["name"] for event in _core.events()}
    assert members("ll_waiter") == typed_keys("Waiter")


def test_a_snapshot_and_an_info_have_every_member_of_the_c_struct() -> None:
    run = finished()
    assert set(run.snapshot()) == members("ll_snapshot") == typed_keys("Snapshot")
    assert set(run.info()) == members("ll_run_info") == typed_keys("RunInfo")


def test_a_plan_takes_every_member_of_the_c_struct() -> None:
    whole: Any = SHORT | {
        "workload": "critical-section",
        "place": "compact",
        "threads": 2,
        "repeat": 1,
        "seed": 2**64 - 1,
        "metrics": "events",
        "build": "instrumented",
        "owner_run": "coop",
        "heartbeat_s": 50e-6,
        "resched": "tick",
        "resched_budget_ns": 100_000,
        "hz": 250,
        "watchdog_s": 5,
        "tick_s": 0.1,
        "overhead": False,
        "validate": False,
        "settings": [("section_ns", "100"), ["workload.think_ns", "0"]],
        "perf": ("context-switches",),
    }
    assert set(whole) == members("ll_plan") - {"n_settings", "n_perf"} == typed_keys("Plan")
    assert _core.validate(whole) is None


# --- plans --------------------------------------------------------------------------------------


def test_missing_keys_have_their_defaults() -> None:
    run = _core.start({"lock": "spin/tas"})
    run.stop()
    info = run.info()
    assert (info["workload"], info["threads"], info["repeat"]) == ("critical-section", 2, 1)
    assert info["seconds"] == 1.0
    assert info["cpus"] == _core.place("compact", 2)
    assert run.wait(60)


@pytest.mark.parametrize(
    ("change", "kind", "code", "field"),
    [
        ({"lock": "spin/mcz"}, UnknownName, "ENOENT", "lock"),
        ({"workload": "none such"}, UnknownName, "ENOENT", "workload"),
        ({"settings": [("no_such", "1")]}, UnknownName, "ENOENT", "no_such"),
        ({"threads": 0}, ConfigError, "ERANGE", "threads"),
        ({"threads": 1025}, ConfigError, "ERANGE", "threads"),
        ({"threads": -1}, ConfigError, "ERANGE", "threads"),
        ({"threads": 2**32}, ConfigError, "ERANGE", "threads"),
        ({"threads": 10**30}, ConfigError, "ERANGE", "threads"),
        ({"seed": 2**64}, ConfigError, "ERANGE", "seed"),
        ({"seconds": float("nan")}, ConfigError, "ERANGE", "seconds"),
        ({"seconds": 10**400}, ConfigError, "ERANGE", "seconds"),
        ({"seconds": -1}, ConfigError, "ERANGE", "seconds"),
        ({"metrics": "some"}, ConfigError, "EINVAL", "metrics"),
        ({"build": "Bare"}, ConfigError, "EINVAL", "build"),
        ({"owner_run": ""}, ConfigError, "EINVAL", "owner_run"),
        ({"resched": "sometimes"}, ConfigError, "EINVAL", "resched"),
        ({"resched_budget_ns": 0}, ConfigError, "ERANGE", "resched_budget_ns"),
        ({"hz": 0}, ConfigError, "ERANGE", "hz"),
        ({"hz": 1001}, ConfigError, "ERANGE", "hz"),
        ({"place": "everywhere"}, ConfigError, "EINVAL", "place"),
        ({"lock": "spin/\0tas"}, ConfigError, "EINVAL", "lock"),
        ({"lock": "\ud800"}, ConfigError, "EINVAL", "lock"),
        ({"settings": [("section_ns", "many")]}, ConfigError, "EINVAL", "section_ns"),
        ({"perf": ["context-switches"] * 33}, ConfigError, "ERANGE", "perf"),
    ],
)
def test_a_bad_value_names_its_field(
    change: dict[str, Any], kind: type[LocklabError], code: str, field: str
) -> None:
    for function in (_core.validate, _core.start):
        with pytest.raises(kind) as caught:
            function(SHORT | change)
        assert (caught.value.code, caught.value.field) == (code, field)
        assert str(caught.value)


@pytest.mark.parametrize(
    "plan",
    [
        None,
        [],
        {},
        {"lock": None},
        {"lock": b"spin/tas"},
        SHORT | {"thread": 2},
        SHORT | {1: 2},
        SHORT | {"threads": 2.0},
        SHORT | {"threads": True},
        SHORT | {"threads": "2"},
        SHORT | {"seconds": "1"},
        SHORT | {"seconds": True},
        SHORT | {"seconds": 1j},
        SHORT | {"overhead": 1},
        SHORT | {"metrics": 1},
        SHORT | {"settings": {"section_ns": "1"}},
        SHORT | {"settings": "ab"},
        SHORT | {"settings": ["ab"]},
        SHORT | {"settings": [("section_ns",)]},
        SHORT | {"settings": [("section_ns", 1)]},
        SHORT | {"perf": "cycles"},
        SHORT | {"perf": [1]},
    ],
)
def test_a_wrong_type_or_key_is_a_type_error(plan: Any) -> None:
    for function in (_core.validate, _core.start):
        with pytest.raises(TypeError):
            function(plan)


def test_what_a_conversion_does_to_the_plan_is_not_seen() -> None:
    class Eraser:
        def __index__(self) -> int:
            plan.clear()
            settings.clear()
            return 2

    settings = [("section_ns", str(k)) for k in (1, 2)]
    plan: Any = SHORT | {"threads": Eraser(), "settings": settings}
    with pytest.raises(UnknownName):  # the copy kept everything, but the lock is not there
        _core.validate(plan | {"lock": "spin/no" + "where"})
    assert plan == {}


def test_an_error_of_a_conversion_goes_up() -> None:
    class Failing:
        def __index__(self) -> int:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _core.validate(SHORT | {"threads": Failing()})


def test_a_name_near_to_one_is_suggested() -> None:
    with pytest.raises(UnknownName, match="did you mean spin/ticket"):
        _core.validate(SHORT | {"lock": "spin/tickt"})


def test_unsupported_is_told_apart() -> None:
    with pytest.raises((Unsupported, ConfigError)) as caught:
        _core.validate(SHORT | {"settings": [("shared_pct", "50")]})  # ticket has no shared mode
    assert caught.value.field


# --- results ------------------------------------------------------------------------------------


def test_a_result_adds_up() -> None:
    result = finished(SHORT | {"repeat": 3, "threads": 2}).result()
    total = sum(result["acquisitions"].tolist())
    assert result["status"] == "complete"
    assert total > 0
    assert (result["threads"], result["repeats"], len(result["repeat"])) == (2, 3, 3)
    assert sum(r["acquisitions"] for r in result["repeat"]) == total
    by_thread = np.sum([np.asarray(r["thread_acquisitions"]) for r in result["repeat"]], axis=0)
    assert by_thread.tolist() == result["acquisitions"].tolist()
    for name in ("wait", "hold"):
        h = result[name]  # type: ignore[literal-required]
        assert h.count == total == sum(h.buckets.tolist())
    if result["handoff"] is not None:
        assert sum(map(sum, result["matrix"])) == result["handoff"].count
    assert result["series_rate"].shape == (result["n_series"], 2)
    assert result["series_t_s"].format == "d"
    assert result["overlap"] == 0


def test_what_does_not_apply_is_none_with_a_reason() -> None:
    result = finished(SHORT | {"metrics": "events"}).result()
    for name in ("wait", "hold"):
        assert result[name] is None  # type: ignore[literal-required]
        assert result[f"{name}_reason"]  # type: ignore[literal-required]


def test_regime_of_one_cpu_is_none() -> None:
    cpu = _core.cpus()[0]["os_index"]
    result = finished(SHORT | {"place": f"cpus:{cpu}"}).result()
    assert result["repeat"][0]["regime_ns"] == [None, None]


def test_a_result_outlives_its_run() -> None:
    run = finished()
    gone = weakref.ref(run)
    result = run.result()
    seen = np.asarray(result["series_rate"])
    histogram = result["wait"]
    before = (seen.tolist(), histogram.count if histogram else None)
    del run, result
    gc.collect()
    assert gone() is not None  # held by the array
    assert (seen.tolist(), histogram.count if histogram else None) == before
    del seen, histogram
    gc.collect()
    assert gone() is None


def test_the_histogram_of_a_result_is_read_only() -> None:
    histogram = finished().result()["wait"]
    assert histogram is not None
    count = histogram.count
    with pytest.raises(TypeError, match="read-only"):
        histogram.record(1)
    with pytest.raises(TypeError, match="read-only"):
        histogram.merge(_core.Histogram())
    own = _core.Histogram()
    own.merge(histogram)
    assert (histogram.count, own.count) == (count, count)


def test_the_histogram_of_a_snapshot_is_ones_own() -> None:
    run = finished()
    histogram = run.snapshot()["wait"]
    before = histogram.count
    histogram.record(1)
    assert (histogram.count, run.snapshot()["wait"].count) == (before + 1, before)


# --- a run under way ----------------------------------------------------------------------------


def test_there_is_no_result_before_the_end(long_run: _core.Run) -> None:
    with pytest.raises(RunError) as caught:
        long_run.result()
    assert caught.value.code == "EAGAIN"


def test_wait_ends_after_its_timeout(long_run: _core.Run) -> None:
    assert long_run.wait(0) is False
    assert long_run.wait(timeout=-5) is False
    start = time.monotonic()
    assert long_run.wait(0.05) is False
    assert time.monotonic() - start >= 0.05


@pytest.mark.parametrize("timeout", ["1", True, 1j])
def test_a_timeout_of_the_wrong_type_is_a_type_error(timeout: Any) -> None:
    with pytest.raises(TypeError):
        finished().wait(timeout)


def test_a_timeout_that_is_no_number_is_refused() -> None:
    run = finished()
    with pytest.raises(ConfigError):
        run.wait(float("nan"))
    assert run.wait(float("inf"))
    assert run.wait(None)


def test_a_stopped_run_has_a_valid_partial_result() -> None:
    run = _core.start(LONG | {"threads": 2})
    while not sum(run.snapshot()["acquisitions"]):
        time.sleep(0.001)
    run.stop()
    run.stop()
    assert run.wait(60)
    result = run.result()
    assert result["status"] == "interrupted"
    assert sum(result["acquisitions"].tolist()) > 0


def test_snapshots_of_a_run_go_forward(long_run: _core.Run) -> None:
    first = long_run.snapshot()
    while (second := long_run.snapshot())["phase"] in ("start", "warmup"):
        time.sleep(0.001)
    while not sum((third := long_run.snapshot())["acquisitions"]):
        time.sleep(0.001)
    assert second["phase"] == third["phase"] == "measure"
    assert first["elapsed_s"] <= second["elapsed_s"] <= third["elapsed_s"] < third["expected_s"]
    assert len(third["acquisitions"]) == third["threads"] == 1


def test_a_run_may_be_used_from_any_thread(long_run: _core.Run) -> None:
    seen: list[object] = []

    def use() -> None:
        seen.append(long_run.snapshot()["phase"])
        seen.append(long_run.wait(0.01))
        long_run.stop()
        seen.append(long_run.wait(60))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 12
    assert long_run.result()["status"] == "interrupted"


def test_others_run_python_while_one_waits(long_run: _core.Run) -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    long_run.wait(0.3)
    stop.set()
    thread.join()
    assert ticks >= 3


@pytest.fixture
def on_signal() -> Iterator[Callable[[signal.Signals, Any], None]]:
    """Sets a handler, and sends that signal to this process a little later."""
    old: list[tuple[signal.Signals, Any]] = []
    timers: list[threading.Timer] = []

    def install(number: signal.Signals, handler: Any) -> None:
        old.append((number, signal.signal(number, handler)))
        timers.append(threading.Timer(0.05, os.kill, (os.getpid(), number)))
        timers[-1].start()

    yield install
    for timer in timers:
        timer.join()
    for number, handler in old:
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1])
def test_a_signal_ends_the_wait_and_not_the_run(
    long_run: _core.Run, number: signal.Signals, on_signal: Callable[..., None]
) -> None:
    on_signal(number, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        long_run.wait()
    assert long_run.wait(0) is False
    assert long_run.snapshot()["phase"] != "done"


def test_a_handler_that_stops_the_run_ends_the_wait(
    long_run: _core.Run, on_signal: Callable[..., None]
) -> None:
    on_signal(signal.SIGUSR1, lambda *_: long_run.stop())
    assert long_run.wait(60)
    assert long_run.result()["status"] == "interrupted"


def threads_of_this_process() -> int:
    return len(os.listdir("/proc/self/task"))


def test_dropping_the_last_reference_stops_the_run_and_its_threads() -> None:
    before = threads_of_this_process()
    run = _core.start(LONG | {"threads": 3})
    while run.snapshot()["phase"] == "start":
        time.sleep(0.001)
    assert threads_of_this_process() >= before + 3
    gone = weakref.ref(run)
    del run
    assert gone() is None
    assert threads_of_this_process() == before


def test_an_error_in_flight_survives_the_drop_of_a_run() -> None:
    def fail() -> None:
        run = _core.start(LONG)
        assert run
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    gc.collect()
