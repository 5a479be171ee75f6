# SPDX-License-Identifier: MIT
"""Applies house_rules.py to the tree, and shows that each rule can complain."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import pytest

import house_rules as rules
from support import ROOT, make_clib, tracked_files

SOURCE_SUFFIXES = (
    *(".c", ".h", ".def", ".mk", ".py", ".pyi", ".js", ".mjs", ".cjs", ".css", ".html", ".sh"),
)
DESCRIBED = ("clib/locks", "clib/workloads", "clib/clients")
pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout"
)


def files(*patterns: str, at_least: int) -> list[str]:
    """Project files that match; fewer than `at_least` would make the rule pass for nothing."""
    found = [
        f for f in tracked_files() if any(PurePosixPath("/" + f).match("/" + p) for p in patterns)
    ]
    assert len(found) >= at_least, f"{patterns}: {len(found)} files, at least {at_least} expected"
    return found


def under(*tops: str, suffixes: tuple[str, ...], at_least: int) -> list[str]:
    found = [
        f
        for f in tracked_files()
        if f.startswith(tuple(f"{t}/" for t in tops)) and f.endswith(suffixes)
    ]
    assert len(found) >= at_least, f"{tops}: {len(found)} files, at least {at_least} expected"
    return found


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def apply(rule: rules.Rule, paths: Iterable[str]) -> None:
    bad = [complaint for path in paths for complaint in rule(path, read(path))]
    assert not bad, "\n" + "\n".join(bad)


def lock_files() -> list[str]:
    return files("clib/locks/*/*.c", at_least=16)


def test_include_graph() -> None:
    tops = ("clib", "pybind", "dashboard")
    apply(rules.include_graph, under(*tops, suffixes=(".c", ".h"), at_least=50))


def test_no_include_cycles() -> None:
    headers = under("clib", suffixes=(".c", ".h", ".def"), at_least=40)
    bad = rules.include_cycles({h.removeprefix("clib/"): read(h) for h in headers})
    assert not bad, "\n".join(bad)


def test_headers_compile_alone() -> None:
    headers = under("clib", "pybind", "dashboard", suffixes=(".h",), at_least=15)
    python = sysconfig.get_path("include")
    base = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c"]
    base += [f"-I{d}" for d in ("clib", "clib/include", "dashboard", "pybind", python)]
    virtual = ("-DLL_BUILD=virtual", "-DENG_VIRTUAL")
    native = ("-DLL_BUILD=native",)
    jobs = []
    for header in headers:
        name = PurePosixPath(header).name
        modes = [virtual if name.startswith("virtual") else native]
        if header.startswith(DESCRIBED) or name in ("lock.h", "workload.h", "client.h"):
            modes = [native, virtual]
        jobs += [[*base, *mode, "-include", header, "/dev/null"] for mode in modes]

    def compile_one(command: list[str]) -> str:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return "" if done.returncode == 0 else f"{command[-2]}:\n{done.stderr}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [text for text in pool.map(compile_one, jobs) if text]
    assert not bad, "\n".join(bad)


def test_headers_are_guarded_by_pragma_once() -> None:
    apply(rules.pragma_once, under("clib", "pybind", "dashboard", suffixes=(".h",), at_least=15))


def test_lock_files_have_the_five_labels() -> None:
    apply(rules.lock_comment, lock_files())


def test_lock_descriptors_bear_the_name_of_their_path() -> None:
    apply(rules.lock_descriptor, lock_files())


@pytest.mark.parametrize(
    ("name", "macro", "sources", "at_least"),
    [
        ("clib/locks/locks.def", "LL_LOCK_ENTRY", "clib/locks/*/*.c", 16),
        ("clib/workloads/workloads.def", "LL_WORKLOAD_ENTRY", "clib/workloads/*.c", 1),
        ("clib/clients/clients.def", "LL_CLIENT_ENTRY", "clib/clients/*.c", 1),
    ],
)
def test_def_files_list_the_sources(name: str, macro: str, sources: str, at_least: int) -> None:
    bad = rules.def_file(name, read(name), macro, files(sources, at_least=at_least))
    assert not bad, "\n".join(bad)


def test_engine_is_chosen_in_the_shim_alone() -> None:
    paths = under("clib", "pybind", "dashboard", suffixes=(".c", ".h", ".def"), at_least=50)
    apply(rules.engine_if, [p for p in paths if not p.startswith("clib/engine/")])


def test_algorithms_have_no_conditionals() -> None:
    apply(rules.no_if, under(*DESCRIBED, suffixes=(".c", ".h", ".def"), at_least=20))


def test_low_level_code_stands_in_the_engine_alone() -> None:
    paths = under("clib", "pybind", "dashboard", suffixes=(".c", ".h"), at_least=50)
    apply(rules.low_level, [p for p in paths if not p.startswith("clib/engine/")])


def test_locks_neither_allocate_nor_keep_static_data() -> None:
    paths = under(*DESCRIBED, suffixes=(".c", ".h"), at_least=20)
    apply(rules.no_heap, paths)
    apply(rules.no_static_data, paths)


def test_release_lock_objects_hold_no_policy_and_nothing_writable() -> None:
    directory = make_clib("native", "lib")
    bad: list[str] = []
    for build in ("native", "bare"):
        for path in lock_files():
            obj = directory / build / path.removeprefix("clib/").replace(".c", ".o")
            if "/host/ck-" in path and not obj.exists():
                continue  # built without libck, which the build has said
            done = subprocess.run(
                ["objdump", "-t", obj], capture_output=True, text=True, check=True
            )
            assert f"ll_lock_{rules.symbol_of(path)}_{build}" in done.stdout
            bad += rules.object_symbols(str(obj.relative_to(ROOT)), done.stdout)
    assert not bad, "\n".join(bad)


def test_every_source_names_its_licence() -> None:
    sources = [
        f
        for f in tracked_files()
        if f.endswith(SOURCE_SUFFIXES) or f == "Makefile" or f.startswith(".ci/")
    ]
    assert len(sources) >= 60
    apply(rules.spdx, sources)


def text_files() -> list[str]:
    texts = [f for f in tracked_files() if b"\0" not in (ROOT / f).read_bytes()[:8192]]
    assert len(texts) >= 60
    return texts


def test_no_path_of_the_authors_machine() -> None:
    apply(rules.no_machine_path, text_files())


def test_every_todo_has_an_issue() -> None:
    apply(
        rules.todo_has_issue, [f for f in text_files() if not f.endswith((".lock", "-lock.json"))]
    )


def test_experiments_use_the_public_package() -> None:
    apply(rules.public_package_only, files("experiments/*.py", at_least=1))


# --- each rule can complain ---------------------------------------------------------------------

GOOD_TOP = """/* SPDX-License-Identifier: MIT */
/* mcs - queue lock
 *
 * Idea     The lock is a tail pointer.
 * Lines    One.
 * Order    FIFO.
 * Origin   A paper.
 * Differs  Nothing.
 */
"""
DESCRIPTOR = 'LL_LOCK(spin_mcs) = {\n    .name = "mcs",\n    .family = "spin",\n};\n'
AT = "0000000000000000"
MCS = "clib/locks/spin/mcs.c"
BREAKS: list[tuple[rules.Rule, str, str]] = [
    (rules.include_graph, MCS, "#include <stdint.h>\n"),
    (rules.include_graph, MCS, '#include "core/topology.h"\n'),
    (rules.include_graph, MCS, "#include <pthread.h>\n"),
    (rules.include_graph, "clib/core/rng.c", '#include "metrics/hist.h"\n'),
    (rules.include_graph, "clib/core/rng.c", "#include <hwloc.h>\n"),
    (rules.include_graph, "clib/include/locklab.h", "#include <stdio.h>\n"),
    (rules.include_graph, "clib/metrics/hist.c", "#include <linux/perf_event.h>\n"),
    (rules.include_graph, "clib/workloads/a.c", '#include "run/run.h"\n'),
    (rules.include_graph, "pybind/run_type.c", '#include "core/lock.h"\n'),
    (rules.include_graph, "dashboard/server.c", "#include <Python.h>\n"),
    (rules.include_graph, "clib/newdir/a.c", ""),
    (rules.low_level, "clib/run/run.c", "#include <stdatomic.h>\n"),
    (rules.low_level, "clib/run/run.c", "static _Atomic int x;\n"),
    (rules.low_level, "clib/run/run.c", "x = __atomic_load_n(&y, __ATOMIC_RELAXED);\n"),
    (rules.low_level, "clib/run/run.c", "syscall(SYS_futex, &x);\n"),
    (rules.low_level, "clib/run/run.c", "t = __rdtscp(&aux);\n"),
    (rules.low_level, "clib/run/run.c", '__asm__ volatile("pause");\n'),
    (rules.low_level, "clib/run/run.c", 'asm("pause");\n'),
    (rules.engine_if, "clib/run/run.c", "#ifdef ENG_VIRTUAL\n#endif\n"),
    (rules.engine_if, "clib/run/run.c", "#if defined(LL_BUILD_BARE)\n#endif\n"),
    (rules.engine_if, "clib/run/run.c", "#elif X && LL_ENGINE == 1\n"),
    (rules.no_if, MCS, "#  if 0\n#endif\n"),
    (rules.no_if, "clib/locks/spin/spin_tmpl.h", "#ifndef SPIN_H\n"),
    (rules.no_heap, MCS, "p = malloc(3);\n"),
    (rules.no_static_data, MCS, "static int turns;\n"),
    (rules.no_static_data, MCS, "static struct node *pool[4] = {0};\n"),
    (rules.pragma_once, "clib/core/rng.h", "#ifndef RNG_H\n#define RNG_H\n#endif\n"),
    (rules.spdx, MCS, "/* mcs - queue lock */\n"),
    (rules.lock_comment, MCS, GOOD_TOP.replace(" * Differs  Nothing.\n", "")),
    (rules.lock_comment, MCS, GOOD_TOP.replace("Nothing.", "")),
    (rules.lock_comment, MCS, GOOD_TOP.replace("mcs -", "clh -")),
    (rules.lock_comment, MCS, DESCRIPTOR),
    (rules.lock_descriptor, MCS, DESCRIPTOR.replace("spin_mcs", "spin_clh")),
    (rules.lock_descriptor, MCS, DESCRIPTOR.replace('"mcs"', '"clh"')),
    (rules.lock_descriptor, MCS, DESCRIPTOR.replace('"spin"', '"mutex"')),
    (rules.lock_descriptor, MCS, DESCRIPTOR + DESCRIPTOR),
    (rules.no_machine_path, "README.md", "see /" + "work/main/README\n"),
    (rules.no_machine_path, "README.md", "`/" + "root/x`\n"),
    (rules.todo_has_issue, "a.c", "/* TO" + "DO: think */\n"),
    (rules.todo_has_issue, "a.py", "# FIX" + "ME later\n"),
    (rules.public_package_only, "experiments/a.py", "import ctypes\n"),
    (rules.public_package_only, "experiments/a.py", "from locklab import _core\n"),
    (rules.public_package_only, "experiments/a.py", "import locklab\nlocklab._core.run()\n"),
    (rules.object_symbols, "mcs.o", f"{AT} l     O .rodata\t0000000000000002 policy\n"),
    (rules.object_symbols, "mcs.o", f"{AT} l     O .bss\t0000000000000004 turns.0\n"),
    (rules.object_symbols, "mcs.o", f"{AT} l     O .data.x\t0000000000000004 turns.0\n"),
    (rules.object_symbols, "mcs.o", f"{AT} g     O .data\t0000000000000004 .hidden x\n"),
]
KEEPS: list[tuple[rules.Rule, str, str]] = [
    (rules.include_graph, MCS, '#include "core/lock.h"\n/* #include <stdio.h> */\n'),
    (rules.include_graph, MCS, '#include "locks/spin/queue_tmpl.h"\n'),
    (rules.include_graph, "clib/locks/host/ck-mcs.c", "#include <ck_spinlock.h>\n"),
    (rules.include_graph, "clib/core/topology.c", "#include <hwloc.h>\n#include <string.h>\n"),
    (rules.include_graph, "clib/metrics/perf_open.c", "#include <linux/perf_event.h>\n"),
    (rules.include_graph, "pybind/a.c", '#include <Python.h>\n#include "state.h"\n'),
    (rules.low_level, "clib/run/run.c", '/* the futex */ say("rdtsc");\n'),
    (rules.low_level, "clib/run/run.c", "futex(&x); /* house-rule-ok: the reason */\n"),
    (rules.engine_if, "clib/run/run.c", "#ifdef HAVE_PFM\n#endif\n"),
    (rules.no_static_data, MCS, "static const struct spin_policy policy = { 0 };\n"),
    (rules.no_static_data, MCS, "static void acquire(void *lock, void *node)\n{\n    x = 1;\n}\n"),
    (rules.lock_comment, MCS, GOOD_TOP + DESCRIPTOR),
    (rules.lock_descriptor, MCS, GOOD_TOP + DESCRIPTOR),
    (rules.no_machine_path, "README.md", "https://example.org/work/x and tests/root/x\n"),
    (rules.todo_has_issue, "a.c", "/* TO" + "DO(#12): think */\n"),
    (rules.public_package_only, "experiments/a.py", "import locklab\nlocklab.__version__\n"),
    (rules.object_symbols, "mcs.o", f"{AT} g     O .data.rel.ro\t0000000000000040 .hidden ll\n"),
    (rules.object_symbols, "mcs.o", f"{AT} l    d  .bss\t0000000000000000 .bss\n"),
]


def ids(cases: list[tuple[rules.Rule, str, str]]) -> list[str]:
    return [f"{rule.__name__}-{i}" for i, (rule, _, _) in enumerate(cases)]


@pytest.mark.parametrize(("rule", "path", "text"), BREAKS, ids=ids(BREAKS))
def test_a_rule_complains(rule: rules.Rule, path: str, text: str) -> None:
    complaints = rule(path, text)
    assert complaints
    assert all(c.startswith(f"{path}:") for c in complaints)


@pytest.mark.parametrize(("rule", "path", "text"), KEEPS, ids=ids(KEEPS))
def test_a_rule_accepts(rule: rules.Rule, path: str, text: str) -> None:
    assert rule(path, text) == []


def test_every_rule_is_shown_to_complain() -> None:
    named = {
        f
        for f in vars(rules).values()
        if callable(f) and getattr(f, "__annotations__", {}).get("return") == list[str]
    }
    per_file = {
        f for f in named if list(f.__annotations__)[:1] == ["path"] and f.__name__[0] != "_"
    }
    per_file.discard(rules.def_file)
    assert {rule for rule, _, _ in BREAKS} == per_file


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("LL_LOCK_ENTRY(spin_mcs)\n", "no entry for mutex_3_7"),
        ("LL_LOCK_ENTRY(mutex_3_7)\nLL_LOCK_ENTRY(spin_mcs)\nLL_LOCK_ENTRY(spin_tas)\n", "no file"),
        ("LL_LOCK_ENTRY(spin_mcs)\nLL_LOCK_ENTRY(mutex_3_7)\n", "not sorted"),
        ("LL_LOCK_ENTRY(mutex_3_7)\n" * 2 + "LL_LOCK_ENTRY(spin_mcs)\n", "twice"),
        ("LL_LOCK_ENTRY(mutex_3_7)\nLL_LOCK_ENTRY(spin_mcs)\n", ""),
    ],
)
def test_def_file_complains(text: str, word: str) -> None:
    sources = ["clib/locks/mutex/3.7.c", MCS]
    complaints = rules.def_file("locks.def", text, "LL_LOCK_ENTRY", sources)
    assert word in "\n".join(complaints)
    assert bool(complaints) == bool(word)


def test_include_cycle_complains() -> None:
    texts = {"a.h": '#include "b.h"\n', "b.h": '#include "c.h"\n', "c.h": '#include "a.h"\n'}
    assert "a.h -> b.h -> c.h -> a.h" in rules.include_cycles(texts)[0]
    assert rules.include_cycles(texts | {"c.h": ""}) == []


def test_the_compile_alone_check_complains(tmp_path: Path) -> None:
    header = tmp_path / "broken.h"
    header.write_text("#pragma once\nuint32_t f(size_t n);\n")
    command = ["gcc", "-fsyntax-only", "-x", "c", "-include", str(header), "/dev/null"]
    assert subprocess.run(command, capture_output=True).returncode != 0
