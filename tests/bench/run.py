# SPDX-License-Identifier: MIT
"""``make bench``: the performance that the design promises, measured side by side.

Prints a table for each subject and writes all samples to build/bench.json. A target that was not
met is said and leaves the exit code 0: it depends on the machine. Exit 2: bad usage; 3: a table
could not be measured; 130: interrupted (what was done until then is printed and written).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import ROOT, Effort, Outcome, Progress, UnmeasurableError
from others import Others

import locklab
from locklab import _core
from locklab.environment import identity
from locklab.render import Notes, Part, Table, show

SCHEMA = "locklab.bench/1"
TABLES = (
    "uncontended",
    "instrumentation",
    "validator",
    "pingpong",
    "oversubscribed",
    "startup",
    "server",
    "check",
)
QUICK = 0.12
WIDTH = 98
BUSY = 0.05  # share of the CPUs in other hands above which it is said


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/bench/run.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, wide intervals")
    parser.add_argument(
        "--only", action="append", choices=TABLES, metavar="NAME", help=f"of {', '.join(TABLES)}"
    )
    parser.add_argument("--json", action="store_true", help="print the document, not tables")
    parser.add_argument(
        "--effort", type=float, metavar="X", help="multiple of the default number of samples"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "build" / "bench.json", metavar="FILE"
    )
    found = parser.parse_args(words)
    if found.effort is not None and not 0 < found.effort <= 100:
        parser.error(f"--effort {found.effort:g} is outside 0 to 100")
    return found


def regime() -> float | None:
    """Round trip between the first two CPUs in ns, None if there is only one."""
    cpus = _core.cpus()
    if len(cpus) < 2:
        return None
    try:
        return round(_core.regime(cpus[0]["os_index"], cpus[1]["os_index"]), 1)
    except locklab.LocklabError:
        return None  # the two were not on their CPUs at the same time


def state_of_machine() -> dict[str, Any]:
    return {"regime_ns": regime(), "load_average": list(os.getloadavg())}


def measure(name: str, effort: Effort, progress: Progress) -> Outcome:
    before, others, start = state_of_machine(), Others(), time.monotonic()
    outcome: Outcome = importlib.import_module(f"tables.{name}").measure(effort, progress)
    seconds = time.monotonic() - start
    busy = others.share()
    outcome.machine = {
        "before": before,
        "after": state_of_machine(),
        "seconds": seconds,
        "others_cpu_share": busy,
    }
    if busy is not None and busy > BUSY:
        outcome.notes.append(
            f"other programs used {busy:.0%} of the CPUs meanwhile: measure again on a quiet one"
        )
    return outcome


def wrapped(lines: list[str]) -> Notes:
    return Notes("", [textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines])


def parts(outcomes: list[Outcome], failed: dict[str, str]) -> list[Part]:
    found: list[Part] = []
    for outcome in outcomes:
        found.append(Table(outcome.title, outcome.columns, outcome.rows))
        found.append(wrapped(outcome.notes))
    targets = [t for outcome in outcomes for t in outcome.targets]
    missed = [t for t in targets if t.met is False]
    unknown = [t for t in targets if t.met is None]
    summary = f"{len(targets)} targets: {len(targets) - len(missed) - len(unknown)} met, "
    summary += f"{len(missed)} not met, {len(unknown)} not measured"
    lines = [f"NOT MET: {t.what} ({t.limit})" + (f": {t.note}" if t.note else "") for t in missed]
    lines += [f"not measured: {t.what}: {t.note or 'too few samples'}" for t in unknown]
    lines += [f"not measured: table {name}: {why}" for name, why in failed.items()]
    found.append(wrapped([summary, *lines]))
    return found


def document(
    outcomes: list[Outcome],
    status: str,
    options: dict[str, Any],
    failed: dict[str, str],
    full: bool,
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": status,
        "options": options,
        "environment": {
            "identity": identity(),
            "observed": {
                "ended": datetime.now(UTC).isoformat(timespec="seconds"),
                "clock": _core.clock(),
                "python": sys.version.partition(" ")[0],
                "locklab": locklab.__version__,
            },
        },
        "tables": {o.name: o.to_dict(full) for o in outcomes},
        "failed": failed,
    }


def main(words: list[str] | None = None) -> int:
    given = arguments(words)
    effort = Effort(given.effort or (QUICK if given.quick else 1.0))
    progress = Progress()
    outcomes: list[Outcome] = []
    failed: dict[str, str] = {}
    status = "complete"
    try:
        for name in given.only or TABLES:
            progress.table(name)
            try:
                outcomes.append(measure(name, effort, progress))
                progress.end("done")
            except (UnmeasurableError, locklab.LocklabError) as error:
                failed[name] = str(error)
                progress.end(f"failed: {error}")
    except KeyboardInterrupt:
        status = "interrupted"
        progress.end("interrupted")
    options = {"effort": effort.share, "only": given.only}
    full = document(outcomes, status, options, failed, True)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(full, allow_nan=False) + "\n", encoding="utf-8")
    if given.json:
        print(json.dumps(document(outcomes, status, options, failed, False), indent=1))
    else:
        show(parts(outcomes, failed), sys.stdout)
        print(f"\nall samples: {os.path.relpath(given.output)}")
    return 130 if status == "interrupted" else 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
