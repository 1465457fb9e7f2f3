from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trncomm as tc

RATE, SPAN = "64GB/s", "500ns"
Topology = tc.Topology


@pytest.mark.parametrize(
    ("topology", "ranks", "nodes", "links"),
    [
        (Topology.ring(5, bandwidth=RATE, latency=SPAN), 5, 5, 10),
        (Topology.mesh((3, 4), bandwidth=RATE, latency=SPAN), 12, 12, 2 * (2 * 4 + 3 * 3)),
        (Topology.torus((4, 4), bandwidth=RATE, latency=SPAN), 16, 16, 64),
        (Topology.fully_connected(5, bandwidth=RATE, latency=SPAN), 5, 5, 20),
        (Topology.switch(6, planes=2, bandwidth=RATE, latency=SPAN), 6, 8, 24),
        (Topology.leaf_spine(3, 4, 2, bandwidth=RATE, latency=SPAN), 12, 17, 2 * (12 + 6)),
    ],
)
def test_a_shape_has_the_nodes_and_links_of_its_definition(
    topology: Topology, ranks: int, nodes: int, links: int
) -> None:
    assert (topology.ranks, topology.nodes, topology.links) == (ranks, nodes, links)
    assert len(topology.link_source) == links


def test_columns_are_read_only_and_made_once(ultraserver: Topology) -> None:
    for name in ("link_source", "link_destination", "link_bandwidth", "link_latency_ps", "link_tier"):
        column = getattr(ultraserver, name)
        assert column is getattr(ultraserver, name)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            column.flags.writeable = True


def test_each_dimension_may_have_its_own_links() -> None:
    torus = Topology.torus((4, 4), bandwidth=["128GB/s", "64GB/s"], latency=100)
    rates = {tier: set(torus.link_bandwidth[torus.link_tier == index]) for index, tier in enumerate(torus.tiers)}
    assert rates == {"x": {128_000_000_000}, "y": {64_000_000_000}}


def test_a_route_is_a_chain_of_links(ultraserver: Topology) -> None:
    source, destination = ultraserver.link_source, ultraserver.link_destination
    for start, end in [(0, 3), (0, 71), (5, 140), (143, 0)]:
        path = ultraserver.route(start, end)
        assert source[path[0]] == start
        assert destination[path[-1]] == end
        np.testing.assert_array_equal(destination[path[:-1]], source[path[1:]])


def test_a_list_of_links_keeps_its_order_and_tiers() -> None:
    links = [(0, 2, 10, 1, "up"), (2, 1, 20, 2, "down"), (1, 2, 30, 3, "up"), (2, 0, 40, 4, "down")]
    topology = Topology.from_links(2, links, switches=1)
    assert topology.link_bandwidth.tolist() == [10, 20, 30, 40]
    assert topology.link_latency_ps.tolist() == [1, 2, 3, 4]
    assert [topology.tiers[tier] for tier in topology.link_tier] == ["up", "down", "up", "down"]
    assert topology.route(0, 1) == [0, 1]


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: Topology.ring(4, bandwidth=0, latency=SPAN), "bandwidth must be above 0 .* got 0"),
    (lambda: Topology.ring(4, bandwidth=-1, latency=SPAN), "bandwidth .* got -1"),
    (lambda: Topology.ring(4, bandwidth=float("nan"), latency=SPAN), "bandwidth .* got nan"),  # type: ignore[arg-type]
    (lambda: Topology.ring(4, bandwidth=RATE, latency=-1), "latency .* got -1"),
    (lambda: Topology.ring(4, bandwidth="64", latency=SPAN), "64"),
    (lambda: Topology.ring(0, bandwidth=RATE, latency=SPAN), "ranks .* got 0"),
    (lambda: Topology.ring(-3, bandwidth=RATE, latency=SPAN), "ranks .* got -3"),
    (lambda: Topology.ring(2**63, bandwidth=RATE, latency=SPAN), str(2**63)),
    (lambda: Topology.torus((10**6, 10**6, 10**6), bandwidth=RATE, latency=SPAN), "1000000000000000000"),
    (lambda: Topology.mesh((2, 2), bandwidth=[RATE], latency=SPAN), "2 dimensions, got 1"),
    (lambda: Topology.from_links(2, [(0, 7, RATE, SPAN)]), "node 7"),
    (lambda: Topology.from_links(2, [(-1, 0, RATE, SPAN)]), "link 0 .* got -1"),
    (lambda: Topology.from_links(2, [(1, 1, RATE, SPAN)]), "link 0 joins node 1 to itself"),
    (lambda: Topology.from_links(2, [(0, 1, RATE, SPAN)]), "no path from rank 1 to rank 0"),
    (lambda: Topology.from_links(2, [(0, 1, 0, SPAN)]), "link 0"),
    (lambda: Topology.from_links(2, [(0, 1, RATE)]), "link 0: .* got 3"),  # type: ignore[list-item]
    (lambda: tc.machines.trn3_ultraserver(rack_bandwidth=0), "bandwidth must be above 0"),
    (lambda: tc.machines.trn3_ultraserver(payload=0), "payload .* got 0"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_a_bad_topology_is_refused_by_its_value(make: Callable[[], object], message: str) -> None:
    with pytest.raises(tc.TopologyError, match=message) as raised:
        make()
    assert isinstance(raised.value, ValueError)


def test_a_change_leaves_the_original_alone(ring: Topology) -> None:
    before = tc.simulate(ring, "all_gather", 8, algorithm="ring").time_ps
    slower = ring.with_endpoint(launch="1us").with_name("slow ring")
    assert slower.name == "slow ring"
    assert ring.name == "ring"
    assert tc.simulate(ring, "all_gather", 8, algorithm="ring").time_ps == before
    assert tc.simulate(slower, "all_gather", 8, algorithm="ring").time_ps > before
