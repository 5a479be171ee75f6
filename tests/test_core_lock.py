# SPDX-License-Identifier: MIT
"""Lock: every lock of the catalogue between Python threads."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from locklab import _core
from locklab.errors import ConfigError, RunError, UnknownName, Unsupported

pytestmark = pytest.mark.native
LOCKS = {lock["id"]: lock for lock in _core.locks()}
EXCLUDING = [name for name, lock in LOCKS.items() if "broken" not in lock["claims"]]
SHARED = [name for name, lock in LOCKS.items() if lock["kind"] == "shared"]
TRYING = [name for name in EXCLUDING if LOCKS[name]["has_try"]]
QUEUED = [
    name for name in EXCLUDING if not LOCKS[name]["has_try"] and LOCKS[name]["kind"] == "exclusive"
]


class Holder:
    """Another thread that holds a lock until it is told to let go."""

    def __init__(self, lock: _core.Lock, *, shared: bool = False) -> None:
        self._lock, self._shared = lock, shared
        self._has, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self) -> None:
        self._lock.acquire(shared=self._shared)
        self._has.set()
        self._end.wait()
        self._lock.release(shared=self._shared)

    def __enter__(self) -> None:
        self._thread.start()
        self._has.wait()

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(RunError) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize("name", EXCLUDING)
def test_a_lock_excludes(name: str) -> None:
    lock = _core.Lock(name)
    inside = most = turns = 0

    def work() -> None:
        nonlocal inside, most, turns
        for _ in range(30):
            with lock:
                inside += 1
                most = max(most, inside)
                turns += 1
                time.sleep(0)  # gives the GIL away inside the section
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside, turns) == (1, 0, 60)
    lock.close()


def test_a_broken_lock_does_not_exclude() -> None:
    lock = _core.Lock("spin/none")
    with Holder(lock):
        assert lock.acquire()
        lock.release()


@pytest.mark.parametrize("name", SHARED)
def test_shared_holders_share(name: str) -> None:
    lock = _core.Lock(name)
    with Holder(lock, shared=True):
        assert lock.acquire(shared=True)
        lock.release(shared=True)
        assert lock.acquire(timeout=0) is False
    assert lock.acquire()
    lock.release()


def test_shared_mode_is_refused_where_there_is_none() -> None:
    with pytest.raises(Unsupported, match="shared"):
        _core.Lock("spin/ticket").acquire(shared=True)


@pytest.mark.parametrize("name", EXCLUDING)
def test_misuse_is_an_error(name: str) -> None:
    lock = _core.Lock(name)
    assert code_of(lock.release) == "EPERM"
    lock.acquire()
    assert code_of(lock.acquire) == "EDEADLK"
    assert code_of(lambda: lock.release(shared=True)) == "EPERM"
    assert code_of(lock.close) == "EBUSY"
    lock.release()
    assert code_of(lock.release) == "EPERM"
    with Holder(lock):
        assert code_of(lock.release) == "EPERM"


def test_a_closed_lock_says_so() -> None:
    lock = _core.Lock("spin/tas")
    lock.close()
    lock.close()
    for call in (lock.acquire, lock.release, lock.__enter__, lambda: lock.held):
        assert code_of(call) == "ECANCELED"


def test_close_is_refused_while_a_thread_waits() -> None:
    lock = _core.Lock("spin/tas")
    with Holder(lock):
        waiter = threading.Thread(target=lambda: lock.acquire() and lock.release())
        waiter.start()
        assert code_of(lock.close) == "EBUSY"
    waiter.join()
    lock.close()


def test_held_tells() -> None:
    lock = _core.Lock("spin/mcs")
    assert lock.held is False
    with lock:
        assert lock.held is True
    assert lock.held is False


def test_with_releases_after_an_error() -> None:
    lock = _core.Lock("spin/mcs")

    def fail() -> None:
        with lock as entered:
            assert entered is lock
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not lock.held


@pytest.mark.parametrize("name", TRYING)
def test_a_timeout_is_false_and_does_no_harm(name: str) -> None:
    lock = _core.Lock(name)
    with Holder(lock):
        assert lock.acquire(timeout=0) is False
        start = time.monotonic()
        assert lock.acquire(False, 0.03) is False
        assert time.monotonic() - start >= 0.03
    assert lock.acquire(timeout=60) is True
    lock.release()


@pytest.mark.parametrize("name", QUEUED)
def test_a_timeout_is_refused_where_there_is_no_try(name: str) -> None:
    lock = _core.Lock(name)
    with pytest.raises(Unsupported, match="timeout"):
        lock.acquire(timeout=1)
    with lock:
        pass


@pytest.mark.parametrize("timeout", [float("inf"), float("-inf"), -1, -0.5])
def test_no_time_limit_has_several_spellings(timeout: float) -> None:
    lock = _core.Lock("spin/mcs")
    assert lock.acquire(timeout=timeout)
    lock.release()


def test_bad_arguments_are_refused() -> None:
    lock = _core.Lock("spin/tas")
    with pytest.raises(ConfigError):
        lock.acquire(timeout=float("nan"))
    bad: list[tuple[object, ...]] = [(0.5,), (1,), (None,), (False, "1"), (False, None)]
    for arguments in bad:
        with pytest.raises(TypeError):
            lock.acquire(*arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        lock.__exit__(None)  # type: ignore[call-arg]
    assert not lock.held


def test_settings_are_judged() -> None:
    _core.Lock("spin/ttas-backoff", ())
    with pytest.raises(UnknownName, match="did you mean spin/mcs"):
        _core.Lock("spin/mcx")
    with pytest.raises(UnknownName):
        _core.Lock("spin/mcs", [("no_such", "1")])
    param = LOCKS["spin/ttas-backoff"]["params"][0]
    _core.Lock("spin/ttas-backoff", [(param["name"], str(param["max"]))])
    with pytest.raises(ConfigError) as caught:
        _core.Lock("spin/ttas-backoff", settings=[(param["name"], str(param["max"] + 1))])
    assert caught.value.field == param["name"]
    for wrong in (None, "ab", {"a": "b"}, [("a",)], [("a", 1)]):
        with pytest.raises(TypeError):
            _core.Lock("spin/mcs", wrong)  # type: ignore[arg-type]


# --- signals ------------------------------------------------------------------------------------


@pytest.fixture
def on_signal() -> Iterator[Callable[[Any], None]]:
    """Sets the handler of SIGUSR1, and sends that signal to this process a little later."""
    old = signal.getsignal(signal.SIGUSR1)
    timers: list[threading.Timer] = []

    def install(handler: Any) -> None:
        signal.signal(signal.SIGUSR1, handler)
        timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)))
        timers[-1].start()

    yield install
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGUSR1, old)


@pytest.mark.parametrize("name", ["spin/tas", "spin/ticket", "spin/mcs", "host/pthread-mutex"])
def test_ctrl_c_ends_a_wait(name: str, on_signal: Callable[[Any], None]) -> None:
    lock = _core.Lock(name)
    with Holder(lock):
        on_signal(signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
    # the holder's release above raised nothing: the fault is not the holder's
    if name in ("spin/tas", "host/pthread-mutex"):  # no queue to be torn out of
        assert lock.acquire()
        lock.release()
    else:
        assert code_of(lock.acquire) == "ENOTRECOVERABLE"


def test_a_handler_that_raises_nothing_does_not_end_the_wait(
    on_signal: Callable[[Any], None],
) -> None:
    lock = _core.Lock("spin/mcs")
    seen: list[int] = []
    holder = Holder(lock)
    holder.__enter__()

    def handle(number: int, frame: object) -> None:
        seen.append(number)
        threading.Thread(target=holder.__exit__).start()

    on_signal(handle)
    assert lock.acquire()
    assert seen == [signal.SIGUSR1]
    lock.release()


def test_a_handler_may_use_another_lock(on_signal: Callable[[Any], None]) -> None:
    """The wait that the handler interrupts is polled on as before."""
    lock, other = _core.Lock("spin/mcs"), _core.Lock("spin/mcs")
    calls = 0

    def handle(number: int, frame: object) -> None:
        nonlocal calls
        calls += 1
        with other:
            pass
        if calls == 1:
            on_signal(handle)
        else:
            raise KeyboardInterrupt

    with Holder(lock):
        on_signal(handle)
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
    assert calls == 2
    other.close()


def test_a_handler_cannot_acquire_what_its_thread_waits_for(
    on_signal: Callable[[Any], None],
) -> None:
    lock = _core.Lock("spin/mcs")
    codes: list[str] = []
    holder = Holder(lock)
    holder.__enter__()

    def handle(number: int, frame: object) -> None:
        codes.append(code_of(lock.acquire))
        codes.append(code_of(lock.close))
        threading.Thread(target=holder.__exit__).start()

    on_signal(handle)
    assert lock.acquire()
    lock.release()
    assert codes == ["EDEADLK", "EBUSY"]


# --- the end of a lock --------------------------------------------------------------------------


def test_a_lock_dropped_while_held_is_leaked_with_a_warning() -> None:
    locks = [_core.Lock("spin/mcs")]
    locks[0].acquire()
    with pytest.warns(ResourceWarning, match="dropped while held"):
        locks.clear()


def test_a_lock_dropped_by_a_dead_holder_is_leaked_with_a_warning() -> None:
    locks = [_core.Lock("spin/clh")]
    thread = threading.Thread(target=lambda: locks[0].acquire())
    thread.start()
    thread.join()
    assert locks[0].held
    with pytest.warns(ResourceWarning, match="dropped while held"):
        locks.clear()


def test_many_threads_come_and_go() -> None:
    lock = _core.Lock("spin/clh")
    for _ in range(200):
        thread = threading.Thread(target=lambda: lock.acquire() and lock.release())
        thread.start()
        thread.join()
    lock.close()
