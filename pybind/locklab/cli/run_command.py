# SPDX-License-Identifier: MIT
"""``locklab run``: one experiment, its table and its document."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from locklab import store
from locklab.cli.run_options import parse
from locklab.errors import RunError, Unsupported
from locklab.explain import crowd_warning, expected_overlap
from locklab.report import tables
from locklab.result import Result
from locklab.runs import Handle, start

if TYPE_CHECKING:
    from locklab.web import Dashboard

_POLL_S = 0.1
OK, NO, FAILED, INTERRUPTED = 0, 1, 3, 130


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    args = parse(words)
    if args.output:
        store.check_writable(args.output)
    if args.band:
        raise Unsupported(
            "bands belong to the simulator, which is not in this release", field="band"
        )
    with ExitStack() as stack:
        dashboard = None
        if args.serve is not None:
            from locklab.web import Dashboard

            dashboard = stack.enter_context(Dashboard(port=args.serve))
            for line in dashboard.remarks:
                _warn(line)
        handle = start(args.lock, **_plan(args))
        warning = crowd_warning(args.threads, len(set(handle.core.info()["cpus"])))
        if warning:
            _warn(warning)
        result, code = _wait(handle, dashboard)
        if dashboard and code != INTERRUPTED:
            dashboard.linger()
    if result is None:
        _warn("the run did not end in time after a second Ctrl-C; nothing was kept")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # leaving by return would wait for it
    _publish(result, args)
    return NO if code == FAILED and _reports(result) else code or _judge(result)


def _plan(args: Namespace) -> dict[str, Any]:
    names = (
        "workload",
        "threads",
        "seconds",
        "engine",
        "machine",
        "seed",
        "place",
        "repeat",
        "perf",
        "validate",
        "metrics",
        "overhead",
        "warmup_s",
        "build",
        "owner_run",
        "heartbeat_s",
        "resched",
        "resched_budget_ns",
        "hz",
        "watchdog_s",
        "tick_s",
    )
    return {name: getattr(args, name) for name in names} | {"params": dict(args.params)}


def _wait(handle: Handle, dashboard: Dashboard | None) -> tuple[Result | None, int]:
    """The result with the exit code that its status asks for (0: judge by its content)."""
    try:
        with handle, _progress() as update:  # from here on a Ctrl-C keeps what was measured
            if dashboard:
                url = dashboard.url_of(dashboard.adopt(handle))
                print(f"live: {url}", file=sys.stderr, flush=True)
            while not handle.wait(_POLL_S):
                update(handle.progress())
            return handle.result(), OK
    except KeyboardInterrupt as interrupt:
        return getattr(interrupt, "result", None), INTERRUPTED
    except RunError as error:
        if error.result is None:
            raise
        _warn(str(error))
        return error.result, FAILED


def _publish(result: Result, args: Namespace) -> None:
    if args.output:
        result.save(args.output)
    if args.json:
        sys.stdout.write(store.dump(result.to_dict()))
        return
    from locklab.render import show

    show(tables(result.to_dict()), sys.stdout)
    if args.output:
        print(f"saved: {args.output}", file=sys.stderr)


def _judge(result: Result) -> int:
    overlaps = result.overlap and not expected_overlap(result.to_dict())
    return NO if overlaps or _reports(result) else OK


def _reports(result: Result) -> bool:
    """Whether the order validator has something to say."""
    return bool(result.to_dict().get("validation", {}).get("reports"))


def _warn(text: str) -> None:
    print(f"locklab run: {text}", file=sys.stderr, flush=True)


@contextmanager
def _progress() -> Iterator[Callable[[dict[str, Any]], None]]:
    """A bar on stderr if that is a terminal, else nothing."""
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
        TextColumn("{task.fields[rate]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("start", total=None, rate="")

        def update(now: dict[str, Any]) -> None:
            speed = sum(now["acquisitions"]) / now["t_s"] if now["t_s"] > 0 else None
            overlap = f", overlap {now['overlap']:,}" if now["overlap"] else ""
            bar.update(
                task,
                description=f"repeat {now['repeat'] + 1} {now['phase']:<8}",
                total=now["expected_s"],
                completed=min(now["elapsed_s"], now["expected_s"]),
                rate=("" if speed is None else rate(speed)) + overlap,
            )

        yield update
