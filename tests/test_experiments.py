# SPDX-License-Identifier: MIT
"""Each experiment, quick: it ends, saves a document, draws from that alone and concludes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import locklab
from support import ROOT

pytestmark = pytest.mark.native
EXPERIMENTS = sorted(p for p in (ROOT / "experiments").glob("*.py") if p.name[0] != "_")
LABELS = ("Question", "Expectation", "Method", "Output", "Time")


def test_there_are_experiments() -> None:
    assert EXPERIMENTS


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_top_comment_answers_what_is_asked(path: Path) -> None:
    import ast

    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert [label for label in LABELS if f"{label} " not in text] == []


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_quick_look(path: Path, tmp_path: Path) -> None:
    def call(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, str(path), *words],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = call("--quick", "--out", str(tmp_path / "out"))
    saved = tmp_path / "out" / f"{path.stem}-quick.json"
    document = json.loads(saved.read_text(encoding="utf-8"))
    assert document["schema"] == f"locklab.{path.stem}/1"
    for cell in document["cells"]:
        assert locklab.Result(cell).invariants() == []
    conclusion = [line for line in said.splitlines() if line.startswith("* ")]
    assert conclusion
    figure = saved.with_suffix(".svg")
    assert figure.stat().st_size > 10_000
    figure.unlink()
    again = call("--plot", str(saved))
    assert figure.exists()
    assert [line for line in again.splitlines() if line.startswith("* ")] == conclusion


def test_scaling_runs_every_spin_and_host_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    spec = importlib.util.spec_from_file_location("scaling", ROOT / "experiments" / "scaling.py")
    assert spec is not None
    assert spec.loader is not None
    scaling = importlib.util.module_from_spec(spec)
    sys.modules["scaling"] = scaling
    spec.loader.exec_module(scaling)
    plan = scaling.Plan(threads_per_cpu=(0.0,), rounds=2, seconds=0.005, warmup_s=0)
    document = scaling.run(plan)
    locks = {lock["id"] for lock in locklab.locks() if lock["family"] in ("spin", "host")}
    assert {cell["config"]["lock"] for cell in document["cells"]} == locks
    assert all(len(cell["repeats"]) == 2 for cell in document["cells"])
    assert scaling.Plan().threads(2) == [1, 2, 4]
    assert scaling.Plan().threads(8) == [1, 4, 8, 16]
