# SPDX-License-Identifier: MIT
"""The options of ``locklab run``; their defaults are those of `locklab.run`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from locklab.cli.usage import Parser, add, choice, number, port, setting, whole
from locklab.plan import CHOICES, DEFAULT_SEED, Plan

_EXAMPLES = """examples:
  locklab run spin/mcs                                two threads, one second
  locklab run spin/mcs -t 4 -s 2                      more threads than CPUs: who loses its CPU?
  locklab run spin/ticket -p section_ns=0 -p think_ns=0 -p lines=0
  locklab run host/pthread-mutex -r 9 -o mutex.json   nine repeats, saved, ready to compare
  locklab run spin/tas --perf cycles,cache-misses,context-switches
  locklab run spin/mcs --overhead                     what does our own instrumentation cost?
  locklab run spin/mcs -s 30 --serve                  watch it on the live page
  locklab run mutex/mcs -w bkl-abba --validate        in which order are locks taken?
  locklab run spin/none                               what a lock that does not exclude looks like

Exit codes: 0 ok; 1 sections overlapped although the lock promises to exclude, or the validator has
something to report, also of a run that then hung; 2 bad usage;
3 the run hung or failed (the document is still written); 130 interrupted (likewise).
"""


def parse(words: Sequence[str]) -> Namespace:
    """The options of one command line; raises UsageError."""
    parser = Parser("run", "Let threads compete for a lock and measure.", _EXAMPLES)
    add(parser, "lock", metavar="LOCK", help="id from `locklab list locks`, such as spin/mcs")
    what = parser.add_argument_group("what runs")
    add(what, "-w", "--workload", default=_default("workload"), help="(default critical-section)")
    add(
        what,
        "-t",
        "--threads",
        type=whole("1 to 1024"),
        default=_default("threads"),
        metavar="N",
        help="threads that compete, 1 to 1024 (default 2)",
    )
    add(
        what,
        "-p",
        "--param",
        dest="params",
        action="append",
        type=setting,
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the lock or the workload; lock.NAME or workload.NAME if both have it",
    )
    add(
        what,
        "--place",
        default=_default("place"),
        metavar="P",
        help="threads on CPUs: compact (default), scatter, interleave:K, nodes:LIST, cpus:LIST",
    )
    add(
        what,
        "--seed",
        type=whole("0 to 18446744073709551615"),
        metavar="N",
        help=f"of the workload's random choices (default {DEFAULT_SEED})",
    )
    _times(parser)
    _measures(parser)
    _output(parser)
    _later(parser)
    return parser.parse(words)


def _default(name: str) -> object:
    return Plan.__dataclass_fields__[name].default


def _times(parser: Parser) -> None:
    group = parser.add_argument_group("how long")
    add(
        group,
        "-s",
        "--seconds",
        type=number("0.001 to 86400"),
        default=_default("seconds"),
        metavar="S",
        help="measured time of each repeat (default 1)",
    )
    add(
        group,
        "-r",
        "--repeat",
        type=whole("1 to 1000"),
        default=_default("repeat"),
        metavar="N",
        help="repeats (default 1); a comparison needs 9",
    )
    for option, name, allowed, text in (
        ("--warmup", "warmup_s", "0 to 3600", "unmeasured time before each repeat (default 0.1)"),
        ("--watchdog", "watchdog_s", "0.05 to 3600", "no progress for so long is a hang (10)"),
        ("--tick", "tick_s", "0.01 to 60", "period of the series in the document (0.1)"),
    ):
        add(
            group,
            option,
            dest=name,
            type=number(allowed),
            default=_default(name),
            metavar="S",
            help=text,
        )


def _measures(parser: Parser) -> None:
    group = parser.add_argument_group("what is measured")
    add(
        group,
        "--metrics",
        type=choice(CHOICES["metrics"]),
        metavar="WORD",
        default=_default("metrics"),
        help="full (default), or events: counters without times",
    )
    add(
        group,
        "--perf",
        metavar="LIST",
        help="perf events by their libpfm4 names, comma-separated: cycles,context-switches",
    )
    add(
        group,
        "--overhead",
        action="store_true",
        help="afterwards, bare against instrumented build in interleaved blocks",
    )
    add(
        group,
        "--validate",
        action="store_true",
        help="let the order validator look on: inversions before they deadlock, misuse",
    )
    add(
        group,
        "--build",
        type=choice(CHOICES["build"]),
        metavar="WORD",
        default=_default("build"),
        help="of the lock: instrumented (default), bare or probed",
    )
    add(
        group,
        "--owner-run",
        type=choice(CHOICES["owner_run"]),
        metavar="WORD",
        default=_default("owner_run"),
        help="how a waiter judges whether the holder is on a CPU: coop (default), heartbeat, "
        "always, never, switch-rec, sample",
    )
    add(
        group,
        "--heartbeat",
        dest="heartbeat_s",
        type=number("1e-06 to 10"),
        default=_default("heartbeat_s"),
        metavar="S",
        help="with --owner-run heartbeat: a younger sign of life means running",
    )
    add(
        group,
        "--resched",
        type=choice(CHOICES["resched"]),
        metavar="WORD",
        default=_default("resched"),
        help="what ends spinning before the lock is got: budget (default), tick, never",
    )
    add(
        group,
        "--resched-budget",
        dest="resched_budget_ns",
        type=whole("1 to 10000000000"),
        default=_default("resched_budget_ns"),
        metavar="NS",
        help="with --resched budget: how long a spin may last (default 100000)",
    )
    add(
        group,
        "--hz",
        type=whole("1 to 1000"),
        default=_default("hz"),
        metavar="N",
        help="with --resched tick: ticks a second (default 250)",
    )


def _output(parser: Parser) -> None:
    group = parser.add_argument_group("where it goes")
    add(
        group,
        "--json",
        action="store_true",
        help="the result document (schema locklab.run/1) instead of the table",
    )
    add(
        group,
        "-o",
        "--output",
        metavar="FILE",
        help="save the document; FILE is replaced as a whole or not at all",
    )
    add(
        group,
        "--serve",
        nargs="?",
        type=port,
        const=0,
        metavar="PORT",
        help="show the run live on a page while it lasts; the URL goes to stderr",
    )


def _later(parser: Parser) -> None:
    group = parser.add_argument_group("with the simulator, in a later release")
    add(group, "--engine", default=_default("engine"), help="native (default) or sim")
    add(group, "--machine", metavar="M", help="machine model of the simulator")
    add(group, "--band", action="store_true", help="the simulator's band of results")
