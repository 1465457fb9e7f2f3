//! Random traffic on random topologies: the plain solver finds the same rates and times.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trncomm_core::algorithm;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Advance, Control, Flow, FlowOptions, Network, Untracked, run};
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Code, Layout};
use trncomm_core::topology::{Endpoint, Fabric, LinkInput, Policy, Topology, Touches};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use crate::common::cases;
use crate::plain::Plain;
use crate::{Post, deliveries, link};

/// A ring with chords, each link with its own bandwidth and latency.
fn tangle() -> impl Strategy<Value = Topology> {
    let spec = || (prop_oneof![Just(1u64), 1u64..20, Just(10)], 0u64..3);
    let chord = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), spec());
    (3usize..9).prop_flat_map(move |nodes| {
        let ring = prop::collection::vec(spec(), nodes);
        (ring, prop::collection::vec(chord.clone(), 0..12)).prop_map(move |(ring, chords)| {
            let input = |source: usize, destination: usize, (gigabytes, microseconds)| LinkInput {
                source: source as u64,
                destination: destination as u64,
                bandwidth: gigabytes * 1_000_000_007,
                latency: microseconds * 1_000_000,
                tier: "link".to_owned(),
            };
            let around = (0..)
                .zip(ring)
                .map(|(node, spec)| input(node, (node + 1) % nodes, spec));
            let across = chords.into_iter().filter_map(|(from, to, spec)| {
                let (from, to) = (from.index(nodes), to.index(nodes));
                (from != to).then(|| input(from, to, spec))
            });
            let links: Vec<LinkInput> = around.chain(across).collect();
            Topology::from_links(nodes, 0, &links).expect("a ring joins all")
        })
    })
}

fn any_topology() -> impl Strategy<Value = Topology> {
    let named = prop_oneof![
        (2usize..9, 1usize..4).prop_map(|(ranks, planes)| Topology::switch(ranks, planes, link(3, 500))),
        (2usize..4, 2usize..4).prop_map(|(a, b)| Topology::torus(&[a, b], &[link(7, 500), link(3, 200)])),
        (2usize..4, 1usize..4, 1usize..4).prop_map(|(leaves, each, spines)| Topology::leaf_spine(
            leaves,
            each,
            spines,
            link(7, 500),
            link(5, 300)
        )),
    ];
    let shapes = prop_oneof![tangle(), named.prop_map(|topology| topology.expect("a shape"))];
    let policy = prop_oneof![2 => Just(Policy::Fixed), 1 => Just(Policy::Spray), 1 => Just(Policy::Adaptive)];
    let touches = (0u32..4, 0u32..4, 0u32..4).prop_map(|(read, write, reduce)| Touches { read, write, reduce });
    let memory = (prop_oneof![Just(2u64), 1..20u64], touches);
    (shapes, policy, prop::option::weighted(0.5, memory)).prop_map(|(topology, policy, memory)| {
        let endpoint = memory.map_or(Endpoint::free(), |(gigabytes, touches)| {
            let rate = Bandwidth::new(gigabytes * 1_000_000_007).expect("above zero");
            Endpoint::free().with_memory(rate, touches)
        });
        topology
            .with_endpoint(endpoint)
            .with_fabric(Fabric::default().with_policy(policy))
    })
}

/// Messages over `topology`, many of them at one instant, of one size, or between one pair of ranks.
fn posts(ranks: usize, most: usize) -> impl Strategy<Value = Vec<Post>> {
    let at = prop_oneof![3 => Just(0u64), 2 => (0u64..4).prop_map(|us| us * 1_000_000), 1 => 0u64..5_000_000];
    let bytes = prop_oneof![Just(10_000u64), 0u64..20_000, (0u64..4).prop_map(|kb| kb * 5000)];
    let rank = move || 0..u32::try_from(ranks).expect("a small topology");
    let post = (at, rank(), rank(), bytes).prop_map(|(at, source, destination, bytes)| Post {
        at,
        source,
        destination,
        bytes,
    });
    prop::collection::vec(post, 1..most)
}

/// What a message gets at most, in bytes a second, and whether its share depends on its route's latency.
type Limits = (Option<u64>, bool);

fn traffic() -> impl Strategy<Value = (Topology, Vec<Post>, Limits)> {
    (
        any_topology(),
        prop::option::weighted(0.3, 100_000_000u64..4_000_000_000),
        prop::bool::weighted(0.3),
    )
        .prop_flat_map(|(topology, cap, by_round_trip)| {
            let ranks = topology.ranks();
            (Just(topology), posts(ranks, 40), Just((cap, by_round_trip)))
        })
}

fn both(topology: &Topology, (cap, by_round_trip): Limits) -> (Flow<'_>, Plain<'_>) {
    let options = match cap {
        Some(cap) => FlowOptions::default().with_cap(Bandwidth::new(cap).expect("above zero")),
        None => FlowOptions::default(),
    };
    let options = if by_round_trip {
        options.with_round_trip_weights()
    } else {
        options
    };
    let plain = Plain::new(topology, cap.map_or(f64::INFINITY, |cap| cap as f64), by_round_trip);
    (Flow::new(topology, options), plain)
}

/// How far the two may be apart after `messages`, in picoseconds.
///
/// Both round a drain up to a picosecond, from the same instants and from rates that agree to 10⁻¹². They differ where
/// that decides on which side of a picosecond a drain falls: by 1 ps. A drain that comes 1 ps later lets the others
/// have their new rate 1 ps later, which moves each by at most 1 ps where the rate rises. So the bound is 1 ps for the
/// message's own rounding, and 1 ps for each drain before it.
fn allowance(messages: usize) -> u64 {
    messages as u64
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn random_messages_arrive_when_the_plain_solver_says((topology, posts, limits) in traffic()) {
        let (mut flow, mut plain) = both(&topology, limits);
        let expected = deliveries(&mut plain, &posts);
        let found = deliveries(&mut flow, &posts);
        for ((found, expected), post) in found.into_iter().zip(expected).zip(&posts) {
            let apart = found.abs_diff(expected);
            prop_assert!(apart <= allowance(posts.len()), "{found} instead of {expected} for {post:?}");
        }
    }

    #[test]
    fn random_messages_have_the_rates_of_the_plain_solver((topology, posts, limits) in traffic()) {
        let (mut flow, mut plain) = both(&topology, limits);
        let now: Vec<Post> = posts.iter().filter(|post| post.bytes > 0).map(|&post| Post { at: 0, ..post }).collect();
        for (message, post) in (0..).zip(&now) {
            for network in [&mut flow as &mut dyn Network, &mut plain] {
                let bytes = Bytes::new(post.bytes);
                network
                    .post(Time::ZERO, message, post.source.into(), post.destination.into(), bytes)
                    .expect("ranks of the topology");
            }
        }
        // To the first delivery, so that rates after a change are compared as well.
        for _ in 0..2 {
            let (found, expected) = (flow.rates(), plain.rates());
            prop_assert_eq!(found.len(), expected.len());
            for ((message, found), (same, expected)) in found.into_iter().zip(expected) {
                prop_assert_eq!(message, same);
                prop_assert!((found / expected - 1.0).abs() <= 1e-9, "{} instead of {}", found, expected);
            }
            let mut due = Vec::new();
            let stops = (flow.advance(&mut due), plain.advance(&mut due));
            if let (Advance::Due(a), Advance::Due(b)) = stops && a != b {
                break;
            }
        }
    }

    #[test]
    fn the_order_of_posting_changes_no_time_but_between_one_pair((topology, posts, limits) in traffic()) {
        let (mut flow, _) = both(&topology, limits);
        let forward = deliveries(&mut flow, &posts);
        // Backwards, with the messages of a pair in their own order.
        let mut of_pair: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for (index, post) in posts.iter().enumerate().rev() {
            of_pair.entry((post.source, post.destination)).or_default().push(index);
        }
        let next = |post: &Post| of_pair.get_mut(&(post.source, post.destination)).and_then(Vec::pop).expect("its own");
        let order: Vec<usize> = posts.iter().rev().map(next).collect();
        let reordered: Vec<Post> = order.iter().map(|&index| posts[index]).collect();
        let (mut flow, _) = both(&topology, limits);
        for (&index, time) in order.iter().zip(deliveries(&mut flow, &reordered)) {
            prop_assert_eq!(time, forward[index]);
        }
    }

    #[test]
    fn collectives_end_when_the_plain_solver_says(topology in any_topology(), size in 0u64..200, seed in any::<prop::sample::Index>()) {
        let choices: Vec<_> = [Collective::AllReduce, Collective::AllToAll, Collective::Broadcast]
            .into_iter()
            .flat_map(|collective| algorithm::algorithms(collective).map(move |algorithm| (collective, algorithm.name)))
            .collect();
        let (collective, name) = *seed.get(&choices);
        let root = RankId::from(0);
        let Ok(schedule) = algorithm::build(&topology, collective, name, root, BTreeMap::new()) else {
            return Ok(());
        };
        let layout = Layout::new(Bytes::new(size * 1000), 1, schedule.chunks()).expect("bytes are whole");
        let code = Code::new(&schedule, layout).expect("the layout is the schedule's");
        let endpoint = topology
            .endpoint()
            .with_launch(Time::from_picoseconds(1000))
            .with_completion(Time::from_picoseconds(500));
        let (flow, plain) = both(&topology, (None, false));
        let mut go_on = |_| Control::Continue;
        let found = run(&code, &endpoint, flow, Untracked, &mut go_on).expect("a proved schedule");
        let expected = run(&code, &endpoint, plain, Untracked, &mut go_on).expect("a proved schedule");
        prop_assert_eq!(found.messages, expected.messages);
        let allowance = allowance(usize::try_from(found.messages).expect("few"));
        for (found, expected) in found.finish.into_iter().zip(expected.finish) {
            let apart = found.picoseconds().abs_diff(expected.picoseconds());
            prop_assert!(apart <= allowance, "{} instead of {} by {}", found, expected, name);
        }
    }
}
