# SPDX-License-Identifier: MIT
"""Statistics of results. Tests and intervals are scipy's (extra ``[data]``), loaded when used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from locklab.errors import Unsupported

MIN_SAMPLES = 9  # a side, below which a comparison gives no verdict
MIN_INTERVAL = 6  # below which no 95% interval of a median exists
CONFIDENCE = 0.95
_RESAMPLES = 9999


def fairness(acquisitions: Sequence[int]) -> dict[str, Any]:
    """Jain's index, coefficient of variation and max / min of the threads' acquisitions."""
    total = sum(acquisitions)
    if total == 0:
        why = "nobody acquired the lock"
        reasons = dict.fromkeys(("jain", "cov", "max_over_min"), why)
        return {"jain": None, "cov": None, "max_over_min": None, "reasons": reasons}
    squares = sum(x * x for x in acquisitions)
    found: dict[str, Any] = {
        "jain": total * total / (len(acquisitions) * squares),
        "cov": _deviation(acquisitions) / (total / len(acquisitions)),
        "max_over_min": None,
    }
    least = min(acquisitions)
    if least:
        found["max_over_min"] = max(acquisitions) / least
    else:
        found["reasons"] = {"max_over_min": "a thread acquired the lock not once"}
    return found


def need_scipy(what: str) -> Any:
    """The module `scipy.stats`, or :class:`Unsupported` that names the extra to install."""
    try:
        import scipy.stats
    except ImportError:
        raise Unsupported(
            f"{what} needs scipy: pip install 'locklab[data]'", code="ENOTSUP"
        ) from None
    return scipy.stats


def median_interval(samples: Sequence[float]) -> tuple[float, float] | None:
    """95% confidence interval of the median by order statistics, None for fewer than 6 samples.

    Raises
    ------
    Unsupported
        scipy is not installed.
    """
    if len(samples) < MIN_INTERVAL:
        return None
    from statistics import median

    stats = need_scipy("a confidence interval")
    test = stats.quantile_test(list(samples), q=median(samples), p=0.5)
    low, high = test.confidence_interval(CONFIDENCE)
    return (float(low), float(high)) if math.isfinite(low + high) else None


def ratio_interval(a: Sequence[float], b: Sequence[float]) -> tuple[float, float] | None:
    """95% bootstrap interval (percentile, seed fixed) of median(b) / median(a).

    None if it has no bounds: resampled medians of `a` can be 0.
    """
    import warnings

    stats = need_scipy("a confidence interval")
    import numpy as np

    def ratio(x: Any, y: Any, axis: int = -1) -> Any:
        return np.median(y, axis=axis) / np.median(x, axis=axis)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the same zeros, from inside scipy
        found = stats.bootstrap(
            (np.asarray(a), np.asarray(b)),
            ratio,
            n_resamples=_RESAMPLES,
            confidence_level=CONFIDENCE,
            method="percentile",
            vectorized=True,
            random_state=np.random.default_rng(1),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return (low, high) if math.isfinite(low + high) else None


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Two-sided Mann-Whitney U: the statistic of `b` over `a`, and p."""
    stats = need_scipy("the Mann-Whitney test")
    found = stats.mannwhitneyu(list(b), list(a), alternative="two-sided")
    return float(found.statistic), float(found.pvalue)


def spread(samples: Sequence[float]) -> float | None:
    """Standard deviation / mean, None for fewer than two samples or a mean of 0."""
    if len(samples) < 2 or not sum(samples):
        return None
    return _deviation(samples) * len(samples) / math.fsum(samples)


def _deviation(samples: Sequence[float]) -> float:
    """Standard deviation of the whole set (the module `statistics` takes long to import)."""
    mean = math.fsum(samples) / len(samples)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in samples) / len(samples))
