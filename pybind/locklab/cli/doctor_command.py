# SPDX-License-Identifier: MIT
"""``locklab doctor``: what this host can measure."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from locklab import doctor, store
from locklab.cli.usage import Parser, add
from locklab.render import Notes, Part, Table, show
from locklab.report import with_errno

_EXAMPLES = """examples:
  locklab doctor             one screen: can, cannot, why, and what would enable it
  locklab doctor --json      the same as JSON; each result keeps it, too
"""


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    parser = Parser("doctor", "What this host can and cannot measure, and why.", _EXAMPLES)
    add(parser, "--json", action="store_true", help="as JSON (schema locklab.doctor/1)")
    args = parser.parse(words)
    found = doctor.capabilities()
    if args.json:
        sys.stdout.write(store.dump(found))
    else:
        show(_tables(found), sys.stdout)
    return 0


def _tables(found: dict[str, object]) -> list[Part]:
    capabilities = found["capabilities"]
    assert isinstance(capabilities, dict)
    rows = [
        (name, "yes" if entry["available"] else "no", entry["detail"])
        for name, entry in capabilities.items()
    ]
    parts: list[Part] = [Table("", ("can it", "", "what"), rows)]
    lines = []
    for name, entry in capabilities.items():
        words = []
        if not entry["available"]:
            words.append(f"no, {with_errno(entry)}")
            if "enable" in entry:
                words.append(f"would enable it: {entry['enable']}")
        if "note" in entry:
            words.append(entry["note"])
        if words:
            lines.append(f"{name}: {'; '.join(words)}")
    if lines:
        parts.append(Notes("why not, and what would help", lines))
    return parts
