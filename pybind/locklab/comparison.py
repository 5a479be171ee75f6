# SPDX-License-Identifier: MIT
"""Is B another speed than A, or is the difference noise?"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from locklab.errors import ConfigError
from locklab.names import unknown
from locklab.result import Result
from locklab.stats import MIN_SAMPLES, mann_whitney, ratio_interval

SCHEMA = "locklab.compare/1"
ALPHA = 0.05
PER_REPEAT = ("rate_per_s", "acquisitions", "seconds")
_POOLED = ("mean", "p50", "p90", "p99", "p999", "max")
_HISTOGRAMS = ("wait_ns", "hold_ns", "handoff_ns", "wake_ns")
METRICS = (*PER_REPEAT, *(f"{h}.{m}" for h in _HISTOGRAMS for m in _POOLED))
EXIT = {"faster": 0, "same": 0, "slower": 1, "too-few-samples": 3}


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    metric
        What was compared.
    a, b
        Medians over the repeats, in the metric's unit.
    ratio
        b / a; None if a is 0.
    interval
        95% bootstrap interval of the ratio, or None with too few samples, or if zeros among the
        samples leave it without bounds.
    p
        Of the two-sided Mann-Whitney U test, or None with too few samples.
    samples
        Number of samples of each side.
    verdict
        ``faster``, ``same``, ``slower`` (B against A) or ``too-few-samples``.
    differences
        What else differs between the two: ``{"where", "a", "b"}``.
    """

    metric: str
    a: float
    b: float
    ratio: float | None
    interval: tuple[float, float] | None
    p: float | None
    samples: tuple[int, int]
    verdict: str
    differences: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """As ``locklab compare --json`` prints it (schema ``locklab.compare/1``)."""
        return {"schema": SCHEMA, **asdict(self)}


def compare(
    a: Result | str | os.PathLike[str],
    b: Result | str | os.PathLike[str],
    metric: str = "rate_per_s",
) -> Comparison:
    """Compare result `b` with result `a`, repeat by repeat.

    A difference counts if the Mann-Whitney test finds it (p < 0.05) and the 95% interval of the
    ratio of medians excludes 1. Nothing is refused: what differs besides is listed.

    Parameters
    ----------
    a, b
        Results, or files of saved ones.
    metric
        ``rate_per_s``, or another figure of the repeats; a figure of a histogram such as
        ``wait_ns.p99`` is one sample a result, so it never yields a verdict. Of a rate more is
        faster, of a time less is.

    Raises
    ------
    UnknownName
        There is no such metric.
    ConfigError
        A file is no result, or the metric is null in one of them (the message says why).
    Unsupported
        scipy is not installed.
    """
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS, field="metric")
    first, second = (r if isinstance(r, Result) else Result.load(r) for r in (a, b))
    xs, ys = _samples(first, metric), _samples(second, metric)
    x, y = median(xs), median(ys)
    ratio = y / x if x else None
    interval: tuple[float, float] | None = None
    p: float | None = None
    verdict = "too-few-samples"
    if min(len(xs), len(ys)) >= MIN_SAMPLES:
        interval = ratio_interval(xs, ys)
        p = mann_whitney(xs, ys)[1]
        verdict = _verdict(x, y, interval, p, more_is_faster=metric != "seconds")
    return Comparison(
        metric=metric,
        a=x,
        b=y,
        ratio=ratio,
        interval=interval,
        p=p,
        samples=(len(xs), len(ys)),
        verdict=verdict,
        differences=differences(first.to_dict(), second.to_dict()),
    )


def _verdict(
    x: float, y: float, interval: tuple[float, float] | None, p: float, *, more_is_faster: bool
) -> str:
    if p >= ALPHA or (interval is not None and interval[0] <= 1 <= interval[1]):
        return "same"
    return "faster" if (y > x) == more_is_faster else "slower"


def _samples(result: Result, metric: str) -> list[float]:
    if metric in PER_REPEAT:
        values = [repeat[metric] for repeat in result["repeats"]]
        if not values or None in values:
            raise ConfigError(f"{metric} of {result.lock} is null in a repeat", field="metric")
        return values
    name, _, figure = metric.partition(".")
    found = result[name]
    if found is None or found[figure] is None:
        why = result["reasons"].get(name) if "reasons" in result else None
        why = why or (found or {}).get("reason") or "no reason given"
        raise ConfigError(f"{metric} of {result.lock} is null: {why}", field="metric")
    return [float(found[figure])]


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[dict[str, Any]]:
    """What differs in configuration, environment and placement regime, one row each."""
    rows: list[dict[str, Any]] = []
    _walk("config", a["config"], b["config"], rows)
    for part in ("identity", "observed"):
        one, two = a["environment"][part], b["environment"][part]
        _walk(f"environment.{part}", one, two, rows)
    ours, theirs = (
        [ns for r in d["repeats"] for ns in r["regime_ns"] if ns is not None] for d in (a, b)
    )
    if (
        ours
        and theirs
        and max(median(ours), median(theirs)) > 1.5 * min(median(ours), median(theirs))
    ):
        row = {"where": "placement regime (median round trip, ns)"}
        rows.append(row | {"a": median(ours), "b": median(theirs)})
    return rows


_NOISE = ("started", "load_average", "regime_ns", "capabilities", "read_cost_ns", "ticks_per_s")


def _walk(where: str, a: Any, b: Any, rows: list[dict[str, Any]]) -> None:
    """Rows for the leaves in which two trees differ, but for what differs every time."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a | b:
            if key not in _NOISE:
                _walk(f"{where}.{key}", a.get(key), b.get(key), rows)
    elif a != b:
        rows.append({"where": where, "a": a, "b": b})
