//! Bruck's algorithms, with the radix as a parameter: ⌈log N⌉ rounds to the base of the radix R, of up to
//! R−1 messages each, at any number of ranks.
//!
//! All-gather: when rank r holds w blocks r, r+1, …, r+w−1 (counted round the ranks), it hears from r+z·w their first
//! w blocks, for z = 1 … R−1, and so holds R·w; the last round is cut at N. Reduce-scatter is the same backwards, so
//! that the order of summation differs from block to block. On a full crossbar of bandwidth B, one message at a time,
//! S bytes take m·L + (N−1)·S/N / B, with m messages: ⌈log₂ N⌉ for radix 2.

use super::circulant::{self, Hop};
use super::{Algorithm, Parameter, Request, bruck_all_to_all};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::Schedule;

const RADIX: Parameter = Parameter::count(
    "radix",
    "how many times as many blocks a rank holds after a round; R-1 messages a round",
    2,
    2,
    1 << 20,
);

pub(super) const BRUCK: Algorithm = Algorithm {
    name: "bruck",
    summary: "ceil(log_R N) rounds at any N; all_to_all sends blocks several times to save messages",
    source: "Bruck et al., IEEE Trans. Parallel Distrib. Syst. 8(11), 1997; reversed: Träff, arXiv 2312.11236",
    collectives: &[Collective::ReduceScatter, Collective::AllGather, Collective::AllToAll],
    ranks: "any",
    parameters: &[RADIX],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let radix = usize::try_from(request.count(RADIX.name)).expect("at most 2^20");
    if request.collective() == Collective::AllToAll {
        return bruck_all_to_all::build(request, radix);
    }
    let mut rounds = Vec::new();
    let mut width = 1;
    while width < ranks {
        let hop = |skip: usize| Hop {
            skip,
            blocks: width.min(ranks - skip),
        };
        let skips = (1..radix).map(|z| z * width).take_while(|&skip| skip < ranks);
        rounds.push(skips.map(hop).collect());
        width *= radix;
    }
    circulant::schedule(&BRUCK, request, &rounds)
}
