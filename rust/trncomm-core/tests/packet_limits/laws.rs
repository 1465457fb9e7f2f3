//! Laws that limits don't break.

use std::num::NonZeroU8;

use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::bounds::{Contention, tightest};
use trncomm_core::collective::Collective;
use trncomm_core::error::SimulationError;
use trncomm_core::schedule::Layout;
use trncomm_core::topology::{Fabric, Policy, Topology};
use trncomm_core::units::{Bytes, Time};

use crate::common::networks::{fabric, link, more_settings, packet_format, settings, topology};
use crate::common::symmetry::{Symmetric, rotate, symmetric};
use crate::common::traffic::{CHUNKS, Job, Traffic, collective_job, in_full, sized, traffic, traffic_job};
use crate::common::{build, cases, outcome_on};
use crate::drive::{Audited, check_nodes};

/// When each rank ended, or when all stopped.
fn ends(topology: &Topology, job: &Job) -> Result<Vec<Time>, u64> {
    let network = Audited::new(topology).expect("settings that fit");
    match outcome_on(topology, &job.schedule, job.size, job.element, network) {
        Ok(outcome) => Ok(outcome.finish),
        Err(SimulationError::Deadlock { time_ps, .. }) => Err(time_ps),
        Err(error) => panic!("{error}"),
    }
}

fn traffic_in_full() -> impl Strategy<Value = (Job, Traffic)> {
    settings(topology())
        .prop_flat_map(|topology| {
            let ranks = topology.ranks();
            (sized(topology), traffic(ranks))
        })
        .prop_flat_map(|((topology, size, element), traffic)| {
            let job = Job {
                schedule: traffic.schedule(),
                topology,
                size,
                element,
            };
            (in_full(Just(job)), Just(traffic))
        })
}

/// A symmetric topology with any limits, or a switch with planes over which packets spread.
fn symmetric_in_full() -> impl Strategy<Value = Symmetric> {
    let planes = (2..=8_usize, 1..=3_usize, any::<bool>()).prop_map(|(ranks, planes, adaptive)| {
        let policy = if adaptive { Policy::Adaptive } else { Policy::Spray };
        let topology = Topology::switch(ranks, planes, link(1_000_000_000_000, 1000)).expect("a switch");
        (
            Symmetric {
                topology,
                extents: vec![ranks],
            },
            Some(policy),
        )
    });
    // Turns pass from one group of ports to the next by number, which shapes with several groups notice.
    let plain = symmetric()
        .prop_filter("ports of one group", |symmetric| {
            !["leaf_spine", "ultraserver"].contains(&symmetric.topology.name())
        })
        .prop_map(|symmetric| (symmetric, None));
    (prop_oneof![2 => plain, 1 => planes], 1..2000_u64, 0..3_u64)
        .prop_flat_map(|((symmetric, policy), payload, header)| {
            let view = symmetric
                .topology
                .clone()
                .with_packet_format(packet_format(payload, header));
            (
                more_settings(Just(view)),
                fabric(payload + header),
                Just(symmetric.extents),
                Just(policy),
            )
        })
        .prop_map(|(topology, fabric, extents, policy)| {
            // The hash of a pair, and jitter, are anything but symmetric; a dateline is a place on a ring.
            let endpoint = topology.endpoint().with_jitter(Time::ZERO, 0);
            let fabric = fabric
                .with_policy(policy.unwrap_or(Policy::Fixed))
                .with_virtual_channels(NonZeroU8::MIN);
            Symmetric {
                topology: topology.with_endpoint(endpoint).with_fabric(fabric),
                extents,
            }
        })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn what_goes_into_a_node_comes_out_and_all_credits_return((job, traffic) in traffic_in_full()) {
        let Job { topology, schedule, size, element } = &job;
        let network = Audited::new(topology).expect("settings that fit");
        let outcome = match outcome_on(topology, schedule, *size, *element, network) {
            Ok(outcome) => outcome,
            Err(SimulationError::Deadlock { .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let layout = Layout::new(Bytes::new(*size), *element, CHUNKS).expect("whole elements");
        let messages = traffic
            .messages()
            .map(|(from, to, (first, count))| (from as usize, to as usize, layout.bytes(first, count).get()));
        check_nodes(topology, messages, &outcome.traffic).map_err(TestCaseError::fail)?;
        prop_assert_eq!(outcome.unreceived, None);
        let time = outcome.finish.iter().max().expect("ranks").picoseconds();
        for link in 0..topology.links() {
            let (busy, held) = (outcome.traffic.link_busy[link], outcome.traffic.link_held[link]);
            prop_assert!(busy + held <= time, "link {link} was busy for {busy} and held for {held} of {time} ps");
        }
        if let Some(buffer) = topology.fabric().buffer() {
            let channels = u128::from(topology.fabric().virtual_channels());
            let most = channels * u128::from(buffer.get());
            prop_assert!(outcome.traffic.buffer_peak.iter().all(|&peak| u128::from(peak) <= most));
        }
    }

    #[test]
    fn a_run_repeated_is_the_same_run(job in in_full(traffic_job())) {
        let run = || {
            let network = Audited::new(&job.topology).expect("settings that fit");
            format!("{:?}", outcome_on(&job.topology, &job.schedule, job.size, job.element, network))
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn no_limit_lets_a_run_beat_a_bound(job in in_full(collective_job())) {
        let Job { topology, schedule, size, element } = &job;
        if let Ok(finish) = ends(topology, &job) {
            let time = finish.into_iter().max().expect("ranks");
            let bound = tightest(topology, schedule.goal(), Bytes::new(*size), *element, Contention::Links).expect("a goal");
            prop_assert!(time >= bound.time, "took {time}, below {bound:?}");
        }
    }

    #[test]
    fn better_links_and_larger_buffers_never_slow_down_a_run_without_contention(
        choice in any::<Index>(),
        ranks in 1..=9_usize,
        (rate, more, latency, less) in (1_000_000_u64..2_000_000_000_000, 0..1_000_000_000_000_u64, 0..5000_u64, 0..5000_u64),
        (packets, more_packets) in (1..4_u64, 0..4_u64),
        size in 0..20_000_u64,
    ) {
        let chosen = [
            (Collective::AllReduce, "ring"),
            (Collective::AllReduce, "direct"),
            (Collective::AllToAll, "pairwise"),
            (Collective::Broadcast, "binomial"),
        ];
        let (collective, name) = *choice.get(&chosen);
        let mesh = |rate, latency, packets: u64| {
            Topology::fully_connected(ranks, link(rate, latency))
                .expect("a full mesh")
                .with_packet_format(packet_format(512, 0))
                .with_fabric(Fabric::default().with_buffer(Bytes::new(512 * packets)))
        };
        let slow = mesh(rate, latency, packets);
        let better = [
            mesh(rate + more, latency, packets),
            mesh(rate, latency.saturating_sub(less), packets),
            mesh(rate, latency, packets + more_packets),
        ];
        let schedule = build(&slow, collective, name, 0);
        let job = Job { topology: slow, schedule, size, element: 1 };
        let before = ends(&job.topology, &job).expect("one hop each");
        for topology in better {
            let after = ends(&topology, &job).expect("one hop each");
            for (before, after) in before.iter().zip(after) {
                prop_assert!(after <= *before, "{after} instead of {before}");
            }
        }
    }

    #[test]
    fn rotating_the_ranks_changes_no_time_under_any_limits(
        (symmetric, traffic) in symmetric_in_full().prop_flat_map(|symmetric| {
            let ranks = symmetric.topology.ranks();
            (Just(symmetric), traffic(ranks))
        }),
        steps in [0..12_usize, 0..12_usize, 0..12_usize],
        size in prop_oneof![0..100_u64, 0..5000_u64],
    ) {
        let Symmetric { topology, extents } = &symmetric;
        let name = |rank: u32| u32::try_from(rotate(rank as usize, extents, steps)).expect("a rank");
        let job = |traffic: &Traffic| Job { topology: topology.clone(), schedule: traffic.schedule(), size, element: 1 };
        let before = ends(topology, &job(&traffic));
        let after = ends(topology, &job(&traffic.renamed(name)));
        let renamed = before.map(|finish| {
            let mut renamed = finish.clone();
            (0..).zip(finish).for_each(|(rank, time)| renamed[name(rank) as usize] = time);
            renamed
        });
        prop_assert_eq!(renamed, after);
    }
}
