"""ASTRA-sim's closed forms, reproduced to the nanosecond."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("astra_sim_page", ROOT / "scripts" / "astra_sim.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


ASTRA = script()


@pytest.mark.parametrize("case", ASTRA.CASES, ids=lambda case: case.name)
def test_a_closed_form_is_met_to_the_nanosecond(case: object) -> None:
    assert ASTRA.like_astra_sim_ns(case) == case.expected_ns  # type: ignore[attr-defined]


def test_the_page_shows_every_case() -> None:
    text = (ROOT / "docs" / "validation" / "astra-sim.md").read_text(encoding="utf-8")
    assert len(ASTRA.CASES) == 41
    assert all(f"| {case.name} | {case.expected_ns:,} | {case.expected_ns:,} |" in text for case in ASTRA.CASES)


def test_every_closed_form_of_the_file_is_here() -> None:
    file = Path(os.environ.get("TRNCOMM_SHARED", ROOT.parent / "shared")) / "cases" / "astra-sim.json"
    if not file.exists():
        pytest.skip(f"{file} is not at hand; TRNCOMM_SHARED may name another place")
    closed = {
        case["id"]: case["sim_time_ns"] for case in json.loads(file.read_text())["cases"] if case["closed_form_exact"]
    }
    assert closed == {case.name: case.expected_ns for case in ASTRA.CASES}
