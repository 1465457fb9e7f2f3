//! `BlueConnect`: an all-reduce by rings along the factors of the number of ranks.
//!
//! With N = p₁·…·pₖ, reduce-scatter along pₖ, …, p₁, then all-gather back: 2·Σ(pᵢ − 1) steps and 2(N−1)/N·M
//! bytes, as many as one ring over all ranks, but each factor's on the links of one tier.

use super::hierarchical::along_levels;
use super::levels::{LEVELS, levels};
use super::{Algorithm, Request, ring};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::Schedule;

pub(super) const BLUECONNECT: Algorithm = Algorithm {
    name: "blueconnect",
    summary: "rings along each factor of N, one for each tier: the ring's bytes in 2 sum(p_i - 1) steps",
    source: "Cho, Finkler, Serrano, Kung and Hunter, MLSys 2019, pp. 241-251",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any",
    parameters: &[LEVELS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let levels = levels(request)?;
    along_levels(BLUECONNECT.name, request, &levels, |collective, axis| {
        ring::directed(collective, levels[axis], 1)
    })
}
