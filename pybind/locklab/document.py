# SPDX-License-Identifier: MIT
"""From what the C core measured to the result document (schema ``locklab.run/1``).

The document is plain JSON: dicts, lists, numbers, strings, None. Beside it the columns that came
as C arrays are kept as views of the core's memory, under the path that they have in the document.
"""

from __future__ import annotations

import errno
import math
from typing import TYPE_CHECKING, Any, cast

from locklab import _core, work
from locklab.catalogue import lock_of
from locklab.derived import derived
from locklab.environment import identity, observed
from locklab.errors import Unsupported
from locklab.stats import fairness, median_interval

if TYPE_CHECKING:
    from locklab.plan import Plan

    Document = dict[str, Any]
    Arrays = dict[str, memoryview]

SCHEMA = "locklab.run/1"
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
HISTOGRAMS = {"wait_ns": "wait", "hold_ns": "hold", "handoff_ns": "handoff", "wake_ns": "wake"}
COUNTS = ("bypass", "run_length")
_LOST_WAITING = ("preempted_while_spinning", "preempted_while_queued")


def build(plan: Plan, raw: _core.RunResult, load: list[float] | None) -> tuple[Document, Arrays]:
    """The document of a run that has ended, and its arrays.

    Parameters
    ----------
    plan
        As it was started.
    raw
        ``_core.Run.result()``.
    load
        Load average before the start.
    """
    arrays: Arrays = {}
    reasons: dict[str, str] = {}
    repeats = [_repeat(i, r) for i, r in enumerate(raw["repeat"])]
    regime = [repeats[0]["regime_ns"][0], repeats[-1]["regime_ns"][1]] if repeats else [None, None]
    document: Document = {
        "schema": SCHEMA,
        "status": "complete" if raw["status"] == "complete" else "interrupted",
    }
    if raw["status"] in ("hung", "failed"):
        text = raw["failure"]["text"] or "the core gave no reason"
        document["failure"] = {"kind": raw["status"], "text": text}
    if raw["status"] == "hung":
        document["waiters"] = [_waiter(w) for w in raw["waiter"]]
    document |= {
        "config": plan.config(),
        "environment": {
            "identity": identity(),
            "observed": observed(raw["started_ns"], load, regime),
        },
        "engine": plan.engine,
        "source": "native",
        "total": _total(raw),
        "threads": _threads(raw, arrays),
        "fairness": fairness(cast("list[int]", raw["acquisitions"].tolist())),
    }
    for key, name in HISTOGRAMS.items():
        found = cast("_core.Histogram | None", cast(dict[str, Any], raw)[name])
        document[key] = None if found is None else histogram(found, key, arrays)
        if found is None:
            reasons[key] = cast(dict[str, Any], raw)[f"{name}_reason"] or "not measured"
    for name in COUNTS:
        found = cast("_core.Histogram | None", cast(dict[str, Any], raw)[name])
        document[name] = None if found is None else histogram(found, name, arrays)
        if found is None:
            reasons[name] = reasons["handoff_ns"]
    document["handoff_matrix"] = None
    if raw["handoff"] is None:
        reasons["handoff_matrix"] = reasons["handoff_ns"]
    else:
        document["handoff_matrix"] = {"cpus": list(raw["matrix_cpus"]), "count": raw["matrix"]}
        document["handoff_log"] = {
            "sampled_ratio": raw["handoff_sampled"],
            "dropped_windows": raw["log_dropped"],
            "pairs": raw["log_pairs"],
            "bypass_estimated": raw["bypass_estimated"],
            "bypass_max": raw["bypass_max"],
        }
    document["overlap"] = raw["overlap"] if raw["overlap_checked"] else None
    if not raw["overlap_checked"]:
        reasons["overlap"] = "the workload writes no line in the section, so it cannot check"
    document["locks"] = work.locks(plan, raw)
    document["fields"] = work.fields(raw["group"])
    document["events"] = _events(plan, raw, reasons)
    document["jobs"] = work.jobs(document["events"]["jobs"], raw["seconds"])
    document["transactions"] = _transactions(raw, arrays)
    for name, why in (("jobs", work.no_jobs), ("transactions", work.no_transactions)):
        if document[name] is None:
            reasons[name] = why(plan.build == "bare")
    document["derived"] = derived(document)
    document["perf"] = _perf(raw)
    document["series"] = _series(raw, arrays)
    document["repeats"] = repeats
    if plan.overhead:
        document["overhead"] = _overhead(raw, arrays)
    if plan.validate:
        document["validation"] = raw["validation"]
    document["drain_s"] = raw["drain_s"]
    if reasons:
        document["reasons"] = reasons
    return document, arrays


def histogram(found: _core.Histogram, path: str, arrays: Arrays) -> dict[str, Any]:
    """One histogram as the document holds it; its two columns go to `arrays` without a copy."""
    counts = memoryview(found.buckets)
    uppers = memoryview(_core.bucket_upper())
    listed = cast("list[int]", found.buckets.tolist())
    used = [i for i, n in enumerate(listed) if n]
    first, last = (max(used[0] - 1, 0), used[-1] + 1) if used else (0, 0)
    arrays[f"{path}.buckets.upper"] = uppers[first:last]
    arrays[f"{path}.buckets.count"] = counts[first:last]
    summary: dict[str, Any] = {"count": found.count, "sum": found.sum}
    if not found.count:
        summary |= dict.fromkeys(("mean", *QUANTILES, "max")) | {"reason": "no samples"}
    else:
        summary["mean"] = found.sum / found.count
        summary |= {name: found.quantile(q) for name, q in QUANTILES.items()}
        summary["max"] = found.max
    upper = uppers[first:last].tolist()
    return summary | {"buckets": {"upper": upper, "count": listed[first:last]}}


def rate(acquisitions: int, seconds: float) -> float | None:
    """Acquisitions per second, None if no time was measured."""
    return acquisitions / seconds if seconds > 0 else None


def _total(raw: _core.RunResult) -> dict[str, Any]:
    acquisitions = sum(cast("list[int]", raw["acquisitions"].tolist()))
    total: dict[str, Any] = {
        "acquisitions": acquisitions,
        "seconds": raw["seconds"],
        "rate_per_s": rate(acquisitions, raw["seconds"]),
        "shared_acquisitions": sum(cast("list[int]", raw["shared_acquisitions"].tolist())),
    }
    if total["rate_per_s"] is None:
        total["reason"] = "the run ended before its measured phase"
    return total


def _threads(raw: _core.RunResult, arrays: Arrays) -> dict[str, Any]:
    columns = {
        "acquisitions": raw["acquisitions"],
        "wait_max_ns": raw["wait_max_ns"],
        "shared_acquisitions": raw["shared_acquisitions"],
        "cpu_ns": raw["cpu_ns"],
        "voluntary_switches": raw["voluntary"],
        "involuntary_switches": raw["involuntary"],
    }
    threads: dict[str, Any] = {}
    for name, column in columns.items():
        if name == "wait_max_ns" and raw["wait"] is None:
            threads[name] = None
            threads["reasons"] = {name: raw["wait_reason"] or "not measured"}
            continue
        threads[name] = column.tolist()
        arrays[f"threads.{name}"] = memoryview(column)
        if name == "wait_max_ns" and 0 in threads["acquisitions"]:
            got = zip(threads["acquisitions"], threads[name], strict=True)
            threads[name] = [longest if n else None for n, longest in got]
            threads["reasons"] = {name: "a thread that acquired the lock not once has no wait"}
        if name == "acquisitions":
            seconds = raw["seconds"]
            threads["rate_per_s"] = [rate(n, seconds) for n in threads["acquisitions"]]
            threads["cpu"] = list(raw["cpu"])
    return threads


def _repeat(index: int, repeat: _core.Repeat) -> dict[str, Any]:
    return {
        "index": index,
        "seconds": repeat["seconds"],
        "acquisitions": repeat["acquisitions"],
        "rate_per_s": rate(repeat["acquisitions"], repeat["seconds"]),
        "regime_ns": [
            None if ns is None or math.isnan(ns) else round(ns, 1) for ns in repeat["regime_ns"]
        ],
        "thread_acquisitions": repeat["thread_acquisitions"].tolist(),
    }


def _waiter(waiter: _core.Waiter) -> dict[str, Any]:
    row = dict(waiter)
    for name in ("object", "field", "file"):
        row[name] = row[name] or None
    if row["file"] is None:
        row["line"] = None
    return row


def _transactions(raw: _core.RunResult, arrays: Arrays) -> dict[str, Any] | None:
    if raw["restarts"] is None:
        return None
    made: dict[str, Any] = {}
    for name in work.TRANSACTIONS:
        found = cast("_core.Histogram | None", cast(dict[str, Any], raw)[name])
        made[name] = found and histogram(found, f"transactions.{name}", arrays)
    if made["age"] is None:
        made["reasons"] = {"age": "the lock does not tell the age of a context"}
    return made


def _events(plan: Plan, raw: _core.RunResult, reasons: dict[str, str]) -> dict[str, int | None]:
    events: dict[str, int | None] = dict(raw["events"])
    lock = lock_of(plan.lock)
    blind = lock is not None and "parks" in lock["claims"] and "check" not in lock["engines"]
    for name in events:
        if plan.build == "bare":
            events[name] = None
            reasons[f"events.{name}"] = "the bare build counts nothing but acquisitions"
        elif name.startswith("preempted_") and not raw["rseq"]:
            events[name] = None
            reasons[f"events.{name}"] = "the rseq area of this kernel does not tell preemptions"
        elif name in _LOST_WAITING and blind:
            events[name] = None
            reasons[f"events.{name}"] = (
                "this lock's waiters may sleep out of our sight, which looks the same"
            )
    return events


def _perf(raw: _core.RunResult) -> dict[str, Any]:
    acquisitions = sum(cast("list[int]", raw["acquisitions"].tolist()))
    perf = {}
    for value in raw["perf"]:
        counted = value["counted"]
        row: dict[str, Any] = {
            "value": value["value"] if counted else None,
            "per_acquisition": value["value"] / acquisitions if counted and acquisitions else None,
            "unit": value["unit"],
            "running_ratio": value["running_ratio"] if counted else None,
            "source": value["source"],
        }
        if not counted:
            if value["err"]:
                row["errno"] = errno.errorcode.get(value["err"], str(value["err"]))
            row["reason"] = value["reason"] or "not counted"
        elif not acquisitions:
            row["reason"] = "no acquisition to divide by"
        perf[value["name"]] = row
    return perf


def _series(raw: _core.RunResult, arrays: Arrays) -> dict[str, Any]:
    arrays["series.t_s"] = memoryview(raw["series_t_s"])
    arrays["series.rate_per_s"] = memoryview(raw["series_rate"])
    return {"t_s": raw["series_t_s"].tolist(), "rate_per_s": raw["series_rate"].tolist()}


def _overhead(raw: _core.RunResult, arrays: Arrays) -> dict[str, Any]:
    bare = cast("list[float]", raw["block_bare"].tolist())
    instrumented = cast("list[float]", raw["block_instrumented"].tolist())
    arrays["overhead.bare"] = memoryview(raw["block_bare"])
    arrays["overhead.instrumented"] = memoryview(raw["block_instrumented"])
    return overhead(bare, instrumented)


def overhead(bare: list[float], instrumented: list[float]) -> dict[str, Any]:
    """The document's `overhead` from the rates of the blocks, pair by pair."""
    from statistics import median

    # A thread that lost its CPU for a whole block makes it 0: an extreme sample, but a sample.
    both = [(b, i) for b, i in zip(bare, instrumented, strict=True) if b or i]
    ratios = [b / i if i else math.inf for b, i in both]
    middle = median(ratios) if ratios else math.inf
    reasons: dict[str, str] = {}
    found: dict[str, Any] = {
        "bare_rate_per_s": median(bare) if bare else None,
        "instrumented_rate_per_s": median(instrumented) if instrumented else None,
        "ratio": middle if math.isfinite(middle) else None,
        "interval": [None, None],
        "pairs": len(ratios),
        "bare": bare,
        "instrumented": instrumented,
    }
    if not bare:
        why = "the run ended before a pair of blocks was measured"
        reasons |= dict.fromkeys(("bare_rate_per_s", "instrumented_rate_per_s", "ratio"), why)
    elif found["ratio"] is None:
        reasons["ratio"] = "the threads got no CPU in most blocks"
    try:
        interval = median_interval(ratios)
    except Unsupported as error:
        interval = None
        reasons["interval"] = str(error)
    if interval:
        found["interval"] = list(interval)
    else:
        reasons.setdefault("interval", f"{len(ratios)} usable pairs of blocks are too few")
    return found | ({"reasons": reasons} if reasons else {})
