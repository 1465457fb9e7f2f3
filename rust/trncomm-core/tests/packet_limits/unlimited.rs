//! Limits that don't bite change nothing.

use proptest::prelude::*;
use trncomm_core::engine::{Packet, Switched};
use trncomm_core::topology::{Arbitration, Endpoint, Fabric, Forwarding, Policy, Topology};
use trncomm_core::units::Bytes;

use crate::common::traffic::{Job, collective_job, in_full, traffic_job};
use crate::common::{cases, run_on};

/// A job that the model without limits serves: with memory, queues, jitter and faults, fixed routes or hashed ones, stored or
/// cut through.
fn plain_job() -> impl Strategy<Value = Job> {
    let job = in_full(prop_oneof![collective_job(), traffic_job()]);
    (job, any::<u64>(), any::<bool>()).prop_map(|(job, seed, hashed)| {
        let policy = if hashed {
            Policy::FlowHash { seed }
        } else {
            Policy::Fixed
        };
        let fabric = Fabric::default()
            .with_forwarding(job.topology.fabric().forwarding())
            .with_policy(policy);
        Job {
            topology: without_window(&job.topology).with_fabric(fabric),
            ..job
        }
    })
}

fn without_window(topology: &Topology) -> Topology {
    let old = topology.endpoint();
    let mut endpoint = Endpoint::free()
        .with_launch(old.launch())
        .with_completion(old.completion());
    if let Some(rate) = old.reduction() {
        endpoint = endpoint.with_reduction(rate);
    }
    if let Some(rate) = old.copy() {
        endpoint = endpoint.with_copy(rate);
    }
    if let Some(queues) = old.queues() {
        endpoint = endpoint.with_queues(queues);
    }
    if let Some(rate) = old.memory() {
        endpoint = endpoint.with_memory(rate, old.touches());
    }
    topology.clone().with_endpoint(endpoint)
}

/// The same as without limits where the fabric has these.
fn check(job: &Job, limits: impl Fn(Fabric) -> Fabric) -> Result<(), TestCaseError> {
    let Job {
        topology,
        schedule,
        size,
        element,
    } = job;
    prop_assert!(Packet::serves(topology));
    let plain = Packet::new(topology).expect("rates that fit");
    let expected = run_on(topology, schedule, *size, *element, plain);
    let limited = topology.clone().with_fabric(limits(*topology.fabric()));
    let full = Switched::new(&limited).expect("a buffer that holds a packet");
    // Deadlocks of the schedule are told in the same words.
    prop_assert_eq!(run_on(&limited, schedule, *size, *element, full), expected);
    Ok(())
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn without_limits_both_models_take_the_same_times(job in plain_job()) {
        check(&job, |fabric| fabric)?;
    }

    #[test]
    fn buffers_that_never_fill_take_the_times_of_none(job in plain_job()) {
        // All that is ever sent: 40 messages, or a few a pair, of at most 21 packets each.
        let packet = job.topology.packet_format().payload().get() + job.topology.packet_format().header().get();
        check(&job, |fabric| fabric.with_buffer(Bytes::new(packet.saturating_mul(100_000))))?;
        check(&job, |fabric| fabric.with_buffer(Bytes::new(u64::MAX)))?;
    }

    #[test]
    fn virtual_channels_without_buffers_change_no_time(job in plain_job()) {
        let two = 2.try_into().expect("above zero");
        // Two channels may reach one output at one instant by one port only where packets have no bytes.
        check(&job, |fabric| fabric.with_virtual_channels(two))?;
    }
}

#[test]
fn the_model_without_limits_serves_no_turns() {
    let topology = Topology::ring(3, crate::drive::spec(0)).expect("a ring");
    assert!(Packet::serves(&topology));
    let turns = Fabric::default().with_arbitration(Arbitration::RoundRobin);
    assert!(!Packet::serves(&topology.clone().with_fabric(turns)));
    let cut = Fabric::default().with_forwarding(Forwarding::CutThrough);
    assert!(Packet::serves(&topology.with_fabric(cut)));
}
