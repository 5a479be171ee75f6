# SPDX-License-Identifier: MIT
"""The init block of a litmus test: ``{ x=0; uint64_t y=1; 0:EAX=1; 1:EDI=x; int *p=x; }``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from locklab.litmus_code import Location, bits_of
from locklab.litmus_operands import Constant, NotUnderstood, register
from locklab.litmus_places import TYPES, number

_ITEM = re.compile(
    r"(?P<type>(?:[A-Za-z]\w*\s+)*?(?:[A-Za-z]\w*[\s*]+)?)"
    r"(?:(?P<thread>\d+)\s*:\s*%?(?P<register>\w+)|\[?\s*(?P<location>[A-Za-z_][\w.]*)\s*\]?)"
    r"\s*(?:=\s*&?\s*(?P<value>\S.*))?"
)


@dataclass(frozen=True)
class Start:
    """How a word begins: its type as written (``""``: none) and its value."""

    type: str
    value: Constant


@dataclass
class Init:
    """What an init block says; whatever it does not mention is 0."""

    locations: dict[str, Start] = field(default_factory=dict)
    registers: dict[tuple[int, int], tuple[Start, str]] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """One item, or :class:`NotUnderstood`."""
        if re.search(r"[{}]|\w\s*\[", text):
            raise NotUnderstood(f"{text!r}: arrays are not supported", unsupported=True)
        found = _ITEM.fullmatch(text)
        if found is None:
            raise NotUnderstood(f"{text!r} is not an item such as x=0 or 0:EAX=1")
        start = Start(_type(found["type"], text), _value(found["value"], text))
        if found["location"] is not None:
            if found["location"] in self.locations:
                raise NotUnderstood(f"{found['location']} is set twice")
            self.locations[found["location"]] = start
            return
        named = register(found["register"])
        if named is None:
            raise NotUnderstood(f"{text!r}: {found['register']} is not a register of x86")
        key = int(found["thread"]), named.index
        if key in self.registers:
            raise NotUnderstood(f"{found['thread']}:{found['register']} is set twice")
        self.registers[key] = start, found["register"]

    def pointers(self) -> list[str]:
        """Locations that something points to."""
        starts = [*self.locations.values(), *(start for start, _ in self.registers.values())]
        return [start.value.pointer for start in starts if start.value.pointer is not None]

    def threads(self) -> set[int]:
        """Those that the block speaks of."""
        return {thread for thread, _ in self.registers}

    def is_signed(self, thread: int, index: int) -> bool:
        """Whether this register is shown as a signed number."""
        start, _ = self.registers.get((thread, index), (None, ""))
        return start is None or declared(start, "")[1]

    def registers_of(self, thread: int, locations: Mapping[str, Location]) -> list[tuple[int, int]]:
        """(number, bits) of the thread's registers that are set."""
        out = []
        for (owner, index), (start, name) in self.registers.items():
            if owner == thread:
                named = register(name)
                assert named is not None
                try:
                    bits = bits_of(start.value, named.width, locations)
                except NotUnderstood as why:
                    raise NotUnderstood(f"{thread}:{name}: {why}") from None
                out.append((index, bits))
        return out


def declared(start: Start | None, arch: str) -> tuple[int | None, bool]:
    """Width in bytes (None: not said) and sign of its type."""
    if start is None or not start.type:
        return None, True
    if start.type.endswith("*"):
        return 8 if arch == "X86_64" else 4, False
    return TYPES[start.type]


def _type(text: str, item: str) -> str:
    words = text.replace("*", " * ").split()
    base = " ".join(word for word in words if word not in ("*", "volatile", "const"))
    base = {"unsigned int": "unsigned", "long long": "long", "long int": "long"}.get(base, base)
    if base and base not in TYPES:
        raise NotUnderstood(f"{item!r}: type {base} is not supported", unsupported=True)
    if words.count("*") > 1 or (not base and words):
        raise NotUnderstood(f"{item!r}: this type is not supported", unsupported=True)
    return f"{base}*" if "*" in words else base


def _value(text: str | None, item: str) -> Constant:
    if text is None:
        return Constant(0)
    value = number(text)
    if value is not None:
        return Constant(value)
    if not re.fullmatch(r"[A-Za-z_][\w.]*", text):
        raise NotUnderstood(f"{item!r}: {text!r} is neither a number nor a location")
    return Constant(0, text)
