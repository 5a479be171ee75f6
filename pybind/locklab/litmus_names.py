# SPDX-License-Identifier: MIT
"""The registers and locations that a litmus test names, and their types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from locklab.litmus_code import Location, bits_of
from locklab.litmus_condition import Atom
from locklab.litmus_init import Init, declared
from locklab.litmus_operands import Constant, Instruction, Memory, NotUnderstood, register
from locklab.litmus_places import OTHER_REGISTERS, REGISTERS, TYPES, Place, Value, number
from locklab.litmus_source import Source

_NAME = re.compile(r"[A-Za-z_][\w.]*")


@dataclass
class Names:
    """Locations get their widths by :meth:`settle`, when init block and code are known."""

    source: Source
    arch: str
    init: Init
    init_line: int
    code: list[list[Instruction]]
    locations: dict[str, Location] = field(default_factory=dict)

    def settle(self) -> None:
        """A width each: as declared, else that of the accesses, else 32 bits.

        Which location an access through a register means is known only when it happens; their
        widths count where a location has no other.
        """
        seen: dict[str, set[int]] = {}
        through: set[int] = set()
        for instruction in (i for code in self.code for i in code):
            width = {instruction.width} if instruction.width else set()
            for operand in instruction.operands:
                if isinstance(operand, Memory) and operand.name is not None:
                    seen.setdefault(operand.name, set()).update(width)
                elif isinstance(operand, Memory):
                    through |= width
                elif isinstance(operand, Constant) and operand.pointer is not None:
                    seen.setdefault(operand.pointer, set())
        for name in (*self.init.locations, *self.init.pointers(), *seen):
            self._location(name, seen.get(name) or through)
        for name, start in self.init.locations.items():
            found = self.locations[name]
            try:
                bits = bits_of(start.value, found.width, self.locations)
            except NotUnderstood as why:
                self.source.fail(f"{name}: {why}", line=self.init_line)
            self.locations[name] = Location(found.index, found.width, found.signed, bits)

    def _location(self, name: str, widths: set[int] | frozenset[int] = frozenset()) -> None:
        if name in self.locations:
            return
        if name.upper() in REGISTERS or name.upper() in OTHER_REGISTERS:
            self.source.fail(
                f"{name} is a register, and belongs to a thread, as in 0:{name}",
                line=self.init_line,
            )
        start = self.init.locations.get(name)
        width, is_signed = declared(start, self.arch)
        if width is None:
            pointer = 8 if self.arch == "X86_64" else 4
            is_pointer = start is not None and start.value.pointer is not None
            width = next(iter(widths)) if len(widths) == 1 else pointer if is_pointer else 4
        self.locations[name] = Location(len(self.locations), width, is_signed, 0)

    def place(self, text: str) -> Place:
        found = re.fullmatch(r"(\d+)\s*:\s*(%?\w+)", text)
        if found is None:
            name = text.strip("[]*").strip()
            if not _NAME.fullmatch(name) or name in TYPES:
                self.source.fail(f"{text!r} is neither a register, as in 0:EAX, nor a location")
            self._location(name)
            return Place(None, name)
        if int(found[1]) >= len(self.code):
            self.source.fail(f"{text}: there is no thread {found[1]}")
        try:
            if register(found[2].lstrip("%")) is None:
                self.source.fail(f"{found[2]} is not a register of x86")
        except NotUnderstood as why:
            self.source.fail(str(why), why.unsupported)
        return Place(int(found[1]), found[2].lstrip("%"))

    def atom(self, where: str, what: str) -> Atom:
        place = self.place(where)
        value = number(what)
        if value is None and not _NAME.fullmatch(what):
            self.source.fail(f"{where}={what}: {what!r} is neither a number nor a location")
        if value is None and what not in self.locations:
            self.source.fail(f"{where}={what}: {what} is no location of the test")
        constant = Constant(0, what) if value is None else Constant(value)
        try:
            bits = bits_of(constant, self.type_of(place)[0], self.locations)
        except NotUnderstood as why:
            self.source.fail(f"{where}={what}: {why}")
        return Atom(place, Value(constant.number, constant.pointer, bits))

    def type_of(self, place: Place) -> tuple[int, bool]:
        if place.thread is None:
            found = self.locations[place.name]
            return found.width, found.signed
        index, width = place.register
        return width, self.init.is_signed(place.thread, index)
