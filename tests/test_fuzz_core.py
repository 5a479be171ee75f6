# SPDX-License-Identifier: MIT
"""Fuzz of every public entry of the extension: only documented errors, whatever the arguments.

A crash or a hang ends the whole session; the sanitizer tests run this file once more under ASan.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from locklab import _core
from locklab.errors import LocklabError, RunError, Unsupported

pytestmark = pytest.mark.native


class OopsError(Exception):
    """What an argument of ours raises when it is converted."""


class Hostile:
    """Converts to nothing: every protocol that a conversion could try raises."""

    def _oops(self, *_: object) -> Any:
        raise OopsError

    __index__ = __float__ = __int__ = __len__ = __iter__ = __getitem__ = __bool__ = _oops


class IndexOf:
    """An int by `__index__` alone."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"IndexOf({self.value})"


DOCUMENTED = (LocklabError, TypeError, OopsError)
TEXT = st.text(st.characters(), max_size=12)  # surrogates and NUL included
INTEGERS = st.one_of(
    st.integers(-3, 5),
    st.integers(),
    st.sampled_from([2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, -(2**63), 10**400]),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    INTEGERS,
    st.floats(),
    st.complex_numbers(),
    TEXT,
    st.binary(max_size=8),
    st.builds(Hostile),
    INTEGERS.map(IndexOf),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(TEXT, inner, max_size=3),
    ),
    max_leaves=6,
)

LOCKS = [lock["id"] for lock in _core.locks()]
NAMES = st.one_of(st.sampled_from([*LOCKS, "critical-section", "spin/", "/", ""]), TEXT)
PARAMS = sorted(
    {param["name"] for owner in [*_core.locks(), *_core.workloads()] for param in owner["params"]}
)
PARAM_NAMES = st.one_of(
    st.sampled_from(PARAMS),
    st.sampled_from([f"workload.{p}" for p in PARAMS] + [f"lock.{p}" for p in PARAMS]),
    TEXT,
)
PARAM_VALUES = st.one_of(
    st.integers(-5, 2000).map(str),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(["0x10", "1e3", "1_000", " 1", "true", "yes", "nan", "-0", "1" * 400]),
    TEXT,
)
SETTINGS = st.one_of(st.lists(st.tuples(PARAM_NAMES, PARAM_VALUES), max_size=3), JUNK)
CPU_LISTS = st.text("0123456789,-:", max_size=14)
PLACES = st.one_of(
    st.sampled_from(["compact", "scatter", "interleave:1", "interleave:2", "nodes:0", "cpus:0"]),
    st.builds("{}:{}".format, st.sampled_from(["cpus", "nodes", "interleave"]), CPU_LISTS),
    st.sampled_from(["cpus:0-4294967295", "cpus:0-18446744073709551616", "cpus:1-0"]),
    TEXT,
)
EVENTS = st.one_of(
    st.sampled_from(["cycles", "context-switches", "page-faults", "perf::", "::", "cycles:u:k"]),
    st.text("abcdefgh:=-_0123456789", max_size=20),
    TEXT,
)
WORDS = st.sampled_from(
    ["events", "full", "instrumented", "bare", "probed", "coop", "heartbeat", "always", "never"]
)
PLAN_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "lock": NAMES,
    "workload": NAMES,
    "place": PLACES,
    "threads": INTEGERS,
    "repeat": INTEGERS,
    "seconds": st.floats(),
    "warmup_s": st.floats(),
    "seed": INTEGERS,
    "metrics": WORDS,
    "build": WORDS,
    "owner_run": WORDS,
    "heartbeat_s": st.floats(),
    "resched": WORDS,
    "resched_budget_ns": INTEGERS,
    "hz": INTEGERS,
    "watchdog_s": st.floats(),
    "tick_s": st.floats(),
    "overhead": st.booleans(),
    "settings": SETTINGS,
    "perf": st.lists(EVENTS, max_size=3),
}
PLANS = st.fixed_dictionaries(
    {}, optional={key: st.one_of(value, JUNK) for key, value in PLAN_VALUES.items()}
)


def check(error: Exception) -> None:
    """A documented error says something, and survives the way to another process."""
    if isinstance(error, OopsError):
        return
    assert str(error)
    if isinstance(error, LocklabError):
        assert error.code.startswith("E")
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), vars(again)) == (str(error), vars(error))


def tolerate(call: Callable[..., Any], *args: Any) -> Any:
    """The call's value, None after a documented error; any other exception fails the test."""
    try:
        return call(*args)
    except DOCUMENTED as error:
        check(error)
        return None


# --- functions ----------------------------------------------------------------------------------

# The ones that change the process or are fuzzed below with arguments that make sense.
APART = {"after_fork_child", "start", "validate", "check_start", "check_replay"}
FUNCTIONS = sorted(
    name
    for name, member in vars(_core).items()
    if inspect.isbuiltin(member) and not name.startswith("_") and name not in APART
)


def test_every_public_name_is_fuzzed() -> None:
    public = {name for name in vars(_core) if not name.startswith("_")}
    classes = {"Array", "Check", "Histogram", "Lock", "Run", "Server", "Validator"}
    assert public - classes - APART - set(FUNCTIONS) == {
        *("ABI", "BUCKETS", "HAS_SERVER", "MAX_THREADS"),
        *("LITMUS_ADDRESS", "LITMUS_CODES", "LITMUS_MAX_LOCATIONS", "LITMUS_MAX_THREADS"),
        "LITMUS_NONE",
    }


@given(st.sampled_from(FUNCTIONS), st.lists(JUNK, max_size=3))
def test_functions_take_anything(name: str, args: list[Any]) -> None:
    tolerate(getattr(_core, name), *args)


@given(PLACES, INTEGERS)
@example("cpus:0-4294967295", 2)
def test_place_takes_anything(place: str, threads: int) -> None:
    placed = tolerate(_core.place, place, threads)
    assert placed is None or len(placed) == threads


@given(EVENTS)
def test_perf_probe_takes_anything(name: str) -> None:
    tolerate(_core.perf_probe, name)


# Numbers near what an operation may hold, and what a program of few small threads may have.
OPS = st.tuples(
    *(st.integers(0, 30) for _ in range(2)),
    *(st.sampled_from([0, 1, 23, 24, 255]) for _ in range(4)),
    *(st.integers(0, 3) for _ in range(3)),
    st.integers(0, 2**64 - 1),
)
LITMUS_THREADS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 24), st.integers(0, 2**64 - 1)), max_size=2),
        st.lists(OPS, max_size=4),
    ),
    max_size=3,
)
LITMUS_LOCATIONS = st.lists(st.tuples(st.integers(0, 9), INTEGERS), max_size=3)
LITMUS_OBSERVED = st.lists(
    st.tuples(st.sampled_from([0, 1, 9, 255]), st.integers(0, 30), st.integers(0, 9)), max_size=3
)


@given(
    st.one_of(LITMUS_THREADS, JUNK),
    st.one_of(LITMUS_LOCATIONS, JUNK),
    st.one_of(LITMUS_OBSERVED, JUNK),
    st.one_of(st.sampled_from(["sc", "tso"]), TEXT),
    st.one_of(st.integers(0, 2), JUNK),
)
@example([([], [(5, 4, 0, 255, 255, 255, 0, 0, 1, 1)])] * 3, [(4, 0)], [(255, 0, 4)], "tso", 1)
def test_litmus_takes_anything(
    threads: Any, locations: Any, observed: Any, memory: str, turns: Any
) -> None:
    tolerate(_core.litmus, threads, locations, observed, memory, turns, 1000, 0.5)


@given(INTEGERS, INTEGERS)
@settings(max_examples=25)
def test_regime_takes_anything(a: int, b: int) -> None:
    tolerate(_core.regime, a, b)


# --- values -------------------------------------------------------------------------------------


def methods(of: object) -> list[str]:
    return [name for name in dir(of) if not name.startswith("__") or name in ("__len__",)]


def prod(of: object, name: str, args: list[Any]) -> None:
    """Call a method, or read and write an attribute."""
    member = tolerate(getattr, of, name)
    if callable(member):
        tolerate(member, *args)
    elif args:
        with pytest.raises(AttributeError):
            setattr(of, name, args[0])


@given(st.data())
def test_arrays_and_histograms_take_anything(data: st.DataObject) -> None:
    histogram = _core.Histogram()
    for _ in range(4):
        of = data.draw(st.sampled_from([histogram, histogram.buckets, _core.bucket_upper()]))
        name = data.draw(st.sampled_from(methods(of)))
        prod(of, name, data.draw(st.lists(st.one_of(JUNK, st.just(histogram)), max_size=2)))
        assert sum(histogram.buckets.tolist()) == histogram.count


@given(st.lists(JUNK, max_size=3), st.data())
def test_validators_take_anything(args: list[Any], data: st.DataObject) -> None:
    tolerate(_core.Validator, *args)
    validator = _core.Validator()
    for _ in range(4):
        name = data.draw(st.sampled_from(methods(validator)))
        prod(validator, name, data.draw(st.lists(JUNK, max_size=2)))
    tolerate(_core.Lock, "spin/tas", *args, validator)
    assert validator.found()["reports"] == []


@pytest.mark.parametrize(
    "of",
    [
        _core.Histogram(),
        _core.bucket_upper(),
        _core.Lock("spin/tas"),
        _core.check_start({"lock": "spin/tas", "threads": 1, "n": 1}),
    ],
    ids=repr,
)
def test_objects_can_be_neither_copied_nor_pickled(of: object) -> None:
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            call(of)


# --- plans and runs -----------------------------------------------------------------------------


@given(st.one_of(PLANS, JUNK))
def test_validate_takes_anything(plan: Any) -> None:
    tolerate(_core.validate, plan)


@given(PLANS, st.sampled_from(LOCKS), st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_start_runs_whatever_is_valid(
    plan: dict[str, Any], lock: str, threads: int, repeat: int
) -> None:
    """Kept short and small; a run that was accepted ends with a whole result when it is stopped."""
    bounds = {"seconds": 0.001, "warmup_s": 0.0, "threads": threads, "repeat": repeat}
    plan = plan | bounds | {"lock": lock}
    run = tolerate(_core.start, plan)
    if run is None:
        for key in ("place", "settings", "perf", "workload"):
            plan.pop(key, None)
        run = tolerate(_core.start, plan)
    if run is None:
        return
    run.stop()
    assert run.wait(100)
    result = run.result()
    assert result["status"] in ("complete", "interrupted", "hung")
    assert len(result["acquisitions"].tolist()) == threads


@pytest.fixture(scope="module")
def finished() -> _core.Run:
    run = _core.start({"lock": "spin/tas", "seconds": 0.002, "warmup_s": 0.0})
    assert run.wait(60)
    return run


@given(data=st.data())
def test_the_methods_of_a_run_take_anything(finished: _core.Run, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(methods(finished)))
    prod(finished, name, data.draw(st.lists(JUNK, max_size=2)))
    assert finished.wait(0)


# --- checks -------------------------------------------------------------------------------------

CHECK_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "lock": NAMES,
    "client": st.one_of(st.sampled_from([c["id"] for c in _core.clients()]), TEXT),
    "threads": INTEGERS,
    "n": INTEGERS,
    "writers": INTEGERS,
    "orders": TEXT,
    "strategy": st.one_of(st.sampled_from(["auto", "dfs", "pct", "random"]), TEXT),
    "memory": st.one_of(st.sampled_from(["tso", "sc"]), TEXT),
    "bound": INTEGERS,
    "giveups": INTEGERS,
    "starvation": st.booleans(),
    "first": st.booleans(),
    "races": st.booleans(),
    "budget": INTEGERS,
    "seconds": st.floats(max_value=0.01) | st.just(float("nan")),
    "seed": INTEGERS,
    "settings": SETTINGS,
}
CHECKS = st.fixed_dictionaries(
    {"seconds": CHECK_VALUES["seconds"]},
    optional={k: st.one_of(v, JUNK) for k, v in CHECK_VALUES.items() if k != "seconds"},
)
SMALL_CHECKS = st.fixed_dictionaries(
    {"lock": st.sampled_from(LOCKS), "seconds": st.floats(0.0001, 0.01)},
    optional={
        **{k: CHECK_VALUES[k] for k in ("starvation", "first", "races", "seed")},
        **{k: CHECK_VALUES[k] for k in ("client", "strategy", "memory")},
        "threads": st.integers(0, 9),
        "n": st.integers(0, 65),
        "writers": st.integers(0, 4),
        "orders": st.text("abAB", max_size=5),
        "bound": st.integers(0, 4),
        "giveups": st.integers(0, 9),
        "budget": st.integers(0, 3000),
    },
)


def end_of(check: _core.Check | None) -> _core.CheckResult | None:
    """The result of a check that was accepted."""
    if check is None:
        return None
    assert check.wait(60)
    found = check.result()
    assert (found["verdict"] == "fault") == bool(found["faults"])
    return found


@given(st.one_of(CHECKS, JUNK))
def test_check_start_takes_anything(plan: Any) -> None:
    if isinstance(plan, dict) and not isinstance(plan.get("seconds"), float):
        plan["seconds"] = 0.001  # else 10 s
    end_of(tolerate(_core.check_start, plan))


@given(SMALL_CHECKS)
@settings(max_examples=200)
def test_whatever_can_be_checked_ends_with_a_verdict(plan: dict[str, Any]) -> None:
    found = end_of(tolerate(_core.check_start, plan))
    for fault in found["faults"] if found else ():
        assert fault["text"]
        if fault["schedule"]:
            again = end_of(_core.check_replay(fault["schedule"]))
            assert again is not None
            assert again["verdict"] == "fault"
            if fault["kind"] == "exclusion":
                assert [f["kind"] for f in again["faults"]] == ["exclusion"]


def hash_of(lock: str) -> str:
    """Of the lock's code, as the refusal of a wrong one tells it."""
    try:
        _core.check_replay(f"{lock}:2x1:xxxxxx:")
    except LocklabError as error:
        return str(error).partition("this one is ")[2][:6]
    raise AssertionError("a wrong hash was accepted")


SCHEDULES = st.builds(
    "{}{}:{}:{}:{}{}".format,
    st.sampled_from(["spin/none", "spin/mcs", "rwsem/wakeup-flag", "spin/", ""]),
    st.sampled_from(["", "", "@mutex", "@shared", "@", "@try", "@nobody"]),
    st.one_of(
        st.from_regex(r"[0-9]{1,3}x[0-9]{1,3}(w[0-9]{1,2})?(g[0-9])?s?", fullmatch=True),
        st.sampled_from(["2x1", "3x1w2", "8x64", "1x1", "0x0", "2x0", "3x1w0", "3x1w3g0s"]),
    ),
    st.sampled_from(
        [*(hash_of(lock) for lock in ("spin/none", "spin/mcs", "rwsem/wakeup-flag")), "x", ""]
    ),
    st.sampled_from(["", "", "steal=fast:", "a=1:", "=:", "a=1,b=2:", ",=,:", "steal=:", "::"]),
    st.one_of(
        st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", max_size=60),
        TEXT,
    ),
)


@given(SCHEDULES)
@example("spin/none:2x1::")
@example(":::::::")
@example("spin/none:2x1:" + hash_of("spin/none") + ":" + "_" * 4000)
@settings(max_examples=400)
def test_a_schedule_of_anything_is_run_or_refused(schedule: str) -> None:
    end_of(tolerate(_core.check_replay, schedule))


@given(st.one_of(TEXT, JUNK, st.integers(1, 2**20).map(lambda n: "A:" * n)))
@example("A" * 2**20)
@example("spin/none:2x1:" + "0" * 2**20)
@example("spin/none:2x1:000000:" + "A" * 2**20)
@example("spin/none\0:2x1:000000:")
@example(":" * 2**20)
@settings(suppress_health_check=[HealthCheck.large_base_example, HealthCheck.data_too_large])
def test_check_replay_takes_anything(schedule: Any) -> None:
    end_of(tolerate(_core.check_replay, schedule))


@given(data=st.data())
def test_the_methods_of_a_check_take_anything(data: st.DataObject) -> None:
    check = _core.check_start({"lock": "spin/tas", "threads": 2, "n": 1, "seconds": 0.001})
    assert check.wait(60)
    for _ in range(3):
        prod(
            check, data.draw(st.sampled_from(methods(check))), data.draw(st.lists(JUNK, max_size=2))
        )
    assert check.wait(0)


# --- Lock ---------------------------------------------------------------------------------------


@given(st.one_of(NAMES, JUNK), SETTINGS)
def test_lock_takes_anything(name: Any, pairs: Any) -> None:
    lock = tolerate(_core.Lock, name, pairs)
    if lock is not None:
        with lock:
            assert lock.held
        lock.close()


# acquire without a limit could wait for ever, so it gets none of the junk that means no limit.
LIMITS = st.one_of(st.floats(0, 0.002), st.sampled_from(["1", None, True, 1j, float("nan")]))


class LockMachine(RuleBasedStateMachine):
    """One lock, its own thread and another one, against a model of who holds it."""

    def __init__(self) -> None:
        super().__init__()
        self.lock: Any = None
        self.held: str | None = None  # by this thread: "exclusive", "shared"

    @precondition(lambda self: self.lock is None)
    @rule(name=st.sampled_from([name for name in LOCKS if name != "spin/none"]))
    def make(self, name: str) -> None:
        self.lock = _core.Lock(name)
        info = next(lock for lock in _core.locks() if lock["id"] == name)
        self.has_try, self.is_shared = info["has_try"], info["kind"] == "shared"

    @precondition(lambda self: self.lock is not None)
    @rule(shared=st.booleans(), limited=st.booleans())
    def acquire(self, shared: bool, limited: bool) -> None:
        call = lambda: self.lock.acquire(shared, 60.0 if limited else -1.0)  # noqa: E731
        if shared and not self.is_shared:
            with pytest.raises(Unsupported):
                call()
        elif self.held:
            with pytest.raises(RunError, match="already"):
                call()
        elif limited and not self.has_try:
            with pytest.raises(Unsupported):
                call()
        else:
            assert call() is True
            self.held = "shared" if shared else "exclusive"

    @precondition(lambda self: self.lock is not None)
    @rule(shared=st.booleans())
    def release(self, shared: bool) -> None:
        if self.held == ("shared" if shared else "exclusive"):
            self.lock.release(shared)
            self.held = None
        else:
            with pytest.raises(RunError, match="does not hold"):
                self.lock.release(shared=shared)

    @precondition(lambda self: self.lock is not None and self.has_try)
    @rule()
    def another_thread_tries(self) -> None:
        seen: list[bool] = []

        def attempt() -> None:
            seen.append(self.lock.acquire(timeout=0))
            if seen[0]:
                self.lock.release()

        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
        assert seen == [self.held is None]

    @precondition(lambda self: self.lock is not None)
    @rule(args=st.lists(JUNK, max_size=1), limit=LIMITS)
    def junk(self, args: list[Any], limit: Any) -> None:
        if args and not isinstance(args[0], bool):
            with pytest.raises(TypeError):
                self.lock.acquire(args[0], limit)
            with pytest.raises(TypeError):
                self.lock.release(args[0])
        if not isinstance(limit, float) or limit != limit:
            with pytest.raises((TypeError, LocklabError)):
                self.lock.acquire(False, limit)

    @precondition(lambda self: self.lock is not None)
    @rule()
    def close(self) -> None:
        if self.held:
            with pytest.raises(RunError, match="holds the lock"):
                self.lock.close()
            return
        self.lock.close()
        with pytest.raises(RunError, match="closed"):
            self.lock.acquire()
        self.lock = None

    @invariant()
    def held_is_told(self) -> None:
        assert self.lock is None or self.lock.held == (self.held is not None)

    def teardown(self) -> None:
        if self.held:
            self.lock.release(shared=self.held == "shared")


TestLockMachine = LockMachine.TestCase
TestLockMachine.settings = settings(max_examples=40, stateful_step_count=25)


# --- Server -------------------------------------------------------------------------------------

OPTIONS = st.fixed_dictionaries(
    {
        "host": st.one_of(st.sampled_from(["127.0.0.1", "localhost", "::1", "0.0.0.0"]), JUNK),
        "port": st.one_of(st.just(0), JUNK),
        "rate_hz": st.one_of(st.floats(), JUNK),
        "max_clients": st.one_of(st.integers(0, 20), JUNK),
    },
    optional={
        "token": st.one_of(st.none(), TEXT, JUNK),
        "assets": st.one_of(
            st.lists(
                st.tuples(TEXT, TEXT, TEXT, st.binary(max_size=9), st.none() | st.binary()),
                max_size=2,
            ),
            JUNK,
        ),
        "more": JUNK,
    },
)


@pytest.mark.dashboard
@given(st.one_of(OPTIONS, JUNK))
def test_server_takes_anything(options: Any) -> None:
    server = tolerate(_core.Server, options)
    if server is not None:
        server.stop()


@pytest.mark.dashboard
def test_the_methods_of_a_server_take_anything(finished: _core.Run) -> None:
    server = _core.Server({"host": "127.0.0.1", "port": 0, "rate_hz": 10.0, "max_clients": 4})
    values = st.one_of(JUNK, TEXT, st.just(finished))

    @given(st.sampled_from(methods(server)), st.lists(values, max_size=5))
    def prod_it(name: str, args: list[Any]) -> None:
        if name == "next_request" and (not args or args[0] is None or args[0] == float("inf")):
            return  # waits for ever, as it should
        if name == "next_request" and isinstance(args[0], (int, float)) and args[0] > 0:
            args[0] = 0.001
        if name == "stop":
            return
        prod(server, name, args)
        with contextlib.suppress(RunError):
            assert server.port > 0

    prod_it()
    server.stop()
    server.stop()
