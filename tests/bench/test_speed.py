"""How fast the engine is; `pytest tests/bench --benchmark-enable` times it, an ordinary run only tries each once.

What is asserted is how much was done, which is the same in every run; how fast is printed.
"""

from __future__ import annotations

import time
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


def _star(ranks: int) -> tc.Topology:
    return tc.Topology.switch(ranks, bandwidth="100GB/s", latency="500ns")


def _torus(*extents: int) -> tc.Topology:
    return tc.Topology.torus(extents, bandwidth="50GB/s", latency="500ns")


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize(
    ("topology", "picoseconds"),
    [
        pytest.param(_star(144), 1_431_000_000, id="switch of 144, 0.05 s"),
        pytest.param(_star(512), 5_111_000_000, id="switch of 512, 0.3 s"),
        pytest.param(_star(1024), 10_231_000_000, id="switch of 1024, 2 s"),
        pytest.param(_torus(12, 12), None, id="torus of 12 by 12, 0.3 s"),
        pytest.param(_torus(8, 8, 8), None, id="torus of 8 by 8 by 8, 3 s"),
    ],
)
def test_fluids_all_at_once(
    benchmark: BenchmarkFixture, rate: Rate, topology: tc.Topology, picoseconds: int | None
) -> None:
    """A megabyte for each pair of ranks, in the time that the case names at most."""
    schedule = tc.build(topology, "all_to_all", "direct")
    result = benchmark(tc.run, topology, schedule, topology.ranks * 1_000_000, model="flow", fold=False)
    rate(result.messages, "messages")
    assert result.messages == topology.ranks * (topology.ranks - 1)
    if picoseconds is not None:
        # The blocks of all others over one link, and the latency of two.
        assert result.time_ps == picoseconds == (topology.ranks - 1) * 10_000_000 + 1_000_000


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("ranks", [256, 512, 1024])
def test_fluids_round_a_ring(benchmark: BenchmarkFixture, rate: Rate, ranks: int) -> None:
    """A megabyte a message; half a second for 1024 ranks, and time that grows as the number of messages does."""
    topology = _star(ranks)
    schedule = tc.build(topology, "all_reduce", "ring")
    result = benchmark(tc.run, topology, schedule, ranks * 1_000_000, model="flow", fold=False)
    rate(result.messages, "messages")
    assert result.messages == 2 * ranks * (ranks - 1)
    assert result.time_ps == 2 * (ranks - 1) * 11_000_000


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
