//! Composed algorithms keep their promise over shapes of one to three axes, odd ones and axes of one among them.

use std::collections::BTreeMap;

use trncomm_core::algorithm::{self, Algorithm, Value};
use trncomm_core::collective::Collective;
use trncomm_core::engine::Control;
use trncomm_core::error::AlgorithmError;
use trncomm_core::ids::RankId;
use trncomm_core::proof::{Method, Proof, verify};
use trncomm_core::schedule::{Code, Instruction, Layout, MAX_DEPTH, Schedule, Site, Step};
use trncomm_core::topology::{LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

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

/// Whether an algorithm works along levels.
fn is_composed(algorithm: &Algorithm) -> bool {
    algorithm.parameters.iter().any(|parameter| parameter.name == "levels")
}

#[test]
fn every_composed_algorithm_is_proved_over_every_shape() {
    let mut count = 0;
    for extents in SHAPES {
        for collective in Collective::ALL {
            for algorithm in algorithm::algorithms(collective).filter(|algorithm| is_composed(algorithm)) {
                let powers_of_two = extents.iter().all(|extent| extent.is_power_of_two());
                if ["rdh", "swing_torus"].contains(&algorithm.name) && !powers_of_two {
                    continue;
                }
                proved(extents, collective, algorithm.name, &[]);
                count += 1;
            }
        }
    }
    assert_eq!(
        count,
        SHAPES.len() * (7 * 3 + 3 + 4) + 6 * 4,
        "rdh and swing_torus fit six of the shapes"
    );
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
fn shapes_of_hundreds_of_ranks_are_proved_by_fingerprint() {
    for name in ["hierarchical", "k_nomial", "bucket", "mesh"] {
        let proof = proved(&[35, 12], Collective::AllReduce, name, &[]);
        assert_eq!(proof.method, Method::Fingerprint);
        assert_eq!(proof.chunks % (420 * 420), 0, "every rank has every chunk");
    }
}

#[test]
fn algorithms_along_levels_are_stages_themselves() {
    let pairs = [("inner", "k_nomial".into()), ("outer", "rdh".into())];
    for collective in [Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather] {
        proved(&[8, 30], collective, "hierarchical", &pairs);
    }
}

#[test]
fn a_stage_that_does_not_fit_is_refused_by_name() {
    let refused = |inner: &str| {
        let pairs = [("inner", inner.into())];
        let built = built(&torus(&[4, 6]), Collective::AllReduce, "hierarchical", &pairs);
        built.expect_err("not a stage").to_string()
    };
    let text = refused("rdh");
    assert!(text.contains("rdh can't build reduce_scatter over 6 ranks"), "{text}");
    let text = refused("one_shot");
    assert!(text.contains("for reduce_scatter"), "{text}");
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
    for levels in [vec![4], vec![9, 2], vec![12], vec![3, 3, 4], vec![36], vec![2, 2, 3, 3]] {
        let pairs = [("levels", levels.into())];
        for name in [
            "hierarchical",
            "blueconnect",
            "k_nomial",
            "mesh",
            "kangaring",
            "multi_ring",
            "bucket",
        ] {
            proved(&[36], Collective::AllReduce, name, &pairs);
        }
        for name in ["hierarchical_all_to_all", "rail_aligned"] {
            proved(&[36], Collective::AllToAll, name, &pairs);
        }
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
    assert!(refused(&[3, 4], Collective::AllReduce, "swing_torus").contains("bucket"));
    assert!(refused(&[40, 40], Collective::AllGather, "multi_ring").contains("bucket"));
}

#[test]
fn ranks_that_do_the_same_share_a_program_at_any_size() {
    let topology = torus(&[700, 144]);
    let programs = |name| {
        let schedule = built(&topology, Collective::AllReduce, name, &[]).expect("fits any shape");
        schedule.programs().len()
    };
    assert_eq!(programs("bucket"), 1);
    assert_eq!(programs("k_nomial"), 1);
    assert_eq!(programs("kangaring"), 2, "on the ring or not");
    assert_eq!(programs("mesh"), 144, "one for each share of the work");
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
    // 2D parts, each of 2 log2 N steps.
    assert_eq!(messages(&[4, 8], Collective::AllReduce, "swing_torus", &[]), 4 * 10);
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

/// The sum over steps of the most bytes that any link carries in a step, where every stream takes its n-th message in
/// step n.
fn bytes_on_the_busiest_links(topology: &Topology, schedule: &Schedule, size: u64) -> u64 {
    let layout = Layout::new(Bytes::new(size), 1, schedule.chunks()).expect("whole elements");
    let code = Code::new(schedule, layout).expect("the layout is the schedule's");
    let mut loads: Vec<Vec<u64>> = Vec::new();
    let mut path = Vec::new();
    for rank in 0..u32::try_from(schedule.ranks()).expect("few ranks") {
        let at = Site {
            shape: schedule.shape(),
            rank,
            vars: [0; MAX_DEPTH],
        };
        for stream in code.streams(rank) {
            let sends = stream.steps.iter().filter_map(|step| match step {
                Step::Send { to, chunks } => Some((to, chunks)),
                Step::Enter { .. } => panic!("steps are counted in straight code"),
                _ => None,
            });
            for (step, (to, chunks)) in sends.enumerate() {
                if loads.len() == step {
                    loads.push(vec![0; topology.links()]);
                }
                let to = RankId::new(usize::try_from(to.find(&at)).expect("a rank"));
                topology.route(rank.into(), to, &mut path).expect("ranks of the torus");
                let bytes = chunks.bytes(&at, &layout).expect("chunks of the buffer").get();
                for link in &path {
                    loads[step][link.index()] += bytes;
                }
            }
        }
    }
    loads.iter().map(|loads| loads.iter().max().expect("some links")).sum()
}

#[test]
fn swing_loads_the_links_of_tori_as_published() {
    // De Sensi et al., NSDI 2024: the deficiency of the bandwidth of Swing on square tori, to four decimals.
    for (extents, ratio) in [
        (&[8][..], 1.2857),
        (&[64], 2.1429),
        (&[4, 4], 1.0),
        (&[8, 8], 1.0952),
        (&[16, 16], 1.1412),
        (&[4, 4, 4], 1.0),
        (&[8, 8, 8], 1.0274),
    ] {
        let topology = torus(extents);
        let schedule = built(&topology, Collective::AllReduce, "swing_torus", &[]).expect("powers of two");
        let ranks: usize = extents.iter().product();
        let parts = 2 * extents.len() as u64;
        let size = ranks as u64 * parts;
        let bytes = bytes_on_the_busiest_links(&topology, &schedule, size);
        // The optimum is 2 (N - 1) / N of the size over the 2D links of a chip.
        let optimum = 2 * (ranks as u64 - 1);
        #[allow(clippy::cast_precision_loss)] // both are small
        let measured = bytes as f64 / optimum as f64;
        assert!((measured - ratio).abs() < 5e-5, "{extents:?}: {measured}");
    }
}
