# SPDX-License-Identifier: MIT
"""From what a user passed as an argument to a value of its type, or an error that names it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from locklab.errors import ConfigError
from locklab.names import unknown


class WrongType(TypeError):  # noqa: N818 - what users see is a TypeError
    """A TypeError that knows which argument is at fault."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field} {text}")
        self.field = field


def _type(value: object) -> str:
    return type(value).__name__


def _shown(value: str) -> str:
    return repr(value) if len(value) <= 80 else f"{value[:60]!r}..."


def text(name: str, value: object) -> str:
    """A str of one line."""
    if not isinstance(value, str):
        raise WrongType(name, f"must be a str, not {_type(value)}")
    if not value.isprintable():
        raise ConfigError(f"{name} {_shown(value)} holds characters that no name has", field=name)
    return value


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """One of a few words."""
    word = text(name, value)
    if word not in allowed:
        raise unknown(f"value for {name}", word, allowed, field=name)
    return word


def truth(name: str, value: object) -> bool:
    """A bool, and nothing that is only true or false in spirit."""
    if not isinstance(value, bool):
        raise WrongType(name, f"must be a bool, not {_type(value)}")
    return value


def whole(name: str, value: Any, low: int, high: int) -> int:
    """An int (or what says that it is one, such as numpy's) from `low` to `high`."""
    if isinstance(value, bool):
        raise WrongType(name, "must be an int, not bool")
    try:
        found = operator.index(value)
    except TypeError:
        raise WrongType(name, f"must be an int, not {_type(value)}") from None
    if not low <= found <= high:
        shown = str(found) if abs(found) < 10**30 else "of more than 30 digits"
        raise ConfigError(f"{name} {shown} is outside {low} to {high}", code="ERANGE", field=name)
    return found


def number(name: str, value: Any) -> float:
    """A float; the range is for others to judge."""
    if isinstance(value, (bool, str, bytes)):
        raise WrongType(name, f"must be a number, not {_type(value)}")
    try:
        return float(value)
    except (TypeError, OverflowError):
        raise WrongType(name, f"must be a number, not {_type(value)}") from None


def names(name: str, value: Any) -> tuple[str, ...]:
    """Several words, also as one str with commas; none twice."""
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    try:
        words = tuple(text(name, word) for word in value)
    except TypeError:
        raise WrongType(name, f"must be a str or a list of str, not {_type(value)}") from None
    twice = next((w for i, w in enumerate(words) if w in words[:i]), None)
    if twice is not None:
        raise ConfigError(f"{name} names {twice} twice", code="EINVAL", field=name)
    return words


def settings(value: Any) -> tuple[tuple[str, str], ...]:
    """Parameters by name as pairs of text, which the core reads."""
    if not isinstance(value, Mapping):
        raise WrongType("params", f"must be a dict of name to value, not {_type(value)}")
    return tuple((text("params", name), _setting(name, v)) for name, v in value.items())


def _setting(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return text(name, value)
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
