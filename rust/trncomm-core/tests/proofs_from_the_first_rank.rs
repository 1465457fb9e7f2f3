//! Schedules whose ranks are all alike are proved from the first of them, at any size.

mod common;

use std::collections::BTreeMap;

use common::build;
use trncomm_core::algorithm;
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::Control;
use trncomm_core::ids::RankId;
use trncomm_core::proof::{Method, verify, verify_first_rank};
use trncomm_core::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};
use trncomm_core::topology::{LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Time};

fn torus(extents: &[usize]) -> Topology {
    let link = LinkSpec {
        bandwidth: Bandwidth::new(1_000_000_000).expect("above zero"),
        latency: Time::from_picoseconds(1000),
    };
    Topology::torus(extents, &vec![link; extents.len()]).expect("a valid shape")
}

#[test]
fn what_the_first_rank_proves_is_what_all_ranks_prove() {
    let mut proved = 0;
    for extents in [
        vec![1],
        vec![2],
        vec![3],
        vec![7],
        vec![12],
        vec![16],
        vec![37],
        vec![2, 3],
        vec![4, 4],
        vec![3, 2, 4],
    ] {
        let topology = torus(&extents);
        for collective in Collective::ALL {
            for known in algorithm::algorithms(collective) {
                let built = algorithm::build(&topology, collective, known.name, RankId::new(0), BTreeMap::new());
                let Ok(schedule) = built else { continue };
                let Some(proof) = verify_first_rank(&schedule, &mut |_| Control::Continue)
                    .unwrap_or_else(|error| panic!("{} {collective} {extents:?}: {error}", known.name))
                else {
                    continue;
                };
                let whole = verify(&schedule, &mut |_| Control::Continue).expect("it is proved");
                assert_eq!(
                    (proof.messages, proof.chunks),
                    (whole.messages, whole.chunks),
                    "{} {extents:?}",
                    known.name
                );
                proved += 1;
            }
        }
    }
    // Of ten shapes and some ninety pairs of collective and algorithm: those without roles or exclusive or.
    assert!(proved > 150, "{proved}");
}

#[test]
fn a_hundred_thousand_ranks_are_proved() {
    for (extents, name) in [
        (vec![100_800], "ring"),
        (vec![700, 144], "hierarchical"),
        (vec![700, 144], "bidirectional_ring"),
    ] {
        for collective in [Collective::AllReduce, Collective::AllGather] {
            let proof = verify(&build(&torus(&extents), collective, name, 0), &mut |_| {
                Control::Continue
            });
            let proof = proof.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(proof.method, Method::Symmetric);
            assert_eq!(proof.chunks % (100_800 * 100_800), 0, "all chunks of all ranks");
            assert!(proof.miss_probability < 1e-12);
        }
    }
}

/// A ring whose rank passes on block `rank - step + off` for `times` steps.
fn ring(ranks: usize, times: usize, off: i64, collective: Collective, combines: bool) -> Schedule {
    let step = || Expr::var(0);
    let block = |back: Expr| Chunks::one(Buffer::Output, Expr::rank_at(Place::shift(0, Expr::from(0) - back)));
    let (send, receive) = (block(step() - off), block(step() + 1 - off));
    let receive = if combines {
        Instruction::reduce(Place::shift(0, -1), receive)
    } else {
        Instruction::receive(Place::shift(0, -1), receive)
    };
    let body = vec![Instruction::repeat(
        times,
        vec![Instruction::send(Place::shift(0, 1), send), receive],
    )];
    let shape = Shape::new(&[ranks]).expect("a line");
    Schedule::uniform(
        "ring",
        Goal::in_place(collective),
        shape,
        ranks as u64,
        0,
        Program::single(body),
    )
    .expect("well-formed")
}

#[test]
fn faults_of_large_schedules_are_found() {
    let ranks = 20_000;
    let verdict = |schedule: &Schedule| verify(schedule, &mut |_| Control::Continue).map(|proof| proof.method);
    let message = |schedule: &Schedule| verdict(schedule).expect_err("it is wrong").to_string();
    let gather = Collective::AllGather;
    assert_eq!(
        verdict(&ring(ranks, ranks - 1, 0, gather, false)).expect("it is right"),
        Method::Symmetric
    );
    assert!(
        message(&ring(ranks, ranks - 2, 0, gather, false)).contains("holds nothing"),
        "a step too few"
    );
    assert!(
        message(&ring(ranks, ranks - 1, 1, gather, false)).contains("before anything is in it"),
        "another's block"
    );
    let scatter = Collective::ReduceScatter;
    assert_eq!(
        verdict(&ring(ranks, ranks - 1, -1, scatter, true)).expect("it is right"),
        Method::Symmetric
    );
    assert!(
        message(&ring(ranks, ranks - 2, -1, scatter, true)).contains("contributions of"),
        "a step too few"
    );
    assert!(
        message(&ring(ranks, ranks, 0, scatter, true)).contains("more than once"),
        "a step too many"
    );
}

#[test]
fn ranks_that_are_not_alike_are_no_case_for_it() {
    // The last rank's block goes astray, and nothing else does.
    let ranks = 50_i64;
    let own = || Expr::rank().min(ranks - 2);
    let body = vec![
        Instruction::send(Place::shift(0, 1), Chunks::one(Buffer::Output, own())),
        Instruction::receive(
            Place::shift(0, -1),
            Chunks::one(Buffer::Output, Expr::rank_at(Place::shift(0, -1))),
        ),
    ];
    let shape = Shape::new(&[50]).expect("a line");
    let goal = Goal::in_place(Collective::AllGather);
    let schedule = Schedule::uniform("astray", goal, shape, 50, 0, Program::single(body)).expect("well-formed");
    assert_eq!(
        verify_first_rank(&schedule, &mut |_| Control::Continue).expect("it isn't looked at"),
        None
    );
}
