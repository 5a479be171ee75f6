# SPDX-License-Identifier: MIT
"""run, start and what they raise; interrupts, forks, imports."""

import inspect
import json
import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import locklab
from locklab import document
from locklab.plan import ARGUMENTS, Plan

pytestmark = pytest.mark.native
QUICK: dict[str, Any] = {"seconds": 0.03, "warmup_s": 0.0, "watchdog_s": 30.0}


def test_signature_is_that_of_the_contract() -> None:
    parameters = inspect.signature(locklab.run).parameters
    contract = {
        "workload": "critical-section",
        "threads": 2,
        "seconds": 1.0,
        "engine": "native",
        "machine": None,
        "seed": None,
        "params": None,
        "place": "compact",
        "repeat": 1,
        "perf": None,
        "validate": False,
    }
    assert {n: parameters[n].default for n in contract} == contract
    assert next(iter(parameters)) == "lock"
    assert parameters["workload"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters["threads"].kind is inspect.Parameter.KEYWORD_ONLY


def test_start_takes_what_run_takes() -> None:
    run, start = (inspect.signature(f).parameters for f in (locklab.run, locklab.start))
    assert {n: p.default for n, p in run.items() if n != "progress"} == {
        n: p.default for n, p in start.items()
    }
    assert set(start) == set(ARGUMENTS)


def test_defaults_are_those_of_the_plan() -> None:
    for name, parameter in inspect.signature(locklab.start).parameters.items():
        default = Plan.__dataclass_fields__[name].default
        if parameter.default is not None and name != "lock":
            assert parameter.default == default, name


def test_numpy_numbers_are_numbers() -> None:
    import numpy as np

    result = locklab.run(
        "spin/tas",
        threads=np.int64(1),  # type: ignore[arg-type]
        seconds=np.float32(0.03125),  # type: ignore[arg-type]
        warmup_s=0,
        params={"section_ns": np.uint8(7)},  # type: ignore[dict-item]
    )
    assert result["config"]["params"]["section_ns"] == 7
    assert result["config"]["seconds"] == 0.03125


def test_parameters_of_every_spelling() -> None:
    for value in (3, 3.0, "3", "0x3", "3e0"):
        result = locklab.run("spin/tas", threads=1, params={"workload.lines": value}, **QUICK)
        assert result["config"]["params"]["lines"] == 3, value
        assert type(result["config"]["params"]["lines"]) is int


def test_lock_parameters_reach_the_config() -> None:
    result = locklab.run("spin/ttas-backoff", params={"wait_max": 64, "lock.wait_min": 2}, **QUICK)
    assert result["config"]["params"]["wait_max"] == 64
    assert result["config"]["params"]["wait_min"] == 2
    assert result["config"]["params"]["section_ns"] == 200


WRONG_VALUES: list[tuple[dict[str, Any], type[Exception], str, str]] = [
    ({"lock": "spin/mc"}, locklab.UnknownName, "lock", "did you mean spin/mcs"),
    ({"lock": ""}, locklab.UnknownName, "lock", "there is no lock"),
    ({"lock": "spin/mcs\n"}, locklab.ConfigError, "lock", "characters"),
    ({"workload": "critical-sectoin"}, locklab.UnknownName, "workload", "critical-section"),
    ({"threads": 0}, locklab.ConfigError, "threads", "0 is outside 1 to 1024"),
    ({"threads": 1025}, locklab.ConfigError, "threads", "1025 is outside 1 to 1024"),
    ({"threads": -1}, locklab.ConfigError, "threads", "-1 is outside 1 to 1024"),
    ({"threads": 2**32}, locklab.ConfigError, "threads", "is outside 1 to 1024"),
    ({"repeat": 0}, locklab.ConfigError, "repeat", "0 is outside 1 to 1000"),
    ({"repeat": 2**99}, locklab.ConfigError, "repeat", "is outside 1 to 1000"),
    ({"seconds": 0}, locklab.ConfigError, "seconds", "0 is outside 0.001 to 86400"),
    ({"seconds": float("nan")}, locklab.ConfigError, "seconds", "nan"),
    ({"seconds": float("inf")}, locklab.ConfigError, "seconds", "inf"),
    ({"warmup_s": -1}, locklab.ConfigError, "warmup_s", "outside 0 to 3600"),
    ({"watchdog_s": 0}, locklab.ConfigError, "watchdog_s", "outside 0.05"),
    ({"tick_s": 0}, locklab.ConfigError, "tick_s", "outside 0.01"),
    ({"heartbeat_s": 0}, locklab.ConfigError, "heartbeat_s", "outside"),
    ({"seed": -1}, locklab.ConfigError, "seed", "outside 0 to 18446744073709551615"),
    ({"seed": 2**64}, locklab.ConfigError, "seed", "outside"),
    ({"place": "kompact"}, locklab.ConfigError, "place", "compact"),
    ({"place": "cpus:99999"}, locklab.LocklabError, "place", "99999"),
    ({"engine": "simulator"}, locklab.UnknownName, "engine", "did you mean sim"),
    ({"engine": "sim"}, locklab.Unsupported, "engine", "comes later"),
    ({"engine": "check"}, locklab.Unsupported, "engine", "locklab check"),
    ({"machine": "epyc"}, locklab.Unsupported, "machine", "simulator"),
    ({"validate": True, "build": "bare"}, locklab.Unsupported, "validate", "bare build"),
    ({"metrics": "ful"}, locklab.UnknownName, "metrics", "did you mean full"),
    ({"build": "fast"}, locklab.UnknownName, "build", "bare"),
    ({"owner_run": "heartbeats"}, locklab.UnknownName, "owner_run", "did you mean heartbeat"),
    ({"resched": "ticks"}, locklab.UnknownName, "resched", "did you mean tick"),
    ({"resched_budget_ns": 0}, locklab.ConfigError, "resched_budget_ns", "outside 1 to"),
    ({"hz": 1001}, locklab.ConfigError, "hz", "outside 1 to 1000"),
    ({"perf": "cycle"}, locklab.UnknownName, "perf", "cycle"),
    ({"perf": ["cycles", "cycles"]}, locklab.ConfigError, "perf", "twice"),
    ({"perf": [f"cpu-clock:u={i}" for i in range(33)]}, locklab.ConfigError, "perf", "32"),
    ({"params": {"lines": -1}}, locklab.ConfigError, "lines", "-1 is outside 0 to 4096"),
    ({"params": {"lines": 0.5}}, locklab.ConfigError, "lines", "whole"),
    ({"params": {"lines": "many"}}, locklab.ConfigError, "lines", "not a number"),
    ({"params": {"line": 1}}, locklab.UnknownName, "line", "did you mean lines"),
    ({"params": {"": 1}}, locklab.UnknownName, "", "parameter"),
    ({"params": {"shared_pct": 10}}, locklab.LocklabError, "shared_pct", "shared"),
]


@pytest.mark.parametrize(("options", "kind", "field", "words"), WRONG_VALUES)
def test_wrong_values_name_field_value_and_range(
    options: dict[str, Any], kind: type[locklab.LocklabError], field: str, words: str
) -> None:
    with pytest.raises(kind) as caught:
        locklab.run(**{"lock": "spin/mcs", **QUICK, **options})
    assert caught.value.field == field
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


WRONG_TYPES: list[dict[str, Any]] = [
    {"lock": None},
    {"lock": 3},
    {"workload": 3},
    {"threads": "2"},
    {"threads": 2.0},
    {"threads": True},
    {"seconds": "1"},
    {"seconds": True},
    {"seed": 1.5},
    {"repeat": [1]},
    {"place": 0},
    {"params": [("lines", 1)]},
    {"params": {"lines": None}},
    {"params": {"lines": [1]}},
    {"params": {1: 1}},
    {"perf": 3},
    {"perf": [3]},
    {"validate": 1},
    {"overhead": "yes"},
    {"metrics": 1},
    {"machine": 1},
]


@pytest.mark.parametrize("options", WRONG_TYPES, ids=str)
def test_wrong_types_are_type_errors(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as caught:
        locklab.run(**{"lock": "spin/mcs", **QUICK, **options})
    name = next(iter(options))
    assert str(caught.value).startswith(f"{name} ")


def test_ambiguous_ranges_of_the_plan_are_those_of_the_core() -> None:
    """The two ranges that Python states itself, because such numbers do not fit into C's plan."""
    for name, (low, high) in (("threads", (1, 1024)), ("repeat", (1, 1000))):
        with pytest.raises(locklab.ConfigError, match=f"outside {low} to {high}"):
            locklab.run("spin/mcs", **{name: high + 1})
        with pytest.raises(locklab.ConfigError, match=f"outside {low} to {high}"):
            locklab.run("spin/mcs", **{name: 2**40})


# --- handles ------------------------------------------------------------------------------------


def test_a_handle_shows_the_run_and_ends_it() -> None:
    with locklab.start("spin/mcs", seconds=600, warmup_s=0) as handle:
        while not handle.progress()["t_s"]:
            assert not handle.wait(0.01)
        shot = handle.snapshot()
        assert shot["phase"] == "measure"
        assert len(shot["acquisitions"]) == 2
        assert sum(shot["wait_ns"]["buckets"]["count"]) == shot["wait_ns"]["count"]
        assert handle.config["lock"] == "spin/mcs"
        json.dumps(shot, allow_nan=False)
        assert not handle.done
    assert handle.done
    assert handle.result().status == "interrupted"
    assert handle.result() is handle.result()


def test_leaving_by_an_exception_stops_the_run() -> None:
    with pytest.raises(ZeroDivisionError), locklab.start("spin/tas", seconds=600) as handle:
        raise ZeroDivisionError
    assert handle.done


def test_progress_is_called_with_the_course_of_the_run() -> None:
    seen: list[dict[str, Any]] = []
    locklab.run("spin/tas", seconds=0.4, warmup_s=0, progress=seen.append)
    assert seen
    assert {"phase", "repeat", "elapsed_s", "expected_s", "acquisitions", "overlap"} <= set(seen[0])


def test_what_progress_raises_ends_the_run() -> None:
    def fail(_: dict[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        locklab.run("spin/tas", seconds=600, progress=fail)


def test_a_hung_run_is_a_timeout_with_its_document() -> None:
    with pytest.raises(locklab.RunTimeout, match="no thread") as caught:
        locklab.run("spin/mcs", params={"section_ns": 1_000_000_000}, watchdog_s=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.code == "ETIMEDOUT"
    assert caught.value.result is not None
    assert len(caught.value.result["waiters"]) == 2


# --- interrupts ---------------------------------------------------------------------------------

INTERRUPTED = """
    import json, os, signal, sys, threading, locklab
    def press(times):
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
    def measuring(now):
        return now["t_s"] > 0 and sum(now["acquisitions"]) > 0
    def when_measuring(now):
        if measuring(now):
            press(1)
    try:
        {call}
    except KeyboardInterrupt as stop:
        print(json.dumps([stop.result.status, stop.result.invariants()]))
    else:
        print("not interrupted")
"""
CALLS = {
    "run": """
        threading.Timer(0.5, press, [1]).start()
        locklab.run("spin/mcs", seconds=600, warmup_s=0)
    """,
    "progress": """
        locklab.run("spin/mcs", seconds=600, progress=when_measuring)
    """,
    "wait": """
        handle = locklab.start("spin/mcs", seconds=600, warmup_s=0)
        threading.Timer(0.5, press, [1]).start()
        handle.wait()
    """,
    "body": """
        with locklab.start("spin/mcs", seconds=600, warmup_s=0) as handle:
            while not measuring(handle.progress()):
                handle.wait(0.01)
            press(1)
            while True: pass
    """,
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_raises_with_the_partial_result(name: str) -> None:
    call = textwrap.indent(textwrap.dedent(CALLS[name]).strip(), "    ")
    code = textwrap.dedent(INTERRUPTED).replace("    {call}", call)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == ["interrupted", []]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_finds_the_run_dead() -> None:
    code = """
        import os, locklab
        handle = locklab.start("spin/mcs", seconds=600, warmup_s=0)
        if os.fork() == 0:
            try:
                handle.snapshot()
            except locklab.LocklabError as error:
                os._exit(7 if "fork" in str(error) or "process" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        handle.stop()
        print(handle.result().status)
        if os.fork() == 0:
            os._exit(0 if locklab.run("spin/tas", seconds=0.02).acquisitions else 5)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["7", "interrupted", "0"], done.stderr


# --- imports ------------------------------------------------------------------------------------


def test_import_loads_next_to_nothing() -> None:
    code = "import sys, locklab; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "pandas", "matplotlib", "rich", "jsonschema", "argparse", "json"}
    assert not heavy & set(done.stdout.split())
    assert "locklab._core" not in done.stdout.split()


def test_public_names_stay_what_they_are() -> None:
    """A submodule imported later must not take the place of a function of the same name."""
    import importlib
    import pkgutil

    for module in pkgutil.walk_packages(locklab.__path__, "locklab."):
        if module.name.rpartition(".")[2] != "__main__":
            importlib.import_module(module.name)
    for name in locklab.__all__:
        assert not inspect.ismodule(getattr(locklab, name)), name
    assert set(locklab.__all__) <= set(dir(locklab))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = locklab.nonsense


def test_ctrl_c_while_idle_is_an_ordinary_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_while_the_document_is_built_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is held back until the document is whole, and then raised with it."""
    before = document.overhead

    def interrupted(*blocks: list[float]) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGINT)
        return before(*blocks)

    monkeypatch.setattr(document, "overhead", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        locklab.run("spin/tas", threads=1, seconds=0.05, warmup_s=0, overhead=True)
    result = caught.value.result  # type: ignore[attr-defined]
    assert result.invariants() == []
    assert "ratio" in result["overhead"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
