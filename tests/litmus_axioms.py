# SPDX-License-Identifier: MIT
"""A second opinion on litmus tests: what the axioms of SC and of x86-TSO allow.

Nothing here comes from the package. Each thread is run with every value that its reads could see;
then every choice of reads-from (rf) and coherence (co) between the runs is put before the axioms:

* coherence: po-loc, rf, co and fr have no cycle;
* atomicity: a locked write follows in co the write that its read took its value from;
* order: ppo, rfe, co and fr have no cycle, where ppo is all of po under SC, and under TSO all but
  from a write to a later read with no mfence between them and neither of them locked.
"""

import operator
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, count, pairwise, permutations, product

ALU = {"ADD": operator.add, "SUB": operator.sub, "AND": operator.and_, "OR": operator.or_}
ALU["XOR"] = operator.xor
State = frozenset[tuple[str, int]]
Edge = tuple[int, int]


@dataclass(frozen=True)
class Event:
    kind: str  # R, W or F
    loc: str = ""
    value: int = 0
    locked: bool = False


@dataclass
class Test:
    threads: list[list[str]]
    init: dict[str, int]
    condition: str = "true"
    where: str = ""
    info: dict[str, str] = field(default_factory=dict)


class NeedsValue(Exception):  # noqa: N818 - no error
    """A read for which no value was given."""


class TooMany(Exception):  # noqa: N818 - a bound of the caller's
    """There are more runs than was allowed."""


def read(text: str) -> Test:
    """The test in `text`; only the forms that our own tests use."""
    text = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
    head, init, body = re.fullmatch(r"(.*?)\{(.*?)\}(.*)", text, re.DOTALL).groups()
    code, kind, condition = re.split(r"(~exists|exists|forall)", body, maxsplit=1)
    code = re.sub(r"locations\s*\[.*?\]", "", code, flags=re.DOTALL)
    rows = [[cell.strip() for cell in row.split("|")] for row in code.split(";")]
    rows = [row for row in rows if any(row)]
    columns = [[cell for cell in column if cell] for column in zip(*rows[1:], strict=True)]
    pairs = [item.split("=") for item in init.split(";") if item.strip()]
    return Test(
        columns,
        {place.strip(): int(value) for place, value in pairs},
        condition,
        kind,
        dict(re.findall(r"^(\w+)=(.*?)\s*$", head, re.MULTILINE)),
    )


def holds(test: Test, state: dict[str, int]) -> bool:
    """Whether the condition (without its quantifier) is true of the state."""
    expression = re.sub(r"\\/", " or ", re.sub(r"/\\", " and ", test.condition))
    expression = re.sub(r"~|\bnot\b", " not ", expression).replace("true", "True")
    atom = re.compile(r"((?:\d+:)?\w+)\s*=\s*(-?\d+)")
    expression = atom.sub(lambda m: str(state.get(m[1], 0) == int(m[2])), expression)
    return bool(eval(" ".join(expression.split()), {}))


def execute(code: list[str], regs: dict[str, int], given: Iterator[int]) -> list[Event]:
    """Run one thread, whose reads see the given values; `regs` is changed."""
    events: list[Event] = []
    cells = [re.match(r"(?:(\w+):)?\s*(?:(LOCK)\s+)?(?:(\w+)\s*(.*))?$", c).groups() for c in code]
    at, zero = 0, False

    def get(operand: str, locked: bool) -> int:
        if operand.startswith("["):
            value = next(given, None)
            if value is None:
                raise NeedsValue(operand[1:-1])
            events.append(Event("R", operand[1:-1], value, locked))
            return value
        return regs.get(operand, 0) if operand[0].isalpha() else int(operand.lstrip("$"))

    def put(operand: str, value: int, locked: bool) -> None:
        value = (value + 2**31) % 2**32 - 2**31
        if operand.startswith("["):
            events.append(Event("W", operand[1:-1], value, locked))
        else:
            regs[operand] = value

    while at < len(cells):
        _, lock, name, rest = cells[at]
        args = [a.strip() for a in (rest or "").split(",") if a.strip()]
        locked = lock is not None or (name == "XCHG" and "[" in rest)
        at += 1
        if name == "MFENCE":
            events.append(Event("F"))
        elif name == "MOV":
            put(args[0], get(args[1], locked), locked)
        elif name == "XCHG" or name == "XADD":
            one, other = sorted(args, key=lambda a: not a.startswith("["))
            old, plus = get(one, locked), get(other, locked)
            put(one, plus + old * (name == "XADD"), locked)
            put(other, old, locked)
        elif name == "CMPXCHG":
            old = get(args[0], locked)
            zero = old == regs.get("EAX", 0)
            put(*((args[0], get(args[1], locked)) if zero else ("EAX", old)), locked)
        elif name in ALU or name in ("INC", "DEC"):
            by = get(args[1], locked) if name in ALU else 1 if name == "INC" else -1
            result = ALU.get(name, operator.add)(get(args[0], locked), by)
            put(args[0], result, locked)
            zero = result % 2**32 == 0
        elif name == "CMP":
            zero = get(args[0], False) == get(args[1], False)
        elif name in ("JMP", "JE", "JNE"):
            if name == "JMP" or zero == (name == "JE"):
                at = next(i for i, cell in enumerate(cells) if cell[0] == args[0])
        else:
            assert name in (None, "LFENCE", "SFENCE", "NOP"), name
    return events


Run = tuple[list[Event], dict[str, int]]


def runs(test: Test, most_runs: int = 100_000) -> list[list[Run]]:
    """All runs of each thread, with whatever its reads could see at most; or TooMany of them."""
    seen = defaultdict(set, {p: {v} for p, v in test.init.items() if ":" not in p})
    for turn in count():
        found: list[list[Run]] = []
        for i, code in enumerate(test.threads):
            mine, todo = [], [()]
            regs = {p.split(":")[1]: v for p, v in test.init.items() if p.startswith(f"{i}:")}
            while todo:
                given, result = todo.pop(), dict(regs)
                if len(mine) + len(todo) > most_runs:
                    raise TooMany
                try:
                    mine.append((execute(code, result, iter(given)), result))
                except NeedsValue as need:
                    loc = str(need)
                    todo += [(*given, v) for v in seen[loc] | {test.init.get(loc, 0)}]
            found.append(mine)
        writes = {(e.loc, e.value) for t in found for es, _ in t for e in es if e.kind == "W"}
        new = [(loc, value) for loc, value in writes if value not in seen[loc]]
        # a value depends on a chain of distinct writes: no longer than there are writes
        most = sum(max(sum(e.kind == "W" for e in es) for es, _ in t) for t in found)
        if not new or turn > most:
            return found
        for loc, value in new:
            seen[loc].add(value)
    raise AssertionError


def acyclic(n: int, edges: Iterable[Edge]) -> bool:
    after, into = defaultdict(list), [0] * n
    for a, b in edges:
        after[a].append(b)
        into[b] += 1
    free = [i for i in range(n) if not into[i]]
    for a in free:
        for b in after[a]:
            into[b] -= 1
            if not into[b]:
                free.append(b)
    return len(free) == n


def po_edges(threads: list[range], events: list[Event], memory: str) -> tuple[list[Edge], ...]:
    """What program order keeps of the order of accesses, and all of it at one location."""
    kept, same = [], []
    for thread in threads:
        for a, b in combinations([i for i in thread if events[i].kind != "F"], 2):
            x, y = events[a], events[b]
            fence = any(events[i].kind == "F" for i in range(a, b))
            relaxed = memory == "tso" and x.kind == "W" and y.kind == "R"
            if not relaxed or fence or x.locked or y.locked:
                kept.append((a, b))
            if x.loc == y.loc:
                same.append((a, b))
    return kept, same


def coherences(events: list[Event], same: list[Edge]) -> Iterator[dict[str, tuple[int, ...]]]:
    """Every co that contains program order, as the writes of each location in order."""
    locs = sorted({e.loc for e in events if e.kind == "W"})
    choices = []
    for loc in locs:
        first, *rest = [i for i, e in enumerate(events) if e.kind == "W" and e.loc == loc]
        orders = [(first, *order) for order in permutations(rest)]
        ordered = [(a, b) for a, b in same if a in rest and b in rest]
        choices.append([o for o in orders if all(o.index(a) < o.index(b) for a, b in ordered)])
    for choice in product(*choices):
        yield dict(zip(locs, choice, strict=True))


def consistent(
    events: list[Event], threads: list[range], memory: str
) -> Iterator[dict[str, tuple[int, ...]]]:
    """The co of each (rf, co) that obeys the axioms; initial writes come first in `events`."""
    kept, same = po_edges(threads, events, memory)
    thread_of = {i: t for t, thread in enumerate(threads) for i in thread}
    reads = [i for i, e in enumerate(events) if e.kind == "R"]
    sources = [
        [j for j, e in enumerate(events) if (e.kind, e.loc, e.value) == ("W", r.loc, r.value)]
        for r in (events[i] for i in reads)
    ]
    if not all(sources):
        return
    for co in coherences(events, same):
        place = {w: n for order in co.values() for n, w in enumerate(order)}
        co_edges = [edge for order in co.values() for edge in pairwise(order)]
        for choice in product(*sources):
            rf = list(zip(choice, reads, strict=True))
            locked = [(w, r) for w, r in rf if events[r].locked and events[r + 1 :][:1]]
            if any(
                events[r + 1].kind == "W" and events[r + 1].locked and place[r + 1] != place[w] + 1
                for w, r in locked
                if thread_of.get(r + 1) == thread_of[r]
            ):
                continue
            fr = [(r, b) for w, r in rf for b in co[events[r].loc][place[w] + 1 :][:1]]
            rfe = [e for e in rf if memory == "sc" or thread_of.get(e[0]) != thread_of[e[1]]]
            if acyclic(len(events), same + rf + co_edges + fr) and acyclic(
                len(events), kept + rfe + co_edges + fr
            ):
                yield co


def states(test: Test, memory: str) -> Counter[State]:
    """Final states, each with its number of consistent executions; memory: sc or tso."""
    total: Counter[State] = Counter()
    for combination in product(*runs(test)):
        accesses = {(e.kind, e.loc, e.value) for es, _ in combination for e in es if e.loc}
        places = sorted({p for _, p, _ in accesses} | {p for p in test.init if ":" not in p})
        written = {(p, v) for kind, p, v in accesses if kind == "W"}
        written |= {(p, test.init.get(p, 0)) for p in places}
        if not all((p, v) in written for kind, p, v in accesses if kind == "R"):
            continue
        events = [Event("W", loc, test.init.get(loc, 0)) for loc in places]
        threads = []
        for es, _ in combination:
            threads.append(range(len(events), len(events) + len(es)))
            events += es
        regs = {f"{i}:{r}": v for i, (_, rs) in enumerate(combination) for r, v in rs.items()}
        for co in consistent(events, threads, memory):
            final = {loc: events[order[-1]].value for loc, order in co.items()}
            total[frozenset((regs | final).items())] += 1
    return total
