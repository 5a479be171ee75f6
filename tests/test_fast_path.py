# SPDX-License-Identifier: MIT
"""What an uncontended acquire and release execute: read off the disassembly of the bare build.

Timing belongs to the benchmark; this only keeps calls, saved registers and thread-local accesses
from creeping back onto the path that every acquisition takes.
"""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import make_clib

# those whose fast path is a handful of instructions; a new lock may have reasons for more
LOCKS = ("none", "tas", "ttas", "ttas-backoff", "ticket", "mcs", "clh", "osq")
MOST_INSTRUCTIONS = 12
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(\S.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def objects() -> Path:
    if platform.machine() != "x86_64" or shutil.which("objdump") is None:
        pytest.skip("reads x86-64 disassembly by objdump")
    directory = make_clib("native", "lib")
    if not (directory / "flags").read_text(encoding="utf-8").startswith("gcc "):
        pytest.skip("the layout of branches is that of gcc")
    return directory / "bare" / "locks" / "spin"


def straight_path(obj: Path, function: str) -> list[str]:
    """The instructions from the entry of `function` to its first return, no branch taken."""
    done = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", obj], capture_output=True, text=True, check=True
    )
    body = re.search(rf"^[0-9a-f]+ <{function}>:\n((?:\s+.*\n)+)", done.stdout, re.MULTILINE)
    assert body, f"no {function} in {obj.name}"
    path = INSTRUCTION.findall(body[1])
    end = next((i for i, text in enumerate(path) if text.startswith("ret")), None)
    assert end is not None, f"{function} of {obj.stem} does not return: {path}"
    return path[: end + 1]


@pytest.mark.timeout(700)  # the first one compiles clib
@pytest.mark.parametrize("function", ["acquire", "release"])
@pytest.mark.parametrize("lock", LOCKS)
def test_the_fast_path_is_short(lock: str, function: str, objects: Path) -> None:
    path = straight_path(objects / f"{lock}.o", function)
    text = "\n".join(path)
    assert not re.search(r"^(push|call)|%fs:", text, re.MULTILINE), text
    assert len(path) <= MOST_INSTRUCTIONS, text


@pytest.mark.timeout(700)
def test_there_is_something_to_read(objects: Path) -> None:
    """The exchange of tas is where it is looked for."""
    assert any(text.startswith("xchg") for text in straight_path(objects / "tas.o", "acquire"))
