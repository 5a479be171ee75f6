# SPDX-License-Identifier: MIT
"""Each patch in ``mutants/`` puts one fault into a lock, and the fault is found.

The format of a patch is told in mutants/README.md. The unmutated locks go through the same judge
and must come out clean, so a judge that always complains would be noticed as well.
"""

import functools
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import ROOT, make_clib

MUTANTS = ROOT / "tests" / "mutants"
PATCHES = sorted([*MUTANTS.glob("*.patch"), *MUTANTS.glob("weak/*.patch")])
KINDS = {"exclusion", "deadlock", "stranded", "fifo", "race", "freed-memory", "life-time"}
CLASSES = {  # and how many there must be at least
    "missing-order": 8,
    "lost-wake-up": 8,
    "late-init": 6,
    "life-time": 4,
    "exclusion": 1,
    "other": 1,
}
REQUIRED = ("lock", "class", "fault", "reason", "expect", "client", "threads", "turns")
OPTIONAL = ("tsan", "setting", "orders")
EXECUTIONS = 100_000  # the fault must have been seen by then; most take a few dozen
MOST_MS = 50.0  # of CPU, until the fault is seen
VARIANTS = {
    "native": ["-DLL_BUILD=native"],
    "bare": ["-DLL_BUILD=bare", "-DENG_BARE"],
    "probed": ["-DLL_BUILD=probed", "-DENG_PROBED"],
    "virtual": ["-DLL_BUILD=virtual", "-DENG_VIRTUAL"],
}


@dataclass(frozen=True)
class Mutant:
    """One patch: its header and its files."""

    path: Path
    header: dict[str, str]
    targets: list[str]
    changed: int  # lines added and removed

    @property
    def source(self) -> str:
        return f"clib/locks/{self.header['lock']}.c"

    @property
    def weak(self) -> bool:
        """Can it be seen only where the order is weaker than TSO?"""
        return self.path.parent.name == "weak"


@dataclass(frozen=True)
class Seen:
    """One kind of fault that the judge has seen."""

    execution: int
    ms: float  # of CPU until then
    text: str


def read(path: Path) -> Mutant:
    text = path.read_text(encoding="utf-8")
    head, _, diff = text.partition("\n--- ")
    lines = head.splitlines()
    assert lines[0] == "# SPDX-License-Identifier: MIT"
    pairs = [re.fullmatch(r"# (\w+): (\S.*)", line) for line in lines[1:]]
    assert all(pairs), f"{path.name}: a header line is not '# name: value'"
    header = {m[1]: m[2] for m in pairs if m}
    assert len(header) == len(pairs), f"{path.name}: a header line stands twice"
    return Mutant(
        path,
        header,
        targets=re.findall(r"^\+\+\+ b/(\S+)", "--- " + diff, re.MULTILINE),
        changed=len(re.findall(r"^[-+](?![-+]{2} )", diff, re.MULTILINE)),
    )


def run(command: list[object], cwd: Path, timeout_s: float = 100) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{done.stderr[-4000:]}"
    return done.stdout


def mutated_tree(mutant: Mutant, directory: Path) -> Path:
    """clib/ with the patch applied, linked where nothing changes; exact context is demanded."""
    changing = {Path(t).parts[1] for t in mutant.targets}
    (directory / "clib").mkdir()
    for part in (ROOT / "clib").iterdir():
        there = directory / "clib" / part.name
        if part.name in changing:
            shutil.copytree(part, there)
        else:
            there.symlink_to(part)
    env = os.environ | {"GIT_CEILING_DIRECTORIES": str(directory.parent)}
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", mutant.path],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{mutant.path.name} does not apply:\n{done.stderr}"
    return directory


def flags_of(build: Path) -> list[str]:
    """The compiler and the flags with which clib was built there, warnings forgiven."""
    words = shlex.split((build / "flags").read_text(encoding="utf-8"))
    return [w for w in words if w != "-Werror"]


def compile_lock(tree: Path, source: str, build: Path, variant: str) -> Path:
    obj = tree / f"{variant}.o"
    run([*flags_of(build), *VARIANTS[variant], "-c", source, "-o", obj], cwd=tree)
    return obj


@functools.cache
def libs_of(build: Path) -> list[str]:
    """What a program that contains clib is linked with."""
    command = ["make", "-s", "-f", "clib/build.mk", f"BUILD={build}", "print-libs"]
    return shlex.split(run(command, cwd=ROOT))


def compile_program(source: str, build: Path, out: Path) -> Path:
    flags = [*flags_of(build), *VARIANTS["native"], "-Itests/c"]
    run([*flags, "-c", source, "-o", out], cwd=ROOT)
    return out


def link(objects: list[Path], build: Path, out: Path) -> Path:
    """Link against the archive without its locks: the registry's references do not pull them."""
    command = [*flags_of(build), *objects, build / "liblocklab.a", *libs_of(build), "-o", out]
    run(command, cwd=ROOT)
    return out


def link_judge(judge: Path, locks: list[Path], build: Path, out: Path) -> Path:
    """The judge of these lock objects of the virtual build."""
    clients = sorted((build / "virtual" / "clients").glob("*.o"))
    return link([judge, *locks, *clients], build, out)


def program_of(mutant: Mutant) -> tuple[str, ...]:
    """(lock, client, threads, turns, setting or "", orders or "") that show the fault."""
    names = ("lock", "client", "threads", "turns", "setting", "orders")
    return tuple(mutant.header.get(n, "") for n in names)


def judge_arguments(program: tuple[str, ...], kind: str) -> list[object]:
    """What judge.c is told."""
    *required, setting, orders = program
    return [*required, EXECUTIONS, kind, setting or "-", *([orders] if orders else [])]


def run_judge(judge: Path, arguments: list[object]) -> dict[str, Seen]:
    """What it finds, by kind of fault."""
    rows = [line.split("\t") for line in run([judge, *arguments], cwd=ROOT).splitlines()]
    return {kind: Seen(int(number), float(ms), text) for kind, number, ms, text in rows}


def judge_mutant(mutant: Mutant, judge: Path, build: Path, directory: Path) -> dict[str, Seen]:
    """Build it in `directory` and judge it; `judge` is the object file."""
    lock = compile_lock(mutated_tree(mutant, directory), mutant.source, build, "virtual")
    program = link_judge(judge, [lock], build, directory / "judge")
    return run_judge(program, judge_arguments(program_of(mutant), mutant.header["expect"]))


@pytest.fixture(scope="module")
def clib() -> Path:
    return make_clib("native", "lib")


@pytest.fixture(scope="module")
def judge(clib: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The object file of judge.c."""
    out = tmp_path_factory.mktemp("judge") / "judge.o"
    return compile_program("tests/mutants/judge.c", clib, out)


@pytest.fixture(scope="module")
def judge_of_locks(judge: Path, clib: Path) -> Path:
    """The judge of the locks as they are."""
    locks = sorted((clib / "virtual" / "locks").glob("*/*.o"))
    return link_judge(judge, locks, clib, judge.with_name("judge"))


params = pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.relative_to(MUTANTS).with_suffix("").as_posix()) for p in PATCHES]
)


def test_there_are_mutants_of_every_class_and_lock() -> None:
    mutants = [read(p) for p in PATCHES]
    found = Counter(m.header["class"] for m in mutants if not m.weak)
    assert {name: found[name] for name, least in CLASSES.items() if found[name] < least} == {}
    assert found.total() >= 40
    spin = {p.stem for p in (ROOT / "clib" / "locks" / "spin").glob("*.c")} - {"none"}
    assert spin <= {m.header["lock"].removeprefix("spin/") for m in mutants}


@params
def test_a_mutant_says_what_it_is(path: Path) -> None:
    mutant = read(path)
    assert set(REQUIRED) <= set(mutant.header) <= {*REQUIRED, *OPTIONAL}
    assert mutant.header["class"] in CLASSES
    assert mutant.header["expect"] in ({"none-found"} if mutant.weak else KINDS)
    assert mutant.header.get("tsan", "race") == "race"
    assert re.fullmatch(r"\w+=\S+", mutant.header.get("setting", "name=value"))
    assert ("orders" in mutant.header) == (mutant.header["client"] == "ww")
    assert path.stem.startswith(mutant.header["lock"].partition("/")[2])
    assert (ROOT / mutant.source).is_file()
    assert (ROOT / f"clib/clients/{mutant.header['client']}.c").is_file()
    assert 2 <= int(mutant.header["threads"]) <= 4
    assert 1 <= int(mutant.header["turns"]) <= 3
    assert mutant.targets
    assert all(t.startswith("clib/locks/") for t in mutant.targets)
    assert 1 <= mutant.changed <= 12, "a mutant is a few lines"


@params
def test_a_mutant_applies_and_compiles(path: Path, tmp_path: Path) -> None:
    mutant = read(path)
    tree = mutated_tree(mutant, tmp_path)
    # for the virtual build: test_the_checker_finds_it
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-fsyntax-only", "-Iclib"]
    run([*command, *VARIANTS["native"], mutant.source], cwd=tree)


@pytest.mark.check
@pytest.mark.timeout(700)  # the first one compiles clib
@params
def test_the_checker_finds_it(path: Path, judge: Path, clib: Path, tmp_path: Path) -> None:
    mutant = read(path)
    found = judge_mutant(mutant, judge, clib, tmp_path)
    if mutant.weak:
        assert not found
        return
    assert mutant.header["expect"] in found
    assert found[mutant.header["expect"]].ms <= MOST_MS


@pytest.mark.check
@pytest.mark.timeout(700)
def test_without_its_fence_publication_fails_under_tso_alone(
    judge: Path, clib: Path, tmp_path: Path
) -> None:
    mutant = read(MUTANTS / "wait-die-publish-unfenced.patch")
    lock = compile_lock(mutated_tree(mutant, tmp_path), mutant.source, clib, "virtual")
    program = link_judge(judge, [lock], clib, tmp_path / "judge")
    arguments = judge_arguments(program_of(mutant), "deadlock")
    assert "deadlock" in run_judge(program, arguments)
    assert run_judge(program, [*arguments, "sc"]) == {}


def controls() -> list[object]:
    """The programs of all mutants, each once."""
    programs = sorted({program_of(read(p)) for p in PATCHES})
    return [pytest.param(s, id="-".join(filter(None, s)).replace("/", ".")) for s in programs]


@pytest.mark.check
@pytest.mark.timeout(700)
@pytest.mark.parametrize("program", controls())
def test_the_lock_itself_is_clean(program: tuple[str, ...], judge_of_locks: Path) -> None:
    assert run_judge(judge_of_locks, judge_arguments(program, "none-found")) == {}


@pytest.mark.native
@pytest.mark.sanitizer
@pytest.mark.timeout(700)
@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem) for p in PATCHES if "tsan" in read(p).header]
)
def test_tsan_sees_the_missing_order(path: Path, tmp_path: Path) -> None:
    mutant = read(path)
    build = make_clib("tsan", "SAN=thread", "lib")
    tree = mutated_tree(mutant, tmp_path)
    objects = [compile_lock(tree, mutant.source, build, v) for v in ("native", "bare", "probed")]
    program = compile_program("tests/c/stress_locks.c", build, tmp_path / "stress.o")
    stress = link([program, *objects], build, tmp_path / "stress")
    done = subprocess.run(
        [stress, mutant.header["lock"]],
        env=os.environ | {"TSAN_OPTIONS": "halt_on_error=1:exitcode=1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1, done.stdout
    assert "ThreadSanitizer: data race" in done.stderr
