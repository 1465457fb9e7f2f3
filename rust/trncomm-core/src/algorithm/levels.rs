//! The levels of a hierarchy of ranks: the topology's own, or as told.

use super::{Parameter, Request};
use crate::error::AlgorithmError;

pub(super) const LEVELS: Parameter = Parameter::counts(
    "levels",
    "extents of the levels, outermost first, whose product divides the number of ranks (what is left over is a level \
     around them); the topology's shape where nothing is said",
);

/// The extents of the levels that [`LEVELS`] asks for, outermost first, without levels of one; at least one level.
pub(super) fn levels(request: &Request<'_>) -> Result<Vec<usize>, AlgorithmError> {
    let ranks = request.ranks();
    let told = request.counts(LEVELS.name);
    if told.is_empty() {
        return Ok(not_alone(request.extents().to_vec()));
    }
    let product = told
        .iter()
        .try_fold(1, |product: u64, &level| product.checked_mul(level));
    match product.and_then(|product| usize::try_from(product).ok()) {
        Some(product) if ranks.is_multiple_of(product) => {
            let told = told
                .iter()
                .map(|&level| usize::try_from(level).expect("divides the ranks"));
            Ok(not_alone(std::iter::once(ranks / product).chain(told).collect()))
        }
        _ => Err(request.not_applicable(format!(
            "levels {told:?} must have a product that divides {ranks} (one of {}); leave them out for the topology's \
             own, {:?}",
            some_divisors(ranks),
            request.extents()
        ))),
    }
}

/// The levels of more than one rank, or one level of one.
pub(super) fn not_alone(mut levels: Vec<usize>) -> Vec<usize> {
    levels.retain(|&level| level > 1);
    if levels.is_empty() { vec![1] } else { levels }
}

fn some_divisors(ranks: usize) -> String {
    let small = (1..=ranks.isqrt()).filter(|divisor| ranks.is_multiple_of(*divisor));
    let mut divisors: Vec<usize> = small.flat_map(|divisor| [divisor, ranks / divisor]).collect();
    divisors.sort_unstable();
    divisors.dedup();
    let texts: Vec<String> = divisors.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
