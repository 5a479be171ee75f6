# SPDX-License-Identifier: MIT
"""The text of a litmus test, a place in it, and errors that say where they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from locklab.errors import ConfigError, LocklabError, Unsupported


@dataclass
class Source:
    """A text that is read from front to back; `at` is the place, in line `line`."""

    text: str
    file: str
    line: int = 1
    at: int = 0

    def fail(self, text: str, unsupported: bool = False, line: int | None = None) -> NoReturn:
        """Raise :meth:`error`."""
        raise self.error(text, unsupported, line)

    def error(self, text: str, unsupported: bool = False, line: int | None = None) -> LocklabError:
        """The exception for what is wrong at the place, or in line `line`."""
        where = f"{self.file or 'litmus test'}:{self.line if line is None else line}"
        if unsupported:
            return Unsupported(f"{where}: {text}", code="ENOTSUP", field="litmus")
        return ConfigError(f"{where}: {text}", code="EINVAL", field="litmus")

    def drop_comments(self) -> None:
        """``(* ... *)``, which nest, become blanks; the lines stay."""
        out: list[str] = []
        depth, line, opened = 0, 1, 1
        for piece in re.split(r"(\(\*|\*\)|\n)", self.text):
            line += piece == "\n"
            if piece == "(*":
                opened = opened if depth else line
                depth += 1
            elif piece == "*)" and depth:
                depth -= 1
                out.append(" ")
            elif piece == "\n" or not depth:
                out.append(piece)
        if depth:
            self.fail("a comment is not closed", line=opened)
        self.text = "".join(out)

    def goto(self, at: int) -> None:
        """Move forward."""
        self.line += self.text.count("\n", self.at, at)
        self.at = at

    def skip_blanks(self) -> None:
        """Move to what is not blank, or the end."""
        blanks = re.compile(r"\s*").match(self.text, self.at)
        self.goto(blanks.end() if blanks else self.at)

    def rest(self) -> str:
        """From the place on."""
        return self.text[self.at :]
