# SPDX-License-Identifier: MIT
"""Tables on a terminal (rich) or as aligned plain text, from one description."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDTH = 100


@dataclass(frozen=True)
class Table:
    """Rows of text under column headers; a header that starts with ``>`` is right-aligned."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Notes:
    """Sentences under a title; an empty title makes each a line of its own, unmarked."""

    title: str
    lines: Sequence[str]


Part = Table | Notes


def plain(parts: Iterable[Part]) -> str:
    """All parts as text of aligned columns, two spaces apart, without colour."""
    blocks = [_plain_table(p) if isinstance(p, Table) else _plain_notes(p) for p in parts]
    return "\n\n".join(block for block in blocks if block)


def show(parts: Iterable[Part], file: IO[str]) -> None:
    """Write the parts: with rich on a terminal, plain otherwise."""
    if not file.isatty() or os.environ.get("TERM") == "dumb":
        file.write(plain(parts) + "\n")
        return
    from rich.console import Console

    console = Console(file=file, highlight=False)  # it heeds NO_COLOR itself
    for i, part in enumerate(parts):
        if i:
            console.print()
        console.print(_rich_table(part) if isinstance(part, Table) else _rich_notes(part))


def _rich_table(table: Table) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(
        title=table.title or None,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for i, column in enumerate(table.columns):
        right = column.startswith(">")
        widest = max((len(row[i]) for row in table.rows), default=0)
        made.add_column(
            column.lstrip(">"),
            justify="right" if right else "left",
            no_wrap=right or i == 0,
            min_width=widest if i == 0 else None,
            overflow="fold",
        )
    for row in table.rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def _rich_notes(notes: Notes) -> RenderableType:
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    if not notes.title:
        return Group(*(Text(line, style="bold") for line in notes.lines))
    bullets = RichTable.grid(padding=(0, 1))
    for line in notes.lines:
        bullets.add_row(Text(" *"), Text(line))
    return Group(Text(notes.title, style="bold"), bullets)


def _plain_table(table: Table) -> str:
    rows = [[c.lstrip(">") for c in table.columns], *table.rows]
    right = [c.startswith(">") for c in table.columns]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    lines = [table.title] if table.title else []
    for row in rows:
        cells = (
            cell.rjust(w) if r else cell.ljust(w)
            for cell, w, r in zip(row, widths, right, strict=True)
        )
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def _plain_notes(notes: Notes) -> str:
    if not notes.lines:
        return ""
    if not notes.title:
        return "\n".join(notes.lines)
    wrapped = (
        textwrap.fill(
            line, _WIDTH, initial_indent="  * ", subsequent_indent="    ", break_long_words=False
        )
        for line in notes.lines
    )
    return "\n".join((notes.title, *wrapped))
