# SPDX-License-Identifier: MIT
"""The final condition of a litmus test: what it asks of a final state.

or  := and (``\\/`` and)*        and := not (``/\\`` not)*
not := ``~`` not | ``not`` not | ``(`` or ``)`` | ``true`` | ``false`` | place ``=`` value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from locklab.litmus_places import Place, Value

_MAX_DEPTH = 50
_TOKEN = re.compile(
    r"\s*(?P<token>/\\|\\/|=>|<>|!=|[()=~&]|\[[^][]*\]|\d+\s*:\s*%?\w+|-?\s*0[xX][0-9a-fA-F]+"
    r"|-?\s*\d+|[%*]?[A-Za-z_][\w.]*|\S)"
)


@dataclass(frozen=True)
class Atom:
    """One register or location has one value."""

    place: Place
    value: Value

    def __str__(self) -> str:
        return f"{self.place}={self.value}"


@dataclass(frozen=True)
class Truth:
    """``true`` or ``false``."""

    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True)
class Not:
    """The opposite of what it holds."""

    part: Condition

    def __str__(self) -> str:
        return f"not ({self.part})"


@dataclass(frozen=True)
class Join:
    """All of them (``/\\``) or any of them (``\\/``)."""

    sign: str
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f" {self.sign} ".join(
            f"({part})" if isinstance(part, Join) else str(part) for part in self.parts
        )


Condition = Atom | Truth | Not | Join


def atoms(condition: Condition) -> Iterator[Atom]:
    """Every atom, from left to right."""
    if isinstance(condition, Atom):
        yield condition
    elif isinstance(condition, Not):
        yield from atoms(condition.part)
    elif isinstance(condition, Join):
        for part in condition.parts:
            yield from atoms(part)


def holds(condition: Condition, state: Mapping[Place, int]) -> bool:
    """Whether it is true of a state: bits of each place, as the machine holds them."""
    if isinstance(condition, Atom):
        place = condition.place
        return state[place] == condition.value.bits
    if isinstance(condition, Truth):
        return condition.value
    if isinstance(condition, Not):
        return not holds(condition.part, state)
    test = all if condition.sign == "/\\" else any
    return test(holds(part, state) for part in condition.parts)


class Reader:
    """Recursive descent over one condition.

    Parameters
    ----------
    text
        The condition without its quantifier, perhaps over several lines.
    atom
        Makes an atom of the texts of its place and value, or raises.
    error
        Makes the exception for a mistake from a sentence.
    """

    def __init__(
        self, text: str, atom: Callable[[str, str], Atom], error: Callable[[str], Exception]
    ) -> None:
        self._tokens = [m["token"] for m in _TOKEN.finditer(text)]
        self._at = self._depth = 0
        self._atom = atom
        self._error = error

    def read(self) -> Condition:
        """The whole text as a condition."""
        found = self._or()
        if self._at < len(self._tokens):
            raise self._error(f"{self._tokens[self._at]!r} is not expected after the condition")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise self._error("the condition is not complete")
        self._at += 1
        return token

    def _deeper(self, read: Callable[[], Condition]) -> Condition:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"the condition nests deeper than {_MAX_DEPTH}")
        found = read()
        self._depth -= 1
        return found

    def _or(self) -> Condition:
        return self._joined("\\/", self._and)

    def _and(self) -> Condition:
        return self._joined("/\\", self._not)

    def _joined(self, sign: str, part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._peek() == sign:
            self._next()
            parts.append(part())
        return parts[0] if len(parts) == 1 else Join(sign, tuple(parts))

    def _not(self) -> Condition:
        token = self._next()
        if token in ("~", "not"):
            return Not(self._deeper(self._not))
        if token == "(":
            inner = self._deeper(self._or)
            if self._next() != ")":
                raise self._error("a ) is missing in the condition")
            return inner
        if token in ("true", "false"):
            return Truth(token == "true")
        if not re.match(r"[\w\[%*]", token):
            raise self._error(f"{token!r} is not a register or location, as in 0:EAX=1 or x=1")
        if self._next() != "=":
            raise self._error(f"only = can follow {token} in the condition")
        value = self._next()
        return self._atom(token, self._next() if value == "&" else value)
