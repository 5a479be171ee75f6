# SPDX-License-Identifier: MIT
"""``locklab check``: the model checker's verdict on a lock."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from locklab import store
from locklab.catalogue import clients, lock_of
from locklab.check_plan import CheckPlan, clients_of
from locklab.check_report import parts
from locklab.checking import start_check
from locklab.cli.check_options import parse
from locklab.errors import Unsupported
from locklab.render import show
from locklab.verdict import Verdict

CHECKS = "locklab.checks/1"  # {"schema", "checks": [locklab.check/1, ...]}
EXIT = {"none-found": 0, "fault": 1, "vacuous": 3, "inconclusive": 3}
_WORST_FIRST = (1, 3, 0)
_INTERRUPTED = 130
_POLL_S = 0.1
_NOT_OPTIONS = ("lock", "client", "json", "output", "params")


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    args = parse(words)
    if args.output:
        store.check_writable(args.output)
    verdicts: list[Verdict] = []
    try:
        for plan in _plans(args):
            verdicts.append(_verdict(plan))
            if not args.json:
                _print(verdicts)
    except KeyboardInterrupt as interrupt:
        partial = getattr(interrupt, "result", None)
        if partial is not None:
            verdicts.append(partial)
            if not args.json:
                _print(verdicts)
        elif not verdicts:
            raise
        _publish(verdicts, args)
        return _INTERRUPTED
    _publish(verdicts, args)
    return worst(verdicts)


def worst(verdicts: Sequence[Verdict]) -> int:
    """The exit code of several verdicts."""
    return min((EXIT[found.verdict] for found in verdicts), key=_WORST_FIRST.index)


def _plans(args: Namespace) -> list[CheckPlan]:
    """One a client; all are judged before the first is run."""
    options: dict[str, Any] = {k: v for k, v in vars(args).items() if k not in _NOT_OPTIONS}
    options |= {"lock": args.lock, "params": dict(args.params)}
    entry = lock_of(args.lock)
    if args.client != "all" or entry is None or "check" not in entry["engines"]:
        client = None if args.client == "all" else args.client  # the core says what is wrong
        return [CheckPlan.of(**options, client=client)]
    counting = {client["id"] for client in clients() if client["ends_early"]}
    chosen = [client for client in clients_of(entry) if client not in counting]
    if args.writers is not None:
        chosen = [client for client in chosen if client == "shared"]
        if not chosen:
            raise Unsupported(f"{args.lock} has no shared mode", code="ENOTSUP", field="writers")
    return [CheckPlan.of(**options, client=client) for client in chosen]


def _verdict(plan: CheckPlan) -> Verdict:
    with start_check(plan) as handle, progress() as update:
        while not handle.wait(_POLL_S):
            update(handle.progress())
        return handle.verdict()


def _print(verdicts: Sequence[Verdict]) -> None:
    """The newest verdict, apart from the one before it."""
    if len(verdicts) > 1:
        print("\n" + "-" * 100 + "\n")
    show(parts(verdicts[-1].to_dict()), sys.stdout)
    sys.stdout.flush()


def _publish(verdicts: Sequence[Verdict], args: Namespace) -> None:
    document = together(verdicts, several=args.client == "all")
    if args.json:
        sys.stdout.write(store.dump(document))
    if args.output:
        store.write(args.output, store.dump(document))
        if not args.json:
            print(f"saved: {args.output}", file=sys.stderr)


def together(verdicts: Sequence[Verdict], *, several: bool) -> dict[str, Any]:
    """One verdict's document, or that of several."""
    documents = [found.to_dict() for found in verdicts]
    return {"schema": CHECKS, "checks": documents} if several else documents[0]


@contextmanager
def progress() -> Iterator[Callable[[dict[str, Any]], None]]:
    """A line on stderr if that is a terminal, else nothing."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from locklab.units import rate

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[figures]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("start", total=None, figures="")

        def update(now: dict[str, Any]) -> None:
            elapsed = now["elapsed_s"]
            speed = rate(now["executions"] / elapsed) if elapsed > 0 else ""
            writers = f", {now['writers']} writers" if now["writers"] else ""
            faults = f", faults {now['faults']}" if now["faults"] else ""
            bar.update(
                task,
                description=f"{now['phase']}, n = {now['n']}{writers}",
                total=now["seconds"],
                completed=min(elapsed, now["seconds"]),
                figures=f"{now['executions']:,} executions {speed}{faults}",
            )

        yield update
