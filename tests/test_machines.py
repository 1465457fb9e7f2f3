from __future__ import annotations

import inspect

import numpy as np
import pytest

import trncomm as tc
from trncomm import machines


def test_the_ultraserver_has_the_published_links(ultraserver: tc.Topology) -> None:
    assert (ultraserver.ranks, ultraserver.shape) == (144, (2, 18, 4))
    from_chip = ultraserver.link_source == 77
    rates = {
        ultraserver.tiers[tier]: rate
        for tier, rate in zip(
            ultraserver.link_tier[from_chip], ultraserver.link_bandwidth[from_chip].tolist(), strict=True
        )
    }
    assert rates == {"server": 256 * 10**9, "rack": 320 * 10**9, "between-racks": 128 * 10**9}


def test_chips_in_the_same_place_of_two_racks_are_joined_directly(ultraserver: tc.Topology) -> None:
    assert len(ultraserver.route(5, 5 + 72)) == 1
    assert len(ultraserver.route(5, 6)) == 2


def test_every_figure_is_a_keyword_and_every_keyword_a_figure() -> None:
    keywords = set(inspect.signature(machines.trn3_ultraserver).parameters) - {"profile"}
    for profile in machines.machine("trn3-ultraserver").profiles:
        assert {figure.name for figure in machines.figures("trn3-ultraserver", profile=profile)} == keywords


@pytest.mark.parametrize("name", machines.names())
def test_every_figure_has_a_label_and_a_source(name: str) -> None:
    for figures in machines.machine(name).profiles.values():
        assert figures
        for figure in figures:
            assert figure.label in {"published", "derived", "assumed"}
            assert len(figure.source) > 10, figure.name


def test_a_figure_can_be_changed_by_keyword_and_by_name() -> None:
    by_keyword = tc.machines.trn3_ultraserver(servers=4, rack_bandwidth="1TB/s")
    by_name = machines.build("trn3-ultraserver", overrides={"servers": "4", "rack_bandwidth": 10**12})
    assert by_keyword.ranks == by_name.ranks == 32
    np.testing.assert_array_equal(by_keyword.link_bandwidth, by_name.link_bandwidth)
    assert by_keyword.link_bandwidth.max() == 10**12


def test_costs_and_fabric_are_the_simplest_unless_set(ultraserver: tc.Topology) -> None:
    assert repr(ultraserver.endpoint) == "<Endpoint: launch 1.3 µs, completion 0 ps>"
    bare = tc.Topology.ring(2, bandwidth=1, latency=0)
    assert repr(ultraserver.fabric) == repr(bare.fabric)
    assert repr(ultraserver.packets) == repr(bare.packets)


def test_costs_and_fabric_can_be_set() -> None:
    topology = tc.machines.trn3_ultraserver(
        queues=2048,
        memory_bandwidth="4.9TB/s",
        touches=(1, 1, 2),
        window="1MiB",
        jitter="100ns",
        buffer="64KiB",
        virtual_channels=2,
        arbitration="round-robin",
        queueing="input",
        forwarding="cut-through",
        policy="flow-hash",
        seed=7,
    )
    endpoint, fabric = topology.endpoint, topology.fabric
    assert (endpoint.queues, endpoint.memory_bandwidth, endpoint.touches) == (2048, 4_900_000_000_000, (1, 1, 2))
    assert (endpoint.window_bytes, endpoint.jitter_ps, endpoint.seed) == (2**20, 100_000, 7)
    assert (fabric.buffer_bytes, fabric.virtual_channels, fabric.arbitration) == (65_536, 2, "round-robin")
    assert (fabric.queueing, fabric.forwarding, fabric.policy, fabric.seed) == ("input", "cut-through", "flow-hash", 7)


def test_memory_as_published_holds_up_no_link(ultraserver: tc.Topology) -> None:
    """The reason to leave it out: it delays what passes it, by less than a hundredth of a ring's time."""
    fast = tc.machines.trn3_ultraserver(memory_bandwidth="4.9TB/s")
    with_memory, without = (
        tc.simulate(topology, "all_reduce", "64MiB", algorithm="ring").time_ps for topology in (fast, ultraserver)
    )
    assert without <= with_memory < without * 1.01


def test_profiles_differ_where_the_sources_do() -> None:
    wide = tc.machines.trn3_ultraserver(profile="lane-count")
    assert set(wide.link_bandwidth.tolist()) == {512 * 10**9, 128 * 10**9}


@pytest.mark.parametrize(
    ("name", "profile", "overrides", "message"),
    [
        ("trn3-ultrasever", None, {}, "did you mean 'trn3-ultraserver'"),
        ("trn3-ultraserver", "link-tabel", {}, "did you mean 'link-table'"),
        ("trn3-ultraserver", None, {"rack_bandwith": 1}, "did you mean 'rack_bandwidth'"),
        ("trn3-ultraserver", None, {"racks": "two"}, "racks must be a whole number, got 'two'"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(
    name: str, profile: machines.Profile | None, overrides: dict[str, int | str], message: str
) -> None:
    with pytest.raises(tc.TopologyError, match=message):
        machines.build(name, profile=profile, overrides=overrides)
