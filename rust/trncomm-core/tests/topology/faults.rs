//! Faults: views keep their numbers, whole routes stay, broken ones go the shortest way that is left, and what makes no
//! sense is refused.

use std::collections::BTreeSet;

use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{Fault, LinkInput, Topology};
use trncomm_core::units::{Bandwidth, Time};

use super::{as_list, every_shape, hops_to, spec};

fn route(topology: &Topology, from: usize, to: usize) -> Vec<LinkId> {
    let mut path = Vec::new();
    let (from, to) = (RankId::new(from), RankId::new(to));
    topology.route(from, to, &mut path).expect("both exist");
    path
}

/// The links that faults take down, by the test's own reading of them.
fn down(topology: &Topology, faults: &[Fault]) -> BTreeSet<LinkId> {
    let links = (0..topology.links()).map(LinkId::new);
    links
        .filter(|&link| {
            faults.iter().any(|fault| match *fault {
                Fault::LinkDown(down) => down == link,
                Fault::NodeDown(node) => topology.source(link) == node || topology.destination(link) == node,
                _ => false,
            })
        })
        .collect()
}

/// Checks all that a view promises of routes against a search over what is left. Whether there was a view.
fn assert_view_keeps_its_promises(topology: &Topology, faults: &[Fault]) -> bool {
    let down = down(topology, faults);
    let about = format!("{} {:?} with {faults:?}", topology.name(), topology.shape());
    let is_up = |link: LinkId| !down.contains(&link);
    let hops: Vec<Vec<Option<u32>>> = (0..topology.ranks()).map(|to| hops_to(topology, to, is_up)).collect();
    let is_connected = hops
        .iter()
        .all(|row| row[..topology.ranks()].iter().all(Option::is_some));
    let view = match topology.with_faults(faults) {
        Ok(view) => view,
        Err(error) => {
            assert!(!is_connected, "{about}: {error}");
            assert!(error.to_string().starts_with("there is no path from rank "), "{error}");
            return false;
        }
    };
    assert!(is_connected, "{about}");
    let mut links = Vec::new();
    for (to, hops) in hops.iter().enumerate() {
        for (from, &hops) in hops[..topology.ranks()].iter().enumerate() {
            let path = route(&view, from, to);
            assert!(path.iter().all(|&link| is_up(link)), "{about}: {from} to {to}");
            assert_eq!(u32::try_from(path.len()).ok(), hops, "{about}: {from} to {to}");
            let before = route(topology, from, to);
            if before.iter().all(|&link| is_up(link)) {
                assert_eq!(path, before, "{about}: {from} to {to} was whole");
            }
        }
        // A node without a way to the rank is on no route to it.
        for at in (0..topology.nodes()).filter(|&at| at != to && hops[at].is_some()) {
            view.next_links(NodeId::new(at), RankId::new(to), &mut links);
            assert!(
                links.contains(&view.next_link(NodeId::new(at), RankId::new(to))),
                "{about}"
            );
            for &link in &links {
                assert!(is_up(link), "{about}: {link} from {at} to {to}");
                let rest = hops[topology.destination(link).index()];
                assert_eq!(rest.map(|rest| rest + 1), hops[at], "{about}: {link} from {at} to {to}");
            }
            assert!(links.is_sorted_by_key(|&link| topology.output_port(link)), "{about}");
        }
        // The links of a route are the next links from node to node.
        for from in (0..topology.ranks()).filter(|&from| from != to) {
            for link in route(&view, from, to) {
                assert_eq!(view.next_link(topology.source(link), RankId::new(to)), link, "{about}");
            }
        }
    }
    true
}

/// The shapes, and the same as lists, leaving out the largest: every link of each is tried.
fn shapes() -> Vec<Topology> {
    let shapes = every_shape().into_iter().filter(|topology| topology.ranks() <= 24);
    shapes.flat_map(|topology| [as_list(&topology), topology]).collect()
}

#[test]
fn a_link_down_is_gone_round_or_reported() {
    let (mut views, mut refusals) = (0, 0);
    for topology in shapes() {
        for link in (0..topology.links()).map(LinkId::new) {
            let is_view = assert_view_keeps_its_promises(&topology, &[Fault::LinkDown(link)]);
            *(if is_view { &mut views } else { &mut refusals }) += 1;
        }
    }
    assert!(views > 500 && refusals > 100, "{views} views, {refusals} refusals");
}

#[test]
fn a_switch_down_is_gone_round_or_reported() {
    let (mut views, mut refusals) = (0, 0);
    for topology in shapes() {
        for node in (topology.ranks()..topology.nodes()).map(NodeId::new) {
            let is_view = assert_view_keeps_its_promises(&topology, &[Fault::NodeDown(node)]);
            *(if is_view { &mut views } else { &mut refusals }) += 1;
        }
    }
    assert!(views > 50 && refusals > 20, "{views} views, {refusals} refusals");
}

#[test]
fn several_links_down_are_gone_round_or_reported() {
    let (mut views, mut refusals) = (0_u32, 0_u32);
    for topology in shapes().into_iter().filter(|topology| topology.links() > 3) {
        // Every third, fifth, … link in turn, so that faults lie on one another's detours.
        for step in [3, 5, 7, 11] {
            for start in 0..step.min(topology.links()) {
                let links = (start..topology.links()).step_by(step).map(LinkId::new);
                let faults: Vec<Fault> = links.map(Fault::LinkDown).collect();
                let is_view = assert_view_keeps_its_promises(&topology, &faults);
                *(if is_view { &mut views } else { &mut refusals }) += 1;
            }
        }
    }
    assert!(views > 200 && refusals > 200, "{views} views, {refusals} refusals");
}

#[test]
fn faults_of_a_view_of_a_view_add_up() {
    let torus = Topology::torus(&[4, 4], &[spec(64, 500)]).expect("a torus");
    let faults = [1, 8, 20].map(|link| Fault::LinkDown(LinkId::new(link)));
    let mut view = torus.clone();
    for fault in faults {
        // A route that is asked for in between must not be remembered.
        route(&view, 0, 15);
        view = view.with_faults(&[fault]).expect("a torus has other ways");
    }
    let at_once = torus.with_faults(&faults).expect("a torus has other ways");
    assert_eq!(view.faults(), faults);
    for from in 0..16 {
        for to in 0..16 {
            assert_eq!(route(&view, from, to), route(&at_once, from, to));
        }
    }
}

#[test]
fn a_view_keeps_every_column_but_what_is_slow() {
    let torus = Topology::torus(&[3, 4], &[spec(64, 500)]).expect("a torus");
    let (dead, slow) = (LinkId::new(3), LinkId::new(9));
    let faults = [
        Fault::LinkDown(dead),
        Fault::LinkSlow {
            link: slow,
            numerator: 1,
            denominator: 3,
        },
    ];
    let view = torus.with_faults(&faults).expect("a torus has other ways");
    assert_eq!(view.sources(), torus.sources());
    assert_eq!(view.destinations(), torus.destinations());
    assert_eq!(view.latencies(), torus.latencies());
    assert_eq!(view.link_tiers(), torus.link_tiers());
    for link in (0..torus.links()).map(LinkId::new) {
        assert_eq!(view.is_up(link), link != dead);
        let rate = if link == slow {
            // 64e9 / 3, rounded down.
            Bandwidth::new(21_333_333_333).expect("not zero")
        } else {
            torus.bandwidth(link)
        };
        assert_eq!(view.bandwidth(link), rate);
    }
    assert_eq!(
        torus.bandwidth(slow),
        torus.bandwidth(dead),
        "the topology is as it was"
    );
    assert!(torus.is_up(dead) && torus.faults().is_empty());
    assert_eq!(view.faults(), faults);
}

#[test]
fn ranks_and_links_have_the_faults_that_they_are_given() {
    let ring = Topology::ring(4, spec(64, 500)).expect("a ring");
    let (rank, link, by) = (RankId::new(2), LinkId::new(5), Time::from_picoseconds(7_000));
    let faults = [
        Fault::Late { rank, by },
        Fault::Slow {
            rank,
            numerator: 5,
            denominator: 4,
        },
        Fault::LinkErrors {
            link,
            bit_error_rate: 1e-9,
        },
    ];
    let view = ring.with_faults(&faults).expect("all are in range");
    assert_eq!((view.late(rank), view.late(RankId::new(1))), (by, Time::ZERO));
    assert_eq!((view.slowness(rank), view.slowness(RankId::new(1))), ((5, 4), (1, 1)));
    let rates = [link, LinkId::new(4)].map(|link| view.bit_error_rate(link).to_bits());
    assert_eq!(rates, [1e-9_f64.to_bits(), 0]);
}

#[test]
fn traffic_of_a_spine_that_is_down_spreads_over_the_others() {
    let link = spec(64, 500);
    let clos = Topology::leaf_spine(2, 12, 4, link, link).expect("a Clos network");
    let (leaf, spine) = (24, 24 + 2 + 1);
    let view = clos
        .with_faults(&[Fault::NodeDown(NodeId::new(spine))])
        .expect("three are left");
    let mut taken = vec![0; view.nodes()];
    for to in (12..24).filter(|to| to % 4 == 1) {
        let next = view.next_link(NodeId::new(leaf), RankId::new(to));
        taken[view.destination(next).index()] += 1;
    }
    // Ranks 13, 17 and 21 took spine 1; one goes to each of the others.
    assert_eq!(taken[26..], [1, 0, 1, 1]);
}

#[test]
fn ten_thousand_ranks_take_detours_without_a_table_of_all_pairs() {
    let link = spec(64, 500);
    let torus = Topology::torus(&[100, 100], &[link]).expect("a torus");
    let clos = Topology::leaf_spine(100, 100, 16, link, link).expect("a Clos network");
    let switch = Topology::switch(10_000, 4, link).expect("a switch");
    // The first link goes from rank 0 up in x; switch number 10,100 is spine 0, 10,000 plane 0.
    for (topology, fault, from, to, hops) in [
        (&torus, Fault::LinkDown(LinkId::new(0)), 0, 100, 3),
        (&clos, Fault::NodeDown(NodeId::new(10_100)), 0, 9_600, 4),
        (&switch, Fault::NodeDown(NodeId::new(10_000)), 1, 0, 2),
    ] {
        let view = topology.with_faults(&[fault]).expect("other ways are left");
        assert!(route(topology, from, to).iter().any(|&link| !view.is_up(link)));
        assert_eq!(route(&view, from, to).len(), hops, "{}", topology.name());
    }
}

#[test]
fn a_relay_between_racks_that_is_cut_goes_by_another_position() {
    let link = spec(64, 500);
    let machine = Topology::ultraserver(2, 18, 4, link, link, link).expect("a machine");
    let direct = route(&machine, 0, 72);
    assert_eq!(direct.len(), 1);
    let view = machine.with_faults(&[Fault::LinkDown(direct[0])]).expect("143 others");
    // Down and up a server's or the rack's switch, over, and again.
    assert_eq!(route(&view, 0, 72).len(), 5);
    assert_eq!(route(&view, 72, 0).len(), 1, "the way back is whole");
}

fn message(topology: &Topology, faults: &[Fault]) -> String {
    topology
        .with_faults(faults)
        .expect_err("this makes no view")
        .to_string()
}

#[test]
fn ranks_that_faults_part_are_named() {
    let link = spec(64, 500);
    let mesh = Topology::mesh(&[4], &[link]).expect("a mesh");
    let cable = route(&mesh, 1, 2)[0];
    assert_eq!(
        message(&mesh, &[Fault::LinkDown(cable)]),
        "there is no path from rank 0 to rank 2"
    );
    let back = route(&mesh, 2, 1)[0];
    assert_eq!(
        message(&mesh, &[Fault::LinkDown(back)]),
        "there is no path from rank 2 to rank 0"
    );
    let switch = Topology::switch(4, 1, link).expect("a switch");
    assert_eq!(
        message(&switch, &[Fault::NodeDown(NodeId::new(4))]),
        "there is no path from rank 0 to rank 1"
    );
}

#[test]
fn a_chip_cannot_be_down() {
    let switch = Topology::switch(4, 1, spec(64, 500)).expect("a switch");
    assert_eq!(
        message(&switch, &[Fault::NodeDown(NodeId::new(3))]),
        "node that is down must be a switch, as the rank of a chip takes part in every collective that doesn't leave \
         it out, got 3, a chip"
    );
}

#[test]
fn faults_of_what_is_not_there_are_refused() {
    let ring = Topology::ring(4, spec(64, 500)).expect("a ring");
    for (fault, expected) in [
        (
            Fault::LinkDown(LinkId::new(8)),
            "link must be below 8, the number of links, got 8",
        ),
        (
            Fault::LinkSlow {
                link: LinkId::new(9),
                numerator: 1,
                denominator: 2,
            },
            "link must be below 8, the number of links, got 9",
        ),
        (
            Fault::LinkErrors {
                link: LinkId::new(10),
                bit_error_rate: 0.5,
            },
            "link must be below 8, the number of links, got 10",
        ),
        (
            Fault::NodeDown(NodeId::new(4)),
            "node must be below 4, the number of nodes, got 4",
        ),
        (
            Fault::Late {
                rank: RankId::new(4),
                by: Time::ZERO,
            },
            "rank must be below 4, the number of ranks, got 4",
        ),
        (
            Fault::Slow {
                rank: RankId::new(5),
                numerator: 2,
                denominator: 1,
            },
            "rank must be below 4, the number of ranks, got 5",
        ),
    ] {
        assert_eq!(message(&ring, &[fault]), expected);
    }
}

#[test]
fn fractions_out_of_range_are_refused() {
    let ring = Topology::ring(4, spec(64, 500)).expect("a ring");
    let (link, rank) = (LinkId::new(1), RankId::new(2));
    for (numerator, denominator) in [(0, 1), (3, 2), (0, 0), (1, 0)] {
        let fault = Fault::LinkSlow {
            link,
            numerator,
            denominator,
        };
        assert_eq!(
            message(&ring, &[fault]),
            format!(
                "fraction of a link's rate must be above 0 and at most 1, got {numerator}/{denominator} for link 1"
            )
        );
    }
    for (numerator, denominator) in [(1, 2), (1, 0), (0, 0), (0, 1)] {
        let fault = Fault::Slow {
            rank,
            numerator,
            denominator,
        };
        assert_eq!(
            message(&ring, &[fault]),
            format!("slowness must be at least 1, got {numerator}/{denominator} for rank 2")
        );
    }
    for bit_error_rate in [-1e-9, 1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            message(&ring, &[Fault::LinkErrors { link, bit_error_rate }]),
            format!("bit error rate must be from 0 to below 1, got {bit_error_rate} for link 1")
        );
    }
}

#[test]
fn a_rate_that_rounds_down_to_nothing_is_refused() {
    let link = |source, destination| LinkInput {
        source,
        destination,
        bandwidth: 1,
        latency: 0,
        tier: "link".to_owned(),
    };
    let pair = Topology::from_links(2, 0, &[link(0, 1), link(1, 0)]).expect("connected");
    let fault = Fault::LinkSlow {
        link: LinkId::new(0),
        numerator: 1,
        denominator: 2,
    };
    assert_eq!(message(&pair, &[fault]), "bandwidth must be above 0 bytes/s, got 0");
}

#[test]
fn a_second_fault_of_a_kind_is_refused_but_down_twice_is_down() {
    let ring = Topology::ring(4, spec(64, 500)).expect("a ring");
    let (link, rank) = (LinkId::new(1), RankId::new(2));
    for (fault, expected) in [
        (
            Fault::LinkSlow {
                link,
                numerator: 1,
                denominator: 2,
            },
            "faults must be at most one LinkSlow for a link, got a second one for link 1",
        ),
        (
            Fault::LinkErrors {
                link,
                bit_error_rate: 0.0,
            },
            "faults must be at most one LinkErrors for a link, got a second one for link 1",
        ),
        (
            Fault::Late { rank, by: Time::ZERO },
            "faults must be at most one Late for a rank, got a second one for rank 2",
        ),
        (
            Fault::Slow {
                rank,
                numerator: 1,
                denominator: 1,
            },
            "faults must be at most one Slow for a rank, got a second one for rank 2",
        ),
    ] {
        assert_eq!(message(&ring, &[fault, fault]), expected);
        let view = ring.with_faults(&[fault]).expect("one is fine");
        assert_eq!(message(&view, &[fault]), expected);
    }
    let down = [Fault::LinkDown(link); 2];
    assert!(!ring.with_faults(&down).expect("the other way is left").is_up(link));
}

#[test]
fn a_topology_may_have_a_name_of_its_own() {
    let ring = Topology::ring(4, spec(64, 500)).expect("a ring");
    let named = ring.clone().with_name("my machine".to_owned());
    assert_eq!((ring.name(), named.name()), ("ring", "my machine"));
    assert_eq!(named.family(), ring.family());
}
