//! The pipelined binary tree, in order of ranks counted from the root.
//!
//! A rank with two children sends (or receives) every piece twice, so that n pieces of S bytes take about
//! (d−1+n)·2·(L + S/n / B) for a tree of depth d, one message at a time. All-reduce goes up and down at once.

use super::pipeline::{self, PIECES};
use super::tree::Node;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::Schedule;

pub(super) const BINARY_TREE: Algorithm = Algorithm {
    name: "binary_tree",
    summary: "pieces pass through a binary tree: about log2 N steps deep, twice the bytes at ranks with two children",
    source: "Sanders, Speck and Träff, Parallel Computing 35(12), 2009, section 2; NCCL, src/graph/trees.cc",
    collectives: &[Collective::AllReduce, Collective::Broadcast, Collective::Reduce],
    ranks: "any",
    parameters: &[PIECES],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    pipeline::schedule(&BINARY_TREE, request, 1, |v| vec![Node::new(v, ranks)])
}
