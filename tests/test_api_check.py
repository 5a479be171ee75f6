# SPDX-License-Identifier: MIT
"""`locklab.check` and `locklab.replay`: the verdict, its document, its errors, Ctrl-C, threads."""

import copy
import gc
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import locklab
from locklab import _core, contract
from locklab.check_plan import CheckPlan, clients_of
from locklab.checking import SCHEDULE, start_check
from struct_support import members, typed_keys

pytestmark = pytest.mark.check
QUICK: dict[str, Any] = {"threads": 2, "n": 1, "seconds": 30.0}
ENDLESS: dict[str, Any] = {"lock": "spin/tas", "threads": 8, "n": 8, "seconds": 3600.0}
CASES: dict[str, dict[str, Any]] = {
    "none-found": {"lock": "spin/mcs", **QUICK},
    "exclusion": {"lock": "spin/none", **QUICK},
    "stranded": {"lock": "rwsem/wakeup-flag", "n": 1, "seconds": 60.0},
    "setting": {
        "lock": "rwsem/wakeup-flag-fixed",
        "params": {"mode": "retry"},
        "n": 1,
        "seconds": 60.0,
    },
    "vacuous": {"lock": "spin/mcs", "client": "try-once", "strategy": "pct", "budget": 1, **QUICK},
    "inconclusive": {"lock": "spin/mcs", "threads": 8, "n": 8, "budget": 1, "seconds": 30.0},
    "random": {"lock": "spin/clh", "strategy": "random", "budget": 300, "n": 2, "seconds": 60.0},
    "bounded": {"lock": "spin/ticket", "bound": 1, "n": 1, "seconds": 60.0},
    "given-up": {"lock": "spin/osq", "giveups": 0, **QUICK},
    "sc": {"lock": "spin/tas", "memory": "sc", **QUICK},
}


@cache
def verdict_of(case: str) -> locklab.Verdict:
    return locklab.check(**CASES[case])


@cache
def replay_of(case: str) -> locklab.Verdict:
    return locklab.replay(verdict_of(case)["faults"][0]["schedule"])


DOCUMENTS = [*CASES, "replay"]


def document_of(name: str) -> dict[str, Any]:
    found = replay_of("exclusion") if name == "replay" else verdict_of(name)
    return found.to_dict()


# --- what is found ------------------------------------------------------------------------------


def test_a_right_lock_is_explored_wholly() -> None:
    found = locklab.check("spin/mcs", n=1, seconds=60)
    assert (found.verdict, found.reason, found.n) == ("none-found", None, 1)
    assert found.exhaustive
    assert found.executions == 66
    assert found.bound is None
    assert found.fault is None
    assert found.faults == found.notes == []
    assert {site["function"] for site in found["waits_blocked"]} == {"acquire", "release"}
    assert {site["function"] for site in found["not_executed"]} == {"try_acquire"}


def test_a_lock_that_does_not_lock_is_at_fault() -> None:
    found = verdict_of("exclusion")
    assert found.verdict == "fault"
    assert found.fault is not None
    assert found.fault == {k: found.faults[0][k] for k in ("kind", "lock", "threads", "text")}
    assert [fault["kind"] for fault in found.faults] == ["exclusion"]
    assert found.faults[0]["role"] is found.faults[0]["writers"] is None


def test_a_reader_and_a_writer_are_stranded() -> None:
    faults = verdict_of("stranded").faults
    assert {(fault["kind"], fault["role"]) for fault in faults} == {
        ("stranded", "reader"),
        ("stranded", "writer"),
    }
    for fault in faults:
        assert (fault["threads"], fault["n"], fault["writers"]) == (3, 1, 2)
        assert "nobody will wake it" in fault["text"]


def test_a_parameter_decides() -> None:
    bad, good = verdict_of("setting"), locklab.check("rwsem/wakeup-flag-fixed", n=1, seconds=60)
    assert [(fault["kind"], fault["role"]) for fault in bad.faults] == [("stranded", "writer")]
    assert bad["config"]["params"]["mode"] == "retry"
    assert good.verdict == "none-found"
    assert good["config"]["params"]["mode"] == "clear-first"


def test_what_is_too_large_is_undecided() -> None:
    found = verdict_of("inconclusive")
    assert found.verdict == "inconclusive"
    assert found.reason
    assert (found.n, found.exhaustive) == (0, False)


def test_threads_that_never_meet_are_vacuous() -> None:
    """One execution by priorities, in which one thread runs after the other."""
    found = [
        locklab.check("spin/mcs", strategy="pct", budget=1, seed=seed, **QUICK) for seed in range(8)
    ]
    vacuous = [one for one in found if one.verdict == "vacuous"]
    assert vacuous
    assert "never met" in str(vacuous[0])
    assert all(one["waits"] == 0 for one in vacuous)


def test_sampling_runs_what_was_asked_for() -> None:
    found = verdict_of("random")
    assert found.verdict == "none-found"
    assert found.executions + found.blocked == 300
    assert (found.n, found.exhaustive) == (0, False)


def test_a_bound_on_preemptions_is_reported() -> None:
    found = verdict_of("bounded")
    assert found.verdict == "none-found"
    assert found.bound is not None
    assert found.bound["preemptions"] == 1
    assert not found.exhaustive


def test_waits_that_are_given_up_are_bounded() -> None:
    bound = verdict_of("given-up").bound
    assert bound is not None
    assert bound["giveups"] == 0


def test_params_are_those_of_checks() -> None:
    param = next(
        p
        for lock in locklab.locks()
        for p in lock["params"]
        if lock["id"] == "spin/ttas-backoff" and p["name"] == "wait_max"
    )
    found = locklab.check("spin/ttas-backoff", **QUICK)
    assert found["config"]["params"]["wait_max"] == param["check"]


def test_equal_arguments_give_equal_verdicts() -> None:
    """All but times, and where memory was."""

    def timeless(document: dict[str, Any]) -> dict[str, Any]:
        for name in ("seconds", "executions_per_s", "environment"):
            del document[name]
        for fault in [*document["faults"], *document["notes"]]:
            del fault["seconds"]
        return document

    for case in ("exclusion", "stranded", "random"):
        again = locklab.check(**CASES[case]).to_dict()
        assert timeless(again) == timeless(document_of(case))


@pytest.mark.parametrize("lock", locklab.locks(), ids=lambda lock: lock["id"])
def test_a_lock_can_run_exactly_the_clients_said(lock: dict[str, Any]) -> None:
    able = clients_of(lock)
    for client in (entry["id"] for entry in locklab.clients()):
        call: Callable[[], Any] = lambda c=client: locklab.check(  # noqa: E731
            lock["id"], client=c, threads=2, n=1, budget=1
        )
        if "check" in lock["engines"] and client in able:
            assert call().client == client
        else:
            with pytest.raises(locklab.Unsupported):
                call()


# --- the document -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_keep_the_contract(name: str) -> None:
    document = document_of(name)
    jsonschema.Draft202012Validator(contract.schema(contract.CHECK)).validate(document)
    assert contract.violations(document) == []
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_schema_is_one_and_every_member_is_described() -> None:
    schema = contract.schema(contract.CHECK)
    jsonschema.Draft202012Validator.check_schema(schema)
    documented = set(schema["properties"])
    assert all(set(document_of(name)) == documented for name in DOCUMENTS)
    assert all(
        "description" in member
        for name, member in schema["properties"].items()
        if "$ref" not in member
    )


def test_the_schema_lets_no_wrong_document_pass() -> None:
    validator = jsonschema.Draft202012Validator(contract.schema(contract.CHECK))
    document = document_of("stranded")
    for path in (("verdict",), ("n",), ("faults", 0, "kind"), ("faults", 0, "trace", 0, "thread")):
        wrong: Any = copy.deepcopy(document)
        at: Any = wrong
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = "nonsense"
        assert not validator.is_valid(wrong), path
    for name in contract.schema(contract.CHECK)["required"]:
        assert not validator.is_valid({k: v for k, v in document.items() if k != name}), name


def test_a_trace_reads_without_addresses() -> None:
    for fault in verdict_of("stranded").faults:
        assert fault["trace"]
        for step in fault["trace"]:
            for side in ("old", "new"):
                assert (step[f"{side}_name"] is None) or step[f"{side}_value"] is None
        words = "\n".join(step["text"] for step in fault["trace"])
        assert "node of T1" in words
        assert "lock." in words


def test_every_step_stands_in_a_source_file(root: Path) -> None:
    for fault in [*verdict_of("stranded").faults, *verdict_of("exclusion").faults]:
        for step in fault["trace"]:
            lines = (root / "clib" / step["file"]).read_text(encoding="utf-8").splitlines()
            assert 1 <= step["line"] <= len(lines)


def test_schedules_are_short_and_their_form_is_known() -> None:
    for case in ("exclusion", "stranded", "setting"):
        for fault in verdict_of(case).faults:
            assert SCHEDULE.fullmatch(fault["schedule"])
    assert all(len(fault["schedule"]) <= 64 for fault in verdict_of("stranded").faults)


def test_a_verdict_survives_save_load_and_pickle(tmp_path: Path) -> None:
    found = verdict_of("stranded")
    path = tmp_path / "verdict.json"
    found.save(path)
    assert locklab.Verdict.load(path) == found
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != verdict_of("exclusion")
    assert found.to_dict() is not found.to_dict()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("[]", "no verdict"),
        ('{"schema": "locklab.run/1"}', "locklab.check/1"),
        ('{"schema": "locklab.check/1"}', "breaks its schema"),
        ("\xff", "no text file"),
    ],
)
def test_load_refuses_what_is_no_verdict(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(locklab.ConfigError, match=words):
        locklab.Verdict.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "none-found"},
        {"fault": None},
        {"verdict": "vacuous"},
        {"reason": "none"},
        {"faults": [], "fault": None},
    ],
    ids=str,
)
def test_load_refuses_what_contradicts_itself(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document_of("exclusion") | change), encoding="utf-8")
    with pytest.raises(locklab.ConfigError, match="contradicts itself"):
        locklab.Verdict.load(path)


def test_a_run_and_a_verdict_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    verdict_of("exclusion").save(path)
    with pytest.raises(locklab.ConfigError, match=r"locklab\.run/1"):
        locklab.Result.load(path)


# --- how it is used -----------------------------------------------------------------------------


def test_raise_for_fault_raises_for_faults_alone() -> None:
    found = verdict_of("stranded")
    with pytest.raises(locklab.CheckFailed, match="stranded reader: T2 sleeps") as caught:
        found.raise_for_fault()
    assert caught.value.schedule == found.faults[0]["schedule"]
    assert len(caught.value.trace) == len(found.faults[0]["trace"])
    assert caught.value.trace[0].startswith("T0 rwsem/rwsem_tmpl.h:")
    assert caught.value.verdict is found
    assert isinstance(caught.value, AssertionError)
    for case in ("none-found", "inconclusive", "random"):
        verdict_of(case).raise_for_fault()


def test_a_verdict_has_no_truth_value() -> None:
    for case in ("none-found", "exclusion"):
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(verdict_of(case))


def test_text_says_what_was_explored() -> None:
    assert "No fault found." in str(verdict_of("none-found"))
    assert "every interleaving of 2 threads x 1 turn under TSO" in str(verdict_of("none-found"))
    assert "with at most 1 preemption" in str(verdict_of("bounded"))
    assert "under SC" in str(verdict_of("sc"))
    assert "--memory tso" in str(verdict_of("sc"))
    assert "No wait was given up" in str(verdict_of("given-up"))
    assert "sampling" in str(verdict_of("random"))
    assert "Undecided: " in str(verdict_of("inconclusive"))
    assert "never executed" in str(verdict_of("none-found"))
    assert "waits that blocked somebody" in str(verdict_of("none-found"))


def test_text_shows_each_step_below_its_thread() -> None:
    text = str(verdict_of("stranded"))
    fault = verdict_of("stranded").faults[0]
    assert f"locklab replay '{fault['schedule']}'" in text
    table = text[text.index("  step  T0  T1  T2") :].splitlines()
    for step, row in zip(fault["trace"], table[1:], strict=False):
        mark = row[8 + 4 * step["thread"]]
        assert mark == (">" if step["preempts"] else "*")
        assert row.rstrip().endswith(step["text"].rstrip())


def test_members_are_attributes_and_unknown_ones_are_told() -> None:
    found = verdict_of("exclusion")
    assert found["verdict"] == found.verdict
    assert found.lock == "spin/none"
    assert found.client == "mutex"
    assert "spin/none" in repr(found)
    assert "faults" in found
    with pytest.raises(locklab.UnknownName, match="faults"):
        found["fauls"]
    found.faults.clear()
    assert found.faults


# --- replay -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["exclusion", "stranded", "setting"])
def test_a_replay_shows_the_same_fault(case: str) -> None:
    for fault in verdict_of(case).faults:
        again = locklab.replay(fault["schedule"])
        assert again.verdict == "fault"
        same = ("kind", "role", "text", "threads", "n", "writers", "preemptions", "trace")
        assert {k: again.faults[0][k] for k in same} == {k: fault[k] for k in same}
        assert again["config"]["schedule"] == fault["schedule"]
        assert again["config"]["params"] == verdict_of(case)["config"]["params"]
        assert again.client == verdict_of(case).client


def test_a_schedule_that_shows_no_fault_is_damaged() -> None:
    """The same choices on threads of a lock that is right; and half of them."""
    ours = verdict_of("exclusion").faults[0]["schedule"]
    hash_ = hash_of("spin/mcs")
    found = locklab.replay(f"spin/mcs:2x1:{hash_}:{ours.rpartition(':')[2]}")
    assert (found.verdict, found.faults) == ("inconclusive", [])
    assert "damaged" in str(found.reason)
    assert locklab.replay(f"{ours}ZZZZZZZZ").verdict == "inconclusive"
    stranded = verdict_of("setting").faults[0]["schedule"]
    assert locklab.replay(stranded[:-2]).verdict == "inconclusive"


def hash_of(lock: str) -> str:
    """Of the lock's code; the error about a wrong one tells it."""
    with pytest.raises(locklab.ConfigError) as caught:
        locklab.replay(f"{lock}:2x1:xxxxxx:")
    return str(caught.value).partition("this one is ")[2][:6]


WRONG_SCHEDULES: list[tuple[str, str]] = [
    ("", "not a schedule"),
    ("spin/none", "not a schedule"),
    ("spin/none:2x1:000000:", "another version of spin/none"),
    ("spin/noone:2x1:000000:", "did you mean spin/none"),
    ("host/pthread-mutex:2x1:000000:", "cannot be checked"),
    ("spin/none@nobody:2x1:000000:", "no client nobody"),
    ("spin/none:9x1:000000:", "threads"),
    ("spin/none:2x1:000000:a=1:", "parameter a"),
    ("spin/none:2x1:000000:!", "choices"),
    ("spin/none:2x1:000000:\0", "holds characters"),
    ("spin/none\n:2x1:000000:", "holds characters"),
    ("A" * 5000, "5000 characters"),
    ("\x00" * 1_000_000, "holds characters"),
    ("A" * 1_000_000, "1000000 characters"),
]


@pytest.mark.parametrize(("schedule", "words"), WRONG_SCHEDULES, ids=lambda v: repr(v)[:30])
def test_a_wrong_schedule_is_refused_in_one_sentence(schedule: str, words: str) -> None:
    with pytest.raises(locklab.LocklabError) as caught:
        locklab.replay(schedule)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


# --- arguments ----------------------------------------------------------------------------------

WRONG_VALUES: list[tuple[dict[str, Any], type[locklab.LocklabError], str, str]] = [
    ({"lock": "spin/msc"}, locklab.UnknownName, "lock", "did you mean spin/mcs"),
    ({"lock": ""}, locklab.ConfigError, "lock", "must be named"),
    ({"lock": "host/pthread-mutex"}, locklab.Unsupported, "lock", "cannot be checked"),
    ({"threads": 0}, locklab.ConfigError, "threads", "0 is outside 1 to 8"),
    ({"threads": 9}, locklab.ConfigError, "threads", "9 is outside 1 to 8"),
    ({"threads": 10**400}, locklab.ConfigError, "threads", "is outside 1 to 8"),
    ({"n": 0}, locklab.ConfigError, "n", "0 is outside 1 to 64"),
    ({"n": 65}, locklab.ConfigError, "n", "65 is outside 1 to 64"),
    ({"client": "mutx"}, locklab.UnknownName, "client", "did you mean mutex"),
    ({"client": "shared"}, locklab.Unsupported, "client", "no shared mode"),
    ({"params": {"mode": 1}}, locklab.UnknownName, "mode", "does not have a parameter"),
    ({"strategy": "bfs"}, locklab.UnknownName, "strategy", "did you mean dfs"),
    ({"memory": "arm"}, locklab.UnknownName, "memory", "tso, sc"),
    ({"bound": -1}, locklab.ConfigError, "bound", "-1 is outside 0 to 100"),
    ({"bound": 101}, locklab.ConfigError, "bound", "101 is outside 0 to 100"),
    ({"bound": 1, "strategy": "pct"}, locklab.ConfigError, "bound", "auto or dfs"),
    ({"property": "liveness"}, locklab.UnknownName, "property", "starvation"),
    ({"budget": 0}, locklab.ConfigError, "budget", "0 is outside 1 to"),
    ({"seconds": 0}, locklab.ConfigError, "seconds", "0 seconds"),
    ({"seconds": float("nan")}, locklab.ConfigError, "seconds", "nan"),
    ({"seconds": float("inf")}, locklab.ConfigError, "seconds", "inf"),
    ({"seed": -1}, locklab.ConfigError, "seed", "outside 0 to 18446744073709551615"),
    ({"giveups": 9}, locklab.ConfigError, "giveups", "9 is outside 0 to 8"),
    ({"writers": 3}, locklab.ConfigError, "writers", "3 is outside 1 to 2"),
    ({"writers": 1}, locklab.ConfigError, "writers", "no readers"),
]


@pytest.mark.parametrize(("options", "kind", "field", "words"), WRONG_VALUES, ids=str)
def test_wrong_values_name_field_value_and_range(
    options: dict[str, Any], kind: type[locklab.LocklabError], field: str, words: str
) -> None:
    with pytest.raises(kind) as caught:
        locklab.check(**{"lock": "spin/mcs", **QUICK, **options})
    assert caught.value.field == field
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"lock": 1},
        {"lock": None},
        {"threads": "3"},
        {"threads": True},
        {"n": 1.5},
        {"client": b"mutex"},
        {"params": ["mode"]},
        {"strategy": 1},
        {"seconds": "1"},
        {"first": 1},
        {"budget": object()},
    ],
    ids=str,
)
def test_wrong_types_are_type_errors(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        locklab.check(**{"lock": "spin/mcs", **QUICK, **options})


def test_none_is_the_default() -> None:
    asked = dict.fromkeys(("n", "client", "params", "bound", "property", "budget", "seed"))
    assert CheckPlan.of(lock="spin/mcs", **asked) == CheckPlan(lock="spin/mcs")


# --- Ctrl-C, threads, fork ----------------------------------------------------------------------


@pytest.fixture
def interrupt_soon() -> Iterator[Callable[[], None]]:
    timers = []

    def install() -> None:
        timers.append(threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)))
        timers[-1].start()

    yield install
    for timer in timers:
        timer.join()


def test_ctrl_c_tells_what_was_explored(interrupt_soon: Callable[[], None]) -> None:
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt) as caught:
        locklab.check(**ENDLESS)
    found: Any = caught.value.result  # type: ignore[attr-defined]
    assert isinstance(found, locklab.Verdict)
    assert found.interrupted
    assert found["preliminary"] + found.executions > 0
    assert "Interrupted" in str(found)
    contract.validate(found.to_dict(), "interrupted", contract.CHECK)


def test_other_threads_run_meanwhile() -> None:
    """The GIL is released: this thread counts while another one checks."""
    found: list[locklab.Verdict] = []
    checker = threading.Thread(
        target=lambda: found.append(locklab.check(**{**ENDLESS, "seconds": 0.5}))
    )
    checker.start()
    turns = 0
    while checker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 10
    assert found[0].verdict in ("inconclusive", "none-found")


def test_checks_of_one_process_take_turns() -> None:
    cases = [("spin/mcs", "none-found"), ("spin/none", "fault")] * 3
    found: dict[int, locklab.Verdict] = {}
    threads = [
        threading.Thread(
            target=lambda i=i, lock=lock: found.update({i: locklab.check(lock, **QUICK)})
        )
        for i, (lock, _) in enumerate(cases)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i].verdict for i in range(len(cases))] == [verdict for _, verdict in cases]


def test_seconds_are_an_upper_bound() -> None:
    assert locklab.check(**{**ENDLESS, "seconds": 0.2}).seconds < 30  # a busy machine may be late


def test_a_handle_shows_progress_and_stops() -> None:
    with start_check(CheckPlan.of(**ENDLESS)) as handle:
        assert not handle.wait(0.05)
        while not handle.progress()["executions"]:
            assert not handle.wait(0.01)
        now = handle.progress()
        assert set(now) == members("ll_check_progress") == typed_keys("CheckProgress")
        assert now["n"] == 8
    assert handle.verdict().interrupted
    assert handle.verdict() is handle.verdict()


def core_check(**plan: Any) -> _core.Check:
    check = _core.check_start(plan)  # type: ignore[arg-type]
    assert check.wait(60)
    return check


def test_a_result_has_every_member_of_the_c_struct() -> None:
    result: Any = core_check(lock="spin/none", threads=2, n=1).result()
    arrays = {"faults": "fault", "notes": "note", "sites": "site"}
    named = {arrays.get(key, key) for key in result} | {"n_faults", "n_notes", "n_sites"}
    assert named == members("ll_check_result")
    assert set(result) == typed_keys("CheckResult")
    fault = result["faults"][0]
    assert {*fault, "n_steps"} - {"trace"} | {"step"} == members("ll_check_fault")
    assert set(fault) == typed_keys("CheckFault")
    assert set(fault["trace"][0]) == members("ll_check_step") == typed_keys("CheckStep")
    sites: Any = core_check(lock="spin/mcs", threads=2, n=1).result()["sites"]
    assert set(sites[0]) == members("ll_check_site") == typed_keys("CheckSite")


def test_a_plan_takes_every_member_of_the_c_struct() -> None:
    whole: Any = {
        "lock": "rwsem/wakeup-flag-fixed",
        "client": "shared",
        "threads": 3,
        "n": 1,
        "writers": 2,
        "strategy": "dfs",
        "memory": "sc",
        "bound": 1,
        "giveups": 0,
        "starvation": False,
        "first": True,
        "races": False,
        "budget": 100,
        "seconds": 5,
        "seed": 2**64 - 1,
        "settings": [("mode", "retry")],
    }
    everything = members("ll_check_plan") - {"n_settings"}
    assert {*whole, "orders"} == everything == typed_keys("CheckPlan")  # it has one lock
    assert core_check(**whole).result()["client"] == "shared"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ([], "check plan must be a dict"),
        ({}, "needs the key 'lock'"),
        ({"lock": "spin/mcs", "locks": 1}, "no key 'locks'"),
        ({1: "x"}, "a key of a check plan"),
        ({"lock": "spin/mcs", "races": 1}, "races must be a bool"),
    ],
)
def test_a_plan_of_the_wrong_form_is_a_type_error(plan: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        _core.check_start(plan)


def test_a_check_that_is_not_done_has_no_result() -> None:
    check = _core.check_start(ENDLESS)  # type: ignore[arg-type]
    with pytest.raises(locklab.RunError, match="not done"):
        check.result()
    check.stop()
    assert check.wait(60)
    assert check.result()["interrupted"]


def test_dropping_the_last_reference_stops_the_check() -> None:
    before = len(os.listdir("/proc/self/task"))
    check = _core.check_start(ENDLESS)  # type: ignore[arg-type]
    gone = weakref.ref(check)
    del check
    gc.collect()
    assert gone() is None
    assert len(os.listdir("/proc/self/task")) == before


FORKING = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import locklab
from locklab.check_plan import CheckPlan
from locklab.checking import start_check

plan = CheckPlan.of(lock="spin/tas", threads=8, n=8, seconds=3600)
with start_check(plan) as handle:
    while not handle.progress()["executions"]:
        handle.wait(0.01)
    child = os.fork()
    if child == 0:
        for call in (handle.wait, handle.progress, handle.verdict):
            try:
                call()
            except locklab.RunError as error:
                assert "parent process" in str(error)
            else:
                os._exit(2)
        found = locklab.check("spin/mcs", threads=2, n=1, seconds=60)
        os._exit(0 if found.verdict == "none-found" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not handle.wait(0)
assert handle.verdict().interrupted
"""


def test_a_forked_child_can_check_and_leaves_its_parent_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_lock_without_an_order_lets_a_waiter_starve() -> None:
    asked = {"threads": 2, "n": 3, "property": "starvation", "budget": 3000, "strategy": "dfs"}
    verdict = locklab.check("spin/ttas", **asked)
    assert [f["kind"] for f in verdict.faults] == ["starvation"]
    again = locklab.replay(verdict.faults[0]["schedule"])
    assert [f["kind"] for f in again.faults] == ["starvation"]
    assert locklab.check("spin/ticket", **asked).faults == []


# --- large programs -----------------------------------------------------------------------------


def test_a_fault_of_a_large_program_is_shown_in_a_small_one() -> None:
    """Eight threads and four turns: thousands of steps, unless they are not needed."""
    found = locklab.check(
        "rwsem/wakeup-flag", threads=8, n=4, strategy="random", budget=3000, seconds=60, first=True
    )
    fault = found.faults[0]
    assert (fault["threads"], fault["n"]) == (3, 1)
    assert fault["preemptions"] <= 1
    assert locklab.replay(fault["schedule"]).faults[0]["kind"] == fault["kind"]


@pytest.mark.parametrize("memory", ["tso", "sc"])
def test_a_schedule_with_two_parameters_is_short(memory: str) -> None:
    params = {"mode": "retry", "steal": "slow"}
    found = locklab.check("rwsem/wakeup-flag-fixed", n=1, params=params, memory=memory, seconds=60)
    schedule = found.faults[0]["schedule"]
    assert len(schedule) <= 64
    again = locklab.replay(schedule)
    assert again["config"]["params"].items() >= params.items()
    assert again.faults[0]["kind"] == "stranded"


def test_only_an_unpark_names_a_thread_as_its_value() -> None:
    found = locklab.check("rwsem/wakeup-flag", n=1, seconds=60)
    steps = [step for fault in found.faults for step in fault["trace"]]
    named = {step["field"] for step in steps if re.fullmatch(r"T\d", step["new_name"] or "")}
    assert named == {"", "task"}  # "": an unpark
    values = [s for s in steps if s["field"] == "count" and s["writes"]]
    assert values
    assert all(step["new_value"] is not None for step in values)
