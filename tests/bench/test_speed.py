"""How fast the engine is; `pytest tests/bench --benchmark-enable` times it, an ordinary run only tries each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trncomm as tc

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from trncomm.simulation import Model


@pytest.mark.parametrize(
    ("collective", "algorithm", "size", "model"),
    [
        ("all_to_all", "direct", "64MiB", "packet"),
        ("all_reduce", "ring", "64MiB", "packet"),
        ("all_to_all", "pairwise", "64MiB", "loggp"),
        ("all_reduce", "ring", "64MiB", "loggp"),
    ],
)
def test_a_run_on_the_ultraserver(
    benchmark: BenchmarkFixture, ultraserver: tc.Topology, collective: str, algorithm: str, size: str, model: Model
) -> None:
    schedule = tc.build(ultraserver, collective, algorithm)
    result = benchmark(tc.run, ultraserver, schedule, size, model=model)
    benchmark.extra_info |= {"packet_hops": result.packet_hops, "messages": result.messages}
    assert result.time_ps > 0


def test_building_a_ring_of_100_800_ranks(benchmark: BenchmarkFixture) -> None:
    cluster = tc.Topology.switch(100_800, bandwidth="25GB/s", latency="1us")
    schedule = benchmark(tc.build, cluster, "all_reduce", "ring")
    assert schedule.ranks == 100_800


def test_proving_a_ring_on_the_ultraserver(benchmark: BenchmarkFixture, ultraserver: tc.Topology) -> None:
    schedule = tc.build(ultraserver, "all_reduce", "ring")
    proof = benchmark(tc.verify, schedule)
    assert proof.messages == 2 * 143 * 144
