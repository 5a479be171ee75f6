# SPDX-License-Identifier: MIT
"""The order validator for the locks of a Python program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from locklab import _core, arguments, validation
from locklab.errors import OrderViolated


@dataclass(frozen=True, slots=True)
class Report:
    """One thing that the validator found; ``str()`` gives all of it as text.

    Attributes
    ----------
    kind
        Such as ``"inversion"``; ``docs/VALIDATOR.md`` has the list.
    text
        One sentence.
    thread, site
        Who did it and where: a name, and a dict with ``file``, ``function``, ``line``, or None.
    count
        How often the same was seen.
    held
        What the thread held, oldest first, and what it asked for: dicts as in the schema of
        documents (``$defs/held``).
    other_thread, other
        The other side, if there is one: a thread and its stack.
    cycle
        The whole cycle, the new link first; empty if it is not about order.
    """

    kind: str
    text: str
    thread: str | None
    site: dict[str, Any] | None
    count: int
    held: list[dict[str, Any]]
    other_thread: str | None
    other: list[dict[str, Any]]
    cycle: list[dict[str, Any]]

    def __str__(self) -> str:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return "\n".join(validation.lines(fields))


class Validator:
    """Watches the order in which threads take locks, and says what can deadlock before it does.

    Locks that were made with it tell it what threads do; locks of one name are judged alike. As a
    context manager it raises :class:`locklab.OrderViolated` at the end if it has found something.

    >>> with locklab.Validator() as v:
    ...     a, b = v.lock("mutex/mcs", "a"), v.lock("mutex/mcs", "b")
    ...     with a, b:
    ...         pass

    Parameters
    ----------
    max_reports
        Reports kept, 1 to 65536; further ones are counted.

    Raises
    ------
    ConfigError
        `max_reports` is out of range.
    """

    __slots__ = ("core",)

    def __init__(self, max_reports: int = 64) -> None:
        self.core = _core.Validator(arguments.whole("max_reports", max_reports, 1, 65536))

    def lock(
        self,
        id: str,
        name: str | None = None,
        *,
        subclass: int = 0,
        params: Mapping[str, object] | Iterable[tuple[str, object]] | None = None,
    ) -> _core.Lock:
        """A :class:`locklab.Lock` that this validator watches.

        Parameters
        ----------
        id
            Of the catalogue.
        name
            Its class: locks of one name are judged alike. The id if there is none.
        subclass
            Level of a hierarchy within the class, 0 to 7.
        params
            Parameters of the lock.

        Raises
        ------
        UnknownName, ConfigError, Unsupported
            As `Lock`; a class has locks of one kind only.
        """
        settings = arguments.settings(params) if params is not None else ()
        return _core.Lock(id, settings, validator=self, name=name, subclass=subclass)

    @property
    def reports(self) -> list[Report]:
        """What was found until now, in the order of its first sight."""
        return [Report(**r) for r in self.core.found()["reports"]]

    def to_dict(self) -> dict[str, Any]:
        """All that is known, as ``validation`` in a document of a run."""
        return dict(self.core.found())

    def raise_for_reports(self) -> None:
        """Raise :class:`locklab.OrderViolated` if anything was found."""
        reports = self.reports
        if reports:
            more = f"; and {len(reports) - 1} more" if len(reports) > 1 else ""
            raise OrderViolated(f"{reports[0].kind}: {reports[0].text}{more}", reports=reports)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc_type is None:
            self.raise_for_reports()
