# SPDX-License-Identifier: MIT
"""SOURCES.md says of no file what the file does not say itself."""

import re

import pytest

from support import ROOT

DOI = re.compile(r"doi:10\.\d{4,}/[\w.()/-]*\w")
URL = re.compile(r"https://[\w./-]*\w")


def rows() -> list[tuple[str, list[str]]]:
    """(source, files that use it) of each table row."""
    text = (ROOT / "SOURCES.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    return [(source, re.findall(r"`(clib/[^`]+)`", users)) for source, users in cells]


def test_there_are_sources() -> None:
    assert len(rows()) >= 10


@pytest.mark.parametrize(("source", "users"), [r for r in rows() if r[0] not in ("paper", "text")])
def test_a_source_is_cited_by_its_users(source: str, users: list[str]) -> None:
    assert users, f"nobody uses: {source}"
    for user in users:
        text = (ROOT / user).read_text(encoding="utf-8")
        flowing = re.sub(r"\s*\n \*\s*", " ", text)  # titles wrap
        for reference in DOI.findall(source) or URL.findall(source):
            assert reference in text, f"{user} does not name {reference}"
        family_name = source.split(",")[0].split()[-1]
        if DOI.search(source):
            assert family_name in flowing, f"{user} does not name {family_name}"
