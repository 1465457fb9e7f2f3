"""A module of the core uses only the stages to its left."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "rust/trncomm-core/src"

FOUNDATIONS = {"collective", "error", "ids", "random", "units"}

# What each module may use, beside itself. The engine knows no collectives and no algorithms.
ALLOWED = {
    "collective": FOUNDATIONS,
    "error": FOUNDATIONS,
    "ids": FOUNDATIONS,
    "random": FOUNDATIONS,
    "units": FOUNDATIONS,
    "topology": FOUNDATIONS - {"collective"},
    "schedule": FOUNDATIONS,
    "algorithm": FOUNDATIONS | {"topology", "schedule"},
    "quotient": FOUNDATIONS | {"topology", "schedule"},
    "engine": FOUNDATIONS - {"collective"} | {"topology", "schedule", "quotient"},
    "proof": FOUNDATIONS | {"topology", "schedule", "engine"},
    "bounds": FOUNDATIONS | {"topology", "schedule", "engine"},
    "result": FOUNDATIONS | {"topology", "schedule", "engine", "bounds"},
}


def files_of(module: str) -> list[Path]:
    return [SOURCE / f"{module}.rs", *sorted((SOURCE / module).rglob("*.rs"))]


def uses(source: str, *, depth: int) -> set[str]:
    """The modules of the crate that a source file names, outside comments; it is so many levels below the crate."""
    code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("//"))
    root = rf"(?:\bcrate|(?<!::)\b(?:super::){{{depth - 1},}}super)::"
    single = re.findall(rf"{root}(\w+)", code)
    grouped = re.findall(rf"{root}\{{([^}}]*)\}}", code)
    named = {*single, *(name for group in grouped for name in re.findall(r"(?:^|,)\s*(\w+)", group))}
    return named & ALLOWED.keys()


def test_every_module_is_in_the_table() -> None:
    modules = set(re.findall(r"^pub mod (\w+);", (SOURCE / "lib.rs").read_text(), re.MULTILINE))
    assert "engine" in modules, "the list of modules was not found"
    assert modules <= ALLOWED.keys(), "a new module needs a row that says what it may use"


def test_the_scan_sees_every_form_of_use() -> None:
    source = """
        use crate::engine::run;
        // use crate::result::X;
        use crate::{ids::RankId, units};
        let x = crate::proof::f();
        use super::super::bounds::Bound;
        use super::algorithm::X;
    """
    assert uses(source, depth=2) == {"engine", "ids", "units", "proof", "bounds"}
    assert uses(source, depth=1) == {"engine", "ids", "units", "proof", "bounds", "algorithm"}


@pytest.mark.parametrize("module", ALLOWED)
def test_a_module_uses_only_stages_to_its_left(module: str) -> None:
    for file in files_of(module):
        path = file.relative_to(SOURCE)
        right = uses(file.read_text(), depth=len(path.parts)) - ALLOWED[module] - {module}
        assert not right, f"{path} uses {sorted(right)}"
