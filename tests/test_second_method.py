# SPDX-License-Identifier: MIT
"""The checker against brute force: little programs over the shim, and the checker with faults.

``c/brute_force.c`` compares the two on the locks (it runs with the other C programs; in full here),
``c/random_programs.c`` on programs that are given as text. Both methods share the machine that
performs operations; what is judged is which orders of them are explored.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from explorer_programs import programs
from support import ROOT, make_clib
from test_mutants import flags_of, mutated_tree, read, run

MUTANTS = sorted((ROOT / "tests" / "mutants" / "explorer").glob("*.patch"))
MOST = 20_000  # executions by brute force; of larger programs that part is compared
DEEP = settings().max_examples > 1000
EXAMPLES = 30_000 if DEEP else 2000
SHAPES = {2: 5, 3: 3, 4: 2} if DEEP else {2: 4, 3: 3}  # threads: operations of each, at most
# the first test compiles clib
pytestmark = [pytest.mark.check, pytest.mark.timeout(7000 if DEEP else 700)]
# what a difference looks like, by what a patch expects
DIFFERENCES = {
    "missing": r"reduction: (classes|states|faults|races): \d+ by brute force, \d+ found, some",
    "twice": r"reduction: \d+ executions of \d+ classes",
    "bound": r"bound: ",
    "report": r"reduction: what the checker reports is not what was seen",
}


class Judge:
    """A running ``random_programs``; asked one program after the other."""

    def __init__(self, path: Path) -> None:
        self.command = [path, str(MOST)]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, program: str) -> str:
        """The line it answers; a program that ends it is told by its exit code."""
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, text=True, bufsize=1, cwd=ROOT
            )
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(program + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        return line or f"ended with {self.stop()}"

    def stop(self) -> int | None:
        if self.process is None:
            return None
        with self.process as process:
            self.process = None
        return process.returncode


@pytest.fixture(scope="module")
def clib() -> Path:
    return make_clib("native", "ctests")


@pytest.fixture(scope="module")
def judge(clib: Path) -> Iterator[Judge]:
    judge = Judge(clib / "tests" / "random_programs")
    yield judge
    assert judge.stop() in (None, 0, 1)


@settings(max_examples=EXAMPLES)
@given(program=programs(SHAPES))
def test_random_program(judge: Judge, program: str) -> None:
    answer = judge.ask(program)
    assert answer.startswith("ok "), f"{program}\n{answer}"


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        # executions, classes, states, faults, races, aborted
        ("sc 0 | st 0 4 rlx 1; ld 8 4 rlx | st 8 4 rlx 1; ld 0 4 rlx", "ok 6 3 3 0 0 0 all"),
        ("tso 0 | st 0 4 rlx 1; ld 8 4 rlx | st 8 4 rlx 1; ld 0 4 rlx", "ok 24 4 4 0 0 0 all"),
        ("sc 0 | st 0 4 rlx 1 | ld 0 4 rlx; any 0 eq 0 4 0 0 rlx", "ok 3 3 3 1 0 0 all"),
        ("sc 0 | st 0 4 rlx 1; wr 0 1 | any 0 eq 0 4 0 1 acq; rd 0", "ok 1 1 1 0 1 0 all"),
        ("sc 0 | wr 0 1; st 0 4 rel 1 | any 0 eq 0 4 0 1 acq; rd 0", "ok 1 1 1 0 0 0 all"),
        ("sc 0 | in 0; out 0 | in 0; out 0", "ok 4 2 1 0 0 2 all"),
        ("sc 2 | resched; resched", "ok 3 3 3 0 0 0 all"),
    ],
)
def test_what_is_compared(judge: Judge, program: str, answer: str) -> None:
    """States, faults, races and aborts are there to be compared."""
    assert judge.ask(program) == answer


def test_a_program_that_cannot_be_read_is_no_agreement(clib: Path) -> None:
    judge = Judge(clib / "tests" / "random_programs")
    assert judge.ask("tso 0 | ld 2 4 rlx") == "ended with 2"


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_every_lock_in_full(clib: Path) -> None:
    """2 x 1, 2 x 2 and 3 x 1; up to half a million executions each by brute force."""
    out = run([clib / "tests" / "brute_force", 500_000], ROOT, timeout_s=7000)
    assert out.count("\tok\n") >= 300
    assert re.search(r", 0 differ\n$", out)


# --- a checker with a fault -----------------------------------------------------------------------


def test_there_are_mutants_of_every_kind() -> None:
    assert {read(path).header["expect"] for path in MUTANTS} == set(DIFFERENCES)
    assert len(MUTANTS) >= 8


@pytest.mark.parametrize("path", MUTANTS, ids=lambda path: path.stem)
def test_a_mutant_of_the_explorer_is_noticed(
    path: Path, judge: Judge, clib: Path, tmp_path: Path
) -> None:
    mutant = read(path)
    assert set(mutant.header) == {"fault", "reason", "program", "expect"}
    assert 1 <= mutant.changed <= 12
    assert all(t.startswith("clib/engine/check/") for t in mutant.targets)
    assert judge.ask(mutant.header["program"]).startswith("ok ")

    tree = mutated_tree(mutant, tmp_path)
    flags = [*flags_of(clib), "-w", "-DLL_BUILD=native", f"-I{ROOT / 'tests' / 'c'}"]
    libs = run(["make", "-s", "-f", "clib/build.mk", f"BUILD={clib}", "print-libs"], ROOT).split()
    # first come, first linked: what is in the mutated objects is not taken from the archive
    sources = [ROOT / "tests" / "c" / "random_programs.c", *mutant.targets]
    program = tmp_path / "random_programs"
    run(["gcc", *flags[1:], *sources, clib / "liblocklab.a", *libs, "-o", program], tree)
    faulty = Judge(program)
    answer = faulty.ask(mutant.header["program"])
    faulty.stop()
    assert re.match("differs: " + DIFFERENCES[mutant.header["expect"]], answer), answer
