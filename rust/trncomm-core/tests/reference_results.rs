//! Results of other simulators, where their rules are those of a model here.

mod common;

use std::path::PathBuf;

use common::networks::{link, packet_format};
use common::{build, run_on};
use serde_json::Value;
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::{LogGp, Packet};
use trncomm_core::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};
use trncomm_core::topology::{Endpoint, Topology};
use trncomm_core::units::Time;

/// The cases of a file of reference results; none, with a word about it, where they aren't at hand.
fn cases(file: &str) -> Vec<Value> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRNCOMM_SHARED").map_or(beside, PathBuf::from);
    let file = shared.join("cases").join(file);
    match std::fs::read(&file) {
        Ok(text) => {
            let all: Value = serde_json::from_slice(&text).expect("JSON");
            let cases = all["cases"].as_array().expect("a list of cases").clone();
            assert!(!cases.is_empty(), "{} has no cases", file.display());
            cases
        }
        Err(error) => {
            println!(
                "skipped: {}: {error}; TRNCOMM_SHARED may name another place",
                file.display()
            );
            Vec::new()
        }
    }
}

/// A number that a file keeps as a fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // rates and times, far below 2^53
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// Ranks 1 and up each send rank 0 as many chunks as their number says.
fn growing_incast(ranks: usize) -> Schedule {
    let chunks = |count: Expr| Chunks::range(Buffer::Output, 0, count);
    let program_of = |rank: u32| {
        Program::single(if rank == 0 {
            let from = Expr::var(0) + 1;
            let receive = Instruction::receive(Place::rank(from.clone()), chunks(from));
            vec![Instruction::repeat(ranks - 1, vec![receive])]
        } else {
            vec![Instruction::send(Place::rank(0), chunks(Expr::rank()))]
        })
    };
    let shape = Shape::new(&[ranks]).expect("a line");
    let goal = Goal::in_place(Collective::Custom);
    Schedule::by_rank("incast", goal, shape, ranks as u64, 0, program_of).expect("well formed")
}

/// A fluid model gives the same as one that serves messages first-come first-served where no two share a link, and
/// at the end of the last message where one link is shared.
#[test]
fn simgrids_stars_take_the_same_time_under_loggp() {
    let cases = cases("network-sims.json");
    let mut compared = 0;
    for case in &cases {
        let (platform, workload) = (&case["platform"], &case["workload"]);
        let tool = case["tool"].as_str().expect("a text");
        let is_plain_star = platform["kind"] == "star"
            && platform["links"] == "one up link and one down link per host, full duplex, path i->j = up_i, down_j"
            && !tool.contains("defaults (model");
        let ranks = usize::try_from(workload["N"].as_u64().unwrap_or(0)).expect("a size in memory");
        if !is_plain_star || tool.contains("all defaults") {
            continue;
        }
        let chunk = workload["chunk_bytes"].as_u64().expect("a size");
        // Rates and latencies are whole numbers in bytes/s and picoseconds.
        let rate = whole(platform["bw_Bps"].as_f64().expect("a rate"));
        let latency = whole(platform["lat_s_per_link"].as_f64().expect("a latency") * 1e12);
        let star = Topology::switch(ranks, 1, link(rate, latency)).expect("a star");
        let schedule = match workload["name"].as_str().expect("a name") {
            "ring" => build(&star, Collective::AllReduce, "ring", 0),
            "a2a" => build(&star, Collective::AllToAll, "pairwise", 0),
            "a2aall" => build(&star, Collective::AllToAll, "direct", 0),
            "incast" => growing_incast(ranks),
            _ => continue,
        };
        let size = chunk * ranks as u64;
        let report = run_on(&star, &schedule, size, 1, LogGp::new(&star)).expect("a run that ends");
        let expected = case["expected"]["max_finish_s"].as_f64().expect("a time");
        let (got, tolerance) = (report.time().seconds(), expected * 1e-6);
        assert!(
            (got - expected).abs() <= tolerance,
            "{}: {got} s, expected {expected} s",
            case["id"]
        );
        compared += 1;
    }
    assert!(cases.is_empty() || compared >= 10, "{compared} of {}", cases.len());
}

/// ASTRA-sim stores and forwards whole messages over links that are first-in first-out, as the packet model does with
/// packets that hold a message; its congestion-unaware network is `loggp` where no port is shared.
#[test]
fn astra_sims_single_collectives_take_the_same_time() {
    const GIB: f64 = 1_073_741_824.0;
    let cases = cases("astra-sim.json");
    let mut compared = 0;
    for case in &cases {
        let id = case["id"].as_str().expect("a name");
        let dimensions = case["topology"].as_array().expect("a list");
        let [dimension] = dimensions.as_slice() else { continue };
        let is_aware = case["backend"] == "analytical/congestion_aware";
        let chips = case["chips"].as_u64().expect("a size");
        let size = case["size_bytes"].as_u64().expect("a size");
        let algorithm = case["algorithm_per_dim"][0].as_str().expect("a name");
        let collective = case["collective"].as_str().expect("a name");
        let is_one_run = case["chunks"] == 1 && case["local_mem_bw_GBps"] == 1e9;
        // Bytes are cut off where the chips don't divide the size. Without congestion a chip's port carries any number
        // of messages at once, so that only one at a time is comparable.
        let comparable = is_one_run && (size % chips == 0) && (is_aware || algorithm != "direct");
        let (collective, name) = match (collective, algorithm) {
            _ if !comparable => continue,
            ("all_reduce", "ring") => (Collective::AllReduce, "ring"),
            ("reduce_scatter", "ring") => (Collective::ReduceScatter, "ring"),
            ("all_gather", "ring") => (Collective::AllGather, "ring"),
            ("all_reduce", "halvingDoubling") => (Collective::AllReduce, "recursive_halving_doubling"),
            ("all_gather", "direct") => (Collective::AllGather, "direct"),
            ("all_to_all", "direct") => (Collective::AllToAll, "direct"),
            _ => continue,
        };
        let rate = whole(dimension["link_bw_GiBps"].as_f64().expect("a rate") * GIB);
        let latency = whole(dimension["link_latency_ns"].as_f64().expect("a latency") * 1000.0);
        let ranks = usize::try_from(chips).expect("a size in memory");
        let spec = link(rate, latency);
        let topology = match dimension["kind"].as_str().expect("a name") {
            "Ring" => Topology::ring(ranks, spec),
            "FullyConnected" => Topology::fully_connected(ranks, spec),
            "Switch" => Topology::switch(ranks, 1, spec),
            other => panic!("{id}: a topology of kind {other}"),
        };
        let delay = Time::from_picoseconds(case["endpoint_delay_ns"].as_u64().expect("a delay") * 1000);
        let topology = topology
            .expect("a shape")
            .with_endpoint(Endpoint::free().with_completion(delay))
            .with_packet_format(packet_format(1 << 40, 0));
        let schedule = build(&topology, collective, name, 0);
        // All-gathers are given by the block of a chip.
        let size = if collective == Collective::AllGather {
            size * chips
        } else {
            size
        };
        let report = if is_aware {
            run_on(
                &topology,
                &schedule,
                size,
                1,
                Packet::new(&topology).expect("rates that fit"),
            )
        } else {
            run_on(&topology, &schedule, size, 1, LogGp::new(&topology))
        };
        let got = report.expect("a run that ends").time().picoseconds();
        let expected = case["sim_time_ns"].as_u64().expect("a time") * 1000;
        // Every serialisation and every arrival is cut to whole nanoseconds, at most two links and 2 N messages in a
        // row; a phase starts with one delay more, and there are at most 2 log2 N phases and one.
        let tolerance = 1000 * (2 * 2 * 2 * chips + 2 * u64::from(chips.ilog2()) + 1);
        assert!(
            got.abs_diff(expected) <= tolerance,
            "{id}: {got} ps, expected {expected}"
        );
        compared += 1;
    }
    assert!(cases.is_empty() || compared >= 15, "{compared} of {}", cases.len());
}

/// The example of `LogGOPSim`: a binomial reduce of 1024 bytes over 8 hosts with L = 2500, o = 1500, G = 6.
///
/// A hop takes o + L + (s − 1)·G + o; here it takes launch, latency, the bytes and completion. A sender there ends with
/// its own overhead, here when its message is delivered.
#[test]
fn loggopsims_binomial_reduce_takes_the_same_time() {
    // A rate holds no gap of 6 ps a byte, so each byte is three of 2 ps.
    let (overhead, latency, gap, bytes) = (1500, 2500, 2, 3 * 1023);
    let whole = || Chunks::one(Buffer::Output, 0);
    let program_of = |rank: u32| {
        let mut body = Vec::new();
        let mut distance = 4;
        while distance > 0 && rank < distance {
            body.push(Instruction::reduce(Place::rank(i64::from(rank + distance)), whole()));
            distance /= 2;
        }
        if distance > 0 {
            body.push(Instruction::send(Place::rank(i64::from(rank - distance)), whole()));
        }
        Program::single(body)
    };
    let shape = Shape::new(&[8]).expect("a line");
    let goal = Goal::in_place(Collective::Reduce);
    let schedule = Schedule::by_rank("binomial", goal, shape, 1, 0, program_of).expect("well formed");
    let overhead_time = Time::from_picoseconds(overhead);
    let topology = Topology::fully_connected(8, link(1_000_000_000_000 / gap, latency))
        .expect("a full mesh")
        .with_endpoint(
            Endpoint::free()
                .with_launch(overhead_time)
                .with_completion(overhead_time),
        );
    let report = run_on(&topology, &schedule, bytes, 1, LogGp::new(&topology)).expect("a run that ends");
    let after_the_launch = latency + bytes * gap;
    let ends: Vec<u64> = report.finish.iter().map(|time| time.picoseconds()).collect();
    let senders: Vec<u64> = ends[1..].iter().map(|end| end - after_the_launch).collect();
    assert_eq!(
        (ends[0], senders),
        (34914, vec![24776, 13138, 13138, 1500, 1500, 1500, 1500])
    );
}
