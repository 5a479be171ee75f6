# SPDX-License-Identifier: MIT
"""The house rules as functions: source text in, complaints out.

A rule about one file is ``rule(path, text) -> list of "path:line: what is wrong"``; `path` is
relative to the repository, with slashes. ``test_house_rules.py`` applies them to the tree and feeds
each a text that breaks it. A line with the comment ``house-rule-ok: reason`` is exempt from the
rules about low-level code.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import PurePosixPath

Rule = Callable[[str, str], list[str]]

FREESTANDING = ("stddef.h", "stdint.h", "stdbool.h")
LIBC = (
    *FREESTANDING,
    *("assert.h", "ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdarg.h"),
    *("stdio.h", "stdlib.h", "string.h", "time.h", "dirent.h", "fcntl.h", "malloc.h", "poll.h"),
    *("sched.h", "signal.h", "strings.h", "unistd.h", "sys/mman.h", "sys/random.h", "sys/stat.h"),
    *("sys/resource.h", "sys/time.h", "sys/types.h", "sys/uio.h", "sys/utsname.h"),
)
PUBLIC = ("locklab.h", "include/locklab.h")  # both find it; -I differs
NETWORK = (
    *("arpa/inet.h", "netdb.h", "netinet/in.h", "netinet/tcp.h"),
    *(
        "sys/epoll.h",
        "sys/eventfd.h",
        "sys/ioctl.h",
        "sys/socket.h",
        "sys/syscall.h",
        "sys/timerfd.h",
    ),
)
PERF = ("linux/perf_event.h", "perfmon/*.h", "pthread.h", "sys/ioctl.h", "sys/syscall.h")


@dataclass(frozen=True)
class Layer:
    """What the files of one directory may include: patterns of project and of system headers.

    Its own directory is always allowed; `alone` adds system headers for single files.
    """

    project: tuple[str, ...] = ()
    system: tuple[str, ...] = LIBC
    own: bool = True
    alone: dict[str, tuple[str, ...]] = field(default_factory=dict)


LAYERS = {
    "clib/include": Layer(system=FREESTANDING),
    "clib/core": Layer(
        project=("include/locklab.h", "engine/engine.h", "*/locks.def", "*/workloads.def")
        + ("*/clients.def",),
        alone={"clib/core/topology.c": ("hwloc.h", "hwloc/*.h", "pthread.h")},
    ),
    "clib/engine": Layer(
        project=("include/locklab.h", "core/*", "metrics/events.h"),
        system=("*",),
    ),
    "clib/locks": Layer(
        project=("core/lock.h", "locks/*/*_tmpl.h"),
        system=(),
        own=False,
        alone={"clib/locks/host/*": ("pthread.h", "ck_*.h")},
    ),
    "clib/workloads": Layer(
        project=("core/workload.h",), system=(), alone={"clib/workloads/draw.h": ("math.h",)}
    ),
    "clib/clients": Layer(project=("core/client.h",), system=()),
    "clib/metrics": Layer(
        project=("include/locklab.h", "core/*", "engine/engine.h", "engine/own.h"),
        alone={"clib/metrics/perf*.c": PERF},
    ),
    "clib/validate": Layer(
        project=("include/locklab.h", "core/*", "engine/own.h"), system=(*LIBC, "pthread.h")
    ),
    "clib/run": Layer(
        project=("include/*", "core/*", "engine/*", "locks/*", "workloads/*", "clients/*")
        + ("metrics/*", "validate/*"),
        system=(*LIBC, "pthread.h"),
    ),
    "clib/check": Layer(
        project=("include/*", "core/*", "engine/*", "clients/*", "metrics/*"),
        system=(*LIBC, "pthread.h"),
    ),
    "pybind": Layer(project=PUBLIC, system=(*LIBC, "Python.h", "structmember.h", "datetime.h")),
    "dashboard": Layer(
        project=PUBLIC, system=(*LIBC, *NETWORK, "pthread.h", "microhttpd.h", "jansson.h")
    ),
}
# Where these are used outside clib/engine/ a lock would no longer run on every engine.
LOW_LEVEL = re.compile(
    r"\b(?:stdatomic\.h|_Atomic|__atomic_\w+|__sync_\w+"
    r"|atomic_(?:load|store|exchange|fetch|compare)\w*"
    r"|SYS_futex|__NR_futex|futex\w*|(?:__)?rdtscp?|(?:__)?asm(?:__)?(?=\s*(?:volatile|\()))"
)
ENGINE_IF = re.compile(r"^\s*#\s*(?:el)?if.*\b(ENG_\w+|LL_BUILD\w*|LL_ENGINE\w*)", re.MULTILINE)
ANY_IF = re.compile(r"^\s*#\s*(?:el)?if", re.MULTILINE)
HEAP = re.compile(r"\b(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|alloca)\s*\(")
STATIC_DATA = re.compile(
    r"^\s*static\s+(?!inline\b|const\b)(?:(?!\bconst\b)[\w\s*])*?\w+\s*(?:\[[^\]]*\]\s*)*(?:=|;)",
    re.MULTILINE,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
LABELS = ("Idea", "Lines", "Order", "Origin", "Differs")
ESCAPE = "house-rule-ok:"


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def code_only(text: str, strings: bool = False) -> str:
    """C source with comments and (unless `strings`) texts blanked; line numbers stay."""

    def blank(m: re.Match[str]) -> str:
        if m[0][0] in "\"'":
            return m[0] if strings else m[0][0] + " " * (len(m[0]) - 2) + m[0][0]
        return re.sub(r"[^\n]", " ", m[0])

    return TOKEN.sub(blank, text)


def includes(text: str) -> Iterator[tuple[int, bool, str]]:
    """(line, is a system header, name) of every include."""
    code = code_only(text, strings=True)
    for m in INCLUDE.finditer(code):
        yield line_of(code, m.start()), m[1] == "<", m[2]


def layer_of(path: str) -> tuple[str, Layer] | None:
    for root, layer in LAYERS.items():
        if path.startswith(root + "/"):
            return root, layer
    return None


def include_graph(path: str, text: str) -> list[str]:
    """A layer includes only what its row allows."""
    found = layer_of(path)
    if found is None:
        return [f"{path}:1: no layer of the include rules covers this directory"]
    root, layer = found
    own = root.removeprefix("clib/") + "/*" if root.startswith("clib/") else "*"
    system = [*layer.system]
    for pattern, more in layer.alone.items():
        system += more if fnmatch(path, pattern) else ()
    bad = []
    for line, is_system, name in includes(text):
        if is_system:
            ok = any(fnmatch(name, p) for p in system)
        else:
            ok = any(fnmatch(name, p) for p in layer.project)
            ok = ok or (layer.own and fnmatch(name, own) and ("/" in own or "/" not in name))
        if not ok:
            bad.append(f"{path}:{line}: {root}/ may not include {name}")
    return bad


def include_cycles(texts: dict[str, str]) -> list[str]:
    """`texts`: path in clib/ (as it is included) -> source. Each cycle is told once."""
    edges = {
        path: [name for _, is_system, name in includes(text) if not is_system and name in texts]
        for path, text in texts.items()
    }
    done: set[str] = set()
    bad: list[str] = []

    def visit(path: str, trail: list[str]) -> None:
        if path in trail:
            bad.append(
                f"{path}:1: include cycle {' -> '.join([*trail[trail.index(path) :], path])}"
            )
        elif path not in done:
            for name in edges[path]:
                visit(name, [*trail, path])
            done.add(path)

    for path in sorted(edges):
        visit(path, [])
    return bad


def _matches(path: str, text: str, pattern: re.Pattern[str], what: str) -> list[str]:
    lines = text.splitlines()
    bad = []
    for m in pattern.finditer(code_only(text)):
        start = m.start() + len(m[0]) - len(m[0].lstrip())
        line = line_of(text, start)
        if ESCAPE not in lines[line - 1]:
            bad.append(f"{path}:{line}: {what}: {' '.join(m[0].split())}")
    return bad


def low_level(path: str, text: str) -> list[str]:
    """Atomics, futex, rdtsc and inline assembly stand in clib/engine/ alone."""
    return _matches(path, text, LOW_LEVEL, "only clib/engine/ may use this")


def engine_if(path: str, text: str) -> list[str]:
    """No conditional on the engine outside clib/engine/."""
    return _matches(path, text, ENGINE_IF, "conditional on the engine")


def no_if(path: str, text: str) -> list[str]:
    """No conditional at all in locks, templates, workloads and clients."""
    return _matches(path, text, ANY_IF, "preprocessor conditional")


def no_heap(path: str, text: str) -> list[str]:
    return _matches(path, text, HEAP, "a lock may not allocate")


def no_static_data(path: str, text: str) -> list[str]:
    return _matches(path, text, STATIC_DATA, "static mutable data")


def pragma_once(path: str, text: str) -> list[str]:
    return (
        [] if re.search(r"^#pragma once$", text, re.MULTILINE) else [f"{path}:1: no #pragma once"]
    )


def spdx(path: str, text: str) -> list[str]:
    head = "\n".join(text.splitlines()[:3])
    tag = "SPDX-License-Identifier" + ": MIT"
    return [] if tag in head else [f"{path}:1: no '{tag}' in the first three lines"]


def lock_comment(path: str, text: str) -> list[str]:
    """The top comment names the lock and has the five labels, in order, each with a text."""
    comment = re.sub(r"^/\* SPDX[^\n]*\*/\s*", "", text)
    top = re.match(r"/\*(.*?)\*/", comment, re.DOTALL)
    if top is None:
        return [f"{path}:1: no top comment"]
    stem = PurePosixPath(path).stem
    bad = []
    if not re.match(rf"\s*{re.escape(stem)}\s+-\s+\S", top[1]):
        bad.append(f"{path}:1: the top comment does not begin '{stem} - ...'")
    found = re.findall(rf"^ \* ({'|'.join(LABELS)})[ \t]+\S", top[1], re.MULTILINE)
    if found != list(LABELS):
        bad.append(f"{path}:1: labels {', '.join(LABELS)} wanted in this order, found {found}")
    return bad


def symbol_of(path: str) -> str:
    """``clib/locks/mutex/3.7.c`` -> ``mutex_3_7``; a workload or client has no family."""
    pure = PurePosixPath(path)
    name = f"{pure.parent.name}_{pure.stem}" if pure.parts[1] == "locks" else pure.stem
    return re.sub(r"[.-]", "_", name)


def lock_descriptor(path: str, text: str) -> list[str]:
    """One LL_LOCK, its symbol, name and family those of the path."""
    code = code_only(text, strings=True)
    family, name = PurePosixPath(path).parent.name, PurePosixPath(path).stem
    bad = []
    symbols = re.findall(r"^LL_LOCK\((\w+)\)", code, re.MULTILINE)
    if symbols != [symbol_of(path)]:
        bad.append(f"{path}:1: wanted one LL_LOCK({symbol_of(path)}), found {symbols}")
    for member, value in (("name", name), ("family", family)):
        if not re.search(rf'\.{member}\s*=\s*"{re.escape(value)}"', code):
            bad.append(f'{path}:1: the descriptor lacks .{member} = "{value}"')
    return bad


def def_file(path: str, text: str, macro: str, sources: Iterable[str]) -> list[str]:
    """A .def lists, sorted, exactly one `macro` entry for each of `sources`."""
    entries = re.findall(rf"^{macro}\((\w+)\)$", text, re.MULTILINE)
    wanted = {symbol_of(s) for s in sources}
    bad = []
    if entries != sorted(entries):
        bad.append(f"{path}:1: not sorted")
    if len(entries) != len(set(entries)):
        bad.append(f"{path}:1: an entry stands twice")
    bad += [f"{path}:1: no file for entry {e}" for e in sorted(set(entries) - wanted)]
    bad += [f"{path}:1: no entry for {e}" for e in sorted(wanted - set(entries))]
    return bad


def no_machine_path(path: str, text: str) -> list[str]:
    """Nothing that only the author's machine has."""
    pattern = re.compile(r"(?<![\w.])/" + r"(?:work|root|tmp/w)/")
    return [
        f"{path}:{line_of(text, m.start())}: machine path {m[0]}" for m in pattern.finditer(text)
    ]


def todo_has_issue(path: str, text: str) -> list[str]:
    pattern = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(?!\s*\(?#\d+)")
    return [
        f"{path}:{line_of(text, m.start())}: {m[0]} without an issue number, as in {m[0]}(#12)"
        for m in pattern.finditer(text)
    ]


def public_package_only(path: str, text: str) -> list[str]:
    """An experiment imports the public package: no ctypes, no private module or name."""
    bad = []
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{a.name}" for a in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
        for name in names:
            parts = name.split(".")
            if parts[0] == "ctypes" or (parts[0] == "locklab" and _private(parts)):
                bad.append(f"{path}:{node.lineno}: not public: {name}")
    return bad


def _private(parts: list[str]) -> bool:
    return any(p.startswith("_") and not p.startswith("__") for p in parts)


def object_symbols(path: str, table: str) -> list[str]:
    """`objdump -t` of a release lock object: policies folded away, nothing writable.

    Constants that hold addresses stand in ``.data.rel.ro``, which the loader makes read-only.
    """
    bad = []
    for line in table.splitlines():
        m = re.match(r"[0-9a-f]+ .{7} (\S+)\s+[0-9a-f]+\s+(?:\.hidden )?(\S+)$", line)
        if m is None:
            continue
        section, symbol = m[1], m[2]
        if "policy" in symbol:
            bad.append(f"{path}:1: policy did not fold away: {symbol}")
        writable = re.match(r"\.(data(?!\.rel\.ro)|bss|tbss|tdata)|\*COM\*", section)
        if writable and symbol != section:
            bad.append(f"{path}:1: writable symbol {symbol} in {section}")
    return bad
