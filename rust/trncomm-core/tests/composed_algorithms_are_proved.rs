//! Composed algorithms keep their promise over shapes of one to three axes, odd ones and axes of one among them.

use std::collections::BTreeMap;

use trncomm_core::algorithm::{self, Value};
use trncomm_core::collective::Collective;
use trncomm_core::engine::Control;
use trncomm_core::error::AlgorithmError;
use trncomm_core::ids::RankId;
use trncomm_core::proof::{Proof, verify};
use trncomm_core::schedule::{Instruction, Schedule};
use trncomm_core::topology::{LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Time};

/// Shapes whose algorithms are proved: even, odd, mixed and degenerate ones.
const SHAPES: &[&[usize]] = &[
    &[1],
    &[1, 1],
    &[1, 7],
    &[7, 1],
    &[2, 2],
    &[3, 5],
    &[4, 4],
    &[6, 4],
    &[2, 2, 2],
    &[2, 1, 3],
    &[3, 2, 5],
    &[4, 4, 4],
    &[2, 18, 4],
];

fn spec() -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(1_000_000_000).expect("above zero"),
        latency: Time::from_picoseconds(1000),
    }
}

fn torus(extents: &[usize]) -> Topology {
    Topology::torus(extents, &vec![spec(); extents.len()]).expect("a valid shape")
}

fn options(pairs: &[(&str, Value)]) -> BTreeMap<String, Value> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

fn built(
    topology: &Topology,
    collective: Collective,
    name: &str,
    pairs: &[(&str, Value)],
) -> Result<Schedule, AlgorithmError> {
    algorithm::build(topology, collective, name, RankId::new(0), options(pairs))
}

/// Builds and proves, and says what went wrong where.
fn proved(extents: &[usize], collective: Collective, name: &str, pairs: &[(&str, Value)]) -> Proof {
    let schedule = built(&torus(extents), collective, name, pairs)
        .unwrap_or_else(|error| panic!("{name} {collective} {extents:?} {pairs:?}: {error}"));
    verify(&schedule, &mut |_| Control::Continue)
        .unwrap_or_else(|error| panic!("{name} {collective} {extents:?} {pairs:?}: {error}\n{schedule}"))
}

fn is_composed(name: &str) -> bool {
    [
        "hierarchical",
        "blueconnect",
        "k_nomial",
        "recursive_multiplying",
        "bucket",
        "multi_ring",
        "rdh",
        "hierarchical_all_to_all",
        "rail_aligned",
    ]
    .contains(&name)
}

#[test]
fn every_composed_algorithm_is_proved_over_every_shape() {
    let mut count = 0;
    for extents in SHAPES {
        for collective in Collective::ALL {
            for algorithm in algorithm::algorithms(collective).filter(|algorithm| is_composed(algorithm.name)) {
                let powers_of_two = extents.iter().all(|extent| extent.is_power_of_two());
                if algorithm.name == "rdh" && !powers_of_two {
                    continue;
                }
                proved(extents, collective, algorithm.name, &[]);
                count += 1;
            }
        }
    }
    assert_eq!(count, SHAPES.len() * (5 * 3 + 3) + 6 * 3, "rdh fits six of the shapes");
}

#[test]
fn any_two_flat_algorithms_make_a_hierarchy() {
    let stages = ["ring", "recursive_halving_doubling", "direct", "bidirectional_ring"];
    for extents in [&[3, 4][..], &[4, 3], &[5, 6]] {
        for collective in [Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather] {
            for inner in stages {
                for outer in stages {
                    let pairs = [("inner", inner.into()), ("outer", outer.into())];
                    proved(extents, collective, "hierarchical", &pairs);
                }
            }
        }
    }
}

#[test]
fn a_hierarchy_takes_another_algorithm_for_each_of_three_levels() {
    let pairs = [
        ("inner", "direct".into()),
        ("middle", "recursive_halving_doubling".into()),
        ("outer", "one_shot".into()),
    ];
    proved(&[3, 5, 4], Collective::AllReduce, "hierarchical", &pairs);
}

#[test]
fn levels_that_are_told_replace_those_of_the_topology() {
    for levels in [
        vec![4],
        vec![18, 4],
        vec![72],
        vec![3, 3, 4],
        vec![144],
        vec![2, 2, 2, 2, 3, 3],
    ] {
        for name in ["hierarchical", "blueconnect", "k_nomial"] {
            proved(
                &[144],
                Collective::AllReduce,
                name,
                &[("levels", levels.clone().into())],
            );
        }
        let pairs = [("levels", levels.clone().into())];
        proved(&[144], Collective::AllToAll, "hierarchical_all_to_all", &pairs);
    }
}

#[test]
fn levels_that_do_not_divide_the_ranks_are_refused_with_those_that_do() {
    let error = built(
        &torus(&[12]),
        Collective::AllReduce,
        "hierarchical",
        &[("levels", 5.into())],
    );
    let text = error.expect_err("5 doesn't divide 12").to_string();
    assert!(text.contains("1, 2, 3, 4, 6, 12"), "{text}");
}

#[test]
fn any_radix_serves_any_number_of_ranks() {
    for ranks in [2, 7, 12, 30, 64, 77] {
        for radix in [2, 3, 4, 16] {
            for name in ["k_nomial", "recursive_multiplying"] {
                proved(&[ranks], Collective::AllReduce, name, &[("radix", radix.into())]);
            }
        }
    }
}

#[test]
fn a_hierarchy_over_a_hundred_thousand_ranks_is_one_short_program() {
    let topology = torus(&[700, 144]);
    for collective in [Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather] {
        let schedule = built(&topology, collective, "hierarchical", &[]).expect("rings fit any shape");
        assert_eq!(schedule.ranks(), 100_800);
        assert_eq!(schedule.programs().len(), 1, "all ranks do the same");
        let text = format!("{schedule:?}");
        // A debug listing takes several times the memory of what it lists.
        assert!(text.len() < 20_000, "{}", text.len());
        let [stream] = &schedule.programs()[0].streams[..] else {
            panic!("one stream");
        };
        let loops: Vec<u64> = stream.body.iter().map(passes).collect();
        let expected: &[u64] = match collective {
            Collective::AllReduce => &[143, 699, 699, 143],
            Collective::ReduceScatter => &[143, 699],
            _ => &[699, 143],
        };
        assert_eq!(loops, expected);
    }
}

fn passes(instruction: &Instruction) -> u64 {
    match instruction {
        Instruction::Loop { times, .. } => *times,
        other => panic!("expected a loop, got {other:?}"),
    }
}

#[test]
fn a_shape_that_an_algorithm_cannot_serve_is_refused_with_one_that_can() {
    let refused = |extents: &[usize], collective, name| match built(&torus(extents), collective, name, &[]) {
        Err(AlgorithmError::NotApplicable { reason, .. }) => reason,
        other => panic!("{name} {extents:?}: {other:?}"),
    };
    assert!(refused(&[2, 18, 4], Collective::AllReduce, "rdh").contains("k_nomial"));
    assert!(refused(&[40, 40], Collective::AllGather, "multi_ring").contains("bucket"));
}

#[test]
fn messages_add_up_to_the_closed_forms() {
    let messages = |extents: &[usize], collective, name, pairs: &[(&str, Value)]| {
        let ranks: usize = extents.iter().product();
        proved(extents, collective, name, pairs).messages / ranks as u64
    };
    // 2 sum(d - 1): 2 (1 + 17 + 3).
    assert_eq!(messages(&[2, 18, 4], Collective::AllReduce, "hierarchical", &[]), 42);
    assert_eq!(messages(&[2, 18, 4], Collective::AllReduce, "blueconnect", &[]), 42);
    // 144 = 4 · 18 · 2 as exchanges among 2, 18 and 4 ranks, and split up to radix 8 among 2, 3, 6 and 4.
    let shape = [("levels", vec![2, 18, 4].into())];
    assert_eq!(messages(&[144], Collective::AllReduce, "k_nomial", &shape), 42);
    assert_eq!(
        messages(&[2, 18, 4], Collective::AllReduce, "k_nomial", &[]),
        2 * (1 + 2 + 5 + 3)
    );
    assert_eq!(
        messages(&[2, 18, 4], Collective::AllReduce, "recursive_multiplying", &[]),
        11
    );
    // 2D parts, each of 2 sum(d - 1).
    assert_eq!(messages(&[4, 4], Collective::AllReduce, "bucket", &[]), 4 * 12);
    // Two cycles, each both ways, 2 (N - 1) steps.
    assert_eq!(messages(&[4, 4], Collective::AllReduce, "multi_ring", &[]), 4 * 30);
    assert_eq!(messages(&[4, 4], Collective::AllReduce, "rdh", &[]), 2 * 4);
    // Y (X - 1) inside, Y - 1 outside, with Y = 36 groups of X = 4.
    assert_eq!(
        messages(&[2, 18, 4], Collective::AllToAll, "rail_aligned", &[]),
        36 * 3 + 35
    );
    // sum(d - 1) messages instead of N - 1.
    assert_eq!(
        messages(&[2, 18, 4], Collective::AllToAll, "hierarchical_all_to_all", &[]),
        21
    );
}
