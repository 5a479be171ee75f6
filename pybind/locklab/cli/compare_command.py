# SPDX-License-Identifier: MIT
"""``locklab compare``: two saved results."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from locklab import store
from locklab.cli.usage import Parser, add
from locklab.comparison import EXIT, METRICS, Comparison, compare
from locklab.render import Notes, Part, Table, show
from locklab.stats import MIN_SAMPLES

_EXAMPLES = f"""A verdict needs {MIN_SAMPLES} repeats a side: run with -r {MIN_SAMPLES} or more.

examples:
  locklab run host/pthread-mutex -r 9 -o mutex.json
  locklab run spin/mcs -r 9 -o mcs.json
  locklab compare mutex.json mcs.json         is mcs faster than the mutex?

Exit codes: 0 faster or same, 1 slower, 2 bad usage, 3 too few samples.
"""


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    parser = Parser(
        "compare", "Is result B faster than result A, or is the difference noise?", _EXAMPLES
    )
    add(parser, "a", metavar="A.json", help="the result to compare with")
    add(parser, "b", metavar="B.json", help="the result to judge")
    add(
        parser,
        "--metric",
        default="rate_per_s",
        metavar="NAME",
        help=f"{', '.join(METRICS[:3])}, or a figure of a histogram such as wait_ns.p99 "
        "(default rate_per_s)",
    )
    add(parser, "--json", action="store_true", help="as JSON (schema locklab.compare/1)")
    args = parser.parse(words)
    found = compare(args.a, args.b, args.metric)
    if args.json:
        sys.stdout.write(store.dump(found.to_dict()))
    else:
        show(_tables(found, args.a, args.b), sys.stdout)
    return EXIT[found.verdict]


def _tables(found: Comparison, a: str, b: str) -> list[Part]:
    ratio = "-" if found.ratio is None else f"{found.ratio:.4f}"
    rows = [
        (f"A  {a}", f"{found.a:.6g}", f"median of {found.samples[0]} samples"),
        (f"B  {b}", f"{found.b:.6g}", f"median of {found.samples[1]} samples"),
        ("B / A", ratio, _interval(found)),
        ("verdict", found.verdict, _words(found)),
    ]
    parts: list[Part] = [Table(found.metric, ("", ">value", "remark"), rows)]
    if found.differences:
        rows = [(row["where"], _short(row["a"]), _short(row["b"])) for row in found.differences]
        parts.append(Table("what else differs", ("where", "A", "B"), rows))
    else:
        parts.append(Notes("", ["configuration, environment and placement regime are the same"]))
    return parts


def _interval(found: Comparison) -> str:
    if found.interval is None or found.p is None:
        return "no interval"
    low, high = found.interval
    return f"95% interval {low:.4f} .. {high:.4f}, Mann-Whitney p = {found.p:.2g}"


def _words(found: Comparison) -> str:
    return {
        "faster": "B is faster than A, beyond the noise",
        "slower": "B is slower than A, beyond the noise",
        "same": "the difference is within the noise",
        "too-few-samples": f"{MIN_SAMPLES} samples a side are needed (run with -r {MIN_SAMPLES})",
    }[found.verdict]


def _short(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
