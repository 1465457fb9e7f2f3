//! Bounds where sizes don't divide, where nothing moves, at the limits of numbers, and of large systems.

use trncomm_core::bounds::{BoundKind, Contention, bounds, tightest};
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::error::TopologyError;
use trncomm_core::ids::RankId;
use trncomm_core::topology::{Endpoint, LinkInput, LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

fn spec(bandwidth: u64, latency: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(bandwidth).expect("not zero"),
        latency: Time::from_picoseconds(latency),
    }
}

/// One byte a nanosecond, 100 ps of latency a link.
fn ring(ranks: usize) -> Topology {
    Topology::ring(ranks, spec(1_000_000_000, 100)).expect("a ring")
}

fn picoseconds(topology: &Topology, goal: Goal, size: u64, element: u64, kind: BoundKind) -> Option<u64> {
    let found = bounds(topology, goal, Bytes::new(size), element).expect("a valid goal");
    let bound = found.into_iter().find(|bound| bound.kind == kind);
    bound.map(|bound| bound.time.picoseconds())
}

#[test]
fn where_nothing_moves_the_bound_is_zero() {
    let (one, five) = (ring(1), ring(5));
    for collective in Collective::ALL {
        let goal = Goal::out_of_place(collective);
        let alone = bounds(&one, goal, Bytes::new(1000), 1).expect("a valid goal");
        assert_eq!(
            (alone.len(), alone[0].kind, alone[0].time),
            (1, BoundKind::Nothing, Time::ZERO)
        );
        if collective != Collective::Barrier {
            let empty = tightest(&five, goal, Bytes::ZERO, 1, Contention::Links).expect("a valid goal");
            assert_eq!(
                (empty.kind, empty.time),
                (BoundKind::Nothing, Time::ZERO),
                "{collective}"
            );
        }
    }
}

#[test]
fn a_barrier_is_bound_by_latency_whatever_its_size() {
    let endpoint = Endpoint::free()
        .with_launch(Time::from_picoseconds(7))
        .with_completion(Time::from_picoseconds(11));
    let ring = ring(8).with_endpoint(endpoint);
    for size in [0, 1000] {
        let barrier = Goal::out_of_place(Collective::Barrier);
        let bound = tightest(&ring, barrier, Bytes::new(size), 1, Contention::Ports).expect("a valid goal");
        // Four links to the opposite rank.
        assert_eq!(
            (bound.kind, bound.time),
            (BoundKind::Latency, Time::from_picoseconds(7 + 400 + 11))
        );
    }
}

#[test]
fn launch_latency_and_completion_are_paid_besides_the_bytes() {
    let endpoint = Endpoint::free()
        .with_launch(Time::from_picoseconds(7))
        .with_completion(Time::from_picoseconds(11));
    let switch = Topology::switch(4, 1, spec(1_000_000_000, 100))
        .expect("a switch")
        .with_endpoint(endpoint);
    let gather = Goal::out_of_place(Collective::AllGather);
    // Three blocks of 10 bytes into a rank; two links from any rank to it.
    assert_eq!(
        picoseconds(&switch, gather, 40, 1, BoundKind::Ejection),
        Some(7 + 200 + 30_000 + 11)
    );
}

#[test]
fn blocks_are_counted_to_the_byte() {
    let ring = ring(5);
    // Blocks of 0, 0, 1, 0 and 1 elements of 4 bytes.
    for (collective, kind, expected) in [
        // Rank 0 takes both blocks in by two links.
        (Collective::AllGather, BoundKind::Ejection, 4_000 + 100),
        // Rank 2 sends its own.
        (Collective::AllGather, BoundKind::Injection, 2_000 + 100),
        (Collective::ReduceScatter, BoundKind::Injection, 4_000 + 100),
        // Ranks 2 and 4 take a block in from each of four.
        (Collective::AllToAll, BoundKind::Ejection, 8_000 + 100),
        // Rank 0 has nothing for itself.
        (Collective::AllToAll, BoundKind::Injection, 4_000 + 100),
        (Collective::Gather, BoundKind::Ejection, 4_000 + 100),
        (Collective::Scatter, BoundKind::Injection, 4_000 + 100),
        (Collective::Broadcast, BoundKind::Injection, 4_000 + 100),
        (Collective::SendRecv, BoundKind::Injection, 4_000 + 100),
        // Eight buffers out of ten links.
        (Collective::AllReduce, BoundKind::Ports, 6_400 + 100),
    ] {
        let goal = Goal::out_of_place(collective);
        assert_eq!(
            picoseconds(&ring, goal, 8, 4, kind),
            Some(expected),
            "{collective} {kind:?}"
        );
    }
}

#[test]
fn only_ranks_with_blocks_count_for_latency() {
    // A line of five: the only block is rank 4's, so that rank 4 needs nothing and rank 0 is 4 links away.
    let line = Topology::mesh(&[5], &[spec(1_000_000_000, 100)]).expect("a line");
    let root = |collective, root| Goal::out_of_place(collective).with_root(RankId::new(root));
    for (goal, links) in [
        (root(Collective::Gather, 3), 1),
        (root(Collective::Scatter, 3), 1),
        (root(Collective::AllGather, 0), 4),
        (root(Collective::Broadcast, 3), 3),
        (root(Collective::SendRecv, 0), 4),
    ] {
        assert_eq!(
            picoseconds(&line, goal, 1, 1, BoundKind::Latency),
            Some(100 * links),
            "{goal:?}"
        );
    }
}

#[test]
fn a_slow_link_that_no_tier_names_is_found_by_maximum_flows() {
    // Two triangles of fast links and one slow cable between them, all of one tier.
    let pairs = [
        (0, 1, 90),
        (1, 2, 90),
        (2, 0, 90),
        (3, 4, 90),
        (4, 5, 90),
        (5, 3, 90),
        (2, 3, 1),
    ];
    let links: Vec<LinkInput> = pairs
        .iter()
        .flat_map(|&(a, b, rate)| [(a, b, rate), (b, a, rate)])
        .map(|(source, destination, rate)| LinkInput {
            source,
            destination,
            bandwidth: rate * 1_000_000_000,
            latency: 0,
            tier: "link".to_owned(),
        })
        .collect();
    let triangles = Topology::from_links(6, 0, &links).expect("two triangles");
    for (collective, bytes) in [
        (Collective::AllReduce, 600),
        (Collective::AllGather, 300),
        (Collective::ReduceScatter, 300),
        (Collective::Broadcast, 600),
        (Collective::Reduce, 600),
        (Collective::Gather, 300),
        (Collective::Scatter, 300),
    ] {
        let goal = Goal::out_of_place(collective).with_root(RankId::new(4));
        let bound = tightest(&triangles, goal, Bytes::new(600), 1, Contention::Links).expect("a valid goal");
        assert_eq!(
            (bound.kind, bound.time.picoseconds()),
            (BoundKind::MaxFlow, 1000 * bytes),
            "{collective}"
        );
    }
}

#[test]
fn a_switch_of_one_rank_is_a_cut_and_not_a_port() {
    // Leaves with one chip each: what binds is the leaf's slow way up, which isn't the chip's own link.
    let clos = Topology::leaf_spine(4, 1, 1, spec(9_000_000_000, 0), spec(1_000_000_000, 0)).expect("a Clos");
    for (collective, kind) in [
        (Collective::AllReduce, BoundKind::Partition),
        (Collective::AllGather, BoundKind::Cut),
    ] {
        let goal = Goal::out_of_place(collective);
        let best = |contention| tightest(&clos, goal, Bytes::new(360), 1, contention).expect("a valid goal");
        let (ports, links) = (best(Contention::Ports), best(Contention::Links));
        assert_eq!(
            (links.kind, links.time),
            (kind, Time::from_picoseconds(9 * ports.time.picoseconds()))
        );
    }
}

#[test]
fn sizes_at_the_limit_give_the_longest_time_and_no_overflow() {
    let torus = Topology::torus(&[4, 4], &[spec(1, u64::MAX / 2)]).expect("a torus");
    for collective in Collective::ALL {
        let goal = Goal::out_of_place(collective);
        let bound = tightest(&torus, goal, Bytes::new(u64::MAX), 1, Contention::Links).expect("a valid goal");
        let expected = if collective == Collective::Custom { 0 } else { u64::MAX };
        assert_eq!(bound.time.picoseconds(), expected, "{collective}");
    }
}

#[test]
fn a_hundred_thousand_ranks_are_bound_in_closed_form() {
    // 4:1 oversubscribed: 144 ranks of 50 GB/s under 18 links of 100 GB/s.
    let (down, up) = (spec(50_000_000_000, 0), spec(100_000_000_000, 0));
    let clos = Topology::leaf_spine(700, 144, 18, down, up).expect("a Clos");
    let ranks = 100_800;
    let best = |collective| {
        let goal = Goal::out_of_place(collective);
        tightest(&clos, goal, Bytes::new(1000 * ranks), 1, Contention::Links).expect("a valid goal")
    };
    let gather = best(Collective::AllGather);
    assert_eq!(
        (gather.kind, gather.time.picoseconds()),
        (BoundKind::Ejection, 1000 * (ranks - 1) * 20)
    );
    let exchange = best(Collective::AllToAll);
    let leaf = 144 * (ranks - 144) * 1000;
    assert_eq!(
        (exchange.kind, exchange.time.picoseconds()),
        (BoundKind::Cut, leaf * 1000 / 1800)
    );
}

#[test]
fn arguments_are_checked() {
    let ring = ring(4);
    let goal = Goal::out_of_place(Collective::Broadcast);
    for (goal, size, element, wrong) in [
        (goal, 10, 0, "element"),
        (goal, 10, 4, "element"),
        (goal.with_root(RankId::new(4)), 10, 1, "root"),
    ] {
        let error = bounds(&ring, goal, Bytes::new(size), element).expect_err("a wrong argument");
        assert!(
            matches!(error, TopologyError::Argument { argument, .. } if argument == wrong),
            "{error}"
        );
    }
}
