# SPDX-License-Identifier: MIT
"""Checks and replays: starting them and waiting for their verdict."""

from __future__ import annotations

import re
import time
from types import TracebackType
from typing import Any, Self

from locklab import _core, arguments
from locklab.check_document import build
from locklab.check_plan import CheckPlan
from locklab.environment import load_average
from locklab.errors import ConfigError
from locklab.runs import Params, held_interrupts
from locklab.verdict import Verdict

MAX_SCHEDULE = 4096  # characters
SCHEDULE = re.compile(
    r"(?P<lock>[a-z0-9-]+/[a-z0-9.-]+)(?:@(?P<client>[a-z0-9-]+))?"
    r":(?P<threads>\d+)x(?P<n>\d+)(?:w(?P<writers>\d+))?(?:o(?P<orders>[abAB]+))?"
    r"(?:g(?P<giveups>\d+))?(?P<sc>s?)(?P<starve>p?)"
    r":[0-9a-f]{6}(?::[^\s:'\"]*=[^\s:'\"]*)?:[A-Za-z0-9_-]*"
)


class CheckHandle:
    """A check or replay in the background; a context manager that stops it at its end."""

    def __init__(self, core: _core.Check, config: dict[str, Any]) -> None:
        self._core = core
        self._config = config
        self._started_ns = time.time_ns()
        self._load = load_average()
        self._verdict: Verdict | None = None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the check has ended, or for `timeout` seconds; True if it has.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C was pressed (main thread only): the check is stopped, and the exception bears
            the :class:`Verdict` on what was explored as ``.result``.
        """
        try:
            return self._core.wait(timeout)
        except KeyboardInterrupt as interrupt:
            raise self._interrupted(interrupt) from None

    def progress(self) -> dict[str, Any]:
        """Where it is.

        Returns
        -------
        dict
            ``phase`` (``waiting``, ``0 preemptions``, ``every interleaving``, ``shrinking``, ...),
            ``n`` and ``writers`` of the present search, ``executions``, ``faults``, ``elapsed_s``
            and ``seconds`` (its bound).
        """
        return dict(self._core.progress())

    def verdict(self) -> Verdict:
        """Wait for the end and return the verdict, the same object at every call.

        Raises
        ------
        KeyboardInterrupt
            As in :meth:`wait`.
        """
        self.wait()
        return self._finish()

    def _finish(self) -> Verdict:
        if self._verdict is None:
            raw = self._core.result()
            config = self._config | {"client": raw["client"]}
            self._verdict = Verdict(build(config, raw, self._started_ns, self._load))
        return self._verdict

    def _interrupted(self, interrupt: KeyboardInterrupt) -> KeyboardInterrupt:
        """Stop it and wait, about 2 s at most; a second Ctrl-C does not tear that."""
        self._core.stop()
        try:
            with held_interrupts():
                self._core.wait(None)
                self._finish()
        except KeyboardInterrupt as again:
            interrupt = again
        interrupt.result = self._verdict  # type: ignore[attr-defined]
        return interrupt

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, KeyboardInterrupt) and not hasattr(exc, "result"):
            self._interrupted(exc)
            exc.result = self._verdict  # type: ignore[attr-defined]
            return
        self._core.stop()


def start_check(plan: CheckPlan) -> CheckHandle:
    """Start a check and return at once."""
    core = _core.check_start(plan.for_core())
    return CheckHandle(core, plan.config(plan.client or ""))


def start_replay(schedule: str) -> CheckHandle:
    """Start a replay and return at once."""
    schedule = arguments.text("schedule", schedule)
    if len(schedule) > MAX_SCHEDULE:
        raise ConfigError(
            f"the schedule has {len(schedule)} characters, at most {MAX_SCHEDULE} are allowed",
            code="EINVAL",
            field="schedule",
        )
    core = _core.check_replay(schedule)
    return CheckHandle(core, _replayed(schedule, core))


def _replayed(schedule: str, core: _core.Check) -> dict[str, Any]:
    """The `config` of the replay of a schedule that the core has accepted."""
    part = SCHEDULE.fullmatch(schedule)
    if part is None:
        raise ConfigError(
            f"{schedule[:80]} is not a schedule as the checker writes them",
            code="EINVAL",
            field="schedule",
        )
    plan = CheckPlan(
        lock=part["lock"],
        threads=int(part["threads"]),
        n=int(part["n"]),
        strategy="replay",
        memory="sc" if part["sc"] else "tso",
        property="starvation" if part["starve"] else None,
        giveups=int(part["giveups"] or 1),
        writers=int(part["writers"]) if part["writers"] else None,
        orders=part["orders"],
        params=tuple(core.settings()),
    )
    return plan.config(part["client"] or "") | {"schedule": schedule}


def check(
    lock: str,
    *,
    threads: int = 3,
    n: int | None = None,
    client: str | None = None,
    params: Params | None = None,
    strategy: str = "auto",
    memory: str = "tso",
    bound: int | None = None,
    property: str | None = None,
    budget: int | None = None,
    seconds: float = 10.0,
    seed: int | None = None,
    giveups: int = 1,
    first: bool = False,
    writers: int | None = None,
    orders: str | None = None,
) -> Verdict:
    """Run a lock's own code under every interleaving of a few threads and look for faults.

    Parameters
    ----------
    lock
        An id of :func:`locks`; ``host/*`` cannot be checked, their code is not ours.
    threads
        1 to 8.
    n
        Turns of each thread, 1 to 64. None: 1, 2, ... each wholly, until the time is up.
    client
        What the threads do, an id of :func:`clients`; None: ``shared`` for locks with that mode,
        ``ww`` for those with contexts, else ``mutex``.
    params
        Parameters of the lock by name. The others have the value that the catalogue calls
        ``check``, because a spin budget of thousands would only blow the search up.
    strategy
        ``auto``: few preemptions first, then everything, then random; ``dfs``: everything, with
        partial-order reduction; ``pct``, ``random``: sampling.
    memory
        ``tso`` (stores are buffered, as on x86) or ``sc``. Missing acquire and release orders are
        found as data races under both.
    bound
        At most so many preemptions in an execution, 0 to 100; with ``auto`` and ``dfs``.
    property
        None; ``"starvation"``, also look for waiters that are passed over for ever.
    budget, seconds
        Executions, and time, at most. The result depends on the machine only if `seconds` ends it.
    seed
        Of ``pct`` and ``random``, and of the random part of ``auto``; None is 1.
    giveups
        How often each reason to give up waiting may strike a thread in an execution, 0 to 8.
    first
        Stop at the first fault.
    writers
        With client ``shared``: how many threads write; None: every split.
    orders
        With client ``ww``: a letter for each thread, ``a``: lock A, then B, ``b``: B, then A,
        ``A``, ``B``: that one. None: ``ab``, all orders of both for three threads, ``abAA``.

    Returns
    -------
    Verdict
        Always, whatever was found; see :meth:`Verdict.raise_for_fault`.

    Raises
    ------
    ConfigError, UnknownName, Unsupported
        A value is out of range, a name unknown (the nearest is suggested), or the lock cannot be
        checked with that client.
    KeyboardInterrupt
        Ctrl-C; ``.result`` is the Verdict on what was explored until then.
    """
    with start_check(CheckPlan.of(**locals())) as handle:  # all arguments, nothing else yet
        return handle.verdict()


def replay(schedule: str) -> Verdict:
    """Run the one execution again that a fault's ``schedule`` stands for.

    Returns
    -------
    Verdict
        With the fault and its trace, or ``inconclusive`` if the execution shows none: schedules are
        written for faults, so this one is damaged.

    Raises
    ------
    ConfigError
        It is no schedule, or the lock's code has changed since it was made.
    UnknownName, Unsupported
        It names a lock, client or parameter that this build does not have.
    KeyboardInterrupt
        As for :func:`check`.
    """
    with start_replay(schedule) as handle:
        return handle.verdict()
