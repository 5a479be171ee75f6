# SPDX-License-Identifier: MIT
"""What is not a litmus test for x86, or not one that we run: an error that says where and what."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import locklab
from locklab.cli import main
from locklab.errors import ConfigError, LocklabError, Unsupported
from locklab.litmus_text import parse
from support import ROOT

pytestmark = pytest.mark.check

TEXTS = [
    f.read_text(encoding="utf-8") for f in sorted((ROOT / "tests" / "litmus").glob("*.litmus"))
]


def text(code: str, init: str = "", condition: str = "exists (x=0)", arch: str = "X86") -> str:
    return f"{arch} t\n{{ {init} }}\nP0 ;\n{code} ;\n{condition}\n"


# Each is refused by name: x86 or herd has it, we do not.
UNSUPPORTED = [
    ("SHL EAX,$1", "instruction SHL"),
    ("SETE AL", "instruction SETE"),
    ("JP L", "instruction JP"),
    ("MOVNTI [x],EAX", "instruction MOVNTI"),
    ("MOVSD XMM0,[x]", "instruction MOVSD"),
    ("LOCK BTS [x],$1", "instruction BTS"),
    ("CLFLUSH [x]", "instruction CLFLUSH"),
    ("MOV EAX,XMM0", "register XMM0"),
    ("MOV AH,$1", "register AH"),
    ("MOV EAX,[x+4]", "'[x+4]'"),
    ("MOV EAX,[EBX+4*ECX]", "'[EBX+4*ECX]'"),
    ("CMPXCHG [x],EBX", "without LOCK"),
    ("CMPXCHG ECX,EBX", "of a register"),
    ("LOCK NEG [x]", "LOCK cannot stand before NEG"),
    ("MOV EAX,BX", "different widths"),
    ("MOVL [x],RAX", "different widths"),
]
# (code, init, condition, what the sentence names)
WRONG = [
    ("LOCK MOV [x],$1", "", "", "LOCK cannot stand before MOV"),
    ("LOCK INC EAX", "", "", "LOCK cannot stand before INC"),
    ("LOCK CMP [x],EAX", "", "", "LOCK cannot stand before CMP"),
    ("LOCK MFENCE", "", "", "LOCK cannot stand before MFENCE"),
    ("LOCK", "", "", "'LOCK'"),
    ("MOV [x],[y]", "", "", "both of its operands"),
    ("MOV EAX", "", "", "takes 2 operands, not 1"),
    ("MFENCE EAX", "", "", "takes 0 operands, not 1"),
    ("MOV $1,EAX", "", "", "target of 'MOV $1,EAX' is a constant"),
    ("MOV [AX],$1", "", "", "too narrow for an address"),
    ("MOV [x],$4294967296", "", "", "4294967296 does not fit in 32 bits"),
    ("MOV [x],$0x4c4c0040", "", "", "1280049216 is taken"),
    ("MOV [x],$-2147483649", "", "", "does not fit in 32 bits"),
    ("JMP L1", "", "", "label L1 does not stand in this thread"),
    ("L: NOP ; L: NOP", "", "", "label L stands twice"),
    ("NOP | NOP", "", "", "2 columns, 1 wanted"),
    ("NOP", "1:EAX=1;", "", "thread 1"),
    ("NOP", "x=0; x=1;", "", "x is set twice"),
    ("NOP", "0:EAX=0; 0:RAX=1;", "", "set twice"),
    ("NOP", "0:EOX=1;", "", "EOX is not a register"),
    ("NOP", "x=1.5;", "", "'1.5'"),
    ("NOP", "EAX=1;", "", "EAX is a register"),
    ("NOP", "x=2147483648000;", "", "does not fit in 32 bits"),
    ("NOP", "x 0;", "", "'x 0'"),
    ("NOP", "", "exists (EAX=0)", "EAX is a register"),
    ("NOP", "", "exists (1:EAX=0)", "there is no thread 1"),
    ("NOP", "", "exists (0:FOO=0)", "FOO is not a register"),
    ("NOP", "", "exists (x=4294967296)", "does not fit in 32 bits"),
    ("NOP", "", "exists (x=y)", "y is no location"),
    ("NOP", "", "exists (x=0", "not complete"),
    ("NOP", "", "exists (x=0))", "')' is not expected"),
    ("NOP", "", "exists (x>0)", "only = can follow x"),
    ("NOP", "", "exists x=0 y=0", "'y' is not expected"),
    ("NOP", "", "exists", "not complete"),
    ("NOP", "", "exists (x=0 => y=0)", "missing in the condition"),
    ("NOP", "", "locations x exists (x=0)", "[ ... ]"),
    ("NOP", "", "sometimes (x=0)", "does not end in ;"),
]
WHOLE = [
    ("", "`X86 NAME`"),
    ("X86\n{}", "`X86 NAME`"),
    ("X86 t\nP0 ;\n", "before the {"),
    ("X86 t\n{ x=0;\n", "init block is not closed"),
    ("X86 t\n{ }\nP1 ;\n NOP ;\nexists (x=0)\n", "`P0 | P1 ;`"),
    ("X86 t\n{ }\nP0 ;\n NOP ;\n", "the condition is missing"),
    ("X86 t\n{ }\n(* P0 ;\n NOP ;\n", "comment is not closed"),
]


@pytest.mark.parametrize(("code", "named"), UNSUPPORTED)
def test_an_unsupported_instruction_is_named(code: str, named: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(named)) as caught:
        parse(text(code), "some.litmus")
    assert str(caught.value).startswith("some.litmus:4: ")
    assert code in str(caught.value)


@pytest.mark.parametrize(
    "other", ["AArch64 MP", "C SB", "PPC SB", "RISCV MP", "X86_32 SB"], ids=lambda s: s.split()[0]
)
def test_another_architecture_is_named(other: str) -> None:
    with pytest.raises(Unsupported, match=f"architecture {other.split()[0]}"):
        parse(f"{other}\n{{ }}\nP0 ;\n NOP ;\nexists (x=0)\n")


@pytest.mark.parametrize(("code", "init", "condition", "named"), WRONG)
def test_a_mistake_is_named(code: str, init: str, condition: str, named: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(named)) as caught:
        parse(text(code, init, condition or "exists (x=0)"), "some.litmus")
    assert re.match(r"some\.litmus:\d+: ", str(caught.value))


@pytest.mark.parametrize(("whole", "named"), WHOLE)
def test_what_is_no_test_says_so(whole: str, named: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(named)):
        parse(whole)


@pytest.mark.parametrize("code", ["MOV [x],$1", "mov EAX,$1", "movl $1,EAX", "movl 1,%eax"])
def test_intel_order_is_not_taken_for_att(code: str) -> None:
    with pytest.raises(LocklabError):
        parse(text(code, arch="X86_64"))


@pytest.mark.parametrize("code", ["movl $1,(x)", "movl $1,%eax", "mov %eax,[x]"])
def test_att_order_is_not_taken_for_intel(code: str) -> None:
    with pytest.raises(LocklabError):
        parse(text(code))


def test_mixed_sizes_are_refused() -> None:
    with pytest.raises(Unsupported, match="mixed sizes"):
        parse(text("MOV [x],RAX", "int x=0;"))
    with pytest.raises(Unsupported, match="mixed sizes"):
        parse(text("MOV [x],RAX ;\n MOV [x],EAX"))
    with pytest.raises(ConfigError, match="line 4: thread 0 accesses 8 bytes of a location that"):
        locklab.litmus(text("MOV RAX,[EDI]", "0:EDI=x; int x;"))


def test_an_address_that_is_no_location_is_an_error() -> None:
    with pytest.raises(ConfigError, match="line 5: thread 0 uses address 0x0, which is no"):
        locklab.litmus(text("NOP ;\n MOV EAX,[EDI]"))
    with pytest.raises(ConfigError, match="line 5: thread 0 uses address"):
        locklab.litmus(text("ADD EDI,$4 ;\n MOV EAX,[EDI]", "0:EDI=x;"))


def test_more_stores_than_a_buffer_holds_are_refused() -> None:
    stores = " ;\n".join(["MOV [x],$1"] * 33)
    with pytest.raises(ConfigError, match="line 36: more than 32 stores"):
        locklab.litmus(text(stores))
    fenced = stores.replace("MOV [x],$1 ;\n", "MOV [x],$1 ;\nMFENCE ;\n", 1)
    assert locklab.litmus(text(fenced, "", "forall (x=1)")).ok


def test_too_many_threads_are_refused() -> None:
    heads, cells = (" | ".join(f"{what}{i}" for i in range(9)) for what in ("P", "INC E"))
    with pytest.raises(Unsupported, match="9 threads, 1 to 8"):
        parse(f"X86 t\n{{ }}\n{heads} ;\n{cells} ;\nexists (x=0)\n")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["no-such.litmus"], ["no-such.litmus", "No such file"]),
        (["@no-such-list"], ["no-such-list", "No such file"]),
        ([], ["FILE is missing"]),
        (["x", "--memory", "pso"], ["--memory", "'pso'", "tso, sc"]),
        (["x", "--turns", "many"], ["--turns", "'many'", "0 to 1000"]),
        (["x", "--seconds", "soon"], ["--seconds", "'soon'"]),
        (["x", "--memmory", "sc"], ["--memmory", "did you mean --memory"]),
    ],
)
def test_a_wrong_command_line(
    words: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["litmus", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert all(part in captured.err for part in parts)


def test_ranges_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "tests" / "litmus" / "SB.litmus")
    assert main(["litmus", file, "--turns", "1001"]) == 2
    assert "--turns: turns 1001 asked, 0 to 1000 allowed" in capsys.readouterr().err
    assert main(["litmus", file, "--seconds", "0"]) == 2
    assert "--seconds: seconds 0 asked, more than 0 allowed" in capsys.readouterr().err


def test_a_file_that_is_no_text_and_a_list_that_names_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "binary.litmus").write_bytes(b"X86 \xff\xfe\n")
    assert main(["litmus", str(tmp_path)]) == 2
    assert "it is not a text file" in capsys.readouterr().err
    (tmp_path / "loop").write_text("@loop\n")
    assert main(["litmus", f"@{tmp_path / 'loop'}"]) == 2
    assert "lists name lists" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["litmus", str(tmp_path / "empty")]) == 2
    assert "no *.litmus" in capsys.readouterr().err


@given(st.integers(0, 2**32))
def test_a_damaged_test_is_understood_or_refused(seed: int) -> None:
    dice = random.Random(seed)
    damaged = dice.choice(TEXTS)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(damaged))
        cut = damaged[at : at + dice.randint(0, 6)]
        paste = dice.choice([cut, "", dice.choice("{}[]();|=:$%~/\\*,\n 09axL\0é"), "LOCK ", "-1"])
        damaged = damaged[:at] + paste + damaged[at + len(cut) * dice.randint(0, 1) :]
    try:
        locklab.litmus(damaged + "\n", seconds=0.2)
    except LocklabError as error:
        assert str(error)
