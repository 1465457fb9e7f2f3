//! Hierarchical all-to-all: one exchange along each level, instead of one with every rank.
//!
//! With levels d₁ … dₖ, the exchange along level k takes every block to the place within its group that it is
//! destined for; the one along level k−1 then moves what is destined for each group, all of its ranks' blocks in one
//! message, and so on out. Σ(dᵢ − 1) messages a rank instead of N − 1, and k·M bytes moved instead of M, of which the
//! outermost level carries no more than it must.

use super::levels::{LEVELS, levels};
use super::phases::{Phase, Plan};
use super::{Algorithm, Parameter, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Region, Schedule, Shape};

pub(super) const HIERARCHICAL_ALL_TO_ALL: Algorithm = Algorithm {
    name: "hierarchical_all_to_all",
    summary: "an exchange along each level, inside first: sum(d_i - 1) large messages instead of N - 1 small ones",
    source: "Hwang et al. (Tutel), arXiv 2206.03382, section 4.3 (two levels)",
    collectives: &[Collective::AllToAll],
    ranks: "any that the algorithms of the levels take",
    parameters: &[
        LEVELS,
        Parameter::algorithm("inner", "the algorithm of the innermost level", "direct"),
        Parameter::algorithm("outer", "the algorithm of the levels around it", "pairwise"),
    ],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let levels = levels(request)?;
    let last = levels.len() - 1;
    // Blocks travel from the input through an image of scratch after each level but the last to the output.
    let place = |done: usize| match done {
        0 => Region::INPUT,
        done if done > last => Region::OUTPUT,
        done => Region::scratch(done as u64 - 1),
    };
    let phase = |axis: usize| {
        let name = request.choice(if axis == last { "inner" } else { "outer" });
        let done = last - axis;
        Ok(Phase {
            from: place(done),
            to: place(done + 1),
            ..Phase::new(axis, &[], request.stage(Collective::AllToAll, &name, levels[axis])?)
        })
    };
    let phases: Result<Vec<Phase>, AlgorithmError> = (0..levels.len()).rev().map(phase).collect();
    Plan {
        name: HIERARCHICAL_ALL_TO_ALL.name,
        goal: request.out_of_place(),
        shape: Shape::new(&levels)?,
        order: (0..levels.len()).collect(),
        images: last as u64,
        parts: vec![phases?],
    }
    .build()
}
