//! The full packet model agrees, to the picosecond, with a slow simulator that is plain enough to be read as the rules.

#[path = "../common/mod.rs"]
mod common;
mod plain;

use common::networks::{settings, topology};
use common::traffic::{Job, collective_job, collective_job_over, in_full, traffic_job, traffic_job_over};
use common::{cases, outcome_on};
use plain::Plain;
use proptest::prelude::*;
use trncomm_core::engine::{Network, Switched, Traffic};
use trncomm_core::error::SimulationError;
use trncomm_core::topology::Topology;
use trncomm_core::units::Time;

/// What a run came to, or when it stopped and how many ranks waited.
#[derive(Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // one of a test's two results at a time
enum End {
    Finished {
        finish: Vec<Time>,
        messages: u64,
        sent: Vec<u64>,
        unreceived: Option<(u32, u32, u32)>,
        traffic: Traffic,
    },
    Deadlocked {
        time_ps: u64,
        waiting: usize,
    },
}

fn end<N: Network>(job: &Job, network: N) -> End {
    match outcome_on(&job.topology, &job.schedule, job.size, job.element, network) {
        Ok(outcome) => End::Finished {
            finish: outcome.finish,
            messages: outcome.messages,
            sent: outcome.sent,
            unreceived: outcome.unreceived,
            traffic: Traffic {
                // How many events it takes is the engine's own affair.
                events: 0,
                ..outcome.traffic
            },
        },
        Err(SimulationError::Deadlock { time_ps, waiting, .. }) => End::Deadlocked { time_ps, waiting },
        Err(error) => panic!("{error}"),
    }
}

fn check(job: &Job) -> Result<(), TestCaseError> {
    let expected = end(job, Plain::new(&job.topology));
    let network = Switched::new(&job.topology).expect("a buffer that holds a packet");
    prop_assert_eq!(end(job, network), expected);
    Ok(())
}

/// Shapes on whose links packets meet and wait, and close circles.
fn crowded() -> impl Strategy<Value = Topology> {
    use common::networks::link;
    prop_oneof![
        (4..=7_usize).prop_map(|ranks| Topology::ring(ranks, link(1_000_000_000_000, 1000))),
        Just(Topology::torus(&[3, 4], &[link(1_000_000_000_000, 500)])),
        (2..=9_usize, 1..=3_usize).prop_map(|(ranks, planes)| Topology::switch(
            ranks,
            planes,
            link(500_000_000_000, 0)
        )),
        (2..=3_usize, 2..=3_usize, 1..=3_usize).prop_map(|(leaves, each, spines)| Topology::leaf_spine(
            leaves,
            each,
            spines,
            link(1_000_000_000_000, 1000),
            link(500_000_000_000, 10)
        )),
    ]
    .prop_map(|built| built.expect("a small shape"))
}

proptest! {
    #![proptest_config(cases(2500))]

    #[test]
    fn collectives_take_the_times_of_the_plain_simulator(job in in_full(collective_job())) {
        check(&job)?;
    }

    #[test]
    fn traffic_of_any_kind_takes_the_times_of_the_plain_simulator(job in in_full(traffic_job())) {
        check(&job)?;
    }

    #[test]
    fn collectives_in_a_crowd_take_the_times_of_the_plain_simulator(
        job in in_full(collective_job_over(settings(crowded())))
    ) {
        check(&job)?;
    }

    #[test]
    fn traffic_in_a_crowd_takes_the_times_of_the_plain_simulator(
        job in in_full(traffic_job_over(settings(crowded())))
    ) {
        check(&job)?;
    }

    #[test]
    fn traffic_without_settings_takes_the_times_of_the_plain_simulator(job in in_full(traffic_job_over(topology()))) {
        check(&job)?;
    }
}
