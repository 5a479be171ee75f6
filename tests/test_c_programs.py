# SPDX-License-Identifier: MIT
"""Every ``tests/c/*.c`` is a test: exit 0 passes, 1 fails, 77 skips with its last line as reason.

Each runs plain and under ASan with UBSan; those named ``stress_*`` or ``tsan_*`` under TSan too.
"""

import functools
import os
import signal
import subprocess
from pathlib import Path

import pytest

from support import ROOT, make_clib

SKIPPED = 77
SOURCES = sorted((ROOT / "tests" / "c").glob("*.c"))
BUILDS = {"plain": ("native", ""), "asan": ("asan", "address"), "tsan": ("tsan", "thread")}
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "exitcode=1:detect_leaks=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=1:second_deadlock_stack=1",
}


@functools.cache
def programs(build: str) -> Path | str:
    """Directory of the built programs of one build, or what the compiler said."""
    directory, san = BUILDS[build]
    try:
        return make_clib(directory, *([f"SAN={san}"] if san else []), "ctests") / "tests"
    except AssertionError as e:
        return str(e)


def run(program: Path, timeout_s: float = 100) -> subprocess.CompletedProcess[str]:
    """One run in a process group of its own, so that a hung program leaves nothing behind."""
    with subprocess.Popen(
        [program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=ROOT,
        env=os.environ | SANITIZER_OPTIONS,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(f"{program.name} still ran after {timeout_s} s\n{out[-2000:]}{err[-4000:]}")
    return subprocess.CompletedProcess([program], process.returncode, out, err)


def judge(done: subprocess.CompletedProcess[str]) -> None:
    """Turn an exit code into a pass, a skip or a failure with what the program said."""
    if done.returncode == SKIPPED:
        lines = done.stderr.strip().splitlines()
        pytest.skip(lines[-1] if lines else "exit 77 without a reason")
    if done.returncode != 0:
        pytest.fail(f"exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-8000:]}")


def builds_for(source: Path) -> list[str]:
    """Sanitizers judge the library, so a program that uses nothing of it runs plain alone."""
    if '#include "' not in source.read_text(encoding="utf-8"):
        return ["plain"]
    return [b for b in BUILDS if b != "tsan" or source.name.startswith(("stress_", "tsan_"))]


def cases() -> list[object]:
    sanitizer = [pytest.mark.sanitizer]
    return [
        pytest.param(build, c.stem, marks=sanitizer * (build != "plain"), id=f"{c.stem}-{build}")
        for build in BUILDS
        for c in SOURCES
        if build in builds_for(c)
    ]


@pytest.mark.native
@pytest.mark.timeout(700)  # the first one of a build compiles clib
@pytest.mark.parametrize(("build", "name"), cases())
def test_c_program(build: str, name: str) -> None:
    directory = programs(build)
    if isinstance(directory, str):
        pytest.fail(directory)
    judge(run(directory / name))


def test_there_are_programs() -> None:
    assert len(SOURCES) >= 5


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("exit 0", None),
        ("echo no such device >&2; exit 77", pytest.skip.Exception),
        ("echo broken >&2; exit 1", pytest.fail.Exception),
        ("kill -SEGV $$", pytest.fail.Exception),
    ],
)
def test_the_judge(tmp_path: Path, script: str, outcome: type[BaseException] | None) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    if outcome is None:
        judge(run(program))
    else:
        with pytest.raises(outcome):
            judge(run(program))


def test_a_hung_program_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 1000 & wait\n")
    program.chmod(0o755)
    with pytest.raises(pytest.fail.Exception, match="still ran"):
        run(program, timeout_s=0.5)
