//! Direct exchange: every rank sends each other rank its block in one message, all at once.
//!
//! All-reduce in two shots: a direct reduce-scatter, then a direct all-gather. Neuron calls the pattern mesh.
//! Destinations are taken in rotation (r+1, r+2, …, along each axis of the topology's shape by itself), so that no rank is
//! everyone's first.

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
    let (shape, extents) = request.grid()?;
    let others = request.ranks() - 1;
    let after = || after(&extents);
    let before = || before(&extents);
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
        Collective::AllToAll => (request.out_of_place(), all_to_all(others, &after, &before)),
        _ => (
            request.in_place(),
            reduce_scatter().into_iter().chain(all_gather()).collect(),
        ),
    };
    let ranks = request.ranks() as u64;
    Ok(Schedule::uniform(
        DIRECT.name,
        goal,
        shape,
        ranks,
        0,
        Program::single(body),
    )?)
}

fn all_to_all(others: usize, after: &dyn Fn() -> Place, before: &dyn Fn() -> Place) -> Vec<Instruction> {
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

/// The rank 1 + i further on, digit by digit of the grid's numbering.
///
/// Every coordinate moves by itself, modulo its extent, so that the whole pattern stays the same whichever coordinates
/// of the ranks are rotated.
pub(super) fn after(extents: &[usize]) -> Place {
    away(extents, |digit| digit)
}

/// The rank 1 + i further back.
pub(super) fn before(extents: &[usize]) -> Place {
    away(extents, |digit| Expr::from(0) - digit)
}

fn away(extents: &[usize], by: impl Fn(Expr) -> Expr) -> Place {
    let mut stride: usize = extents.iter().product();
    let mut place = Place::here();
    for (axis, &extent) in extents.iter().enumerate() {
        stride /= extent;
        let number = Expr::var(0) + 1;
        // The first digit of a number below the number of ranks has nothing before it.
        let digit = number / stride;
        place = place.then_shift(axis, by(if axis == 0 { digit } else { digit % extent }));
    }
    place
}

/// The block of the rank at `place`.
pub(super) fn block(buffer: Buffer, place: Place) -> Chunks {
    Chunks::one(buffer, Expr::rank_at(place))
}
