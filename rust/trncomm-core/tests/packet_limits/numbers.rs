//! Whatever the settings, a run comes to a result or to an error that names what is wrong; it never panics.

use std::num::{NonZeroU8, NonZeroU32};

use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::engine::{Control, Model, simulate};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::LinkId;
use trncomm_core::schedule::Schedule;
use trncomm_core::topology::{Endpoint, Fabric, Fault, LinkInput, Topology, Touches};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use crate::common::cases;
use crate::common::networks::{fabric, packet_format, topology};
use crate::common::traffic::traffic;

/// Sizes, rates, latencies and limits at and around the ends of numbers.
const EXTREMES: [u64; 10] = [
    0,
    1,
    2,
    4096,
    u32::MAX as u64,
    1 << 32,
    1 << 50,
    (1 << 62) - 1,
    1 << 63,
    u64::MAX,
];

fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![3 => any::<Index>().prop_map(|choice| *choice.get(&EXTREMES)), 1 => any::<u64>()]
}

fn bandwidth(rate: u64) -> Bandwidth {
    Bandwidth::new(rate.max(1)).expect("above zero")
}

fn result(topology: &Topology, schedule: &Schedule, size: u64) -> Result<Time, SimulationError> {
    let outcome = simulate(topology, schedule, Bytes::new(size), 1, Model::Packet, &mut |_| {
        Control::Continue
    })?;
    Ok(outcome.finish.into_iter().max().expect("ranks"))
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn any_limits_come_to_a_result_or_an_error(
        (topology, traffic) in topology().prop_flat_map(|topology| {
            let ranks = topology.ranks();
            (Just(topology), traffic(ranks))
        }),
        fabric in fabric(1),
        (rates, latency) in ([extreme(), extreme()], extreme()),
        (size, pieces, header) in (extreme(), 1..64_u64, prop_oneof![2 => Just(0), 1 => Just(1), 1 => extreme()]),
        (buffer, channels) in (prop::option::of(extreme()), any::<NonZeroU8>()),
        (window, queues) in (prop::option::of(extreme()), prop::option::of(any::<NonZeroU32>())),
        (memory, touches) in (prop::option::of(extreme()), [extreme(), extreme(), extreme()]),
        (errors, erring) in (prop::option::of(prop_oneof![Just(1e-18), Just(1e-9), Just(0.999), 0.0..1.0]), any::<Index>()),
    ) {
        // The same graph, with links that are extreme.
        let links: Vec<LinkInput> = topology.sources().iter().zip(topology.destinations()).enumerate()
            .map(|(index, (source, destination))| LinkInput {
                source: source.get().into(),
                destination: destination.get().into(),
                bandwidth: rates[index % 2].max(1),
                latency,
                tier: "link".to_owned(),
            })
            .collect();
        let switches = topology.nodes() - topology.ranks();
        let topology = Topology::from_links(topology.ranks(), switches, &links).expect("the same graph");
        // Few packets, so that a run is short.
        let payload = (size / pieces).max(1);
        let header = header.min(u64::MAX - payload);
        let mut fabric = fabric.with_virtual_channels(channels);
        if let Some(buffer) = buffer {
            fabric = fabric.with_buffer(Bytes::new(buffer));
        }
        let mut endpoint = Endpoint::free();
        if let Some(window) = window {
            endpoint = endpoint.with_window(Bytes::new(window));
        }
        if let Some(queues) = queues {
            endpoint = endpoint.with_queues(queues);
        }
        if let Some(rate) = memory {
            let [read, write, reduce] = touches.map(|touches| u32::try_from(touches).unwrap_or(u32::MAX));
            endpoint = endpoint.with_memory(bandwidth(rate), Touches { read, write, reduce });
        }
        let mut topology = topology
            .with_packet_format(packet_format(payload, header))
            .with_endpoint(endpoint)
            .with_fabric(fabric);
        if let (Some(bit_error_rate), true) = (errors, topology.links() > 0) {
            let link = LinkId::new(erring.index(topology.links()));
            topology = topology.with_faults(&[Fault::LinkErrors { link, bit_error_rate }]).expect("a share of bits");
        }
        match result(&topology, &traffic.schedule(), size) {
            Ok(time) => prop_assert!(time < Time::from_picoseconds(1 << 63)),
            Err(error) => prop_assert!(
                matches!(
                    error,
                    SimulationError::TooLong { .. }
                        | SimulationError::Unit(_)
                        | SimulationError::Option { .. }
                        | SimulationError::Deadlock { .. }
                ),
                "{}", error
            ),
        }
    }
}

#[test]
fn many_virtual_channels_take_no_more_memory_than_those_in_use() {
    let link = crate::drive::spec(0);
    // A table of all inputs and channels at all outputs would have 255 · 4096² entries.
    let switch = Topology::switch(4096, 1, link).expect("a switch").with_fabric(
        Fabric::default()
            .with_virtual_channels(NonZeroU8::MAX)
            .with_arbitration(trncomm_core::topology::Arbitration::RoundRobin),
    );
    let run = crate::drive::deliver(&switch, &[crate::drive::post(0, 0, 1, 10)]);
    assert_eq!(run.time(), 20);
}

#[test]
fn a_buffer_smaller_than_a_packet_is_an_error_that_says_so() {
    let ring = Topology::ring(3, crate::drive::spec(0))
        .expect("a ring")
        .with_packet_format(packet_format(100, 28))
        .with_fabric(Fabric::default().with_buffer(Bytes::new(127)));
    let error = trncomm_core::engine::Switched::new(&ring).expect_err("127 bytes hold no packet of 128");
    assert_eq!(
        error.to_string(),
        "buffer must be at least a full packet of 128 B, got 127 B"
    );
}

#[test]
fn a_window_over_long_links_ends_or_is_refused() {
    // Every packet waits for two latencies of 2^59 ps: more than ten of them pass the end of time.
    let topology = Topology::ring(2, crate::drive::spec(1 << 59))
        .expect("a pair")
        .with_packet_format(packet_format(1, 0))
        .with_endpoint(Endpoint::free().with_window(Bytes::new(1)));
    let mut results = Vec::new();
    for bytes in [1, 2, 100] {
        let mut network = trncomm_core::engine::Switched::new(&topology).expect("settings that fit");
        let (from, to) = (trncomm_core::ids::RankId::new(0), trncomm_core::ids::RankId::new(1));
        results.push(
            trncomm_core::engine::Network::post(&mut network, Time::ZERO, 0, from, to, Bytes::new(bytes)).is_ok(),
        );
    }
    assert_eq!(results, [true, true, false]);
}
