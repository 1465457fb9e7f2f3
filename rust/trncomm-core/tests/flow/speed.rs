//! How long runs take; prints, and claims nothing about time.

use std::collections::BTreeMap;
use std::time::Instant;

use trncomm_core::algorithm;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Control, Flow, FlowOptions, Untracked, run};
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Code, Layout};
use trncomm_core::topology::Topology;
use trncomm_core::units::Bytes;

use crate::link;

fn time(what: &str, topology: &Topology, collective: Collective, name: &str, chunk: u64) {
    let began = Instant::now();
    let root = RankId::from(0);
    let schedule = algorithm::build(topology, collective, name, root, BTreeMap::new()).expect("an algorithm");
    let size = Bytes::new(chunk * schedule.chunks());
    let layout = Layout::new(size, 1, schedule.chunks()).expect("whole elements");
    let code = Code::new(&schedule, layout).expect("the layout is the schedule's");
    let network = Flow::new(topology, FlowOptions::default());
    let outcome = run(&code, topology.endpoint(), network, Untracked, &mut |_| {
        Control::Continue
    })
    .expect("a run");
    let finish = outcome.finish.iter().max().expect("ranks");
    println!(
        "{what:28} {:>5} ranks {:>9} messages {:>10} events {finish:>14} simulated {:8.3} s",
        topology.ranks(),
        outcome.messages,
        outcome.traffic.events,
        began.elapsed().as_secs_f64()
    );
}

#[test]
#[ignore = "prints timings; run with --release -- --ignored --nocapture"]
fn flow_speed() {
    let mut cases = 0;
    let only = std::env::var("FLOW_SPEED").unwrap_or_default();
    let mut case = |what: &str, topology: Topology, collective, name| {
        if what.contains(&only) {
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
    for ranks in [144, 512, 1024] {
        case("star pairwise", star(ranks), Collective::AllToAll, "pairwise");
    }
    for sides in [&[4, 4, 4][..], &[12, 12], &[8, 8, 8]] {
        case("torus ring", torus(sides), Collective::AllReduce, "ring");
        case("torus pairwise", torus(sides), Collective::AllToAll, "pairwise");
    }
    assert_eq!(cases, 22);
}
