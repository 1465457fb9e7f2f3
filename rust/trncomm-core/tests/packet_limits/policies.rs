//! Several ways: sprayed over, adapted to, or picked by a hash.

use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::ids::LinkId;
use trncomm_core::topology::{Fabric, Fault, Policy, Topology};
use trncomm_core::units::Bytes;

use crate::common::cases;
use crate::common::networks::topology;
use crate::drive::{Post, deliver, post, spec, try_deliver, with};

const PACKET: u64 = 1000;
const LATENCY: u64 = 300;
/// The last packet goes through the switch behind all others.
const END: u64 = LATENCY + PACKET + LATENCY;

fn planes(planes: usize, policy: Policy) -> Topology {
    let switch = Topology::switch(4, planes, spec(LATENCY)).expect("a switch");
    with(&switch, PACKET, Fabric::default().with_policy(policy))
}

#[test]
fn spraying_divides_the_time_by_the_planes() {
    for count in 1..=8 {
        let packets = 5 * count as u64;
        let posts = [post(0, 0, 1, packets * PACKET)];
        let fixed = deliver(&planes(count, Policy::Fixed), &posts).time();
        assert_eq!(fixed, packets * PACKET + END);
        for policy in [Policy::Spray, Policy::Adaptive] {
            let run = deliver(&planes(count, policy), &posts);
            assert_eq!(run.time(), 5 * PACKET + END, "{count} planes, {policy:?}");
            assert!(
                run.traffic.link_bytes[..2 * count]
                    .iter()
                    .step_by(2)
                    .all(|&bytes| bytes == 5 * PACKET)
            );
            // Ways that are alike keep the order.
            assert_eq!(run.traffic.reordered, 0);
        }
    }
}

#[test]
fn a_message_sprayed_begins_where_the_one_before_it_ended() {
    let posts: Vec<Post> = (0..6).map(|_| post(0, 0, 1, 2 * PACKET)).collect();
    let run = deliver(&planes(3, Policy::Spray), &posts);
    assert_eq!(
        run.traffic.link_bytes[..6],
        [4 * PACKET, 0, 4 * PACKET, 0, 4 * PACKET, 0]
    );
}

/// Two planes, the first of which rank 0 reaches at a quarter of the rate.
fn uneven(policy: Policy) -> Topology {
    let slow = Fault::LinkSlow {
        link: LinkId::new(0),
        numerator: 1,
        denominator: 4,
    };
    planes(2, policy).with_faults(&[slow]).expect("a view")
}

#[test]
fn adaptive_senders_give_a_slow_plane_as_much_as_it_can_carry() {
    let posts = [post(0, 0, 1, 10 * PACKET)];
    // Of ten packets the slow plane takes two and the other eight, at four times the rate.
    let adaptive = deliver(&uneven(Policy::Adaptive), &posts);
    assert_eq!(adaptive.traffic.link_bytes[0], 2 * PACKET);
    assert_eq!(adaptive.time(), 8 * PACKET + END);
    // In turn it has to carry half.
    let sprayed = deliver(&uneven(Policy::Spray), &posts);
    assert_eq!(sprayed.time(), 5 * 4 * PACKET + END);
}

#[test]
fn adaptive_leaves_avoid_a_slow_spine() {
    let built = Topology::leaf_spine(2, 4, 2, spec(LATENCY), spec(LATENCY)).expect("leaves");
    let slow = built
        .out_links(trncomm_core::ids::NodeId::new(8))
        .iter()
        .copied()
        .find(|&link| built.destination(link).get() == 10)
        .expect("leaf 0 leads to spine 0");
    let fault = Fault::LinkSlow {
        link: slow,
        numerator: 1,
        denominator: 8,
    };
    let posts: Vec<Post> = (0..4).map(|rank| post(0, rank, 4 + rank, 20 * PACKET)).collect();
    let run = |policy| {
        let topology = with(&built, PACKET, Fabric::default().with_policy(policy));
        deliver(&topology.with_faults(&[fault]).expect("a view"), &posts)
    };
    let (adaptive, sprayed) = (run(Policy::Adaptive), run(Policy::Spray));
    assert_eq!(sprayed.traffic.link_bytes[slow.index()], 40 * PACKET);
    // Queues of equal bytes get equal numbers of packets only while they grow: the slow one drains at an eighth of the rate.
    assert!(adaptive.traffic.link_bytes[slow.index()] < 35 * PACKET);
    assert!(adaptive.time() < sprayed.time());
}

#[test]
fn spraying_over_uneven_planes_counts_packets_that_are_overtaken() {
    let half = Fault::LinkSlow {
        link: LinkId::new(2),
        numerator: 1,
        denominator: 2,
    };
    let topology = planes(2, Policy::Spray).with_faults(&[half]).expect("a view");
    // Packets 0, 2 and 4 come to their plane at 1, 2 and 3 times P, packets 1, 3 and 5 at 2, 4 and 6 times P: where two start
    // at once, the lower port is first. 1 starts after 2, 3 after 4, and 5 after none.
    let run = deliver(&topology, &[post(0, 0, 1, 6 * PACKET)]);
    assert_eq!(run.traffic.reordered, 2);
    assert_eq!(run.delivered, [6 * PACKET + END]);
}

#[test]
fn a_hash_spreads_pairs_over_planes_and_keeps_each_pair_on_one() {
    let mut used = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let run = deliver(
            &planes(4, Policy::FlowHash { seed }),
            &[post(0, 0, 1, 9 * PACKET), post(0, 0, 1, PACKET)],
        );
        let up: Vec<u64> = run.traffic.link_bytes[..8].iter().step_by(2).copied().collect();
        assert_eq!(up.iter().sum::<u64>(), 10 * PACKET);
        let plane = up.iter().position(|&bytes| bytes > 0).expect("some plane");
        assert_eq!(up[plane], 10 * PACKET, "one plane carries all");
        used.insert(plane);
    }
    assert_eq!(
        used.len(),
        4,
        "20 seeds miss one of 4 planes with a probability of 1.3 %, and these don't"
    );
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn ways_that_are_fixed_keep_the_order(
        topology in topology(),
        posts in prop::collection::vec((0..2000_u64, any::<Index>(), any::<Index>(), 0..2000_u64), 1..60),
        seed in any::<Option<u64>>(),
        fabric in crate::common::networks::fabric(100),
    ) {
        let policy = seed.map_or(Policy::Fixed, |seed| Policy::FlowHash { seed });
        let fabric = fabric.with_policy(policy);
        let fabric = match fabric.buffer() {
            Some(buffer) => fabric.with_buffer(Bytes::new(buffer.get().max(100))),
            None => fabric,
        };
        let topology = with(&topology, 100, fabric);
        let ranks = topology.ranks();
        let posts: Vec<Post> = posts
            .into_iter()
            .map(|(at, from, to, bytes)| post(at, from.index(ranks), to.index(ranks), bytes))
            .filter(|post| post.from != post.to)
            .collect();
        // Whether it stops is for other tests.
        if let Ok(run) = try_deliver(&topology, &posts) {
            prop_assert_eq!(run.traffic.reordered, 0);
            let mut last = std::collections::BTreeMap::new();
            for id in run.order {
                let Post { from, to, at, .. } = posts[id];
                let before = last.insert((from, to), (at, id));
                prop_assert!(before < Some((at, id)), "{id} from {from} to {to} after {before:?}");
            }
        }
    }
}
