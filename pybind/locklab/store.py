# SPDX-License-Identifier: MIT
"""Documents in files, which are whole or absent: nobody sees half of one."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from locklab.errors import ConfigError, RunError


def dump(document: Any) -> str:
    """A document as JSON text, one line a member, with a newline at its end."""
    if not isinstance(document, dict):
        return json.dumps(document, allow_nan=False) + "\n"
    members = (
        f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
        for key, value in document.items()
    )
    return "{\n  " + ",\n  ".join(members) + "\n}\n"


def read_text(path: str | os.PathLike[str], field: str = "path") -> str:
    """The content of a text file.

    Raises
    ------
    ConfigError
        It cannot be read, or is no text.
    """
    name = os.fspath(path)
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {name!r}: {error.strerror}", field=field) from None
    except ValueError:  # not UTF-8, or a NUL in the name
        raise ConfigError(f"cannot read {name!r}: it is no text file", field=field) from None


def parse(text: str, name: str, field: str = "path") -> Any:
    """The JSON document in a text; `name` is what an error calls it.

    Raises
    ------
    ConfigError
        It is not JSON.
    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name!r} is not JSON: {error}", field=field) from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _finite(word: str) -> float:
    value = float(word)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{word} is beyond the range of a double")
    return value


def check_writable(path: str | os.PathLike[str], field: str = "output") -> None:
    """Say now what :func:`write` would say after the run.

    Raises
    ------
    ConfigError
        The directory does not exist or cannot be written, or `path` is a directory.
    """
    try:
        why = _why_not(Path(os.path.realpath(path)))
    except (OSError, ValueError) as error:  # a name too long, a NUL in it
        why = getattr(error, "strerror", None) or str(error)
    if why:
        raise ConfigError(f"cannot write {os.fspath(path)!r}: {why}", field=field)


def _why_not(target: Path) -> str | None:
    if target.is_dir():
        return "it is a directory"
    if not target.parent.is_dir():
        return f"there is no directory {target.parent}"
    if target.exists() and not _is_regular(target):
        return None if os.access(target, os.W_OK) else "it cannot be written"
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return f"the directory {target.parent} cannot be written"
    return None


def write(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file by `text` in one step that also survives a crash of the machine.

    A symbolic link stays one, its target is replaced; a pipe or device is written to as it is.

    Raises
    ------
    RunError
        The file cannot be written; a file of that name is as it was.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not _is_regular(target):
            target.write_text(text, encoding="utf-8")
        else:
            _replace(target, text)
    except OSError as error:
        raise RunError(
            f"cannot write {os.fspath(path)!r}: {error.strerror}", field="output"
        ) from error


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(path.stat().st_mode)


def _replace(target: Path, text: str) -> None:
    temporary = target.with_name(f".{os.urandom(6).hex()}.locklab-tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _mode(target))
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _mode(target: Path) -> int:
    """The old file's permissions, or those that a new file asks for (before the umask)."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        return 0o666
