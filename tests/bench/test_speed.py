"""How fast the engine is; `pytest tests/bench --benchmark-enable` times it, an ordinary run only tries each once.

What is asserted is how much was done, which is the same in every run; how fast is printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trncomm as tc

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_benchmark.fixture import BenchmarkFixture

    from trncomm.simulation import Model

    Rate = Callable[[int, str], None]

RANKS = 144
SIZE = 16 << 20
PACKETS = 29
"""Of 4 KiB, in a block of 16 MiB over 144 ranks."""
MESSAGES = {
    ("all_to_all", "direct"): RANKS * (RANKS - 1),
    ("all_to_all", "pairwise"): RANKS * (RANKS - 1),
    ("all_reduce", "ring"): 2 * RANKS * (RANKS - 1),
}


@pytest.fixture(scope="module")
def switch() -> tc.Topology:
    """As many chips at one switch."""
    return tc.Topology.switch(RANKS, bandwidth="320GB/s", latency="125ns").with_packets(payload="4KiB", header=0)


@pytest.mark.parametrize(("collective", "algorithm"), MESSAGES)
def test_packets_at_a_switch(
    benchmark: BenchmarkFixture, rate: Rate, switch: tc.Topology, collective: str, algorithm: str
) -> None:
    """At least 20 million packet-hops a second on a core."""
    schedule = tc.build(switch, collective, algorithm)
    result = benchmark(tc.run, switch, schedule, SIZE, model="packet")
    rate(result.packet_hops, "packet-hops")
    assert result.packet_hops == 2 * PACKETS * MESSAGES[collective, algorithm]


@pytest.mark.parametrize(("collective", "algorithm"), MESSAGES)
@pytest.mark.parametrize("model", ["packet", "flow", "loggp"])
def test_a_run_on_the_ultraserver(
    benchmark: BenchmarkFixture,
    rate: Rate,
    ultraserver: tc.Topology,
    collective: str,
    algorithm: str,
    model: Model,
) -> None:
    """At least 20 million packet-hops a second, and 3 million messages by `loggp`."""
    schedule = tc.build(ultraserver, collective, algorithm)
    result = benchmark(tc.run, ultraserver, schedule, SIZE, model=model)
    if model == "packet":
        rate(result.packet_hops, "packet-hops")
        assert result.packet_hops >= PACKETS * result.messages
    else:
        rate(result.messages, "messages")
    assert result.messages == MESSAGES[collective, algorithm]


@pytest.mark.parametrize(("collective", "algorithm"), [("all_reduce", "ring"), ("all_to_all", "pairwise")])
def test_building_a_schedule_of_100_800_ranks(benchmark: BenchmarkFixture, collective: str, algorithm: str) -> None:
    """Under 10 milliseconds."""
    cluster = tc.Topology.switch(100_800, bandwidth="25GB/s", latency="1us")
    schedule = benchmark(tc.build, cluster, collective, algorithm)
    assert schedule.ranks == 100_800


@pytest.mark.parametrize(("collective", "algorithm"), MESSAGES)
def test_proving_a_schedule_of_the_ultraserver(
    benchmark: BenchmarkFixture, rate: Rate, ultraserver: tc.Topology, collective: str, algorithm: str
) -> None:
    schedule = tc.build(ultraserver, collective, algorithm)
    proof = benchmark(tc.verify, schedule)
    rate(proof.messages, "messages")
    assert proof.messages == MESSAGES[collective, algorithm]
