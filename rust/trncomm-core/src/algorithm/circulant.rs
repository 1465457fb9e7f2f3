//! Circulant graphs: in every round all ranks send the same number of ranks away, so that one program serves all.
//!
//! An all-gather keeps blocks r, r+1, … of rank r, counted round the ranks, and adds to them in every round: rank r
//! hears from r+s the first blocks that r+s holds. A reduce-scatter is the same backwards. Blocks lie where they end,
//! so a message is at most two stretches of the buffer, and nothing is rotated in memory.
//!
//! With skips s = 1, …, ⌈⌈N/2⌉/2⌉, ⌈N/2⌉ every rank sends N−1 blocks in ⌈log₂ N⌉ messages, at any N: on a full crossbar
//! of bandwidth B an all-gather of S bytes takes ⌈log₂ N⌉·L + (N−1)·S/N / B, an all-reduce twice that.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const CIRCULANT: Algorithm = Algorithm {
    name: "circulant",
    summary: "skips that halve with rounding up: ceil(log2 N) steps with the ring's bytes at any N",
    source: "Träff, arXiv 2312.11236, algorithms 1 and 2",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any",
    parameters: &[],
    build,
};

/// A message of a round: of `blocks` blocks, over `skip` ranks.
pub(super) struct Hop {
    pub(super) skip: usize,
    pub(super) blocks: usize,
}

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let mut rounds = Vec::new();
    let mut held = request.ranks();
    while held > 1 {
        let skip = held.div_ceil(2);
        rounds.push(vec![Hop {
            skip,
            blocks: held - skip,
        }]);
        held = skip;
    }
    rounds.reverse();
    schedule(&CIRCULANT, request, &rounds)
}

/// The schedule of an all-gather with these rounds, its reverse, or the reverse and then it.
pub(super) fn schedule(
    algorithm: &'static Algorithm,
    request: &Request<'_>,
    rounds: &[Vec<Hop>],
) -> Result<Schedule, AlgorithmError> {
    let mut body = Vec::new();
    if request.collective().reduces() {
        body.extend(rounds.iter().rev().flat_map(|hops| reduce_scatter(hops)));
    }
    if request.collective() != Collective::ReduceScatter {
        body.extend(rounds.iter().flat_map(|hops| all_gather(hops)));
    }
    let ranks = request.ranks() as u64;
    Ok(Schedule::uniform(
        algorithm.name,
        request.in_place(),
        request.line()?,
        ranks,
        0,
        Program::single(body),
    )?)
}

fn all_gather(hops: &[Hop]) -> Vec<Instruction> {
    let send = |hop: &Hop| Instruction::send(away(hop, -1), blocks(Place::here(), hop));
    let receive = |hop: &Hop| Instruction::receive(away(hop, 1), blocks(away(hop, 1), hop));
    hops.iter().map(send).chain(hops.iter().map(receive)).collect()
}

fn reduce_scatter(hops: &[Hop]) -> Vec<Instruction> {
    let send = |hop: &Hop| Instruction::send(away(hop, 1), blocks(away(hop, 1), hop));
    let reduce = |hop: &Hop| Instruction::reduce(away(hop, -1), blocks(Place::here(), hop));
    hops.iter().map(send).chain(hops.iter().map(reduce)).collect()
}

/// The rank at the other end of a hop.
fn away(hop: &Hop, direction: i64) -> Place {
    Place::shift(0, Expr::from(direction) * hop.skip)
}

/// The blocks of a hop, from that of the rank at `place` on.
fn blocks(place: Place, hop: &Hop) -> Chunks {
    Chunks::range(Buffer::Output, Expr::rank_at(place), hop.blocks).wrapping()
}
