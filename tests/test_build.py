# SPDX-License-Identifier: MIT
"""The set-up itself: make's targets, system packages, pins, and builds with parts missing."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from support import ROOT, clean_environment

TARGETS = [
    "demo",
    "test",
    "test-quick",
    "test-slow",
    "build",
    "bench",
    "serve",
    "lint",
    "format",
    "clean",
    "help",
]
needs_git = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout"
)


def run(*command: object, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=clean_environment() | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
    )


def succeed(*command: object, cwd: Path = ROOT, **env: str) -> str:
    done = run(*command, cwd=cwd, **env)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-5000:]}"
    return done.stdout + done.stderr


def test_make_alone_lists_every_target() -> None:
    listed = re.findall(r"^  make (\S+) +\S", succeed("make"), re.MULTILINE)
    assert sorted(listed) == sorted(TARGETS)


def stub(directory: Path, name: str, body: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with a shell and an unprivileged user, and nothing to build with."""
    for tool in ("bash", "sh", "dirname"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "/nowhere")
    stub(tmp_path, "id", "echo 1000")
    return tmp_path


def test_missing_packages_are_named(bare_path: Path) -> None:
    stub(bare_path, "apt-get", "echo must not run >&2; exit 99")
    done = run(ROOT / ".ci/packages", "build", PATH=str(bare_path), PACKAGES="")
    assert done.returncode == 1
    command = re.search(r"sudo apt-get install -y --no-install-recommends (.+)", done.stderr)
    assert command is not None, done.stderr
    wanted = (
        "gcc libc6-dev pkg-config libhwloc-dev libmicrohttpd-dev libpfm4-dev libck-dev python3-venv"
    )
    assert set(wanted.split()) <= set(command[1].split())
    assert "must not run" not in done.stderr


def test_missing_packages_are_named_without_apt(bare_path: Path) -> None:
    done = run(ROOT / ".ci/packages", "lint", PATH=str(bare_path), PACKAGES="")
    assert done.returncode == 1
    assert "clang" in done.stderr
    assert "apt-get install" not in done.stderr


def test_missing_packages_can_be_passed_over(bare_path: Path) -> None:
    done = run(ROOT / ".ci/packages", "test", PATH=str(bare_path), PACKAGES="skip")
    assert done.returncode == 0
    assert "Chromium" in done.stderr


def test_root_installs_what_is_missing_and_only_that(bare_path: Path) -> None:
    stub(bare_path, "id", "echo 0")
    stub(bare_path, "git", "true")
    stub(bare_path, "apt-get", f'echo "$@" >>{bare_path}/asked')
    done = run(ROOT / ".ci/packages", "test", PATH=str(bare_path), PACKAGES="")
    assert done.returncode == 0, done.stderr
    update, install = (bare_path / "asked").read_text().splitlines()
    assert update.endswith(" update")
    assert install.split(" install ")[1].split() == ["--no-install-recommends", "chromium"]


def test_a_failing_installation_is_shown(bare_path: Path) -> None:
    stub(bare_path, "id", "echo 0")
    stub(bare_path, "apt-get", "echo E: no route to the mirror >&2; exit 100")
    done = run(ROOT / ".ci/packages", "lint", PATH=str(bare_path), PACKAGES="")
    assert done.returncode == 1
    assert "E: no route to the mirror\napt-get could not install: clang\n" in done.stderr


def test_an_old_python_is_refused_in_a_sentence(bare_path: Path) -> None:
    stub(bare_path, "python3", 'case $1 in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    done = run(ROOT / ".ci/find-python", PATH=str(bare_path), PYTHON="")
    assert done.returncode == 1
    assert "needs Python 3.11 or later; found: Python 3.9.2" in done.stderr
    stub(bare_path, "python3.12", "exit 0")
    done = run(ROOT / ".ci/find-python", PATH=str(bare_path), PYTHON="")
    assert done.stdout.strip() == str(bare_path / "python3.12")


def test_pins_cover_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock, re.MULTILINE))
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    for requirement in wanted:
        name = re.match(r"[\w-]+", requirement)
        assert name is not None
        assert name[0] in pins, f"{requirement} is not in requirements-dev.lock"
    assert lock.count("--hash=sha256:") >= len(pins)


def test_npm_lock_agrees_with_its_manifest() -> None:
    manifest = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    locked = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, version in (manifest["dependencies"] | manifest["devDependencies"]).items():
        assert locked[f"node_modules/{name}"]["version"] == version
        assert locked[f"node_modules/{name}"]["integrity"].startswith("sha512-")


def test_absent_headers_are_noticed(tmp_path: Path) -> None:
    stub(tmp_path, "no-headers", "exit 1")
    make = ("make", "-s", "-f", "clib/build.mk", f"BUILD={tmp_path}", "print-libs")
    assert "-lpfm" not in succeed(*make, f"CC={tmp_path}/no-headers").split()
    stub(tmp_path, "all-headers", "exit 0")
    assert "-lpfm" in succeed(*make, f"CC={tmp_path}/all-headers").split()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("clone") / "locklab"
    # What clone starts for a local source reads this of all configuration only from a file.
    config = target.with_name("gitconfig")
    config.write_text("[safe]\n\tdirectory = *\n", encoding="utf-8")
    clone = ("git", "clone", "--quiet", "--no-hardlinks", ROOT, target)
    succeed(*clone, GIT_CONFIG_GLOBAL=str(config))
    return target


def build_into(clone: Path, target: Path, **env: str) -> str:
    """Build the package into `target` as a wheel would; returns all that the build said."""
    command = [sys.executable, "setup.py", "-q", "build", "--build-lib", target]
    return succeed(*command, "--build-temp", f"{target}-temp", cwd=clone, **env)


@needs_git
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pip_install_from_a_clean_clone(clone: Path, tmp_path: Path) -> None:
    succeed(sys.executable, "-m", "venv", tmp_path / "venv")
    succeed(tmp_path / "venv/bin/pip", "install", "--quiet", ".", cwd=clone)
    listed = json.loads(
        subprocess.run(
            [tmp_path / "venv/bin/locklab", "list", "locks", "--json"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        ).stdout
    )
    assert {"spin/mcs", "host/pthread-mutex"} <= {lock["id"] for lock in listed["locks"]}
    assert succeed("git", "status", "--porcelain", cwd=clone) == "", "the build left files behind"
    [package] = (tmp_path / "venv/lib").glob("python*/site-packages/locklab")
    assert (package / "py.typed").is_file()
    assert (package / "_core.pyi").is_file()
    assert list((package / "schema").glob("*.json"))
    page = {p.name for p in (package / "static").rglob("*")}
    assert {"index.html", "uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE"} <= page


@needs_git
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_build_with_parts_missing_says_so_and_works(clone: Path, tmp_path: Path) -> None:
    target = tmp_path / "lib"
    switches = {f"LOCKLAB_NO_{lib}": "1" for lib in ("MHD", "PFM", "CK", "NPM")}
    said = build_into(clone, target, **switches)
    for word in ("libmicrohttpd", "libpfm4", "libck", "uPlot"):
        assert re.search(rf"LEFT OUT of this build: .*{word}", said), word
    undefined = succeed("nm", "-D", "--undefined-only", *target.glob("locklab/_core*.so"))
    assert "MHD_" not in undefined
    assert "pfm_" not in undefined
    env = {"PYTHONPATH": str(target), "NO_COLOR": "1"}
    locklab = (sys.executable, "-m", "locklab")
    listed = json.loads(succeed(*locklab, "list", "locks", "--json", cwd=tmp_path, **env))
    names = {lock["id"] for lock in listed["locks"]}
    assert "spin/mcs" in names
    assert not [name for name in names if name.startswith("host/ck-")]
    told = succeed(*locklab, "doctor", cwd=tmp_path, **env)
    for word in ("libmicrohttpd", "libpfm", "libck", "uPlot"):
        assert word in told, f"doctor does not mention {word}"
    serve = run(*locklab, "serve", "--port", "0", cwd=tmp_path, **env)
    assert serve.returncode in (2, 3)
    assert "libmicrohttpd" in serve.stderr
    assert "Traceback" not in serve.stderr
    assert not list(target.glob("locklab/static/uPlot*"))


@needs_git
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_header_edit_rebuilds_and_nothing_else_does(clone: Path, tmp_path: Path) -> None:
    target = tmp_path / "lib"

    def built_at() -> int:
        build_into(clone, target, LOCKLAB_NO_NPM="1")
        [extension] = target.glob("locklab/_core*.so")
        return extension.stat().st_mtime_ns

    first = built_at()
    assert built_at() == first
    os.utime(clone / "clib/core/lock.h")
    second = built_at()
    assert second > first
    build_into(clone, target, LOCKLAB_NO_NPM="1", LOCKLAB_NO_MHD="1")
    [extension] = target.glob("locklab/_core*.so")
    assert extension.stat().st_mtime_ns > second, "a switch must rebuild too"
