# SPDX-License-Identifier: MIT
"""Hypothesis strategies for the little programs that ``c/random_programs.c`` reads."""

from hypothesis import strategies as st

REGIONS = (0, 0, 8)  # of 8 bytes each; most operations meet in the first
VALUES = ("0", "1", "1", "2", "0x101", "0x10001")
HOWS = ("none", "none", "resched", "oncpu", "cancel", "yield")


@st.composite
def places(draw: st.DrawFn) -> str:
    """Offset and width: mostly whole words of 4 bytes, else their halves and bytes, or 8 bytes."""
    width = draw(st.sampled_from((4, 4, 4, 2, 1, 8)))
    inside = draw(st.integers(0, 8 // width - 1)) if width < 4 else 0
    return f"{draw(st.sampled_from(REGIONS)) + inside * width} {width}"


values = st.sampled_from(VALUES)


def form(text: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(text.format, **parts)


def orders(*names: str) -> st.SearchStrategy[str]:
    return st.sampled_from(names)


terms = form(
    "{test} {p} {m} {v} {o}",
    test=st.sampled_from(("eq", "eq", "ne", "ge", "meq", "mne")),
    p=places(),
    m=st.sampled_from(("1", "0xff", "0x101")),
    v=values,
    o=orders("rlx", "acq"),
)
waits = st.one_of(
    form("any 0 {t}", t=terms),
    form("any 0 {t} {u}", t=terms, u=terms),
    form(
        "any {g} {t}",
        g=st.sampled_from(("1", "4", "5", "26")),
        t=st.lists(terms, min_size=1, max_size=3).map(" ".join),
    ),
    form("tas {p} 1 {h}", p=places(), h=st.sampled_from(HOWS)),
    form("ttas {p} 1 {h}", p=places(), h=st.sampled_from(HOWS)),
    st.sampled_from(("park 0", "park 0", "park 1")),
)
accesses = st.one_of(
    form("ld {p} {o}", p=places(), o=orders("rlx", "acq")),
    form("st {p} {o} {v}", p=places(), o=orders("rlx", "rel"), v=values),
    form("st {p} {o} {v}", p=places(), o=orders("rlx", "rel"), v=values),
    form(
        "{op} {p} {o} {v}",
        op=st.sampled_from(("xchg", "add", "sub", "or", "and")),
        p=places(),
        o=orders("rlx", "acq", "rel", "ar"),
        v=values,
    ),
    form("cas {p} {o} {e} {v}", p=places(), o=orders("rlx", "acq", "rel"), e=values, v=values),
)
others = st.one_of(
    st.sampled_from(("fence acq", "fence rel", "fence full", "fence full", "delay")),
    st.sampled_from(("resched", "oncpu", "cancel", "if 0", "if 1")),
    st.sampled_from(("unpark 0", "unpark 1", "rd 0", "wr 0 1", "wr 0 2", "rd 1", "wr 1 1")),
)
# What excludes stands in a pair, so that not every program ends by an exclusion fault.
sections = st.sampled_from(("in 1; out 1", "in 1; out 1", "in 0; out 0"))


def operations(sectioned: bool) -> st.SearchStrategy[str]:
    usual = st.one_of(accesses, accesses, accesses, waits, others)
    return st.one_of(usual, usual, usual, sections) if sectioned else usual


@st.composite
def programs(draw: st.DrawFn, most: dict[int, int]) -> str:
    """A program of 2 or 3 threads; `most`: threads -> operations of each."""
    n = draw(st.sampled_from(sorted(most)))
    sectioned = draw(st.integers(0, 5)) == 0
    ops = st.lists(operations(sectioned), min_size=1, max_size=most[n])
    threads = [" | " + "; ".join(draw(ops)) for _ in range(n)]
    memory = draw(st.sampled_from(("tso", "sc")))
    return f"{memory} {draw(st.integers(0, 2))}{''.join(threads)}"
