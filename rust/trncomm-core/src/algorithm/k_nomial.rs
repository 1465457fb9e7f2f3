//! k-nomial exchange with mixed radix: halving and doubling where a step joins more than two ranks.
//!
//! With N = k₁·…·kₛ, step i of a reduce-scatter exchanges among the kᵢ ranks that differ in digit i only: each sends
//! kᵢ − 1 messages, one to each other, and keeps 1/kᵢ of its data. All-gather is the same backwards, all-reduce one
//! after the other: 2·Σ(kᵢ − 1) messages in 2s steps, with the ring's bytes. No number of ranks needs folding.

use super::hierarchical::along_levels;
use super::levels::{LEVELS, levels};
use super::{Algorithm, Parameter, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::Schedule;

pub(super) const RADIX: Parameter = Parameter::count(
    "radix",
    "the most ranks that a step joins, where the levels aren't told; prime factors above it stay whole",
    8,
    2,
    1 << 20,
);

pub(super) const K_NOMIAL: Algorithm = Algorithm {
    name: "k_nomial",
    summary: "halving and doubling in mixed radix: a step joins k ranks directly, log_k N steps with the ring's bytes",
    source: "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, generalised; UCC, scatter-reduce all-gather k-nomial",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any; a prime factor above the radix is one step",
    parameters: &[LEVELS, RADIX],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let factors = factors(request)?;
    along_levels(K_NOMIAL.name, request, &factors, |collective, axis| {
        request.stage(collective, "direct", factors[axis])
    })
}

/// The levels that were told, or those of the topology split into factors of at most the radix.
pub(super) fn factors(request: &Request<'_>) -> Result<Vec<usize>, AlgorithmError> {
    let levels = levels(request)?;
    if !request.counts(LEVELS.name).is_empty() {
        return Ok(levels);
    }
    let radix = usize::try_from(request.count(RADIX.name)).expect("at most 2^20");
    Ok(levels.iter().flat_map(|&level| split(level, radix)).collect())
}

/// The greatest factors of at most `radix`, last one first taken; the rest where there is none.
fn split(mut level: usize, radix: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    while level > radix {
        let Some(factor) = (2..=radix).rev().find(|factor| level.is_multiple_of(*factor)) else {
            break;
        };
        factors.push(factor);
        level /= factor;
    }
    factors.push(level);
    factors.reverse();
    factors
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_level_splits_into_factors_up_to_the_radix() {
        assert_eq!(split(144, 8), [3, 6, 8]);
        assert_eq!(split(8, 8), [8]);
        assert_eq!(split(1, 2), [1]);
        assert_eq!(split(4 * 37, 4), [37, 4]);
        assert_eq!(split(64, 2), [2; 6]);
    }
}
