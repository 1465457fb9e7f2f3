//! Pairwise all-to-all: N−1 steps; in step k rank r sends to r+k and receives from r−k, then goes on.
//!
//! On a non-blocking switch of bandwidth B it takes (N−1)·(start + S/N / B): every step is a permutation.

use super::direct::{after, before, block, keep_own_block};
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Instruction, Program, Schedule};

pub(super) const PAIRWISE: Algorithm = Algorithm {
    name: "pairwise",
    summary: "N-1 steps, each a rotation: one message at a time, no incast while ranks stay in step",
    source: "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.4",
    collectives: &[Collective::AllToAll],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let exchange = vec![
        Instruction::send(after(), block(Buffer::Input, after())),
        Instruction::receive(before(), block(Buffer::Output, before())),
    ];
    let program = Program::single(vec![
        keep_own_block(),
        Instruction::repeat(request.ranks() - 1, exchange),
    ]);
    let ranks = request.ranks() as u64;
    Ok(Schedule::uniform(
        PAIRWISE.name,
        request.out_of_place(),
        request.line()?,
        ranks,
        0,
        program,
    )?)
}
