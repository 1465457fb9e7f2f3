//! Runs of schedules on the network models, in packet-hops and messages a second.

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use criterion::{BenchmarkGroup, Criterion, Throughput};
use trncomm_core::algorithm;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{
    Control, Flow, FlowOptions, Heap, LogGp, Network, Outcome, Packet, Switched, Untracked, Wheel, run,
};
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Code, Layout, Schedule};
use trncomm_core::topology::{Arbitration, Fabric, LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use crate::processor::ProcessorTime;

fn link(gigabytes_per_second: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(gigabytes_per_second * 1_000_000_000).expect("above zero"),
        latency: Time::from_picoseconds(125_000),
    }
}

/// 144 chips at one switch.
pub fn switch() -> Topology {
    Topology::switch(144, 1, link(320)).expect("a switch")
}

/// 144 chips in a ring.
fn ring() -> Topology {
    Topology::torus(&[144], &[link(320)]).expect("a ring")
}

/// 144 chips as in a Trn3 UltraServer.
pub fn ultraserver() -> Topology {
    Topology::ultraserver(2, 18, 4, link(256), link(320), link(128)).expect("an UltraServer")
}

pub fn schedule(topology: &Topology, collective: Collective, name: &str) -> Schedule {
    algorithm::build(topology, collective, name, RankId::new(0), BTreeMap::new()).expect("an algorithm for it")
}

fn run_on<N: Network>(topology: &Topology, schedule: &Schedule, size: u64, network: N) -> Outcome<Untracked> {
    let layout = Layout::new(Bytes::new(size), 1, schedule.chunks()).expect("whole elements");
    let code = Code::new(schedule, layout).expect("the layout is the schedule's");
    run(&code, topology, network, Untracked, &mut |_| Control::Continue).expect("a run")
}

/// Measures runs of which each does `count` of what `unit` says, as one untimed run says.
fn measure(
    group: &mut BenchmarkGroup<'_, ProcessorTime>,
    name: &str,
    count: impl Fn(&Outcome<Untracked>) -> u64,
    once: impl Fn() -> Outcome<Untracked>,
) {
    group.throughput(Throughput::Elements(count(&once())));
    group.bench_function(name, |bencher| bencher.iter(&once));
}

fn packet_hops(outcome: &Outcome<Untracked>) -> u64 {
    outcome.traffic.packet_hops
}

fn messages(outcome: &Outcome<Untracked>) -> u64 {
    outcome.messages
}

/// 16 MiB a chip, 29 packets a message.
const SIZE: u64 = 16 << 20;

pub fn packet(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("packet, hops");
    for (shape, topology) in [("switch", switch()), ("ultraserver", ultraserver())] {
        for (collective, name) in [
            (Collective::AllToAll, "direct"),
            (Collective::AllToAll, "pairwise"),
            (Collective::AllReduce, "ring"),
        ] {
            let schedule = schedule(&topology, collective, name);
            measure(
                &mut group,
                &format!("{collective} {name} on {shape}"),
                packet_hops,
                || {
                    let network = Packet::new(&topology).expect("a network");
                    run_on(&topology, &schedule, SIZE, network)
                },
            );
        }
    }
    // Buffers of 16 packets: back-pressure by credits. The channels are those that the shape needs at most.
    let fabric = Fabric::default()
        .with_buffer(Bytes::new(64 << 10))
        .with_virtual_channels(NonZeroU8::MAX)
        .with_arbitration(Arbitration::RoundRobin);
    for (shape, topology) in [("switch", switch()), ("ultraserver", ultraserver())] {
        let bounded = topology.with_fabric(fabric);
        for name in ["direct", "pairwise"] {
            let schedule = schedule(&bounded, Collective::AllToAll, name);
            let what = format!("all_to_all {name} on {shape}, buffers of 64 KiB, in turn");
            measure(&mut group, &what, packet_hops, || {
                let network = Switched::new(&bounded).expect("a network");
                run_on(&bounded, &schedule, SIZE, network)
            });
        }
    }
    group.finish();
}

/// The candidates for the queue of events, on the same runs.
pub fn queues(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("queue, packet-hops");
    for (shape, topology) in [("switch", switch()), ("ultraserver", ultraserver())] {
        let schedule = schedule(&topology, Collective::AllToAll, "direct");
        measure(&mut group, &format!("wheel on {shape}"), packet_hops, || {
            let network = Packet::with_queue(&topology, Wheel::new(3000)).expect("a network");
            run_on(&topology, &schedule, SIZE, network)
        });
        measure(&mut group, &format!("heap on {shape}"), packet_hops, || {
            let network = Packet::with_queue(&topology, Heap::default()).expect("a network");
            run_on(&topology, &schedule, SIZE, network)
        });
    }
    group.finish();
}

const MESSAGES: [(Collective, &str); 3] = [
    (Collective::AllReduce, "ring"),
    (Collective::AllToAll, "pairwise"),
    (Collective::AllToAll, "direct"),
];

pub fn loggp(criterion: &mut Criterion<ProcessorTime>) {
    by_messages(criterion, "loggp, messages", |topology, schedule| {
        run_on(topology, schedule, SIZE, LogGp::new(topology))
    });
}

pub fn flow(criterion: &mut Criterion<ProcessorTime>) {
    by_messages(criterion, "flow, messages", |topology, schedule| {
        run_on(topology, schedule, SIZE, Flow::new(topology, FlowOptions::default()))
    });
}

fn by_messages(
    criterion: &mut Criterion<ProcessorTime>,
    group: &str,
    once: impl Fn(&Topology, &Schedule) -> Outcome<Untracked>,
) {
    let mut group = criterion.benchmark_group(group);
    for (shape, topology) in [("switch", switch()), ("ring", ring()), ("ultraserver", ultraserver())] {
        for (collective, name) in MESSAGES {
            let schedule = schedule(&topology, collective, name);
            let what = format!("{collective} {name} on {shape}");
            measure(&mut group, &what, messages, || once(&topology, &schedule));
        }
    }
    group.finish();
}
