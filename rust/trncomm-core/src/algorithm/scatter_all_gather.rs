//! Van de Geijn's broadcast: a binomial scatter, then an all-gather round the ring.
//!
//! On a full crossbar of bandwidth B, S bytes take ⌈log₂ N⌉·L + (N−1)/N·S / B for the scatter, and
//! (N−1)·(L + S/N / B) for the ring: about twice the least time for large buffers, at any N.

use super::binomial::Role;
use super::{Algorithm, Request, ring};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Program, Schedule};

pub(super) const SCATTER_ALL_GATHER: Algorithm = Algorithm {
    name: "scatter_all_gather",
    summary: "scatters blocks along a binomial tree, gathers them round a ring: twice the least bytes",
    source: "Chan et al., Concurrency Computat.: Pract. Exper. 19(13), 2007, section 7.1",
    collectives: &[Collective::Broadcast],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let block = |index: Expr| Chunks::one(Buffer::Output, index);
    let program_of = |role: &Role| {
        let mut body = role.instructions(Collective::Scatter);
        body.extend(ring::passes(Collective::AllGather, ranks, 1, &block));
        Program::single(body)
    };
    Ok(Schedule::by_role(
        SCATTER_ALL_GATHER.name,
        request.in_place(),
        request.line()?,
        ranks as u64,
        0,
        |rank| Role::new(request, rank),
        program_of,
    )?)
}
