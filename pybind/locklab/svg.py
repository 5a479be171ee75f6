# SPDX-License-Identifier: MIT
"""A result as a piece of HTML for notebooks: tables and drawings, no script, no network."""

from __future__ import annotations

from html import escape
from typing import Any

from locklab.render import Notes, Table
from locklab.report import tables
from locklab.units import ns, rate

Document = dict[str, Any]

_W, _H, _PAD = 420, 150, 34
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MAX_LINES = 64


def page_part(document: Document) -> str:
    """Headline, throughput over time, wait histogram and the tables of ``locklab run``."""
    parts = []
    for part in tables(document):
        if isinstance(part, Table):
            parts.append(_table(part))
        else:
            parts.append(_notes(part))
    drawings = _throughput(document) + _histogram(document)
    return f'<div class="locklab-result">{parts[0]}{drawings}{"".join(parts[1:])}</div>'


def _notes(notes: Notes) -> str:
    title = f"<b>{escape(notes.title)}</b>" if notes.title else ""
    if not notes.title:
        return "".join(f"<p><b>{escape(line)}</b></p>" for line in notes.lines)
    return title + "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in notes.lines) + "</ul>"


def _table(table: Table) -> str:
    right = [c.startswith(">") for c in table.columns]

    def row(tag: str, cells: Any) -> str:
        return "".join(
            f'<{tag} style="text-align:{"right" if r else "left"}">{escape(c)}</{tag}>'
            for c, r in zip(cells, right, strict=True)
        )

    head = row("th", [c.lstrip(">") for c in table.columns])
    body = "".join(f"<tr>{row('td', cells)}</tr>" for cells in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _frame(label: str, inside: str, top: str, left: str, right: str) -> str:
    text = 'font-size="11" fill="currentColor"'
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{_W}" height="{_H}" '
        f'viewBox="0 0 {_W} {_H}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(label)}</title>"
        f'<path d="M{_PAD} {_PAD}V{_H - 20}H{_W - 8}" fill="none" stroke="currentColor"/>{inside}'
        f'<text x="{_PAD}" y="14" {text}>{escape(label)}</text>'
        f'<text x="{_PAD}" y="28" {text}>{escape(top)}</text>'
        f'<text x="{_PAD}" y="{_H - 6}" {text}>{escape(left)}</text>'
        f'<text x="{_W - 8}" y="{_H - 6}" text-anchor="end" {text}>{escape(right)}</text></svg>'
    )


def _throughput(d: Document) -> str:
    t, rows = d["series"]["t_s"], d["series"]["rate_per_s"]
    top = max((x for row in rows for x in row if x is not None), default=0)
    if len(t) < 2 or not top:
        return ""
    lines = []
    for thread in range(min(d["config"]["threads"], _MAX_LINES)):
        points = " ".join(
            f"{_x(x / t[-1]):.1f},{_y(row[thread] / top):.1f}"
            for x, row in zip(t, rows, strict=True)
            if row[thread] is not None
        )
        colour, dash = _COLOURS[thread % len(_COLOURS)], _DASHES[thread % len(_DASHES)]
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5" '
            f'stroke-dasharray="{dash}"><title>thread {thread}</title></polyline>'
        )
    label = "acquisitions per second, by thread"
    return _frame(label, "".join(lines), rate(top), "0 s", f"{t[-1]:.3g} s")


def _histogram(d: Document) -> str:
    found = d["wait_ns"]
    if found is None or not found["count"]:
        return ""
    counts, uppers = found["buckets"]["count"], found["buckets"]["upper"]
    top = max(counts)
    wide = (_W - 8 - _PAD) / len(counts)
    bars = "".join(
        f'<rect x="{_PAD + i * wide:.1f}" y="{_y(n / top):.1f}" width="{max(wide - 0.3, 0.5):.1f}" '
        f'height="{_H - 20 - _y(n / top):.1f}" fill="{_COLOURS[0]}"/>'
        for i, n in enumerate(counts)
        if n
    )
    label = "wait, by bucket (each about 3% wide)"
    return _frame(label, bars, f"{top:,} samples", f"<= {ns(uppers[0])}", f"<= {ns(uppers[-1])}")


def _x(share: float) -> float:
    return _PAD + share * (_W - 8 - _PAD)


def _y(share: float) -> float:
    return _H - 20 - share * (_H - 20 - _PAD)
