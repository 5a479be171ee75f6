# SPDX-License-Identifier: MIT
"""What a check found: the document, and how to look at it."""

from __future__ import annotations

import copy
import os
from typing import Any, NoReturn, cast

from locklab import contract, store
from locklab.errors import CheckFailed
from locklab.names import unknown


class Verdict:
    """The verdict on a lock, and what it rests on (see docs/CHECKING.md).

    ``verdict["faults"]`` reads a member of the document; the most used ones are attributes.
    ``str(verdict)`` is the text that ``locklab check`` prints. It has no truth value, because
    "no fault found" and "nothing was explored" would both be a poor False: compare ``verdict``
    with ``"none-found"``, or call :meth:`raise_for_fault`.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def __getitem__(self, key: str) -> Any:
        if key not in self._document:
            raise unknown("member of the verdict", key, self._document, field="key")
        return self._document[key]

    def __contains__(self, key: object) -> bool:
        return key in self._document

    @property
    def lock(self) -> str:
        """Id of the lock."""
        return cast(str, self._document["config"]["lock"])

    @property
    def client(self) -> str:
        """Id of the client that was run."""
        return cast(str, self._document["config"]["client"])

    @property
    def verdict(self) -> str:
        """``"none-found"``, ``"fault"``, ``"vacuous"`` or ``"inconclusive"``."""
        return cast(str, self._document["verdict"])

    @property
    def reason(self) -> str | None:
        """Why it is vacuous or inconclusive, else None."""
        return cast("str | None", self._document["reason"])

    @property
    def n(self) -> int:
        """The largest number of turns of each thread that was explored wholly; 0: none was."""
        return cast(int, self._document["n"])

    @property
    def exhaustive(self) -> bool:
        """Whether n = 1 was explored wholly, with any number of preemptions."""
        return cast(bool, self._document["exhaustive"])

    @property
    def bound(self) -> dict[str, int | None] | None:
        """What cut executions off (``preemptions``, ``giveups``, ``operations``), or None."""
        return cast("dict[str, int | None] | None", copy.deepcopy(self._document["bound"]))

    @property
    def executions(self) -> int:
        """Complete executions: all threads ended."""
        return cast(int, self._document["executions"])

    @property
    def blocked(self) -> int:
        """Executions that a client or a bound ended early."""
        return cast(int, self._document["blocked"])

    @property
    def executions_per_s(self) -> float | None:
        """Complete executions per second of the whole check; None if it took no time."""
        return cast("float | None", self._document["executions_per_s"])

    @property
    def seconds(self) -> float:
        """What the check took."""
        return cast(float, self._document["seconds"])

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end; the verdict is on what was explored until then."""
        return cast(bool, self._document["interrupted"])

    @property
    def fault(self) -> dict[str, Any] | None:
        """The first fault (``kind``, ``lock``, ``threads``, ``text``), or None."""
        return cast("dict[str, Any] | None", copy.deepcopy(self._document["fault"]))

    @property
    def faults(self) -> list[dict[str, Any]]:
        """Every distinct fault with its ``schedule`` and ``trace``, one dict each."""
        return cast("list[dict[str, Any]]", copy.deepcopy(self._document["faults"]))

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What would be a fault if the lock promised to be free of it."""
        return cast("list[dict[str, Any]]", copy.deepcopy(self._document["notes"]))

    def raise_for_fault(self) -> None:
        """Raise if a fault was found.

        A verdict that is vacuous or inconclusive raises nothing: ask :attr:`verdict`.

        Raises
        ------
        CheckFailed
            ``.schedule`` replays the first fault (None if it is too long for a string), ``.trace``
            has its steps as lines of text, ``.verdict`` is this verdict.
        """
        if not self._document["faults"]:
            return
        from locklab.check_report import headline, trace_lines

        first = self._document["faults"][0]
        error = CheckFailed(headline(first), schedule=first["schedule"], trace=trace_lines(first))
        error.verdict = self
        raise error

    def to_dict(self) -> dict[str, Any]:
        """The document (schema ``locklab.check/1``) as a copy of plain dicts and lists."""
        return copy.deepcopy(self._document)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to a file, which is replaced as a whole or not at all.

        Raises
        ------
        ConfigError, RunError
            The file cannot be written.
        """
        store.check_writable(path, "path")
        store.write(path, store.dump(self._document))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Verdict:
        """Read a saved document and check it against the schema and its identities.

        Raises
        ------
        ConfigError
            The file cannot be read, is no verdict, or contradicts itself.
        """
        name = os.fspath(path)
        document = store.parse(store.read_text(path), name)
        contract.validate(document, repr(name), contract.CHECK)
        return cls(document)

    def __reduce__(self) -> tuple[type[Verdict], tuple[dict[str, Any]]]:
        return Verdict, (self._document,)

    def __eq__(self, other: object) -> bool:
        return self._document == other._document if isinstance(other, Verdict) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a document is no key

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a Verdict is neither true nor false: compare .verdict with 'none-found', "
            "or call .raise_for_fault()"
        )

    def __repr__(self) -> str:
        return f"<locklab.Verdict {self.verdict}: {self.lock}, client {self.client}>"

    def __str__(self) -> str:
        from locklab.check_report import parts
        from locklab.render import plain

        return plain(parts(self._document))
