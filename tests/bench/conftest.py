"""Benchmarks time a release build or nothing."""

from __future__ import annotations

import pytest

from trncomm import _core


@pytest.fixture(autouse=True, scope="session")
def _release_build() -> None:
    if _core.build_profile() != "release":
        pytest.exit("benchmarks need a release build: run scripts/setup", returncode=2)
