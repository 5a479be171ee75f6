# SPDX-License-Identifier: MIT
"""The arguments of one run: their types, their defaults, and how a document records them.

Most ranges and all names are judged by the C core (``_core.validate``), which knows the
descriptors; here stand the types, and what this release cannot do yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from locklab import arguments
from locklab.errors import Unsupported
from locklab.names import unknown

if TYPE_CHECKING:
    from locklab import _core

DEFAULT_SEED = 1
ENGINES = ("native", "sim", "check")
CHOICES = {
    "metrics": ("events", "full"),
    "build": ("instrumented", "bare", "probed"),
    "owner_run": ("coop", "heartbeat", "always", "never", "switch-rec", "sample"),
    "resched": ("budget", "tick", "never"),
}
_RANGES = {
    "threads": (1, 1024),
    "repeat": (1, 1000),
    "seed": (0, 2**64 - 1),
    "resched_budget_ns": (1, 10**10),
    "hz": (1, 1000),
}
_ELSEWHERE = {
    "sim": "engine sim is not in this release, the simulator comes later; engine native runs real "
    "threads on this host",
    "check": "the model checker measures nothing: use locklab check (locklab.check); engine native "
    "runs real threads on this host",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run, as checked by :meth:`of`; the members are the keyword arguments of `locklab.run`."""

    lock: str
    workload: str = "critical-section"
    threads: int = 2
    seconds: float = 1.0
    warmup_s: float = 0.1
    engine: str = "native"
    machine: str | None = None
    seed: int = DEFAULT_SEED
    params: tuple[tuple[str, str], ...] = ()
    place: str = "compact"
    repeat: int = 1
    perf: tuple[str, ...] = ()
    validate: bool = False
    metrics: str = "full"
    build: str = "instrumented"
    overhead: bool = False
    owner_run: str = "coop"
    heartbeat_s: float = 50e-6
    resched: str = "budget"
    resched_budget_ns: int = 100_000
    hz: int = 250
    watchdog_s: float = 10.0
    tick_s: float = 0.1

    @classmethod
    def of(cls, **given: Any) -> Plan:
        """A plan from what the user gave; None stands for the default of any argument.

        Raises
        ------
        TypeError
            A value is of the wrong type.
        ConfigError, UnknownName, Unsupported
            A value cannot be used, whatever the lock.
        """
        values = {k: v for k, v in given.items() if v is not None or k == "lock"}
        for name in ("lock", "workload", "engine", "machine", "place"):
            if name in values:
                values[name] = arguments.text(name, values[name])
        for name, allowed in CHOICES.items():
            if name in values:
                values[name] = arguments.choice(name, values[name], allowed)
        for name in _RANGES:
            if name in values:
                values[name] = arguments.whole(name, values[name], *_RANGES[name])
        for name in ("seconds", "warmup_s", "heartbeat_s", "watchdog_s", "tick_s"):
            if name in values:
                values[name] = arguments.number(name, values[name])
        for name in ("validate", "overhead"):
            if name in values:
                values[name] = arguments.truth(name, values[name])
        if "params" in values:
            values["params"] = arguments.settings(values["params"])
        if "perf" in values:
            values["perf"] = arguments.names("perf", values["perf"])
        plan = cls(**values)
        plan._refuse_what_comes_later()
        return plan

    def _refuse_what_comes_later(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES, field="engine")
        if self.engine in _ELSEWHERE:
            raise Unsupported(_ELSEWHERE[self.engine], code="ENOTSUP", field="engine")
        if self.machine is not None:
            raise Unsupported(
                "machine models belong to the simulator, which is not in this release",
                code="ENOTSUP",
                field="machine",
            )

    def for_core(self) -> _core.Plan:
        """The dict that ``_core.start`` takes."""
        plan = asdict(self) | {"settings": self.params}
        for name in ("engine", "machine", "params"):
            del plan[name]
        return cast("_core.Plan", plan)

    def config(self) -> dict[str, Any]:
        """The document's `config`: every argument, parameters with their defaults filled in."""
        config = asdict(self)
        config["params"] = resolved_params(self.lock, self.workload, self.params)
        config["perf"] = list(self.perf)
        return config


ARGUMENTS = tuple(f.name for f in fields(Plan))


def resolved_params(
    lock: str, workload: str | None, settings: Iterable[tuple[str, str]], column: str = "default"
) -> dict[str, bool | int | float | str]:
    """Every parameter of a lock and a workload with its value, in the units of the catalogue.

    A name that both have appears as ``lock.NAME`` and ``workload.NAME``. The settings must have
    passed the core.

    Parameters
    ----------
    column
        Where the catalogue has the values of parameters that nobody set: ``default`` or ``check``.
    """
    from locklab.catalogue import lock_of, workload_of

    found = {"lock": lock_of(lock), "workload": workload and workload_of(workload)}
    tables: dict[str, dict[str, Any]] = {
        owner: {p["name"]: p for p in entry["params"]} if entry else {}
        for owner, entry in found.items()
    }
    shared = tables["lock"].keys() & tables["workload"].keys()
    values: dict[tuple[str, str], Any] = {}
    for owner, table in tables.items():
        for name, param in table.items():
            unset = param[column]
            values[owner, name] = param["names"][unset] if param["names"] else unset
    for given, text in settings:
        owner, dot, name = given.partition(".")
        if not dot or owner not in tables:
            owner, name = ("lock" if given in tables["lock"] else "workload"), given
        values[owner, name] = _value(tables[owner][name], text)
    return {f"{o}.{n}" if n in shared else n: value for (o, n), value in values.items()}


def _value(param: Mapping[str, Any], text: str) -> bool | int | float | str:
    if param["type"] in ("enum", "lock"):
        return text
    if param["type"] == "bool":
        return text in ("1", "true", "yes", "on")
    try:
        number = float(text)
    except ValueError:
        number = float.fromhex(text)  # C's strtod takes 0x10
    return int(number) if param["type"] == "uint" else number
