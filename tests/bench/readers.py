# SPDX-License-Identifier: MIT
"""Who reads the server's streams: a process of its own (sse.py), so that its cost is told apart."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from types import TracebackType
from typing import IO, Any, Self, cast

from common import HERE, UnmeasurableError

SPARE_FILES = 64  # descriptors besides the streams'


class Readers:
    """The process; a context manager that ends it.

    Parameters
    ----------
    cpu
        The only CPU that it may use; None: any.
    """

    def __init__(self, cpu: int | None = None) -> None:
        words = [sys.executable, str(HERE / "sse.py")]
        if cpu is not None:
            words.append(str(cpu))
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def open(self, port: int, run_id: str, count: int) -> None:
        """Read `count` streams of a run; returns when each has sent something."""
        answer = self._ask(f"open {port} /api/v1/runs/{run_id}/stream {count}")
        if answer != f"opened {count}":
            raise UnmeasurableError(f"{count} streams asked for: {answer}")

    def close(self) -> dict[str, Any]:
        """Leave them all; what was read since: seconds, cpu_s, ticks, least, most, bytes, ended."""
        found: dict[str, Any] = json.loads(self._ask("close"))
        return found

    def _ask(self, line: str) -> str:
        stdin, stdout = cast(IO[str], self._process.stdin), cast(IO[str], self._process.stdout)
        try:
            stdin.write(line + "\n")
            stdin.flush()
            answer = stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise UnmeasurableError("the process that reads the streams has ended")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()


def room_for(wanted: int) -> int:
    """How many connections the limit on descriptors leaves, raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(wanted, soft - SPARE_FILES)
