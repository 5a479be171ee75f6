# SPDX-License-Identifier: MIT
"""Workloads from Python: rows of their locks, jobs, what documents say of them, two texts."""

import re
import subprocess
from pathlib import Path

import pytest

import house_rules as rules
import locklab
from locklab.contract import validate
from support import ROOT

SHORT = {"threads": 2, "seconds": 0.03, "warmup_s": 0.005, "watchdog_s": 60.0}
WORKLOADS = [workload["id"] for workload in locklab.workloads()]


def test_rows_of_locks_say_who_is_counted() -> None:
    document = locklab.run("mutex/mcs", "aim7-high_systime", **SHORT).to_dict()
    validate(document)
    root, second = document["locks"]
    assert (root["name"], root["lock"], root["counted"]) == ("root", "mutex/mcs", True)
    assert (second["name"], second["lock"], second["counted"]) == ("second", "spin/ticket", False)
    assert root["acquisitions"] == document["total"]["acquisitions"]
    shares = [row["wait_share"] for row in (root, second)]
    assert None in shares or sum(shares) == pytest.approx(1)
    objects = {row["object"] for row in document["fields"]}
    assert objects == {"root", "root node", "second"} - (
        {"root node"} if not locklab_has_node("mutex/mcs") else set()
    )


def locklab_has_node(lock_id: str) -> bool:
    return any(lock["node_fields"] for lock in locklab.locks() if lock["id"] == lock_id)


def test_a_single_lock_has_one_row_with_the_totals() -> None:
    document = locklab.run("spin/mcs", **SHORT).to_dict()
    (row,) = document["locks"]
    assert row["name"] == "lock"
    assert row["count"] == 1
    assert row["counted"]
    assert row["acquisitions"] == document["total"]["acquisitions"]
    assert row["wait_ns"] == document["wait_ns"]["sum"]
    assert row["wait_max_ns"] == (document["wait_ns"]["max"] or 0)  # None: no CPU, no sample
    assert document["jobs"] is None
    assert "no job" in document["reasons"]["jobs"]
    assert document["transactions"] is None
    assert "contexts" in document["reasons"]["transactions"]


def test_the_bare_build_says_that_it_counts_no_groups() -> None:
    document = locklab.run("spin/mcs", "aim7-custom", build="bare", **SHORT).to_dict()
    validate(document)
    assert all(row["acquisitions"] is None and "bare" in row["reason"] for row in document["locks"])
    assert "bare" in document["reasons"]["jobs"]


def test_results_of_several_locks_pool() -> None:
    parts = [locklab.run("mutex/mcs", "aim7-custom", seed=seed, **SHORT) for seed in (1, 2)]
    pooled = locklab.merge(parts).to_dict()
    validate(pooled)
    documents = [part.to_dict() for part in parts]
    for i, row in enumerate(pooled["locks"]):
        for name in ("acquisitions", "wait_ns", "hold_ns"):
            assert row[name] == sum(d["locks"][i][name] for d in documents)
    assert pooled["jobs"]["count"] == sum((d["jobs"] or {"count": 0})["count"] for d in documents)


def test_companions_are_parameters_of_the_result() -> None:
    params = {"second": "spin/clh", "batch": 2}
    document = locklab.run("mutex/mcs", "aim7-custom", params=params, **SHORT).to_dict()
    assert document["config"]["params"]["second"] == "spin/clh"
    assert document["locks"][1]["lock"] == "spin/clh"


@pytest.mark.parametrize(
    ("params", "error", "says"),
    [
        ({"second": "spin/clhh"}, locklab.UnknownName, "did you mean spin/clh"),
        ({"second": "none"}, locklab.UnknownName, "second=none is no lock"),
        ({"batch": 0}, locklab.ConfigError, "outside 1 to"),
    ],
)
def test_mistakes_are_sentences(
    params: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=re.escape(says)):
        locklab.run("mutex/mcs", "aim7-custom", params=params, **SHORT)


def test_the_table_has_every_workload() -> None:
    text = (ROOT / "docs" / "WORKLOADS.md").read_text(encoding="utf-8")
    listed = [
        name
        for row in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
        for name in re.findall(r"`(.*?)`", row)
    ]
    assert sorted(listed) == WORKLOADS


# --- docs/ADDING_A_WORKLOAD.md ------------------------------------------------------------------

ADDING = (ROOT / "docs" / "ADDING_A_WORKLOAD.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The one code block of the document in that language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", ADDING, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_example_keeps_the_house_rules() -> None:
    path = re.search(r"Save this as `(clib/workloads/[^`]+\.c)`", ADDING)
    assert path
    assert not (ROOT / path[1]).exists()
    for rule in (rules.spdx, rules.include_graph, rules.no_if, rules.no_heap, rules.low_level):
        assert rule(path[1], block("c")) == []
    assert block("def").strip() == f"LL_WORKLOAD_ENTRY({rules.symbol_of(path[1])})"


@pytest.mark.parametrize("build", ["native", "bare -DENG_BARE", "virtual -DENG_VIRTUAL"])
def test_the_example_compiles_in_every_build(tmp_path: Path, build: str) -> None:
    source = tmp_path / "hand-over.c"
    source.write_text(block("c"), encoding="utf-8")
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-Iclib"]
    subprocess.run(
        ["gcc", *flags, *f"-DLL_BUILD={build}".split(), "-fsyntax-only", source],
        cwd=ROOT,
        check=True,
        timeout=60,
    )
