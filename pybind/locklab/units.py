# SPDX-License-Identifier: MIT
"""Numbers for people: four significant figures at most, the unit always beside them."""

from __future__ import annotations

from collections.abc import Mapping

NONE = "-"
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))


def figures(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant figures and no exponent: 4.61, 46.1, 461."""
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 1
    return f"{value:.{max(digits - whole, 0)}f}"


def rate(per_s: float | None, unit: str = "s") -> str:
    """Acquisitions per second: ``4.61 M/s``."""
    if per_s is None:
        return NONE
    for size, letter in _LARGE:
        if per_s >= size:
            return f"{figures(per_s / size)} {letter}/{unit}"
    return f"{figures(per_s)} /{unit}"


def per_minute(value: float | None) -> str:
    """Jobs per minute: ``4.61 M/min``."""
    return rate(value, "min")


def ns(value: float | None) -> str:
    """A time given in nanoseconds: ``84 ns``, ``1.21 us``, ``4.00 ms``."""
    if value is None:
        return NONE
    for size, unit in _TIMES:
        if value >= size:
            return f"{figures(value / size)} {unit}"
    return f"{figures(value, 3)} ns" if value != int(value) else f"{int(value)} ns"


def seconds(value: float) -> str:
    """A duration given in seconds."""
    return ns(value * 1e9)


def count(value: float | None) -> str:
    """A whole number with thousands separated; a part of one with three figures."""
    if value is None:
        return NONE
    return f"{value:,}" if value == int(value) else figures(value)


def percent(ratio: float) -> str:
    """``0.034`` as ``3.40%``."""
    return f"{figures(ratio * 100)}%"


def settings(params: Mapping[str, bool | float | str]) -> str:
    """Parameters as ``-p`` takes them: ``mode=retry, check_first=false``."""
    words = ((name, str(v).lower() if isinstance(v, bool) else v) for name, v in params.items())
    return ", ".join(f"{name}={word}" for name, word in words)


def ratio(value: float | None) -> str:
    """A plain ratio with three decimals."""
    return NONE if value is None else f"{value:.3f}"
