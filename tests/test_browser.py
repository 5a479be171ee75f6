# SPDX-License-Identifier: MIT
"""The live page in the system's Chromium: one item a file of tests/browser/*.test.mjs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

BROWSER = ROOT / "tests" / "browser"
LIMIT_S = 240  # a file takes 5 to 25 s on an idle machine


def run_node_tests(file: Path) -> None:
    """Run one file with node's test runner; its report is the message of a failure."""
    command = ["node", "--test", "--test-reporter=spec", str(file)]
    env = os.environ | {"LOCKLAB_PYTHON": sys.executable}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode:
        pytest.fail(f"{file.name}\n{done.stdout}\n{done.stderr}", pytrace=False)
    assert "ℹ pass 0" not in done.stdout, f"{file.name} ran no test"  # noqa: RUF001


@pytest.mark.browser
@pytest.mark.timeout(LIMIT_S + 20)
@pytest.mark.parametrize("name", ["access", "figures", "form", "live", "saved"])
def test_page_with_a_fake_server(name: str) -> None:
    if name == "access" and not (ROOT / "node_modules" / "axe-core").is_dir():
        pytest.skip("node_modules/axe-core is missing (npm ci)")
    run_node_tests(BROWSER / f"{name}.test.mjs")


@pytest.mark.browser
@pytest.mark.dashboard
@pytest.mark.native
@pytest.mark.timeout(LIMIT_S + 20)
def test_run_started_from_the_page_of_the_real_server() -> None:
    run_node_tests(BROWSER / "serve.test.mjs")


def test_every_file_of_tests_is_run() -> None:
    files = {path.name.removesuffix(".test.mjs") for path in BROWSER.glob("*.test.mjs")}
    assert files == {"access", "figures", "form", "live", "saved", "serve"}
