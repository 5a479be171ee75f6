# SPDX-License-Identifier: MIT
"""The benchmark runner works and its document holds together; what it measures is not judged."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import locklab
from support import ROOT, clean_environment

RUN = [sys.executable, str(ROOT / "tests" / "bench" / "run.py")]
TINY = ["--effort", "0.01"]
SCRIPTS = str(ROOT / "tests" / "bench")


def bench(*words: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *words],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def check_document(document: dict[str, Any], table: str) -> dict[str, Any]:
    """What holds in every document; returns the one table."""
    assert document["schema"] == "locklab.bench/1"
    assert document["status"] == "complete"
    assert document["failed"] == {}
    assert document["environment"]["identity"]["kernel"]
    assert list(document["tables"]) == [table]
    found: dict[str, Any] = document["tables"][table]
    assert found["machine"]["seconds"] > 0
    assert found["rows"]
    assert all(len(row) == len(found["columns"]) for row in found["rows"])
    for target in found["targets"]:
        assert target["verdict"] in ("met", "NOT MET", "not measured")
        if target["interval"]:
            low, high = target["interval"]
            assert low <= target["value"] <= high
    return found


@pytest.fixture(scope="module")
def uncontended(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What one tiny run of the table prints and writes."""
    file = tmp_path_factory.mktemp("bench") / "bench.json"
    done = bench(*TINY, "--only", "uncontended", "-o", str(file))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.native
@pytest.mark.timeout(700)  # the first one compiles clib
def test_every_spin_lock_stands_beside_a_hand_written_one(
    uncontended: tuple[str, dict[str, Any]],
) -> None:
    table = check_document(uncontended[1], "uncontended")
    spin = {lock["id"] for lock in locklab.locks() if lock["family"] == "spin"}
    beside_hand = {f["lock"] for f in table["figures"] if f["against"].startswith("hand/")}
    assert beside_hand == spin
    judged = {target["what"].partition(" ")[0] for target in table["targets"]}
    mutexes = {lock["id"] for lock in locklab.locks() if lock["family"] in ("mutex", "ww")}
    assert judged == spin - {"spin/none"} | mutexes


@pytest.mark.native
@pytest.mark.timeout(700)
def test_figures_follow_from_the_samples(uncontended: tuple[str, dict[str, Any]]) -> None:
    from statistics import median

    table = uncontended[1]["tables"]["uncontended"]
    processes = table["samples"]["processes"]
    assert len({len(blocks) for process in processes for blocks in process.values()}) == 1
    for figure in table["figures"]:
        ratios = [median(p[figure["lock"]]) / median(p[figure["against"]]) for p in processes]
        assert figure["ratios"] == pytest.approx(ratios)
        assert figure["ratio"] == pytest.approx(median(ratios))
        assert figure["ns"] > 0


@pytest.mark.native
@pytest.mark.timeout(700)
def test_the_table_is_printed(uncontended: tuple[str, dict[str, Any]]) -> None:
    text, document = uncontended
    for row in document["tables"]["uncontended"]["rows"]:
        assert any(row[0] in line and row[1] in line for line in text.splitlines()), row
    assert "targets: " in text


@pytest.mark.native
def test_the_document_is_printed_on_demand(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    done = bench(*TINY, "--only", "startup", "--json", "-o", str(file))
    assert done.returncode == 0, done.stderr
    table = check_document(json.loads(done.stdout), "startup")
    assert "samples" not in table
    written = json.loads(file.read_text(encoding="utf-8"))["tables"]["startup"]
    assert len(written["samples"]["an empty interpreter"]) >= 6


@pytest.mark.native
def test_an_interrupt_leaves_a_document(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    words = [*RUN, "--effort", "100", "--only", "startup", "-o", str(file)]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        assert "startup" in process.stderr.readline()
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert json.loads(file.read_text(encoding="utf-8"))["status"] == "interrupted"


@pytest.mark.parametrize("words", [["--effort", "0"], ["--only", "nothing"], ["--effort", "nan"]])
def test_bad_usage_is_refused(words: list[str]) -> None:
    done = bench(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    import figures

    assert figures.judge_at_most("x", 1.02, (0.99, 1.05), 1.0, "<= 1").verdict == "met"
    assert figures.judge_at_most("x", 1.02, (1.01, 1.03), 1.0, "<= 1").verdict == "NOT MET"
    assert figures.judge_at_most("x", 1.02, None, 1.0, "<= 1").verdict == "not measured"
    low, high = figures.median_interval([float(x) for x in range(100)])
    assert 35 < low < 49.5 < high < 65
    assert figures.median_interval([1.0, 2.0]) is None
    low, high = figures.ratio_interval([1.0, 1.1, 0.9] * 9, [2.0, 2.2, 1.8] * 9)
    assert low <= 2.0 <= high


def test_oversubscription_is_judged_by_undisturbed_repetitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    from tables import oversubscribed as table

    def sampled(rate: float, queued: int = 0) -> Any:
        n = table.LEAST
        rates = [rate * (1 + 0.001 * k) for k in range(n)]
        return table.Samples(rates, [0.1] * n, [2.0] * n, [queued] * n, [0.05] * n)

    samples = {cell: sampled(1e6) for cell in table.cells()}
    found = [t for each in table.targets(samples).values() for t in each]
    assert {t.verdict for t in found if "queue" not in t.what} == {"met"}
    assert [t.verdict for t in found if "queue" in t.what] == ["NOT MET"]  # none lost its CPU
    samples |= {
        ("mutex/3.7", 16): sampled(0.5e6),  # below 0.85, 0.60 and 0.55
        ("mutex/nospin", 4): table.Samples(),
        ("mutex/mcs", 16): sampled(1e5, queued=1),  # without a bound
    }
    by_text = {t.what: t.verdict for each in table.targets(samples).values() for t in each}
    assert [v for w, v in by_text.items() if w.startswith("mutex/3.7, 16")] == ["NOT MET"] * 3
    assert {v for w, v in by_text.items() if w.startswith("mutex/nospin, 4")} == {"not measured"}
    assert {v for w, v in by_text.items() if w.startswith("mutex/mcs, 16")} == {"met"}
    assert table.all_back(samples, [0.06]).verdict == "met"
    assert table.all_back(samples, [0.11]).verdict == "NOT MET"
    assert table.all_back(samples, []).verdict == "not measured"
