"""Kinds of fault that simulators of networks are known for, each ruled out by a test."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import trncomm as tc

GB = 10**9
MODELS: tuple[tc.simulation.Model, ...] = ("loggp", "flow", "packet")
models = pytest.mark.parametrize("model", MODELS)


def ring(ranks: int = 8, *, bandwidth: int = 64 * GB, latency: str = "500ns") -> tc.Topology:
    return tc.Topology.ring(ranks, bandwidth=bandwidth, latency=latency)


def switch(ranks: int) -> tc.Topology:
    return tc.Topology.switch(ranks, bandwidth=50 * GB, latency="500ns")


def test_time_follows_the_bandwidth_of_links_over_orders_of_magnitude() -> None:
    times = [
        tc.simulate(ring(bandwidth=rate * GB, latency="0ns"), "all_reduce", "64MiB", algorithm="ring").time_ps
        for rate in (1, 10, 100, 1000)
    ]
    assert all(slow == pytest.approx(10 * fast, rel=1e-3) for slow, fast in pairwise(times))


@models
def test_a_pair_gets_the_whole_rate_that_a_link_is_given(model: tc.simulation.Model) -> None:
    pair = tc.Topology.ring(2, bandwidth=10 * GB, latency="0ns").with_packets(header=0)
    result = tc.simulate(pair, "all_gather", 2 * 10**9, algorithm="ring", model=model)
    # Both directions are busy at once, and no traffic the other way takes a share: 1 GB at 10 GB/s.
    assert result.time_ps == 10**11


def test_bandwidths_and_durations_need_units_that_are_known() -> None:
    for text in ("10furlongs", "10GB", "10Gb/s?", "-1GB/s", "nan", "inf"):
        with pytest.raises(ValueError, match=re.escape(text)):
            tc.Topology.ring(4, bandwidth=text, latency="1us")


@models
@pytest.mark.parametrize("ranks", [9, 10, 11, 12, 17])
def test_costs_are_charged_beyond_ten_ranks(ranks: int, model: tc.simulation.Model) -> None:
    result = tc.simulate(ring(ranks), "all_gather", ranks * 1000, algorithm="ring", model=model)
    assert result.time_ps >= (ranks - 1) * 500_000


def test_a_thousand_ranks_run_in_little_memory() -> None:
    topology = ring(1008)
    schedule = tc.build(topology, "all_reduce", "ring")
    assert tc.estimate(topology, "all_reduce", "1GiB", algorithm="ring", model="flow").memory_bytes < 2**30
    assert tc.run(topology, schedule, 1008 * 1024, model="flow").ranks == 1008


@pytest.mark.parametrize("shape", [(1,), (1, 4), (4, 1, 1), (3, 1, 5), (2, 1, 2)])
def test_a_torus_may_have_dimensions_of_one(shape: tuple[int, ...]) -> None:
    torus = tc.Topology.torus(shape, bandwidth=GB, latency="1us")
    assert tc.simulate(torus, "all_reduce", "1MiB", algorithm="ring").ranks == int(np.prod(shape))


def test_every_machine_that_ships_runs_as_it_is() -> None:
    for name in tc.machines.names():
        topology = tc.machines.build(name)
        if topology.ranks <= 1024:
            assert tc.simulate(topology, "all_gather", "64KiB", algorithm="ring", model="loggp").time_ps > 0, name


@pytest.mark.parametrize("shape", [(4,), (5,), (4, 4), (3, 5)])
def test_small_buffers_do_not_lock_the_wrap_of_a_torus(shape: tuple[int, ...]) -> None:
    torus = tc.Topology.torus(shape, bandwidth=10 * GB, latency="1us").with_fabric(buffer="8KiB", virtual_channels=2)
    assert tc.simulate(torus, "all_to_all", "1MiB", algorithm="direct").time_ps > 0


@pytest.mark.parametrize(("leaves", "each", "spines"), [(3, 5, 2), (1, 7, 3), (7, 1, 1), (5, 3, 4)])
def test_trees_of_odd_sizes_run(leaves: int, each: int, spines: int) -> None:
    tree = tc.Topology.leaf_spine(leaves, each, spines, bandwidth=GB, latency="1us")
    result = tc.simulate(tree, "all_to_all", "1MiB", algorithm="direct")
    assert result.ranks == leaves * each
    assert tree.nodes == leaves * each + leaves + spines


def test_models_agree_where_nothing_is_shared() -> None:
    topology = ring().with_packets(payload="1TiB", header=0)
    times = {tc.simulate(topology, "all_reduce", "1MiB", algorithm="ring", model=model).time_ps for model in MODELS}
    assert len(times) == 1


@pytest.mark.parametrize("algorithm", ["ring", "direct", "recursive_halving_doubling", "double_binary_tree"])
@models
@pytest.mark.parametrize("ranks", [8, 12, 16, 144])
def test_no_time_beats_a_bound(algorithm: str, model: tc.simulation.Model, ranks: int) -> None:
    try:
        result = tc.simulate(switch(ranks), "all_reduce", "1MiB", algorithm=algorithm, model=model, verify=False)
    except tc.AlgorithmError as refused:
        assert algorithm in str(refused)  # noqa: PT017
        return
    assert result.bound_ps is not None
    assert result.time_ps >= result.bound_ps > 0


@models
def test_a_port_passes_no_more_than_its_rate(model: tc.simulation.Model) -> None:
    result = tc.simulate(switch(144), "all_to_all", 144 << 20, algorithm="direct", model=model, verify=False)
    seconds = result.time_ps / 1e12
    assert 143 * 2**20 / seconds <= 50 * GB


def test_a_switch_passes_on_packets_before_a_message_ends() -> None:
    result = tc.simulate(switch(8), "all_reduce", "64MiB", algorithm="ring")
    one_link = tc.simulate(
        tc.Topology.fully_connected(8, bandwidth=50 * GB, latency="500ns"), "all_reduce", "64MiB", algorithm="ring"
    )
    assert result.time_ps < 1.05 * one_link.time_ps


@models
def test_every_dimension_counts(model: tc.simulation.Model) -> None:
    fast = tc.Topology.torus((2,) * 5, bandwidth=50 * GB, latency="500ns")
    for slow in range(5):
        rates = [50 * GB] * 5
        rates[slow] = GB
        torus = tc.Topology.torus((2,) * 5, bandwidth=rates, latency=["500ns"] * 5)
        times = [
            tc.simulate(t, "all_reduce", "1MiB", algorithm="bucket", model=model, verify=False).time_ps
            for t in (fast, torus)
        ]
        assert times[1] > times[0]


def test_a_message_pays_for_every_link_it_crosses() -> None:
    def reach(shape: tuple[int, ...]) -> int:
        mesh = tc.Topology.mesh(shape, bandwidth=10**15, latency="1us")
        return tc.simulate(mesh, "broadcast", 1, algorithm="linear", verify=False, model="packet").time_ps

    # From one corner to the other: one link, then two and two.
    assert reach((2,)) == pytest.approx(10**6, rel=1e-3)
    assert reach((3, 3)) == pytest.approx(4 * 10**6, rel=1e-3)


def test_both_directions_of_a_ring_can_be_used() -> None:
    one, two = (
        tc.simulate(ring(), "all_reduce", "64MiB", algorithm=name).time_ps for name in ("ring", "bidirectional_ring")
    )
    assert two < 0.6 * one


def test_the_topology_matters() -> None:
    times = {
        tc.simulate(topology, "all_to_all", "1MiB", algorithm="direct").time_ps
        for topology in (
            ring(16),
            switch(16),
            tc.Topology.torus((4, 4), bandwidth=64 * GB, latency="500ns"),
            tc.Topology.fully_connected(16, bandwidth=64 * GB, latency="500ns"),
        )
    }
    assert len(times) == 4


def test_latency_of_a_link_does_not_hold_up_its_sender() -> None:
    pair = tc.Topology.ring(2, bandwidth=GB, latency="1ms").with_packets(payload="1TiB", header=0)
    result = tc.simulate(pair, "all_gather", 2 * 10**6, algorithm="ring")
    assert result.link_busy_ps.max() == 10**9
    assert result.time_ps == 2 * 10**9


@models
@pytest.mark.parametrize("size", [2**31 - 1, 2**31, 2**32 + 1, 2**40])
def test_sizes_and_times_beyond_32_bits_are_exact(size: int, model: tc.simulation.Model) -> None:
    pair = tc.Topology.ring(2, bandwidth=GB, latency="0ns").with_packets(payload="1TiB", header=0)
    result = tc.simulate(pair, "broadcast", size, algorithm="linear", model=model)
    assert result.time_ps == size * 1000
    assert int(result.link_bytes.sum()) == size


def test_a_negative_latency_is_refused() -> None:
    for latency in (-1, "-1ns"):
        with pytest.raises((ValueError, OverflowError), match=r"-1|negative"):
            tc.Topology.ring(4, bandwidth=GB, latency=latency)


def test_unequal_latencies_lock_nothing() -> None:
    torus = tc.Topology.torus((4, 4, 2), bandwidth=[GB, 3 * GB, 7 * GB], latency=["1ns", "1ms", "0ns"])
    assert tc.simulate(torus, "all_reduce", "1MiB", algorithm="bucket").time_ps > 0


def test_chips_without_switches_of_unequal_links_run() -> None:
    cables = [
        (a, b, (1 + (a + b) % 2) * GB, "1us") for a in range(8) for b in range(8) if a != b and (a ^ b) in (1, 2, 4)
    ]
    result = tc.simulate(tc.Topology.from_links(8, cables), "all_to_all", "1MiB", algorithm="direct")
    assert result.time_ps > 0


def test_switches_are_no_ranks() -> None:
    topology = tc.machines.trn3_ultraserver()
    result = tc.simulate(topology, "all_gather", "1MiB", algorithm="ring", model="loggp")
    assert (topology.ranks, result.ranks, len(result.finish_ps)) == (144, 144, 144)
    assert topology.nodes > 144


@models
def test_repeated_runs_give_the_same_bytes(model: tc.simulation.Model) -> None:
    topology = tc.Topology.torus((4, 4), bandwidth=GB, latency="1us").with_endpoint(jitter="1us", seed=3)

    def run() -> tuple[int, bytes, bytes]:
        result = tc.simulate(topology, "all_to_all", "1MiB", algorithm="direct", model=model)
        return result.time_ps, result.finish_ps.tobytes(), result.link_bytes.tobytes()

    assert run() == run()


@models
def test_folded_and_leapt_runs_give_the_same_bytes_as_whole_ones(model: tc.simulation.Model) -> None:
    schedule = tc.build(ring(16), "all_reduce", "ring")
    quick = tc.run(ring(16), schedule, "16MiB", model=model)
    whole = tc.run(ring(16), schedule, "16MiB", model=model, fold=False, leap=False)
    assert quick.time_ps == whole.time_ps
    assert np.array_equal(quick.finish_ps, whole.finish_ps)
    assert np.array_equal(quick.link_busy_ps, whole.link_busy_ps)


@models
def test_a_run_ends_with_its_last_rank(model: tc.simulation.Model) -> None:
    result = tc.simulate(ring(), "broadcast", "1MiB", algorithm="binomial", model=model)
    assert result.time_ps == int(result.finish_ps.max())
    assert result.time_ps >= int(result.link_busy_ps.max())


def test_more_than_a_hundred_senders_at_once_lose_nothing() -> None:
    topology = switch(200).with_fabric(buffer="64KiB")
    result = tc.simulate(topology, "all_gather", 200 * 10_000, algorithm="direct", verify=False)
    arriving = result.link_bytes[topology.link_destination < 200]
    assert (arriving >= 199 * 10_000).all()


def test_importing_is_silent() -> None:
    done = subprocess.run([sys.executable, "-c", "import trncomm"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("ranks", [9, 17, 33, 64, 100])
def test_many_receives_posted_at_once_are_matched_in_order(ranks: int) -> None:
    for algorithm in ("ring", "recursive_halving_doubling"):
        if algorithm == "ring" or ranks & (ranks - 1) == 0:
            assert tc.verify(tc.build(switch(ranks), "all_reduce", algorithm)).messages > 0


@pytest.mark.parametrize("algorithm", [found.name for found in tc.algorithms("all_reduce")])
@pytest.mark.parametrize("ranks", [12, 144])
def test_an_algorithm_answers_or_says_why_not(algorithm: str, ranks: int) -> None:
    try:
        result = tc.simulate(switch(ranks), "all_reduce", "1MiB", algorithm=algorithm, model="loggp", verify=False)
    except tc.AlgorithmError as refused:
        assert len(str(refused)) > 20  # noqa: PT017
    else:
        assert result.time_ps > 0


def test_an_algorithm_of_another_collective_is_refused() -> None:
    with pytest.raises(tc.AlgorithmError, match="double_binary_tree"):
        tc.simulate(switch(8), "all_gather", "1MiB", algorithm="double_binary_tree")


@models
def test_time_never_falls_as_the_size_grows(model: tc.simulation.Model) -> None:
    for ranks in (24, 32):
        sizes = [ranks << shift for shift in range(5, 20, 3)]
        times = [tc.simulate(switch(ranks), "all_reduce", s, algorithm="ring", model=model).time_ps for s in sizes]
        assert times[0] > 0
        assert times == sorted(times)


@pytest.mark.parametrize("size", [1, 7, 143, 145, 1_048_576, 1_000_003])
def test_tiny_sizes_are_not_padded_and_remainders_not_cut(size: int) -> None:
    topology = ring(144).with_packets(payload="1TiB", header=0)
    result = tc.simulate(topology, "all_gather", size, algorithm="ring", model="packet", verify=False)
    assert result.size_bytes == size
    # Each byte reaches all ranks but the one it began at, over a link each time.
    assert int(result.link_bytes.sum()) == 143 * size


def test_delays_of_zero_are_allowed() -> None:
    result = tc.simulate(ring(latency="0ns"), "all_reduce", 8, algorithm="ring", model="flow")
    assert result.time_ps > 0


def test_unknown_names_are_errors_that_name_the_nearest() -> None:
    refused: list[tuple[str, dict[str, object]]] = [
        ("all_reduce", {"algorithm": "rnig"}),
        ("all_reduse", {"algorithm": "ring"}),
    ]
    for collective, options in refused:
        with pytest.raises(tc.AlgorithmError, match=r"ring|all_reduce"):
            tc.simulate(ring(), collective, 8, **options)  # type: ignore[arg-type]
    with pytest.raises(tc.TopologyError, match="bandwidth"):
        tc.machines.build("trn2", overrides={"bandwith": "1GB/s"})
    with pytest.raises(tc.TopologyError, match="trn2"):
        tc.machines.machine("trn-2")
    with pytest.raises(tc.AlgorithmError, match=r"levels"):
        tc.simulate(ring(), "all_reduce", 8, algorithm="hierarchical", parameters={"levles": [2, 4]})


def test_thirty_thousand_chips_need_no_file_each() -> None:
    topology = tc.Topology.torus((32, 32, 32), bandwidth=GB, latency="1us")
    schedule = tc.build(topology, "all_reduce", "bucket")
    assert tc.run(topology, schedule, 32_768 * 6 * 64, model="flow").ranks == 32_768
