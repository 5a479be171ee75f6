# SPDX-License-Identifier: MIT
"""Starting runs and waiting for them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from locklab import _core
from locklab.environment import load_average
from locklab.errors import RunError, RunTimeout, Unsupported
from locklab.plan import Plan
from locklab.stats import need_scipy

if TYPE_CHECKING:
    from locklab.result import Result

_TICK_S = 0.1  # between two calls of `progress`
_GRACE_S = 2.0  # that a second Ctrl-C leaves the run to end

_abandoned: list[_core.Run] = []  # dropping the last reference would wait for the run after all

os.register_at_fork(after_in_child=_core.after_fork_child)

Params = Mapping[str, float | bool | str]
Progress = Callable[[dict[str, Any]], object]


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Keep a Ctrl-C until the block has ended, so that it cannot be torn in the middle.

    Elsewhere than in the main thread Python delivers none anyway.
    """
    held: list[Any] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *what: held.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held and callable(before):
        before(*held[0])


class Handle:
    """A run in the background, from :func:`start`; a context manager that stops it at its end.

    It measures on whether or not anybody looks. All methods may be called from any thread.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._load = load_average()
        if (
            plan.overhead
        ):  # its interval needs it at the end, where a slow import would be in the way
            with suppress(Unsupported):
                need_scipy("the interval of --overhead")
        self._run = _core.start(plan.for_core())
        self._result: Result | None = None
        self._lock = threading.Lock()

    @property
    def config(self) -> dict[str, Any]:
        """The `config` of the document to come: every argument, defaults filled in."""
        return self.plan.config()

    @property
    def core(self) -> _core.Run:
        """The run of the C core, for the server that streams it."""
        return self._run

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._run.wait(0)

    def snapshot(self) -> dict[str, Any]:
        """A picture of the run under way.

        Returns
        -------
        dict
            ``phase`` (start, warmup, measure, drain, overhead, done), ``repeat`` (index of the
            current one), ``t_s`` (since its measured phase began), ``elapsed_s`` and
            ``expected_s`` (of the whole run), ``acquisitions`` (list: of the current repeat, by
            thread), ``overlap``, ``wait_ns`` and ``hold_ns`` (histograms as in the document,
            over all repeats so far). Each number is whole, they may be of slightly different
            moments; taking it writes no memory of the measured threads.
        """
        from locklab.document import histogram

        raw: dict[str, Any] = dict(self._run.snapshot())
        return raw | {
            "wait_ns": histogram(raw.pop("wait"), "wait_ns", {}),
            "hold_ns": histogram(raw.pop("hold"), "hold_ns", {}),
        }

    def progress(self) -> dict[str, Any]:
        """The cheap part of :meth:`snapshot`: all but the histograms."""
        raw: dict[str, Any] = dict(self._run.snapshot())
        del raw["wait"], raw["hold"]
        return raw

    def stop(self) -> None:
        """Ask the run to end now; what it has measured until then is a valid result."""
        self._run.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended, or for `timeout` seconds; True if it has.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C was pressed (main thread only): the run is stopped, and the exception bears
            the partial :class:`Result` as ``.result`` (None if a second Ctrl-C gave up on it).
        """
        try:
            return self._run.wait(timeout)
        except KeyboardInterrupt as interrupt:
            raise self._interrupted(interrupt) from None

    def result(self) -> Result:
        """Wait for the end and return the result, the same object at every call.

        Raises
        ------
        RunTimeout
            The run hung: nobody acquired the lock for ``watchdog_s`` seconds. ``.result`` is the
            document until then; its ``waiters`` say who waited where.
        RunError
            The run failed; ``.result`` is what it measured before.
        KeyboardInterrupt
            As in :meth:`wait`.
        """
        self.wait()
        try:
            result = self._finish()
        except KeyboardInterrupt as interrupt:  # it came after the measuring: nothing is lost
            interrupt.result = self._result  # type: ignore[attr-defined]
            raise
        if "failure" not in result:
            return result
        kind: type[RunError] = RunTimeout if result["failure"]["kind"] == "hung" else RunError
        error = kind(result["failure"]["text"], code="ETIMEDOUT" if kind is RunTimeout else "")
        error.result = result
        raise error

    def _finish(self) -> Result:
        from locklab.document import build
        from locklab.result import Result

        with held_interrupts(), self._lock:
            if self._result is None:
                self._result = Result(*build(self.plan, self._run.result(), self._load))
        return self._result

    def _interrupted(self, interrupt: KeyboardInterrupt) -> KeyboardInterrupt:
        """Stop and wait; a second Ctrl-C leaves the run to itself after 2 s."""
        self._run.stop()
        ended = False
        try:
            ended = self._run.wait(None)
        except KeyboardInterrupt:
            deadline = monotonic() + _GRACE_S
            while not ended and monotonic() < deadline:
                try:
                    ended = self._run.wait(deadline - monotonic())
                except KeyboardInterrupt:
                    continue
        if not ended:
            _abandoned.append(self._run)
        interrupt.result = self._finish() if ended else None  # type: ignore[attr-defined]
        return interrupt

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, KeyboardInterrupt):
            if not hasattr(exc, "result"):
                self._interrupted(exc)
            return
        self.stop()
        self.wait()


def start(
    lock: str,
    workload: str = "critical-section",
    *,
    threads: int = 2,
    seconds: float = 1.0,
    engine: str = "native",
    machine: str | None = None,
    seed: int | None = None,
    params: Params | None = None,
    place: str = "compact",
    repeat: int = 1,
    perf: str | Iterable[str] | None = None,
    validate: bool = False,
    metrics: str = "full",
    overhead: bool = False,
    warmup_s: float = 0.1,
    build: str = "instrumented",
    owner_run: str = "coop",
    heartbeat_s: float = 50e-6,
    resched: str = "budget",
    resched_budget_ns: int = 100_000,
    hz: int = 250,
    watchdog_s: float = 10.0,
    tick_s: float = 0.1,
) -> Handle:
    """Start a run and return at once; the arguments are those of :func:`run`."""
    return Handle(Plan.of(**locals()))  # all arguments, nothing else is bound yet


def run(
    lock: str,
    workload: str = "critical-section",
    *,
    threads: int = 2,
    seconds: float = 1.0,
    engine: str = "native",
    machine: str | None = None,
    seed: int | None = None,
    params: Params | None = None,
    place: str = "compact",
    repeat: int = 1,
    perf: str | Iterable[str] | None = None,
    validate: bool = False,
    metrics: str = "full",
    overhead: bool = False,
    warmup_s: float = 0.1,
    build: str = "instrumented",
    owner_run: str = "coop",
    heartbeat_s: float = 50e-6,
    resched: str = "budget",
    resched_budget_ns: int = 100_000,
    hz: int = 250,
    watchdog_s: float = 10.0,
    tick_s: float = 0.1,
    progress: Progress | None = None,
) -> Result:
    """Let threads compete for a lock and measure.

    Parameters
    ----------
    lock, workload
        Ids of :func:`locks` and :func:`workloads`.
    threads
        1 to 1,024. More than CPUs is allowed and says something else: who loses its CPU where.
    seconds, warmup_s
        Measured time of each repeat (0.001 to 86,400 s), and the unmeasured time before it.
    engine, machine, validate
        ``"native"``, None and False; the simulator, its machine models and the order validator
        come with later releases.
    seed
        Of every random choice of the workload, 0 to 2**64 - 1; None is 1. It stands in `config`.
    params
        Parameters of the lock or the workload by name, ``lock.NAME`` or ``workload.NAME`` where
        both have it: ``{"section_ns": 0, "think_ns": 0}``.
    place
        Threads on CPUs: ``compact``, ``scatter``, ``interleave:K``, ``nodes:LIST``, ``cpus:LIST``.
    repeat
        1 to 1,000 repeats; each is kept in the result's ``repeats``, the other figures pool them.
    perf
        Events to count, as a list or comma-separated: libpfm4 names such as ``cycles`` or
        ``context-switches``. What cannot be counted is None, with the reason.
    metrics
        ``"full"``, or ``"events"``: counters without times, which costs less.
    overhead
        Afterwards, compare the bare build with the instrumented one in interleaved blocks.
    build
        ``"instrumented"``, or ``"bare"``: the lock without any counter.
    owner_run, heartbeat_s
        How a waiter judges whether the holder is on a CPU: ``coop`` (it says so itself before it
        sleeps in the lock), ``heartbeat`` (a sign of life younger than `heartbeat_s`),
        ``switch-rec`` (the kernel's context-switch records), ``sample`` (procfs, every
        millisecond), ``always``, ``never``.
    resched, resched_budget_ns, hz
        What ends spinning before the lock is got: ``budget`` (a spin phase of
        `resched_budget_ns`), ``tick`` (`hz` times a second, on a CPU that more than one thread
        wants), ``never``.
    watchdog_s
        No acquisition by anybody for so long ends the run as hung.
    tick_s
        Period of the result's ``series``.
    progress
        Called about every 0.1 s, in this thread, with the dict of :meth:`Handle.progress`.

    Returns
    -------
    Result
        Source ``native``: measured on this host. An `overlap` above 0 does not raise.

    Raises
    ------
    ConfigError, UnknownName, Unsupported
        A value is out of range, a name unknown (the nearest is suggested), or not in this build.
    RunTimeout, RunError
        The run hung or failed; ``.result`` is the document until then.
    KeyboardInterrupt
        Ctrl-C; ``.result`` is the partial Result, status ``interrupted``.
    """
    with Handle(Plan.of(**{k: v for k, v in locals().items() if k != "progress"})) as handle:
        if progress is not None:
            while not handle.wait(_TICK_S):
                progress(handle.progress())
        return handle.result()
