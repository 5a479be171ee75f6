# SPDX-License-Identifier: MIT
"""The options of ``locklab check``; their defaults are those of `locklab.check`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from locklab.catalogue import clients
from locklab.check_plan import CHOICES, RANGES, CheckPlan
from locklab.cli.usage import Parser, add, choice, number, setting, whole
from locklab.plan import DEFAULT_SEED

_EXAMPLES = """examples:
  locklab check spin/mcs                              three threads, once each, then twice, ...
  locklab check spin/mcs -t 2 -n 3                    two threads, three turns each, exactly
  locklab check spin/none --first                     what a fault looks like
  locklab check rwsem/wakeup-flag -n 1                a reader-writer lock: every split
  locklab check rwsem/wakeup-flag-fixed -p mode=retry
  locklab check spin/ticket --client all --seconds 5  every client that the lock can run
  locklab check spin/clh -t 4 --bound 2               at most two preemptions an execution
  locklab check spin/osq --strategy pct --budget 1000000

clients (--client):
{clients}

Exit codes: 0 no fault found; 1 fault found; 2 bad usage, or a lock that cannot be checked (host/*);
3 vacuous or undecided; 130 interrupted (what was explored is still printed). With --client all
the worst decides, in the order 1, 3, 0. docs/CHECKING.md says what a pass means.
"""


def parse(words: Sequence[str]) -> Namespace:
    """The options of one command line; raises UsageError."""
    listed = "\n".join(f"  {entry['id']:<11} {entry['summary']}" for entry in clients())
    parser = Parser(
        "check",
        "Run a lock's own code under every interleaving of a few threads and look for faults.",
        _EXAMPLES.format(clients=listed + "\n  all         each that the lock can run, in turn"),
    )
    add(parser, "lock", metavar="LOCK", help="id from `locklab list locks`, such as spin/mcs")
    _program(parser)
    _search(parser)
    _limits(parser)
    _output(parser)
    return parser.parse(words)


def _default(name: str) -> object:
    return CheckPlan.__dataclass_fields__[name].default


def _range(name: str) -> str:
    return "{} to {}".format(*RANGES[name])


def _program(parser: Parser) -> None:
    group = parser.add_argument_group("what runs")
    add(
        group,
        "-t",
        "--threads",
        type=whole(_range("threads")),
        default=_default("threads"),
        metavar="N",
        help="threads, 1 to 8 (default 3)",
    )
    add(
        group,
        "-n",
        "--turns",
        dest="n",
        type=whole(_range("n")),
        metavar="OPS",
        help="turns of each thread, 1 to 64 (default: 1, 2, ... each wholly, until time is up)",
    )
    add(
        group,
        "--client",
        metavar="C",
        help="what the threads do, see below (default: shared or ww if the lock can, else mutex)",
    )
    add(
        group,
        "--writers",
        type=whole("1 to the number of threads"),
        metavar="N",
        help="with client shared: threads that write (default: every split, one after the other)",
    )
    add(
        group,
        "--orders",
        metavar="O",
        help="with client ww: a letter for each thread, a: lock A, then B, b: B, then A, A, B: "
        "that one (default: ab; all of both for 3 threads; abAA)",
    )
    add(
        group,
        "-p",
        "--param",
        dest="params",
        action="append",
        type=setting,
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the lock; the others have the value for checks (see list --json)",
    )


def _search(parser: Parser) -> None:
    group = parser.add_argument_group("how it is searched")
    add(
        group,
        "--strategy",
        type=choice(CHOICES["strategy"]),
        default=_default("strategy"),
        metavar="WORD",
        help="auto (default): few preemptions, then everything; dfs: everything, reduced to one of "
        "each kind of equivalent executions; pct, random: sampling",
    )
    add(
        group,
        "--memory",
        type=choice(CHOICES["memory"]),
        default=_default("memory"),
        metavar="MODEL",
        help="tso (x86, the default) or sc (sequential consistency)",
    )
    add(
        group,
        "--bound",
        type=whole(_range("bound")),
        metavar="K",
        help="at most K preemptions in an execution, 0 to 100 (default: any number)",
    )
    add(
        group,
        "--giveups",
        type=whole(_range("giveups")),
        default=_default("giveups"),
        metavar="G",
        help="how often each reason to give up a wait may strike a thread (default 1)",
    )
    add(
        group,
        "--property",
        type=choice(CHOICES["property"]),
        metavar="WORD",
        help="starvation: also look for waiters that are passed over for ever",
    )
    add(
        group,
        "--seed",
        type=whole(_range("seed")),
        metavar="N",
        help=f"of what is chosen at random (default {DEFAULT_SEED})",
    )


def _limits(parser: Parser) -> None:
    group = parser.add_argument_group("how long")
    add(
        group,
        "-s",
        "--seconds",
        type=number("more than 0"),
        default=_default("seconds"),
        metavar="S",
        help="at most (default 10); with --client all, of each client",
    )
    add(group, "--budget", type=whole("1 or more"), metavar="N", help="executions, at most")
    add(group, "--first", action="store_true", help="stop at the first fault")


def _output(parser: Parser) -> None:
    group = parser.add_argument_group("where it goes")
    add(
        group,
        "--json",
        action="store_true",
        help="the document (schema locklab.check/1) instead of the text",
    )
    add(
        group,
        "-o",
        "--output",
        metavar="FILE",
        help="save the document, which `locklab replay FILE` takes",
    )
