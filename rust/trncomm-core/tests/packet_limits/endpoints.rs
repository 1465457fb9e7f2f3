//! What messages pay at their ends: windows, queues, memory, and ranks that are late, slow or unsteady.

use std::num::NonZeroU32;

use trncomm_core::collective::{Collective, Goal};
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Buffer, Chunks, Instruction, Place, Program, Schedule, Shape};
use trncomm_core::topology::{Endpoint, Fabric, Fault, Topology, Touches};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use crate::common::networks::packet_format;
use crate::common::{Report, build, run_on};
use crate::drive::{Audited, RATE, deliver, post, spec, with};

const PACKET: u64 = 1000;
const LATENCY: u64 = 2500;

fn pair() -> Topology {
    with(
        &Topology::ring(2, spec(LATENCY)).expect("a pair"),
        PACKET,
        Fabric::default(),
    )
}

fn time(picoseconds: u64) -> Time {
    Time::from_picoseconds(picoseconds)
}

fn run(topology: &Topology, schedule: &Schedule, size: u64) -> Report {
    let network = Audited::new(topology).expect("settings that fit");
    run_on(topology, schedule, size, 1, network).expect("a run that ends")
}

/// Rank 0 sends so many chunks to rank 1, a message each.
fn messages(count: usize) -> Schedule {
    let chunk = |index: usize| Chunks::one(Buffer::Output, index);
    let (sends, receives) = (0..count)
        .map(|index| {
            (
                Instruction::send(Place::rank(1), chunk(index)),
                Instruction::receive(Place::rank(0), chunk(index)),
            )
        })
        .unzip();
    let programs: [Vec<Instruction>; 2] = [sends, receives];
    let goal = Goal::in_place(Collective::Custom);
    let shape = Shape::new(&[2]).expect("a pair");
    Schedule::by_rank("messages", goal, shape, count as u64, 0, |rank| {
        Program::single(programs[rank as usize].clone())
    })
    .expect("well formed")
}

/// When the last of so many things starts, each of which takes `span` on a link and may start only `loop_time` after the one
/// `ahead` before it.
fn last_start(count: u64, span: u64, ahead: u64, loop_time: u64) -> u64 {
    let mut starts: Vec<u64> = Vec::new();
    for index in 0..count {
        let after_last = starts.last().map_or(0, |start| start + span);
        let after_answer = index
            .checked_sub(ahead)
            .map_or(0, |before| starts[usize::try_from(before).expect("few")] + loop_time);
        starts.push(after_last.max(after_answer));
    }
    *starts.last().expect("some")
}

#[test]
fn a_window_lets_its_bytes_pass_once_a_round_trip() {
    for window in 1..=9 {
        let topology = pair().with_endpoint(Endpoint::free().with_window(Bytes::new(window * PACKET)));
        for packets in [1, 2, 5, 20] {
            let start = last_start(packets, PACKET, window, PACKET + 2 * LATENCY);
            let run = deliver(&topology, &[post(0, 0, 1, packets * PACKET)]);
            assert_eq!(
                run.time(),
                start + PACKET + LATENCY,
                "a window of {window}, {packets} packets"
            );
        }
    }
}

#[test]
fn a_packet_larger_than_the_window_goes_alone() {
    let topology = pair().with_endpoint(Endpoint::free().with_window(Bytes::new(1)));
    let run = deliver(&topology, &[post(0, 0, 1, 4 * PACKET)]);
    assert_eq!(run.time(), 3 * (PACKET + 2 * LATENCY) + PACKET + LATENCY);
}

#[test]
fn each_message_has_a_window_of_its_own() {
    let topology = pair().with_endpoint(Endpoint::free().with_window(Bytes::new(PACKET)));
    // Six messages keep the link busy: a round trip is six packets long.
    let posts = [post(0, 0, 1, 3 * PACKET); 6];
    let run = deliver(&topology, &posts);
    assert_eq!(run.time(), 18 * PACKET + LATENCY);
}

#[test]
fn queues_bound_the_messages_under_way() {
    for queues in 1..=5 {
        let endpoint = Endpoint::free().with_queues(NonZeroU32::new(queues).expect("above zero"));
        let topology = pair().with_endpoint(endpoint);
        for count in [1, 2, 7, 12] {
            let start = last_start(count, 2 * PACKET, queues.into(), 2 * PACKET + LATENCY);
            let schedule = messages(usize::try_from(count).expect("few"));
            let report = run(&topology, &schedule, 2 * PACKET * count);
            assert_eq!(
                report.time(),
                time(start + 2 * PACKET + LATENCY),
                "{queues} queues, {count} messages"
            );
        }
    }
}

fn with_memory(topology: &Topology, rate: u64, touches: Touches) -> Topology {
    let rate = Bandwidth::new(rate).expect("above zero");
    topology
        .clone()
        .with_endpoint(Endpoint::free().with_memory(rate, touches))
}

#[test]
fn a_message_takes_the_time_of_its_slowest_part() {
    for (rate, read, write) in [
        (RATE, 1, 1),
        (RATE, 3, 2),
        (RATE / 2, 1, 1),
        (RATE * 4, 1, 1),
        (RATE, 1, 0),
        (RATE, 0, 5),
    ] {
        let touches = Touches { read, write, reduce: 1 };
        let topology = with_memory(&pair(), rate, touches);
        let parts = [
            u64::from(read) * PACKET * RATE / rate,
            PACKET,
            u64::from(write) * PACKET * RATE / rate,
        ];
        for packets in [1, 2, 9] {
            let run = deliver(&topology, &[post(0, 0, 1, packets * PACKET)]);
            // All packets are alike, so they queue at the slowest part only.
            let slowest = parts.into_iter().max().expect("three");
            let expected = parts.iter().sum::<u64>() + LATENCY + (packets - 1) * slowest;
            assert_eq!(
                run.time(),
                expected,
                "{read} and {write} touches at {rate}, {packets} packets"
            );
        }
    }
}

#[test]
fn a_large_ring_all_reduce_is_bound_by_its_links_or_its_memories() {
    let (ranks, packets) = (5_u64, 40);
    let chunk = packets * PACKET;
    let ring = with(
        &Topology::ring(5, spec(LATENCY)).expect("a ring"),
        PACKET,
        Fabric::default(),
    );
    let schedule = build(&ring, Collective::AllReduce, "ring", 0);
    for (rate, touches) in [
        (RATE / 2, Touches::ONE_EACH),
        (
            RATE,
            Touches {
                read: 2,
                write: 2,
                reduce: 3,
            },
        ),
        (10 * RATE, Touches::ONE_EACH),
    ] {
        let topology = with_memory(&ring, rate, touches);
        let report = run(&topology, &schedule, ranks * chunk);
        let Touches { read, write, reduce } = touches;
        let passing = (2 * u64::from(read + write) + u64::from(reduce)) * (ranks - 1) * chunk;
        let (memory, links) = (passing * RATE / rate, 2 * (ranks - 1) * chunk);
        let bound = memory.max(links);
        // Each of the steps adds at most the way of one packet through both memories and the link, and, in the first half,
        // the reduction, which can't overlap with its own step.
        let way = u64::from(read + write) * PACKET * RATE / rate + PACKET + LATENCY;
        let reductions = (ranks - 1) * u64::from(reduce) * chunk * RATE / rate;
        let most = bound + 2 * (ranks - 1) * way + reductions;
        let took = report.time().picoseconds();
        assert!(
            (bound..=most).contains(&took),
            "{took} is not within {bound} and {most}"
        );
    }
}

#[test]
fn a_ring_all_reduce_of_single_packets_adds_up_its_parts() {
    let (ranks, chunk) = (5_u64, PACKET);
    let ring = with(
        &Topology::ring(5, spec(LATENCY)).expect("a ring"),
        PACKET,
        Fabric::default(),
    );
    let touches = Touches {
        read: 2,
        write: 3,
        reduce: 4,
    };
    let topology = with_memory(&ring, RATE / 2, touches);
    let report = run(
        &topology,
        &build(&ring, Collective::AllReduce, "ring", 0),
        ranks * chunk,
    );
    let touch = |times: u64| times * chunk * 2;
    let step = touch(2) + chunk + LATENCY + touch(3);
    assert_eq!(report.time(), time((ranks - 1) * (2 * step + touch(4))));
}

#[test]
fn a_late_sender_delays_by_as_much_and_a_late_receiver_not_at_all() {
    let late = |rank: usize| {
        let fault = Fault::Late {
            rank: RankId::new(rank),
            by: time(777),
        };
        run(&pair().with_faults(&[fault]).expect("a view"), &messages(3), 3 * PACKET)
    };
    let usual = run(&pair(), &messages(3), 3 * PACKET).time();
    assert_eq!(late(0).time(), usual + time(777));
    assert_eq!(late(1).time(), usual);
}

#[test]
fn a_slow_rank_takes_longer_to_launch() {
    let topology = pair().with_endpoint(Endpoint::free().with_launch(time(400)));
    let slow = Fault::Slow {
        rank: RankId::new(0),
        numerator: 5,
        denominator: 2,
    };
    let usual = run(&topology, &messages(1), PACKET).time();
    let slowed = run(&topology.with_faults(&[slow]).expect("a view"), &messages(1), PACKET).time();
    assert_eq!(
        (usual, slowed),
        (time(400 + PACKET + LATENCY), time(1000 + PACKET + LATENCY))
    );
}

#[test]
fn jitter_repeats_with_its_seed_and_differs_with_another() {
    let ring = with(
        &Topology::ring(6, spec(LATENCY)).expect("a ring"),
        PACKET,
        Fabric::default(),
    );
    let schedule = build(&ring, Collective::AllReduce, "ring", 0);
    let jittered = |seed| {
        let topology = ring
            .clone()
            .with_endpoint(Endpoint::free().with_jitter(time(900), seed));
        run(&topology, &schedule, 60_000)
    };
    let steady = run(&ring, &schedule, 60_000);
    assert_eq!(jittered(1), jittered(1));
    assert_ne!(jittered(1).finish, jittered(2).finish);
    assert_eq!(jittered(1).link_bytes, steady.link_bytes);
    // Ten steps, each of which waits for 900 ps at most.
    assert!((steady.time()..=steady.time() + time(9000)).contains(&jittered(1).time()));
}

#[test]
fn jitter_that_lets_messages_overtake_keeps_what_belongs_together() {
    let topology = pair()
        .with_packet_format(packet_format(64, 0))
        .with_endpoint(Endpoint::free().with_jitter(time(50_000), 3));
    let report = run(&topology, &messages(30), 30 * 64);
    assert_eq!((report.messages, report.unreceived), (30, None));
}
