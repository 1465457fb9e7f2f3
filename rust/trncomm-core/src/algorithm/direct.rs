//! Direct exchange: every rank sends each other rank its block in one message, all at once.
//!
//! All-reduce in two shots: a direct reduce-scatter, then a direct all-gather. Neuron calls the pattern mesh.
//! Destinations are taken in rotation (r+1, r+2, …), so that no rank is everyone's first.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const DIRECT: Algorithm = Algorithm {
    name: "direct",
    summary: "every rank sends every other its block at once (all_reduce: two shots): fewest steps, incast",
    source: "msccl-tools, examples/mscclang/allreduce_allpairs.py; Neuron runtime documentation, mesh",
    collectives: &[
        Collective::AllReduce,
        Collective::ReduceScatter,
        Collective::AllGather,
        Collective::AllToAll,
    ],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let others = request.ranks() - 1;
    let own = || Chunks::one(Buffer::Output, Expr::rank());
    let reduce_scatter = || {
        [
            Instruction::repeat(others, vec![Instruction::send(after(), block(Buffer::Output, after()))]),
            Instruction::repeat(others, vec![Instruction::reduce(before(), own())]),
        ]
    };
    let all_gather = || {
        [
            Instruction::repeat(others, vec![Instruction::send(after(), own())]),
            Instruction::repeat(
                others,
                vec![Instruction::receive(before(), block(Buffer::Output, before()))],
            ),
        ]
    };
    let (goal, body) = match request.collective() {
        Collective::ReduceScatter => (request.in_place(), reduce_scatter().to_vec()),
        Collective::AllGather => (request.in_place(), all_gather().to_vec()),
        Collective::AllToAll => (request.out_of_place(), all_to_all(others)),
        _ => (
            request.in_place(),
            reduce_scatter().into_iter().chain(all_gather()).collect(),
        ),
    };
    let ranks = request.ranks() as u64;
    Ok(Schedule::uniform(
        DIRECT.name,
        goal,
        request.line()?,
        ranks,
        0,
        Program::single(body),
    )?)
}

fn all_to_all(others: usize) -> Vec<Instruction> {
    vec![
        keep_own_block(),
        Instruction::repeat(others, vec![Instruction::send(after(), block(Buffer::Input, after()))]),
        Instruction::repeat(
            others,
            vec![Instruction::receive(before(), block(Buffer::Output, before()))],
        ),
    ]
}

/// The block that a rank sends to itself in an all-to-all.
pub(super) fn keep_own_block() -> Instruction {
    Instruction::copy(
        Chunks::one(Buffer::Input, Expr::rank()),
        Chunks::one(Buffer::Output, Expr::rank()),
    )
}

/// The rank 1 + i further on.
pub(super) fn after() -> Place {
    Place::shift(0, Expr::var(0) + 1)
}

/// The rank 1 + i further back.
pub(super) fn before() -> Place {
    Place::shift(0, Expr::from(-1) - Expr::var(0))
}

/// The block of the rank at `place`.
pub(super) fn block(buffer: Buffer, place: Place) -> Chunks {
    Chunks::one(buffer, Expr::rank_at(place))
}
