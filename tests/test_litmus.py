# SPDX-License-Identifier: MIT
"""`locklab litmus` and `locklab.litmus`: what they print, read and decide."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import locklab
from locklab.cli import main
from locklab.litmus_operands import CONDITIONS
from locklab.litmus_verdict import LitmusVerdict
from support import ROOT

pytestmark = pytest.mark.check

TESTS = ROOT / "tests" / "litmus"
FILES = sorted(TESTS.glob("*.litmus"))


def run(code: str, init: str = "", condition: str = "exists (true)", **how: str) -> LitmusVerdict:
    """The verdict on a test made of rows of instructions."""
    memory, arch = how.get("memory", "tso"), how.get("arch", "X86")
    columns = code.strip().splitlines()[0].count("|") + 1
    head = " | ".join(f"P{i}" for i in range(columns))
    rows = "\n".join(row if row.endswith(";") else f"{row} ;" for row in code.strip().splitlines())
    text = f"{arch} t\n{{ {init} }}\n{head} ;\n{rows}\n{condition}\n"
    return locklab.litmus(text, memory=memory)  # type: ignore[arg-type]


# --- what is printed ----------------------------------------------------------------------------

SB = r"""Test SB Allowed
States 4
0:EAX=0; 1:EAX=0;
0:EAX=0; 1:EAX=1;
0:EAX=1; 1:EAX=0;
0:EAX=1; 1:EAX=1;
Ok
Witnesses
Positive: 1 Negative: 3
Condition exists (0:EAX=0 /\ 1:EAX=0)
Observation SB Sometimes 1 3

"""
MP_BRANCH = r"""Test MP+branch Forbidden
States 2
1:EAX=0; 1:EBX=5;
1:EAX=1; 1:EBX=1;
Ok
Witnesses
Positive: 2 Negative: 0
Condition ~exists (1:EAX=1 /\ 1:EBX=0)
Observation MP+branch Never 0 2

"""
MP_FORALL = r"""Test MP+forall Required
States 3
1:EAX=0; 1:EBX=0;
1:EAX=0; 1:EBX=42;
1:EAX=1; 1:EBX=42;
Ok
Witnesses
Positive: 3 Negative: 0
Condition forall (1:EAX=0 \/ 1:EBX=42)
Observation MP+forall Always 3 0

"""


@pytest.mark.parametrize(
    ("name", "wanted"), [("SB", SB), ("MP+branch", MP_BRANCH), ("MP+forall", MP_FORALL)]
)
def test_output_is_that_of_herd(name: str, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["litmus", str(TESTS / f"{name}.litmus")]) == 0
    assert capsys.readouterr().out == wanted


@pytest.mark.parametrize("memory", ["sc", "tso"])
def test_a_directory_gives_the_verdict_that_each_file_names(
    memory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["litmus", str(TESTS), "--memory", memory, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "locklab.litmus/1"
    assert [test["file"] for test in document["tests"]] == [str(file) for file in FILES]
    assert len(FILES) >= 20
    for file, test in zip(FILES, document["tests"], strict=True):
        assert f"{memory.upper()}={test['observation']}\n" in file.read_text(encoding="utf-8")
        assert test["decided"]
        assert test["memory"] == memory
        assert sum(state["executions"] for state in test["states"]) == (
            test["positive"] + test["negative"]
        )


def test_a_list_names_tests_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "inner").write_text(f"# none\n{TESTS / 'MP.litmus'}\n")
    (tmp_path / "all").write_text(f"@inner # first\n\n{TESTS / 'SB.litmus'}\n")
    assert main(["litmus", f"@{tmp_path / 'all'}"]) == 0
    observed = [line for line in capsys.readouterr().out.splitlines() if "Observation" in line]
    assert observed == ["Observation MP Never 0 3", "Observation SB Sometimes 1 3"]


def test_a_refused_test_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.litmus"
    bad.write_text("X86 bad\n{ }\nP0 ;\n SHL EAX,$1 ;\nexists (x=0)\n")
    assert main(["litmus", str(bad), str(TESTS / "SB.litmus")]) == 2
    captured = capsys.readouterr()
    assert captured.err.strip() == (
        f"locklab litmus: {bad}:4: 'SHL EAX,$1': instruction SHL is not supported"
    )
    assert captured.out == SB


# --- what is read -------------------------------------------------------------------------------


def test_att_syntax_has_the_target_last() -> None:
    found = locklab.litmus(
        "X86_64 spin\nVariant=telechat\n{ [out]=0;[x]=0;[y]=0; }\n(* | (* ; *) { *)\n"
        "P0 | P1 ;\n movl $2,(x) | mov (y),%eax ;\n movl $1,(y) | cmp $1,%eax ;\n"
        " ret | je L0 ;\n | L1: ;\n | mov %eax,(out) ;\n | ret ;\n"
        " | L0: ;\n | movl $1,(x) ;\n | jmp L1 ;\nexists ([x]=2 /\\ out=1)\n"
    )
    assert found.states == [({"[out]": 0, "[x]": 2}, 1), ({"[out]": 1, "[x]": 1}, 1)]
    assert (found.observation, found.positive, found.negative) == ("Never", 0, 2)


@pytest.mark.parametrize("operands", ["(x),%ecx", "%ecx,(x)"])
def test_memory_is_the_target_of_a_compare_exchange_in_either_order(operands: str) -> None:
    found = run(f"lock cmpxchgl {operands}", "0:ecx=3;", "forall (x=3)", arch="X86_64")
    assert found.ok


def test_without_a_condition_the_states_are_shown() -> None:
    found = run("MOV [x],$1 | MOV [x],$2", "", "locations [x]")
    assert [state for state, _ in found.states] == [{"[x]": 1}, {"[x]": 2}]
    assert (found.quantifier, found.condition, found.observation) == ("forall", "true", "Always")


def test_registers_and_locations_can_point_to_locations() -> None:
    found = run(
        "movq $-1,(%rdi) | movq (p),%rsi\nmfence | movq (%rsi),%rax\nmovb $7,y(%rip) | nop",
        "0:rdi=x; uint64_t x; int8_t y=-3; uint64_t *p=x; uint64_t 1:rax;",
        "locations [p; y;]\nexists (1:rsi=x /\\ 1:rax=0xffffffffffffffff)",
        arch="X86_64",
    )
    state = {"1:rax": 0, "1:rsi": "x", "[p]": "x", "[y]": 7}
    assert found.states == [(state, 1), (state | {"1:rax": 2**64 - 1}, 1)]
    assert found.observation == "Sometimes"


def test_a_location_has_the_width_of_its_accesses() -> None:
    found = run(
        "MOVB [x],$200\nMOVW [y],$-2\nMOVQ [z],$-3", "", "locations [x; y; z;] exists (true)"
    )
    assert found.states == [({"[x]": -56, "[y]": -2, "[z]": -3}, 1)]


def test_a_location_reached_through_a_register_has_the_width_of_such_accesses() -> None:
    found = run("MOV RAX,$-1\nMOV [RDI],RAX", "0:RDI=x;", "exists (x=0xffffffffffffffff)")
    assert found.states == [({"[x]": -1}, 1)]


def test_a_narrow_register_is_a_part_of_the_wide_one() -> None:
    found = run(
        "MOV RAX,$-1\nMOV AL,$0\nMOV RBX,$-1\nMOV EBX,EBX\nMOV RCX,$-1\nMOV CX,$1\n",
        "",
        "forall (0:RAX=-256 /\\ 0:EAX=-256 /\\ 0:RBX=0xffffffff /\\ 0:EBX=-1 /\\ 0:RCX=-65535)",
    )
    assert found.ok


def test_a_filter_drops_executions() -> None:
    found = run(
        "MOV [x],$1 | MOV EAX,[x]\nMOV [x],$2 | MOV EBX,[x]",
        "",
        "filter (1:EAX=1)\n~exists (1:EBX=0)",
    )
    assert [(list(state.values()), n) for state, n in found.states] == [([1], 1), ([2], 1)]
    assert (found.ok, found.observation, found.negative) == (True, "Never", 2)


@pytest.mark.parametrize(
    ("condition", "shown", "positive"),
    [
        ("0:EAX=0 /\\ 1:EAX=0 \\/ x=7", "(0:EAX=0 /\\ 1:EAX=0) \\/ [x]=7", 1),
        ("0:EAX=0 /\\ (1:EAX=0 \\/ 1:EAX=1)", "0:EAX=0 /\\ (1:EAX=0 \\/ 1:EAX=1)", 2),
        ("~(0:EAX=0 /\\ 1:EAX=0)", "not (0:EAX=0 /\\ 1:EAX=0)", 3),
        ("not 0:eax=0", "not (0:eax=0)", 2),
        ("~ ~ [ x ] = 1 /\\ true", "not (not ([x]=1)) /\\ true", 4),
        ("false", "false", 0),
    ],
)
def test_conditions(condition: str, shown: str, positive: int) -> None:
    found = run("MOV [x],$1 | MOV [y],$1\nMOV EAX,[y] | MOV EAX,[x]", "", f"exists {condition}")
    assert (found.condition, found.positive, found.executions) == (shown, positive, 4)


# --- instructions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "value"),
    [("ADD {},$5", 17), ("SUB {},$5", 7), ("AND {},$10", 8), ("OR {},$3", 15), ("XOR {},$5", 9)]
    + [("INC {}", 13), ("DEC {}", 11), ("NOT {}", -13), ("NEG {}", -12), ("MOV {},$5", 5)]
    + [("XADD {},EBX", 15), ("XCHG {},EBX", 3), ("CMP {},$5", 12), ("TEST {},$5", 12)],
)
def test_an_instruction_does_the_same_in_a_register_in_memory_and_locked(
    code: str, value: int
) -> None:
    init = "x=12; 0:ECX=12; 0:EBX=3;"
    assert run(code.format("ECX"), init, f"forall (0:ECX={value})").ok
    assert run(code.format("[x]"), init, f"forall (x={value})").ok
    if code.split()[0] not in ("NEG", "MOV", "CMP", "TEST"):
        assert run("LOCK " + code.format("[x]"), init, f"forall (x={value})").ok


@pytest.mark.parametrize("step", ["INC [x]", "ADD [x],$1", "XADD [x],EBX", "SUB [x],$-1"])
def test_only_lock_makes_it_one_step(step: str) -> None:
    init = "0:EBX=1; 1:EBX=1;"
    assert run(f"{step} | {step}", init, "exists (x=1)").observation == "Sometimes"
    assert run(f"LOCK {step} | LOCK {step}", init, "exists (x=1)").observation == "Never"


@pytest.mark.parametrize(
    ("between", "observation"),
    [(name, "Sometimes") for name in ("NOP", "LFENCE", "SFENCE", "PAUSE", "INC [z]", "MOV [z],$1")]
    + [("MFENCE", "Never"), ("XCHG [z],ECX", "Never"), ("XCHG ECX,[z]", "Never")]
    + [(f"LOCK {code}", "Never") for code in ("INC [z]", "OR [z],$0", "XADD [z],ECX")]
    + [("LOCK CMPXCHG [z],ECX", "Never"), ("XCHG EBX,ECX", "Sometimes")],
)
def test_what_stands_between_a_store_and_a_load(between: str, observation: str) -> None:
    def code(thread: int, one: str, other: str) -> list[str]:
        return [f"MOV [{one}],$1", between.replace("z", f"z{thread}"), f"MOV EDX,[{other}]"]

    rows = zip(code(0, "x", "y"), code(1, "y", "x"), strict=True)
    found = run("\n".join(" | ".join(row) for row in rows), "", "exists (0:EDX=0 /\\ 1:EDX=0)")
    assert found.observation == observation


@pytest.mark.parametrize("expected", [0, 7])
def test_a_compare_exchange_writes_only_what_it_expected(expected: int) -> None:
    found = run(
        "LOCK CMPXCHG [x],EBX\nCMOVE ECX,EBX",
        f"0:EAX={expected}; 0:EBX=9; x=7;",
        "locations [x; 0:EAX; 0:ECX;] exists (true)",
    )
    won = expected == 7
    state = {"0:EAX": 7, "0:ECX": 9 if won else 0, "[x]": 9 if won else 7}
    assert found.states == [(state, 1)]


def truth(code: int, a: int, b: int, width: int) -> bool:
    """What a condition means after CMP a,b, said without flags where that can be."""
    half = 1 << (8 * width - 1)
    sa, sb = (v - 2 * half if v >= half else v for v in (a, b))
    difference = (a - b) % (2 * half)
    base = [
        not -half <= sa - sb < half,
        a < b,
        a == b,
        a <= b,
        difference >= half,
        False,
        sa < sb,
        sa <= sb,
    ][code // 2]
    return base != bool(code % 2)


NUMBERS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.sampled_from([0, 1, 127, 128, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]),
)


@given(NUMBERS, NUMBERS, st.sampled_from([(1, "B"), (2, "W"), (4, "L"), (8, "Q")]))
def test_conditions_after_a_comparison(a: int, b: int, width: tuple[int, str]) -> None:
    size, letter = width
    a, b = a % (1 << 8 * size), b % (1 << 8 * size)
    rows = [f"MOV{letter} [x],${a}", f"CMP{letter} [x],${b}"]
    for i, name in enumerate(CONDITIONS):
        rows += [f"MOV [c{i}],$1", f"J{name} L{i}", f"MOV [c{i}],$0", f"L{i}: NOP"]
    names = "".join(f"c{i};" for i in range(len(CONDITIONS)))
    found = run("\n".join(rows), "", f"locations [{names}] exists (true)", memory="sc")
    (state, _), *rest = found.states
    assert not rest
    got = {name: state[f"[c{i}]"] for i, name in enumerate(CONDITIONS)}
    assert got == {name: truth(code, a, b, size) for name, code in CONDITIONS.items()}


# --- loops and bounds ---------------------------------------------------------------------------

LOCK = "L: MOV EAX,$1 | L: MOV EAX,$1\nXCHG [l],EAX | XCHG [l],EAX\nCMP EAX,$0 | CMP EAX,$0\n"
LOCK += "JNE L | JNE L\nINC [x] | INC [x]\nMOV [l],$0 | MOV [l],$0"


def test_idle_rounds_of_a_waiting_loop_are_left_out() -> None:
    wait = "MOV [x],$1 | L: MOV EAX,[y]\nMOV [y],$1 | CMP EAX,$0\n | JE L\n | MOV EBX,[x]"
    found = run(wait, "", "forall (1:EBX=1)")
    assert (found.ok, found.complete, found.executions, found.idle) == (True, True, 2, 1)
    found = run(LOCK, "", "forall (x=2)")
    assert (found.ok, found.complete, found.executions) == (True, True, 4)


def test_a_loop_that_nobody_ends_has_no_execution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.litmus"
    file.write_text("X86 t\n{ }\nP0 ;\nL: MOV EAX,[x] ;\nCMP EAX,$1 ;\nJNE L ;\nexists (x=0)\n")
    for quantifier in ("exists", "~exists", "forall"):
        file.write_text(file.read_text().replace("\nexists", f"\n{quantifier}"))
        assert main(["litmus", str(file)]) == 3
        captured = capsys.readouterr()
        assert "no execution ends" in captured.err
        assert "States 0\nUndecided\n" in captured.out
        file.write_text(file.read_text().replace(f"\n{quantifier}", "\nexists"))


def test_one_witness_decides_though_there_are_more_executions(tmp_path: Path) -> None:
    text = "X86 t\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV EAX,[x] ;\n%s (x=1)\n"
    verdicts = {q: locklab.litmus(text % q, budget=1) for q in ("exists", "~exists", "forall")}
    assert [verdicts[q].ok for q in verdicts] == [True, False, None]
    assert not any(v.complete for v in verdicts.values())


def test_a_condition_nests_so_deep_and_no_deeper() -> None:
    text = "X86 t\n{ }\n P0 ;\n MOV [x],$1 ;\nexists %s x=1 %s\n"
    assert locklab.litmus(text % ("(" * 50, ")" * 50)).ok
    with pytest.raises(locklab.ConfigError, match="nests deeper than 50"):
        locklab.litmus(text % ("(" * 5000, ")" * 5000))


def test_what_a_bound_leaves_open_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.litmus"
    file.write_text("X86 t\n{ }\nP0 | P1 ;\nL: INC [x] | MOV EAX,[x] ;\nJMP L | ;\nexists (x=0)\n")
    assert main(["litmus", str(file), "--turns", "2"]) == 3
    captured = capsys.readouterr()
    assert "undecided" in captured.err
    assert "(see --turns)" in captured.err
    assert "Observation t Undecided 0 0\n" in captured.out
    found = locklab.litmus(file, turns=2).to_dict()
    assert (found["observation"], found["ok"], found["decided"]) == (None, None, False)
    assert "more than 2 times" in found["reason"]


def test_a_witness_and_a_counterexample_decide_in_spite_of_a_bound() -> None:
    code = "INC [x] | INC [x] | INC [x]\nINC [x] | INC [x] | INC [x]"
    whole = run(code, "", "exists (x=6)")
    found = locklab.litmus(
        f"X86 t\n{{ }}\nP0|P1|P2;\n{code.replace(chr(10), ';' + chr(10))};\nexists (x=6)\n",
        budget=whole.executions - 1,
    )
    assert whole.complete
    assert (found.complete, found.decided, found.observation) == (False, True, "Sometimes")
    assert found.executions == whole.executions - 1
    assert "were not all" in found.reason


LONG = f"X86 t\n{{ }}\nP0|P1|P2|P3;\n{'INC [x]|INC [x]|INC [x]|INC [x];' * 4}\nexists (x=16)\n"


def test_the_time_is_bounded() -> None:
    found = locklab.litmus(LONG, seconds=0.2)
    assert not found.complete
    assert found.seconds < 60


class OurAlarmError(Exception):
    """What the handler of a signal raises."""


def test_a_signal_ends_a_test() -> None:
    def handler(number: int, frame: object) -> None:
        raise OurAlarmError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(OurAlarmError):
            locklab.litmus(LONG, seconds=600)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads_take_turns() -> None:
    path = TESTS / "SB4.litmus"
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: locklab.litmus(path), range(40)))
    assert {(verdict.positive, verdict.negative) for verdict in found} == {(1, 15)}


def test_eight_threads_run() -> None:
    code = " | ".join(["MOV [x],$1"] * 8)
    assert run(code, "", "forall (x=1)").executions == 40320
