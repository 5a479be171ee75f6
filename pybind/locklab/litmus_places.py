# SPDX-License-Identifier: MIT
"""What a litmus test speaks of: registers, locations and the values that they hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WIDE = ("RAX", "RBX", "RCX", "RDX", "RSI", "RDI", "RBP", "RSP")
_LETTERS = ("A", "B", "C", "D")


def _registers() -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for index, wide in enumerate(_WIDE):
        narrow = wide[1:]
        found |= {wide: (index, 8), f"E{narrow}": (index, 4), narrow: (index, 2)}
        low = f"{narrow[0]}L" if narrow[1] == "X" else f"{narrow}L"
        found[low] = (index, 1)
    for index in range(8, 16):
        found |= {f"R{index}{end}": (index, w) for end, w in (("", 8), ("D", 4), ("W", 2))}
        found[f"R{index}B"] = (index, 1)
    return found


# Name -> (number, width in bytes). Number 0 is what CMPXCHG compares with.
REGISTERS = _registers()
SPARE = len(_WIDE) + 8  # the first number that no register of x86 has
# They exist, and nothing here knows them: not to be taken for locations.
OTHER_REGISTERS = {f"{letter}H" for letter in _LETTERS} | {"CS", "DS", "ES", "FS", "GS", "SS"}
OTHER_REGISTERS |= {"EIP", "RIP", "EFLAGS", "RFLAGS"}
OTHER_REGISTERS |= {f"{kind}MM{n}" for kind in ("X", "Y") for n in range(16)}

# Type in an init block -> (width in bytes, signed).
TYPES = {
    **{f"int{8 * n}_t": (n, True) for n in (1, 2, 4, 8)},
    **{f"uint{8 * n}_t": (n, False) for n in (1, 2, 4, 8)},
    **{"char": (1, True), "short": (2, True), "int": (4, True), "long": (8, True)},
    **{"unsigned": (4, False), "intptr_t": (8, True), "uintptr_t": (8, False)},
}


@dataclass(frozen=True)
class Place:
    """A register of a thread as a test names it, or (`thread` is None) a location."""

    thread: int | None
    name: str

    def __str__(self) -> str:
        return f"[{self.name}]" if self.thread is None else f"{self.thread}:{self.name}"

    @property
    def order(self) -> tuple[bool, int, str]:
        """Registers first, by thread; then locations."""
        return (self.thread is None, self.thread or 0, self.name)

    @property
    def register(self) -> tuple[int, int]:
        """Its number and width in bytes."""
        return REGISTERS[self.name.lstrip("%").upper()]


@dataclass(frozen=True)
class Value:
    """A number, or the address of the location `pointer`; `bits` is how the machine holds it."""

    number: int
    pointer: str | None
    bits: int

    def __str__(self) -> str:
        return str(self.number) if self.pointer is None else self.pointer


def number(text: str) -> int | None:
    """A decimal or hexadecimal number, or None."""
    text = text.replace(" ", "")
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    return int(text, 16) if re.fullmatch(r"[-+]?0[xX][0-9a-fA-F]+", text) else None


def signed(bits: int, width: int) -> int:
    """The number that `width` bytes mean in two's complement."""
    return bits - (1 << 8 * width) if bits >> (8 * width - 1) else bits
