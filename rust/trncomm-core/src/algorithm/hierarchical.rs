//! Hierarchical: reduce-scatter inside groups, all-reduce across them, all-gather inside.
//!
//! With levels of extents d₁ (outermost) to dₖ, an all-reduce scatters along level k, then k−1, …, 2, reduces along
//! level 1 among ranks of the same place, and gathers back. All-gather goes from the outermost level in, so that the
//! outer links carry each block once, reduce-scatter from the innermost out. Each level uses any flat algorithm.
//!
//! With rings over X ranks a group and Y groups, an all-reduce of M bytes takes, where nothing contends,
//! 2(X−1)·(αᵢ + M/X·βᵢ) + 2(Y−1)·(αₑ + M/(XY)·βₑ): latency grows with X + Y, not with X·Y.

use super::levels::{LEVELS, levels};
use super::phases::{Plan, numbering, scatter_and_gather};
use super::{Algorithm, Parameter, Request};
use crate::collective::{Collective, Goal};
use crate::error::AlgorithmError;
use crate::schedule::{Schedule, Shape};

pub(super) const HIERARCHICAL: Algorithm = Algorithm {
    name: "hierarchical",
    summary: "reduce-scatter inside groups, all-reduce across, all-gather inside: steps add up instead of multiplying",
    source: "Neuron runtime documentation, inter-node collectives; Cho et al., MLSys 2019 (several levels)",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any that the algorithms of the levels take; a single level is that level's algorithm",
    parameters: &[
        LEVELS,
        Parameter::algorithm("inner", "the algorithm of the innermost level", "ring"),
        Parameter::algorithm("middle", "the algorithm of the levels between", "ring"),
        Parameter::algorithm("outer", "the algorithm of the outermost level", "ring"),
    ],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let levels = levels(request)?;
    let last = levels.len() - 1;
    let name = |axis: usize| {
        request.choice(match axis {
            0 => "outer",
            axis if axis == last => "inner",
            _ => "middle",
        })
    };
    along_levels(HIERARCHICAL.name, request, &levels, |collective, axis| {
        request.stage(collective, &name(axis), levels[axis])
    })
}

/// The collective by scattering from the innermost level out and gathering from the outermost in; `stage` makes the
/// algorithm of a collective along a level.
pub(super) fn along_levels(
    name: &'static str,
    request: &Request<'_>,
    levels: &[usize],
    stage: impl Fn(Collective, usize) -> Result<Schedule, AlgorithmError>,
) -> Result<Schedule, AlgorithmError> {
    let collective = request.collective();
    let inside_out: Vec<usize> = (0..levels.len()).rev().collect();
    Plan {
        name,
        goal: Goal::in_place(collective),
        shape: Shape::new(levels)?,
        order: numbering(collective, &inside_out),
        images: 0,
        parts: vec![scatter_and_gather(collective, &inside_out, stage)?],
    }
    .build()
}
