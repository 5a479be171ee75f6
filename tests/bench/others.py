# SPDX-License-Identifier: MIT
"""How much of the machine other programs use."""

from __future__ import annotations

import os
import resource
from pathlib import Path


def cpu_seconds() -> tuple[float, float] | None:
    """CPU time since boot that anybody used and that could have been used, None: not told."""
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
        ticks = [int(word) for word in words]
    except (OSError, ValueError, IndexError):
        return None
    hz = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - ticks[3] - ticks[4]) / hz, sum(ticks) / hz


def own_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(
        use.ru_utime + use.ru_stime
        for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


class Others:
    """Share of all CPUs that other programs use, from here on."""

    def __init__(self) -> None:
        self._machine, self._own = cpu_seconds(), own_seconds()

    def share(self) -> float | None:
        now = cpu_seconds()
        if self._machine is None or now is None or now[1] <= self._machine[1]:
            return None
        used = now[0] - self._machine[0] - (own_seconds() - self._own)
        return round(max(0.0, used) / (now[1] - self._machine[1]), 3)
