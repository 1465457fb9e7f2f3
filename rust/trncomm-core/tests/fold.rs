//! A fold changes nothing but the cost of a run.

mod common;

use common::networks::link;
use common::shapes::{cluster_links, fabric_links, networks};
use common::traffic::fitting;
use common::{build, cases};
use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Control, Model, Options, Outcome, Untracked, simulate};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::RankId;
use trncomm_core::schedule::Schedule;
use trncomm_core::topology::{Endpoint, Fault, Leaves, Topology};
use trncomm_core::units::{Bytes, Time};

fn run(topology: &Topology, schedule: &Schedule, size: u64, options: Options) -> Outcome<Untracked> {
    let outcome = simulate(topology, schedule, Bytes::new(size), 1, options, &mut |_| {
        Control::Continue
    });
    outcome.expect("a run that ends")
}

/// Runs both ways, compares all but the events, and says how many ranks the fold ran.
fn compare(topology: &Topology, schedule: &Schedule, size: u64, model: Model) -> Result<usize, TestCaseError> {
    let folded = run(topology, schedule, size, model.into());
    let whole = run(topology, schedule, size, Options::from(model).with_fold(false));
    prop_assert_eq!(whole.run.ranks, schedule.ranks());
    prop_assert_eq!(&folded.finish, &whole.finish);
    prop_assert_eq!(&folded.sent, &whole.sent);
    prop_assert_eq!(folded.messages, whole.messages);
    prop_assert_eq!(&folded.latencies, &whole.latencies);
    prop_assert_eq!(&folded.traffic.link_bytes, &whole.traffic.link_bytes);
    prop_assert_eq!(&folded.traffic.link_busy, &whole.traffic.link_busy);
    prop_assert_eq!(folded.traffic.packet_hops, whole.traffic.packet_hops);
    Ok(folded.run.ranks)
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn a_folded_run_is_the_whole_run(
        topology in networks(),
        (choice, root) in (any::<Index>(), any::<Index>()),
        each in prop_oneof![Just(0_u64), Just(1), 2..5000_u64],
        uneven in prop::option::weighted(0.2, 1..50_u64),
    ) {
        let pairs: Vec<(Collective, &str)> = Collective::ALL
            .into_iter()
            .flat_map(|collective| fitting(collective).map(move |name| (collective, name)))
            .collect();
        let (collective, name) = *choice.get(&pairs);
        let root = if collective.has_root() { root.index(topology.ranks()) } else { 0 };
        let schedule = build(&topology, collective, name, u32::try_from(root).expect("a rank"));
        let size = each * schedule.chunks() + uneven.unwrap_or(0);
        for model in Model::ALL {
            compare(&topology, &schedule, size, model)?;
        }
    }
}

fn ranks_run(topology: &Topology, collective: Collective, name: &str, model: Model) -> usize {
    let schedule = build(topology, collective, name, 0);
    compare(topology, &schedule, 24 * schedule.chunks(), model).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_ring_folds_to_one_rank() {
    let ring = Topology::ring(12, link(100_000_000_000, 500)).expect("a ring");
    for model in [Model::Flow, Model::Packet] {
        assert_eq!(ranks_run(&ring, Collective::AllReduce, "ring", model), 1);
        assert_eq!(ranks_run(&ring, Collective::AllToAll, "direct", model), 1);
    }
}

#[test]
fn chips_below_a_switch_fold_to_one() {
    let switch = Topology::switch(16, 2, link(100_000_000_000, 500)).expect("a switch");
    for (collective, name) in [
        (Collective::AllToAll, "direct"),
        (Collective::AllToAll, "pairwise"),
        (Collective::AllReduce, "ring"),
        (Collective::AllGather, "bruck"),
    ] {
        for model in [Model::Flow, Model::Packet] {
            assert_eq!(ranks_run(&switch, collective, name, model), 1, "{name} {model}");
        }
    }
}

#[test]
fn exclusive_or_folds_where_links_are_shared() {
    let switch = Topology::switch(16, 1, link(100_000_000_000, 500)).expect("a switch");
    let name = "recursive_halving_doubling";
    assert_eq!(ranks_run(&switch, Collective::AllReduce, name, Model::Flow), 1);
}

#[test]
fn copies_of_a_message_share_a_link_above_a_leaf() {
    let link = |rate| link(rate, 500);
    let clos = Topology::leaf_spine(4, 6, 2, link(100_000_000_000), link(50_000_000_000)).expect("leaves");
    // Six chips below each leaf, two spines: three copies of each message meet above it.
    assert_eq!(ranks_run(&clos, Collective::AllToAll, "direct", Model::Flow), 1);
    // Served one after the other, only leaves are alike.
    assert_eq!(ranks_run(&clos, Collective::AllToAll, "direct", Model::Packet), 6);
}

#[test]
fn a_slow_rank_leaves_the_symmetry_that_it_has() {
    let ring = Topology::ring(12, link(100_000_000_000, 500))
        .expect("a ring")
        .with_endpoint(Endpoint::free().with_launch(Time::from_picoseconds(1000)));
    let slow = |rank| Fault::Slow {
        rank: RankId::new(rank),
        numerator: 2,
        denominator: 1,
    };
    let lame = ring.with_faults(&[slow(0)]).expect("a rank that is there");
    assert_eq!(ranks_run(&lame, Collective::AllReduce, "ring", Model::Flow), 12);
    let regular = ring
        .with_faults(&[slow(0), slow(4), slow(8)])
        .expect("ranks that are there");
    assert_eq!(ranks_run(&regular, Collective::AllReduce, "ring", Model::Packet), 4);
}

#[test]
fn chunks_that_differ_are_not_folded() {
    let ring = Topology::ring(5, link(100_000_000_000, 500)).expect("a ring");
    let schedule = build(&ring, Collective::AllReduce, "ring", 0);
    let ranks = compare(&ring, &schedule, 1001, Model::Packet).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ranks, 5);
}

#[test]
fn a_hierarchical_all_reduce_over_clusters_and_cores_folds_to_one_rank() {
    let torus = || Topology::torus(&[4, 4, 4], &[link(100_000_000_000, 500)]).expect("a torus");
    let of_tori = |leaves| Topology::cluster(torus(), 2, 3, leaves, fabric_links()).expect("pods of tori");
    let cores = torus().with_cores(4, link(300_000_000_000, 20)).expect("cores");
    for topology in [of_tori(Leaves::Racks(1)), of_tori(Leaves::Rails(4)), cores] {
        let ranks = ranks_run(&topology, Collective::AllReduce, "hierarchical", Model::Flow);
        assert_eq!(ranks, 1, "{:?}", topology.shape());
    }
}

#[test]
fn large_shapes_fold_and_their_runs_are_the_whole_runs() {
    let spec = || link(10_000_000_000, 500);
    let clos = |leaves, each, spines| Topology::leaf_spine(leaves, each, spines, spec(), spec()).expect("leaves");
    let cluster = |pods, each, inner| Topology::ultracluster(pods, each, inner, cluster_links()).expect("pods");
    let of_tori = |pods, each, leaves| {
        let torus = Topology::torus(&[4, 4, 8], &[spec(), spec(), link(5_000_000_000, 500)]).expect("a torus");
        Topology::cluster(torus, pods, each, leaves, fabric_links()).expect("pods of tori")
    };
    // Of 521 leaves over 5 spines, the last is not the one before the first.
    for (topology, most) in [
        (cluster(3, 4, (3, 4, 4)), 192),
        (cluster(2, 5, (6, 3, 4)), 360),
        (of_tori(3, 4, Leaves::Racks(1)), 512),
        (of_tori(2, 5, Leaves::Rails(8)), 640),
        (clos(521, 1, 5), 521),
        (clos(130, 5, 5), 650),
        (Topology::ring(1030, spec()).expect("a ring"), 1),
        (Topology::switch(1030, 2, spec()).expect("a switch"), 1),
        (Topology::torus(&[26, 40], &[spec(), spec()]).expect("a torus"), 40),
    ] {
        for model in [Model::Flow, Model::Packet] {
            let ranks = ranks_run(&topology, Collective::AllGather, "bruck", model);
            assert!(
                ranks <= most,
                "{ranks} of {} {:?} in {model}",
                topology.family(),
                topology.shape()
            );
        }
    }
}

#[test]
fn the_search_for_symmetry_ends_when_told_to() {
    let ring = Topology::ring(12, link(100_000_000_000, 500)).expect("a ring");
    let schedule = build(&ring, Collective::AllReduce, "ring", 0);
    let mut asked = 0;
    let outcome = simulate(&ring, &schedule, Bytes::new(120), 1, Model::Flow, &mut |progress| {
        asked += 1;
        assert_eq!((progress.done, progress.time), (0, Time::ZERO));
        Control::Stop
    });
    assert!(
        matches!(outcome, Err(SimulationError::Interrupted { events: 0, time_ps: 0 })),
        "{outcome:?}"
    );
    assert_eq!(asked, 1);
}
