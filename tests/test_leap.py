"""A run with shortcuts, fold and leap, gives the bytes of the plain one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trncomm as tc

COLUMNS = ("finish_ps", "sent_bytes", "link_bytes", "link_busy_ps")
COUNTS = ("time_ps", "messages", "packet_hops", "bound_ps")


def shapes(most: int) -> st.SearchStrategy[tc.Topology]:
    """Named shapes of at most so many ranks."""
    ranks = st.integers(2, most)
    side = st.integers(2, max(2, int(most**0.5)))
    return st.one_of(
        ranks.map(lambda n: tc.Topology.ring(n, bandwidth="64GB/s", latency="500ns")),
        ranks.map(lambda n: tc.Topology.switch(n, bandwidth="64GB/s", latency="500ns")),
        st.tuples(side, side).map(lambda sides: tc.Topology.torus(sides, bandwidth="64GB/s", latency="500ns")),
        st.builds(tc.machines.trn2),
        st.builds(tc.machines.trn3_ultraserver),
        st.integers(2, max(2, most // 144)).map(lambda n: tc.machines.ultracluster(ultraservers=n)),
    )


def check_all_ways(
    topology: tc.Topology, collective: str, algorithm: str, model: tc.simulation.Model, size: int
) -> int:
    """Runs with each, both and neither; compares; says how often the run of every rank leapt."""
    try:
        schedule = tc.build(topology, collective, algorithm)
    except tc.AlgorithmError:
        return 0
    size = -(-size // schedule.chunks) * schedule.chunks if size % 3 else size
    plain, *others = (
        tc.run(topology, schedule, size, model=model, fold=fold, leap=leap)
        for fold, leap in itertools.product((False, True), repeat=2)
    )
    assert (plain.leaps, plain.leapt_ps, plain.ranks_run) == (0, 0, topology.ranks)
    for other in others:
        for column in COLUMNS:
            np.testing.assert_array_equal(getattr(other, column), getattr(plain, column))
        for count in COUNTS:
            assert getattr(other, count) == getattr(plain, count)
        assert (other.latency is None) == (plain.latency is None)
        if other.latency is not None and plain.latency is not None:
            assert other.latency.mean_ps == plain.latency.mean_ps
            assert other.latency.percentile(99) == plain.latency.percentile(99)
    return others[0].leaps


ALGORITHMS = [
    (collective, info.name)
    for collective in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
    for info in tc.algorithms(collective)
]


@given(
    topology=shapes(40),
    choice=st.sampled_from(ALGORITHMS),
    model=st.sampled_from(["flow", "packet"]),
    size=st.integers(0, 200_000),
)
@settings(max_examples=60, deadline=None)
def test_every_way_to_run_gives_the_same_bytes(
    topology: tc.Topology, choice: tuple[str, str], model: tc.simulation.Model, size: int
) -> None:
    check_all_ways(topology, *choice, model, size)


@pytest.mark.heavy
@given(
    topology=shapes(1152),
    choice=st.sampled_from(ALGORITHMS),
    model=st.sampled_from(["flow", "packet"]),
    size=st.integers(0, 5_000_000),
)
@settings(max_examples=150, deadline=None)
def test_every_way_to_run_gives_the_same_bytes_up_to_eight_ultraservers(
    topology: tc.Topology, choice: tuple[str, str], model: tc.simulation.Model, size: int
) -> None:
    check_all_ways(topology, *choice, model, size)


@pytest.mark.parametrize("model", ["flow", "packet"])
def test_a_ring_leaps_over_most_of_its_steps(model: tc.simulation.Model) -> None:
    ring = tc.Topology.ring(145, bandwidth="64GB/s", latency="500ns")
    assert check_all_ways(ring, "all_reduce", "ring", model, 145 * 4096) == 2
    result = tc.simulate(ring, "all_reduce", 145 * 4096, algorithm="ring", model=model)
    assert result.leapt_ps > 0.9 * result.time_ps
    assert "leapt" in str(result)


def test_a_run_that_does_not_leap_says_nothing_of_leaps() -> None:
    ring = tc.Topology.ring(8, bandwidth="64GB/s", latency="500ns")
    result = tc.simulate(ring, "all_reduce", 8 * 4096, algorithm="ring", leap=False)
    assert (result.leaps, result.leapt_ps) == (0, 0)
    assert "leapt" not in str(result)
