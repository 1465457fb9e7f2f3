//! Sets of next links: all shortest ways where that is promised, one where not, the fixed route always among them.

use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{LinkInput, Topology};

use super::{as_list, every_shape, hops_to, spec};

fn next_links(topology: &Topology, at: usize, to: usize) -> Vec<LinkId> {
    // What was in it before must not matter.
    let mut links = vec![LinkId::new(7); 3];
    topology.next_links(NodeId::new(at), RankId::new(to), &mut links);
    links
}

/// The links that lead one hop closer, by a search of the test's own.
fn closer(topology: &Topology, at: usize, to: usize) -> Vec<LinkId> {
    let hops = hops_to(topology, to, |_| true);
    let links = topology.out_links(NodeId::new(at)).iter().copied();
    links
        .filter(|&link| hops[topology.destination(link).index()].map(|hops| hops + 1) == hops[at])
        .collect()
}

#[test]
fn the_fixed_route_is_always_in_the_set() {
    for topology in every_shape() {
        for at in 0..topology.nodes() {
            for to in (0..topology.ranks()).filter(|&to| to != at) {
                let next = topology.next_link(NodeId::new(at), RankId::new(to));
                assert!(next_links(&topology, at, to).contains(&next), "{}", topology.name());
            }
        }
    }
}

#[test]
fn every_link_of_a_set_leads_one_hop_closer() {
    for topology in every_shape() {
        for at in 0..topology.nodes() {
            for to in (0..topology.ranks()).filter(|&to| to != at) {
                let shortest = closer(&topology, at, to);
                for link in next_links(&topology, at, to) {
                    assert!(
                        shortest.contains(&link),
                        "{} {:?}: {link} from {at} to {to}",
                        topology.name(),
                        topology.shape()
                    );
                }
            }
        }
    }
}

#[test]
fn planes_and_spines_are_all_in_the_set() {
    let link = spec(64, 500);
    for topology in [
        Topology::switch(5, 3, link),
        Topology::leaf_spine(3, 2, 4, link, link),
        Topology::leaf_spine(1, 3, 2, link, link),
    ] {
        let topology = topology.expect("a valid shape");
        for at in 0..topology.nodes() {
            for to in (0..topology.ranks()).filter(|&to| to != at) {
                assert_eq!(next_links(&topology, at, to), closer(&topology, at, to), "{at} to {to}");
            }
        }
    }
}

#[test]
fn a_list_of_links_has_all_shortest_ways_by_ascending_port() {
    for topology in every_shape() {
        let list = as_list(&topology);
        for at in 0..list.nodes() {
            for to in (0..list.ranks()).filter(|&to| to != at) {
                assert_eq!(next_links(&list, at, to), closer(&list, at, to), "{at} to {to}");
            }
        }
    }
}

#[test]
fn parallel_links_are_all_in_the_set() {
    let link = |source, destination| LinkInput {
        source,
        destination,
        bandwidth: 1,
        latency: 0,
        tier: "link".to_owned(),
    };
    let list = [link(0, 1), link(1, 0), link(0, 1), link(0, 1)];
    let topology = Topology::from_links(2, 0, &list).expect("connected");
    assert_eq!(next_links(&topology, 0, 1), [0, 2, 3].map(LinkId::new));
}

#[test]
fn a_grid_has_one_link_also_where_both_ways_are_as_long() {
    let torus = Topology::torus(&[4, 2], &[spec(64, 500)]).expect("a torus");
    for at in 0..8 {
        for to in (0..8).filter(|&to| to != at) {
            assert_eq!(next_links(&torus, at, to).len(), 1);
        }
    }
}

#[test]
fn nothing_leaves_the_destination() {
    for topology in every_shape() {
        assert_eq!(next_links(&topology, 0, 0), []);
        assert_eq!(next_links(&as_list(&topology), 0, 0), []);
    }
}
