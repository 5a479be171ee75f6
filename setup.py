# SPDX-License-Identifier: MIT
"""Build of ``locklab._core`` and of the page's files; all metadata is in pyproject.toml.

The C core is built by ``clib/build.mk`` (which alone lists its sources), the binding and the
server are compiled here, and the page's files are collected in ``pybind/locklab/static/``.
A library that is absent leaves its part out; what was left out is said on stderr and stands in
``build/left-out/``, one file a part (the Makefile repeats it, because pip hides our stderr).

Environment, all optional:

``LOCKLAB_NO_MHD``, ``LOCKLAB_NO_PFM``, ``LOCKLAB_NO_CK``, ``LOCKLAB_NO_NPM``
    1: build as if libmicrohttpd, libpfm4, libck or npm were absent.
``LOCKLAB_SAN``
    ``address``: AddressSanitizer and UBSan (run it with
    ``LD_PRELOAD=$(gcc -print-file-name=libasan.so)``).
``LOCKLAB_WERROR``
    1: warnings are errors.
``LOCKLAB_BUILD``
    where clib's objects go (default ``build/native``, with the switches above in the name).
"""

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Command, Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
STATIC = ROOT / "pybind" / "locklab" / "static"
UPLOT = ROOT / "node_modules" / "uplot"
UPLOT_FILES = {
    "uPlot.iife.min.js": UPLOT / "dist" / "uPlot.iife.min.js",
    "uPlot.min.css": UPLOT / "dist" / "uPlot.min.css",
    "uPlot.LICENSE": UPLOT / "LICENSE",
}
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes"]
WARNINGS += ["-Wno-missing-field-initializers"]


def switch(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def left_out(part: str, text: str | None) -> None:
    """Say that `part` is missing from this build and why; None: it is not missing."""
    note = ROOT / "build" / "left-out" / part
    if text is None:
        note.unlink(missing_ok=True)
        return
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(text + "\n", encoding="utf-8")
    print(f"\n*** locklab: LEFT OUT of this build: {text}\n", file=sys.stderr, flush=True)


def pkg_config(*args: str) -> list[str] | None:
    """The words that pkg-config prints, or None if it is absent or does not know the library."""
    try:
        done = subprocess.run(
            [os.environ.get("PKG_CONFIG", "pkg-config"), *args],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return shlex.split(done.stdout)


def server_part(sources: list[str]) -> tuple[list[str], list[str]] | None:
    """Compile and link flags of the dashboard, or None (and said so) if it cannot be built."""
    if not sources:
        left_out("dashboard", "the dashboard (this source tree has no dashboard/*.c).")
        return None
    needs = {"libmicrohttpd": "libmicrohttpd-dev"}
    if any("<jansson.h>" in Path(s).read_text(encoding="utf-8") for s in sources):
        needs["jansson"] = "libjansson-dev"
    missing = [lib for lib in needs if pkg_config("--exists", lib) is None]
    if switch("LOCKLAB_NO_MHD"):
        missing = ["libmicrohttpd"]
    if missing:
        left_out(
            "dashboard",
            f"the dashboard, `locklab serve` and `--serve` ({' and '.join(missing)} not found). "
            f"Install {' '.join(needs[lib] for lib in missing)} and build again.",
        )
        return None
    left_out("dashboard", None)
    return pkg_config("--cflags", *needs) or [], pkg_config("--libs", *needs) or []


class Core:
    """The static library of clib/ as one build directory of clib/build.mk."""

    def __init__(self) -> None:
        self.san = os.environ.get("LOCKLAB_SAN", "")
        name = "asan" if self.san else "native"
        name += "".join(
            f"-no-{lib}" for lib in ("pfm", "ck") if switch(f"LOCKLAB_NO_{lib.upper()}")
        )
        self.dir = Path(os.environ.get("LOCKLAB_BUILD") or f"build/{name}")
        self.archive = self.dir / "liblocklab.a"

    def make(self, *goals: str) -> str:
        command = [os.environ.get("MAKE", "make"), "--no-print-directory", "-s"]
        command += ["-f", "clib/build.mk", f"-j{os.cpu_count() or 1}", f"BUILD={self.dir}"]
        command += [f"NO_{lib}=1" for lib in ("PFM", "CK") if switch(f"LOCKLAB_NO_{lib}")]
        if self.san:
            command.append(f"SAN={self.san}")
        if switch("LOCKLAB_WERROR"):
            command.append("WERROR=1")
        if os.environ.get("CC"):
            command.append(f"CC={os.environ['CC']}")
        # Not a sub-make: the flags of a Makefile that called pip are none of build.mk's business.
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        lock = ROOT / "build" / "clib.lock"
        lock.parent.mkdir(exist_ok=True)
        with lock.open("w") as held:  # two builds in one checkout take turns
            fcntl.flock(held, fcntl.LOCK_EX)
            done = subprocess.run(
                [*command, *goals], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
            )
        if done.returncode:
            raise SystemExit(f"clib did not build (see above): {shlex.join([*command, *goals])}")
        return done.stdout

    def has(self, macro: str) -> bool:
        """Did build.mk compile with ``-D<macro>=1``? Known after `make`."""
        flags = (ROOT / self.dir / "flags").read_text(encoding="utf-8")
        return f"-D{macro}=1" in flags.split()


class BuildExt(build_ext):
    """build_ext that makes clib first and links it."""

    def run(self) -> None:
        core = Core()
        if switch("LOCKLAB_WERROR"):
            for extension in self.extensions:
                extension.extra_compile_args.append("-Werror")
        core.make("lib")
        for macro, part, text in (
            (
                "HAVE_PFM",
                "libpfm4",
                "`--perf` by other than the generic names (libpfm4 not found). Install libpfm4-dev",
            ),
            ("HAVE_CK", "libck", "the locks host/ck-* (libck not found). Install libck-dev"),
        ):
            left_out(part, None if core.has(macro) else f"{text} and build again.")
        for extension in self.extensions:
            extension.extra_link_args += shlex.split(core.make("print-libs"))
            extension.depends.append(self.note_of_flags(extension))
        super().run()

    def note_of_flags(self, extension: Extension) -> str:
        """A file that is newer than the last build if its flags were others than today's."""
        note = Path(self.build_temp) / f"{extension.name}.flags"
        flags = "\n".join(
            [os.environ.get("CC", ""), *extension.sources, repr(extension.define_macros)]
            + extension.extra_compile_args
            + extension.extra_link_args
        )
        if not note.exists() or note.read_text(encoding="utf-8") != flags:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(flags, encoding="utf-8")
        return str(note)


class BuildAssets(Command):
    """Mirror dashboard/static/ and uPlot's files into the package, editable or not."""

    description = "collect the files of the live page"
    user_options: list[tuple[str, str, str]] = []
    editable_mode = False

    def initialize_options(self) -> None:
        self.build_lib = None

    def finalize_options(self) -> None:
        self.set_undefined_options("build", ("build_lib", "build_lib"))

    def run(self) -> None:
        # build_py never removes what an earlier build of a wheel left there.
        shutil.rmtree(Path(str(self.build_lib)) / "locklab" / "static", ignore_errors=True)
        source = ROOT / "dashboard" / "static"
        wanted = {str(p.relative_to(source)): p for p in source.rglob("*") if p.is_file()}
        if self.fetch_uplot():
            wanted |= UPLOT_FILES
        STATIC.mkdir(parents=True, exist_ok=True)
        for old in STATIC.rglob("*"):
            if old.is_file() and str(old.relative_to(STATIC)) not in wanted:
                old.unlink()
        for name, path in wanted.items():
            target = STATIC / name
            if not target.exists() or target.read_bytes() != path.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)

    def fetch_uplot(self) -> bool:
        """True if uPlot as pinned in package-lock.json is in node_modules/, fetched if need be."""
        lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
        pinned = lock["packages"]["node_modules/uplot"]["version"]
        why = None
        if switch("LOCKLAB_NO_NPM"):
            why = "LOCKLAB_NO_NPM is set"
        elif not self.has_uplot(pinned):
            npm = shutil.which("npm")
            why = "npm is not installed" if npm is None else self.npm_ci(npm)
        if why is None and not self.has_uplot(pinned):
            why = f"npm ci left no uplot {pinned} in node_modules"
        left_out(
            "uplot",
            why
            and f"the charts of the live page (uPlot: {why}). "
            "With npm and a network, run `npm ci` and build again.",
        )
        return why is None

    @staticmethod
    def has_uplot(version: str) -> bool:
        try:
            found = json.loads((UPLOT / "package.json").read_text(encoding="utf-8"))["version"]
        except (OSError, ValueError, KeyError):
            return False
        return bool(found == version) and all(path.is_file() for path in UPLOT_FILES.values())

    @staticmethod
    def npm_ci(npm: str) -> str | None:
        """Run ``npm ci`` for what the page itself needs; None or the reason why it failed."""
        command = [npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=300,
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            return f"npm ci failed: {e}"
        if done.returncode == 0:
            return None
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return f"npm ci failed: {lines[0] if lines else f'exit {done.returncode}'}"

    # The protocol of setuptools' sub-commands: we add no file but those of build_py's globs.
    def get_source_files(self) -> list[str]:
        return []

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class Build(build):
    sub_commands = [("build_assets", None), *build.sub_commands]


def core_extension() -> Extension:
    core = Core()
    sources = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "pybind").glob("*.c"))
    server = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "dashboard").glob("*.c"))
    flags = ["-std=gnu11", "-O2", "-g", "-fvisibility=hidden", "-fno-omit-frame-pointer"]
    flags += ["-pthread", *WARNINGS]
    # Whole: the registry finds locks by weak symbols, which pull nothing out of an archive.
    links = ["-pthread", f"-Wl,--whole-archive,{core.archive},--no-whole-archive"]
    macros: list[tuple[str, str | None]] = []
    if core.san:
        extra = ["-fsanitize=address,undefined"] if core.san == "address" else []
        if not extra:
            raise SystemExit(f"LOCKLAB_SAN={core.san}: the extension knows `address` only")
        flags += extra
        links += extra
    part = server_part(server)
    if part is None:  # the same functions, each of which says that there is no server
        sources += sorted(
            str(p.relative_to(ROOT)) for p in (ROOT / "dashboard" / "none").glob("*.c")
        )
    else:
        sources += server
        macros.append(("HAVE_MHD", "1"))
        flags += part[0]
        links += part[1]
    headers = [p for d in ("clib", "dashboard", "pybind") for p in (ROOT / d).rglob("*.h")]
    headers += (ROOT / "clib").rglob("*.def")
    return Extension(
        "locklab._core",
        sources=sources,
        include_dirs=["clib/include", "clib", "dashboard", "pybind"],
        define_macros=macros,
        extra_compile_args=flags,
        extra_link_args=links,
        depends=[str(core.archive), *sorted(str(p.relative_to(ROOT)) for p in headers)],
    )


setup(
    ext_modules=[core_extension()],
    cmdclass={"build": Build, "build_assets": BuildAssets, "build_ext": BuildExt},
)
