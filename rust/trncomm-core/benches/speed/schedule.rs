//! Schedules: how long they take to build at 100,800 ranks, and to prove; and the bounds of a topology.

use criterion::{Criterion, Throughput};
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::Control;
use trncomm_core::proof::verify;
use trncomm_core::topology::{LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use crate::engine::{schedule, switch, ultraserver};
use crate::processor::ProcessorTime;

fn large_switch(ranks: usize) -> Topology {
    let spec = LinkSpec {
        bandwidth: Bandwidth::new(25_000_000_000).expect("above zero"),
        latency: Time::from_picoseconds(1_000_000),
    };
    Topology::switch(ranks, 1, spec).expect("a switch")
}

pub fn build(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("build, 100,800 ranks");
    let topology = large_switch(100_800);
    for (collective, name) in [
        (Collective::AllReduce, "ring"),
        (Collective::AllToAll, "pairwise"),
        (Collective::Broadcast, "binomial"),
    ] {
        group.bench_function(format!("{collective} {name}"), |bencher| {
            bencher.iter(|| schedule(&topology, collective, name));
        });
    }
    group.finish();
}

pub fn proof(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("proof, messages");
    for (ranks, collective, name) in [
        (144, Collective::AllReduce, "ring"),
        (144, Collective::AllReduce, "direct"),
        (144, Collective::AllToAll, "pairwise"),
        (300, Collective::AllReduce, "ring"),
    ] {
        let topology = if ranks == 144 { switch() } else { large_switch(ranks) };
        let schedule = schedule(&topology, collective, name);
        let prove = || verify(&schedule, &mut |_| Control::Continue).expect("a right schedule");
        group.throughput(Throughput::Elements(prove().messages));
        group.bench_function(format!("{collective} {name} of {ranks} ranks"), |bencher| {
            bencher.iter(prove);
        });
    }
    group.finish();
}

pub fn bounds(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("bounds");
    let topology = ultraserver();
    for collective in [Collective::AllReduce, Collective::AllToAll] {
        group.bench_function(format!("{collective} on ultraserver"), |bencher| {
            let goal = Goal::in_place(collective);
            bencher.iter(|| trncomm_core::bounds::bounds(&topology, goal, Bytes::new(16 << 20), 1).expect("bounds"));
        });
    }
    group.finish();
}
