use std::collections::BTreeMap;
use trncomm_core::algorithm;
use trncomm_core::collective::Collective;
use trncomm_core::engine::*;
use trncomm_core::ids::RankId;
use trncomm_core::schedule::*;
use trncomm_core::topology::*;
use trncomm_core::units::{Bandwidth, Bytes, Time};
struct Cpu(f64);
fn cpu() -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e9
}
impl Cpu {
    fn now() -> Self {
        Cpu(cpu())
    }
    fn secs(&self) -> f64 {
        cpu() - self.0
    }
}

fn main() {
    let l = |gb: u64| LinkSpec {
        bandwidth: Bandwidth::new(gb * 1_000_000_000).unwrap(),
        latency: Time::from_picoseconds(125_000),
    };
    for (name, t) in [
        ("switch144", Topology::switch(144, 1, l(256)).unwrap()),
        (
            "us144",
            Topology::ultraserver(2, 18, 4, l(256), l(320), l(128)).unwrap(),
        ),
        ("torus", Topology::torus(&[4, 6, 6], &[l(100)]).unwrap()),
        ("ls", Topology::leaf_spine(12, 12, 6, l(100), l(100)).unwrap()),
        ("switch1024", Topology::switch(1024, 1, l(256)).unwrap()),
    ] {
        for alg in ["direct", "pairwise"] {
            let s = algorithm::build(&t, Collective::AllToAll, alg, RankId::new(0), BTreeMap::new()).unwrap();
            let size = Bytes::new(t.ranks() as u64 * if t.ranks() > 200 { 4 } else { 128 } * 4096 - 7);
            let code = Code::new(&s, Layout::new(size, 1, s.chunks()).unwrap()).unwrap();
            let t0 = Cpu::now();
            let o = run(&code, t.endpoint(), Packet::new(&t).unwrap(), Untracked, &mut |_| {
                Control::Continue
            })
            .unwrap();
            let dt = t0.secs();
            println!(
                "{name} {alg} fast: {:.3} s {} hops {:.1} M/s events {}",
                dt,
                o.traffic.packet_hops,
                o.traffic.packet_hops as f64 / dt / 1e6,
                o.traffic.events
            );
            let fast = o.finish.clone();
            let t0 = Cpu::now();
            let o = run(&code, t.endpoint(), Switched::new(&t).unwrap(), Untracked, &mut |_| {
                Control::Continue
            })
            .unwrap();
            let dt = t0.secs();
            println!(
                "  switched FCFS unlimited: {:.3} s {:.1} M/s events {} equal {}",
                dt,
                o.traffic.packet_hops as f64 / dt / 1e6,
                o.traffic.events,
                o.finish == fast
            );
            for (n, arb, fwd) in [
                ("rr", Arbitration::RoundRobin, Forwarding::StoreAndForward),
                ("fcfs", Arbitration::FirstCome, Forwarding::StoreAndForward),
                ("rr ct", Arbitration::RoundRobin, Forwarding::CutThrough),
            ] {
                let t2 = t.clone().with_fabric(
                    Fabric::default()
                        .with_buffer(Bytes::new(64 * 4096))
                        .with_arbitration(arb)
                        .with_forwarding(fwd),
                );
                let t0 = Cpu::now();
                match run(
                    &code,
                    t2.endpoint(),
                    Switched::new(&t2).unwrap(),
                    Untracked,
                    &mut |_| Control::Continue,
                ) {
                    Ok(o) => {
                        let dt = t0.secs();
                        println!(
                            "  switched {n} 64 packets: {:.3} s {:.1} M/s events {} time {} vs {}",
                            dt,
                            o.traffic.packet_hops as f64 / dt / 1e6,
                            o.traffic.events,
                            o.finish.iter().max().unwrap(),
                            fast.iter().max().unwrap()
                        );
                    }
                    Err(e) => println!("  {e}"),
                }
            }
        }
    }
}
