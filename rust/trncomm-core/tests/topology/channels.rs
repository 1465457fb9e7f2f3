//! Virtual channels: with datelines no circle of buffers can wait for itself, without them a ring's can.

use std::collections::{BTreeMap, BTreeSet};

use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{Fault, Topology};

use super::{every_shape, joined_twice, spec};

/// A buffer at the end of a link.
type Buffer = (LinkId, u8);

/// Which buffers a packet may wait for while it holds each, over all pairs of ranks and all choices of next links.
fn waits(topology: &Topology, channel: impl Fn(Option<Buffer>, LinkId) -> u8) -> BTreeMap<Buffer, BTreeSet<Buffer>> {
    let mut waits: BTreeMap<Buffer, BTreeSet<Buffer>> = BTreeMap::new();
    let mut links = Vec::new();
    for to in (0..topology.ranks()).map(RankId::new) {
        let mut seen = BTreeSet::new();
        let starts = (0..topology.ranks()).map(|from| (NodeId::new(from), None));
        let mut open: Vec<(NodeId, Option<Buffer>)> = starts.collect();
        while let Some((at, held)) = open.pop() {
            topology.next_links(at, to, &mut links);
            for &link in &links {
                let wanted = (link, channel(held, link));
                if let Some(held) = held {
                    waits.entry(held).or_default().insert(wanted);
                }
                if seen.insert(wanted) {
                    open.push((topology.destination(link), Some(wanted)));
                }
            }
        }
    }
    waits
}

/// Whether some buffer waits for itself, by way of others.
fn has_circle(mut waits: BTreeMap<Buffer, BTreeSet<Buffer>>) -> bool {
    loop {
        let before = waits.len();
        let holders: BTreeSet<Buffer> = waits.keys().copied().collect();
        // What waits only for buffers that wait for nothing gets away in the end.
        waits.retain(|_, wanted| wanted.iter().any(|buffer| holders.contains(buffer)));
        if waits.len() == before {
            return before > 0;
        }
    }
}

fn is_safe(topology: &Topology) -> bool {
    !has_circle(waits(topology, |held, link| topology.channel(held, link)))
}

#[test]
fn no_shape_can_wait_for_itself_on_its_channels() {
    let mut shapes = every_shape();
    shapes.extend(joined_twice());
    shapes.push(Topology::torus(&[5, 6], &[spec(64, 500)]).expect("a torus"));
    for topology in shapes {
        assert!(is_safe(&topology), "{} {:?}", topology.name(), topology.shape());
    }
}

#[test]
fn a_ring_of_four_or_more_can_wait_for_itself_on_one_channel() {
    for ranks in [4, 5, 8] {
        let ring = Topology::ring(ranks, spec(64, 500)).expect("a ring");
        assert!(has_circle(waits(&ring, |_, _| 0)), "{ranks}");
    }
}

#[test]
fn a_ring_with_a_cable_cut_is_safe_on_its_channels() {
    for ranks in [3, 4, 7] {
        let ring = Topology::ring(ranks, spec(64, 500)).expect("a ring");
        for link in (0..ring.links()).map(LinkId::new) {
            let view = ring
                .with_faults(&[Fault::LinkDown(link)])
                .expect("the other way is left");
            assert!(is_safe(&view), "{ranks} without {link}");
        }
    }
}

#[test]
fn a_ring_of_three_that_goes_one_way_only_needs_both_channels() {
    let ring = Topology::ring(3, spec(64, 500)).expect("a ring");
    let downward = (0..6)
        .map(LinkId::new)
        .filter(|&link| (ring.source(link).get() + 2) % 3 == ring.destination(link).get());
    let faults: Vec<Fault> = downward.map(Fault::LinkDown).collect();
    let view = ring.with_faults(&faults).expect("the way up is left");
    assert!(has_circle(waits(&view, |_, _| 0)));
    assert!(is_safe(&view));
}

#[test]
fn channels_stay_below_their_number() {
    for topology in every_shape() {
        let waits = waits(&topology, |held, link| topology.channel(held, link));
        let used = waits
            .into_iter()
            .flat_map(|(held, wanted)| wanted.into_iter().chain([held]));
        for (_, channel) in used {
            assert!(channel < topology.channels(), "{}", topology.name());
        }
    }
}

#[test]
fn only_circles_of_three_or_more_need_two_channels() {
    let link = spec(64, 500);
    for (topology, channels) in [
        (Topology::ring(2, link), 1),
        (Topology::ring(3, link), 2),
        (Topology::torus(&[2, 2], &[link]), 1),
        (Topology::torus(&[2, 4], &[link]), 2),
        (Topology::mesh(&[4, 4], &[link]), 1),
        (Topology::switch(4, 2, link), 1),
        (Topology::leaf_spine(4, 2, 2, link, link), 1),
        (Topology::fully_connected(4, link), 1),
        (Topology::ultraserver(2, 18, 4, link, link, link), 1),
    ] {
        let topology = topology.expect("a valid shape");
        assert_eq!(topology.channels(), channels, "{}", topology.name());
    }
}

#[test]
fn a_packet_changes_channel_at_the_dateline_and_back_where_it_turns() {
    let torus = Topology::torus(&[4, 5], &[spec(64, 500)]).expect("a torus");
    let mut path = Vec::new();
    // (2, 0) to (0, 2): up in x over the wrap, then two up in y.
    let (from, to) = (RankId::new(10), RankId::new(2));
    torus.route(from, to, &mut path).expect("both exist");
    let mut held = None;
    let channels: Vec<u8> = path
        .iter()
        .map(|&link| {
            let channel = torus.channel(held, link);
            held = Some((link, channel));
            channel
        })
        .collect();
    assert_eq!(channels, [0, 1, 0, 0]);
}
