# SPDX-License-Identifier: MIT
"""What every document must obey: its JSON Schema, which the package has, and its identities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from locklab.errors import ConfigError

RUN, CHECK = "locklab.run/1", "locklab.check/1"
_DIRECTORY = Path(__file__).with_name("schema")
_WHAT = {RUN: "result", CHECK: "verdict"}
FAULT = ("kind", "lock", "threads", "text")  # what a verdict says of its first fault
REASONED = ("vacuous", "inconclusive")  # the verdicts that have a reason
_HISTOGRAMS = ("wait_ns", "hold_ns", "handoff_ns", "wake_ns")


def schema(name: str = RUN) -> dict[str, Any]:
    """The JSON Schema of a kind of document."""
    file = _DIRECTORY / f"{name.removeprefix('locklab.').replace('/', '-')}.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema(name))


def validate(document: object, where: str = "document", name: str = RUN) -> None:
    """Check a document against the schema `name` and the identities.

    Raises
    ------
    ConfigError
        It breaks one; the message names `where`, the member and what is wrong with it.
    """
    if not isinstance(document, dict) or "schema" not in document:
        raise ConfigError(f"{where} is no {_WHAT[name]} of locklab: it has no member `schema`")
    if document["schema"] != name:
        raise ConfigError(f"{where} has schema {document['schema']!r}, this version reads {name!r}")
    for error in _validator(name).iter_errors(document):
        path = ".".join(str(step) for step in error.absolute_path) or "document"
        text = error.message if len(error.message) < 200 else f"{error.message[:200]}..."
        raise ConfigError(f"{where} breaks its schema at {path}: {text}", field=path)
    for broken in violations(document):
        raise ConfigError(f"{where} contradicts itself: {broken}")


def violations(document: dict[str, Any]) -> list[str]:
    """The identities that a document of the right form breaks, each as one sentence."""
    if document["schema"] == CHECK:
        return [*_verdict(document)]
    return [*_sums(document), *_histogram_sums(document), *_shapes(document)]


def _verdict(d: dict[str, Any]) -> Iterator[str]:
    faults = d["faults"]
    if (d["verdict"] == "fault") != bool(faults):
        yield f"the verdict is {d['verdict']}, and there are {len(faults)} faults"
    first = {name: faults[0][name] for name in FAULT} if faults else None
    if d["fault"] != first:
        yield "fault is not the first of faults"
    if (d["verdict"] in REASONED) != (d["reason"] is not None):
        yield f"the verdict {d['verdict']} has the reason {d['reason']!r}"
    for fault in faults:
        threads = [step["thread"] for step in fault["trace"]]
        if threads and max(threads) >= fault["threads"]:
            yield f"a trace has thread {max(threads)}, its fault {fault['threads']} threads"


def _sums(d: dict[str, Any]) -> Iterator[str]:
    total = d["total"]["acquisitions"]
    parts = {
        "threads.acquisitions": d["threads"]["acquisitions"],
        "repeats.acquisitions": [r["acquisitions"] for r in d["repeats"]],
    }
    for name, values in parts.items():
        if sum(values) != total:
            yield f"{name} add up to {sum(values)}, total.acquisitions is {total}"
    seconds = sum(r["seconds"] for r in d["repeats"])
    if abs(seconds - d["total"]["seconds"]) > 1e-9 * max(1.0, seconds):
        yield f"repeats.seconds add up to {seconds}, total.seconds is {d['total']['seconds']}"
    yield from _series_sum(d, total)
    for repeat in d["repeats"]:
        by_thread = repeat.get("thread_acquisitions")
        if by_thread is not None and sum(by_thread) != repeat["acquisitions"]:
            yield (
                f"thread_acquisitions of repeat {repeat['index']} add up to {sum(by_thread)}, "
                f"its acquisitions are {repeat['acquisitions']}"
            )


def _series_sum(d: dict[str, Any], total: int) -> Iterator[str]:
    """The series leaves the slivers at the end of repeats out, and this sum spreads their time over
    their neighbours: it may be off by so much, not by more."""
    shown, before = 0.0, 0.0
    for t_s, rates in zip(d["series"]["t_s"], d["series"]["rate_per_s"], strict=False):
        shown += sum(r or 0.0 for r in rates) * max(0.0, t_s - before)
        before = t_s
    if shown > 2.0 * total + d["config"]["threads"]:
        yield f"series adds up to {shown:.0f} acquisitions, total.acquisitions is {total}"


def _histogram_sums(d: dict[str, Any]) -> Iterator[str]:
    total = d["total"]["acquisitions"]
    for name in (*_HISTOGRAMS, "bypass", "run_length"):
        found = d.get(name)
        if found is None:
            continue
        counts, uppers = found["buckets"]["count"], found["buckets"]["upper"]
        if sum(counts) != found["count"]:
            yield f"{name}.buckets add up to {sum(counts)}, {name}.count is {found['count']}"
        if len(counts) != len(uppers) or uppers != sorted(set(uppers)):
            yield f"{name}.buckets.upper does not ascend beside its counts"
        if name in ("wait_ns", "hold_ns") and found["count"] != total:
            yield f"{name}.count is {found['count']}, total.acquisitions is {total}"
        marks = [found[q] for q in ("p50", "p90", "p99", "p999", "max")]
        if found["count"] and (None in marks or marks != sorted(marks)):
            yield f"the percentiles of {name} do not ascend: {marks}"
    matrix, handoff = d["handoff_matrix"], d["handoff_ns"]
    if matrix is not None and handoff is not None:
        cells = sum(map(sum, matrix["count"]))
        if cells != handoff["count"]:
            yield f"handoff_matrix adds up to {cells}, handoff_ns.count is {handoff['count']}"


def _shapes(d: dict[str, Any]) -> Iterator[str]:
    threads = d["config"]["threads"]
    for name, column in d["threads"].items():
        if isinstance(column, list) and len(column) != threads:
            yield f"threads.{name} has {len(column)} elements, config.threads is {threads}"
    series = d["series"]
    if len(series["t_s"]) != len(series["rate_per_s"]):
        yield "series.t_s and series.rate_per_s differ in length"
    if any(len(row) != threads for row in series["rate_per_s"]):
        yield f"a row of series.rate_per_s has not one element for each of {threads} threads"
    matrix = d["handoff_matrix"]
    if matrix is not None:
        n = len(matrix["cpus"])
        if len(matrix["count"]) != n or any(len(row) != n for row in matrix["count"]):
            yield f"handoff_matrix.count is not {n} x {n}"
