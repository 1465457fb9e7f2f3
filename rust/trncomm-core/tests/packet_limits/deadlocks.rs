//! Circles of full buffers stop a network for ever, and it says so.

use std::num::NonZeroU8;

use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::{Control, Model, Switched, simulate};
use trncomm_core::error::SimulationError;
use trncomm_core::schedule::{Buffer, Chunks, Instruction, Place, Program, Schedule, Shape};
use trncomm_core::topology::{Arbitration, Fabric, Policy, Queueing, Topology};
use trncomm_core::units::Bytes;

use crate::common::networks::topology;
use crate::common::{build, cases, run_on};
use crate::drive::{Post, post, spec, try_deliver, with};

const PACKET: u64 = 100;

fn one_packet(channels: u8) -> Fabric {
    Fabric::default()
        .with_buffer(Bytes::new(PACKET))
        .with_virtual_channels(NonZeroU8::new(channels).expect("above zero"))
}

/// Every rank sends to the one so many further.
fn shifted(ranks: usize, by: usize, bytes: u64) -> Vec<Post> {
    (0..ranks)
        .map(|rank| post(0, rank, (rank + by) % ranks, bytes))
        .collect()
}

#[test]
fn a_ring_without_datelines_stops_and_names_the_circle() {
    let ring = with(&Topology::ring(5, spec(1000)).expect("a ring"), PACKET, one_packet(1));
    let stuck = try_deliver(&ring, &shifted(5, 2, 3 * PACKET)).expect_err("a circle");
    // Up from rank r is link 2 r.
    assert_eq!(
        stuck,
        "a cycle of full buffers: link 0 (chip 0 to chip 1) (channel 0) → link 2 (chip 1 to chip 2) (channel 0) → \
         link 4 (chip 2 to chip 3) (channel 0) → link 6 (chip 3 to chip 4) (channel 0) → \
         link 8 (chip 4 to chip 0) (channel 0) → link 0 (chip 0 to chip 1) (channel 0)"
    );
}

#[test]
fn the_error_of_a_stopped_network_names_who_waits_and_the_circle() {
    let ring = with(&Topology::ring(5, spec(1000)).expect("a ring"), PACKET, one_packet(1));
    let output = || Chunks::one(Buffer::Output, 0);
    let program = Program::single(vec![
        Instruction::send(Place::shift(0, 2), output()),
        Instruction::receive(Place::shift(0, -2), output()),
    ]);
    let goal = Goal::in_place(Collective::Custom);
    let shape = Shape::new(&[5]).expect("a line");
    let schedule = Schedule::uniform("shift", goal, shape, 1, 0, program).expect("well formed");
    let result = simulate(&ring, &schedule, Bytes::new(3 * PACKET), 1, Model::Packet, &mut |_| {
        Control::Continue
    });
    let Err(SimulationError::Deadlock {
        waiting, ranks, first, ..
    }) = result
    else {
        panic!("{result:?} isn't a deadlock")
    };
    // The first packet of each has come to the next rank, and none can go on.
    assert_eq!((waiting, ranks), (5, 5));
    assert!(
        first.starts_with("rank 0, stream 0, after 1 instructions, waits for a message from rank 3"),
        "{first}"
    );
    assert!(
        first.contains("a cycle of full buffers: link 0 (chip 0 to chip 1) (channel 0) → link 2"),
        "{first}"
    );
}

#[test]
fn a_schedule_that_deadlocks_by_itself_is_not_blamed_on_buffers() {
    let ring = with(&Topology::ring(5, spec(1000)).expect("a ring"), PACKET, one_packet(2));
    let program = Program::single(vec![Instruction::receive(
        Place::shift(0, 1),
        Chunks::one(Buffer::Output, 0),
    )]);
    let goal = Goal::in_place(Collective::Custom);
    let schedule =
        Schedule::uniform("wait", goal, Shape::new(&[5]).expect("a line"), 1, 0, program).expect("a program");
    let network = Switched::new(&ring).expect("settings that fit");
    let error = run_on(&ring, &schedule, 10, 1, network).expect_err("all wait");
    assert!(!error.to_string().contains("cycle"), "{error}");
}

#[test]
fn the_same_ring_with_datelines_finishes() {
    for ranks in [3, 4, 5, 8, 9] {
        let ring = with(
            &Topology::ring(ranks, spec(1000)).expect("a ring"),
            PACKET,
            one_packet(2),
        );
        for by in 1..ranks {
            try_deliver(&ring, &shifted(ranks, by, 7 * PACKET + 1)).expect("datelines open the circle");
        }
    }
}

#[test]
fn every_row_of_a_torus_is_such_a_ring() {
    let torus = Topology::torus(&[3, 5], &[spec(1000)]).expect("a torus");
    let posts: Vec<Post> = (0..15)
        .map(|rank| post(0, rank, rank / 5 * 5 + (rank % 5 + 2) % 5, 3 * PACKET))
        .collect();
    let stuck = try_deliver(&with(&torus, PACKET, one_packet(1)), &posts).expect_err("circles");
    assert!(stuck.starts_with("a cycle of full buffers: "), "{stuck}");
    try_deliver(&with(&torus, PACKET, one_packet(2)), &posts).expect("datelines open the circles");
}

#[test]
fn collectives_over_a_torus_finish_with_datelines() {
    for extents in [vec![5, 4], vec![3, 3, 3], vec![2, 6], vec![7]] {
        let torus = Topology::torus(&extents, &[spec(500)]).expect("a torus");
        for arbitration in [Arbitration::FirstCome, Arbitration::RoundRobin] {
            for queueing in [Queueing::VirtualOutput, Queueing::Input] {
                let fabric = one_packet(2).with_arbitration(arbitration).with_queueing(queueing);
                let torus = with(&torus, PACKET, fabric);
                let size = 250 * torus.ranks() as u64;
                for (collective, name) in [(Collective::AllToAll, "pairwise"), (Collective::AllReduce, "direct")] {
                    let schedule = build(&torus, collective, name, 0);
                    let network = Switched::new(&torus).expect("settings that fit");
                    run_on(&torus, &schedule, size, 1, network).expect("no circle");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// A list of links promises nothing.
    #[test]
    fn named_shapes_with_the_channels_that_they_need_never_stop(
        topology in topology().prop_filter("a named shape", |topology| topology.name() != "custom"),
        posts in prop::collection::vec((0..2000_u64, any::<Index>(), any::<Index>(), 0..2000_u64), 1..60),
        turns in any::<bool>(),
        in_line in any::<bool>(),
        policy in prop_oneof![Just(Policy::Fixed), Just(Policy::Spray), Just(Policy::Adaptive)],
    ) {
        let fabric = one_packet(topology.channels())
            .with_arbitration(if turns { Arbitration::RoundRobin } else { Arbitration::FirstCome })
            .with_queueing(if in_line { Queueing::Input } else { Queueing::VirtualOutput })
            .with_policy(policy);
        let topology = with(&topology, PACKET, fabric);
        let ranks = topology.ranks();
        let posts: Vec<Post> = posts
            .into_iter()
            .map(|(at, from, to, bytes)| post(at, from.index(ranks), to.index(ranks), bytes))
            .filter(|post| post.from != post.to)
            .collect();
        prop_assert!(try_deliver(&topology, &posts).is_ok());
    }
}
