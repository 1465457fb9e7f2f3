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
    "engine": FOUNDATIONS - {"collective"} | {"topology", "schedule"},
    "proof": FOUNDATIONS | {"topology", "schedule", "engine"},
    "bounds": FOUNDATIONS | {"topology", "schedule", "engine"},
    "result": FOUNDATIONS | {"topology", "schedule", "engine", "bounds"},
}


def files_of(module: str) -> list[Path]:
    return [SOURCE / f"{module}.rs", *sorted((SOURCE / module).rglob("*.rs"))]


def uses(source: str) -> set[str]:
    """The modules of the crate that a source file names, outside comments."""
    code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("//"))
    single = re.findall(r"\bcrate::(\w+)", code)
    grouped = re.findall(r"\bcrate::\{([^}]*)\}", code)
    return {*single, *(name for group in grouped for name in re.findall(r"(?:^|,)\s*(\w+)", group))}


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
    """
    assert uses(source) == {"engine", "ids", "units", "proof"}


@pytest.mark.parametrize("module", [module for module in ALLOWED if (SOURCE / f"{module}.rs").exists()])
def test_a_module_uses_only_stages_to_its_left(module: str) -> None:
    files = files_of(module)
    assert files, f"no files of {module}"
    for file in files:
        right = uses(file.read_text()) - ALLOWED[module] - {module}
        assert not right, f"{file.relative_to(SOURCE)} uses {sorted(right)}"
