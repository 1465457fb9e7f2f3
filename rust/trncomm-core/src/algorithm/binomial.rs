//! The binomial tree: the number of ranks that have the data doubles with every step.
//!
//! Counted from the root, rank v hears from v with its lowest set bit cleared, and passes the data on to v + 2^k for
//! every k below that bit, furthest first: those are the ranks up to v + 2^k + 2^k − 1. Scatter sends each the blocks of
//! these ranks. Reduce and gather are the same backwards.
//!
//! On a full crossbar of bandwidth B, one message at a time, a broadcast or reduce of S bytes takes
//! ⌈log₂ N⌉·(L + S/B), a gather or scatter ⌈log₂ N⌉·L + (N−1)/N·S / B.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::ids::RankId;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    summary: "a tree in which the ranks that have the data double with every step: ceil(log2 N) steps",
    source: "Chan et al., Concurrency Computat.: Pract. Exper. 19(13), 2007, sections 4.1 and 4.2",
    collectives: &[
        Collective::Broadcast,
        Collective::Reduce,
        Collective::Gather,
        Collective::Scatter,
    ],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let collective = request.collective();
    let program_of = |rank: u32| Program::single(instructions(collective, request.root(), rank, ranks));
    Ok(Schedule::by_rank(
        BINOMIAL.name,
        request.in_place(),
        request.line()?,
        if collective.has_blocks() { ranks as u64 } else { 1 },
        0,
        program_of,
    )?)
}

/// What `rank` does; gather and scatter take one chunk a rank, the others one in all.
pub(super) fn instructions(collective: Collective, root: RankId, rank: u32, ranks: usize) -> Vec<Instruction> {
    let from_root = (rank as usize + ranks - root.index()) % ranks;
    // Beyond every rank that the rank passes data to.
    let reach = if from_root == 0 {
        ranks.next_power_of_two()
    } else {
        1 << from_root.trailing_zeros()
    };
    // The data of the rank at `place` and the ranks below it: those before the next `span` in number.
    let data = |place: Place, first: usize, span: usize| {
        if collective.has_blocks() {
            Chunks::range(Buffer::Output, Expr::rank_at(place), span.min(ranks - first)).wrapping()
        } else {
            Chunks::one(Buffer::Output, 0)
        }
    };
    let outwards = matches!(collective, Collective::Broadcast | Collective::Scatter);
    let mut body = Vec::new();
    if from_root != 0 {
        let parent = Place::shift(0, Expr::from(0) - reach);
        let own = data(Place::here(), from_root, reach);
        body.push(if outwards {
            Instruction::receive(parent, own)
        } else {
            Instruction::send(parent, own)
        });
    }
    for step in (0..reach.trailing_zeros()).rev().map(|bit| 1 << bit) {
        if from_root + step < ranks {
            let child = || Place::shift(0, Expr::from(step));
            let theirs = data(child(), from_root + step, step);
            body.push(match collective {
                _ if outwards => Instruction::send(child(), theirs),
                Collective::Reduce => Instruction::reduce(child(), theirs),
                _ => Instruction::receive(child(), theirs),
            });
        }
    }
    if !outwards {
        body.reverse();
    }
    body
}
