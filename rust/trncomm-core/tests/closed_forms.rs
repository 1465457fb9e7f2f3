//! Where nothing contends, simulated times are the closed forms, to the picosecond.

use std::collections::BTreeMap;

use trncomm_core::algorithm;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Control, Model};
use trncomm_core::ids::RankId;
use trncomm_core::result::SimulationResult;
use trncomm_core::topology::{LinkSpec, PacketFormat, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

const LATENCY: Time = Time::from_picoseconds(700_001);

fn link() -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(99_999_999_977).expect("above zero"),
        latency: LATENCY,
    }
}

fn run(topology: &Topology, collective: Collective, name: &str, size: u64, model: Model) -> SimulationResult {
    let schedule = algorithm::build(topology, collective, name, RankId::new(0), BTreeMap::new()).expect("a schedule");
    SimulationResult::of(topology, &schedule, Bytes::new(size), 1, model, &mut |_| {
        Control::Continue
    })
    .expect("a result")
}

/// One packet a message, so that the packet model rounds once a message as the closed form does.
fn whole_messages(topology: Topology) -> Topology {
    let format = PacketFormat::new(Bytes::new(1 << 40), Bytes::ZERO).expect("a format");
    topology.with_packet_format(format)
}

#[test]
fn ring_collectives_take_their_closed_form_where_the_size_divides() {
    for ranks in [1, 2, 3, 5, 7, 12, 96, 144] {
        let topology = whole_messages(Topology::ring(ranks, link()).expect("a ring"));
        for block in [0, 1, 4096, 7_456_541] {
            let step = LATENCY + link().bandwidth.serialization(Bytes::new(block));
            let steps = ranks as u64 - 1;
            for model in Model::ALL {
                for (collective, rounds) in [
                    (Collective::AllReduce, 2),
                    (Collective::ReduceScatter, 1),
                    (Collective::AllGather, 1),
                ] {
                    let result = run(&topology, collective, "ring", block * ranks as u64, model);
                    assert_eq!(
                        result.time(),
                        step.checked_mul(rounds * steps).expect("short"),
                        "{collective} {ranks} {block} {model}"
                    );
                }
            }
        }
    }
}
