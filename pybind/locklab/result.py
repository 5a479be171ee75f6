# SPDX-License-Identifier: MIT
"""The result of a run: the document, its arrays, and how to look at it."""

from __future__ import annotations

import copy
import os
from array import array
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from locklab import contract, store
from locklab.document import COUNTS, HISTOGRAMS
from locklab.names import unknown

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

_TABLES = ("threads", "repeats", "series", "wait_ns", "hold_ns", "handoff_ns", "wake_ns")


class Result:
    """What one run measured.

    ``result["total"]["rate_per_s"]`` reads a member of the document (see docs/METRICS.md);
    the most used ones are attributes. A figure that could not be measured is None, and its
    reason stands in the document beside it.

    Attributes
    ----------
    arrays : mapping of str to memoryview
        The columns of the document as read-only buffers, by their path in it: format ``Q``
        (uint64) or ``d`` (float64), one or two dimensions. ``numpy.asarray`` takes them without a
        copy. A null of the document is NaN there, and 0 in a column of whole numbers.
        ``series.rate_per_s`` has shape (intervals, threads), ``handoff_matrix.count``
        (CPUs from, CPUs to), the others one element a thread, bucket, interval or block.
    """

    def __init__(
        self, document: dict[str, Any], arrays: Mapping[str, memoryview] | None = None
    ) -> None:
        self._document = document
        self._arrays = dict(arrays or {})
        for path, (format_, column) in _columns(document).items():
            if path not in self._arrays:
                self._arrays[path] = _view(format_, column)

    @property
    def arrays(self) -> Mapping[str, memoryview]:
        return MappingProxyType(self._arrays)

    def __getitem__(self, key: str) -> Any:
        if key not in self._document:
            raise unknown("member of the result", key, self._document, field="key")
        return self._document[key]

    def __contains__(self, key: object) -> bool:
        return key in self._document

    @property
    def lock(self) -> str:
        """Id of the lock."""
        return cast(str, self._document["config"]["lock"])

    @property
    def status(self) -> str:
        """``"complete"`` or ``"interrupted"``."""
        return cast(str, self._document["status"])

    @property
    def acquisitions(self) -> int:
        """Acquisitions of all threads in all measured phases."""
        return cast(int, self._document["total"]["acquisitions"])

    @property
    def rate_per_s(self) -> float | None:
        """Acquisitions per second over all repeats; None if no time was measured."""
        return cast("float | None", self._document["total"]["rate_per_s"])

    @property
    def overlap(self) -> int | None:
        """Exclusion violations that the workload saw; None if it does not check."""
        return cast("int | None", self._document["overlap"])

    def to_dict(self) -> dict[str, Any]:
        """The document (schema ``locklab.run/1``) as a copy of plain dicts and lists."""
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
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a saved document and check it against the schema and its identities.

        Raises
        ------
        ConfigError
            The file cannot be read, is no result, or contradicts itself.
        """
        name = os.fspath(path)
        document = store.parse(store.read_text(path), name)
        contract.validate(document, repr(name))
        return cls(document)

    def __reduce__(self) -> tuple[type[Result], tuple[dict[str, Any]]]:
        return Result, (self._document,)  # the arrays are made anew

    def __eq__(self, other: object) -> bool:
        return self._document == other._document if isinstance(other, Result) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a document is no key

    def invariants(self) -> list[str]:
        """The identities of the document that do not hold, as sentences; empty if all do."""
        return contract.violations(self._document)

    def summary(self) -> str:
        """The table of ``locklab run`` as plain text."""
        from locklab.render import plain
        from locklab.report import tables

        return plain(tables(self._document))

    def notes(self) -> list[str]:
        """What the reader of the figures should know, one sentence each (see docs/METHOD.md)."""
        from locklab.explain import findings

        return findings(self._document)

    def to_pandas(self, table: str = "threads") -> pandas.DataFrame:
        """One table of the document as a data frame.

        Parameters
        ----------
        table
            ``threads`` (a row a thread), ``repeats``, ``series`` (a row an interval, a column a
            thread, indexed by ``t_s``) or a histogram such as ``wait_ns`` (``upper``, ``count``).

        Raises
        ------
        UnknownName
            There is no such table.
        Unsupported
            pandas is not installed, or the table is null (the message gives its reason).
        """
        from locklab.tables import frame

        if table not in _TABLES:
            raise unknown("table", table, _TABLES, field="table")
        return frame(self._document, table)

    def plot(self) -> matplotlib.figure.Figure:
        """A figure with throughput over time and the time histograms.

        Raises
        ------
        Unsupported
            matplotlib is not installed.
        """
        from locklab.tables import figure

        return figure(self._document)

    def _repr_html_(self) -> str:
        from locklab.svg import page_part

        return page_part(self._document)

    def __repr__(self) -> str:
        config = self._document["config"]
        speed = "no rate" if self.rate_per_s is None else f"{self.rate_per_s:.4g}/s"
        return (
            f"<locklab.Result {config['lock']} {config['workload']} "
            f"{config['threads']} threads {speed} {self.status}>"
        )


def _columns(document: dict[str, Any]) -> dict[str, tuple[str, list[Any]]]:
    """Every column of a document that `Result.arrays` offers: path -> (format, content)."""
    found: dict[str, tuple[str, list[Any]]] = {}
    for name, column in document["threads"].items():
        if isinstance(column, list):
            found[f"threads.{name}"] = ("d" if name == "rate_per_s" else "Q", column)
    for name in (*HISTOGRAMS, *COUNTS):
        if document.get(name) is not None:
            for side in ("upper", "count"):
                found[f"{name}.buckets.{side}"] = ("Q", document[name]["buckets"][side])
    if document["handoff_matrix"] is not None:
        found["handoff_matrix.count"] = ("Q", document["handoff_matrix"]["count"])
    found["series.t_s"] = ("d", document["series"]["t_s"])
    found["series.rate_per_s"] = ("d", document["series"]["rate_per_s"])
    for name in ("bare", "instrumented"):
        if name in document.get("overhead", ()):
            found[f"overhead.{name}"] = ("d", document["overhead"][name])
    return found


def _view(format_: str, column: list[Any]) -> memoryview:
    """A read-only view of a column that came as JSON; null is NaN, and 0 among whole numbers."""
    rows = column if column and isinstance(column[0], list) else None
    flat = [x for row in column for x in row] if rows else column
    values: array[Any]
    if format_ == "Q":
        values = array(format_, (int(x or 0) for x in flat))
    else:
        values = array(format_, (float("nan") if x is None else float(x) for x in flat))
    view = memoryview(values).toreadonly()
    if rows and rows[0]:
        return view.cast("B").cast(cast(Any, format_), (len(rows), len(rows[0])))
    return view
