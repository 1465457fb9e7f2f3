//! Pairwise all-to-all: N−1 steps, in each of which the ranks exchange blocks along a permutation, then go on.
//!
//! By rotation, rank r sends to r+k and receives from r−k in step k, each axis of the topology's shape by itself. By
//! exclusive or, it exchanges with r xor k, which is a step of pairs, but needs a power of two. On a non-blocking switch
//! of bandwidth B both take (N−1)·(L + S/N / B).

use super::direct::{after, before, block, keep_own_block};
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Expr, Instruction, Place, Program, Schedule, Shape};

pub(super) const PAIRWISE: Algorithm = Algorithm {
    name: "pairwise",
    summary: "N-1 steps, each a rotation: one message at a time, no incast while ranks stay in step",
    source: "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.4",
    collectives: &[Collective::AllToAll],
    ranks: "any",
    parameters: &[],
    build: |request| {
        let (shape, extents) = request.grid()?;
        schedule(&PAIRWISE, request, shape, &|| after(&extents), &|| before(&extents))
    },
};

pub(super) const PAIRWISE_XOR: Algorithm = Algorithm {
    name: "pairwise_xor",
    summary: "N-1 steps, in each of which ranks exchange in pairs",
    source: "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.4",
    collectives: &[Collective::AllToAll],
    ranks: "powers of two",
    parameters: &[],
    build: |request| {
        if !request.ranks().is_power_of_two() {
            return Err(request.not_applicable("powers of two work; pairwise serves any number"));
        }
        let partner = || Place::xor(0, Expr::var(0) + 1);
        schedule(&PAIRWISE_XOR, request, request.line()?, &partner, &partner)
    },
};

fn schedule(
    algorithm: &'static Algorithm,
    request: &Request<'_>,
    shape: Shape,
    to: &dyn Fn() -> Place,
    from: &dyn Fn() -> Place,
) -> Result<Schedule, AlgorithmError> {
    let exchange = vec![
        Instruction::send(to(), block(Buffer::Input, to())),
        Instruction::receive(from(), block(Buffer::Output, from())),
    ];
    let program = Program::single(vec![
        keep_own_block(),
        Instruction::repeat(request.ranks() - 1, exchange),
    ]);
    let ranks = request.ranks() as u64;
    Ok(Schedule::uniform(
        algorithm.name,
        request.out_of_place(),
        shape,
        ranks,
        0,
        program,
    )?)
}
