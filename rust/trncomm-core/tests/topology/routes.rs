//! Routes are paths, as short as they can be where that is promised, and chosen by the stated rule.

use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{LinkInput, Topology};

use super::{as_list, every_shape, joined_twice, spec};

fn route(topology: &Topology, from: usize, to: usize) -> Vec<LinkId> {
    let mut path = Vec::new();
    topology
        .route(RankId::new(from), RankId::new(to), &mut path)
        .expect("both ranks exist");
    path
}

/// The nodes that a route passes after its start.
fn stops(topology: &Topology, from: usize, to: usize) -> Vec<usize> {
    route(topology, from, to)
        .iter()
        .map(|&link| topology.destination(link).index())
        .collect()
}

fn links(list: &[(u64, u64)]) -> Vec<LinkInput> {
    list.iter()
        .map(|&(source, destination)| LinkInput {
            source,
            destination,
            bandwidth: 1,
            latency: 0,
            tier: "link".to_owned(),
        })
        .collect()
}

fn assert_routes_are_paths(topology: &Topology) {
    for from in 0..topology.ranks() {
        for to in 0..topology.ranks() {
            let mut at = NodeId::new(from);
            for link in route(topology, from, to) {
                assert_eq!(topology.source(link), at, "{} {:?}", topology.name(), topology.shape());
                at = topology.destination(link);
            }
            assert_eq!(at, NodeId::new(to), "{} {:?}", topology.name(), topology.shape());
        }
    }
}

#[test]
fn every_route_is_a_path_to_its_destination() {
    for topology in every_shape().into_iter().chain(joined_twice()) {
        assert_routes_are_paths(&topology);
    }
}

#[test]
fn routes_within_a_server_of_a_cluster_are_the_servers_own() {
    for topology in joined_twice() {
        let (server, _) = topology.server().expect("a cluster");
        let chips = server.ranks();
        for number in 0..topology.ranks() / chips {
            for (from, to) in (0..chips).flat_map(|from| (0..chips).map(move |to| (from, to))) {
                // Switches have other numbers in the cluster, so that chips are compared, and links counted.
                let inside = stops(server, from, to);
                let there = stops(&topology, number * chips + from, number * chips + to);
                assert_eq!(inside.len(), there.len());
                let relays = inside.iter().filter(|&&stop| stop < chips);
                let there = there.into_iter().filter(|&stop| stop < topology.ranks());
                assert!(relays.map(|stop| number * chips + stop).eq(there));
            }
        }
    }
}

#[test]
fn routes_between_servers_go_up_and_down_once() {
    for topology in joined_twice() {
        let (server, _) = topology.server().expect("a cluster");
        let pod = topology.ranks() / topology.shape()[0];
        for to in server.ranks()..topology.ranks() {
            let stops = stops(&topology, 0, to);
            let most = if to < pod { 4 } else { 6 };
            assert!(stops.len() == 2 || stops.len() == most, "{stops:?}");
            assert!(stops[..stops.len() - 1].iter().all(|&stop| stop >= topology.ranks()));
        }
    }
}

#[test]
fn cores_of_one_chip_are_two_links_apart_and_share_the_ports_of_the_chip() {
    let torus = Topology::torus(&[4, 4], &[spec(128, 200)]).expect("a torus");
    let cores = torus.clone().with_cores(4, spec(368, 0)).expect("cores");
    assert_eq!((cores.ranks(), cores.chips(), cores.shape()), (64, 16, &[4, 4, 4][..]));
    assert_eq!(stops(&cores, 5, 6), [64 + 1, 6]);
    for (from, to) in [(0, 63), (9, 50)] {
        let chips: Vec<usize> = stops(&torus, from / 4, to / 4).iter().map(|chip| 64 + chip).collect();
        assert_eq!(
            stops(&cores, from, to),
            [&[64 + from / 4], chips.as_slice(), &[to]].concat()
        );
    }
}

#[test]
fn one_rank_a_chip_changes_nothing() {
    let torus = Topology::torus(&[4, 4], &[spec(128, 200)]).expect("a torus");
    let same = torus.clone().with_cores(1, spec(368, 0)).expect("the torus");
    assert_eq!((same.nodes(), same.links()), (torus.nodes(), torus.links()));
}

#[test]
fn every_route_takes_the_next_link_of_each_node_that_it_passes() {
    for topology in every_shape() {
        for from in 0..topology.ranks() {
            for to in 0..topology.ranks() {
                for link in route(&topology, from, to) {
                    let next = topology.next_link(topology.source(link), RankId::new(to));
                    assert_eq!(link, next, "{} {:?}", topology.name(), topology.shape());
                }
            }
        }
    }
}

#[test]
fn every_route_of_a_list_is_a_path_to_its_destination() {
    for topology in every_shape() {
        assert_routes_are_paths(&as_list(&topology));
    }
}

#[test]
fn closed_form_routes_are_as_short_as_breadth_first_ones() {
    for topology in every_shape() {
        // A relayed route of an ultraserver goes rack first by rule; there, too, no other way has fewer hops.
        let list = as_list(&topology);
        for from in 0..topology.ranks() {
            for to in 0..topology.ranks() {
                assert_eq!(
                    route(&topology, from, to).len(),
                    route(&list, from, to).len(),
                    "{} {:?}: {from} to {to}",
                    topology.name(),
                    topology.shape()
                );
            }
        }
    }
}

#[test]
fn the_extents_of_a_shape_multiply_to_its_ranks() {
    for topology in every_shape() {
        assert_eq!(topology.shape().iter().product::<usize>(), topology.ranks());
    }
}

#[test]
fn every_link_is_listed_once_at_each_end_by_ascending_port() {
    for topology in every_shape() {
        let (mut leaving, mut arriving) = (0, 0);
        for node in (0..topology.nodes()).map(NodeId::new) {
            let outputs: Vec<u32> = topology
                .out_links(node)
                .iter()
                .map(|&link| topology.output_port(link))
                .collect();
            let inputs: Vec<u32> = topology
                .in_links(node)
                .iter()
                .map(|&link| topology.input_port(link))
                .collect();
            assert!(
                topology
                    .out_links(node)
                    .iter()
                    .all(|&link| topology.source(link) == node)
            );
            assert!(
                topology
                    .in_links(node)
                    .iter()
                    .all(|&link| topology.destination(link) == node)
            );
            let ports: Vec<u32> = (0..u32::try_from(topology.ports(node)).expect("small")).collect();
            assert_eq!(outputs, ports, "each port of {} has one link out", topology.name());
            assert_eq!(inputs, ports, "each port of {} has one link in", topology.name());
            leaving += outputs.len();
            arriving += inputs.len();
        }
        assert_eq!((leaving, arriving), (topology.links(), topology.links()));
    }
}

#[test]
fn the_two_links_of_a_cable_share_a_port_at_each_end() {
    for topology in every_shape() {
        for link in (0..topology.links()).map(LinkId::new) {
            let back = topology.out_links(topology.destination(link))[topology.input_port(link) as usize];
            assert_eq!(topology.destination(back), topology.source(link));
            assert_eq!(topology.input_port(back), topology.output_port(link));
        }
    }
}

#[test]
fn half_way_round_a_ring_goes_up() {
    let ring = Topology::ring(6, spec(64, 500)).expect("a ring");
    assert_eq!(stops(&ring, 4, 1), [5, 0, 1]);
    assert_eq!(stops(&ring, 1, 4), [2, 3, 4]);
    assert_eq!(stops(&ring, 1, 5), [0, 5]);
}

#[test]
fn two_ranks_of_a_ring_have_one_link_each_way() {
    assert_eq!(Topology::ring(2, spec(64, 500)).expect("a ring").links(), 2);
    assert_eq!(Topology::ring(1, spec(64, 500)).expect("a ring").links(), 0);
    assert_eq!(Topology::ring(3, spec(64, 500)).expect("a ring").links(), 6);
}

#[test]
fn a_torus_corrects_the_first_dimension_first() {
    let torus = Topology::torus(&[4, 4], &[spec(64, 500)]).expect("a torus");
    // (0, 0) to (3, 2): one down in x over the wrap, then two up in y.
    assert_eq!(stops(&torus, 0, 14), [12, 13, 14]);
}

#[test]
fn a_mesh_does_not_wrap() {
    let mesh = Topology::mesh(&[4], &[spec(64, 500)]).expect("a mesh");
    assert_eq!(stops(&mesh, 3, 0), [2, 1, 0]);
    assert_eq!(mesh.links(), 6);
}

#[test]
fn each_dimension_of_a_torus_has_its_own_links_and_tier() {
    let specs = [spec(128, 1), spec(128, 2), spec(64, 3), spec(32, 4)];
    let torus = Topology::torus(&[2, 3, 4, 2], &specs).expect("a torus");
    assert_eq!(torus.tiers(), ["x", "y", "z", "dim3"]);
    for link in (0..torus.links()).map(LinkId::new) {
        let dimension = usize::from(torus.tier(link));
        assert_eq!(torus.bandwidth(link), specs[dimension].bandwidth);
        assert_eq!(torus.latency(link), specs[dimension].latency);
    }
}

#[test]
fn planes_and_spines_are_chosen_by_the_destination() {
    let switch = Topology::switch(6, 4, spec(64, 500)).expect("a switch");
    assert_eq!(stops(&switch, 0, 5), [6 + 5 % 4, 5]);
    let clos = Topology::leaf_spine(3, 2, 4, spec(64, 500), spec(64, 500)).expect("a Clos network");
    assert_eq!(stops(&clos, 0, 5), [6, 9 + 5 % 4, 8, 5]);
    assert_eq!(stops(&clos, 4, 5), [8, 5]);
}

#[test]
fn the_trn3_ultraserver_has_182_nodes_and_routes_of_at_most_three_hops() {
    let topology = Topology::ultraserver(2, 18, 4, spec(256, 250), spec(320, 250), spec(128, 250)).expect("a machine");
    assert_eq!((topology.ranks(), topology.nodes()), (144, 144 + 36 + 2));
    // A chip's links each way: its server's switch and back, its rack's and back, one to its peer.
    assert_eq!(topology.links(), 144 * 5);
    let (server, rack, relay) = (144, 144 + 36, 72);
    assert_eq!(stops(&topology, 0, 3), [server, 3], "same server");
    assert_eq!(stops(&topology, 0, 70), [rack, 70], "same rack");
    assert_eq!(stops(&topology, 0, 72), [72], "same position");
    assert_eq!(
        stops(&topology, 0, 75),
        [relay, server + 18, 75],
        "same server number, other chip"
    );
    assert_eq!(stops(&topology, 0, 143), [relay, rack + 1, 143], "other position");
}

#[test]
fn every_pair_of_racks_is_joined_at_equal_positions() {
    let topology = Topology::ultraserver(3, 2, 2, spec(256, 250), spec(320, 250), spec(128, 250)).expect("a machine");
    for from in 0..12 {
        for to in (0..12).filter(|to| to % 4 == from % 4 && *to != from) {
            assert_eq!(stops(&topology, from, to), [to]);
        }
    }
}

#[test]
fn equal_breadth_first_ways_are_decided_by_the_lowest_output_port() {
    // Two switches between two ranks, the second one listed first.
    let list = links(&[(0, 3), (3, 1), (0, 2), (2, 1), (1, 2), (2, 0)]);
    let topology = Topology::from_links(2, 2, &list).expect("connected");
    assert_eq!(stops(&topology, 0, 1), [3, 1]);
    assert_eq!(stops(&topology, 1, 0), [2, 0]);
}

#[test]
fn parallel_links_have_ports_of_their_own_shared_by_direction() {
    let topology = Topology::from_links(2, 0, &links(&[(0, 1), (0, 1), (1, 0), (1, 0)])).expect("connected");
    let ports: Vec<(u32, u32)> = (0..4)
        .map(LinkId::new)
        .map(|link| (topology.output_port(link), topology.input_port(link)))
        .collect();
    assert_eq!(ports, [(0, 0), (1, 1), (0, 0), (1, 1)]);
    assert_eq!(route(&topology, 0, 1), [LinkId::new(0)]);
}

#[test]
fn one_rank_needs_no_links() {
    let topology = Topology::from_links(1, 0, &[]).expect("one rank reaches itself");
    assert_eq!(route(&topology, 0, 0), []);
}
