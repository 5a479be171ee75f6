# SPDX-License-Identifier: MIT
"""The model checker's answer to litmus tests against that of the axioms: states and executions."""

import math
import re
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import litmus_axioms as axioms
import locklab
from locklab.litmus_operands import NAMES
from support import ROOT

pytestmark = pytest.mark.check

FILES = sorted((ROOT / "tests" / "litmus").glob("*.litmus"))
MEMORIES = ("sc", "tso")


def agree(text: str, memory: str) -> axioms.Counter[axioms.State]:
    """Compare what is observed of every final state, with its number of executions."""
    found = locklab.litmus(text, memory=memory)
    assert found.complete
    ours = Counter({frozenset(state.items()): n for state, n in found.states})
    names = {name for state, _ in found.states for name in state}
    theirs: Counter[axioms.State] = Counter()
    for full, n in axioms.states(axioms.read(text), memory).items():
        values = dict(full)
        theirs[frozenset((name, values.get(name.strip("[]"), 0)) for name in names)] += n
    assert ours == theirs
    return ours


def test_there_are_enough() -> None:
    assert len(FILES) >= 20


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path, memory) -> None:
    text = path.read_text(encoding="utf-8")
    test = axioms.read(text)
    agree(text, memory)
    total = axioms.states(test, memory)
    positive = sum(n for state, n in total.items() if axioms.holds(test, dict(state)))
    negative = sum(total.values()) - positive
    never = "Sometimes" if negative else "Always"
    found = locklab.litmus(path, memory=memory)
    assert found.name == path.stem
    assert (found.positive, found.negative) == (positive, negative)
    assert found.observation == (never if positive else "Never") == test.info[memory.upper()]


@pytest.mark.parametrize("memory", MEMORIES)
def test_all_states_of_a_file_are_observed_if_asked(memory) -> None:
    text = (ROOT / "tests/litmus/SB4.litmus").read_text(encoding="utf-8")
    text = text.replace("exists", "locations [x; y; z; w;]\nexists")
    assert sum(agree(text, memory).values()) == {"sc": 15, "tso": 16}[memory]


LOCS, REGS = ("x", "y"), ("EAX", "EBX", "ECX")
ONE = [
    *("MOV [{x}],${v}", "MOV [{x}],{r}", "MOV {r},[{x}]", "MOV {r},[{x}]", "XCHG {r},[{x}]"),
    *("MFENCE", "LFENCE", "INC [{x}]", "LOCK DEC [{x}]", "LOCK ADD [{x}],{r}", "XADD [{x}],{r}"),
    *("LOCK XADD [{x}],{r}", "LOCK CMPXCHG [{x}],{r}", "LOCK XOR [{x}],${v}", "OR [{x}],${v}"),
    *(
        "ADD {r},[{x}]",
        "SUB {r},${v}",
        "MOV {r},${v}",
        "CMP [{x}],{r}\nJE L",
        "CMP {r},${v}\nJNE L",
    ),
]
instructions = st.builds(
    lambda form, x, r, v: form.format(x=x, r=r, v=v),
    st.sampled_from(ONE),
    st.sampled_from(LOCS),
    st.sampled_from(REGS),
    st.integers(0, 2),
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Two threads of up to four instructions or three of up to three; everything is observed."""
    n = draw(st.sampled_from((2, 2, 3)))
    column = st.lists(instructions, min_size=1, max_size={2: 4, 3: 3}[n])
    columns = ["\n".join([*draw(column), "L:"]).split("\n") for _ in range(n)]
    rows = [
        [column[i] if i < len(column) else "" for column in columns]
        for i in range(max(map(len, columns)))
    ]
    lines = [" | ".join(row) + " ;" for row in [[f"P{i}" for i in range(n)], *rows]]
    init = [f"{loc}={draw(st.integers(0, 2))};" for loc in LOCS]
    registers = [f"{i}:{reg}" for i in range(n) for reg in REGS]
    init += [f"{reg}={draw(st.integers(0, 2))};" for reg in registers]
    code = "\n".join(lines)
    places = "; ".join([*LOCS, *registers])
    return f"X86 random\n{{ {' '.join(init)} }}\n{code}\nlocations [{places};]\nexists (true)\n"


@settings(max_examples=150, deadline=None)
@given(programs())
def test_random_program(text: str) -> None:
    assume(text.count("[") <= 8)  # of which one is that of `locations`: the axioms try all orders
    try:
        found = axioms.runs(axioms.read(text), most_runs=500)
    except axioms.TooMany:
        found = None
    assume(found is not None and math.prod(map(len, found)) <= 2000)
    for memory in MEMORIES:
        agree(text, memory)


def test_the_axioms_tell_the_models_apart() -> None:
    """They would not, if the enumerator dropped the order that TSO does not keep, or kept all."""
    test = axioms.Test([["MOV [x],$1", "MOV EAX,[y]"], ["MOV [y],$1", "MOV EAX,[x]"]], {})
    both = frozenset({("0:EAX", 0), ("1:EAX", 0), ("x", 1), ("y", 1)})
    assert both not in axioms.states(test, "sc")
    assert axioms.states(test, "tso")[both] == 1


def test_the_document_names_every_instruction() -> None:
    text = (ROOT / "docs" / "LITMUS.md").read_text(encoding="utf-8")
    table = text.partition("## What is read")[2].partition("**Refused")[0]
    for name in NAMES:
        assert re.search(rf"\b{name}(cc)?\b", table), f"docs/LITMUS.md does not say {name}"
