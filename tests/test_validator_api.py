# SPDX-License-Identifier: MIT
"""locklab.Validator: locks that Python threads take, what is reported of them, and what is not."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import locklab

IDS = ("spin/tas", "mutex/mcs", "rwsem/3.12", "host/pthread-rwlock", "host/pthread-mutex")


def in_thread(work: Callable[[], object]) -> None:
    errors: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except BaseException as error:  # told to the caller
            errors.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def kinds(validator: locklab.Validator) -> list[str]:
    return [report.kind for report in validator.reports]


def test_an_inversion_is_seen_without_a_deadlock() -> None:
    v = locklab.Validator()
    a, b = v.lock("mutex/mcs", "a"), v.lock("mutex/mcs", "b")
    with a, b:
        pass

    def other_way() -> None:
        with b, a:
            pass

    in_thread(other_way)
    (report,) = v.reports
    assert report.kind == "inversion"
    assert "asks for a while it holds b" in report.text
    assert report.text.endswith("b -> a -> b")
    assert [e["lock"] for e in report.held] == ["b", "a"]
    assert [e["lock"] for e in report.other] == ["a", "b"]
    assert [(k["from"], k["to"]) for k in report.cycle] == [("b", "a"), ("a", "b")]
    for site in (report.site, report.cycle[1]["to_site"]):
        assert site is not None
        assert site["file"] == __file__
    assert report.site is not None
    assert report.site["function"] == "other_way"
    assert report.site["line"] == other_way.__code__.co_firstlineno + 1
    text = str(report).splitlines()
    assert text[0].startswith("inversion: thread ")
    assert any(line.startswith("    a (exclusive) at ") for line in text)
    with pytest.raises(locklab.OrderViolated, match="inversion") as caught:
        v.raise_for_reports()
    assert caught.value.reports == [report]


def test_as_a_context_manager_it_judges_at_the_end() -> None:
    with locklab.Validator() as v, v.lock("spin/mcs", "a"):
        pass

    def judged(divisor: int) -> None:
        with locklab.Validator() as v:
            locks = [v.lock("mutex/mcs", "leaf") for _ in range(2)]
            with locks[0], locks[1]:
                assert 1 // divisor

    with pytest.raises(locklab.OrderViolated, match="same-class"):
        judged(1)
    with pytest.raises(ZeroDivisionError):  # the first error counts
        judged(0)


def test_nests_and_subclasses() -> None:
    v = locklab.Validator()
    outer = v.lock("rwsem/3.12", "outer")
    leaves = [v.lock("spin/tas", "leaf") for _ in range(100)]
    with outer:
        for leaf in leaves:
            leaf.acquire(outer=outer)
        for leaf in leaves:
            leaf.release()
    parent, child = v.lock("mutex/mcs", "dir"), v.lock("mutex/mcs", "dir", subclass=1)
    with parent, child:
        pass
    assert v.reports == []
    leaves[0].acquire(outer=outer)
    leaves[0].release()
    assert kinds(v) == ["nest-not-held"]
    with child, parent:
        pass
    assert kinds(v) == ["nest-not-held", "inversion"]


def test_misuse_is_reported_and_refused() -> None:
    v = locklab.Validator()
    lock = v.lock("rwsem/3.12", "a")
    with lock:
        with pytest.raises(locklab.RunError, match="holds the lock already"):
            lock.acquire()
        with pytest.raises(locklab.RunError):
            lock.release(shared=True)
    with pytest.raises(locklab.RunError):
        lock.release()
    assert kinds(v) == ["recursion", "wrong-mode", "not-held"]
    with lock, pytest.raises(locklab.RunError):
        in_thread(lock.release)
    assert kinds(v) == ["recursion", "wrong-mode", "not-held", "not-owner"]


LEAKS = pytest.mark.filterwarnings("ignore:a locklab lock was dropped while held:ResourceWarning")


@LEAKS
def test_a_thread_that_ends_with_a_lock_is_reported() -> None:
    v = locklab.Validator()
    lock = v.lock("mutex/mcs", "a")
    in_thread(lock.acquire)
    until = time.monotonic() + 30  # Python's join does not wait for the end of the system's thread
    while not kinds(v) and time.monotonic() < until:
        time.sleep(0.001)
    assert kinds(v) == ["exit-held"]


def test_sleeping_inside_a_spin_lock() -> None:
    v = locklab.Validator()
    with v.lock("spin/ticket", "a"), v.lock("mutex/mcs", "b"):
        pass
    tried = v.lock("mutex/mcs", "c")
    with v.lock("spin/ticket", "a"):
        assert tried.acquire(timeout=0)
        tried.release()
    assert kinds(v) == ["sleep-in-spin"]


def test_a_timeout_leaves_no_trace() -> None:
    v = locklab.Validator()
    a, b = v.lock("mutex/mcs", "a"), v.lock("mutex/mcs", "b")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with a:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert not a.acquire(timeout=0.01)
    assert not a.acquire(timeout=0)
    done.set()
    thread.join()
    with b, a:
        pass
    assert v.reports == []


def test_reports_are_bounded() -> None:
    v = locklab.Validator(max_reports=1)
    a, b = v.lock("mutex/mcs", "a"), v.lock("mutex/mcs", "b")
    for lock in (a, b, a):
        with pytest.raises(locklab.RunError):
            lock.release()
    assert len(v.reports) == 1
    assert v.reports[0].count == 2
    assert v.to_dict()["dropped"] == 1


MISTAKES: list[tuple[Callable[[locklab.Validator], object], type[Exception], str]] = [
    (lambda _: locklab.Validator(max_reports=0), locklab.ConfigError, "max_reports"),
    (lambda _: locklab.Validator(max_reports=True), TypeError, "max_reports"),
    (lambda v: v.lock("spin/mcss", "a"), locklab.UnknownName, "spin/mcs"),
    (lambda v: v.lock("spin/mcs", ""), locklab.ConfigError, "name of 0 characters"),
    (lambda v: v.lock("spin/mcs", "x" * 64), locklab.ConfigError, "1 to 63"),
    (lambda v: v.lock("spin/mcs", "a", subclass=8), locklab.ConfigError, "outside 0 to 7"),
    (lambda v: (v.lock("spin/mcs", "a"), v.lock("mutex/mcs", "a")), locklab.ConfigError, "kind"),
    (lambda _: locklab.Lock("spin/mcs", name="a"), locklab.ConfigError, "need a validator"),
    (lambda _: locklab.Lock("spin/mcs", validator=cast(Any, 1)), TypeError, "must be a Validator"),
    (lambda v: v.lock("spin/mcs").acquire(outer=cast(Any, 1)), TypeError, "outer must be a Lock"),
    (
        lambda v: v.lock("spin/mcs").acquire(outer=locklab.Lock("spin/mcs")),
        locklab.ConfigError,
        "one validator",
    ),
]


@pytest.mark.parametrize(("act", "error", "text"), MISTAKES)
def test_mistakes_are_told(
    act: Callable[[locklab.Validator], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        act(locklab.Validator())


def test_validators_come_and_go() -> None:
    """Threads let go of those whose locks are gone."""
    for _ in range(300):
        v = locklab.Validator()
        with v.lock("spin/tas", "a"):
            pass


def test_threads_at_once() -> None:
    v = locklab.Validator()
    locks = [v.lock(id, f"{i}") for i, id in enumerate(("rwsem/3.12", "mutex/mcs", "mutex/nospin"))]

    def work() -> None:
        for _ in range(200):
            with locks[0], locks[1], locks[2]:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.reports == []
    assert {(e["from"], e["to"]) for e in v.to_dict()["edges"]} == {
        ("0", "1"),
        ("0", "2"),
        ("1", "2"),
    }


# ---- any program ----

ordered = st.lists(
    st.tuples(st.sampled_from(["take", "try", "drop", "read"]), st.integers(0, 7)), max_size=60
)


@settings(max_examples=60, deadline=None)
@given(ordered, st.lists(st.sampled_from(IDS[1:]), min_size=8, max_size=8))
def test_programs_in_one_order_are_silent(steps: list[tuple[str, int]], ids: list[str]) -> None:
    """Locks are waited for upwards alone; given back, and tried, in any order."""
    v = locklab.Validator()
    locks = [v.lock(id, str(i)) for i, id in enumerate(ids)]
    held: dict[int, bool] = {}
    for verb, i in steps:
        shared = verb == "read" and "rw" in ids[i]
        if verb == "drop" and held:
            which = sorted(held)[i % len(held)]
            locks[which].release(shared=held.pop(which))
        elif verb == "try" and i not in held:
            locks[i].acquire(timeout=0)
            held[i] = False
        elif verb in ("take", "read") and i > max(held, default=-1):
            locks[i].acquire(shared=shared)
            held[i] = shared
    for i, shared in held.items():
        locks[i].release(shared=shared)
    assert v.reports == []


@LEAKS
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["acquire", "release", "read", "done", "try", "nest", "close"]),
            st.integers(0, 4),
            st.integers(0, 4),
            st.integers(0, 2),
        ),
        max_size=60,
    )
)
def test_any_program_ends_in_documented_errors(steps: list[tuple[str, int, int, int]]) -> None:
    v = locklab.Validator(max_reports=3)
    locks = [v.lock(id, id, subclass=i % 2) for i, id in enumerate(IDS)]
    acts: dict[str, Callable[[Any, Any], object]] = {
        "acquire": lambda x, _: x.acquire(timeout=0.0005),
        "release": lambda x, _: x.release(),
        "read": lambda x, _: x.acquire(shared=True, timeout=0.0005),
        "done": lambda x, _: x.release(shared=True),
        "try": lambda x, _: x.acquire(timeout=0),
        "nest": lambda x, y: x.acquire(timeout=0.0005, outer=y),
        "close": lambda x, _: x.close(),
    }
    for verb, i, k, where in steps:

        def act(verb: str = verb, i: int = i, k: int = k) -> None:
            with suppress(locklab.LocklabError):
                acts[verb](locks[i], locks[k])

        if where:
            act()
        else:
            in_thread(act)
    known = {"recursion", "upgrade", "not-held", "not-owner", "wrong-mode", "exit-held"}
    known |= {"inversion", "same-class", "nest-not-held", "sleep-in-spin", "held-overflow"}
    known |= {"copied", "free-held"}
    assert set(kinds(v)) <= known
    for lock in locks:  # what is held is leaked on purpose
        for shared in (False, True):
            with suppress(locklab.LocklabError):
                lock.release(shared=shared)
