//! The pipelined chain: pieces pass from rank to rank, counted from the root.
//!
//! Every link carries the buffer once. On links of bandwidth B, n pieces of a buffer of S bytes take
//! (N−2+n)·(L + S/n / B), least near n = √((N−2)·S / (L·B)).

use super::pipeline::{self, PIECES};
use super::tree::Node;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::Schedule;

pub(super) const CHAIN: Algorithm = Algorithm {
    name: "chain",
    summary: "pieces pass from rank to rank: the bytes of one copy, N-2 more steps than pieces",
    source: "Chan et al., Concurrency Computat.: Pract. Exper. 19(13), 2007, section 6; NCCL, src/device/broadcast.h",
    collectives: &[Collective::Broadcast, Collective::Reduce],
    ranks: "any",
    parameters: &[PIECES],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    pipeline::schedule(&CHAIN, request, 1, |v| {
        vec![Node {
            parent: v.checked_sub(1),
            children: Vec::from_iter((v + 1 < ranks).then_some(v + 1)),
        }]
    })
}
