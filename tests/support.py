# SPDX-License-Identifier: MIT
"""What several test files need: where things are, and builds of clib shared by all of them."""

import fcntl
import functools
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "") not in ("", "0", "false")


def clean_environment() -> dict[str, str]:
    """The environment without what a calling `make` left in it.

    CI runs as root in a checkout that somebody else may own, which git refuses unless told.
    """
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    git = {"COUNT": "1", "KEY_0": "safe.directory", "VALUE_0": "*"}
    return env | {f"GIT_CONFIG_{key}": value for key, value in git.items()}


def make_clib(build: str, *goals: str, timeout_s: float = 600) -> Path:
    """Run clib/build.mk in ``build/<build>``; returns that directory.

    `goals` are goals and ``VAR=value`` words. The directory outlives the session, so a later one
    rebuilds only what changed; sessions that run at the same time take turns.

    Raises
    ------
    AssertionError
        With the end of the compiler's output, if it does not build.
    """
    directory = ROOT / "build" / build
    directory.mkdir(parents=True, exist_ok=True)
    with (ROOT / "build" / "clib.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "-s", "-f", "clib/build.mk", f"-j{os.cpu_count() or 1}"]
            + [f"BUILD=build/{build}", *goals],
            cwd=ROOT,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
        )
    assert done.returncode == 0, f"build/{build} did not build:\n{done.stdout[-6000:]}"
    return directory


@functools.cache
def tracked_files() -> list[str]:
    """Paths of all files that belong to the project, new ones included, ignored ones not."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted({f for f in done.stdout.split("\0") if f and (ROOT / f).is_file()})
