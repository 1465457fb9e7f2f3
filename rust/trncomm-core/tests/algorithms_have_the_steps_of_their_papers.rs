//! Messages, blocks and steps of algorithms are those that their papers state.

use std::collections::BTreeMap;

use trncomm_core::algorithm;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Control, Instant, Untracked, run};
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Code, Instruction, Layout, Program, Schedule};
use trncomm_core::topology::{Endpoint, LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

fn build(ranks: usize, collective: Collective, name: &str, parameter: Option<(&str, u64)>) -> Schedule {
    let bandwidth = Bandwidth::new(1_000_000_000).expect("above zero");
    let latency = Time::from_picoseconds(1000);
    let topology = Topology::switch(ranks, 1, LinkSpec { bandwidth, latency }).expect("a valid shape");
    let parameters: BTreeMap<_, _> = parameter
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    algorithm::build(&topology, collective, name, RankId::new(0), parameters).expect("the algorithm serves the request")
}

/// How many messages all ranks send together, and how many chunks the busiest one sends.
fn messages_and_chunks(schedule: &Schedule) -> (u64, u64) {
    let chunks = schedule.chunks();
    let layout = Layout::new(Bytes::new(chunks), 1, chunks).expect("one byte a chunk");
    let code = Code::new(schedule, layout).expect("the layout fits");
    let outcome = run(&code, &Endpoint::free(), Instant::default(), Untracked, &mut |_| {
        Control::Continue
    })
    .expect("it ends");
    let busiest = outcome.sent.iter().max().expect("some rank");
    (outcome.messages, *busiest)
}

#[test]
fn bruck_trades_messages_for_blocks_in_an_all_to_all() {
    // Ranks, then radix, messages and blocks.
    let table = [
        (8, vec![(2, 3, 12), (3, 4, 10), (4, 4, 10), (8, 7, 7)]),
        (
            64,
            vec![
                (2, 6, 192),
                (3, 8, 158),
                (4, 9, 144),
                (8, 14, 112),
                (12, 16, 110),
                (64, 63, 63),
            ],
        ),
        (
            72,
            vec![
                (2, 7, 212),
                (3, 8, 186),
                (4, 10, 162),
                (8, 15, 127),
                (12, 16, 126),
                (72, 71, 71),
            ],
        ),
        (
            144,
            vec![
                (2, 8, 496),
                (3, 9, 435),
                (4, 11, 392),
                (8, 16, 326),
                (12, 22, 264),
                (144, 143, 143),
            ],
        ),
    ];
    for (ranks, rows) in table {
        for (radix, messages, blocks) in rows {
            let schedule = build(ranks, Collective::AllToAll, "bruck", Some(("radix", radix)));
            assert_eq!(
                messages_and_chunks(&schedule),
                (messages * ranks as u64, blocks),
                "{ranks} ranks, radix {radix}"
            );
        }
    }
}

#[test]
fn logarithmic_algorithms_send_each_block_once_at_any_number_of_ranks() {
    for name in ["bruck", "circulant", "pat"] {
        for (ranks, steps) in [(5, 3), (7, 3), (64, 6), (72, 7), (100, 7), (144, 8), (1000, 10)] {
            for collective in [Collective::AllGather, Collective::ReduceScatter] {
                let schedule = build(ranks, collective, name, None);
                assert_eq!(
                    messages_and_chunks(&schedule),
                    (steps * ranks as u64, ranks as u64 - 1),
                    "{name} {ranks}"
                );
            }
        }
    }
}

#[test]
fn swing_sends_each_block_once_at_any_even_number_of_ranks() {
    for (ranks, steps) in [(2, 1), (6, 3), (64, 6), (72, 7), (100, 7), (144, 8), (1000, 10)] {
        let schedule = build(ranks, Collective::AllGather, "swing", None);
        assert_eq!(
            messages_and_chunks(&schedule),
            (steps * ranks as u64, ranks as u64 - 1),
            "{ranks}"
        );
    }
}

#[test]
fn pat_with_one_block_a_message_sends_as_many_messages_as_a_ring() {
    let schedule = build(144, Collective::AllGather, "pat", Some(("blocks", 1)));
    assert_eq!(messages_and_chunks(&schedule), (143 * 144, 143));
}

#[test]
fn each_of_two_trees_carries_half_of_the_buffer() {
    let one = build(144, Collective::AllReduce, "binary_tree", Some(("pieces", 8)));
    let two = build(144, Collective::AllReduce, "double_binary_tree", Some(("pieces", 8)));
    // Up and down, 8 pieces cross the 143 edges of one tree. The pair cuts the buffer twice as fine.
    assert_eq!(one.chunks(), 8);
    assert_eq!(two.chunks(), 16);
    // With one tree an inner rank sends the buffer up once and down twice; with two, nobody sends it more than twice:
    // half up and half down twice in one tree, half up in the other.
    assert_eq!(messages_and_chunks(&one), (2 * 8 * 143, 3 * 8));
    assert_eq!(messages_and_chunks(&two), (2 * 16 * 143, 2 * 16));
}

/// Instructions as they are written, a loop's body once.
fn written(body: &[Instruction]) -> usize {
    body.iter()
        .map(|instruction| match instruction {
            Instruction::Loop { body, .. } => 1 + written(body),
            _ => 1,
        })
        .sum()
}

/// Algorithms in which a rank is like any other, or plays one of a few roles for each binary digit of its number.
const FLAT: [&str; 21] = [
    "ring",
    "bidirectional_ring",
    "recursive_halving_doubling",
    "recursive_halving",
    "recursive_doubling",
    "direct",
    "one_shot",
    "pairwise",
    "binomial",
    "bruck",
    "circulant",
    "pat",
    "swing",
    "bine",
    "neighbor_exchange",
    "linear",
    "chain",
    "binary_tree",
    "double_binary_tree",
    "scatter_all_gather",
    "dissemination",
];

#[test]
fn programs_stay_small_at_100_800_ranks() {
    let ranks = 100_800;
    let mut seen = 0;
    for collective in Collective::ALL {
        for algorithm in algorithm::ALL
            .iter()
            .filter(|known| known.collectives.contains(&collective))
        {
            // What works by the levels of a topology is not made for as many ranks on one switch.
            if !FLAT.contains(&algorithm.name) {
                continue;
            }
            let schedule = build(ranks, collective, algorithm.name, None);
            let instructions = |program: &Program| {
                program
                    .streams
                    .iter()
                    .map(|stream| written(&stream.body))
                    .sum::<usize>()
            };
            let total: usize = schedule.programs().iter().map(instructions).sum();
            // A program for every role, with some instructions for each of the 17 binary digits of a rank.
            assert!(total < 17 * 17 * 17, "{} {collective}: {total}", algorithm.name);
            seen += 1;
        }
    }
    assert!(seen >= FLAT.len(), "{seen}");
}
