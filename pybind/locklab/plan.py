# SPDX-License-Identifier: MIT
"""The arguments of one run: their types, their defaults, and how a document records them.

Ranges and names are judged by the C core (``_core.validate``), which knows the descriptors; here
stand the types, and what this release cannot do yet.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from locklab.errors import ConfigError, Unsupported
from locklab.names import unknown

if TYPE_CHECKING:
    from locklab import _core

DEFAULT_SEED = 1
ENGINES = ("native", "sim", "check")
CHOICES = {
    "metrics": ("events", "full"),
    "build": ("instrumented", "bare", "probed"),
    "owner_run": ("coop", "heartbeat", "always", "never"),
}
# What to say of numbers that do not fit into the core's plan, so that it cannot judge them.
_BEYOND_C = {"threads": (1, 1024), "repeat": (1, 1000)}
_LATER = {
    "sim": "engine sim is not in this release, the simulator comes later; engine native runs real "
    "threads on this host",
    "check": "engine check is not in this release, the model checker comes later; engine native "
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
        for name in ("lock", "workload", "engine", "machine", "place", *CHOICES):
            if name in values:
                values[name] = _text(name, values[name])
        for name in ("threads", "repeat", "seed"):
            if name in values:
                values[name] = _whole(name, values[name])
        for name in ("seconds", "warmup_s", "heartbeat_s", "watchdog_s", "tick_s"):
            if name in values:
                values[name] = _number(name, values[name])
        for name in ("validate", "overhead"):
            if name in values and not isinstance(values[name], bool):
                raise WrongType(name, f"must be a bool, not {_type(values[name])}")
        if "params" in values:
            values["params"] = _settings(values["params"])
        if "perf" in values:
            values["perf"] = _names("perf", values["perf"])
        plan = cls(**values)
        plan._refuse_what_comes_later()
        return plan

    def _refuse_what_comes_later(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES, field="engine")
        if self.engine in _LATER:
            raise Unsupported(_LATER[self.engine], code="ENOTSUP", field="engine")
        if self.machine is not None:
            raise Unsupported(
                "machine models belong to the simulator, which is not in this release",
                code="ENOTSUP",
                field="machine",
            )
        if self.validate:
            raise Unsupported(
                "the order validator is not in this release",
                code="ENOTSUP",
                field="validate",
            )
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise unknown(f"value for {name}", getattr(self, name), allowed, field=name)

    def for_core(self) -> _core.Plan:
        """The dict that ``_core.start`` takes."""
        plan = asdict(self) | {"settings": self.params}
        for name in ("engine", "machine", "params", "validate"):
            del plan[name]
        return cast("_core.Plan", plan)

    def config(self) -> dict[str, Any]:
        """The document's `config`: every argument, parameters with their defaults filled in."""
        config = asdict(self)
        config["params"] = resolved_params(self.lock, self.workload, self.params)
        config["perf"] = list(self.perf)
        return config


class WrongType(TypeError):  # noqa: N818 - what users see is a TypeError
    """A TypeError that knows which argument is at fault."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field} {text}")
        self.field = field


ARGUMENTS = tuple(f.name for f in fields(Plan))


def resolved_params(
    lock: str, workload: str, settings: Iterable[tuple[str, str]]
) -> dict[str, bool | int | float | str]:
    """Every parameter of a lock and a workload with its value, in the units of the catalogue.

    A name that both have appears as ``lock.NAME`` and ``workload.NAME``. The settings must have
    passed ``_core.validate``.
    """
    from locklab.catalogue import lock_of, workload_of

    tables: dict[str, dict[str, Any]] = {}
    for owner, entry in (("lock", lock_of(lock)), ("workload", workload_of(workload))):
        tables[owner] = {p["name"]: p for p in entry["params"]} if entry else {}
    shared = tables["lock"].keys() & tables["workload"].keys()
    values: dict[tuple[str, str], Any] = {}
    for owner, table in tables.items():
        for name, param in table.items():
            default = param["default"]
            values[owner, name] = param["names"][default] if param["names"] else default
    for given, text in settings:
        owner, dot, name = given.partition(".")
        if not dot or owner not in tables:
            owner, name = ("lock" if given in tables["lock"] else "workload"), given
        values[owner, name] = _value(tables[owner][name], text)
    return {f"{o}.{n}" if n in shared else n: value for (o, n), value in values.items()}


def _value(param: Mapping[str, Any], text: str) -> bool | int | float | str:
    if param["type"] == "enum":
        return text
    if param["type"] == "bool":
        return text in ("1", "true", "yes", "on")
    try:
        number = float(text)
    except ValueError:
        number = float.fromhex(text)  # C's strtod takes 0x10
    return int(number) if param["type"] == "uint" else number


def _type(value: object) -> str:
    return type(value).__name__


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise WrongType(name, f"must be a str, not {_type(value)}")
    if "\0" in value or not value.isprintable():
        raise ConfigError(f"{name} {value!r} holds characters that no name has", field=name)
    return value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool):
        raise WrongType(name, "must be an int, not bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise WrongType(name, f"must be an int, not {_type(value)}") from None
    low, high = _BEYOND_C.get(name, (0, 2**64 - 1))
    if not 0 <= number < (2**64 if name == "seed" else 2**32):
        raise ConfigError(f"{name} {number} is outside {low} to {high}", code="ERANGE", field=name)
    return number


def _number(name: str, value: Any) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise WrongType(name, f"must be a number, not {_type(value)}")
    try:
        return float(value)
    except (TypeError, OverflowError):
        raise WrongType(name, f"must be a number, not {_type(value)}") from None


def _names(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    try:
        words = tuple(_text(name, word) for word in value)
    except TypeError:
        raise WrongType(name, f"must be a str or a list of str, not {_type(value)}") from None
    twice = next((w for i, w in enumerate(words) if w in words[:i]), None)
    if twice is not None:
        raise ConfigError(f"{name} names {twice} twice", code="EINVAL", field=name)
    return words


def _settings(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise WrongType("params", f"must be a dict of name to value, not {_type(value)}")
    return tuple((_text("params", name), _setting(name, v)) for name, v in value.items())


def _setting(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return _text(name, value)
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    try:
        return repr(float(value))
    except (TypeError, ValueError, OverflowError):
        raise WrongType(
            "params", f"{name!r} must be a number, bool or str, not {_type(value)}"
        ) from None
