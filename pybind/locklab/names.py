# SPDX-License-Identifier: MIT
"""Names that the user may have mistyped, for what the C core does not know of.

Locks, workloads, parameters and events are looked up, and the nearest suggested, in the C core.
"""

from __future__ import annotations

from collections.abc import Iterable

from locklab.errors import UnknownName


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name`, or None if none does."""
    from difflib import get_close_matches

    names = list(known)
    for candidate in names:
        if len(name) > 1 and candidate.startswith(name):
            return candidate
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.5)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """``", did you mean X"``, or the empty string."""
    near = nearest(name, known)
    return f", did you mean {near}" if near else ""


def unknown(what: str, name: str, known: Iterable[str], *, field: str) -> UnknownName:
    """The exception that says that there is no `what` called `name`, and which there are."""
    names = list(known)
    listed = "; there are: " + ", ".join(names) if 0 < len(names) <= 12 else ""
    text = f"there is no {what} {name!r}{suggestion(name, names)}{listed}"
    return UnknownName(text, code="ENOENT", field=field)
