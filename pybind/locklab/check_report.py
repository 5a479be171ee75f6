# SPDX-License-Identifier: MIT
"""The human side of a verdict: what was explored, the faults step by step, what was not reached."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from locklab.check_plan import MAX_N
from locklab.render import Notes, Part, Table
from locklab.units import rate, settings

Document = dict[str, Any]

_WIDTH = 100
_SAMPLING = ("pct", "random")
_ORDERS = {"a": "A B", "b": "B A", "A": "A", "B": "B"}  # in which a thread takes them


def parts(document: Document) -> list[Part]:
    """The whole verdict: its words, then each fault with its trace, then what else is known."""
    shown: list[Part] = [Notes("", _wrapped([*_title(document), *_verdict(document)]))]
    if document["config"]["strategy"] != "replay":
        shown.append(Notes("explored", [explored(document), "; ".join(_figures(document))]))
    count = len(document["faults"])
    for i, fault in enumerate(document["faults"], 1):
        shown += _fault(fault, f"Fault {i} of {count}, " if count > 1 else "")
    notes = [*_notes(document)]
    if notes:
        shown.append(Notes("notes", notes))
    shown += _sites(document)
    return shown


def headline(fault: Document) -> str:
    """A fault in one sentence: ``stranded writer: T1 sleeps at ...``."""
    return f"{_kind(fault)}: {fault['text']}"


def trace_lines(fault: Document) -> list[str]:
    """The steps of a fault as lines of text."""
    return [
        f"T{step['thread']} {_source(step)}{' (preempts)' if step['preempts'] else ''} {_did(step)}"
        for step in fault["trace"]
    ]


def _fault(fault: Document, number: str) -> Iterator[Part]:
    """Its sentence, its trace with one column a thread, and how to replay it."""
    yield Notes("", _wrapped([f"{number}{headline(fault)}."]))
    threads = fault["threads"]
    rows = [step_cells(step, i, threads) for i, step in enumerate(fault["trace"], 1)]
    yield Table(_circumstances(fault), trace_columns(threads), rows)
    found = f"execution {fault['execution']:,}, after {fault['seconds']:.3f} s"
    lines = [f"found in {found}"] if fault["execution"] else []
    if fault["schedule"]:
        lines.append(f"again: locklab replay '{fault['schedule']}'")
    else:
        lines.append("This execution is too long for a schedule that can be replayed.")
    yield Notes("", lines)


def _circumstances(fault: Document) -> str:
    crowd = _plural(fault["threads"], "thread")
    if fault["writers"] is not None:
        crowd += f" ({_plural(fault['writers'], 'writer')})"
    if fault["orders"]:
        crowd += f" (locks {', '.join(_ORDERS[letter] for letter in fault['orders'])})"
    preempts = any(step["preempts"] for step in fault["trace"])
    return (
        f"{crowd} x {_turns(fault['n'])}, {_plural(fault['preemptions'], 'preemption')}"
        f"{' (marked >)' if preempts else ''}"
    )


def step_cells(step: Document, i: int, threads: int) -> list[str]:
    """One row of a trace: number, a mark below the thread, source, operation."""
    marks = [""] * threads
    marks[step["thread"]] = ">" if step["preempts"] else "*"
    return [str(i), *marks, _source(step), step["function"], _did(step)]


def trace_columns(threads: int) -> list[str]:
    """The headers of :func:`step_cells`."""
    return [">step", *(f"T{t}" for t in range(threads)), "source", "in", "what happens"]


def _kind(fault: Document) -> str:
    return f"{fault['kind']} {fault['role']}" if fault["role"] else str(fault["kind"])


def _source(place: Document) -> str:
    file = place["file"].removeprefix("locks/")
    return f"{file}:{place['line']}" if file else "-"


def _did(step: Document) -> str:
    return str(step["text"] or step["op"])


def _wrapped(lines: Sequence[str]) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, _WIDTH, break_on_hyphens=False)]


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _turns(n: int | str) -> str:
    return f"{n} turn" if n == 1 else f"{n} turns"


def _title(d: Document) -> Iterator[str]:
    config = d["config"]
    crowd = _plural(config["threads"], "thread")
    yield "  ".join(
        (config["lock"], f"client {config['client']}", crowd, config["memory"].upper())
        + (config["strategy"],)
    )
    if config["params"]:
        yield settings(config["params"])


def _verdict(d: Document) -> Iterator[str]:
    kinds = ", ".join(dict.fromkeys(map(_kind, d["faults"])))
    words = {
        "none-found": "No fault found.",
        "fault": f"{_plural(len(d['faults']), 'fault')} found: {kinds}.",
        "vacuous": f"Vacuous, this proves nothing: {d['reason']}.",
        "inconclusive": f"Undecided: {d['reason']}.",
    }
    yield words[d["verdict"]]
    if d["interrupted"]:
        yield "Interrupted: what follows was explored until then."


def explored(d: Document) -> str:
    """What was explored, in words."""
    config, n, bound = d["config"], d["n"], d["bound"] or {}
    crowd = _plural(config["threads"], "thread")
    model = f"under {config['memory'].upper()}"
    if config["strategy"] in _SAMPLING:
        turns = _turns(config["n"] or "1 to 3")
        return f"{d['executions']:,} {config['strategy']} executions of {crowd} x {turns} {model}"
    if not n:
        turns = _turns(config["n"] or 1)
        return f"part of the interleavings of {crowd} x {turns} {model}"
    turns = _turns(n if config["n"] or n == 1 else f"1 to {n}")
    text = f"every interleaving of {crowd} x {turns} {model}"
    if bound.get("preemptions") is not None:
        text += f" with at most {_plural(bound['preemptions'], 'preemption')}"
        if config["bound"] is None:
            text += ", and part of the others"
    elif config["n"] is None and n < MAX_N:
        text += ", and part of those with more"
    return text


def _figures(d: Document) -> Iterator[str]:
    yield _plural(d["executions"], "complete execution")
    if d["blocked"]:
        yield f"{d['blocked']:,} ended early"
    if d["redundant"]:
        yield f"{d['redundant']:,} equivalent to others"
    if d["preliminary"]:
        yield f"{d['preliminary']:,} in passes with few preemptions before"
    run = d["executions"] + d["blocked"] + d["preliminary"]
    yield f"{d['seconds']:.2f} s" + (f", {rate(run / d['seconds'])}" if d["seconds"] else "")
    yield f"{d['memory_bytes'] / 2**20:.1f} MiB"


def _giveups(explored: int, asked: int) -> str:
    if explored < asked:
        return (
            "Only executions in which no wait is given up were explored wholly: with give-ups "
            "there are too many for the time or budget."
        )
    if explored == 0:
        return "No wait was given up in any execution; --giveups 1 goes further."
    times = "once" if explored == 1 else f"{explored} times"
    return (
        f"Each reason to give up a wait struck a thread at most {times} in an execution; "
        f"--giveups {explored + 1} goes further."
    )


def _notes(d: Document) -> Iterator[str]:
    for note in d["notes"]:
        yield f"{headline(note)}. No fault, because the lock does not promise to be free of it."
    bound, config = d["bound"] or {}, d["config"]
    if bound.get("giveups") is not None:
        yield _giveups(bound["giveups"], config["giveups"])
    if bound.get("operations") is not None:
        yield f"Executions were cut after {bound['operations']:,} operations."
    if d["verdict"] == "none-found" and config["strategy"] in _SAMPLING:
        yield "This was sampling: it says nothing of the executions that it did not meet."
    if d["verdict"] == "none-found" and config["memory"] == "sc":
        yield "Sequential consistency only: what x86 adds by buffering stores needs --memory tso."


def _sites(d: Document) -> Iterator[Part]:
    rows = [
        (_source(site), site["function"], site["expression"], f"{site['times']:,}")
        for site in d["waits_blocked"]
    ]
    if rows:
        columns = ("source", "in", "waits for", ">times")
        yield Table("waits that blocked somebody", columns, rows)
    if d["not_executed"]:
        by_function: dict[tuple[str, str], list[int]] = {}
        for site in d["not_executed"]:
            lines = by_function.setdefault((site["file"], site["function"]), [])
            if site["line"] not in lines:
                lines.append(site["line"])
        yield Notes(
            "operations of the lock that were never executed",
            [
                f"{file.removeprefix('locks/')}, {function}: "
                f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
                for (file, function), lines in by_function.items()
            ],
        )
