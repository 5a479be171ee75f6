# SPDX-License-Identifier: MIT
"""Each patch in ``mutants/`` puts one fault into a lock, and the fault is found.

The format of a patch is told in mutants/README.md. The unmutated locks go through the same judge
and must come out clean, so a judge that always complains would be noticed as well.
"""

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import ROOT, make_clib

MUTANTS = ROOT / "tests" / "mutants"
PATCHES = sorted([*MUTANTS.glob("*.patch"), *MUTANTS.glob("weak/*.patch")])
KINDS = {"exclusion", "deadlock", "stranded", "fifo", "race", "freed-memory", "none-found"}
REQUIRED = ("lock", "fault", "reason", "expect", "client", "threads", "turns")
OPTIONAL = ("tsan", "setting")
EXECUTIONS = 100_000  # the fault must have been seen by then; most take a few dozen
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
    """A copy of clib/ with the patch applied; exact context is demanded."""
    shutil.copytree(ROOT / "clib", directory / "clib")
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


def link(program: str, objects: list[Path], build: Path, out: Path) -> Path:
    """Link against the archive without its locks: the registry's references do not pull them."""
    libs = run(["make", "-s", "-f", "clib/build.mk", f"BUILD={build}", "print-libs"], cwd=ROOT)
    command: list[object] = [*flags_of(build), *VARIANTS["native"], "-Itests/c", program, *objects]
    run([*command, build / "liblocklab.a", *shlex.split(libs), "-o", out], cwd=ROOT)
    return out


def program_of(mutant: Mutant) -> tuple[str, ...]:
    """(lock, client, threads, turns, setting or "") that show the fault."""
    names = ("lock", "client", "threads", "turns", "setting")
    return tuple(mutant.header.get(n, "") for n in names)


def judge_arguments(program: tuple[str, ...], kind: str) -> list[object]:
    """What judge.c is told."""
    *required, setting = program
    return [*required, EXECUTIONS, kind, *([setting] if setting else [])]


def judge(lock: Path, build: Path, out: Path, arguments: list[object]) -> dict[str, str]:
    """{kind of fault: what was seen} of one lock object of the virtual build."""
    clients = sorted((build / "virtual" / "clients").glob("*.o"))
    program = link("tests/mutants/judge.c", [lock, *clients], build, out)
    rows = [line.split("\t") for line in run([program, *arguments], cwd=ROOT).splitlines()]
    return {kind: f"execution {number}: {text}" for kind, number, _ms, text in rows}


@pytest.fixture(scope="module")
def clib() -> Path:
    return make_clib("native", "lib")


params = pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.relative_to(MUTANTS).with_suffix("").as_posix()) for p in PATCHES]
)


def test_there_are_mutants_of_every_kind_of_fault() -> None:
    found = {read(p).header["expect"] for p in PATCHES}
    assert found >= {"exclusion", "stranded", "race"}


@params
def test_a_mutant_says_what_it_is(path: Path) -> None:
    mutant = read(path)
    assert set(REQUIRED) <= set(mutant.header) <= {*REQUIRED, *OPTIONAL}
    assert mutant.header["expect"] in KINDS
    assert mutant.header.get("tsan", "race") == "race"
    assert re.fullmatch(r"\w+=\S+", mutant.header.get("setting", "name=value"))
    assert (mutant.header["expect"] == "none-found") == (path.parent.name == "weak")
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
    for flags in (VARIANTS["native"], VARIANTS["virtual"]):
        command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-fsyntax-only", "-Iclib", *flags]
        run([*command, mutant.source], cwd=tree)


@pytest.mark.check
@pytest.mark.timeout(700)  # the first one compiles clib
@params
def test_the_checker_finds_it(path: Path, clib: Path, tmp_path: Path) -> None:
    mutant = read(path)
    h = mutant.header
    lock = compile_lock(mutated_tree(mutant, tmp_path), mutant.source, clib, "virtual")
    found = judge(lock, clib, tmp_path / "judge", judge_arguments(program_of(mutant), h["expect"]))
    if h["expect"] == "none-found":
        assert not found
    else:
        assert h["expect"] in found, f"found only {found}"


def controls() -> list[object]:
    """The programs of all mutants, each once."""
    programs = sorted({program_of(read(p)) for p in PATCHES})
    return [pytest.param(s, id="-".join(filter(None, s)).replace("/", ".")) for s in programs]


@pytest.mark.check
@pytest.mark.timeout(700)
@pytest.mark.parametrize("program", controls())
def test_the_lock_itself_is_clean(program: tuple[str, ...], clib: Path, tmp_path: Path) -> None:
    lock = clib / "virtual" / "locks" / f"{program[0]}.o"
    assert judge(lock, clib, tmp_path / "judge", judge_arguments(program, "none-found")) == {}


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
    stress = link("tests/c/stress_locks.c", objects, build, tmp_path / "stress")
    done = subprocess.run(
        [stress, mutant.header["lock"]],
        env=os.environ | {"TSAN_OPTIONS": "halt_on_error=1:exitcode=1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1, done.stdout
    assert "ThreadSanitizer: data race" in done.stderr
