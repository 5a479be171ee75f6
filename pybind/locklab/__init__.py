# SPDX-License-Identifier: MIT
"""locklab: a laboratory for locks.

>>> import locklab
>>> result = locklab.run("spin/mcs", threads=2, seconds=0.5)
>>> print(result.summary())

Names are loaded when they are first used, so that ``import locklab`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from locklab.errors import (
    CheckFailed,
    ConfigError,
    LocklabError,
    OrderViolated,
    RunError,
    RunTimeout,
    UnknownName,
    Unsupported,
)

if TYPE_CHECKING:
    from locklab._core import Lock
    from locklab.catalogue import clients, events, locks, machines, workloads
    from locklab.checking import check, replay
    from locklab.comparison import Comparison, compare
    from locklab.doctor import capabilities
    from locklab.litmus_verdict import LitmusVerdict, litmus
    from locklab.pooling import merge
    from locklab.result import Result
    from locklab.runs import Handle, run, start
    from locklab.validator import Report, Validator
    from locklab.verdict import Verdict
    from locklab.web import Dashboard, serve

    __version__: str

# Where each lazy name lives. No module bears the name of a public function: importing it would
# put the module in the function's place.
_HOMES = {
    "Comparison": "comparison",
    "Dashboard": "web",
    "Handle": "runs",
    "LitmusVerdict": "litmus_verdict",
    "Lock": "_core",
    "Report": "validator",
    "Result": "result",
    "Validator": "validator",
    "Verdict": "verdict",
    "capabilities": "doctor",
    "check": "checking",
    "clients": "catalogue",
    "compare": "comparison",
    "events": "catalogue",
    "litmus": "litmus_verdict",
    "locks": "catalogue",
    "machines": "catalogue",
    "merge": "pooling",
    "replay": "checking",
    "run": "runs",
    "serve": "web",
    "start": "runs",
    "workloads": "catalogue",
}

__all__ = [
    "CheckFailed",
    "Comparison",
    "ConfigError",
    "Dashboard",
    "Handle",
    "LitmusVerdict",
    "Lock",
    "LocklabError",
    "OrderViolated",
    "Report",
    "Result",
    "RunError",
    "RunTimeout",
    "UnknownName",
    "Unsupported",
    "Validator",
    "Verdict",
    "__version__",
    "capabilities",
    "check",
    "clients",
    "compare",
    "events",
    "litmus",
    "locks",
    "machines",
    "merge",
    "replay",
    "run",
    "serve",
    "start",
    "workloads",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        value: Any = _version()
    elif name in _HOMES:
        value = getattr(import_module(f"locklab.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'locklab' has no attribute {name!r}")
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("locklab")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
