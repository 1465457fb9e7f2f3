//! `SimGrid`'s results on cases where it shares as this model does.
//!
//! `SimGrid` weighs a message by the latency of its route and waits the latency out first. Neither matters on a star,
//! where all routes have one latency, or where nothing is shared. Elsewhere messages weighted alike are posted when their
//! latency has passed, and the latency that this model adds at the end is taken off. Cases in which a message goes half
//! round a ring are left out: routes differ there.

use std::path::PathBuf;

use serde_json::Value;
use trncomm_core::engine::{Advance, Due, Flow, FlowOptions, Network};
use trncomm_core::topology::{LinkInput, Topology};
use trncomm_core::units::{Bytes, Time};

use crate::{Post, deliveries, link};

/// The published cases, or nothing where they aren't at hand.
fn cases() -> Option<Value> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRNCOMM_SHARED").map_or(root, PathBuf::from);
    let file = shared.join("cases/network-sims.json");
    match std::fs::read(&file) {
        Ok(text) => Some(serde_json::from_slice(&text).expect("JSON")),
        Err(error) => {
            println!(
                "skipped: {}: {error}; TRNCOMM_SHARED may name another place",
                file.display()
            );
            None
        }
    }
}

/// A star in which host i has links of `gigabytes(i)`; its switch comes after the hosts.
fn star(hosts: u64, gigabytes: impl Fn(u64) -> u64) -> Topology {
    let cable = |host| {
        [(host, hosts), (hosts, host)].map(|(source, destination)| LinkInput {
            source,
            destination,
            bandwidth: gigabytes(host) * 1_000_000_000,
            latency: 500_000,
            tier: "host".to_owned(),
        })
    };
    let hosts = usize::try_from(hosts).expect("a size in memory");
    let links: Vec<LinkInput> = (0..hosts as u64).flat_map(cable).collect();
    Topology::from_links(hosts, 1, &links).expect("a star")
}

fn topology(platform: &Value, hosts: u64) -> Topology {
    let gigabytes = (platform["bw_Bps"].as_f64().expect("a rate") / 1e9) as u64;
    match platform["kind"].as_str() {
        Some("star") if platform["links"].as_str().expect("a text").contains("mod 3") => {
            star(hosts, |host| gigabytes * (1 + host % 3))
        }
        Some("star") => star(hosts, |_| gigabytes),
        _ => {
            let sides: Vec<usize> = platform["dims"]
                .as_array()
                .expect("sides")
                .iter()
                .map(|side| side.as_u64().expect("a side") as usize)
                .collect();
            Topology::torus(&sides, &vec![link(gigabytes, 500); sides.len()]).expect("a torus")
        }
    }
}

/// When each rank has sent and received all, in picoseconds.
fn finish(network: &mut Flow<'_>, workload: &Value, hosts: u64) -> Option<Vec<u64>> {
    let chunk = workload["chunk_bytes"].as_u64().expect("a size");
    let pairs = || (0..hosts).flat_map(|i| (0..hosts).filter(move |&j| j != i).map(move |j| (i, j)));
    let post = |at, source: u64, destination: u64, bytes| Post {
        at,
        source: source as u32,
        destination: (destination % hosts) as u32,
        bytes,
    };
    let posts: Vec<Post> = match workload["name"].as_str().expect("a name") {
        "ring" => return Some(in_step(network, hosts, 2 * (hosts - 1), |_| 1, chunk)),
        "a2a" => return Some(in_step(network, hosts, hosts - 1, |step| step + 1, chunk)),
        "a2aall" => pairs().map(|(i, j)| post(0, i, j, chunk)).collect(),
        "nua2a" => pairs()
            .map(|(i, j)| post(0, i, j, chunk * (1 + (7 * i + 13 * j) % 5)))
            .collect(),
        "incast" => (1..hosts).map(|i| post(0, i, 0, chunk * i)).collect(),
        "stagger" => (0..hosts)
            .flat_map(|i| (1..4).map(move |k| post(i * 10_000_000, i, i + k, (k + 1) * chunk)))
            .collect(),
        _ => return None,
    };
    let mut finish = vec![0; hosts as usize];
    for (post, time) in posts.iter().zip(deliveries(network, &posts)) {
        for rank in [post.source, post.destination] {
            finish[rank as usize] = time.max(finish[rank as usize]);
        }
    }
    Some(finish)
}

/// Every rank sends to the rank `distance(step)` on, and goes on when both its message and the one to it have arrived.
/// As in `SimGrid`, a message enters when its sender and its receiver have both come to the step.
fn in_step(network: &mut Flow<'_>, hosts: u64, steps: u64, distance: impl Fn(u64) -> u64, chunk: u64) -> Vec<u64> {
    let receiver = |rank: u64, step| (rank + distance(step)) % hosts;
    let begin = |network: &mut Flow<'_>, at, rank: u64, step| {
        let (source, destination) = (rank as u32, receiver(rank, step) as u32);
        let message = (step * hosts + rank) as u32;
        network
            .post(at, message, source.into(), destination.into(), Bytes::new(chunk))
            .expect("a rank");
    };
    let mut finish = vec![0; hosts as usize];
    let mut at_step = vec![0; hosts as usize];
    let mut arrived = vec![0; hosts as usize];
    for rank in 0..hosts {
        begin(network, Time::ZERO, rank, 0);
    }
    let mut due = Vec::new();
    loop {
        let time = match network.advance(&mut due) {
            Advance::Due(time) => time,
            Advance::Paused(_) => continue,
            Advance::Idle => return finish,
        };
        for event in due.drain(..) {
            let Due::Delivered(message) = event else {
                panic!("nothing was to be woken")
            };
            let (step, source) = (u64::from(message) / hosts, u64::from(message) % hosts);
            for rank in [source, receiver(source, step)] {
                arrived[rank as usize] += 1;
                if arrived[rank as usize] < 2 {
                    continue;
                }
                arrived[rank as usize] = 0;
                finish[rank as usize] = time.picoseconds();
                let next = step + 1;
                at_step[rank as usize] = next;
                if next == steps {
                    continue;
                }
                let to = receiver(rank, next);
                let from = (rank + hosts - distance(next)) % hosts;
                for (sender, other) in [(rank, to), (from, from)] {
                    if at_step[other as usize] == next {
                        begin(network, time, sender, next);
                    }
                }
            }
        }
    }
}

#[test]
fn messages_end_when_simgrid_says() {
    let Some(cases) = cases() else { return };
    let mut compared = 0;
    for case in cases["cases"].as_array().expect("a list") {
        let id = case["id"].as_str().expect("a name");
        let alike = id.starts_with("sg-star") || id.starts_with("sg-hstar") || id.ends_with("ring");
        if case["level"] != "flow" || !alike || id.contains("default") {
            continue;
        }
        let hosts = case["workload"]["N"].as_u64().expect("a count");
        let topology = topology(&case["platform"], hosts);
        let mut network = Flow::new(&topology, FlowOptions::default());
        let Some(finish) = finish(&mut network, &case["workload"], hosts) else {
            continue;
        };
        let tolerance = case["rel_tolerance"].as_f64().expect("a tolerance");
        let close = |name: &str, found: u64, expected: &Value| {
            let (found, expected) = (found as f64 / 1e12, expected.as_f64().expect("seconds"));
            assert!(
                (found / expected - 1.0).abs() <= tolerance,
                "{id}: {name} {found} s instead of {expected} s"
            );
        };
        let expected = &case["expected"];
        close("last", *finish.iter().max().expect("ranks"), &expected["max_finish_s"]);
        close("first", *finish.iter().min().expect("ranks"), &expected["min_finish_s"]);
        if let Some(by_rank) = expected["finish_s_by_rank"].as_array() {
            for (found, expected) in finish.iter().zip(by_rank) {
                close("rank", *found, expected);
            }
        }
        compared += 1;
    }
    assert!(compared >= 15, "only {compared} cases were found alike");
}

#[test]
fn messages_over_long_and_short_routes_share_as_in_simgrid() {
    let Some(cases) = cases() else { return };
    let all = cases["cases"].as_array().expect("a list");
    let case = all.iter().find(|case| case["id"] == "sg-torus-8-stagger");
    let case = case.expect("a case without routes of half a circle");
    let topology = topology(&case["platform"], 8);
    let mut network = Flow::new(&topology, FlowOptions::default().with_round_trip_weights());
    let chunk = case["workload"]["chunk_bytes"].as_u64().expect("a size");
    // To the ranks 1, 2 and 3 further on, over as many links of 500 ns.
    let hops = |post: &Post| 500_000 * u64::from((post.destination + 8 - post.source) % 8);
    let mut posts: Vec<Post> = (0..8)
        .flat_map(|rank| {
            (1..4).map(move |by| Post {
                at: u64::from(rank) * 10_000_000,
                source: rank,
                destination: (rank + by) % 8,
                bytes: u64::from(by + 1) * chunk,
            })
        })
        .collect();
    for post in &mut posts {
        post.at += hops(post);
    }
    let mut finish = [0; 8];
    for (post, time) in posts.iter().zip(deliveries(&mut network, &posts)) {
        for rank in [post.source, post.destination] {
            finish[rank as usize] = finish[rank as usize].max(time - hops(post));
        }
    }
    let tolerance = case["rel_tolerance"].as_f64().expect("a tolerance");
    let expected = case["expected"]["finish_s_by_rank"].as_array().expect("a list");
    assert_eq!(expected.len(), 8);
    for (rank, (found, expected)) in finish.into_iter().zip(expected).enumerate() {
        let (found, expected) = (found as f64 / 1e12, expected.as_f64().expect("seconds"));
        assert!(
            (found / expected - 1.0).abs() <= tolerance,
            "rank {rank}: {found} s instead of {expected} s"
        );
    }
}
