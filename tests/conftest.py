# SPDX-License-Identifier: MIT
"""Hypothesis profiles, and what a test marked `browser` or `dashboard` needs from the machine."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import IN_CI, ROOT

# `ci` repeats itself exactly; `pytest --hypothesis-profile=deep` looks for what it has not seen.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", deadline=None, max_examples=3000, print_blob=True)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top directory of the source tree."""
    return ROOT


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def missing_for_browser() -> str | None:
    if shutil.which("node") is None:
        return "node is not installed"
    if not (ROOT / "node_modules" / "playwright-core").is_dir():
        return "node_modules/playwright-core is missing (npm ci)"
    if chromium() is None:
        return "no Chromium on PATH"
    return None


def missing_for_dashboard() -> str | None:
    note = ROOT / "build" / "left-out" / "dashboard"
    return note.read_text(encoding="utf-8").strip() if note.is_file() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the reason, what cannot run here; under CI nothing may be missing."""
    checks = {"browser": missing_for_browser(), "dashboard": missing_for_dashboard()}
    for item in items:
        for marker, why in checks.items():
            if why is None or item.get_closest_marker(marker) is None:
                continue
            if IN_CI:
                raise pytest.UsageError(f"CI must run the {marker} tests, but: {why}")
            item.add_marker(pytest.mark.skip(reason=why))
