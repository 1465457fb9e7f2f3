"""Machine files give back what was written, and refuse the rest within a second."""

from __future__ import annotations

from pathlib import Path

import networkx
import numpy as np
import pytest

import trncomm as tc
from trncomm import cli

NEAR: dict[str, str] = {"bandwidth": "100GB/s", "latency": "125ns"}
FAR = ("25GB/s", "6.5us")
RING = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
LINKS: list[tuple[int, int, int | str, int | str] | tuple[int, int, int | str, int | str, str]] = [
    (0, 2, 7, 1, "up"),
    (2, 0, "7B/s", "1ps", "down from a switch"),
    (1, 2, 10**9 + 1, 1001, "up"),
    (2, 1, 9, 0, "up"),
    (0, 2, 7, 1, "beside"),
]
CUSTOM = tc.Topology.from_links(2, LINKS, switches=1)

SHAPES = {
    "ring": RING,
    "ring of one": tc.Topology.ring(1, bandwidth=1, latency=0),
    "mesh": tc.Topology.mesh((3, 2), bandwidth=["1GB/s", "2GB/s"], latency=[5, 6]),
    "torus": tc.Topology.torus((1, 4, 3), bandwidth="3333333B/s", latency="7ps"),
    "fully connected": tc.Topology.fully_connected(4, **NEAR),
    "switch": tc.Topology.switch(5, planes=3, **NEAR),
    "leaf spine": tc.Topology.leaf_spine(
        2, 3, 2, bandwidth="1GB/s", latency=1, uplink_bandwidth="2GB/s", uplink_latency=2
    ),
    "ultraserver": tc.machines.trn3_ultraserver(),
    "one rack": tc.machines.trn3_ultraserver(racks=1),
    "ultracluster": tc.machines.trn3_ultracluster(ultraservers=4, pod=2, oversubscription=3),
    "one ultraserver": tc.machines.trn3_ultracluster(ultraservers=1),
    "rails": tc.machines.trn2_ultracluster(instances=4, rails=4),
    "tori": tc.machines.rainier(ultraservers=2),
    "cores": tc.machines.trn2(ranks_per_chip=4),
    "cores of a cluster": tc.machines.trn2_ultracluster(instances=2, ranks_per_chip=2),
    "cores of switches": tc.Topology.switch(4, planes=2, **NEAR).with_cores(3, bandwidth="1TB/s", latency=0),
    "custom": CUSTOM,
    "cores of a list": CUSTOM.with_cores(2, bandwidth="1TB/s", latency=3),
    "odd tiers": tc.Topology.from_links(2, [(0, 1, 1, 1, " a\nb "), (1, 0, 1, 1, "ü: [1]")]),
    "named": RING.with_name("0x1F: yes"),
    "dressed": RING.with_endpoint(
        launch="1.3us",
        completion=1,
        reduction_bandwidth="1GB/s",
        copy_bandwidth=7,
        queues=16,
        memory_bandwidth="2.9TB/s",
        touches=(1, 2, 3),
        window=1001,
        jitter="5ns",
        seed=9,
    )
    .with_packets(payload=1000, header=24)
    .with_fabric(
        buffer="64KiB",
        virtual_channels=2,
        arbitration="round-robin",
        queueing="input",
        forwarding="cut-through",
        policy="flow-hash",
        seed=7,
    ),
    "broken": RING.with_faults(
        [
            tc.link_down((0, 1)),
            tc.link_errors(3, 1e-12),
            tc.late(1, by=400_001),
            tc.slow(2, times="3/2"),
            *(tc.link_slow(link, "1/3") for link in range(2, RING.links)),
        ]
    ),
    "broken list": CUSTOM.with_faults([tc.link_slow(0, "1/2"), tc.link_down(4)]),
    "switch down": tc.Topology.switch(3, planes=2, **NEAR).with_faults([tc.node_down("switch 3")]),
}


def columns(topology: tc.Topology) -> dict[str, object]:
    """All that a topology is."""
    arrays = (
        topology.link_source,
        topology.link_destination,
        topology.link_bandwidth,
        topology.link_latency_ps,
        topology.link_tier,
    )
    found: dict[str, object] = {name: getattr(topology, name) for name in ("name", "family", "shape", "tiers")}
    found |= {"links": [array.tolist() for array in arrays], "ranks": topology.ranks, "nodes": topology.nodes}
    found |= {"ranks_per_chip": topology.ranks_per_chip, "racks": topology.racks, "rails": topology.rails}
    for part in (topology.endpoint, topology.packets, topology.fabric):
        found |= {f"{type(part)}.{name}": getattr(part, name) for name in dir(part) if not name.startswith("_")}
    return {**found, "faults": topology.faults, "text": str(topology)}


@pytest.mark.parametrize("name", SHAPES)
def test_a_topology_comes_back_as_it_was_written(name: str, tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    SHAPES[name].write(path)
    again = tc.machines.read(path)
    assert columns(again) == columns(SHAPES[name])
    assert [again.route(0, to) for to in range(again.ranks)] == [SHAPES[name].route(0, to) for to in range(again.ranks)]
    again.write(tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_bytes() == path.read_bytes()


def test_a_file_names_a_preset_and_changes_figures(tmp_path: Path) -> None:
    path = tmp_path / "wide.yaml"
    path.write_text(
        """
        trncomm: 1
        machine: trn3-ultraserver
        name: wide
        profile: lane-count
        figures: {servers: 4, rack_bandwidth: 640GB/s, touches: [1, 1, 2], memory_bandwidth: 4.9TB/s, window: null}
        faults: ["link-down:3"]
        """
    )
    topology = tc.machines.read(path)
    assert (topology.name, topology.ranks, len(topology.faults)) == ("wide", 32, 1)
    assert set(topology.link_bandwidth.tolist()) == {640 * 10**9, 512 * 10**9, 128 * 10**9}
    assert topology.endpoint.touches == (1, 1, 2)
    assert tc.machines.build(str(path), overrides={"servers": "5"}).ranks == 40


def test_links_may_be_rows_and_one_link_stands_for_all_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(
        "trncomm: 1\nnetwork: {shape: custom, ranks: 2, links: [[0, 1, 1GB/s, 5ns], [1, 0, 2GB/s, 5ns, b]]}"
    )
    assert tc.machines.read(path).tiers == ("link", "b")
    path.write_text("trncomm: 1\nnetwork: {shape: torus, extents: [3, 3], links: {bandwidth: 1GB/s, latency: 5ns}}")
    assert tc.machines.read(path).links == 36


NETWORK = "trncomm: 1\nnetwork: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a machine file must be keys with values, got None"),
        ("trncomm: 2\nnetwork: {}", "begins with 'trncomm: 1', got 2"),
        ("trncomm: 1", "either machine or network, got neither"),
        ("trncomm: 1\nmachine: trn1\nnetwork: {}", "got machine and network"),
        ("trncomm: 1\nmachine: trn1\ncores: {}", "cores means nothing in a file with machine"),
        ("trncomm: 1\nmachine: trn1\nfigures: {bandwith: 1}", "did you mean 'bandwidth'"),
        ("trncomm: 1\nmachine: trn1\nfigures: {bandwidth: {}}", "bandwidth must be a number, a text"),
        ("trncomm: 1\nmachine: trn11", "did you mean 'trn1'"),
        ("trncomm: 1\nmachin: trn1", "unknown 'machin'; did you mean 'machine'"),
        (NETWORK + "{shape: tors}", "unknown 'tors'; did you mean 'torus'"),
        (NETWORK + "{shape: ring, ranks: 4}", "a ring needs link"),
        (NETWORK + "{shape: ring, rank: 4}", "unknown 'rank'; did you mean 'ranks'"),
        (NETWORK + "{shape: ring, ranks: 4, link: {bandwidth: 1GB/s, latncy: 1}}", "did you mean 'latency'"),
        (NETWORK + "{shape: ring, ranks: yes, link: {bandwidth: 1, latency: 1}}", "ranks must be a whole number"),
        (NETWORK + "{shape: ring, ranks: 2, link: {bandwidth: 1GB/s}}", "network.link.latency must be a whole number"),
        (NETWORK + "{shape: ring, ranks: 2, link: {bandwidth: 0, latency: 1}}", "bandwidth"),
        (NETWORK + "{shape: ring, ranks: 2, link: {bandwidth: 1 GB/h, latency: 1}}", "bandwidth"),
        (NETWORK + f"{{shape: ring, ranks: {10**30}, link: {{bandwidth: 1, latency: 1}}}}", "out of range"),
        (NETWORK + f"{{shape: ring, ranks: {'9' * 5000}, link: {{bandwidth: 1, latency: 1}}}}", "a whole number"),
        (NETWORK + f"{{shape: switch, ranks: {10**9}, planes: 9, link: {{bandwidth: 1, latency: 1}}}}", "nodes"),
        (NETWORK + "{shape: torus, extents: [9, 9], links: [{bandwidth: 1, latency: 1}]}", "one entry for each of 2"),
        (NETWORK + "{shape: custom, ranks: 2, links: 0 1 1GB/s}", "links, line 1 must be SOURCE DESTINATION"),
        (NETWORK + "{shape: custom, ranks: 2, links: [[0, -1, 1, 1]]}", "the destination must be the number of a node"),
        (NETWORK + "{shape: custom, ranks: 2, links: [[0, 1, 1, 1]]}", "no path"),
        ("trncomm: 1\ntrncomm: 1", "line 2: 'trncomm' is given twice"),
        ("trncomm: [1", "not YAML"),
        ("trncomm: 1\n--- {}", "expected one document"),
        ("trncomm: !!python/object:os.system x", "tags such as"),
        ("? [1]\n: 2", "a key must be a text"),
        ("a: &a [x, x]\nb: &b [*a, *a]", "anchors and aliases are not read"),
        ("a: " + "[" * 40, "more than 32 levels"),
        ("a: " + "[" * 100_000, "line 1"),
        ("a: " + "{a: " * 40, "more than 32 levels"),
        ("a: " + "{a: " * 100_000, "line 1"),
        ("a: [" + "1," * 400_001 + "]", "more than 400,000 values"),
        ("trncomm: 1\nmachine: trn1\nfaults: [link-dwn:3]", "did you mean 'link-down'"),
        ("trncomm: 1\nmachine: trn1\nfaults: [link-down:999]", "link must be below 64"),
    ],
)
def test_what_is_no_machine_file_is_refused_by_name(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(text)
    with pytest.raises(tc.TopologyError) as refusal:
        tc.machines.read(path)
    assert message in str(refusal.value)
    assert str(refusal.value).startswith(str(path))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_bytes(b"trncomm: \xff\xfe")
    with pytest.raises(tc.TopologyError, match="not a text in UTF-8"):
        tc.machines.read(path)


def test_the_command_takes_a_machine_file_for_a_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "machine.yaml"
    RING.write(path)
    assert cli.main(["run", "-b", "1M", "--machine", str(path)]) == 0
    assert "4 ranks" in capsys.readouterr().out
    assert cli.main(["machines", str(path)]) == 0
    assert "ring: 4 ranks" in capsys.readouterr().out
    assert cli.main(["run", "--machine", str(tmp_path / "none.yaml")]) != 0
    assert "No such file" in capsys.readouterr().err


def test_a_graph_of_a_topology_comes_back_as_its_links() -> None:
    graph = CUSTOM.to_networkx()
    again = tc.Topology.from_networkx(graph)
    assert columns(again) == columns(CUSTOM)
    assert graph.number_of_edges() == CUSTOM.links


def test_edges_of_an_undirected_graph_are_links_both_ways() -> None:
    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_node("hub", switch=True)
    graph.add_edges_from([("hub", name) for name in "abc"], bandwidth="64GB/s", tier="spoke")
    topology = tc.Topology.from_networkx(graph, latency="500ns")
    assert (topology.ranks, topology.nodes, topology.links, topology.tiers) == (3, 4, 6, ("spoke",))
    np.testing.assert_array_equal(topology.link_bandwidth, 64 * 10**9)
    assert len(topology.route(0, 2)) == 2


def test_an_edge_without_a_rate_is_refused_by_name() -> None:
    with pytest.raises(tc.TopologyError, match=r"the edge from 0 to 1 has no bandwidth"):
        tc.Topology.from_networkx(networkx.path_graph(3), latency=1)


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(tc.TopologyError, match="graph must be a NetworkX graph, got 5"):
        tc.Topology.from_networkx(5)  # type: ignore[arg-type]
    with pytest.raises(tc.TopologyError, match="ranks must be at least 1"):
        tc.Topology.from_networkx(networkx.Graph())


ASTRA = "topology: [{}]\nnpus_count: [{}]\nbandwidth: [{}]\nlatency: [{}]\n"


def astra(tmp_path: Path, *columns: str) -> tc.Topology:
    path = tmp_path / "network.yml"
    path.write_text(ASTRA.format(*columns))
    return tc.machines.read_astra_sim(path)


def test_the_first_ring_of_astra_sim_is_the_last_extent_and_its_gigabytes_are_binary(tmp_path: Path) -> None:
    torus = astra(tmp_path, "Ring, Ring", "4, 3", "50, 12.5", "500, 0.5")
    assert (torus.family, torus.shape, torus.name) == ("torus", (3, 4), "network")
    link = torus.route(0, 1)[0]
    assert (torus.link_bandwidth[link], torus.link_latency_ps[link]) == (50 * 2**30, 500_000)
    link = torus.route(0, 4)[0]
    assert (torus.link_bandwidth[link], torus.link_latency_ps[link]) == (25 * 2**29, 500)


def test_a_ring_all_reduce_takes_what_astra_sim_says(tmp_path: Path) -> None:
    """Two times 7 steps of 2¹⁷ bytes at 50 GiB/s and 500 ns; ASTRA-sim drops what is below a nanosecond of each."""
    ring = astra(tmp_path, "Ring", "8", "50.0", "500.0")
    result = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring", model="loggp")
    step = 2**17 * 10**12 // (50 * 2**30)
    assert 14 * (step + 500_000) <= result.time_ps <= 14 * (step + 1 + 500_000)


def test_dimensions_of_astra_sim_may_be_mixed(tmp_path: Path) -> None:
    mixed = astra(tmp_path, "Ring, FullyConnected, Switch", "2, 8, 4", "200, 100, 50", "50, 500, 2000")
    assert (mixed.ranks, mixed.nodes) == (64, 64 + 16)
    assert mixed.links == 64 + 64 * 7 + 2 * 64
    assert [len(mixed.route(0, to)) for to in (1, 2, 16)] == [1, 1, 2]
    assert astra(tmp_path, "Switch", "4", "50", "500").family == "switch"
    assert astra(tmp_path, "FullyConnected", "4", "50", "500").family == "fully_connected"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ASTRA.format("Rng", 4, 50, 500), "did you mean 'Ring'"),
        (ASTRA.format("Ring", "4, 4", 50, 500), "topology 1, npus_count 2, bandwidth 1, latency 1"),
        (ASTRA.format("Ring", 4, 0, 500), "bandwidth must be above 0, got 0"),
        (ASTRA.format("Ring", 4, 50, -1), "latency must be at least 0, got -1"),
        (ASTRA.format("Ring", 0, 50, 1), "npus_count must be whole numbers of at least 1, got 0"),
        (ASTRA.format("Ring, Switch", f"{10**9}, {10**9}", "1, 1", "1, 1"), "at most 1,048,576 links"),
        (ASTRA.format("Ring", 10**9, 1, 1), "nodes"),
        (ASTRA.format("Ring", 4, 50, 500).replace("npus", "npu"), "did you mean 'npus_count'"),
        ("topology: Ring", "npus_count must be a list"),
    ],
)
def test_what_is_no_network_of_astra_sim_is_refused_by_name(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "network.yml"
    path.write_text(text)
    with pytest.raises(tc.TopologyError) as refusal:
        tc.machines.read_astra_sim(path)
    assert message in str(refusal.value) or "topology must be a list" in str(refusal.value)
