# SPDX-License-Identifier: MIT
"""The contract of the result document: schema, identities, nulls with their reasons."""

import copy
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest

import locklab
from locklab import contract
from locklab.derived import derived
from result_support import KINDS, document_of, result_of

pytestmark = pytest.mark.native
Document = dict[str, Any]


@pytest.mark.parametrize("kind", KINDS)
def test_every_document_obeys_the_schema(kind: str) -> None:
    jsonschema.Draft202012Validator(contract.schema()).validate(document_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_identities_hold(kind: str) -> None:
    assert result_of(kind).invariants() == []


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_plain_json(kind: str) -> None:
    document = document_of(kind)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(contract.schema())


def test_schema_names_every_member_that_documents_have() -> None:
    """A member without a description would be missing from docs/METRICS.md, too."""
    schema = contract.schema()
    for kind in KINDS:
        assert set(document_of(kind)) <= set(schema["properties"])
    for part in ("total", "threads", "fairness", "config"):
        assert set(document_of("plain")[part]) <= set(schema["properties"][part]["properties"])


def test_keys_of_the_contract_are_there() -> None:
    document = document_of("plain")
    required = """schema status config environment engine source total threads fairness wait_ns
        hold_ns handoff_ns wake_ns handoff_matrix overlap fields events perf series repeats"""
    assert set(required.split()) <= set(document)
    assert document["schema"] == "locklab.run/1"
    assert document["status"] == "complete"
    assert document["engine"] == document["source"] == "native"
    assert "overhead" not in document
    assert {"jain", "cov", "max_over_min"} <= set(document["fairness"])


def nulls(value: object, path: str = "") -> Iterator[tuple[str, Document]]:
    """Paths of all nulls, each with the object it stands in."""
    if isinstance(value, dict):
        for key, child in value.items():
            below = f"{path}.{key}" if path else key
            if child is None:
                yield below, value
            yield from nulls(child, below)
    elif isinstance(value, list):
        for child in value:
            yield from nulls(child, path)


# What is null because it means "none", not because it could not be measured.
MEANT = {"config.machine", "environment.observed.git_revision"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_null_has_its_reason(kind: str) -> None:
    document = document_of(kind)
    for path, holder in nulls(document):
        if path in MEANT or path.startswith("waiters"):
            continue
        name = path.rpartition(".")[2]
        said = (
            holder.get("reason")
            or holder.get("reasons", {}).get(name)
            or document.get("reasons", {}).get(path)
        )
        assert said, f"{path} is null and nothing says why"


def test_full_metrics_time_every_acquisition() -> None:
    document = document_of("plain")
    total = document["total"]["acquisitions"]
    assert total > 0
    assert document["wait_ns"]["count"] == document["hold_ns"]["count"] == total
    assert sum(document["wait_ns"]["buckets"]["count"]) == total
    matrix = document["handoff_matrix"]["count"]
    assert sum(map(sum, matrix)) == document["handoff_ns"]["count"]
    assert [r["index"] for r in document["repeats"]] == [0, 1, 2]


def test_buckets_are_a_stretch_of_the_grid() -> None:
    """The bucket before the first used one is there, so that each bucket has a lower bound."""
    from locklab import _core

    grid = _core.bucket_upper().tolist()
    for name in ("wait_ns", "hold_ns", "handoff_ns"):
        uppers = document_of("plain")[name]["buckets"]["upper"]
        counts = document_of("plain")[name]["buckets"]["count"]
        start = grid.index(uppers[0])
        assert grid[start : start + len(uppers)] == uppers
        assert counts[-1] > 0
        assert start == 0 or counts[0] == 0


def test_events_metrics_leave_the_times_out() -> None:
    document = document_of("events")
    assert document["total"]["acquisitions"] > 0
    assert document["wait_ns"] is document["hold_ns"] is document["handoff_ns"] is None
    assert document["threads"]["wait_max_ns"] is None
    assert "--metrics full" in document["reasons"]["wait_ns"]
    assert set(document["events"]) == {e["name"] for e in locklab.events()}


def test_bare_build_counts_no_event_and_does_not_pretend() -> None:
    document = document_of("bare")
    assert document["total"]["acquisitions"] > 0
    assert set(document["events"].values()) == {None}
    assert "bare" in document["reasons"]["events.await_blocked"]


def test_overlap_is_seen_for_the_lock_that_does_not_exclude() -> None:
    assert document_of("none")["overlap"] > 0
    assert document_of("plain")["overlap"] == 0


def test_overlap_is_null_where_nothing_checks() -> None:
    assert document_of("unchecked")["overlap"] is None


def test_shared_acquisitions_are_a_part_of_all() -> None:
    total = document_of("shared")["total"]
    assert 0 < total["shared_acquisitions"] < total["acquisitions"]


def test_parameters_stand_with_their_defaults() -> None:
    config = document_of("unchecked")["config"]
    assert config["params"] == {"section_ns": 200, "think_ns": 400, "lines": 0, "shared_pct": 0}
    assert config["seed"] == 1


def test_a_config_runs_again() -> None:
    config = document_of("shared")["config"]
    again = locklab.run(**{**config, "seconds": 0.02})
    assert again["config"] == {**config, "seconds": 0.02}


def test_fields_are_those_of_the_descriptor() -> None:
    entry = next(lock for lock in locklab.locks() if lock["id"] == "spin/mcs")
    described = [("lock", f["name"], f["offset"]) for f in entry["lock_fields"]]
    described += [("node", f["name"], f["offset"]) for f in entry["node_fields"]]
    rows = document_of("plain")["fields"]
    assert [(r["object"], r["field"], r["offset"]) for r in rows] == described
    assert all(r["misses"] is None and r["reason"] for r in rows)


def test_perf_says_value_and_source_or_why_not() -> None:
    perf = document_of("perf")["perf"]
    assert list(perf) == ["cycles", "context-switches", "task-clock"]
    for row in perf.values():
        assert row["source"] in ("pmu", "perf-sw", "rusage")
        if row["value"] is None:
            assert row["reason"]
            assert row["per_acquisition"] is None
        else:
            assert 0 < row["running_ratio"] <= 1.0001
    assert perf["task-clock"]["unit"] == "ns"


def test_bypasses_and_runs_come_with_the_hand_offs() -> None:
    document = document_of("plain")
    assert document["bypass"]["count"] <= document["total"]["acquisitions"]
    assert document["run_length"]["sum"] <= document["total"]["acquisitions"]
    log = document["handoff_log"]
    assert log["bypass_max"] >= (document["bypass"]["max"] or 0)
    assert log["bypass_estimated"] <= document["bypass"]["count"]
    for kind in ("one-thread", "events", "shared"):
        assert document_of(kind)["bypass"] is document_of(kind)["run_length"] is None
        assert document_of(kind)["reasons"]["bypass"] == document_of(kind)["reasons"]["handoff_ns"]


def test_figures_that_follow_from_others() -> None:
    document: Document = {
        "total": {"seconds": 2.0, "acquisitions": 10},
        "threads": {"cpu": [0, 1, 0], "cpu_ns": [10**9, 10**9, 10**9]},
        "events": {"count_rmw": 25, "spin_queued_ns": 300, "spin_owner_ns": 100},
        "handoff_log": {"pairs": 9},
        "handoff_ns": {"count": 2},
    }
    assert derived(document) == {
        "idle_share": 0.25,
        "rmw_per_acquisition": 2.5,
        "acquisitions_per_handoff": 4.5,
        "queue_over_owner": 3.0,
    }
    document["threads"]["cpu_ns"] = [3 * 10**9] * 3  # read a moment after the phase
    assert derived(document)["idle_share"] == 0.0
    nothing = {"total": {"seconds": 0, "acquisitions": 0}, "threads": {"cpu": [0]}, "events": {}}
    found = derived(nothing)
    assert set(found.pop("reasons")) == set(found)
    assert set(found.values()) == {None}


def test_overhead_keeps_its_blocks() -> None:
    overhead = document_of("overhead")["overhead"]
    assert len(overhead["bare"]) == len(overhead["instrumented"]) > 0
    assert overhead["pairs"] <= len(overhead["bare"])


def test_overhead_is_the_median_over_pairs() -> None:
    from locklab.document import overhead

    found = overhead([110.0, 103, 102, 101, 104, 0, 0], [100.0, 100, 100, 100, 100, 100, 0])
    assert found["ratio"] == pytest.approx(1.025)  # of 1.10 1.03 1.02 1.01 1.04 0.00
    assert found["pairs"] == 6
    assert found["interval"] == [0, pytest.approx(1.10)]
    assert "reasons" not in found
    few = overhead([110.0, 0], [100.0, 0])
    assert few["ratio"] == pytest.approx(1.1)
    assert few["interval"] == [None, None]
    assert "too few" in few["reasons"]["interval"]
    none = overhead([], [])
    assert none["ratio"] is None
    assert none["reasons"]["ratio"]
    starved = overhead([5.0], [0.0])
    assert starved["ratio"] is None
    assert starved["reasons"]["ratio"]


def test_hung_run_says_who_waits_where() -> None:
    document = document_of("hung")
    assert document["status"] == "interrupted"
    assert document["failure"]["kind"] == "hung"
    states = {w["state"] for w in document["waiters"]}
    assert states == {"holding", "waiting"}
    waiting = next(w for w in document["waiters"] if w["state"] == "waiting")
    assert waiting["field"] == "locked"
    assert waiting["file"].endswith("spin/mcs.c")


def test_stopped_run_is_a_valid_partial_result() -> None:
    document = document_of("stopped")
    assert document["status"] == "interrupted"
    assert "failure" not in document
    assert 0 < document["total"]["seconds"] < 30
    assert document["total"]["acquisitions"] > 0


def test_environment_holds_identity_and_moment() -> None:
    environment = document_of("plain")["environment"]
    assert environment["identity"]["topology"]["cpus"] == len(__import__("os").sched_getaffinity(0))
    assert environment["identity"]["compiler"]
    assert environment["identity"]["flags"]
    assert environment["observed"]["started"].endswith("Z")
    assert environment["observed"]["clock"]["source"]
    assert environment["observed"]["capabilities"]["schema"] == "locklab.doctor/1"


def test_source_has_no_host_time_outside_environment() -> None:
    document = copy.deepcopy(document_of("plain"))
    del document["environment"]
    assert "2026" not in json.dumps(list(document["config"]))
    assert not any("started" in key for key in document)


# --- the identities can fail --------------------------------------------------------------------


def _bump(*path: str | int) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        holder: Any = document
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] += 1

    return change


def _drop_row(document: Document) -> None:
    document["series"]["rate_per_s"].pop()


def _short_row(document: Document) -> None:
    document["series"]["rate_per_s"].append([1.0])
    document["series"]["t_s"].append(9.0)


def _unsorted(document: Document) -> None:
    document["wait_ns"]["buckets"]["upper"].reverse()


def _one_thread_less(document: Document) -> None:
    document["threads"]["cpu"].pop()


BREAKS = {
    "total": _bump("total", "acquisitions"),
    "thread": _bump("threads", "acquisitions", 0),
    "repeat": _bump("repeats", 0, "acquisitions"),
    "repeat-thread": _bump("repeats", 0, "thread_acquisitions", 0),
    "seconds": _bump("total", "seconds"),
    "bucket": _bump("hold_ns", "buckets", "count", 3),
    "count": _bump("wait_ns", "count"),
    "percentile": lambda d: d["wait_ns"].update(p50=d["wait_ns"]["max"] + 1),
    "matrix": _bump("handoff_matrix", "count", 0, 1),
    "ragged": lambda d: d["handoff_matrix"]["count"].pop(),
    "series": _drop_row,
    "row": _short_row,
    "upper": _unsorted,
    "column": _one_thread_less,
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_identity_is_found(name: str) -> None:
    document = copy.deepcopy(document_of("plain"))
    BREAKS[name](document)
    assert contract.violations(document)
    with pytest.raises(locklab.ConfigError, match="contradicts itself"):
        contract.validate(document)


def test_fairness_of_known_numbers() -> None:
    from locklab.stats import fairness

    even = fairness([5, 5, 5, 5])
    assert even == {"jain": 1.0, "cov": 0.0, "max_over_min": 1.0}
    skewed = fairness([1, 3])
    assert skewed["jain"] == pytest.approx(16 / 20)
    assert skewed["cov"] == pytest.approx(0.5)
    assert skewed["max_over_min"] == 3
    assert fairness([0, 4])["max_over_min"] is None
    assert "not once" in fairness([0, 4])["reasons"]["max_over_min"]
    assert fairness([0, 4])["jain"] == pytest.approx(0.5)
    assert fairness([0, 0])["jain"] is None
    assert math.isclose(fairness([10**15, 10**15])["cov"], 0.0)
