# SPDX-License-Identifier: MIT
"""Statistics of the benchmarks: scipy's, with intervals of 95%."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats
from common import Interval, Target

CONFIDENCE = 0.95
_RESAMPLES = 9999


def median(samples: Sequence[float]) -> float:
    return float(np.median(np.asarray(samples, dtype=float)))


def median_interval(samples: Sequence[float]) -> Interval | None:
    """Of the median, by order statistics: no assumption on the distribution. None: too few."""
    if len(samples) < 6:
        return None
    found = scipy.stats.quantile_test(samples, q=median(samples), p=0.5)
    low, high = found.confidence_interval(CONFIDENCE)
    return (float(low), float(high)) if np.isfinite(low + high) else None


def bootstrap_interval(samples: Sequence[float]) -> Interval | None:
    """Of the median, by the percentile bootstrap with a fixed seed. None: too few."""
    return _bootstrap([samples], np.median) if len(samples) >= 3 else None


def ratio_interval(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Of median(b) / median(a), two independent sets of samples, by the percentile bootstrap."""

    def ratio(x: Any, y: Any, axis: int = -1) -> Any:
        return np.median(y, axis=axis) / np.median(x, axis=axis)

    return _bootstrap([a, b], ratio)


def _bootstrap(samples: Sequence[Sequence[float]], statistic: Callable[..., Any]) -> Interval:
    found = scipy.stats.bootstrap(
        tuple(np.asarray(each, dtype=float) for each in samples),
        statistic,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(1),
    ).confidence_interval
    return float(found.low), float(found.high)


def judge_at_most(
    what: str, value: float, interval: Interval | None, limit: float, shown: str, note: str = ""
) -> Target:
    """Met when the lower end of the interval does not exceed `limit`."""
    if interval is None:
        return Target(what, value, None, shown, None, note or "too few samples for an interval")
    return Target(what, value, interval, shown, interval[0] <= limit, note)


def judge_at_least(
    what: str, value: float, interval: Interval | None, limit: float, shown: str, note: str = ""
) -> Target:
    """Met when the upper end of the interval reaches `limit`."""
    if interval is None:
        return Target(what, value, None, shown, None, note or "too few samples for an interval")
    return Target(what, value, interval, shown, interval[1] >= limit, note)


def spread(interval: Interval | None, form: Callable[[float], str]) -> str:
    """``[low, high]`` for a table."""
    return f"[{form(interval[0])}, {form(interval[1])}]" if interval else "-"


def percent(value: float) -> str:
    return f"{100 * value:+.1f}%"
