# SPDX-License-Identifier: MIT
"""Property-based: whatever is given, only documented errors come out.

Runs that do start are bounded by the values offered, not by a substitute for the core.
"""

import copy
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import locklab
from locklab import _core
from locklab.cli import main
from locklab.plan import Plan
from locklab.routes import Context, answer
from locklab.runbook import Runbook
from result_support import document_of

pytestmark = pytest.mark.native

TEXT = st.text(max_size=12) | st.sampled_from(
    ["spin/mcs", "spin/", "", "-", "--", "=", "lines", "lines=1", "0", "-1", "1e400", "nan", "\0"]
)
NUMBER = st.integers() | st.floats() | st.booleans() | st.sampled_from([0, 1, 2, 2**32, 2**64])
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | NUMBER | TEXT | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
LOCKS = [lock["id"] for lock in locklab.locks()]
# Good values that keep a run short, for each argument; the fuzz mixes them with anything.
GOOD: dict[str, st.SearchStrategy[Any]] = {
    "lock": st.sampled_from(LOCKS),
    "workload": st.just("critical-section"),
    "threads": st.integers(1, 3),
    "warmup_s": st.just(0),
    "seed": st.integers(0, 2**64 - 1),
    "params": st.fixed_dictionaries(
        {}, optional={"lines": st.integers(0, 4), "section_ns": st.integers(0, 500)}
    ),
    "place": st.sampled_from(["compact", "scatter", "interleave:1", "cpus:0", "nodes:0"]),
    "repeat": st.integers(1, 2),
    "perf": st.sampled_from([None, "context-switches", ["task-clock", "cycles"]]),
    "metrics": st.sampled_from(["events", "full"]),
    "build": st.sampled_from(["instrumented", "bare", "probed"]),
    "owner_run": st.sampled_from(["coop", "heartbeat", "always", "never", "sample"]),
    "resched": st.sampled_from(["budget", "tick", "never"]),
    "resched_budget_ns": st.integers(1, 10**10),
    "hz": st.integers(1, 1000),
    "engine": st.sampled_from(["native", "sim", "check"]),
    "machine": st.none(),
    "validate": st.booleans(),
    "overhead": st.just(False),
    "watchdog_s": st.just(5.0),
}


def documented(call: Callable[[], object]) -> Exception | None:
    """The error that `call` raises if it is a documented one of one line; others get through."""
    try:
        call()
    except (locklab.LocklabError, TypeError) as error:
        if "\n" in str(error):
            raise
        return error
    return None


@given(
    st.fixed_dictionaries(
        {"lock": ANYTHING | GOOD["lock"]},
        optional={name: ANYTHING | good for name, good in GOOD.items() if name != "lock"},
    )
)
def test_any_plan_is_judged_by_documented_errors(options: dict[str, Any]) -> None:
    error = documented(lambda: _core.validate(Plan.of(**options).for_core()))
    assert not isinstance(error, locklab.RunError)


@given(st.data())
def test_runs_with_one_wild_argument(data: st.DataObject) -> None:
    options = {k: data.draw(v) for k, v in GOOD.items() if k == "lock" or data.draw(st.booleans())}
    wild = data.draw(st.sampled_from([None, *GOOD, "seconds", "tick_s", "heartbeat_s"]))
    if wild not in (None, "repeat", "overhead", "warmup_s", "watchdog_s", "threads", "params"):
        options[wild] = data.draw(ANYTHING)  # the others could make the run long: see above
    options["seconds"] = 0.001 if not isinstance(options.get("seconds"), str) else "1"
    found: list[locklab.Result] = []
    if documented(lambda: found.append(locklab.run(**options))) is None:
        assert found[0].invariants() == []
        json.dumps(found[0].to_dict(), allow_nan=False)


WORDS = st.sampled_from(
    [
        *(
            "list",
            "run",
            "compare",
            "doctor",
            "check",
            "replay",
            "sweep",
            "help",
            "--help",
            "--json",
            "locks",
        ),
        *("spin/mcs", "spin/none", "host/pthread-mutex", "-t", "-p", "-w", "--place", "--perf"),
        *("--metrics", "--seed", "--engine", "--build", "--owner-run", "--validate", "--band"),
        *("1", "2", "3", "events", "bare", "lines=0", "section_ns=10", "compact", "cycles", "-o"),
        *("out.json", "out.json", ".", "--metric", "rate_per_s", "--tick", "0.1", "-V"),
        *("-n", "--client", "all", "mutex", "--strategy", "pct", "--memory", "sc", "--bound"),
        *("--budget", "--first", "--giveups", "--writers", "--property", "starvation", "--step"),
        *("spin/none:2x1:000000:", "spin/none:2x1:", "rwsem/wakeup-flag", "mode=retry"),
    ]
)
# What `-t` and its like must not get, or the run takes long.
CALM = TEXT.filter(lambda word: not any(c.isdigit() for c in word))


@given(st.lists(WORDS | CALM, max_size=8))
def test_any_command_line_ends_with_a_documented_code(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    if "serve" in words:
        return
    home = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("fuzz"))
    try:
        bounded = {
            "run": ["-s", "0.001", "--warmup", "0", "-r", "1"],
            "check": ["--seconds", "0.01"],
        }.get(words[0] if words else "", [])
        code = main([*words, *bounded])
    finally:
        os.chdir(home)
    assert code in (0, 1, 2, 3)


@given(st.binary(max_size=40) | ANYTHING.map(lambda x: json.dumps(x, default=str).encode()))
def test_any_body_gets_an_answer(body: bytes) -> None:
    context = Context(Runbook(), lambda run_id, handle: None, dict)
    reply = answer(context, "POST", "/api/v1/runs", body)
    assert reply.status in (400, 422)
    json.loads(reply.body)


@given(st.text(max_size=30), st.sampled_from(["GET", "HEAD", "POST", "DELETE", "PUT"]))
def test_any_path_gets_an_answer(path: str, method: str) -> None:
    context = Context(Runbook(), lambda run_id, handle: None, dict)
    assert answer(context, method, f"/api/v1/{path}", b"").status in (200, 400, 404, 405)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Ways to every member of a document, but for long columns, of which the ends will do."""
    found = [here] if here else []
    steps = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        steps = [*enumerate(value)][:1] + [*enumerate(value)][-1:]
    for step, child in steps:
        found += paths(child, (*here, step))
    return found


@functools.cache
def all_paths() -> list[tuple[Any, ...]]:
    return paths(document_of("plain"))


@given(st.data(), ANYTHING)
def test_any_change_of_a_saved_document_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, value: Any
) -> None:
    path = data.draw(st.sampled_from(all_paths()))
    document: Any = copy.deepcopy(document_of("plain"))
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    file = tmp_path_factory.mktemp("fuzz") / "changed.json"
    file.write_text(json.dumps(document, default=str))
    found: list[locklab.Result] = []
    error = documented(lambda: found.append(locklab.Result.load(file)))
    assert error is None or isinstance(error, locklab.ConfigError)
    for loaded in found:
        assert loaded.invariants() == []
        loaded.summary()
        loaded._repr_html_()
        locklab.compare(loaded, loaded)
        locklab.merge([loaded, loaded], force=True)


@functools.cache
def verdict() -> dict[str, Any]:
    """The document of a check with two faults; do not change it."""
    return locklab.check("rwsem/wakeup-flag", n=1, seconds=60).to_dict()


@given(st.data(), ANYTHING)
def test_any_change_of_a_saved_verdict_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, value: Any
) -> None:
    path = data.draw(st.sampled_from(paths(verdict())))
    document: Any = copy.deepcopy(verdict())
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    file = tmp_path_factory.mktemp("fuzz") / "changed.json"
    file.write_text(json.dumps(document, default=str))
    found: list[locklab.Verdict] = []
    error = documented(lambda: found.append(locklab.Verdict.load(file)))
    assert error is None or isinstance(error, locklab.ConfigError)
    for loaded in found:
        str(loaded)
        with pytest.raises(locklab.CheckFailed):
            loaded.raise_for_fault()
    assert main(["replay", str(file), "--json"]) in (0, 1, 2)
