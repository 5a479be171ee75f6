# SPDX-License-Identifier: MIT
"""compare: verdicts on known samples, what it lists, what it cannot do."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import locklab
from locklab import comparison
from result_support import fabricated, result_of

pytestmark = pytest.mark.native


def around(middle: float, n: int, seed: int) -> list[float]:
    source = random.Random(seed)
    return [middle * source.uniform(0.98, 1.02) for _ in range(n)]


VERDICTS = [
    (around(100e3, 9, 1), around(120e3, 9, 2), "faster", 0),
    (around(120e3, 9, 1), around(100e3, 9, 2), "slower", 1),
    (around(100e3, 9, 1), around(100e3, 9, 2), "same", 0),
    (around(100e3, 30, 3), around(100e3, 12, 4), "same", 0),
    (around(100e3, 8, 1), around(200e3, 9, 2), "too-few-samples", 3),
    (around(100e3, 9, 1), around(200e3, 8, 2), "too-few-samples", 3),
    (around(100e3, 1, 1), around(200e3, 1, 2), "too-few-samples", 3),
]


@pytest.mark.parametrize(("a", "b", "verdict", "code"), VERDICTS)
def test_verdicts(a: list[float], b: list[float], verdict: str, code: int) -> None:
    found = locklab.compare(fabricated(a), fabricated(b))
    assert found.verdict == verdict
    assert comparison.EXIT[verdict] == code
    assert found.samples == (len(a), len(b))
    if verdict == "too-few-samples":
        assert found.interval is None
        assert found.p is None
    else:
        assert found.interval is not None
        low, high = found.interval
        assert low <= found.ratio <= high
        assert (low <= 1 <= high) == (verdict == "same")


def test_the_ratio_is_that_of_the_medians() -> None:
    found = locklab.compare(fabricated([1, 2, 3]), fabricated([10, 20, 60]))
    assert (found.a, found.b, found.ratio) == (2, 20, 10)


def test_a_comparison_repeats_itself() -> None:
    a, b = fabricated(around(1e5, 9, 1)), fabricated(around(1.05e5, 9, 2))
    assert locklab.compare(a, b) == locklab.compare(a, b)


def test_zeros_among_the_samples_are_samples() -> None:
    one = locklab.compare(fabricated([0.0, *around(1e5, 11, 1)]), fabricated(around(2e5, 12, 2)))
    assert one.verdict == "faster"
    many = fabricated([0.0] * 7 + around(1e5, 5, 1))
    found = locklab.compare(many, fabricated(around(2e5, 12, 2)))
    assert (found.ratio, found.interval, found.verdict) == (None, None, "faster")
    assert locklab.compare(many, many).verdict == "same"
    json.dumps(found.to_dict(), allow_nan=False)


def test_less_time_is_faster() -> None:
    a = fabricated([1e5] * 12)
    slow = a.to_dict()
    for i, repeat in enumerate(slow["repeats"]):
        repeat["seconds"] = 2 + i / 100
    assert locklab.compare(locklab.Result(slow), a, "seconds").verdict == "faster"


def test_a_pooled_figure_never_yields_a_verdict() -> None:
    found = locklab.compare(result_of("plain"), result_of("plain"), "wait_ns.p99")
    assert found.ratio == 1
    assert found.verdict == "too-few-samples"


def test_unknown_and_unmeasured_metrics() -> None:
    with pytest.raises(locklab.UnknownName, match="did you mean rate_per_s"):
        locklab.compare(result_of("plain"), result_of("plain"), "rate_per_sec")
    with pytest.raises(locklab.ConfigError, match="never sleep"):
        locklab.compare(result_of("plain"), result_of("plain"), "wake_ns.p50")
    with pytest.raises(locklab.ConfigError, match="full"):
        locklab.compare(result_of("plain"), result_of("events"), "wait_ns.mean")


def test_nothing_is_refused_and_every_difference_listed() -> None:
    other = result_of("plain").to_dict()
    other["environment"]["identity"]["cpu_model"] = "Another CPU"
    other["environment"]["observed"]["python"] = "9.9"
    other["config"]["params"]["section_ns"] = 7
    other["repeats"] = [r | {"regime_ns": [9e9, 9e9]} for r in other["repeats"]]
    found = locklab.compare(result_of("plain"), locklab.Result(other))
    rows = {row["where"]: (row["a"], row["b"]) for row in found.differences}
    assert rows["environment.identity.cpu_model"][1] == "Another CPU"
    assert rows["environment.observed.python"][1] == "9.9"
    assert rows["config.params.section_ns"] == (200, 7)
    assert any("regime" in where for where in rows)


def test_results_of_one_experiment_differ_in_nothing() -> None:
    assert locklab.compare(result_of("plain"), result_of("plain")).differences == []


def test_files_can_be_compared(tmp_path: Path) -> None:
    result_of("plain").save(tmp_path / "a.json")
    found = locklab.compare(tmp_path / "a.json", str(tmp_path / "a.json"))
    assert found.ratio == 1
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["schema"] == "locklab.compare/1"
    assert {"ratio", "interval", "verdict", "p", "samples", "differences"} <= set(document)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    a: Any = fabricated(around(1e5, 9, 1))
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(locklab.Unsupported, match=r"locklab\[data\]"):
        locklab.compare(a, a)


def test_median_interval_needs_six_samples() -> None:
    from locklab.stats import median_interval

    assert median_interval([1, 2, 3, 4, 5]) is None
    assert median_interval([1, 2, 3, 4, 5, 6]) == (1, 6)
    assert median_interval(range(1, 10)) == (2, 8)


@pytest.mark.parametrize("given", [[1], [None], 3, "x"])
def test_merge_wants_results(given: object) -> None:
    with pytest.raises(locklab.ConfigError, match="Result"):
        locklab.merge(given)  # type: ignore[arg-type]
