//! What an explanation of a run says: a chain without gaps, whose parts are the whole time.

mod common;

use common::networks::link;
use common::traffic::{Job, collective_job, in_full, traffic_job};
use common::{build, cases};
use proptest::prelude::*;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Cause, Control, Model, Work, simulate};
use trncomm_core::ids::RankId;
use trncomm_core::result::{Explanation, Part};
use trncomm_core::schedule::Schedule;
use trncomm_core::topology::{Endpoint, Fault, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

fn explain(topology: &Topology, schedule: &Schedule, size: u64, element: u64, model: Model) -> Explanation {
    let explanation = Explanation::of(topology, schedule, Bytes::new(size), element, model, &mut |_| {
        Control::Continue
    });
    explanation.expect("a run that ends")
}

fn part(explanation: &Explanation, part: Part) -> u64 {
    explanation.total()[part as usize].picoseconds()
}

fn check(job: &Job) -> Result<(), TestCaseError> {
    for model in Model::ALL {
        let run = simulate(
            &job.topology,
            &job.schedule,
            Bytes::new(job.size),
            job.element,
            model,
            &mut |_| Control::Continue,
        );
        // A buffer smaller than a packet and a network that stands still are refused by both in the same words.
        let Ok(run) = run else { continue };
        let explanation = explain(&job.topology, &job.schedule, job.size, job.element, model);
        let time = run.finish.iter().max().copied().unwrap_or_default();
        prop_assert_eq!(explanation.time(), time);
        let total: u64 = explanation.total().iter().map(|part| part.picoseconds()).sum();
        prop_assert_eq!(total, time.picoseconds(), "the parts are not the whole under {}", model);
        let chain = explanation.chain();
        prop_assert!(
            chain.windows(2).all(|pair| pair[0].end == pair[1].begin),
            "the chain has a gap"
        );
        prop_assert!(chain.iter().all(|link| link.begin <= link.end));
        if let Some(last) = chain.last() {
            prop_assert_eq!(last.end, time);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_parts_are_the_whole_of_a_collective(job in in_full(collective_job())) {
        check(&job)?;
    }

    #[test]
    fn the_parts_are_the_whole_of_any_traffic(job in in_full(traffic_job())) {
        check(&job)?;
    }
}

#[test]
fn a_ring_spends_its_steps_on_launches_bytes_and_latency() {
    let ranks = 7;
    let endpoint = Endpoint::free()
        .with_launch(Time::from_picoseconds(1_300_000))
        .with_completion(Time::from_picoseconds(20_000));
    let ring = Topology::ring(ranks, link(100_000_000_000, 500_000))
        .expect("a ring")
        .with_endpoint(endpoint);
    let schedule = build(&ring, Collective::AllReduce, "ring", 0);
    for model in Model::ALL {
        let explanation = explain(&ring, &schedule, 7_000_000, 1, model);
        let steps = 12;
        assert_eq!(explanation.chain().len(), steps);
        assert_eq!(part(&explanation, Part::Launch), 12 * 1_300_000);
        assert_eq!(part(&explanation, Part::Propagation), 12 * 500_000);
        assert_eq!(part(&explanation, Part::Contention), 0, "{model}");
        // A megabyte a step; a packet's time is rounded up.
        let serialisation = part(&explanation, Part::Serialisation);
        assert!(
            (12 * 10_000_000..=12 * 10_000_000 + 12 * 245).contains(&serialisation),
            "{serialisation}"
        );
        // The last message is complete at its destination after its sender counts as done.
        assert_eq!(part(&explanation, Part::Completion), 12 * 20_000);
    }
}

#[test]
fn an_incast_is_contention() {
    let switch = Topology::switch(5, 1, link(100_000_000_000, 0)).expect("a switch");
    let schedule = build(&switch, Collective::Gather, "linear", 0);
    let explanation = explain(&switch, &schedule, 5_000_000, 1, Model::Flow);
    assert_eq!(part(&explanation, Part::Serialisation), 10_000_000);
    assert_eq!(part(&explanation, Part::Contention), 30_000_000);
}

#[test]
fn the_chain_starts_with_the_rank_that_was_late() {
    let ring = Topology::ring(4, link(100_000_000_000, 0)).expect("a ring");
    let late = Fault::Late {
        rank: RankId::new(2),
        by: Time::from_picoseconds(1_000_000_000),
    };
    let view = ring.with_faults(&[late]).expect("a rank that is there");
    let schedule = build(&view, Collective::AllGather, "ring", 0);
    let explanation = explain(&view, &schedule, 4000, 1, Model::LogGp);
    assert_eq!(part(&explanation, Part::Late), 1_000_000_000);
    let Cause::Message { source, .. } = explanation.chain()[0].cause else {
        panic!("a chain of messages, got {:?}", explanation.chain()[0]);
    };
    assert_eq!(source, 2);
    assert_eq!(explanation.chain()[0].waited.picoseconds(), 1_000_000_000 + 10_000);
}

#[test]
fn reductions_that_take_time_are_parts_of_it() {
    let rate = Bandwidth::new(10_000_000_000).expect("above zero");
    let ring = Topology::ring(4, link(100_000_000_000, 0))
        .expect("a ring")
        .with_endpoint(Endpoint::free().with_reduction(rate));
    let schedule = build(&ring, Collective::ReduceScatter, "ring", 0);
    let explanation = explain(&ring, &schedule, 4_000_000, 1, Model::LogGp);
    assert_eq!(part(&explanation, Part::Reduction), 3 * 100_000_000);
    let work = explanation.chain().iter().filter(|link| {
        matches!(
            link.cause,
            Cause::Work {
                work: Work::Reduction,
                ..
            }
        )
    });
    assert_eq!(work.count(), 3);
}
