# SPDX-License-Identifier: MIT
"""The catalogue, the capabilities of the host, and what is said about results."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import locklab
from locklab import _core, catalogue, environment, explain
from result_support import KINDS, document_of
from support import ROOT

pytestmark = pytest.mark.native


def test_catalogue_elements_have_what_the_contract_names() -> None:
    for lock in locklab.locks():
        assert {"id", "family", "kind", "engines", "expect", "params", "origin"} <= set(lock)
        assert lock["id"] == f"{lock['family']}/{lock['name']}"
        assert isinstance(lock["expect"], dict)
        assert "native" in lock["engines"]
    ids = [lock["id"] for lock in locklab.locks()]
    assert ids == sorted(ids)
    assert "critical-section" in [w["id"] for w in locklab.workloads()]
    assert locklab.machines() == []


def test_default_workload_has_the_defaults_of_the_contract() -> None:
    entry = next(w for w in locklab.workloads() if w["id"] == "critical-section")
    defaults = {p["name"]: p["default"] for p in entry["params"]}
    assert defaults == {"section_ns": 200, "think_ns": 400, "lines": 1, "shared_pct": 0}


def test_catalogue_document_has_the_asked_part_only() -> None:
    assert set(catalogue.document()) == {"schema", "locks", "workloads", "machines"}
    assert set(catalogue.document("machines")) == {"schema", "machines"}
    assert json.loads(json.dumps(catalogue.document())) == catalogue.document()


def test_lists_are_the_callers_own() -> None:
    locklab.locks()[0]["id"] = "changed"
    assert locklab.locks()[0]["id"] != "changed"


def test_capabilities_say_why_not() -> None:
    found = locklab.capabilities()
    assert found["schema"] == "locklab.doctor/1"
    for name, entry in found["capabilities"].items():
        assert isinstance(entry["available"], bool), name
        assert entry["detail"], name
        assert entry["available"] or entry["reason"], name
        assert not (entry["available"] and "reason" in entry), name
    json.dumps(found, allow_nan=False)


def test_capabilities_agree_with_the_core() -> None:
    found = locklab.capabilities()["capabilities"]
    assert found["rseq"]["available"] == (_core.rseq_selftest() == 0)
    cycles = _core.perf_probe("cycles")
    if cycles["errno"]:
        assert not found["perf-hardware"]["available"]
        assert found["perf-hardware"]["errno"]
    assert found["dashboard"]["available"] == _core.HAS_SERVER
    if not found["placement-regime"]["available"]:
        assert "one CPU" in found["placement-regime"]["reason"] or len(_core.cpus()) > 1


def test_hardware_counters_are_marked_as_never_tried() -> None:
    note = locklab.capabilities()["capabilities"]["perf-hardware"]["note"]
    assert "unverified on hardware" in note


def test_lasting_capabilities_are_the_callers_own() -> None:
    from locklab.doctor import lasting_capabilities

    lasting_capabilities()["capabilities"]["rseq"]["detail"] = "changed"
    assert lasting_capabilities()["capabilities"]["rseq"]["detail"] != "changed"
    assert "placement-regime" not in lasting_capabilities()["capabilities"]


def test_build_parts_keep_flags_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "compiler=gcc 12.2,flags=-O2 -Wl,-z,now,pfm=yes,ck=no"
    monkeypatch.setattr(_core, "build_info", lambda: text)
    assert environment.build_parts.__wrapped__() == {
        "compiler": "gcc 12.2",
        "flags": "-O2 -Wl,-z,now",
        "pfm": "yes",
        "ck": "no",
    }


def test_identity_has_the_facts_that_keep_results_apart() -> None:
    identity = environment.identity()
    assert identity["topology"]["cpus"] == len(os.sched_getaffinity(0))
    assert identity["kernel"].split()[1] == os.uname().release
    for name in ("cpu_model", "governor", "smt"):
        assert identity[name] is not None or identity["reasons"][name]


@pytest.mark.skipif(not (ROOT / ".git").is_dir(), reason="not a git checkout")
def test_git_revision_is_that_of_git() -> None:
    import subprocess

    if not Path(environment.__file__).is_relative_to(ROOT):
        pytest.skip("locklab is installed elsewhere")
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert environment.git_revision.__wrapped__() == done.stdout.strip()


def test_why_there_are_no_switch_records_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from locklab import doctor

    def refuse(_: object) -> None:
        text = "owner_run switch-rec needs the context-switch records: EACCES: not for this user"
        raise locklab.Unsupported(text, code="ENOTSUP", field="owner_run")

    monkeypatch.setattr(doctor._core, "validate", refuse)
    found = doctor._switch_records()
    assert (found["available"], found["errno"], found["reason"]) == (
        False,
        "EACCES",
        "not for this user",
    )


# --- what is said about a result ----------------------------------------------------------------


LOST = dict.fromkeys(
    ("preempted_while_holding", "preempted_while_spinning", "preempted_while_queued"), 0
)


def changed(**members: Any) -> dict[str, Any]:
    """A calm document with some members replaced."""
    document: dict[str, Any] = json.loads(json.dumps(document_of("plain")))
    document["environment"]["observed"]["load_average"] = [0.0, 0.0, 0.0]
    document["environment"]["observed"]["clock"]["step_ns"] = 0
    document["events"] |= LOST | {"preempted_while_holding": 0}
    document["wait_ns"]["max"] = 999
    document["handoff_ns"] |= {"p50": 150, "mean": 160.0}
    document["repeats"] = [
        r | {"rate_per_s": 100.0, "regime_ns": [80, 80]} for r in document["repeats"]
    ]
    document["fairness"] |= {"max_over_min": 1.0}
    document["handoff_log"] = {"sampled_ratio": 1.0, "dropped_windows": 0}
    document["threads"]["cpu"] = [0, 1]
    return document | members


def said(document: dict[str, Any]) -> str:
    return "\n".join(explain.findings(document))


def test_a_calm_result_needs_no_words() -> None:
    assert said(changed()) == ""


def test_a_violated_exclusion_is_the_first_thing_said() -> None:
    document = changed(overlap=3, status="interrupted")
    document["config"]["lock"] = "spin/mcs"
    assert "EXCLUSION VIOLATED: 3 sections" in explain.findings(document)[1]
    document["config"]["lock"] = "spin/none"
    assert "as they must" in said(document)


def test_the_cause_of_a_collapse_is_named() -> None:
    document = changed()
    document["threads"]["cpu"] = [0, 1, 0, 1]
    document["events"] |= LOST | {"preempted_while_holding": 2, "preempted_while_queued": 75}
    document["wait_ns"] |= {"mean": 26.7e6}
    text = said(document)
    assert "Collapse, caused by preemption: 4 threads share 2 CPUs" in text
    assert "2 holders and 75 queued waiters lost their CPU inside the lock (rseq marker)" in text
    assert "serves its waiters in order" in text
    document["wait_ns"]["mean"] = 900.0
    assert "Collapse" not in said(document)
    assert "Preemption: 4 threads share 2 CPUs" in said(document)


def test_without_rseq_the_cause_is_told_by_switches() -> None:
    document = changed()
    document["threads"] |= {"cpu": [0, 0], "involuntary_switches": [40, 2]}
    document["events"] |= dict.fromkeys(LOST)
    assert "2 threads share 1 CPU, and the threads lost their CPU 42 times" in said(document)


def test_other_programs_are_blamed_where_threads_fit() -> None:
    document = changed()
    document["events"] |= {"preempted_while_holding": 1}
    assert said(document) == ""
    document["wait_ns"]["max"] = 5_000_000
    assert "other programs took CPUs" in said(document)
    assert "longest wait was 5.00 ms" in said(document)


def test_sleepers_of_a_foreign_lock_are_not_called_preempted() -> None:
    document = changed()
    document["config"]["lock"] = "host/pthread-mutex"
    document["events"] |= {"preempted_while_spinning": None, "preempted_while_queued": None}
    document["wait_ns"]["max"] = 5_000_000
    assert said(document) == ""
    document["threads"]["cpu"] = [0, 1, 0, 1]
    document["events"] |= {"preempted_while_holding": 7}
    assert "7 holders lost their CPU" in said(document)


def test_a_spinner_that_lost_its_cpu_in_a_queue_is_named() -> None:
    document = changed()
    document["config"]["lock"] = "mutex/mcs"
    document["threads"]["cpu"] = [0, 1, 0, 1]
    document["events"] |= {
        "preempted_while_holding": 1,
        "preempted_while_spinning": 2,
        "preempted_while_queued": 3,
    }
    text = said(document)
    assert "1 holders, 2 spinning waiters and 3 queued waiters lost their CPU" in text
    assert "(preempted_while_queued)" in text


def test_crowding_is_told_even_if_nothing_was_lost() -> None:
    document = changed()
    document["threads"]["cpu"] = [0, 0]
    document["threads"]["involuntary_switches"] = [0, 0]
    assert "2 threads share 1 CPU: holders and waiters will lose" in said(document)


def test_a_changed_regime_is_told() -> None:
    document = changed()
    document["repeats"][1]["regime_ns"] = [80, 390]
    assert "80 ns to 390 ns (1 of 3 repeats saw it change)" in said(document)
    document["repeats"][1]["regime_ns"] = [None, None]
    assert said(document) == ""


def test_scattered_repeats_are_told() -> None:
    document = changed()
    document["repeats"][0]["rate_per_s"] = 140.0
    assert "The 3 repeats scatter by 16.6%" in said(document)


def test_starving_and_unfairness_are_told() -> None:
    document = changed()
    document["fairness"]["max_over_min"] = None
    document["threads"]["acquisitions"] = [9, 0]
    assert "Starvation: 1 of 2 threads" in said(document)
    document["fairness"]["max_over_min"] = 3.0
    assert "3.0 times as often" in said(document)


def test_estimates_and_gaps_are_told() -> None:
    document = changed(
        perf={"cycles": {"value": 1, "running_ratio": 0.5, "source": "pmu", "unit": "events"}}
    )
    assert "cycles was counted 50.0% of the time" in said(document)
    document = changed(handoff_log={"sampled_ratio": 0.5, "dropped_windows": 4})
    assert "4 windows of the hand-off log" in said(document)
    document = changed()
    document["environment"]["observed"]["load_average"] = [99.0, 1, 1]
    assert "load average 99.0" in said(document)
    document = changed()
    document["environment"]["observed"]["clock"]["step_ns"] = 10**9
    assert "median of wait and hold and hand-off is not resolved" in said(document)


@pytest.mark.parametrize("kind", KINDS)
def test_every_note_is_a_sentence(kind: str) -> None:
    for text in explain.findings(document_of(kind)):
        assert text[0].isupper() or text[0].isdigit()
        assert "None" not in text
        assert "nan" not in text.split()


UNITS = [
    ("rate", 4_610_000, "4.61 M/s"),
    ("rate", 46_100, "46.1 k/s"),
    ("rate", 461, "461 /s"),
    ("rate", 0.5, "0.50 /s"),
    ("rate", 0, "0 /s"),
    ("rate", None, "-"),
    ("ns", 84, "84 ns"),
    ("ns", 84.25, "84.2 ns"),
    ("ns", 1210, "1.21 us"),
    ("ns", 4e6, "4.00 ms"),
    ("ns", 1e9, "1.00 s"),
    ("ns", 999.7, "1000 ns"),
    ("count", 1234567, "1,234,567"),
    ("count", None, "-"),
    ("percent", 0.034, "3.40%"),
    ("percent", 1, "100%"),
    ("ratio", 1.0345, "1.034"),
]


@pytest.mark.parametrize(("function", "value", "text"), UNITS)
def test_units(function: str, value: Any, text: str) -> None:
    from locklab import units

    assert getattr(units, function)(value) == text


def test_metrics_document_is_current() -> None:
    from locklab.docs import text

    path = ROOT / "docs" / "METRICS.md"
    assert path.read_text(encoding="utf-8") == text(), "run: python -m locklab.docs docs/METRICS.md"
    for event in locklab.events():
        assert f"| `{event['name']}` |" in text()
