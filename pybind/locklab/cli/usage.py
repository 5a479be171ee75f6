# SPDX-License-Identifier: MIT
"""Parsing of options, with errors of one sentence that name the option, the value and the range."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from locklab.errors import LocklabError, UnknownName
from locklab.names import suggestion

# The option behind each field that an error of the package can name.
OPTIONS = {
    "lock": "LOCK",
    "workload": "-w/--workload",
    "threads": "-t/--threads",
    "seconds": "-s/--seconds",
    "repeat": "-r/--repeat",
    "engine": "--engine",
    "machine": "--machine",
    "seed": "--seed",
    "band": "--band",
    "place": "--place",
    "perf": "--perf",
    "metrics": "--metrics",
    "validate": "--validate",
    "warmup_s": "--warmup",
    "watchdog_s": "--watchdog",
    "tick_s": "--tick",
    "heartbeat_s": "--heartbeat",
    "owner_run": "--owner-run",
    "resched": "--resched",
    "resched_budget_ns": "--resched-budget",
    "hz": "--hz",
    "build": "--build",
    "output": "-o/--output",
    "metric": "--metric",
    "turns": "--turns",
    "n": "-n/--turns",
    "client": "--client",
    "writers": "--writers",
    "orders": "--orders",
    "strategy": "--strategy",
    "memory": "--memory",
    "bound": "--bound",
    "giveups": "--giveups",
    "property": "--property",
    "budget": "--budget",
    "schedule": "SCHEDULE",
    "host": "--host",
    "port": "--port",
    "token": "LOCKLAB_TOKEN",
}


class UsageError(Exception):
    """The command line cannot be understood; the message is the sentence to print."""


def sentence(error: LocklabError, words: Sequence[str] = ()) -> str:
    """The error's text after the option that it is about, if it is about one.

    Parameters
    ----------
    words
        The command line, to tell the parameters of ``-p`` from fields that are no option.
    """
    option = OPTIONS.get(error.field)
    if option is None and error.field:
        given = re.compile(rf"(-p|--param=)?((lock|workload)\.)?{re.escape(error.field)}=")
        if any(given.match(word) for word in words):
            option = "-p"
    text = f"{option}: {error}" if option else str(error)
    if isinstance(error, UnknownName) and error.field in ("lock", "workload"):
        text += f" (see locklab list {error.field}s)"
    return text


class Parser(argparse.ArgumentParser):
    """argparse that raises :class:`UsageError`, and knows the nearest option."""

    def __init__(self, command: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"locklab {command}",
            description=description,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ")
        text = re.sub(r"^the following arguments are required: (.*)$", r"\1 is missing", text)
        raise UsageError(f"{text} (see {self.prog} --help)")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The options, or :class:`UsageError`."""
        found, extra = self.parse_known_args(list(words))
        for word in extra:
            name = word.partition("=")[0]
            if name.startswith("-"):
                self.error(f"there is no option {name}{suggestion(name, self._known())}")
        if extra:
            self.error(f"{extra[0]!r} is one argument too many")
        return found

    def _known(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]


def whole(allowed: str) -> Callable[[str], int]:
    """Type of an option that takes a whole number; the range itself is judged by the core."""

    def parse(text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number, {allowed} allowed"
            ) from None

    return parse


def number(allowed: str) -> Callable[[str], float]:
    """Type of an option that takes a number; the range itself is judged by the core."""

    def parse(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number, {allowed} allowed"
            ) from None

    return parse


def choice(names: Sequence[str]) -> Callable[[str], str]:
    """Type of an option that takes one of a few words."""

    def parse(text: str) -> str:
        if text in names:
            return text
        raise argparse.ArgumentTypeError(
            f"{text!r} is not one of {', '.join(names)}{suggestion(text, names)}"
        )

    return parse


def port(text: str) -> int:
    """Type of an option that takes a TCP port; 0 lets the system choose."""
    if not text.isdecimal() or int(text) > 65535:
        hint = ", put LOCK before --serve" if "/" in text else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535 allowed{hint}")
    return int(text)


def setting(text: str) -> tuple[str, str]:
    """Type of ``-p NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def add(parser: argparse._ActionsContainer, *names: str, **options: Any) -> None:
    """``add_argument`` whose help text may hold a per cent sign."""
    if "help" in options:
        options["help"] = options["help"].replace("%", "%%")
    parser.add_argument(*names, **options)
