# SPDX-License-Identifier: MIT
"""``locklab list``: the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from locklab import catalogue, store
from locklab.cli.usage import Parser, add, choice
from locklab.render import Notes, Part, Table, show

_EXAMPLES = """examples:
  locklab list                    everything
  locklab list locks              the locks, what each promises and its parameters
  locklab list locks --json | python -m json.tool
"""


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    parser = Parser("list", "What there is to run.", _EXAMPLES)
    add(
        parser,
        "what",
        nargs="?",
        type=choice([*catalogue.CATALOGUE]),
        metavar="PART",
        help="only this part: locks, workloads or machines",
    )
    add(parser, "--json", action="store_true", help="as JSON (schema locklab.list/1)")
    args = parser.parse(words)
    parts = [args.what] if args.what else []
    if args.json:
        sys.stdout.write(store.dump(catalogue.document(*parts)))
        return 0
    show([part for name in parts or catalogue.CATALOGUE for part in _SHOW[name]()], sys.stdout)
    return 0


def _locks() -> list[Part]:
    rows = [
        (
            lock["id"],
            lock["kind"],
            ", ".join(lock["claims"]),
            str(lock["lock_size"]),
            lock["summary"],
        )
        for lock in catalogue.locks()
    ]
    columns = ("lock", "kind", "claims", ">bytes", "summary")
    return [Table("locks", columns, rows), *_parameters("locks", catalogue.locks())]


def _workloads() -> list[Part]:
    found = catalogue.workloads()
    rows = [(workload["id"], workload["summary"]) for workload in found]
    return [Table("workloads", ("workload", "summary"), rows), *_parameters("workloads", found)]


def _parameters(owners: str, entries: list[dict[str, Any]]) -> list[Part]:
    rows = [
        (
            entry["id"],
            param["name"],
            _default(param),
            _allowed(param),
            param["unit"] or "",
            param["help"],
        )
        for entry in entries
        for param in entry["params"]
    ]
    columns = (owners[:-1], "parameter", ">default", "allowed", "unit", "meaning")
    return [Table(f"parameters of {owners} (-p NAME=VALUE)", columns, rows)] if rows else []


def _default(param: dict[str, Any]) -> str:
    if param["names"]:
        return str(param["names"][param["default"]])
    if param["type"] in ("bool", "lock"):
        return str(param["default"]).lower()
    return f"{param['default']:g}"


def _allowed(param: dict[str, Any]) -> str:
    if param["names"]:
        return ", ".join(param["names"])
    if param["type"] == "lock":
        wanted = param["kinds"] if len(param["kinds"]) == 1 else []
        return " ".join(["a lock", *(f"of kind {kind}" for kind in wanted)])
    return "true, false" if param["type"] == "bool" else f"{param['min']:g} to {param['max']:g}"


def _machines() -> list[Part]:
    if not catalogue.machines():
        return [Notes("machines", ["none: machine models come with the simulator"])]
    return [Table("machines", ("machine",), [(m["id"],) for m in catalogue.machines()])]


_SHOW = {"locks": _locks, "workloads": _workloads, "machines": _machines}
