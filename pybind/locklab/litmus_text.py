# SPDX-License-Identifier: MIT
"""Reader of litmus tests in herd's format for x86.

    X86 NAME                      or X86_64, which is written as AT&T does
    "what it shows"               and key=value lines, both optional
    { x=0; 0:EAX=1; uint64_t y; 1:EDI=x; }
    P0          | P1          ;
    MOV [x],$1  | MOV [y],$1  ;
    MOV EAX,[y] | MOV EAX,[x] ;
    locations [x; y;]
    exists (0:EAX=0 /\\ 1:EAX=0)

What is not understood is an error that names file, line and instruction, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from locklab import _core
from locklab.litmus_code import Coder, Location, Op
from locklab.litmus_condition import Condition, Reader, Truth, atoms
from locklab.litmus_init import Init
from locklab.litmus_names import Names
from locklab.litmus_operands import Instruction, NotUnderstood, read
from locklab.litmus_places import Place
from locklab.litmus_source import Source

_QUANTIFIER = re.compile(r"\s*(~\s*exists|exists|forall)\b")
_LISTS = re.compile(r"\s*(locations|filter)\b")
_LABEL = re.compile(r"\s*([A-Za-z_.][\w.$]*)\s*:(?!:)\s*")


@dataclass(frozen=True)
class Thread:
    """Registers that do not begin as 0, and the code."""

    initial: list[tuple[int, int]]
    ops: list[Op]


@dataclass
class Test:
    """A litmus test, ready to be run.

    `shown` is what tells final states apart, in this order, and `types` its widths in bytes and
    signs; `hidden` is what the filter looks at besides.
    """

    file: str
    arch: str
    name: str
    doc: str
    info: dict[str, str]
    threads: list[Thread]
    locations: dict[str, Location]
    shown: list[Place]
    hidden: list[Place]
    types: dict[Place, tuple[int, bool]]
    quantifier: str  # "exists", "~exists", "forall"
    condition: Condition
    filter: Condition | None = None


def parse(text: str, file: str = "") -> Test:
    """The test in `text`.

    Parameters
    ----------
    file
        Its name, for error messages.

    Raises
    ------
    Unsupported
        x86 or herd has it, locklab does not; the message names it.
    ConfigError
        It is not a litmus test for x86.
    """
    return _Parser(text, file).test()


@dataclass
class _Parser(Source):
    arch: str = ""
    init_line: int = 1
    init: Init = field(default_factory=Init)
    instructions: list[list[Instruction]] = field(default_factory=list)
    labels: list[dict[str, int]] = field(default_factory=list)
    shown: set[Place] = field(default_factory=set)
    names: Names = field(init=False)

    def test(self) -> Test:
        self.drop_comments()
        name = self._header()
        doc, info = self._prologue()
        self._init()
        self._code()
        self.names = Names(self, self.arch, self.init, self.init_line, self.instructions)
        self.names.settle()
        quantifier, condition, kept = self._final()
        self.shown |= {atom.place for atom in atoms(condition)}
        shown = sorted(self.shown, key=lambda place: place.order)
        hidden = {atom.place for atom in atoms(kept)} - self.shown if kept else set()
        return Test(
            self.file,
            self.arch,
            name,
            doc,
            info,
            self._threads(),
            self.names.locations,
            shown,
            sorted(hidden, key=lambda place: place.order),
            {place: self.names.type_of(place) for place in shown},
            quantifier,
            condition,
            kept,
        )

    # ---- the parts ----

    def _header(self) -> str:
        self.skip_blanks()
        head = re.compile(r"(\S+)[ \t]+(\S[^\n]*)").match(self.text, self.at)
        if head is None:
            self.fail("the first line must be `X86 NAME`")
        if head[1] not in ("X86", "X86_64"):
            self.fail(f"architecture {head[1]} is not supported, X86 and X86_64 are", True)
        self.arch = head[1]
        self.goto(head.end())
        return head[2].strip()

    def _prologue(self) -> tuple[str, dict[str, str]]:
        doc = ""
        info: dict[str, str] = {}
        line = re.compile(r'"([^"]*)"|([\w.-]+)[ \t]*=[ \t]*([^\n]*)')
        while True:
            self.skip_blanks()
            if self.text.startswith("{", self.at):
                return doc, info
            found = line.match(self.text, self.at)
            if found is None:
                self.fail('before the { of the init block only "text" and key=value can stand')
            if found[2]:
                info[found[2]] = found[3].strip()
            else:
                doc = found[1]
            self.goto(found.end())

    def _init(self) -> None:
        self.init_line = self.line
        self.goto(self.at + 1)
        end, depth = self.at, 1
        while depth and end < len(self.text):
            depth += {"{": 1, "}": -1}.get(self.text[end], 0)
            end += 1
        if depth:
            self.fail("the init block is not closed")
        for item in self.text[self.at : end - 1].split(";"):
            blank = len(item) - len(item.lstrip())
            self.goto(self.at + blank)
            if item.strip():
                try:
                    self.init.add(" ".join(item.split()))
                except NotUnderstood as why:
                    self.fail(str(why), why.unsupported)
            self.goto(min(self.at + len(item) - blank + 1, end - 1))
        self.goto(end)

    def _row(self) -> list[str]:
        end = self.text.find(";", self.at)
        if end < 0:
            self.fail("a line of instructions does not end in ;")
        return self.text[self.at : end].split("|")

    def _code(self) -> None:
        self.skip_blanks()
        names = [cell.strip() for cell in self._row()]
        if names != [f"P{i}" for i in range(len(names))]:
            self.fail("the threads must be headed `P0 | P1 ;`, counted from 0")
        if len(names) > _core.LITMUS_MAX_THREADS:
            self.fail(f"{len(names)} threads, 1 to {_core.LITMUS_MAX_THREADS} supported", True)
        self.goto(self.text.index(";", self.at) + 1)
        self.instructions = [[] for _ in names]
        self.labels = [{} for _ in names]
        while True:
            self.skip_blanks()
            rest = self.rest()
            if not rest or _QUANTIFIER.match(rest) or _LISTS.match(rest):
                return
            cells = self._row()
            if len(cells) != len(names):
                self.fail(f"{len(cells)} columns, {len(names)} wanted: one for each thread")
            for thread, cell in enumerate(cells):
                self._cell(thread, " ".join(cell.split()))
            self.goto(self.text.index(";", self.at) + 1)

    def _cell(self, thread: int, cell: str) -> None:
        while label := _LABEL.match(cell):
            if label[1] in self.labels[thread]:
                self.fail(f"label {label[1]} stands twice in P{thread}")
            self.labels[thread][label[1]] = len(self.instructions[thread])
            cell = cell[label.end() :]
        if not cell:
            return
        try:
            self.instructions[thread].append(read(cell, self.line, self.arch))
        except NotUnderstood as why:
            text = str(why) if cell in str(why) else f"{cell!r}: {why}"
            self.fail(text, why.unsupported)

    # ---- the end of the file ----

    def _final(self) -> tuple[str, Condition, Condition | None]:
        kept: Condition | None = None
        while found := _LISTS.match(self.rest()):
            self.goto(self.at + found.end())
            stop = _QUANTIFIER.search(self.text, self.at)
            more = _LISTS.search(self.text, self.at)
            ends = [m.start() for m in (stop, more) if m]
            end = min(ends) if ends else len(self.text)
            if found[1] == "filter":
                kept = self._condition(self.text[self.at : end])
            else:
                self._listed(self.text[self.at : end])
            self.goto(end)
        rest = self.rest()
        head = _QUANTIFIER.match(rest)
        if head is None:
            self.skip_blanks()
            if self.shown and not self.rest():
                return "forall", Truth(True), kept
            self.fail("the condition is missing: exists, ~exists or forall")
        self.goto(self.at + head.end())
        return "".join(head[1].split()), self._condition(rest[head.end() :]), kept

    def _listed(self, text: str) -> None:
        inside = re.fullmatch(r"\s*\[(.*)\]\s*", text, re.DOTALL)
        if inside is None:
            self.fail("locations must be followed by [ ... ]")
        for item in inside[1].split(";"):
            if item.strip():
                self.shown.add(self.names.place(item.strip().split()[-1]))

    def _condition(self, text: str) -> Condition:
        return Reader(text, self.names.atom, self.error).read()

    def _threads(self) -> list[Thread]:
        out = []
        for thread, instructions in enumerate(self.instructions):
            coder = Coder(self.names.locations, self.arch, self.labels[thread])
            try:
                ops = coder.code(instructions)
                initial = self.init.registers_of(thread, self.names.locations)
            except NotUnderstood as why:
                bad = next((i for i in instructions if i.line == coder.line), None)
                self.fail(f"{bad.text!r}: {why}" if bad else str(why), why.unsupported, coder.line)
            out.append(Thread(initial, ops))
        for thread in self.init.threads():
            if thread >= len(self.instructions):
                self.fail(
                    f"the init block speaks of thread {thread}, which is not there",
                    line=self.init_line,
                )
        return out
