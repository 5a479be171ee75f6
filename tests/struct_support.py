# SPDX-License-Identifier: MIT
"""What the C header and the stub say of a struct, to hold them against each other and the dicts."""

import ast
import re
from pathlib import Path

from locklab import _core
from support import ROOT


def members(struct: str) -> set[str]:
    """Names of the members of a struct of locklab.h, but for the two that version it."""
    header = (ROOT / "clib/include/locklab.h").read_text(encoding="utf-8")
    found = re.search(rf"^struct {struct} {{(.*?)^}};", header, re.DOTALL | re.MULTILINE)
    assert found, struct
    body = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)
    names = [re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", part.strip()) for part in body.split(";")]
    return {name for part in names for name in part} - {"size", "version"}


def typed_keys(name: str) -> set[str]:
    """Keys of a TypedDict of the stub."""
    stub = Path(_core.__file__).with_name("_core.pyi")
    if not stub.exists():
        stub = ROOT / "pybind/locklab/_core.pyi"
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            }
    raise AssertionError(f"the stub has no {name}")
