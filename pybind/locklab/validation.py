# SPDX-License-Identifier: MIT
"""What the order validator found: in a document, and in words."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
Entry = dict[str, Any]

_MAX_ROWS = 9


def pooled(parts: list[Document]) -> Document:
    """Several validations of one configuration as one; equal reports are counted together."""
    classes = {c["name"]: c for part in parts for c in part["classes"]}
    edges = {_ends(e): e for part in reversed(parts) for e in part["edges"]}
    reports: dict[tuple[str, str], Entry] = {}
    for part in parts:
        for report in part["reports"]:
            key = (report["kind"], report["text"])
            known = reports.get(key)
            count = report["count"] + (known["count"] if known else 0)
            reports[key] = (known or report) | {"count": count}
    return {
        "classes": list(classes.values()),
        "edges": list(edges.values()),
        "reports": list(reports.values()),
        "dropped": sum(p["dropped"] for p in parts),
        "restamped": sum(p["restamped"] for p in parts),
        "chains": max(p["chains"] for p in parts),
        "most_held": max(p["most_held"] for p in parts),
    }


def _ends(edge: Entry) -> tuple[str, ...]:
    return tuple(edge[k] for k in ("from", "to", "from_mode", "to_mode"))


def lines(report: Entry) -> list[str]:
    """One report as text: the sentence, then the stacks, then the cycle."""
    times = "" if report["count"] == 1 else f" ({report['count']:,} times)"
    found = [f"{report['kind']}: {report['text']}{times}"]
    if report["held"]:
        found += [f"  {report['thread'] or 'a thread'}:", *stack(report["held"])]
    elif report["site"]:
        found.append(f"  at {place(report['site'])}")
    if report["other"]:
        then = ", when it was seen first" if report["cycle"] else ""
        found += [f"  {report['other_thread']}{then}:", *stack(report["other"])]
    if report["cycle"]:
        found.append("  the cycle:")
        found += [f"    {link(k)}" for k in report["cycle"]]
    return found


def stack(held: list[Entry]) -> list[str]:
    """A stack of held locks, the middle of a high one left out."""
    rows = [f"    {entry(e)}" for e in held]
    if len(rows) > _MAX_ROWS:
        left_out = len(rows) - _MAX_ROWS + 1
        half = _MAX_ROWS // 2
        rows[half : half + left_out] = [f"    ... {left_out} more entries"]
    return rows


def entry(e: Entry) -> str:
    """One line of a stack of held locks."""
    verb = "asks for" if e["asked"] else "holds"
    many = f" and {e['count'] - 1:,} more of {e['class']}" if e["count"] > 1 else ""
    how = [e["mode"]]
    if e["tried"]:
        how.append("by a try")
    if e["outer"]:
        how.append(f"nested in {e['outer']}")
    return f"{verb} {e['lock']}{many} ({', '.join(how)}){_at(e['site'])}"


def link(k: Entry) -> str:
    """One step of a cycle: from what is held to what is taken then."""
    if k["interrupt"]:
        return (
            f"{k['from']} ({k['from_mode']}) held with interrupts on{_at(k['from_site'])}; "
            f"an interrupt takes {k['to']} ({k['to_mode']}){_at(k['to_site'])}"
        )
    return (
        f"{k['from']} ({k['from_mode']}){_at(k['from_site'])} -> "
        f"{k['to']} ({k['to_mode']}){_at(k['to_site'])}, first by {k['thread']}"
    )


def place(site: Entry) -> str:
    """A site as FILE:LINE."""
    return f"{site['file']}:{site['line']}"


def _at(site: Entry | None) -> str:
    return f" at {place(site)}" if site else ""


def summary(validation: Document) -> str:
    """One sentence: what was seen and what was found."""
    n = len(validation["reports"])
    more = f", {validation['dropped']:,} more not kept" if validation["dropped"] else ""
    found = f"{n} report{'s' if n != 1 else ''}{more}" if n else "nothing to report"
    classes, edges = len(validation["classes"]), len(validation["edges"])
    return (
        f"{found}: {classes} class{'es' if classes != 1 else ''} of locks, "
        f"{edges} order{'s' if edges != 1 else ''} between them"
    )
