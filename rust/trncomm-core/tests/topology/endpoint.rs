//! Costs at the chips: what was set is what is read back, and jitter is a pure, even, bounded draw.

use std::num::{NonZeroU8, NonZeroU32};

use trncomm_core::topology::{Arbitration, Endpoint, Fabric, Forwarding, Policy, Queueing, Topology, Touches};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use super::spec;

#[test]
fn a_free_endpoint_has_no_limits() {
    let free = Endpoint::free();
    assert_eq!((free.queues(), free.memory(), free.window()), (None, None, None));
    assert_eq!(free.most_jitter(), Time::ZERO);
}

#[test]
fn each_cost_of_an_endpoint_is_set_by_itself() {
    let queues = NonZeroU32::new(16).expect("not zero");
    let rate = Bandwidth::new(2_900_000_000_000).expect("not zero");
    let touches = Touches {
        read: 1,
        write: 2,
        reduce: 3,
    };
    let with = |endpoint: Endpoint| {
        (
            endpoint.queues(),
            endpoint.memory(),
            endpoint.touches(),
            endpoint.window(),
        )
    };
    let (free, one) = (Endpoint::free(), Touches::ONE_EACH);
    assert_eq!(with(free.with_queues(queues)), (Some(queues), None, one, None));
    assert_eq!(with(free.with_memory(rate, touches)), (None, Some(rate), touches, None));
    let window = Bytes::new(1 << 20);
    assert_eq!(with(free.with_window(window)), (None, None, one, Some(window)));
}

#[test]
fn a_launch_without_jitter_is_not_lengthened() {
    let endpoint = Endpoint::free().with_jitter(Time::ZERO, 7);
    assert_eq!(endpoint.jitter(3, 4), Time::ZERO);
}

#[test]
fn jitter_takes_every_value_up_to_its_bound_about_as_often() {
    let endpoint = Endpoint::free().with_jitter(Time::from_picoseconds(9), 2026);
    let mut counts = [0_u32; 10];
    for rank in 0..100 {
        for number in 0..100 {
            // Past 9 this would be out of range.
            counts[usize::try_from(endpoint.jitter(rank, number).picoseconds()).expect("small")] += 1;
        }
    }
    // 1000 are expected of each, with a standard deviation of 30: five of them.
    assert!(counts.iter().all(|&count| (850..=1150).contains(&count)), "{counts:?}");
}

#[test]
fn jitter_depends_on_seed_rank_and_number() {
    let draw = |seed, rank, number| {
        Endpoint::free()
            .with_jitter(Time::from_picoseconds(u64::MAX), seed)
            .jitter(rank, number)
    };
    let drawn = draw(1, 2, 3);
    assert_eq!(drawn, draw(1, 2, 3));
    for other in [
        draw(2, 2, 3),
        draw(1, 3, 3),
        draw(1, 2, 4),
        draw(1, 3, 2),
        draw(2, 1, 3),
    ] {
        assert_ne!(drawn, other);
    }
}

#[test]
fn a_fabric_is_unlimited_and_fixed_unless_set() {
    let topology = Topology::ring(4, spec(64, 500)).expect("a ring");
    let fabric = topology.fabric();
    assert_eq!((fabric.buffer(), fabric.virtual_channels()), (None, 1));
    assert_eq!(fabric.arbitration(), Arbitration::FirstCome);
    assert_eq!(fabric.queueing(), Queueing::VirtualOutput);
    assert_eq!(fabric.forwarding(), Forwarding::StoreAndForward);
    assert_eq!(fabric.policy(), Policy::Fixed);
}

#[test]
fn a_topology_keeps_the_fabric_that_it_is_given() {
    let fabric = Fabric::default()
        .with_buffer(Bytes::new(65_536))
        .with_virtual_channels(NonZeroU8::new(2).expect("not zero"))
        .with_arbitration(Arbitration::RoundRobin)
        .with_queueing(Queueing::Input)
        .with_forwarding(Forwarding::CutThrough)
        .with_policy(Policy::FlowHash { seed: 5 });
    let topology = Topology::ring(4, spec(64, 500)).expect("a ring").with_fabric(fabric);
    let kept = topology.fabric();
    assert_eq!((kept.buffer(), kept.virtual_channels()), (Some(Bytes::new(65_536)), 2));
    assert_eq!(kept.arbitration(), Arbitration::RoundRobin);
    assert_eq!(kept.queueing(), Queueing::Input);
    assert_eq!(kept.forwarding(), Forwarding::CutThrough);
    assert_eq!(kept.policy(), Policy::FlowHash { seed: 5 });
}
