# SPDX-License-Identifier: MIT
"""The exceptions of locklab.

Wrong *types* stay :class:`TypeError` and lack of memory stays :class:`MemoryError`; whatever else a
public function raises on purpose derives from :class:`LocklabError`. Each class also derives from
the built-in exception that says the same, so ``except ValueError`` catches a bad parameter.

The C extension imports this module, so it must not import anything of the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from locklab.result import Result
    from locklab.validator import Report
    from locklab.verdict import Verdict

__all__ = [
    "CheckFailed",
    "ConfigError",
    "LocklabError",
    "OrderViolated",
    "RunError",
    "RunTimeout",
    "UnknownName",
    "Unsupported",
]


class LocklabError(Exception):
    """Base of all errors of locklab; the message is one sentence for the user.

    Attributes
    ----------
    code
        Name of the errno that says the same, for example ``"ERANGE"``; ``""`` if none does.
    field
        The option or parameter at fault, for example ``"threads"``; ``""`` if none is.
    """

    code: str
    field: str

    def __init__(self, text: str = "", *, code: str = "", field: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.field = field


class ConfigError(LocklabError, ValueError):
    """A value makes no sense or is out of range (codes ``EINVAL``, ``ERANGE``)."""


class UnknownName(LocklabError, LookupError):  # noqa: N818 - public name, reads as the fault
    """No lock, workload, parameter or event has this name (``ENOENT``); suggests the nearest."""


class Unsupported(LocklabError, NotImplementedError):  # noqa: N818
    """This lock, build or host does not offer it (``ENOTSUP``)."""


class RunError(LocklabError, RuntimeError):
    """It was asked properly but failed: misuse of a lock, a busy port, a stopped server.

    Attributes
    ----------
    result
        Of a run that failed or hung: the :class:`locklab.Result` until then; else None.
    """

    result: Result | None = None


class RunTimeout(RunError, TimeoutError):  # noqa: N818
    """The deadline passed (``ETIMEDOUT``)."""


class OrderViolated(RunError, AssertionError):  # noqa: N818
    """A validator has found something; raised by ``Validator.raise_for_reports()``, ``with`` too.

    Attributes
    ----------
    reports
        Its :class:`locklab.validator.Report` objects.
    """

    reports: list[Report]

    def __init__(
        self,
        text: str = "",
        *,
        code: str = "",
        field: str = "",
        reports: list[Report] | None = None,
    ) -> None:
        super().__init__(text, code=code, field=field)
        self.reports = [] if reports is None else reports


class CheckFailed(RunError, AssertionError):  # noqa: N818
    """A checked lock is at fault; raised by ``Verdict.raise_for_fault()`` alone.

    Attributes
    ----------
    schedule
        The self-contained string that replays the fault, or None.
    trace
        What happened, step by step, as lines of text.
    verdict
        The :class:`locklab.Verdict` with all faults.
    """

    schedule: str | None
    trace: list[str]
    verdict: Verdict | None = None

    def __init__(
        self,
        text: str = "",
        *,
        code: str = "",
        field: str = "",
        schedule: str | None = None,
        trace: list[str] | None = None,
    ) -> None:
        super().__init__(text, code=code, field=field)
        self.schedule = schedule
        self.trace = [] if trace is None else trace
