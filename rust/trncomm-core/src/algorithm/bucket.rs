//! Bucket: rings along every dimension of a torus, in both directions, all dimensions busy at once.
//!
//! A D-dimensional torus runs 2D sub-collectives side by side, each on 1/(2D) of every block. Number c goes up (c < D)
//! or down, and scatters along dimensions c, c+1, …, c+D−1 modulo D one after the other; gathering goes backwards.
//! A reduce-scatter takes Σ(dᵢ − 1) steps; on a torus with equal extents every directed link carries
//! (N−1)/N·M/(2D), the optimum. With unequal ones, a×b: (a−1)(b+1)/(ab)·M/4 on the links of dimension a, and with a and
//! b exchanged on the others.

use super::levels::{LEVELS, levels};
use super::phases::{Phase, Plan, scatter_and_gather};
use super::{Algorithm, Request, ring};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Schedule, Shape};

pub(super) const BUCKET: Algorithm = Algorithm {
    name: "bucket",
    summary: "rings along each dimension of a torus, both ways, in rotated order: every link busy, sum(d_i - 1) steps",
    source: "Chan et al., Concurrency Computat.: Pract. Exper. 19(13), 2007; De Sensi et al., NSDI 2024, section 2.3",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any; made for tori",
    parameters: &[LEVELS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let extents = levels(request)?;
    let dimensions = extents.len();
    let part = |number: usize| {
        let direction = if number < dimensions { 1 } else { -1 };
        let order: Vec<usize> = (0..dimensions).map(|step| (number + step) % dimensions).collect();
        let half = |collective: Collective| {
            scatter_and_gather(collective, &order, |collective, axis| {
                ring::directed(collective, extents[axis], direction)
            })
        };
        match request.collective() {
            Collective::AllReduce => {
                let mut phases = half(Collective::ReduceScatter)?;
                phases.extend(half(Collective::AllGather)?);
                Ok(phases)
            }
            collective => half(collective),
        }
    };
    let parts: Result<Vec<Vec<Phase>>, AlgorithmError> = (0..2 * dimensions).map(part).collect();
    Plan {
        name: BUCKET.name,
        goal: request.in_place(),
        shape: Shape::new(&extents)?,
        order: (0..dimensions).collect(),
        images: 0,
        parts: parts?,
    }
    .build()
}
