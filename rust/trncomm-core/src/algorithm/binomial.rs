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
    Ok(Schedule::by_role(
        BINOMIAL.name,
        request.in_place(),
        request.line()?,
        if collective.has_blocks() { ranks as u64 } else { 1 },
        0,
        |rank| Role::new(request, rank),
        |role| Program::single(role.instructions(collective)),
    )?)
}

/// What a rank has to do with the tree.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Role {
    is_root: bool,
    /// Ranks less far on than this are below it.
    reach: usize,
    /// The ranks below it and itself.
    size: usize,
}

impl Role {
    pub(super) fn new(request: &Request<'_>, rank: u32) -> Self {
        let ranks = request.ranks();
        let from_root = (rank as usize + ranks - request.root().index()) % ranks;
        let reach = if from_root == 0 {
            ranks.next_power_of_two()
        } else {
            1 << from_root.trailing_zeros()
        };
        Self {
            is_root: from_root == 0,
            reach,
            size: reach.min(ranks - from_root),
        }
    }

    /// What the rank does; gather and scatter take one chunk a rank, the others one in all.
    pub(super) fn instructions(&self, collective: Collective) -> Vec<Instruction> {
        let &Self { is_root, reach, size } = self;
        // The data of the rank at `place` and of those below it.
        let data = |place: Place, size: usize| {
            if collective.has_blocks() {
                Chunks::range(Buffer::Output, Expr::rank_at(place), size).wrapping()
            } else {
                Chunks::one(Buffer::Output, 0)
            }
        };
        let outwards = matches!(collective, Collective::Broadcast | Collective::Scatter);
        let mut body = Vec::new();
        if !is_root {
            let parent = Place::shift(0, Expr::from(0) - reach);
            let own = data(Place::here(), size);
            body.push(if outwards {
                Instruction::receive(parent, own)
            } else {
                Instruction::send(parent, own)
            });
        }
        for step in (0..reach.trailing_zeros()).rev().map(|bit| 1 << bit) {
            if step < size {
                let child = || Place::shift(0, Expr::from(step));
                let theirs = data(child(), step.min(size - step));
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
}
