//! Arbitration: distinct inputs have distinct places, and a rotation of the topology keeps them.

use trncomm_core::ids::{LinkId, NodeId};
use trncomm_core::topology::Topology;

use super::{every_shape, spec};

/// The link between two nodes, of which there is one.
fn link_between(topology: &Topology, source: NodeId, destination: NodeId) -> LinkId {
    let mut found = topology
        .out_links(source)
        .iter()
        .copied()
        .filter(|&link| topology.destination(link) == destination);
    let link = found.next().expect("a symmetry maps links to links");
    assert!(found.next().is_none(), "the link is not the only one");
    link
}

/// Checks that a permutation of the nodes maps links to links and keeps every place in the arbitration order.
fn assert_ties_survive(topology: &Topology, image: impl Fn(usize) -> usize) {
    let map = |link| {
        let end = |node: NodeId| NodeId::new(image(node.index()));
        link_between(topology, end(topology.source(link)), end(topology.destination(link)))
    };
    let mut checked = 0;
    for node in (0..topology.nodes()).map(NodeId::new) {
        for &input in topology.in_links(node) {
            for &output in topology.out_links(node) {
                assert_eq!(
                    topology.tie(input, output),
                    topology.tie(map(input), map(output)),
                    "{} {:?} at node {node}",
                    topology.name(),
                    topology.shape()
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "nothing to compare");
}

#[test]
fn no_two_inputs_share_a_place_at_an_output() {
    for topology in every_shape() {
        for node in (0..topology.nodes()).map(NodeId::new) {
            for &output in topology.out_links(node) {
                let mut places: Vec<u32> = topology
                    .in_links(node)
                    .iter()
                    .map(|&input| topology.tie(input, output))
                    .collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), topology.in_links(node).len());
                assert!(places.iter().all(|&place| place < 1 << 18));
            }
        }
    }
}

#[test]
fn rotating_a_ring_keeps_ties() {
    for ranks in [2, 3, 4, 7] {
        let ring = Topology::ring(ranks, spec(64, 500)).expect("a ring");
        assert_ties_survive(&ring, |node| (node + 1) % ranks);
    }
}

#[test]
fn rotating_the_ranks_under_switches_keeps_ties() {
    for (ranks, planes) in [(2, 1), (5, 1), (6, 3)] {
        let switch = Topology::switch(ranks, planes, spec(64, 500)).expect("a switch");
        assert_ties_survive(&switch, |node| if node < ranks { (node + 1) % ranks } else { node });
    }
}

#[test]
fn rotating_one_dimension_of_a_torus_keeps_ties() {
    let torus = Topology::torus(&[3, 2, 4], &[spec(64, 500)]).expect("a torus");
    assert_ties_survive(&torus, |node| (node + 8) % 24);
    assert_ties_survive(&torus, |node| node / 8 * 8 + (node + 4) % 8);
    assert_ties_survive(&torus, |node| node / 4 * 4 + (node + 1) % 4);
}

#[test]
fn rotating_a_full_mesh_keeps_ties() {
    let mesh = Topology::fully_connected(5, spec(64, 500)).expect("a full mesh");
    assert_ties_survive(&mesh, |node| (node + 1) % 5);
}

#[test]
fn rotating_leaves_or_the_ranks_of_every_leaf_keeps_ties() {
    let link = spec(64, 500);
    let (leaves, width, spines) = (3, 4, 4);
    let clos = Topology::leaf_spine(leaves, width, spines, link, link).expect("a Clos network");
    let (ranks, first_spine) = (leaves * width, leaves * width + leaves);
    let rotate_leaves = |node: usize| match node {
        node if node < ranks => (node + width) % ranks,
        node if node < first_spine => ranks + (node - ranks + 1) % leaves,
        spine => spine,
    };
    assert_ties_survive(&clos, rotate_leaves);
    // Destinations rotate, and with them the spines that they pick.
    let rotate_ranks = |node: usize| match node {
        node if node < ranks => node / width * width + (node + 1) % width,
        node if node < first_spine => node,
        spine => first_spine + (spine - first_spine + 1) % spines,
    };
    assert_ties_survive(&clos, rotate_ranks);
}

#[test]
fn rotating_racks_servers_or_chips_keeps_ties() {
    let link = spec(64, 500);
    let extents = [3, 5, 4];
    let [racks, servers, chips] = extents;
    let machine = Topology::ultraserver(racks, servers, chips, link, link, link).expect("a machine");
    let first_server = racks * servers * chips;
    let first_rack = first_server + racks * servers;
    for turned in 0..3 {
        let turn =
            |dimension: usize, coordinate: usize| (coordinate + usize::from(dimension == turned)) % extents[dimension];
        let server = |server: usize| turn(0, server / servers) * servers + turn(1, server % servers);
        assert_ties_survive(&machine, |node| match node {
            node if node < first_server => server(node / chips) * chips + turn(2, node % chips),
            node if node < first_rack => first_server + server(node - first_server),
            rack => first_rack + turn(0, rack - first_rack),
        });
    }
}
