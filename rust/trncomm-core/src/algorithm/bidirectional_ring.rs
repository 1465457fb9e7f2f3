//! Two rings in opposite directions, each with half of every block.
//!
//! On a ring with links both ways it takes half of what one ring takes for the bytes, and as many steps.

use super::{Algorithm, Request, ring};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Program, Schedule};

pub(super) const BIDIRECTIONAL_RING: Algorithm = Algorithm {
    name: "bidirectional_ring",
    summary: "two rings in opposite directions, each with half the data: both directions of every link are used",
    source: "Chan et al., Concurrency Computat.: Pract. Exper. 19(13), 2007; two directed rings on one cycle",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let half = |which: i64| move |index: Expr| Chunks::one(Buffer::Output, index * 2 + which);
    let program = Program::parallel(vec![
        ring::passes(request.collective(), ranks, 1, &half(0)),
        ring::passes(request.collective(), ranks, -1, &half(1)),
    ]);
    let name = BIDIRECTIONAL_RING.name;
    Ok(Schedule::uniform(
        name,
        request.in_place(),
        request.line()?,
        2 * ranks as u64,
        0,
        program,
    )?)
}
