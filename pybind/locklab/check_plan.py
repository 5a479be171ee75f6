# SPDX-License-Identifier: MIT
"""The arguments of one check: their types, ranges and defaults, and how a document records them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from locklab import arguments
from locklab.errors import ConfigError
from locklab.names import unknown
from locklab.plan import DEFAULT_SEED, resolved_params

if TYPE_CHECKING:
    from locklab import _core

MAX_THREADS = 8
MAX_N = 64
CHOICES = {
    "strategy": ("auto", "dfs", "pct", "random"),
    "memory": ("tso", "sc"),
    "property": ("starvation",),
}
RANGES = {
    "threads": (1, MAX_THREADS),
    "n": (1, MAX_N),
    "writers": (1, MAX_THREADS),
    "bound": (0, 100),
    "giveups": (0, 8),
    "budget": (1, 2**63 - 1),
    "seed": (0, 2**64 - 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """One check, as judged by :meth:`of`; the members are the arguments of `locklab.check`."""

    lock: str
    threads: int = 3
    n: int | None = None
    client: str | None = None
    params: tuple[tuple[str, str], ...] = ()
    strategy: str = "auto"
    memory: str = "tso"
    bound: int | None = None
    property: str | None = None
    budget: int | None = None
    seconds: float = 10.0
    seed: int = DEFAULT_SEED
    giveups: int = 1
    first: bool = False
    writers: int | None = None
    orders: str | None = None

    @classmethod
    def of(cls, **given: Any) -> CheckPlan:
        """A plan from what the user gave; None stands for the default of any argument.

        Raises
        ------
        TypeError
            A value is of the wrong type.
        ConfigError, UnknownName
            A value cannot be used, whatever the lock.
        """
        values = {k: v for k, v in given.items() if v is not None or k == "lock"}
        for name in ("lock", "client", "orders"):
            if name in values:
                values[name] = arguments.text(name, values[name])
        for name, allowed in CHOICES.items():
            if name in values:
                values[name] = arguments.choice(name, values[name], allowed)
        for name, (low, high) in RANGES.items():
            if name in values:
                values[name] = arguments.whole(name, values[name], low, high)
        if "seconds" in values:
            values["seconds"] = arguments.number("seconds", values["seconds"])
        if "first" in values:
            values["first"] = arguments.truth("first", values["first"])
        if "params" in values:
            values["params"] = arguments.settings(values["params"])
        plan = cls(**values)
        plan._judge()
        return plan

    def _judge(self) -> None:
        if self.client is not None and self.client not in _client_ids():
            raise unknown("client", self.client, _client_ids(), field="client")
        if self.writers is not None and self.writers > self.threads:
            raise ConfigError(
                f"writers {self.writers} is outside 1 to {self.threads}, the number of threads",
                code="ERANGE",
                field="writers",
            )
        if self.strategy in ("pct", "random") and self.bound is not None:
            raise ConfigError(
                f"bound {self.bound} goes with strategy auto or dfs, not with {self.strategy}",
                code="EINVAL",
                field="bound",
            )

    def for_core(self) -> _core.CheckPlan:
        """The dict that ``_core.check_start`` takes."""
        plan = {name: value for name, value in asdict(self).items() if value is not None}
        plan["settings"] = plan.pop("params")
        plan["starvation"] = plan.pop("property", None) == "starvation"
        return cast("_core.CheckPlan", plan)

    def config(self, client: str) -> dict[str, Any]:
        """The document's `config`: every argument, defaults filled in.

        Parameters
        ----------
        client
            The one that was run.
        """
        params = resolved_params(self.lock, None, self.params, column="check")
        return asdict(self) | {"client": client, "params": params}


def _client_ids() -> list[str]:
    from locklab.catalogue import clients

    return [entry["id"] for entry in clients()]


def clients_of(lock: Mapping[str, Any]) -> list[str]:
    """Ids of the clients that a lock (an entry of the catalogue) can run."""
    from locklab.catalogue import clients

    able = {"exclusive", lock["kind"]}  # every kind can be held exclusively, too
    return [
        entry["id"]
        for entry in clients()
        if entry["kind"] in able
        and (lock["has_try"] or not entry["needs_try"])
        and (lock["has_until"] or not entry["needs_until"])
    ]
