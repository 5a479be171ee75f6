# SPDX-License-Identifier: MIT
"""From instructions of x86 to the small operations that the core runs.

An instruction that reads and writes memory is one atomic operation with LOCK (XCHG always is), and
a load and a store without, between which others can come. Flags are computed from what was loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from locklab import _core
from locklab.litmus_operands import (
    Constant,
    Instruction,
    Label,
    Memory,
    NotUnderstood,
    Register,
)
from locklab.litmus_places import SPARE

_CODE = {name: index for index, name in enumerate(_core.LITMUS_CODES)}
_NONE = _core.LITMUS_NONE
_NOT_EQUAL = 5
_OLD, _NEW = SPARE, SPARE + 1
_ATOMIC = ("ADD", "SUB", "AND", "OR", "XOR", "INC", "DEC", "NOT", "XADD", "CMPXCHG", "XCHG")
_ONE_OPERAND = ("INC", "DEC", "NEG", "NOT")

Op = tuple[int, int, int, int, int, int, int, int, int, int]


@dataclass(frozen=True)
class Location:
    """A word of shared memory: width in bytes, sign for printing, bits it starts with."""

    index: int
    width: int
    signed: bool
    initial: int


def address(index: int) -> int:
    """What a pointer to location `index` holds."""
    return _core.LITMUS_ADDRESS + 64 * index


def bits_of(constant: Constant, width: int, locations: Mapping[str, Location]) -> int:
    """As `width` bytes, or :class:`NotUnderstood` if it does not fit."""
    if constant.pointer is not None:
        if constant.pointer not in locations:
            raise NotUnderstood(f"{constant.pointer} is no location")
        value = address(locations[constant.pointer].index)
    else:
        value = constant.number
        if address(0) <= value < address(_core.LITMUS_MAX_LOCATIONS):
            raise NotUnderstood(f"{value} is taken: locations have such addresses")
    if not -(1 << 8 * width - 1) <= value < 1 << 8 * width:
        what = constant.pointer or constant.number
        raise NotUnderstood(f"{what} does not fit in {8 * width} bits")
    return value % (1 << 8 * width)


class Coder:
    """Code of one thread.

    Parameters
    ----------
    locations
        By name, with their final widths.
    arch
        ``X86`` or ``X86_64``.
    labels
        Name -> index of the instruction that it stands before.
    """

    def __init__(
        self, locations: Mapping[str, Location], arch: str, labels: Mapping[str, int]
    ) -> None:
        self._locations = locations
        self._arch = arch
        self._labels = labels
        self._ops: list[Op] = []
        self._starts: list[int] = []
        self._jumps: list[tuple[int, int]] = []  # operation, instruction that it goes to
        self.line = 0

    def code(self, instructions: list[Instruction]) -> list[Op]:
        """The operations of all of them."""
        for instruction in instructions:
            self._starts.append(len(self._ops))
            self.line = instruction.line
            self._instruction(instruction, len(instructions))
        self._starts.append(len(self._ops))
        for at, target in self._jumps:
            op = self._ops[at]
            self._ops[at] = (*op[:7], self._starts[target], *op[8:])
        return self._ops

    def _emit(
        self,
        name: str,
        width: int,
        dst: int = 0,
        source: Register | Constant | int = 0,
        memory: Memory | None = None,
        cond: int = _NONE,
    ) -> None:
        src, value, base, location = _NONE, 0, _NONE, 0
        if isinstance(source, Constant):
            value = bits_of(source, width, self._locations)
        else:
            src = source.index if isinstance(source, Register) else source
        if memory is not None and memory.base is not None:
            base = memory.base
        elif memory is not None and memory.name is not None:
            location = self._locations[memory.name].index
        code = _CODE[name.lower()]
        self._ops.append(
            (code, width, dst, src, base, cond, location, 0, self.line, value),
        )

    def _width(self, i: Instruction) -> int:
        """Said by the text, or that of the location; what does not agree is refused."""
        memory = next((o for o in i.operands if isinstance(o, Memory)), None)
        if memory is None or memory.name is None:
            if i.width is None and memory is not None and self._arch != "X86":
                raise NotUnderstood("its width is not said, as in movl or movq")
            return i.width or 4
        found = self._locations[memory.name].width
        if i.width not in (None, found):
            raise NotUnderstood(
                f"it accesses {8 * (i.width or 0)} bits of {memory.name}, which has {8 * found}: "
                "accesses of mixed sizes are not supported",
                unsupported=True,
            )
        return found

    def _instruction(self, i: Instruction, end: int) -> None:
        if i.name in ("JMP", "J", "RET"):
            self._jump(i, end)
            return
        if i.name == "MFENCE":
            self._emit("fence", 8)
        if not i.operands:
            self._refuse_lock(i)
            return
        if sum(isinstance(o, Memory) for o in i.operands) > 1:
            raise NotUnderstood("both of its operands are in memory")
        memory = isinstance(i.operands[0], Memory)
        if i.lock and not (i.name in _ATOMIC and (memory or i.name == "XCHG")):
            self._refuse_lock(i)
        width = self._width(i)
        special: dict[str, Callable[[Instruction, int], None]] = {
            "MOV": self._move,
            "CMOV": self._move,
            "XCHG": self._exchange,
            "XADD": self._exchange_add,
            "CMPXCHG": self._compare_exchange,
        }
        special.get(i.name, self._calculate)(i, width)

    def _refuse_lock(self, i: Instruction) -> None:
        if i.lock:
            raise NotUnderstood(f"LOCK cannot stand before {i.name} here", i.name == "NEG")

    def _jump(self, i: Instruction, end: int) -> None:
        self._refuse_lock(i)
        target = end
        if i.name != "RET":
            label = i.operands[0]
            assert isinstance(label, Label)
            if label.name not in self._labels:
                raise NotUnderstood(f"label {label.name} does not stand in this thread")
            target = self._labels[label.name]
        self._jumps.append((len(self._ops), target))
        self._emit("jump", 8, cond=_NONE if i.cond is None else i.cond)

    def _move(self, i: Instruction, width: int) -> None:
        to, source = i.operands
        cond = _NONE if i.cond is None else i.cond
        if isinstance(to, Memory):
            if i.name == "CMOV":
                raise NotUnderstood("the target of a conditional move is a register")
            self._emit("store", width, 0, _value(source), to)
        elif isinstance(source, Memory) and i.name == "CMOV":  # it loads in any case
            self._emit("load", width, _OLD, memory=source)
            self._emit("move", width, _index(to), _OLD, cond=cond)
        elif isinstance(source, Memory):
            self._emit("load", width, _index(to), memory=source)
        else:
            self._emit("move", width, _index(to), _value(source), cond=cond)

    def _exchange(self, i: Instruction, width: int) -> None:
        a, b = i.operands
        if isinstance(b, Memory):
            a, b = b, a
        if isinstance(a, Memory):
            self._emit("swap", width, _index(b), _index(b), a)
        else:
            self._refuse_lock(i)
            self._emit("move", width, _OLD, _index(a))
            self._emit("move", width, _index(a), _index(b))
            self._emit("move", width, _index(b), _OLD)

    def _exchange_add(self, i: Instruction, width: int) -> None:
        to, register = i.operands[0], _index(i.operands[1])
        if not isinstance(to, Memory):
            self._emit("move", width, _OLD, _index(to))
        elif i.lock:
            self._emit("fetch_add", width, _OLD, register, to)
        else:
            self._emit("load", width, _OLD, memory=to)
        self._emit("move", width, _NEW, _OLD)
        self._emit("add", width, _NEW, register)
        if isinstance(to, Memory) and not i.lock:
            self._emit("store", width, 0, _NEW, to)
        self._emit("move", width, register, _OLD)
        if not isinstance(to, Memory):
            self._emit("move", width, _index(to), _NEW)

    def _compare_exchange(self, i: Instruction, width: int) -> None:
        to, register = i.operands[0], _index(i.operands[1])
        if not isinstance(to, Memory):
            raise NotUnderstood("CMPXCHG of a register is not supported", unsupported=True)
        if not i.lock:
            raise NotUnderstood(
                "CMPXCHG without LOCK is not supported: it is not atomic, and it stores what it "
                "has loaded if that is not what it expected",
                unsupported=True,
            )
        self._emit("cas", width, _OLD, register, to)
        self._emit("cmp", width, 0, _OLD)
        self._emit("move", width, 0, _OLD, cond=_NOT_EQUAL)

    def _calculate(self, i: Instruction, width: int) -> None:
        to = i.operands[0]
        source: Register | Constant | int = Constant(1)
        if i.name not in _ONE_OPERAND:
            second = i.operands[1]
            if isinstance(second, Memory):
                self._emit("load", width, _OLD, memory=second)
                second = Register(_OLD, width)
            source = _value(second)
        if isinstance(to, Constant):
            raise NotUnderstood("its first operand is a constant")
        if not isinstance(to, Memory):
            self._emit(i.name, width, _index(to), source)
        elif i.lock:
            step = {"INC": "ADD", "DEC": "SUB", "NOT": "XOR"}.get(i.name, i.name)
            self._emit(
                f"fetch_{step}", width, _OLD, Constant(-1) if i.name == "NOT" else source, to
            )
            self._emit(i.name, width, _OLD, source)
        else:
            self._emit("load", width, _OLD, memory=to)
            self._emit(i.name, width, _OLD, source)
            if i.name not in ("CMP", "TEST"):
                self._emit("store", width, 0, _OLD, to)


def _index(operand: object) -> int:
    if not isinstance(operand, Register):
        raise NotUnderstood("a register is wanted where it has something else")
    return operand.index


def _value(operand: object) -> Register | Constant:
    if not isinstance(operand, Register | Constant):
        raise NotUnderstood("a register or constant is wanted where it has something else")
    return operand
