# SPDX-License-Identifier: MIT
"""Follows docs/ADDING_A_LOCK.md in a copy of the tree: its file, its line, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import house_rules as rules
from support import ROOT, clean_environment, make_clib, tracked_files

DOC = (ROOT / "docs" / "ADDING_A_LOCK.md").read_text(encoding="utf-8")
DEF = "clib/locks/locks.def"


def block(language: str) -> str:
    """The one code block of the document in that language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", DOC, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{len(found)} blocks of {language}"
    return str(found[0])


def target() -> str:
    """Where the document says the file goes."""
    found = re.search(r"Save this as\s+`(clib/locks/[^`]+\.c)`", DOC)
    assert found, "the document does not say where to save the file"
    return found[1]


def with_line(text: str, line: str) -> str:
    """locks.def with `line` at its place in the alphabet."""
    lines = text.splitlines(keepends=True)
    entries = [k for k in lines if k.startswith("LL_LOCK_ENTRY(")]
    head = [k for k in lines if not k.startswith("LL_LOCK_ENTRY(")]
    assert line not in entries, "the throw-away lock is in the tree"
    return "".join(head + sorted([*entries, line]))


def followed(directory: Path, *tops: str) -> Path:
    """A copy of the project's files under `tops` (times kept), with the document's steps done."""
    for name in tracked_files():
        if name.startswith(tops):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name)
    (directory / target()).write_text(block("c"), encoding="utf-8")
    table = directory / DEF
    table.write_text(with_line(table.read_text(encoding="utf-8"), block("def")), encoding="utf-8")
    return directory


def run(command: list[object], cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env=clean_environment() | (env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}"
    return done.stdout


def test_the_example_keeps_the_house_rules() -> None:
    path, text = target(), block("c")
    assert not (ROOT / path).exists(), "the throw-away lock is in the tree"
    for rule in (
        *(rules.spdx, rules.lock_comment, rules.lock_descriptor, rules.include_graph),
        *(rules.no_if, rules.no_heap, rules.no_static_data, rules.low_level),
    ):
        assert rule(path, text) == []
    assert block("def").strip() == f"LL_LOCK_ENTRY({rules.symbol_of(path)})"


def test_the_example_is_formatted() -> None:
    binary = shutil.which(
        "clang-format", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    )
    if binary is None:
        pytest.skip("clang-format is not installed")
    done = subprocess.run(
        [binary, f"--assume-filename={ROOT / target()}"],
        input=block("c"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == block("c")


@pytest.mark.native
@pytest.mark.timeout(700)  # the first build of clib
def test_a_lock_takes_one_file_and_one_line(tmp_path: Path) -> None:
    """Listed, and judged by the tests that judge every lock."""
    tree = followed(tmp_path, "clib/", "tests/c/")
    # what is built already: only the new lock and the tables that list it remain to be compiled
    shutil.copytree(make_clib("native", "lib"), tree / "build" / "native")
    programs = ["test_locks", "stress_locks", "virtual_clients"]
    goals = [f"build/native/tests/{p}" for p in programs]
    run(["make", "-s", "-f", "clib/build.mk", "-j2", "BUILD=build/native", "WERROR=", *goals], tree)
    name = target().removeprefix("clib/locks/").removesuffix(".c")
    assert f"{name} " in run([goals[1], name], tree)
    for program in (goals[0], goals[2]):
        run([program], tree)
    for variant in ("native", "bare", "probed", "virtual"):
        assert (
            (tree / "build/native" / variant / target().removeprefix("clib/"))
            .with_suffix(".o")
            .is_file()
        )


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.timeout(900)
def test_the_lock_appears_in_python_and_on_the_command_line(tmp_path: Path) -> None:
    tree = followed(tmp_path, "clib/", "pybind/", "dashboard/", "setup.py", "pyproject.toml")
    python = {"PYTHONPATH": str(tree / "pybind"), "LOCKLAB_NO_NPM": "1"}
    run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], tree, python)
    name = target().removeprefix("clib/locks/").removesuffix(".c")
    where = run([sys.executable, "-c", "import locklab; print(locklab.__file__)"], tree, python)
    assert where.startswith(str(tree))
    assert f'"{name}"' in run([sys.executable, "-m", "locklab", "list", "--json"], tree, python)
    asked = [name, "-t", "2", "-s", "0.1", "--json"]
    assert name in run([sys.executable, "-m", "locklab", "run", *asked], tree, python)
