# SPDX-License-Identifier: MIT
"""``locklab litmus``: verdicts for litmus tests in herd's format for x86."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from locklab import store
from locklab.cli.usage import Parser, UsageError, add, choice, number, whole
from locklab.errors import ConfigError, Unsupported
from locklab.litmus_text import parse
from locklab.litmus_verdict import MEMORIES, SECONDS, TURNS, LitmusVerdict, explore, read_file

_EXAMPLES = """examples:
  locklab litmus SB.litmus                     what x86 allows
  locklab litmus SB.litmus --memory sc         what interleaving alone allows
  locklab litmus tests/litmus --json           all *.litmus of a directory
  locklab litmus @all                          the files that the file `all` lists, one a line

Exit codes: 0 every test has its verdict, whichever it is; 2 a file cannot be read or has something
that is not supported (the others are run first); 3 a test was not decided: a bound ended it
before, or none of its executions ends.
"""
_MAX_LISTS = 16  # a list may name lists


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    args = _options(words)
    verdicts: list[LitmusVerdict] = []
    paths = [path for word in args.files for path in _expand(word)]
    try:
        refused = sum(not _verdict(path, args, verdicts) for path in paths)
    finally:  # interrupted too: what is known by then
        if args.json:
            document = {"schema": "locklab.litmus/1", "tests": [v.to_dict() for v in verdicts]}
            sys.stdout.write(store.dump(document))
    if refused:
        return 2
    return 0 if all(found.ok is not None for found in verdicts) else 3


def _options(words: Sequence[str]) -> Namespace:
    parser = Parser(
        "litmus", "What a memory model allows of litmus tests, by the model checker.", _EXAMPLES
    )
    add(parser, "files", nargs="+", metavar="FILE", help="a test, a directory of them, or @LIST")
    add(
        parser,
        "--memory",
        default=MEMORIES[0],
        type=choice(MEMORIES),
        metavar="MODEL",
        help="tso (x86, the default) or sc (sequential consistency)",
    )
    add(
        parser,
        "--turns",
        default=TURNS,
        type=whole("0 to 1000"),
        metavar="N",
        help=f"how often a jump backwards may be taken, idle rounds apart (default {TURNS})",
    )
    add(
        parser,
        "-s",
        "--seconds",
        default=SECONDS,
        type=number("more than 0"),
        metavar="S",
        help=f"of each test, at most (default {SECONDS:g})",
    )
    add(parser, "--json", action="store_true", help="as JSON (schema locklab.litmus/1)")
    return parser.parse(words)


def _verdict(path: Path, args: Namespace, verdicts: list[LitmusVerdict]) -> bool:
    """Add the verdict on one test and print it; False if the test was refused."""
    try:
        test = parse(read_file(path), str(path))
        found = explore(test, memory=args.memory, turns=args.turns, seconds=args.seconds)
    except (ConfigError, Unsupported) as error:
        if error.field not in ("litmus", "program"):
            raise
        _warn(str(error) if error.field == "litmus" else f"{path}: {error}")
        return False
    verdicts.append(found)
    if not args.json:
        print(found.text(), flush=True)
    _remark(found)
    return True


def _warn(text: str) -> None:
    sys.stdout.flush()
    print(f"locklab litmus: {text}", file=sys.stderr, flush=True)


def _remark(found: LitmusVerdict) -> None:
    if found.complete:
        if found.reason:
            _warn(f"{found.file}: {found.reason}")
        return
    option = "--turns" if found.cut else "--seconds"
    what = "undecided" if found.ok is None else "states and numbers may be missing"
    _warn(f"{found.file}: {what}: {found.reason} (see {option})")


def _expand(word: str, depth: int = 0) -> Iterator[Path]:
    """The tests that an argument stands for: ``@list``, a directory, or a file."""
    path = Path(word.removeprefix("@"))
    if word.startswith("@"):
        if depth == _MAX_LISTS:
            raise UsageError(f"{word}: lists name lists, {_MAX_LISTS} deep")
        for line in read_file(path).splitlines():
            entry = line.partition("#")[0].strip()
            if entry:
                mark = "@" if entry.startswith("@") else ""
                yield from _expand(f"{mark}{path.parent / entry.removeprefix('@')}", depth + 1)
    elif path.is_dir():
        found = sorted(path.glob("*.litmus"))
        if not found:
            raise UsageError(f"there is no *.litmus in directory {word!r}")
        yield from found
    else:
        yield path
