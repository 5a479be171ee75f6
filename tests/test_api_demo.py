# SPDX-License-Identifier: MIT
"""The demonstration of `make demo`, with short repeats: ends by itself, saves, concludes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import locklab
from locklab import demo
from result_support import fabricated, result_of

pytestmark = pytest.mark.native


def test_the_demo_ends_by_itself_and_says_what_it_found(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "locklab.demo", "--seconds", "0.03", "--out", str(tmp_path / "d")],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"^Watch it live: http://127\.0\.0\.1:\d+/$", done.stdout, re.M) or (
        "No live page" in done.stdout
    )
    for lock in demo.LOCKS:
        assert lock in done.stdout
        saved = locklab.Result.load(tmp_path / "d" / f"{lock.replace('/', '-')}.json")
        assert len(saved["repeats"]) == demo.ROUNDS * demo.REPEATS >= 9
        assert saved.overlap == 0
    assert "Every lock excluded" in done.stdout
    assert "Fastest at the median" in done.stdout


def test_conclusions_follow_from_the_figures() -> None:
    def lock(rate: float, **changes: object) -> locklab.Result:
        return fabricated([rate + i for i in range(9)], **changes)

    results = {"spin/tas": lock(3e6), "spin/mcs": lock(2e6), demo.FAMILIAR: lock(1e6)}
    text = "\n".join(demo.conclusions(results))
    assert "Fastest at the median: spin/tas" in text
    assert "spin/tas runs at 3.00 times the rate of host/pthread-mutex" in text
    assert "Not distinguishable" not in text
    assert "Every lock excluded" in text
    results["spin/mcs"] = lock(3e6, overlap=4)
    text = "\n".join(demo.conclusions(results))
    assert "EXCLUSION VIOLATED by spin/mcs" in text
    assert "Not distinguishable from it within the noise: spin/mcs" in text


def test_the_control_does_not_boast() -> None:
    assert "it saw" in demo._control(result_of("none"))
    assert "proves nothing" in demo._control(fabricated([1.0], overlap=0))


def test_bad_output_directories_are_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "locklab.demo", "--seconds", "0.001", "--out", tmp_path / "file/x"],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
