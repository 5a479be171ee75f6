# SPDX-License-Identifier: MIT
"""The command ``locklab``: which command is meant, and how mistakes become exit codes.

0 ok, 1 the answer is "no", 2 bad usage or configuration, 3 the run failed or was undecided,
130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from locklab.cli.usage import UsageError, sentence
from locklab.errors import LocklabError, RunError
from locklab.names import suggestion

COMMANDS = {
    "list": "what there is to run: locks, workloads, machines",
    "run": "let threads compete for a lock and measure",
    "check": "is it right: every interleaving of a few threads, the faults with their traces",
    "replay": "the execution of a fault again, step by step",
    "compare": "is one saved result faster than another, or is it noise",
    "serve": "the live page on its own; start and stop runs from the browser",
    "doctor": "what this host can and cannot measure, and what would enable it",
    "litmus": "what a memory model allows of litmus tests, in herd's format for x86",
}
LATER = {
    "sweep": "sweeps over several locks and parameters come in a later release; "
    "run them one by one until then",
    "reproduce": "the published claims come in a later release",
    "sem-waitzero": "the semaphore arrays and their benchmark come in a later release",
}
OK, NO, USAGE, FAILED, INTERRUPTED = 0, 1, 2, 3, 130

HELP = f"""usage: locklab COMMAND [OPTION ...]

A laboratory for locks: which variant wins, who starves, which is right.

{chr(10).join(f"  {name:<9} {text}" for name, text in COMMANDS.items())}

  locklab COMMAND --help   what the command takes, with examples
  locklab --version

A first look:

  locklab list locks
  locklab run spin/mcs -t 2 -s 1
  locklab run spin/mcs -t 2 -r 9 -o mcs.json
  locklab run host/pthread-mutex -t 2 -r 9 -o mutex.json
  locklab compare mutex.json mcs.json
  locklab check spin/mcs

Exit codes: 0 ok, 1 the answer is "no", 2 bad usage, 3 the run failed or is undecided,
130 interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    closed = _ready_streams()
    name = words[0] if words else ""
    try:
        code = _dispatch(words)
        sys.stdout.flush()
        if closed and code == OK:
            return _say(name, "cannot write the output: it is closed", FAILED)
        return code
    except SystemExit as leave:  # argparse, after --help
        return _flushed(leave.code if isinstance(leave.code, int) else OK)
    except UsageError as error:
        return _say(name, str(error), USAGE)
    except RunError as error:
        return _say(name, sentence(error), FAILED)
    except LocklabError as error:
        return _say(name, sentence(error, words), USAGE)
    except KeyboardInterrupt:
        return _say(name, "interrupted", INTERRUPTED)
    except MemoryError:
        return _say(name, "out of memory", FAILED)
    except BrokenPipeError:  # `locklab list | head`: the reader has seen enough
        _abandon_stdout()
        return OK
    except OSError as error:
        if error.filename is not None or not _is_stdout(error):
            raise
        _abandon_stdout()
        return _say(name, f"cannot write the output: {error.strerror}", FAILED)


def _ready_streams() -> bool:
    """Survive closed descriptors (``>&-``) and names that the encoding cannot spell.

    Returns whether stdout is closed, so that what a command prints is lost.
    """
    closed = sys.stdout is None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for the whole process
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return closed


def _dispatch(words: list[str]) -> int:
    if not words:
        raise UsageError(f"a command is missing: {', '.join(COMMANDS)} (see locklab --help)")
    name = words[0]
    if name in ("-h", "--help", "help"):
        if name == "help" and len(words) > 1:
            return _dispatch([words[1], "--help"])
        sys.stdout.write(HELP)
        return OK
    if name in ("-V", "--version", "version"):
        from locklab import __version__

        print(f"locklab {__version__}")
        return OK
    if name in COMMANDS:
        code: int = import_module(f"locklab.cli.{name}_command").main(words[1:])
        return code
    if name in LATER:
        raise UsageError(f"{name} is not in this release: {LATER[name]}")
    what = "option" if name.startswith("-") else "command"
    hint = suggestion(name, [*COMMANDS, "--help", "--version"]) or suggestion(name, LATER)
    raise UsageError(f"there is no {what} {name!r}{hint} (see locklab --help)")


def _say(name: str, text: str, code: int) -> int:
    command = f"locklab {name}" if name in COMMANDS else "locklab"
    with suppress(OSError):  # nobody may read stderr; the exit code still tells
        print(f"{command}: {text}", file=sys.stderr, flush=True)
    return _flushed(code)


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        _abandon_stdout()
    return code


def _is_stdout(error: OSError) -> bool:
    """Whether it may come from writing to stdout: full disk, closed descriptor."""
    import errno

    return error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG)


def _abandon_stdout() -> None:
    """So that the interpreter does not fail again when it flushes at its end."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
