//! A leap changes nothing but the cost of a run.

mod common;

use common::networks::link;
use common::shapes::networks;
use common::traffic::fitting;
use common::{build, cases};
use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Control, Model, Options, Outcome, Untracked, simulate};
use trncomm_core::schedule::Schedule;
use trncomm_core::topology::{Endpoint, Topology};
use trncomm_core::units::{Bytes, Time};

fn run(topology: &Topology, schedule: &Schedule, size: u64, options: Options) -> Outcome<Untracked> {
    let outcome = simulate(topology, schedule, Bytes::new(size), 1, options, &mut |_| {
        Control::Continue
    });
    outcome.expect("a run that ends")
}

/// Runs with and without, on every rank and on representatives; compares all but the events, and returns the run of every
/// rank that leapt.
fn compare(
    topology: &Topology,
    schedule: &Schedule,
    size: u64,
    model: Model,
) -> Result<Outcome<Untracked>, TestCaseError> {
    let way = |fold, leap| {
        let options = Options::from(model).with_fold(fold).with_leap(leap);
        run(topology, schedule, size, options)
    };
    let plain = way(false, false);
    prop_assert_eq!(plain.leapt.leaps, 0);
    let mut leapt = None;
    for (fold, leap) in [(false, true), (true, false), (true, true)] {
        let other = way(fold, leap);
        prop_assert_eq!(
            &other.finish,
            &plain.finish,
            "{} fold {}, leap {}, {:?}",
            schedule.name(),
            fold,
            leap,
            other.leapt
        );
        prop_assert_eq!(&other.sent, &plain.sent);
        prop_assert_eq!(other.messages, plain.messages);
        prop_assert_eq!(other.unreceived, plain.unreceived);
        prop_assert_eq!(&other.latencies, &plain.latencies);
        prop_assert_eq!(&other.traffic.link_bytes, &plain.traffic.link_bytes);
        prop_assert_eq!(&other.traffic.link_busy, &plain.traffic.link_busy);
        prop_assert_eq!(other.traffic.packet_hops, plain.traffic.packet_hops);
        if !fold {
            leapt = Some(other);
        }
    }
    Ok(leapt.expect("one of the three"))
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_run_that_leaps_is_the_whole_run(
        topology in networks(),
        (choice, root) in (any::<Index>(), any::<Index>()),
        each in prop_oneof![Just(0_u64), Just(1), 2..5000_u64],
        uneven in prop::option::weighted(0.2, 1..50_u64),
        times in prop_oneof![Just(1_u64), 2..60_u64],
    ) {
        let pairs: Vec<(Collective, &str)> = Collective::ALL
            .into_iter()
            .flat_map(|collective| fitting(collective).map(move |name| (collective, name)))
            .collect();
        let (collective, name) = *choice.get(&pairs);
        let root = if collective.has_root() { root.index(topology.ranks()) } else { 0 };
        let schedule = build(&topology, collective, name, u32::try_from(root).expect("a rank"));
        // Again and again, where loops don't lie too deep already.
        let schedule = schedule.repeat(times).unwrap_or(schedule);
        let size = each * schedule.chunks() + uneven.unwrap_or(0);
        for model in [Model::Flow, Model::Packet] {
            compare(&topology, &schedule, size, model)?;
        }
    }
}

/// The run of every rank that leaps, checked against the others.
fn leaping(topology: &Topology, schedule: &Schedule, size: u64, model: Model) -> Outcome<Untracked> {
    compare(topology, schedule, size, model).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_ring_leaps_over_most_of_its_steps() {
    let costs = Endpoint::free().with_launch(Time::from_picoseconds(1_300));
    let ring = Topology::ring(144, link(100_000_000_000, 500))
        .expect("a ring")
        .with_endpoint(costs);
    let schedule = build(&ring, Collective::AllReduce, "ring", 0);
    for model in [Model::Flow, Model::Packet] {
        let outcome = leaping(&ring, &schedule, 144 * 1000, model);
        let all = outcome.messages * 2;
        assert!(
            outcome.leapt.instructions * 10 > all * 9,
            "{:?} of {all} in {model}",
            outcome.leapt
        );
    }
}
