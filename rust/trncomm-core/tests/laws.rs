//! Laws that hold whatever the topology, the traffic and the model.

mod common;

use std::collections::BTreeMap;

use common::networks::{custom, link, settings, topology};
use common::symmetry::{Symmetric, rotate, symmetric};
use common::traffic::{Job, collective_job, traffic, traffic_job};
use common::{Report, build, cases, run_on};
use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::bounds::{Contention, tightest};
use trncomm_core::collective::Collective;
use trncomm_core::engine::{
    Advance, Control, Due, Heap, LogGp, MessageId, Model, Network, Packet, Switched, Untracked, run, simulate,
};
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Code, Layout, Schedule};
use trncomm_core::topology::Topology;
use trncomm_core::units::{Bytes, Time};

fn report(topology: &Topology, schedule: &Schedule, size: u64, element: u64, model: Model) -> Report {
    let outcome = simulate(topology, schedule, Bytes::new(size), element, model, &mut |_| {
        Control::Continue
    });
    outcome.expect("a run that ends").into()
}

/// Every algorithm, over links that none of its messages share: each pair of ranks has a link of its own.
fn contention_free() -> impl Strategy<Value = (Collective, &'static str)> {
    let chosen = [
        (Collective::AllReduce, "ring"),
        (Collective::AllReduce, "recursive_halving_doubling"),
        (Collective::AllReduce, "direct"),
        (Collective::AllReduce, "one_shot"),
        (Collective::AllToAll, "pairwise"),
        (Collective::AllGather, "recursive_doubling"),
        (Collective::ReduceScatter, "recursive_halving"),
        (Collective::Broadcast, "binomial"),
    ];
    any::<Index>().prop_map(move |choice| *choice.get(&chosen))
}

proptest! {
    #![proptest_config(cases(1000))]

    /// With less contention a change for the better can't reorder anything for the worse; with contention it can.
    #[test]
    fn faster_links_never_slow_down_a_run_without_contention(
        (collective, name) in contention_free(),
        ranks in 1..=12_usize,
        (rate, more, latency, less) in (1_000_000_u64..2_000_000_000_000, 0..1_000_000_000_000_u64, 0..5000_u64, 0..5000_u64),
        size in 0..20_000_u64,
    ) {
        let mesh = |rate, latency| Topology::fully_connected(ranks, link(rate, latency)).expect("a full mesh");
        let (slow, fast) = (mesh(rate, latency), mesh(rate + more, latency.saturating_sub(less)));
        let schedule = build(&slow, collective, name, 0);
        for model in Model::ALL {
            let (before, after) = (report(&slow, &schedule, size, 1, model), report(&fast, &schedule, size, 1, model));
            for (rank, (before, after)) in before.finish.iter().zip(&after.finish).enumerate() {
                prop_assert!(after <= before, "{model}: rank {rank} ended at {after}, before at {before}");
            }
        }
    }

    #[test]
    fn a_run_repeated_is_the_same_run(job in traffic_job()) {
        let Job { topology, schedule, size, element } = &job;
        for model in Model::ALL {
            let outcome = || simulate(topology, schedule, Bytes::new(*size), *element, model, &mut |_| Control::Continue);
            prop_assert_eq!(format!("{:?}", outcome()), format!("{:?}", outcome()));
        }
    }

    #[test]
    fn the_queue_of_events_changes_nothing(job in traffic_job()) {
        let Job { topology, schedule, size, element } = &job;
        let layout = Layout::new(Bytes::new(*size), *element, schedule.chunks()).expect("whole elements");
        let code = Code::new(schedule, layout).expect("well formed");
        let plain = Packet::with_queue(topology, Heap::default()).expect("rates that fit");
        let with_heap = run(&code, topology.endpoint(), plain, Untracked, &mut |_| Control::Continue);
        let wheel = Packet::new(topology).expect("rates that fit");
        let with_wheel = run(&code, topology.endpoint(), wheel, Untracked, &mut |_| Control::Continue);
        prop_assert_eq!(format!("{with_heap:?}"), format!("{with_wheel:?}"));
    }

    #[test]
    fn the_full_packet_model_without_limits_is_the_plain_one(job in traffic_job()) {
        let Job { topology, schedule, size, element } = &job;
        // As many elements as chunks, so that no message is empty.
        let size = (*size).max(schedule.chunks() * element);
        let full = Switched::new(topology).expect("rates that fit");
        let plain = Packet::new(topology).expect("rates that fit");
        let full = run_on(topology, schedule, size, *element, full);
        let plain = run_on(topology, schedule, size, *element, plain);
        prop_assert_eq!(full.ok(), plain.ok());
    }

    #[test]
    fn what_is_sent_is_carried_over_every_link_of_its_route(
        (topology, traffic) in settings(topology()).prop_flat_map(|topology| {
            let ranks = topology.ranks();
            (Just(topology), traffic(ranks))
        }),
        size in 0..5000_u64,
    ) {
        let layout = Layout::new(Bytes::new(size), 1, common::traffic::CHUNKS).expect("whole elements");
        let header = topology.packet_format().header().get();
        let payload = topology.packet_format().payload().get();
        for model in Model::ALL {
            let (mut sent, mut links) = (vec![0; topology.ranks()], vec![0; topology.links()]);
            let mut messages = 0;
            for (from, to, (first, count)) in traffic.messages() {
                let bytes = layout.bytes(first, count).get();
                sent[from as usize] += bytes;
                messages += 1;
                let has_packets = model == Model::Packet;
                let headers = u64::from(has_packets) * bytes.div_ceil(payload).max(1) * header;
                let mut path = Vec::new();
                topology.route(RankId::from(from), RankId::from(to), &mut path).expect("ranks");
                for link in path {
                    links[link.index()] += bytes + headers;
                }
            }
            let report = report(&topology, &traffic.schedule(), size, 1, model);
            prop_assert_eq!(report.messages, messages);
            prop_assert_eq!(report.unreceived, None);
            prop_assert_eq!(&report.sent, &sent);
            prop_assert_eq!(&report.link_bytes, &links);
            // In loggp the middle of a route carries any number of messages at once.
            if model == Model::Packet {
                let busiest = report.link_busy.iter().max().copied().unwrap_or(0);
                prop_assert!(busiest <= report.time().picoseconds(), "a link sent for {} ps of {}", busiest, report.time());
            }
        }
    }

    #[test]
    fn no_run_beats_a_bound(job in collective_job()) {
        let Job { topology, schedule, size, element } = &job;
        for (model, contention) in [(Model::LogGp, Contention::Ports), (Model::Packet, Contention::Links)] {
            let time = report(topology, schedule, *size, *element, model).time();
            let bound = tightest(topology, schedule.goal(), Bytes::new(*size), *element, contention).expect("a valid goal");
            prop_assert!(time >= bound.time, "{model} took {time}, below {bound:?}");
        }
    }

    #[test]
    fn rotating_the_ranks_changes_no_time(
        (symmetric, traffic) in symmetric().prop_flat_map(|symmetric| {
            let ranks = symmetric.topology.ranks();
            (Just(symmetric), traffic(ranks))
        }),
        steps in (0..12_usize, 0..12_usize, 0..12_usize),
        size in prop_oneof![0..100_u64, 0..5000_u64],
    ) {
        let Symmetric { topology, extents } = &symmetric;
        // The chips under a leaf share its way up, so that one of two that send at once must be first by number.
        let within = if topology.name() == "leaf_spine" { 0 } else { steps.0 };
        let name = |rank: u32| u32::try_from(rotate(rank as usize, extents, [within, steps.1, steps.2])).expect("a rank");
        let renamed = traffic.renamed(name);
        for model in Model::ALL {
            let before = report(topology, &traffic.schedule(), size, 1, model);
            let after = report(topology, &renamed.schedule(), size, 1, model);
            for rank in 0..traffic.ranks {
                prop_assert_eq!(
                    before.finish[rank as usize],
                    after.finish[name(rank) as usize],
                    "{}: rank {} of {:?} as rank {}", model, rank, extents, name(rank)
                );
            }
        }
    }

    #[test]
    fn messages_between_two_ranks_are_delivered_in_the_order_in_which_they_entered(
        topology in prop_oneof![topology(), custom()],
        posts in prop::collection::vec((0..2000_u64, any::<Index>(), any::<Index>(), 0..2000_u64), 1..60),
    ) {
        let ranks = topology.ranks();
        let posts: Vec<Post> = posts
            .into_iter()
            .map(|(at, from, to, bytes)| Post { at, from: from.index(ranks), to: to.index(ranks), bytes: bytes % (at + 1) })
            .filter(|post| post.from != post.to)
            .collect();
        check_order(LogGp::new(&topology), &posts)?;
        check_order(Packet::new(&topology).expect("rates that fit"), &posts)?;
    }
}

#[derive(Clone, Copy, Debug)]
struct Post {
    at: u64,
    from: usize,
    to: usize,
    bytes: u64,
}

/// Posts all at the start, to enter later, and looks at the order of delivery between any two ranks.
fn check_order(mut network: impl Network, posts: &[Post]) -> Result<(), TestCaseError> {
    for (id, post) in (0..).zip(posts) {
        let at = Time::from_picoseconds(post.at);
        let (from, to) = (RankId::new(post.from), RankId::new(post.to));
        network
            .post(at, id, from, to, Bytes::new(post.bytes))
            .expect("small messages");
    }
    let mut delivered: BTreeMap<(usize, usize), Vec<MessageId>> = BTreeMap::new();
    let (mut due, mut count) = (Vec::new(), 0);
    while network.advance(&mut due) != Advance::Idle {
        for event in due.drain(..) {
            let Due::Delivered(id) = event else {
                return Err(TestCaseError::fail("nothing was to be woken"));
            };
            let Post { from, to, .. } = posts[id as usize];
            delivered.entry((from, to)).or_default().push(id);
            count += 1;
        }
    }
    prop_assert_eq!(count, posts.len());
    for ((from, to), ids) in delivered {
        let mut entered: Vec<MessageId> = (0..)
            .zip(posts)
            .filter(|(_, post)| (post.from, post.to) == (from, to))
            .map(|(id, _)| id)
            .collect();
        entered.sort_by_key(|&id| posts[id as usize].at);
        prop_assert_eq!(ids, entered, "from {} to {}", from, to);
    }
    Ok(())
}
