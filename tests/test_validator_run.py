# SPDX-License-Identifier: MIT
"""``locklab run --validate``: reports and silence with real locks, documents, text, cost."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import locklab
from locklab import validation
from locklab.cli import main
from locklab.contract import validate
from locklab.render import plain
from locklab.report import tables
from support import ROOT, make_clib

SHORT = {"threads": 2, "seconds": 0.05, "warmup_s": 0.01, "watchdog_s": 60.0}
SILENT: list[tuple[str, str, dict[str, object]]] = [
    ("spin/mcs", "critical-section", {}),
    ("rwsem/3.12", "critical-section", {"shared_pct": 50}),
    ("host/pthread-rwlock", "critical-section", {"shared_pct": 50}),
    ("mutex/mcs", "aim7-fserver", {}),
    ("mutex/v10", "dbench-50", {}),
    ("mutex/nospin", "creates-4k", {}),
    ("mutex/osq", "take-all", {"inner": 200, "take_pct": 100}),
    ("spin/ticket", "take-all", {"inner": 200, "take_pct": 100}),
    ("ww/wait-die", "ww-modeset", {}),
    ("ww/wait-die", "ww-execbuf", {"locks": 64, "protocol": "discover", "section_max_ns": 5000}),
    ("ww/wait-die", "ww-execbuf", {"locks": 64, "protocol": "mix", "section_max_ns": 5000}),
]


@cache
def not_nested(lock: str) -> dict[str, Any]:
    params = {"nest": "false", "take_pct": 100, "inner": 8}
    result = locklab.run(lock, "take-all", params=params, validate=True, **SHORT)
    return result.to_dict()


@pytest.mark.parametrize(("lock", "workload", "params"), SILENT, ids=lambda x: str(x))
def test_proper_workloads_are_silent(lock: str, workload: str, params: dict[str, object]) -> None:
    document = locklab.run(lock, workload, params=params, validate=True, **SHORT).to_dict()
    validate(document)
    assert document["config"]["validate"] is True
    found = document["validation"]
    assert [r["text"] for r in found["reports"]] == []
    assert found["dropped"] == 0
    assert found["chains"] > 0


def test_many_of_a_class_are_reported_where_nothing_orders_them() -> None:
    document = not_nested("mutex/mcs")
    validate(document)
    (report,) = document["validation"]["reports"]
    assert report["kind"] == "same-class"
    assert [e["lock"] for e in report["held"]] == ["outer", "all", "inner[0]", "inner[1]"]
    assert [e["asked"] for e in report["held"]] == [False, False, False, True]
    assert report["site"]["file"].endswith("take-all.c")
    names = [c["name"] for c in document["validation"]["classes"]]
    assert sorted(names) == ["all", "inner", "outer"]


def test_a_sleeping_lock_inside_a_spin_lock_is_reported() -> None:
    params = {"sleep_pct": 0}
    result = locklab.run("spin/ticket", "aim7-fserver", params=params, validate=True, **SHORT)
    reports = result.to_dict()["validation"]["reports"]
    assert {r["kind"] for r in reports} == {"sleep-in-spin"}
    assert (
        "journal, for which it may have to sleep, while it holds 1 spin lock" in reports[0]["text"]
    )


def test_the_text_of_a_report_names_locks_modes_and_places() -> None:
    text = plain(tables(not_nested("mutex/mcs")))
    assert re.search(r"validator: 1 report: 3 classes of locks, \d orders between them", text)
    assert re.search(
        r"    holds inner\[0\] \(exclusive\) at \S*take-all\.c:\d+\n"
        r"    asks for inner\[1\] \(exclusive\) at \S*take-all\.c:\d+\n",
        text,
    )


def test_reports_pool() -> None:
    one = locklab.Result(not_nested("mutex/mcs"))
    found = locklab.merge([one, one]).to_dict()["validation"]
    (report,) = found["reports"]
    assert report["count"] == 2 * not_nested("mutex/mcs")["validation"]["reports"][0]["count"]
    assert len(found["classes"]) == 3
    assert len(found["edges"]) == len(not_nested("mutex/mcs")["validation"]["edges"])


def test_a_report_makes_the_answer_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["-s", "0.05", "--warmup", "0.01", "--validate"]
    file = tmp_path / "run.json"
    assert main(["run", "mutex/mcs", "-w", "take-all", *short, "-p", "nest=false"]) == 1
    assert "same-class: thread " in capsys.readouterr().out
    assert main(["run", "mutex/mcs", "-w", "take-all", *short, "-o", str(file)]) == 0
    assert "validator: nothing to report: 3 classes" in capsys.readouterr().out
    assert json.loads(file.read_text(encoding="utf-8"))["validation"]["reports"] == []


def test_without_it_a_document_says_nothing_of_it() -> None:
    assert "validation" not in locklab.run("spin/tas", **SHORT).to_dict()


def test_high_stacks_are_shortened() -> None:
    entry = {
        "lock": "a",
        "class": "a",
        "count": 1,
        "mode": "shared",
        "tried": True,
        "asked": False,
        "outer": None,
        "site": None,
    }
    rows = validation.stack([entry] * 40)
    assert len(rows) == 9
    assert rows[4] == "    ... 32 more entries"
    assert rows[0] == "    holds a (shared, by a try)"


def test_the_document_lists_every_kind() -> None:
    listed = re.findall(
        r"^\| `([a-z-]+)` \| ", (ROOT / "docs/VALIDATOR.md").read_text("utf-8"), re.M
    )
    source = (ROOT / "clib/validate/reports.def").read_text("utf-8")
    assert listed == re.findall(r'^VA_KIND\(\w+, "([^"]+)"', source, re.MULTILINE)


@pytest.mark.timeout(700)  # the first one compiles clib
@pytest.mark.skipif(shutil.which("nm") is None, reason="reads object files by nm")
def test_locks_and_the_bare_build_know_no_validator() -> None:
    directory = make_clib("native", "lib")

    def mentions(obj: Path) -> bool:
        done = subprocess.run(["nm", obj], capture_output=True, text=True, check=True)
        return "ll_validator" in done.stdout

    assert mentions(directory / "native" / "run" / "worker.o")
    quiet = [directory / "bare" / "run" / "worker.o"]
    quiet += directory.glob("bare/workloads/*.o")
    quiet += directory.glob("*/locks/*/*.o")
    assert len(quiet) > 100
    assert [str(obj) for obj in quiet if mentions(obj)] == []


@pytest.mark.timeout(700)
@pytest.mark.skipif(shutil.which("objdump") is None, reason="reads disassembly by objdump")
def test_workloads_of_the_bare_build_note_no_sites() -> None:
    """The sites of calls are constants, which only the instrumented build refers to."""
    directory = make_clib("native", "lib")

    def sites(build: str) -> int:
        done = subprocess.run(
            ["objdump", "-t", directory / build / "workloads" / "critical-section.o"],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.count(" here_.")

    assert sites("native") == 4  # two ways in, two out
    assert sites("bare") == 0
