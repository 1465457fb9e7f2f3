//! The ring: every rank passes blocks to the next.
//!
//! Reduce-scatter, step k = 0 … N−2: rank r sends block r−1−k to r+1, which reduces it into its own; block b ends,
//! complete, at rank b. All-gather, step k: rank r sends block r−k to r+1. All-reduce is one after the other.
//! On a ring of bandwidth B and latency L, a reduce-scatter or all-gather of S bytes takes
//! (N−1)·(L + ceil(S/N / B)) where S divides by N, an all-reduce twice that.

use super::{Algorithm, Request};
use crate::collective::{Collective, Goal};
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

pub(super) const RING: Algorithm = Algorithm {
    name: "ring",
    summary: "blocks travel once or twice round the ring of ranks: least bytes, most steps",
    source: "Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009, section 3",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    directed(request.collective(), request.ranks(), 1)
}

/// The ring that goes up (`direction` 1) or down (−1) a line of ranks.
pub(super) fn directed(collective: Collective, ranks: usize, direction: i64) -> Result<Schedule, AlgorithmError> {
    let block = |index: Expr| Chunks::one(Buffer::Output, index);
    let program = Program::single(passes(collective, ranks, direction, &block));
    let (goal, line) = (Goal::in_place(collective), Shape::new(&[ranks])?);
    Ok(Schedule::uniform(RING.name, goal, line, ranks as u64, 0, program)?)
}

/// The passes of a ring that goes up (`direction` 1) or down (−1) the ranks; `block` names the chunks of a block.
pub(super) fn passes(
    collective: Collective,
    ranks: usize,
    direction: i64,
    block: &dyn Fn(Expr) -> Chunks,
) -> Vec<Instruction> {
    let next = || Place::shift(0, direction);
    let previous = || Place::shift(0, -direction);
    // The block of the rank `back` steps before this one.
    let behind = |back: i64| {
        let by = if direction > 0 {
            Expr::from(-back) - Expr::var(0)
        } else {
            Expr::var(0) + back
        };
        block(Expr::rank_at(Place::shift(0, by)))
    };
    let reduce_scatter = || {
        Instruction::repeat(
            ranks - 1,
            vec![
                Instruction::send(next(), behind(1)),
                Instruction::reduce(previous(), behind(2)),
            ],
        )
    };
    let all_gather = || {
        Instruction::repeat(
            ranks - 1,
            vec![
                Instruction::send(next(), behind(0)),
                Instruction::receive(previous(), behind(1)),
            ],
        )
    };
    match collective {
        Collective::ReduceScatter => vec![reduce_scatter()],
        Collective::AllGather => vec![all_gather()],
        _ => vec![reduce_scatter(), all_gather()],
    }
}
