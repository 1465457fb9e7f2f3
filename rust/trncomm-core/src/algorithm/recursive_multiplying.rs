//! Recursive multiplying: whole vectors are exchanged, and each step multiplies the number of contributions.
//!
//! With N = k₁·…·kₛ, step i exchanges whole vectors among the kᵢ ranks that differ in digit i only. s steps and
//! Σ(kᵢ − 1)·M bytes a rank, against 2s steps and 2(N−1)/N·M for the k-nomial exchange. With radix 2 it is recursive
//! doubling. A rank sends from a copy, since the vector changes while it may still be read.

use super::k_nomial::{RADIX, factors};
use super::levels::LEVELS;
use super::phases::{Phase, Plan};
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Schedule, Shape};

pub(super) const RECURSIVE_MULTIPLYING: Algorithm = Algorithm {
    name: "recursive_multiplying",
    summary: "exchanges of whole vectors among k ranks at a time: log_k N steps, for small sizes",
    source: "Ruefenacht, Bull and Booth, Parallel Computing 69, 2017; MPICH allreduce_intra_recursive_multiplying",
    collectives: &[Collective::AllReduce],
    ranks: "any; a prime factor above the radix is one step",
    parameters: &[LEVELS, RADIX],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let factors = factors(request)?;
    let phase = |axis: usize| {
        let exchange = request.stage(Collective::AllReduce, "one_shot", factors[axis])?;
        Ok(Phase::new(axis, &[], exchange))
    };
    let phases: Result<Vec<Phase>, AlgorithmError> = (0..factors.len()).rev().map(phase).collect();
    Plan {
        name: RECURSIVE_MULTIPLYING.name,
        goal: request.in_place(),
        shape: Shape::new(&factors)?,
        order: (0..factors.len()).collect(),
        images: 0,
        parts: vec![phases?],
    }
    .build()
}
