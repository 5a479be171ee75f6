# SPDX-License-Identifier: MIT
"""What a memory model allows of a litmus test: every execution, by the model checker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from locklab import _core
from locklab.errors import ConfigError
from locklab.litmus_code import address
from locklab.litmus_condition import holds
from locklab.litmus_places import Place, signed
from locklab.litmus_text import Test, parse
from locklab.names import suggestion

Memory = Literal["sc", "tso"]
MEMORIES = ("tso", "sc")
SECONDS = 60.0
TURNS = 4
_KINDS = {"exists": "Allowed", "~exists": "Forbidden", "forall": "Required"}


@dataclass(frozen=True)
class LitmusVerdict:
    """The verdict on one litmus test under one memory model.

    Attributes
    ----------
    states
        Distinct final states in ascending order: values by place (``"0:EAX"``, ``"[x]"``; a number,
        or the name of the location pointed to), and the number of executions that end so.
    positive, negative
        Executions (choices of reads-from and coherence) that end in a state of which the condition,
        without its quantifier, is true; that do not.
    idle
        Executions dropped because a thread goes round a loop and nothing changes: they end in the
        same states as those without that round.
    cut
        Executions given up because a jump backwards was taken more than `turns` times.
    complete
        All executions were run: no bound of time or number ended the search, none was cut.
    """

    file: str
    name: str
    memory: str
    quantifier: str
    condition: str
    states: list[tuple[dict[str, int | str], int]]
    positive: int
    negative: int
    cut: int
    idle: int
    redundant: int
    complete: bool
    seconds: float
    turns: int = field(default=TURNS)

    @property
    def executions(self) -> int:
        """Complete executions that pass the test's filter, if it has one."""
        return self.positive + self.negative

    @property
    def decided(self) -> bool:
        """Whether executions that were not run could change nothing but the numbers."""
        return self.complete or (self.positive > 0 and self.negative > 0)

    @property
    def observation(self) -> str | None:
        """``Never``, ``Sometimes`` or ``Always``: how often the condition's body is true.

        None if it is not decided, see `reason`.
        """
        if not self.decided:
            return None
        if not self.positive:
            return "Never"
        return "Sometimes" if self.negative else "Always"

    @property
    def ok(self) -> bool | None:
        """Whether the condition, with its quantifier, holds; None if it is not decided.

        One execution can decide it, for or against; none at all decides nothing.
        """
        witness = self.negative if self.quantifier == "forall" else self.positive
        if not witness and not (self.complete and self.executions):
            return None
        return (witness > 0) == (self.quantifier == "exists")

    @property
    def reason(self) -> str:
        """Why not every execution was run, or that none ends; ``""`` if neither is so."""
        if self.complete:
            return "" if self.executions else "no execution ends"
        if self.cut:
            return f"{self.cut} executions went round a loop more than {self.turns} times"
        return f"{self.executions} executions in {self.seconds:.3g} s were not all"

    def text(self) -> str:
        """As herd prints it, but for the hash and the time, which no two programs share."""
        lines = [f"Test {self.name} {_KINDS[self.quantifier]}", f"States {len(self.states)}"]
        lines += [
            " ".join(f"{place}={value};" for place, value in state.items())
            for state, _ in self.states
        ]
        good, bad = self.positive, self.negative
        if self.quantifier == "~exists":
            good, bad = bad, good
        word = "Undecided" if self.ok is None else "Ok" if self.ok else "No"
        lines += [word, "Witnesses", f"Positive: {good} Negative: {bad}"]
        lines += [f"Condition {self.quantifier} ({self.condition})"]
        often = self.observation or "Undecided"
        lines += [f"Observation {self.name} {often} {self.positive} {self.negative}"]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """As an element of `tests` in a ``locklab.litmus/1`` document."""
        return {
            "file": self.file,
            "name": self.name,
            "memory": self.memory,
            "quantifier": self.quantifier,
            "condition": self.condition,
            "observation": self.observation,
            "ok": self.ok,
            "decided": self.decided,
            "reason": self.reason,
            "positive": self.positive,
            "negative": self.negative,
            "states": [{"state": state, "executions": n} for state, n in self.states],
            "cut": self.cut,
            "idle": self.idle,
            "redundant": self.redundant,
            "complete": self.complete,
            "turns": self.turns,
            "seconds": self.seconds,
        }


def litmus(
    test: str | Path,
    *,
    memory: Memory = "tso",
    turns: int = TURNS,
    budget: int | None = None,
    seconds: float = SECONDS,
) -> LitmusVerdict:
    """Read a litmus test in herd's format for x86 and run it on the model checker.

    Parameters
    ----------
    test
        A path, or the text itself if it has more than one line.
    memory
        ``"tso"`` (x86) or ``"sc"`` (sequential consistency).
    turns
        How often a thread may take one jump backwards, 0 to 1000, idle rounds apart.
    budget, seconds
        At most so many executions and seconds; None: any number.

    Raises
    ------
    ConfigError, Unsupported
        The file cannot be read, or it is not a test that we understand; the message names the line.

    Source: one execution for each choice of reads-from and coherence; docs/LITMUS.md.
    """
    if isinstance(test, str) and "\n" in test:
        text, file = test, ""
    else:
        file = str(test)
        text = read_file(Path(test))
    return explore(parse(text, file), memory=memory, turns=turns, budget=budget, seconds=seconds)


def read_file(path: Path) -> str:
    """Its text, or ConfigError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror
    except (UnicodeError, ValueError):
        reason = "it is not a text file"
    raise ConfigError(f"cannot read {str(path)!r}: {reason}", code="EINVAL", field="litmus")


def explore(
    test: Test,
    *,
    memory: Memory = "tso",
    turns: int = TURNS,
    budget: int | None = None,
    seconds: float = SECONDS,
) -> LitmusVerdict:
    """Run a parsed test; parameters as those of :func:`litmus`."""
    if memory not in MEMORIES:
        raise ConfigError(
            f"{memory!r} is not one of {', '.join(MEMORIES)}{suggestion(str(memory), MEMORIES)}",
            code="EINVAL",
            field="memory",
        )
    found = _core.litmus(
        [(thread.initial, thread.ops) for thread in test.threads],
        [(location.width, location.initial) for location in test.locations.values()],
        [_observed(test, place) for place in (*test.shown, *test.hidden)],
        memory,
        turns,
        budget or 0,
        seconds,
    )
    places = (*test.shown, *test.hidden)
    states = [(dict(zip(places, bits, strict=True)), n) for bits, n in found["states"]]
    states = [(state, n) for state, n in states if test.filter is None or holds(test.filter, state)]
    positive = sum(n for state, n in states if holds(test.condition, state))
    return LitmusVerdict(
        file=test.file,
        name=test.name,
        memory=memory,
        quantifier=test.quantifier,
        condition=str(test.condition),
        states=_shown(test, states),
        positive=positive,
        negative=sum(n for _, n in states) - positive,
        cut=found["cut"],
        idle=found["idle"],
        redundant=found["redundant"],
        complete=found["wholly"] and not found["cut"],
        seconds=found["seconds"],
        turns=turns,
    )


def _observed(test: Test, place: Place) -> tuple[int, int, int]:
    if place.thread is None:
        return _core.LITMUS_NONE, test.locations[place.name].index, 8
    return place.thread, *place.register


def _shown(
    test: Test, states: Sequence[tuple[dict[Place, int], int]]
) -> list[tuple[dict[str, int | str], int]]:
    """What is shown of them, numbers as their types mean them, pointers by name; ascending."""
    names = {address(location.index): name for name, location in test.locations.items()}
    counts: Counter[tuple[int | str, ...]] = Counter()

    def shown(place: Place, bits: int) -> int | str:
        width, is_signed = test.types[place]
        return names.get(bits, signed(bits, width) if is_signed else bits)

    for state, n in states:
        counts[tuple(shown(place, state[place]) for place in test.shown)] += n
    ordered = sorted(counts.items(), key=lambda pair: [_rank(value) for value in pair[0]])
    keys = [str(place) for place in test.shown]
    return [(dict(zip(keys, values, strict=True)), n) for values, n in ordered]


def _rank(value: int | str) -> tuple[bool, int, str]:
    """Numbers before pointers."""
    return (True, 0, value) if isinstance(value, str) else (False, value, "")
