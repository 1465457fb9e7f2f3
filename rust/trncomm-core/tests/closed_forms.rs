//! Where nothing contends, simulated times are the closed forms, to the picosecond.
//!
//! A buffer of S bytes over N ranks is cut at floor(i·S/N), so that its largest block has ceil(S/N) bytes, also where
//! S is smaller than N or zero. Latencies here are far longer than what a byte more or less takes, so that ranks drift
//! apart by less than a latency and no message waits for another on a link.

mod common;

use common::networks::{link, packet_format};
use common::{build, serialization};
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::{Control, Model};
use trncomm_core::result::SimulationResult;
use trncomm_core::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};
use trncomm_core::topology::{Endpoint, LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

const LATENCY: u64 = 700_001;
/// A rate at which no number of bytes takes a whole number of picoseconds.
const RATE: u64 = 99_999_999_977;

fn spec() -> LinkSpec {
    link(RATE, LATENCY)
}

/// How messages travel, and so how long the bytes of one take on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By `loggp`: whole messages, cut through.
    LogGp,
    /// By packets that hold a whole message, stored and forwarded.
    Whole,
    /// By packets of 4096 bytes: each is rounded up by itself, the last one is shorter.
    Packets,
}

impl Way {
    const ALL: [Self; 3] = [Self::LogGp, Self::Whole, Self::Packets];

    fn model(self) -> Model {
        if self == Self::LogGp {
            Model::LogGp
        } else {
            Model::Packet
        }
    }

    /// The most bytes of a message in one packet.
    fn payload(self) -> u64 {
        if self == Self::Packets { 4096 } else { 1 << 40 }
    }

    fn span(self, bytes: u64) -> u64 {
        let payload = self.payload();
        let full = bytes.div_ceil(payload).max(1) - 1;
        full * serialization(payload, RATE) + serialization(bytes - full * payload, RATE)
    }

    /// From the start of a message over one link to its end.
    fn hop(self, bytes: u64) -> u64 {
        LATENCY + self.span(bytes)
    }

    /// The same over two links with a switch between them.
    fn through_a_switch(self, bytes: u64) -> u64 {
        let again = match self {
            // The message is cut through.
            Self::LogGp => 0,
            // Its first packet is stored before it is forwarded, and the others follow without a gap.
            Self::Whole | Self::Packets => serialization(bytes.min(self.payload()), RATE),
        };
        2 * LATENCY + again + self.span(bytes)
    }

    fn topology(self, topology: Topology) -> Topology {
        topology.with_packet_format(packet_format(self.payload(), 0))
    }

    fn run(self, topology: &Topology, schedule: &Schedule, size: u64) -> SimulationResult {
        SimulationResult::of(topology, schedule, Bytes::new(size), 1, self.model(), &mut |_| {
            Control::Continue
        })
        .expect("a result")
    }

    /// The time of a collective on a topology.
    fn time(self, topology: &Topology, collective: Collective, name: &str, size: u64) -> u64 {
        let schedule = build(topology, collective, name, 0);
        self.run(topology, &schedule, size).time().picoseconds()
    }
}

const RANKS: [u64; 9] = [1, 2, 3, 4, 7, 8, 12, 16, 33];

/// Sizes over so many ranks: none, fewer bytes than ranks, what divides, what doesn't, and some packets a block.
fn sizes(ranks: u64) -> [u64; 8] {
    [
        0,
        1,
        ranks - 1,
        ranks,
        ranks + 1,
        4096 * ranks,
        4096 * ranks + 1,
        20_011 * ranks - 1,
    ]
}

/// The number of bytes of blocks `first` to `end` of `ranks`.
fn blocks(size: u64, ranks: u64, first: u64, end: u64) -> u64 {
    end * size / ranks - first * size / ranks
}

fn index(rank: u64) -> usize {
    usize::try_from(rank).expect("a rank")
}

fn latest(times: &[u64]) -> u64 {
    times.iter().copied().max().expect("ranks")
}

/// Checks every way, number of ranks and size: `expected(way, ranks, size)` is the time on `topology(ranks)`.
fn check(
    collective: Collective,
    name: &str,
    topology: impl Fn(usize) -> Topology,
    expected: impl Fn(Way, u64, u64) -> u64,
) {
    check_over(RANKS, collective, name, topology, expected);
}

/// The same for these numbers of ranks.
fn check_over(
    numbers: impl IntoIterator<Item = u64>,
    collective: Collective,
    name: &str,
    topology: impl Fn(usize) -> Topology,
    expected: impl Fn(Way, u64, u64) -> u64,
) {
    for ranks in numbers {
        for way in Way::ALL {
            let topology = way.topology(topology(index(ranks)));
            for size in sizes(ranks) {
                let time = way.time(&topology, collective, name, size);
                assert_eq!(
                    time,
                    expected(way, ranks, size),
                    "{collective} by {name}, {ranks} ranks, {size} bytes, {way:?}"
                );
            }
        }
    }
}

fn ring(ranks: usize) -> Topology {
    Topology::ring(ranks, spec()).expect("a ring")
}

fn mesh(ranks: usize) -> Topology {
    Topology::fully_connected(ranks, spec()).expect("a full mesh")
}

fn switch(ranks: usize) -> Topology {
    Topology::switch(ranks, 1, spec()).expect("a switch")
}

#[test]
fn a_ring_takes_its_steps_times_the_largest_block() {
    // The largest block passes N - 1 links on its way to be complete, and as many to be everywhere, and no smaller one
    // holds it up.
    for (collective, rounds) in [
        (Collective::AllReduce, 2),
        (Collective::ReduceScatter, 1),
        (Collective::AllGather, 1),
    ] {
        check(collective, "ring", ring, |way, ranks, size| {
            rounds * (ranks - 1) * way.hop(size.div_ceil(ranks))
        });
    }
}

#[test]
fn a_ring_of_an_ultraservers_ranks_takes_its_closed_form() {
    for ranks in [96, 144] {
        let topology = Way::Packets.topology(ring(ranks));
        for block in [0, 1, 4096, 7_456_541] {
            let time = Way::Packets.time(&topology, Collective::AllReduce, "ring", block * ranks as u64);
            assert_eq!(time, 2 * (ranks as u64 - 1) * Way::Packets.hop(block));
        }
    }
}

#[test]
fn two_rings_take_the_steps_of_one_times_the_largest_half_block() {
    for (collective, rounds) in [
        (Collective::AllReduce, 2),
        (Collective::ReduceScatter, 1),
        (Collective::AllGather, 1),
    ] {
        // Between two ranks both directions are one link.
        let ranks = RANKS.into_iter().filter(|&ranks| ranks != 2);
        check_over(ranks, collective, "bidirectional_ring", ring, |way, ranks, size| {
            let half = |half: u64| blocks(size, 2 * ranks, half, half + 1);
            let largest = (0..2 * ranks).map(half).max().expect("ranks");
            rounds * (ranks - 1) * way.hop(largest)
        });
    }
}

#[test]
fn two_rings_between_two_ranks_share_the_link() {
    for way in Way::ALL {
        let topology = way.topology(ring(2));
        let time = |collective, size| way.time(&topology, collective, "bidirectional_ring", size);
        for size in sizes(2) {
            let span = |half: u64| way.span(blocks(size, 4, half, half + 1));
            // The halves of a block follow each other.
            let larger = latest(&[0, 2].map(|half| span(half) + span(half + 1)));
            assert_eq!(
                time(Collective::ReduceScatter, size),
                LATENCY + larger,
                "{size} {way:?}"
            );
            assert_eq!(time(Collective::AllGather, size), LATENCY + larger, "{size} {way:?}");
        }
        // The second round's first half leaves while the first round's second half arrives.
        let time = time(Collective::AllReduce, 4 * 8192);
        assert_eq!(time, 2 * LATENCY + 3 * way.span(8192), "{way:?}");
    }
}

/// When the ranks of a recursive algorithm end, by its steps: each partner's message takes a link of its own.
fn recursive(way: Way, ranks: u64, size: u64, halves: bool, doubles: bool) -> u64 {
    let active = 1 << ranks.ilog2();
    let extra = ranks - active;
    // The blocks of `width` active ranks from that which shares `rank`'s part.
    let part = |rank: u64, width: u64| {
        let first = rank / width * width;
        let start = |rank: u64| rank + rank.min(extra);
        blocks(size, ranks, start(first), start(first + width))
    };
    let mut times: Vec<u64> = (0..active)
        .map(|rank| match (rank < extra, halves) {
            (false, _) => 0,
            (true, true) => way.hop(size),
            (true, false) => way.hop(blocks(size, ranks, 2 * rank, 2 * rank + 1)),
        })
        .collect();
    let mut exchange = |distance: u64, bytes: &dyn Fn(u64, u64) -> u64| {
        let before = times.clone();
        for rank in 0..active {
            let other = rank ^ distance;
            let arrival = before[index(other)] + way.hop(bytes(rank, other));
            times[index(rank)] = before[index(rank)].max(arrival);
        }
    };
    let distances = || (0..active.ilog2()).map(|bit| 1_u64 << bit);
    if halves {
        // The partner sends what the rank keeps.
        distances()
            .rev()
            .for_each(|distance| exchange(distance, &|rank, _| part(rank, distance)));
    }
    if doubles {
        // The partner sends all that it has.
        distances().for_each(|distance| exchange(distance, &|_, other| part(other, distance)));
    }
    let ends: Vec<u64> = (0..active)
        .map(|rank| {
            let own = blocks(size, ranks, 2 * rank, 2 * rank + 1);
            let back = match (halves, doubles) {
                (true, true) => size,
                (true, false) => own,
                (false, _) => size - own,
            };
            let last = if rank < extra { way.hop(back) } else { 0 };
            times[index(rank)] + last
        })
        .collect();
    latest(&ends)
}

#[test]
fn recursive_algorithms_take_the_sum_of_their_exchanges() {
    check(
        Collective::AllReduce,
        "recursive_halving_doubling",
        mesh,
        |way, ranks, size| recursive(way, ranks, size, true, true),
    );
    check(
        Collective::ReduceScatter,
        "recursive_halving",
        mesh,
        |way, ranks, size| recursive(way, ranks, size, true, false),
    );
    check(Collective::AllGather, "recursive_doubling", mesh, |way, ranks, size| {
        recursive(way, ranks, size, false, true)
    });
}

#[test]
fn a_power_of_two_of_ranks_exchanges_a_half_a_quarter_and_so_on() {
    for ranks in [2, 4, 8, 16, 64_u64] {
        for way in Way::ALL {
            let size = 4096 * ranks;
            let steps: u64 = (1..=ranks.ilog2()).map(|step| way.hop(size >> step)).sum();
            let topology = way.topology(mesh(index(ranks)));
            for (collective, name, rounds) in [
                (Collective::AllReduce, "recursive_halving_doubling", 2),
                (Collective::ReduceScatter, "recursive_halving", 1),
                (Collective::AllGather, "recursive_doubling", 1),
            ] {
                assert_eq!(
                    way.time(&topology, collective, name, size),
                    rounds * steps,
                    "{name} {ranks}"
                );
            }
        }
    }
}

#[test]
fn direct_exchanges_take_one_message_of_the_largest_block_a_shot() {
    for (collective, shots) in [
        (Collective::AllReduce, 2),
        (Collective::ReduceScatter, 1),
        (Collective::AllGather, 1),
        (Collective::AllToAll, 1),
    ] {
        check(collective, "direct", mesh, |way, ranks, size| {
            if ranks == 1 {
                0
            } else {
                shots * way.hop(size.div_ceil(ranks))
            }
        });
    }
}

#[test]
fn one_shot_takes_one_message_of_the_whole_buffer() {
    check(Collective::AllReduce, "one_shot", mesh, |way, ranks, size| {
        if ranks == 1 { 0 } else { way.hop(size) }
    });
}

#[test]
fn a_binomial_tree_takes_its_depth_times_the_whole_buffer() {
    check(Collective::Broadcast, "binomial", mesh, |way, ranks, size| {
        // Rank v hears by as many hops as its number has bits.
        let depth = (0..ranks).map(u64::count_ones).max().expect("ranks");
        u64::from(depth) * way.hop(size)
    });
}

#[test]
fn pairwise_exchanges_take_their_steps_through_a_switch() {
    check(Collective::AllToAll, "pairwise", switch, |way, ranks, size| {
        let block = |rank: u64| blocks(size, ranks, rank, rank + 1);
        let mut times = vec![0; index(ranks)];
        for step in 1..ranks {
            let before = times.clone();
            for rank in 0..ranks {
                let from = (rank + ranks - step) % ranks;
                let arrival = before[index(from)] + way.through_a_switch(block(rank));
                times[index(rank)] = before[index(rank)].max(arrival);
            }
        }
        latest(&times)
    });
    let way = Way::LogGp;
    let topology = switch(144);
    let time = way.time(&topology, Collective::AllToAll, "pairwise", 144 << 20);
    assert_eq!(time, 143 * (2 * LATENCY + serialization(1 << 20, RATE)));
}

/// The times, by `loggp` and by packets, of 64 KiB blocks over eight ranks with one cost at the endpoints.
fn with_endpoint(endpoint: Endpoint, topology: &Topology, collective: Collective, name: &str) -> [u64; 2] {
    [Way::LogGp, Way::Whole].map(|way| {
        let topology = way.topology(topology.clone()).with_endpoint(endpoint);
        way.time(&topology, collective, name, 8 * BLOCK)
    })
}

const BLOCK: u64 = 1 << 16;
const COST: Time = Time::from_picoseconds(12_345);
const SLOW: u64 = 1_234_567_891;

#[test]
fn a_launch_delays_every_message() {
    let endpoint = Endpoint::free().with_launch(COST);
    let hop = COST.picoseconds() + LATENCY + serialization(BLOCK, RATE);
    let time = |topology: Topology, collective, name| with_endpoint(endpoint, &topology, collective, name);
    assert_eq!(time(ring(8), Collective::AllReduce, "ring"), [14 * hop; 2]);
    // Launches of messages that are posted at once run side by side.
    assert_eq!(time(mesh(8), Collective::AllGather, "direct"), [hop; 2]);
}

#[test]
fn a_completion_delays_every_message() {
    let hop = LATENCY + serialization(BLOCK, RATE) + COST.picoseconds();
    let endpoint = Endpoint::free().with_completion(COST);
    let time = |topology: Topology, collective, name| with_endpoint(endpoint, &topology, collective, name);
    assert_eq!(time(ring(8), Collective::AllReduce, "ring"), [14 * hop; 2]);
    assert_eq!(time(mesh(8), Collective::AllGather, "direct"), [hop; 2]);
}

#[test]
fn a_reduction_rate_delays_every_message_that_is_reduced() {
    let (hop, reduction) = (LATENCY + serialization(BLOCK, RATE), serialization(BLOCK, SLOW));
    let endpoint = Endpoint::free().with_reduction(Bandwidth::new(SLOW).expect("above zero"));
    let time = |topology: Topology, collective, name| with_endpoint(endpoint, &topology, collective, name);
    assert_eq!(
        time(ring(8), Collective::AllReduce, "ring"),
        [7 * (2 * hop + reduction); 2]
    );
    assert_eq!(time(ring(8), Collective::AllGather, "ring"), [7 * hop; 2]);
    // Seven messages come at once, and one stream reduces them one after the other.
    assert_eq!(
        time(mesh(8), Collective::ReduceScatter, "direct"),
        [hop + 7 * reduction; 2]
    );
}

#[test]
fn a_copy_rate_delays_what_is_copied_within_a_chip() {
    let endpoint = Endpoint::free().with_copy(Bandwidth::new(SLOW).expect("above zero"));
    let time = |topology: Topology, collective, name| with_endpoint(endpoint, &topology, collective, name);
    // A one-shot all-reduce copies its whole input first, a direct all-to-all the block that it keeps.
    let one_shot = serialization(8 * BLOCK, SLOW) + LATENCY + serialization(8 * BLOCK, RATE);
    assert_eq!(time(mesh(8), Collective::AllReduce, "one_shot"), [one_shot; 2]);
    let direct = serialization(BLOCK, SLOW) + LATENCY + serialization(BLOCK, RATE);
    assert_eq!(time(mesh(8), Collective::AllToAll, "direct"), [direct; 2]);
    assert_eq!(
        time(ring(8), Collective::AllReduce, "ring"),
        [14 * (LATENCY + serialization(BLOCK, RATE)); 2]
    );
}

/// Ranks 1 to `senders` each send the buffer to rank 0.
fn incast(senders: usize) -> Schedule {
    let everything = || Chunks::one(Buffer::Output, 0);
    let shape = Shape::new(&[senders + 1]).expect("a line");
    let goal = Goal::in_place(Collective::Custom);
    let program_of = |rank: u32| {
        Program::single(if rank == 0 {
            let next = Place::rank(Expr::var(0) + 1);
            vec![Instruction::repeat(
                senders,
                vec![Instruction::receive(next, everything())],
            )]
        } else {
            vec![Instruction::send(Place::rank(0), everything())]
        })
    };
    Schedule::by_rank("incast", goal, shape, 1, 0, program_of).expect("well formed")
}

#[test]
fn an_incast_takes_its_bytes_over_the_rate_of_the_last_link() {
    for senders in 2..=143_u64 {
        let schedule = incast(index(senders));
        for size in [0, 1, 4096, 5000, 40_960] {
            for way in Way::ALL {
                let topology = way.topology(switch(index(senders) + 1));
                let result = way.run(&topology, &schedule, size);
                // The last link is free until the first packets come, which have been stored; from then on it never
                // idles, since every sender has as much of its message at the switch as the last link has taken of it.
                let start = match way {
                    Way::LogGp => LATENCY,
                    Way::Whole | Way::Packets => LATENCY + serialization(size.min(way.payload()), RATE),
                };
                let end = start + senders * way.span(size) + LATENCY;
                assert_eq!(
                    result.time().picoseconds(),
                    end,
                    "{senders} senders, {size} bytes, {way:?}"
                );
                let last_link = topology.in_links(0.into())[0].index();
                assert_eq!(result.link_busy()[last_link], senders * way.span(size));
                assert_eq!(result.link_bytes()[last_link], senders * size);
            }
        }
    }
}
