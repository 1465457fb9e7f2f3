"""Benchmarks time a release build or nothing, and end with a list of rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trncomm import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_benchmark.fixture import BenchmarkFixture

_RATES = pytest.StashKey[list[str]]()


@pytest.fixture(autouse=True, scope="session")
def _release_build() -> None:
    if _core.build_profile() != "release":
        pytest.exit("benchmarks need a release build: run scripts/setup", returncode=2)


@pytest.fixture
def rate(request: pytest.FixtureRequest, benchmark: BenchmarkFixture) -> Callable[[int, str], None]:
    """Says how many of something each round did; the list at the end says how many a second, by the fastest round."""

    def report(count: int, unit: str) -> None:
        benchmark.extra_info[unit] = count
        if benchmark.stats is not None:
            least: float = benchmark.stats["min"]
            line = f"{request.node.name}: {count:,} {unit}, {count / least / 1e6:.1f} million a second"
            request.config.stash.setdefault(_RATES, []).append(line)

    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the rates."""
    lines = config.stash.get(_RATES, [])
    if lines:
        terminalreporter.section("rates")
        for line in lines:
            terminalreporter.line(line)
