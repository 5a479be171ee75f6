# SPDX-License-Identifier: MIT
"""The C programs of the benchmarks, built with the library's own compiler and flags."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from common import HERE, ROOT, UnmeasurableError

from support import clean_environment, make_clib

BUILD = "native"  # of clib; shared with the tests and the extension
OUT = ROOT / "build" / "bench"


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        raise UnmeasurableError(
            f"{shlex.join(command[:3])} ... failed: {done.stderr.strip()[-800:]}"
        )
    return done.stdout


class Compiler:
    """Compiles as clib was, links with it, and keeps what it made in ``build/bench``."""

    def __init__(self) -> None:
        self.clib = make_clib(BUILD, "lib")
        self._flags = shlex.split((self.clib / "flags").read_text(encoding="utf-8"))
        self._libs = shlex.split(
            _run(["make", "-s", "-f", "clib/build.mk", f"BUILD=build/{BUILD}", "print-libs"])
        )
        OUT.mkdir(parents=True, exist_ok=True)

    def compile(self, source: Path, name: str, *defines: str) -> Path:
        made = OUT / f"{name}.o"
        words = [*self._flags, "-DLL_BUILD=native", f"-I{HERE}", *defines]
        _run([*words, "-c", str(source), "-o", str(made)])
        return made

    def link(self, name: str, objects: list[Path], library: bool = True) -> Path:
        made = OUT / name
        words = [self._flags[0], "-pthread", *map(str, objects)]
        if library:
            archive = str(self.clib / "liblocklab.a")
            words += ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", *self._libs]
        _run([*words, "-o", str(made)])
        return made


def pingpong() -> Path:
    """``tests/c/pingpong.c``, which uses nothing of the library."""
    compiler = Compiler()
    source = ROOT / "tests" / "c" / "pingpong.c"
    return compiler.link("pingpong", [compiler.compile(source, "pingpong")], library=False)


def uncontended(layouts: list[tuple[int, int]]) -> list[Path]:
    """``uncontended.c`` with the hand-written locks and ours pushed about by so many bytes each."""
    compiler = Compiler()
    main = compiler.compile(HERE / "uncontended.c", "uncontended")
    hand = compiler.compile(HERE / "handwritten.c", "handwritten")
    pads = {
        size: compiler.compile(HERE / "pad.c", f"pad-{size}", f'-DPAD="{size}"')
        for size in sorted({size for layout in layouts for size in layout})
    }
    return [
        compiler.link(f"uncontended-{a}-{b}", [main, pads[a], hand, pads[b]]) for a, b in layouts
    ]


def validator() -> Path:
    """``validator.c``, in the instrumented build as the workloads are."""
    compiler = Compiler()
    return compiler.link("validator", [compiler.compile(HERE / "validator.c", "validator")])
