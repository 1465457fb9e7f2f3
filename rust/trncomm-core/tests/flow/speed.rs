//! How long runs take; prints, and claims nothing about time.

use std::collections::BTreeMap;
use std::time::Instant;

use trncomm_core::algorithm;
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::{Advance, Control, Due, Flow, FlowOptions, Network, Untracked, run};
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Buffer, Chunks, Code, Instruction, Layout, Place, Program, Schedule, Shape};
use trncomm_core::topology::Topology;
use trncomm_core::units::{Bytes, Time};

use crate::link;

/// The seconds that this thread has been on a processor, or that have passed where the system doesn't say.
fn processor_seconds(began: Instant) -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = status.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(began.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn time(what: &str, topology: &Topology, collective: Collective, name: &str, chunk: u64) {
    let root = RankId::from(0);
    let schedule = algorithm::build(topology, collective, name, root, BTreeMap::new()).expect("an algorithm");
    time_schedule(what, topology, &schedule, chunk);
}

/// Messages round a ring, as many as an all-reduce has, of sizes from half a megabyte to one and a half: each rank has 32
/// sizes of its own in turn, chunks of a kilobyte; or a megabyte each.
fn around(ranks: usize, random: bool) -> Schedule {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let mut program_of = |rank: u32| {
        let ranks = u32::try_from(ranks).expect("a rank");
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let steps = (0..32).flat_map(|_| {
            let kilobytes = if random {
                500 + next_random(&mut state) % 1001
            } else {
                1000
            };
            let chunks = || Chunks::range(Buffer::Output, 0, usize::try_from(kilobytes).expect("few"));
            [
                Instruction::send(Place::rank(next as usize), chunks()),
                Instruction::receive(Place::rank(before as usize), chunks()),
            ]
        });
        Program::single(vec![Instruction::repeat(
            (2 * ranks as usize - 2) / 32,
            steps.collect(),
        )])
    };
    let shape = Shape::new(&[ranks]).expect("a line");
    let goal = Goal::in_place(Collective::Custom);
    Schedule::by_rank("around", goal, shape, 1500, 0, &mut program_of).expect("well formed")
}

fn time_schedule(what: &str, topology: &Topology, schedule: &Schedule, chunk: u64) {
    let began = Instant::now();
    let before = processor_seconds(began);
    let size = Bytes::new(chunk * schedule.chunks());
    let layout = Layout::new(size, 1, schedule.chunks()).expect("whole elements");
    let code = Code::new(schedule, layout).expect("the layout is the schedule's");
    let network = Flow::new(topology, FlowOptions::default());
    let outcome = run(&code, topology.endpoint(), network, Untracked, &mut |_| {
        Control::Continue
    })
    .expect("a run");
    let finish = outcome.finish.iter().max().expect("ranks");
    println!(
        "{what:28} {:>5} ranks {:>9} messages {:>10} events {finish:>14} simulated {:8.3} s of processor",
        topology.ranks(),
        outcome.messages,
        outcome.traffic.events,
        processor_seconds(began) - before
    );
}

/// A xorshift: sizes that look random, the same in every run.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Rings and exchanges driven without the rank machine, with sizes from half of a megabyte to one and a half.
fn time_sizes(what: &str, topology: &Topology, steps: u32, random: bool) {
    let began = Instant::now();
    let before = processor_seconds(began);
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let mut size = || {
        if random {
            Bytes::new(500_000 + next_random(&mut state) % 1_000_001)
        } else {
            Bytes::new(1_000_000)
        }
    };
    let ranks = u32::try_from(topology.ranks()).expect("a rank");
    let mut network = Flow::new(topology, FlowOptions::default());
    let mut messages = 0;
    let mut post = |network: &mut Flow<'_>, at, id: u32, source: u32, destination: u32| {
        messages += 1;
        let posted = network.post(at, id, source.into(), destination.into(), size());
        posted.expect("ranks of the topology");
    };
    let in_turn = what.contains("ring");
    for source in 0..ranks {
        let distances = if in_turn { 1..2 } else { 1..ranks };
        for distance in distances {
            post(
                &mut network,
                Time::ZERO,
                source * ranks * u32::from(!in_turn) + source + distance - 1,
                source,
                (source + distance) % ranks,
            );
        }
    }
    let mut due = Vec::new();
    let mut last = Time::ZERO;
    let mut passed = vec![0; topology.ranks()];
    loop {
        match network.advance(&mut due) {
            Advance::Due(time) => last = time,
            Advance::Paused(_) => continue,
            Advance::Idle => break,
        }
        for event in due.drain(..) {
            if let Due::Delivered(source) = event
                && in_turn
            {
                let at = (source + 1) % ranks;
                passed[at as usize] += 1;
                if passed[at as usize] < steps {
                    post(&mut network, last, at, at, (at + 1) % ranks);
                }
            }
        }
    }
    let kind = if random { "random" } else { "equal" };
    println!(
        "{what:20} {kind:7} {ranks:>5} ranks {messages:>9} messages {:>10} events {last:>14} simulated {:8.3} s of processor",
        network.traffic().events,
        processor_seconds(began) - before
    );
}

#[test]
#[ignore = "prints timings; run with --release -- --ignored --nocapture"]
fn flow_speed_by_sizes() {
    let mut cases = 0;
    let only = std::env::var("FLOW_SPEED").unwrap_or_default();
    for random in [false, true] {
        for (what, ranks, steps) in [
            ("ring", 144, 286),
            ("ring", 1024, 2046),
            ("exchange", 64, 1),
            ("exchange", 144, 1),
        ] {
            let star = Topology::switch(ranks, 1, link(100, 500)).expect("a shape");
            if format!("{what} {ranks}").contains(&only) {
                time_sizes(what, &star, steps, random);
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 8);
}

#[test]
#[ignore = "prints timings; run with --release -- --ignored --nocapture"]
fn flow_speed() {
    let mut cases = 0;
    let only = std::env::var("FLOW_SPEED").unwrap_or_default();
    let mut case = |what: &str, topology: Topology, collective, name| {
        if format!("{what} {}", topology.ranks()).contains(&only) {
            time(what, &topology, collective, name, 1_000_000);
        }
        cases += 1;
    };
    let star = |ranks| Topology::switch(ranks, 1, link(100, 500)).expect("a shape");
    let torus = |sides: &[usize]| Topology::torus(sides, &vec![link(50, 500); sides.len()]).expect("a shape");
    for ranks in [64, 144, 512, 1024] {
        case("star direct", star(ranks), Collective::AllToAll, "direct");
    }
    for sides in [&[4, 4, 4][..], &[12, 12], &[8, 8, 8]] {
        case("torus direct", torus(sides), Collective::AllToAll, "direct");
    }
    for ranks in [144, 256, 512, 1024, 2048, 4096] {
        case("star ring", star(ranks), Collective::AllReduce, "ring");
    }
    for random in [false, true] {
        let what = if random {
            "star around random"
        } else {
            "star around equal"
        };
        let topology = star(1024);
        if format!("{what} 1024").contains(&only) {
            time_schedule(what, &topology, &around(1024, random), 1000);
        }
    }
    for ranks in [144, 512, 1024] {
        case("star pairwise", star(ranks), Collective::AllToAll, "pairwise");
    }
    for sides in [&[4, 4, 4][..], &[12, 12], &[8, 8, 8]] {
        case("torus ring", torus(sides), Collective::AllReduce, "ring");
        case("torus pairwise", torus(sides), Collective::AllToAll, "pairwise");
    }
    assert_eq!(cases, 22);
}
