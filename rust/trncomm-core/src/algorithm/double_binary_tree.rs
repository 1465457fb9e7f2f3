//! Two binary trees, each with half the buffer; who passes data on in one is a leaf of the other.
//!
//! All-reduce takes NCCL's pair: the second tree is the first one mirrored (rank r for N−1−r) where N is even, shifted
//! by one where it is odd; at odd N rank 0 has children in both. Broadcast and reduce need both trees below the same
//! root, which sends each half to one child: there the other ranks 1 … N−1, counted from the root, are mirrored at odd
//! N and shifted at even N, and none of them has children in both.
//!
//! With n pieces of S/2 bytes a tree, a pass takes about 2·(d−1+n)·(L + S/2n / B) for a depth of d, about
//! log₂ N: twice as fast as one tree, and with many pieces close to the S/B that a broadcast needs at least.

use super::pipeline::{self, PIECES};
use super::tree::Node;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::Schedule;

pub(super) const DOUBLE_BINARY_TREE: Algorithm = Algorithm {
    name: "double_binary_tree",
    summary: "two trees with half the data each, leaves of one inside the other: log2 N deep at full bandwidth",
    source: "Sanders, Speck and Träff, Parallel Computing 35(12), 2009; NCCL, src/graph/trees.cc",
    collectives: &[Collective::AllReduce, Collective::Broadcast, Collective::Reduce],
    ranks: "any",
    parameters: &[PIECES],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let rooted = request.collective().has_root();
    pipeline::schedule(&DOUBLE_BINARY_TREE, request, 2, |v| {
        let second = if rooted {
            rooted_second(v, ranks)
        } else {
            second(v, ranks)
        };
        vec![Node::new(v, ranks), second]
    })
}

/// The place of rank `v` in the second tree of an all-reduce over `n` ranks.
fn second(v: usize, n: usize) -> Node {
    if n.is_multiple_of(2) {
        let mirror = |v: usize| n - 1 - v;
        Node::renamed(v, n, mirror, mirror)
    } else {
        Node::renamed(v, n, |v| (v + n - 1) % n, |v| (v + 1) % n)
    }
}

/// The place of rank `v` in the second tree below rank 0 of `n` ranks.
fn rooted_second(v: usize, n: usize) -> Node {
    if n.is_multiple_of(2) {
        let old = |v: usize| match v {
            0 => 0,
            1 => n - 1,
            v => v - 1,
        };
        let new = |v: usize| match v {
            0 => 0,
            v if v == n - 1 => 1,
            v => v + 1,
        };
        Node::renamed(v, n, old, new)
    } else {
        let mirror = |v: usize| if v == 0 { 0 } else { n - v };
        Node::renamed(v, n, mirror, mirror)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interior_in_both(n: usize, second: impl Fn(usize, usize) -> Node) -> Vec<usize> {
        let both = |&v: &usize| Node::new(v, n).is_interior() && second(v, n).is_interior();
        (0..n).filter(both).collect()
    }

    #[test]
    fn no_rank_of_an_all_reduce_has_children_in_both_trees_at_even_counts() {
        for n in [2, 4, 6, 36, 96, 144] {
            assert_eq!(interior_in_both(n, second), [0; 0], "{n}");
        }
        for n in [3, 5, 35, 143, 145] {
            assert_eq!(interior_in_both(n, second), [0], "{n}");
        }
    }

    #[test]
    fn half_of_144_ranks_are_leaves_of_each_tree() {
        let leaves = |node: &dyn Fn(usize) -> Node| (0..144).filter(|&v| !node(v).is_interior()).count();
        assert_eq!(leaves(&|v| Node::new(v, 144)), 72);
        assert_eq!(leaves(&|v| second(v, 144)), 72);
    }

    #[test]
    fn only_the_root_of_a_broadcast_has_children_in_both_trees() {
        for n in 2..200 {
            assert_eq!(interior_in_both(n, rooted_second), [0], "{n}");
        }
    }
}
