//! Sparbit: an all-gather that sends far first and little, near last and much, with every block in its place.
//!
//! With distances d that halve from 2^⌈log₂ N⌉⁻¹ to 1, rank r holds blocks r, r−2d, r−4d, … before the step of d, sends
//! those to r+d that still have N ranks or fewer to go, and holds r, r−d, r−2d, … after it. The blocks of a message are
//! 2d apart in the buffer, so that nothing is rotated, as Bruck's algorithm does at its end.
//!
//! On a full crossbar of bandwidth B an all-gather of S bytes takes ⌈log₂ N⌉·L + (N−1)·S/N / B. Pipelined and mirrored
//! it is PAT with messages of any number of blocks.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const SPARBIT: Algorithm = Algorithm {
    name: "sparbit",
    summary: "distances that halve, each with twice the blocks: ceil(log2 N) steps at any N, long ways for few bytes",
    source: "Loch and Koslovski, SBAC-PAD 2021 (arXiv 2109.08751)",
    collectives: &[Collective::AllGather],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let mut body = Vec::new();
    let mut distance = ranks.next_power_of_two() / 2;
    while distance > 0 {
        // Those of r − d, r − 3d, … that are fewer than N ranks back.
        let count = (ranks - distance).div_ceil(2 * distance);
        let blocks = |place: Place| {
            let furthest = Expr::rank_at(place) - Expr::from(2 * distance * (count - 1));
            Chunks::one(Buffer::Output, furthest)
                .repeat(count, 2 * distance as u64)
                .wrapping()
        };
        let before = || Place::shift(0, Expr::from(0) - distance);
        body.push(Instruction::send(
            Place::shift(0, Expr::from(distance)),
            blocks(Place::here()),
        ));
        body.push(Instruction::receive(before(), blocks(before())));
        distance /= 2;
    }
    Ok(Schedule::uniform(
        SPARBIT.name,
        request.in_place(),
        request.line()?,
        ranks as u64,
        0,
        Program::single(body),
    )?)
}
