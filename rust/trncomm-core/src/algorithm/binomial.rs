//! The binomial tree: the number of ranks that have the data doubles with every step.
//!
//! Counted from the root, rank v hears from v with its lowest set bit cleared, and passes the data on to v + 2^k for
//! every k below that bit, furthest first.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Instruction, Place, Program, Schedule};

pub(super) const BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    summary: "a tree in which the ranks that have the data double with every step: ceil(log2 N) steps",
    source: "Chan et al., Concurrency Computat.: Pract. Exper. 19(13), 2007, section 4.1",
    collectives: &[Collective::Broadcast],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks() as u64;
    let root = u64::from(request.root().get());
    let whole = || Chunks::one(Buffer::Output, 0);
    let program_of = |rank: u32| {
        let from_root = (u64::from(rank) + ranks - root) % ranks;
        let reach = if from_root == 0 {
            ranks.next_power_of_two()
        } else {
            1 << from_root.trailing_zeros()
        };
        let mut body = Vec::new();
        if from_root != 0 {
            body.push(Instruction::receive(Place::shift(0, -reach.cast_signed()), whole()));
        }
        for step in (0..reach.trailing_zeros()).rev().map(|bit| 1 << bit) {
            if from_root + step < ranks {
                body.push(Instruction::send(Place::shift(0, step.cast_signed()), whole()));
            }
        }
        Program::single(body)
    };
    Ok(Schedule::by_rank(
        BINOMIAL.name,
        request.in_place(),
        request.line()?,
        1,
        0,
        program_of,
    )?)
}
