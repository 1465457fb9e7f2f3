from __future__ import annotations

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


@pytest.mark.parametrize("name", machines.names())
def test_every_figure_is_a_keyword_and_every_keyword_a_figure(name: str) -> None:
    build = getattr(machines, name.replace("-", "_"))
    keywords = getattr(machines, build.__annotations__["changed"].removeprefix("Unpack[").removesuffix("]"))
    for profile in machines.machine(name).profiles:
        assert {figure.name for figure in machines.figures(name, profile=profile)} == keywords.__optional_keys__


@pytest.mark.parametrize("name", machines.names())
def test_every_machine_runs_a_collective_and_bears_its_name(name: str) -> None:
    number = {figure.name for figure in machines.figures(name)} & {"ultraservers", "instances"}
    is_cluster = any(figure.name == "pod" for figure in machines.figures(name))
    topology = machines.build(name, overrides={max(number): 2} if is_cluster else None)
    assert topology.name == name
    assert tc.simulate(topology, "all_gather", "64KiB", algorithm="ring", model="loggp").time_ps > 0


def test_a_torus_of_instances_has_slower_links_between_them() -> None:
    topology = tc.machines.trn2_ultraserver()
    assert len(topology.route(0, 16)) == len(topology.route(0, 48)) == 1
    rates = {int(topology.link_bandwidth[topology.route(0, to)[0]]) for to in (1, 4, 16)}
    assert rates == {128 * 10**9, 64 * 10**9}


def test_every_two_groups_of_a_dragonfly_are_joined_by_one_cable() -> None:
    topology = tc.machines.dragonfly(chips=1, routers=3, global_links=2)
    is_global = topology.link_tier == topology.tiers.index("global")
    groups = [(nodes[is_global] - topology.ranks) // 3 for nodes in (topology.link_source, topology.link_destination)]
    joined = sorted(zip(groups[0].tolist(), groups[1].tolist(), strict=True))
    assert joined == [(a, b) for a in range(7) for b in range(7) if a != b]


def test_a_fat_tree_lets_every_chip_send_at_its_full_rate() -> None:
    """Sprayed over all ways, an all-to-all takes what a chip sends and the latency of six links."""
    topology = tc.machines.fat_tree(ports=4, launch=0)
    result = tc.simulate(topology, "all_to_all", 2**24, algorithm="direct", model="flow")
    alone = 15 * 2**20 * 10**12 // (50 * 10**9)
    # Each of 15 messages ends at a whole picosecond.
    assert alone <= result.time_ps <= alone + 6 * 250_000 + 15


def test_a_cluster_of_100800_chips_is_run_by_one_of_them() -> None:
    cluster = tc.machines.ultracluster(ultraservers=700)
    assert (cluster.ranks, cluster.shape) == (100_800, (50, 14, 2, 18, 4))
    schedule = tc.build(cluster, "all_reduce", "hierarchical")
    result = tc.run(cluster, schedule, cluster.ranks * 1024, model="flow")
    assert result.ranks_run == 1
    assert result.messages == cluster.ranks * 2 * (49 + 13 + 1 + 17 + 3)
    assert result.finish_ps.shape == (cluster.ranks,)


def test_a_path_between_servers_takes_15_microseconds_within_a_pod() -> None:
    """The least packet from memory to memory on Trn2 (collectives.rst): the launch, two chips' links, two switches."""
    cluster = tc.machines.ultracluster(ultraservers=2)
    links = cluster.route(0, 144)
    latency = int(cluster.link_latency_ps[links].sum())
    assert cluster.endpoint.launch_ps + latency == 15_000_000


def test_oversubscription_slows_the_links_above_leaves() -> None:
    cluster = tc.machines.ultracluster(ultraservers=4, pod=2, oversubscription=5)
    rates = {
        tier: set(cluster.link_bandwidth[cluster.link_tier == number].tolist())
        for number, tier in enumerate(cluster.tiers)
    }
    assert rates["leaf"] == {25 * 10**9}
    assert rates["spine"] == rates["core"] == {5 * 10**9}


def test_link_efficiency_is_a_share_of_the_rate() -> None:
    topology = tc.machines.trn1(link_efficiency=67)
    assert set(topology.link_bandwidth.tolist()) == {48 * 10**9 * 67 // 100}


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
        ("trn1", None, {"link_efficiency": 0}, "link_efficiency must be from 1 to 100 percent, got 0"),
        ("trn1", None, {"link_efficiency": "most"}, "whole percentage, such as 67, got 'most'"),
        ("trn2", None, {"shape": "4x4"}, "shape must be a whole number, got '4x4'"),
        ("trn2", None, {"shape": 4}, "shape must be whole numbers, such as 4,4, got 4"),
        ("trn2", None, {"ranks_per_chip": 3}, "must be 1, 2, 4, 8, .* got 3; the nearest is 2"),
        ("trn1", None, {"ranks_per_chip": 4}, "must be 1, 2, .* got 4; the nearest is 2"),
        ("trn3-ultraserver", None, {"ranks_per_chip": 0}, "got 0; the nearest is 1"),
        ("fat-tree", None, {"ports": 5}, "ports must be even and at least 2, got 5"),
        ("dragonfly", None, {"routers": 0}, "routers must be at least 1, got 0"),
        ("trn3-ultracluster", None, {"ultraservers": 7, "pod": 2}, "a number that divides 7 ultraservers, got 2"),
        ("trn3-ultracluster", None, {"oversubscription": 0}, "oversubscription must be at least 1, got 0"),
        ("trn3-ultracluster", None, {"ultraservers": 0}, "ultraservers must be at least 1, got 0"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(
    name: str, profile: machines.Profile | None, overrides: dict[str, int | str], message: str
) -> None:
    with pytest.raises(tc.TopologyError, match=message):
        machines.build(name, profile=profile, overrides=overrides)


@pytest.mark.heavy
def test_an_all_reduce_over_half_a_million_chips_is_run_by_one_of_them() -> None:
    cluster = tc.machines.rainier()
    assert (cluster.ranks, cluster.shape) == (499_968, (558, 14, 4, 4, 4))
    schedule = tc.build(cluster, "all_reduce", "hierarchical")
    result = tc.run(cluster, schedule, cluster.ranks * 1024, model="flow")
    assert (result.ranks_run, result.messages) == (1, cluster.ranks * 2 * (557 + 13 + 3 + 3 + 3))


def test_ranks_of_a_chip_share_its_ports_and_divide_its_memory() -> None:
    chips, cores = tc.machines.trn2(), tc.machines.trn2(ranks_per_chip=4)
    assert (cores.ranks, cores.shape, cores.ranks_per_chip) == (64, (4, 4, 4), 4)
    assert [cores.node_name(node) for node in (63, 64, 79)] == ["core 63", "chip 64", "chip 79"]
    assert cores.links == chips.links + 2 * 64
    assert chips.endpoint.memory_bandwidth is not None
    assert cores.endpoint.memory_bandwidth == chips.endpoint.memory_bandwidth // 4


def test_kangaring_with_four_ranks_a_chip_takes_half_the_steps_of_a_ring_over_pairs_or_less() -> None:
    """15 steps between 16 chips and some within them, against 63 of a ring over all ranks."""
    cores = tc.machines.trn2(ranks_per_chip=4)
    times = {
        name: tc.simulate(cores, "all_gather", "64KiB", algorithm=name, model="loggp").time_ps
        for name in ("kangaring", "ring")
    }
    assert times["kangaring"] < times["ring"] / 2


@pytest.mark.parametrize(
    ("rails", "leaves"),
    [
        (None, 2),
        # Four chips in a row are below four leaves, and equal chips of both instances below one.
        (4, 4),
    ],
)
def test_leaves_are_racks_or_rails(rails: int | None, leaves: int) -> None:
    cluster = machines.build("trn2-ultracluster", overrides={"instances": 2, "rails": rails})
    of_chips = cluster.link_tier == cluster.tiers.index("leaf")
    up = of_chips & (cluster.link_source < cluster.ranks)
    assert len(set(cluster.link_destination[up].tolist())) == leaves
    # Over one leaf where both chips are below it, over a spine where not.
    assert len(cluster.route(0, 16)) == (4 if rails is None else 2)
    assert (cluster.racks, cluster.rails) == ((1, None) if rails is None else (None, 4))
    assert cluster.server is not None
    assert cluster.server.shape == (4, 4)
