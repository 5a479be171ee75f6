# SPDX-License-Identifier: MIT
"""``locklab replay``: a fault's execution again, step by step."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from locklab import contract, store
from locklab.check_report import parts, step_cells, trace_columns
from locklab.checking import SCHEDULE, start_replay
from locklab.cli.check_command import CHECKS, together, worst
from locklab.cli.usage import Parser, UsageError, add
from locklab.errors import ConfigError, LocklabError
from locklab.render import Table, plain, show
from locklab.verdict import Verdict

_EXAMPLES = """examples:
  locklab replay 'spin/none:2x1:0f9ec3:BB'      the schedule that `locklab check` printed
  locklab check spin/none --first -o none.json
  locklab replay none.json --step               its faults, Enter after each step

A schedule tells the lock, the client, threads, turns, parameters and memory model, and it holds a
hash of the lock's code: once that has changed, it is refused.

Exit codes: 1 it shows the fault; 2 not a schedule, or an old one; 3 it shows no fault, so it is
damaged or not whole.
"""


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    args = _options(words)
    schedules = _schedules(args.what)
    steps = args.step and _interactive()
    verdicts: list[Verdict] = []
    for i, schedule in enumerate(schedules):
        verdicts.append(_replay(schedule))
        if args.json:
            continue
        if i:
            print()
        if steps:
            _walk(verdicts[-1])
        show(parts(verdicts[-1].to_dict()), sys.stdout)
    if args.json:
        sys.stdout.write(store.dump(together(verdicts, several=len(verdicts) > 1)))
    return worst(verdicts)


def _options(words: Sequence[str]) -> Namespace:
    parser = Parser("replay", "Run the execution of a fault again, step by step.", _EXAMPLES)
    add(
        parser,
        "what",
        metavar="SCHEDULE|FILE",
        help="a schedule, or a file that holds some: a saved check, or any text",
    )
    add(parser, "--step", action="store_true", help="wait for Enter before each step")
    add(
        parser,
        "--json",
        action="store_true",
        help="the document (locklab.check/1, or locklab.checks/1 of several schedules)",
    )
    args = parser.parse(words)
    if args.step and args.json:
        raise UsageError("--step is for reading, --json for programs: give one of them")
    return args


def _replay(schedule: str) -> Verdict:
    with start_replay(schedule) as handle:
        return handle.verdict()


# ---- where the schedules are ----


def _schedules(what: str) -> list[str]:
    if _is_file(what):
        text = store.read_text(what, "schedule")
        found = _of_document(text, what)
        if found is None:
            found = [match.group() for match in SCHEDULE.finditer(text)]
            if not found:
                raise ConfigError(f"there is no schedule in {what!r}", field="schedule")
        return [*dict.fromkeys(found)]
    if ":" not in what:
        raise ConfigError(
            f"{what[:80]!r} is neither a schedule (lock:threadsxturns:hash:choices) nor a file",
            field="schedule",
        )
    return [what]


def _is_file(what: str) -> bool:
    try:
        return os.path.isfile(what)
    except ValueError:  # a NUL in it
        return False


def _of_document(text: str, name: str) -> list[str] | None:
    """The schedules of a saved check; None if the text is no JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    several = document.get("checks") if document.get("schema") == CHECKS else [document]
    if not isinstance(several, list):
        raise ConfigError(f"{name!r} breaks its schema at checks", field="schedule")
    for one in several:
        try:
            contract.validate(one, repr(name), contract.CHECK)
        except LocklabError as error:
            raise ConfigError(str(error), field="schedule") from None
    faults = [fault for one in several for fault in one["faults"]]
    found = [fault["schedule"] for fault in faults if fault["schedule"]]
    if not found:
        why = "its faults are too long for a schedule" if faults else "it holds no fault"
        raise ConfigError(f"there is nothing to replay in {name!r}: {why}", field="schedule")
    return found


# ---- step by step ----


def _interactive() -> bool:
    if sys.stdin is not None and sys.stdin.isatty():
        return True
    print(
        "locklab replay: standard input is no terminal, so no step waits for Enter",
        file=sys.stderr,
        flush=True,
    )
    return False


def _walk(verdict: Verdict) -> None:
    """Show one step after the other, each when Enter is pressed, until the end of input."""
    for fault in verdict["faults"]:
        for line in _lines(fault):
            print(line, end="", flush=True)
            if not sys.stdin.readline():
                print()
                return
    print()


def _lines(fault: dict[str, Any]) -> list[str]:
    """The rows of the trace, aligned with each other, the header first."""
    threads = fault["threads"]
    rows = [step_cells(step, i, threads) for i, step in enumerate(fault["trace"], 1)]
    return plain([Table("", trace_columns(threads), rows)]).splitlines()
