# SPDX-License-Identifier: MIT
"""One instruction of a litmus test as text: its name, its prefix and its operands.

``X86`` is written as Intel does, target first (``MOV [x],$1``), ``X86_64`` as AT&T does, target
last (``movl $1,(x)``). Which of the two applies follows from the header alone; the other's marks
are refused, so that no test is read the wrong way round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from locklab.litmus_places import OTHER_REGISTERS, REGISTERS, number

SUFFIXES = {"B": 1, "W": 2, "L": 4, "Q": 8}
CONDITIONS = {
    **{"O": 0, "NO": 1, "B": 2, "C": 2, "NAE": 2, "AE": 3, "NB": 3, "NC": 3, "E": 4, "Z": 4},
    **{"NE": 5, "NZ": 5, "BE": 6, "NA": 6, "A": 7, "NBE": 7, "S": 8, "NS": 9, "L": 12, "NGE": 12},
    **{"GE": 13, "NL": 13, "LE": 14, "NG": 14, "G": 15, "NLE": 15},
}
FENCES = ("MFENCE", "LFENCE", "SFENCE")
NAMES = {
    **dict.fromkeys(("MOV", "XCHG", "XADD", "CMPXCHG", "ADD", "SUB", "AND", "OR", "XOR"), 2),
    **dict.fromkeys(("CMP", "TEST", "CMOV"), 2),
    **dict.fromkeys(("INC", "DEC", "NEG", "NOT", "JMP", "J"), 1),
    **dict.fromkeys((*FENCES, "NOP", "PAUSE", "RET"), 0),
}
_UNSIZED = (*FENCES, "NOP", "PAUSE", "RET", "JMP", "J")


@dataclass(frozen=True)
class Register:
    """A register operand."""

    index: int
    width: int


@dataclass(frozen=True)
class Constant:
    """A number, or the address of location `pointer`."""

    number: int
    pointer: str | None = None


@dataclass(frozen=True)
class Memory:
    """The location `name`, or the one that register `base` points to."""

    name: str | None
    base: int | None = None


@dataclass(frozen=True)
class Label:
    """Where a jump goes."""

    name: str


Operand = Register | Constant | Memory | Label


@dataclass(frozen=True)
class Instruction:
    """Operands are in Intel's order; `width` in bytes, None if the text does not say it."""

    line: int
    text: str
    name: str
    operands: tuple[Operand, ...]
    width: int | None = None
    cond: int | None = None
    lock: bool = False


class NotUnderstood(ValueError):  # noqa: N818 - caught by the parser, which knows the line
    """The sentence is for the user; `unsupported`: x86 has it, we do not."""

    def __init__(self, text: str, unsupported: bool = False) -> None:
        super().__init__(text)
        self.unsupported = unsupported


def read(text: str, line: int, arch: str) -> Instruction:
    """The instruction in `text` (no label), or :class:`NotUnderstood`."""
    words = text.split(None, 1)
    lock = words[0].upper() == "LOCK"
    if lock:
        if len(words) == 1:
            raise NotUnderstood("'LOCK' stands alone")
        words = words[1].split(None, 1)
    name, width, cond = _name(words[0])
    parts = _split(words[1]) if len(words) > 1 else []
    if len(parts) != NAMES[name]:
        raise NotUnderstood(f"{words[0]} takes {NAMES[name]} operands, not {len(parts)}")
    if name in ("JMP", "J"):
        return Instruction(line, text, name, (Label(_label(parts[0])),), cond=cond, lock=lock)
    operand = _intel if arch == "X86" else _att
    operands = tuple(operand(part) for part in (parts if arch == "X86" else reversed(parts)))
    if name in ("XADD", "CMPXCHG") and isinstance(operands[1], Memory):
        operands = operands[::-1]  # herd's own order in X86_64; memory can only be the target
    if isinstance(operands[0] if operands else None, Constant) and name not in ("CMP", "TEST"):
        raise NotUnderstood(f"the target of {text!r} is a constant")
    return Instruction(line, text, name, operands, _width(width, operands), cond, lock)


def _name(word: str) -> tuple[str, int | None, int | None]:
    """The table's name, the width of a suffix, the condition code."""
    upper = word.upper()
    for stem, width in ((upper, None), (upper[:-1], SUFFIXES.get(upper[-1:]))):
        if stem != upper and width is None:
            continue
        for family in ("CMOV", "J"):
            rest = stem.removeprefix(family)
            if rest != stem and rest in CONDITIONS and not (family == "J" and width):
                return family, width, CONDITIONS[rest]
        if stem in NAMES and stem not in ("CMOV", "J") and not (width and stem in _UNSIZED):
            return stem, width, None
    raise NotUnderstood(f"instruction {word} is not supported", unsupported=True)


def _split(text: str) -> list[str]:
    """Operands, apart at the commas outside brackets."""
    return [part.strip() for part in re.split(r",(?![^(\[]*[)\]])", text)]


def _label(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_.$][\w.$]*", text):
        raise NotUnderstood(f"{text!r} is not a label", unsupported=True)
    return text


def _width(suffix: int | None, operands: tuple[Operand, ...]) -> int | None:
    widths = {operand.width for operand in operands if isinstance(operand, Register)}
    widths |= {suffix} if suffix else set()
    if len(widths) > 1:
        raise NotUnderstood("its operands are of different widths", unsupported=True)
    return widths.pop() if widths else None


def _constant(text: str) -> Constant | None:
    """``$1``, ``$-0x10``, ``$x`` or, without the mark, a number."""
    value = number(text.removeprefix("$"))
    if value is not None:
        return Constant(value)
    name = re.fullmatch(r"\$([A-Za-z_][\w.]*)", text)
    return Constant(0, name[1]) if name else None


def register(name: str) -> Register | None:
    """The register of this name, in any case; :class:`NotUnderstood` for one we do not have."""
    upper = name.upper()
    if upper in OTHER_REGISTERS:
        raise NotUnderstood(f"register {name} is not supported", unsupported=True)
    return Register(*REGISTERS[upper]) if upper in REGISTERS else None


def _pointer(name: str) -> Memory:
    found = register(name)
    if found is None:
        return Memory(name)
    if found.width < 4:
        raise NotUnderstood(f"{name} is too narrow for an address")
    return Memory(None, found.index)


def _intel(text: str) -> Operand:
    inside = re.fullmatch(r"\[\s*([A-Za-z_][\w.]*)\s*\]", text)
    if inside:
        return _pointer(inside[1])
    found = register(text) or _constant(text)
    if found is None:
        raise NotUnderstood(
            f"operand {text!r} is not supported: a register, $1, $x, [x] or [EAX] can stand here",
            unsupported=True,
        )
    return found


def _att(text: str) -> Operand:
    named = re.fullmatch(r"%(\w+)", text)
    found: Operand | None = register(named[1]) if named else None
    direct = re.fullmatch(r"\(\s*([A-Za-z_][\w.]*)\s*\)|\[\s*([A-Za-z_][\w.]*)\s*\]", text)
    direct = direct or re.fullmatch(r"([A-Za-z_][\w.]*)\(%[rR][iI][pP]\)", text)
    based = re.fullmatch(r"(?:0x0|0)?\(\s*%(\w+)\s*\)", text)
    if direct and register(direct[1] or direct[2]) is None:
        found = Memory(direct[1] or direct[2])
    elif based and register(based[1]):
        found = _pointer(based[1])
    elif text.startswith("$"):
        found = _constant(text)
    if found is None:
        raise NotUnderstood(
            f"operand {text!r} is not supported: %eax, $1, $x, (x) or (%rax) can stand here",
            unsupported=True,
        )
    return found
