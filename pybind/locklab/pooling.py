# SPDX-License-Identifier: MIT
"""Pooling results of one experiment that was run in several goes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

from locklab import _core, document, validation, work
from locklab.derived import derived
from locklab.errors import ConfigError
from locklab.result import Result
from locklab.stats import fairness

_MAY_DIFFER = ("seed", "repeat", "seconds", "warmup_s", "tick_s", "watchdog_s", "overhead")


def merge(results: Iterable[Result], *, force: bool = False) -> Result:
    """One result that pools the repeats, counts and histograms of several.

    Parameters
    ----------
    results
        Of the same lock, workload, threads, parameters and so on; seed and times may differ.
    force
        Pool also what was measured on different machines, kernels or builds. The environment and
        the configuration of the first stand for all.

    Raises
    ------
    ConfigError
        There is nothing to pool, or the results do not belong together.
    """
    given = list(results) if isinstance(results, Iterable) else [results]
    strangers = [r for r in given if not isinstance(r, Result)]
    if strangers or isinstance(results, Result):
        found = type(strangers[0] if strangers else results).__name__
        raise ConfigError(f"results must be several Result objects, not {found}", field="results")
    documents = [r.to_dict() for r in given]
    if not documents:
        raise ConfigError("there is no result to pool", field="results")
    first = documents[0]
    for other in documents[1:]:
        _same(first, other, force)
    pooled = dict(first)
    pooled["status"] = _worst(d["status"] for d in documents)
    failed = next((d for d in documents if "failure" in d), None)
    if failed:
        pooled |= {k: failed[k] for k in ("failure", "waiters") if k in failed}
    pooled["config"] = first["config"] | {"repeat": sum(d["config"]["repeat"] for d in documents)}
    pooled["repeats"] = _repeats(documents)
    pooled["total"] = _total(documents)
    pooled["threads"] = _threads(documents, pooled["total"]["seconds"])
    pooled["fairness"] = fairness(pooled["threads"]["acquisitions"])
    reasons: dict[str, str] = {}
    for d in documents:
        reasons = d.get("reasons", {}) | reasons
    for name in document.HISTOGRAMS:
        pooled[name] = _histogram([d[name] for d in documents])
    for name in document.COUNTS:
        pooled.pop(name, None)
        if all(name in d for d in documents):
            pooled[name] = _histogram([d[name] for d in documents])
    pooled["handoff_matrix"] = _matrix([d["handoff_matrix"] for d in documents])
    if all("handoff_log" in d for d in documents):
        pooled["handoff_log"] = _log(documents)
    else:
        pooled.pop("handoff_log", None)
    overlaps = [d["overlap"] for d in documents]
    pooled["overlap"] = None if None in overlaps else sum(overlaps)
    pooled["events"] = {
        name: _sum([d["events"].get(name) for d in documents]) for name in first["events"]
    }
    pooled |= _work(documents, pooled["events"], pooled["total"]["seconds"])
    pooled["derived"] = derived(pooled)
    pooled["perf"] = _perf(documents, pooled["total"]["acquisitions"])
    pooled["series"] = _series(documents)
    pooled.pop("overhead", None)
    if "overhead" in first and all("overhead" in d for d in documents):
        blocks = [d["overhead"] for d in documents]
        pooled["overhead"] = document.overhead(
            [x for b in blocks for x in b["bare"]], [x for b in blocks for x in b["instrumented"]]
        )
    if all("drain_s" in d for d in documents):
        pooled["drain_s"] = max(d["drain_s"] for d in documents)
    pooled.pop("reasons", None)
    if reasons:
        pooled["reasons"] = reasons
    return Result(pooled)


def _same(a: dict[str, Any], b: dict[str, Any], force: bool) -> None:
    for name, value in a["config"].items():
        if name not in _MAY_DIFFER and b["config"].get(name) != value:
            raise ConfigError(
                f"results of different {name} do not pool: {value!r} and {b['config'].get(name)!r}",
                field=name,
            )
    if force:
        return
    ours, theirs = a["environment"]["identity"], b["environment"]["identity"]
    for name, value in ours.items():
        if theirs.get(name) != value:
            raise ConfigError(
                f"results of different {name} pool only with force=True: "
                f"{value!r} and {theirs.get(name)!r}",
                field=name,
            )


def _worst(statuses: Iterable[str]) -> str:
    return "complete" if set(statuses) == {"complete"} else "interrupted"


def _sum(values: list[int | None]) -> int | None:
    return None if None in values else sum(v for v in values if v is not None)


def _repeats(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    flat = [repeat for d in documents for repeat in d["repeats"]]
    return [repeat | {"index": i} for i, repeat in enumerate(flat)]


def _total(documents: list[dict[str, Any]]) -> dict[str, Any]:
    acquisitions = sum(d["total"]["acquisitions"] for d in documents)
    seconds = sum(d["total"]["seconds"] for d in documents)
    total = {
        "acquisitions": acquisitions,
        "seconds": seconds,
        "rate_per_s": document.rate(acquisitions, seconds),
    }
    shared = [d["total"].get("shared_acquisitions") for d in documents]
    if None not in shared:
        total["shared_acquisitions"] = sum(shared)
    if total["rate_per_s"] is None:
        total["reason"] = "no time was measured"
    return total


def _threads(documents: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    parts = [d["threads"] for d in documents]
    whys: dict[str, str] = {}
    for part in parts:
        whys |= part.get("reasons", {})
    pooled = {k: v for k, v in parts[0].items() if k != "reasons"}
    reasons = {}
    for name in pooled:
        columns = [part.get(name) for part in parts]
        if name in ("cpu", "rate_per_s"):
            continue
        if None in columns:
            pooled[name] = None
            reasons[name] = whys.get(name, "one of the results has none")
            continue
        best = _longest if name == "wait_max_ns" else sum
        pooled[name] = [best(values) for values in zip(*columns, strict=True)]
        if None in pooled[name]:
            reasons[name] = whys.get(name, "one of the results has none")
    pooled["rate_per_s"] = [document.rate(n, seconds) for n in pooled["acquisitions"]]
    return pooled | ({"reasons": reasons} if reasons else {})


def _longest(values: Iterable[int | None]) -> int | None:
    return max((v for v in values if v is not None), default=None)


def _histogram(parts: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Bucket by bucket; percentiles are taken from the pooled buckets."""
    if any(part is None for part in parts):
        return None
    counts: dict[int, int] = {}
    for part in parts:
        assert part is not None
        for upper, n in zip(part["buckets"]["upper"], part["buckets"]["count"], strict=True):
            counts[upper] = counts.get(upper, 0) + n
    total = sum(counts.values())
    exact = sum(part["sum"] for part in parts if part)
    pooled: dict[str, Any] = {"count": total, "sum": exact}
    uppers = sorted(counts)
    if not total:
        pooled |= dict.fromkeys(("mean", *document.QUANTILES, "max")) | {"reason": "no samples"}
    else:
        largest = max(part["max"] for part in parts if part and part["count"])
        pooled["mean"] = exact / total
        for name, q in document.QUANTILES.items():
            pooled[name] = min(_quantile(uppers, counts, q, total), largest)
        pooled["max"] = largest
    if uppers:
        grid = cast("list[int]", _core.bucket_upper().tolist())
        uppers = grid[grid.index(uppers[0]) : grid.index(uppers[-1]) + 1]
    pooled["buckets"] = {"upper": uppers, "count": [counts.get(u, 0) for u in uppers]}
    return pooled


def _quantile(uppers: list[int], counts: dict[int, int], q: float, total: int) -> int:
    """As `_core.Histogram.quantile`: upper bound of the bucket with the q-quantile."""
    rank = max(math.ceil(round(q * total, 9)), 1)
    below = 0
    for upper in uppers:
        below += counts[upper]
        if below >= rank:
            return upper
    return uppers[-1]


def _work(
    documents: list[dict[str, Any]], events: dict[str, int | None], seconds: float
) -> dict[str, Any]:
    """What belongs to the workload; results of earlier releases have none of it."""
    made: dict[str, Any] = {}
    if all("validation" in d for d in documents):
        made["validation"] = validation.pooled([d["validation"] for d in documents])
    if all("locks" in d for d in documents):
        made["locks"] = work.pooled_locks([d["locks"] for d in documents])
        made["jobs"] = work.jobs(events.get("jobs"), seconds)
    parts = [d.get("transactions") for d in documents]
    if all(parts):
        made["transactions"] = {
            name: _histogram([part[name] for part in parts if part]) for name in work.TRANSACTIONS
        }
        if "reasons" in (parts[0] or {}):
            made["transactions"]["reasons"] = (parts[0] or {})["reasons"]
    return made


def _matrix(parts: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    if any(part is None for part in parts):
        return None
    known = [part for part in parts if part]
    cpus = sorted({cpu for part in known for cpu in part["cpus"]})
    where = {cpu: i for i, cpu in enumerate(cpus)}
    count = [[0] * len(cpus) for _ in cpus]
    for part in known:
        for a, row in zip(part["cpus"], part["count"], strict=True):
            for b, n in zip(part["cpus"], row, strict=True):
                count[where[a]][where[b]] += n
    return {"cpus": cpus, "count": count}


def _log(documents: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = sum(d["total"]["seconds"] for d in documents)
    logged = sum(d["handoff_log"]["sampled_ratio"] * d["total"]["seconds"] for d in documents)
    pooled = {
        "sampled_ratio": logged / seconds if seconds else 0.0,
        "dropped_windows": sum(d["handoff_log"]["dropped_windows"] for d in documents),
    }
    for name, pool in (("pairs", sum), ("bypass_estimated", sum), ("bypass_max", max)):
        values = [d["handoff_log"].get(name) for d in documents]
        if None not in values:
            pooled[name] = pool(values)
    return pooled


def _perf(documents: list[dict[str, Any]], acquisitions: int) -> dict[str, Any]:
    pooled = {}
    for name in documents[0]["perf"]:
        parts = [d["perf"][name] for d in documents]
        missing = next((part for part in parts if part["value"] is None), None)
        if missing:
            pooled[name] = missing | {"per_acquisition": None}
            continue
        if len({part["source"] for part in parts}) > 1:
            why = "the results counted it from different sources"
            pooled[name] = parts[0] | {"value": None, "per_acquisition": None, "reason": why}
            continue
        value = sum(part["value"] for part in parts)
        seconds = [d["total"]["seconds"] for d in documents]
        weighted = sum(p["running_ratio"] * s for p, s in zip(parts, seconds, strict=True))
        pooled[name] = parts[0] | {
            "value": value,
            "per_acquisition": value / acquisitions if acquisitions else None,
            "running_ratio": weighted / sum(seconds) if sum(seconds) else None,
        }
    return pooled


def _series(documents: list[dict[str, Any]]) -> dict[str, Any]:
    t_s: list[float] = []
    rates: list[list[float | None]] = []
    offset = 0.0
    for d in documents:
        t_s += [offset + t for t in d["series"]["t_s"]]
        rates += d["series"]["rate_per_s"]
        offset += d["total"]["seconds"]
    return {"t_s": t_s, "rate_per_s": rates}
