//! PAT: binomial trees, one for every block, shifted so that all ranks do the same; far ranks first, with few blocks.
//!
//! All-gather: the block of rank r+s reaches r from r + 2^k, with k the lowest bit of s. So for d = 2^k, from the
//! greatest below N down to 1, r hears from r+d the blocks r+d, r+3d, r+5d, …: those a multiple of 2d away from r+d,
//! which r+d has by then. Reduce-scatter is the same backwards. A message holds at most `blocks` blocks: with the
//! default ⌈log₂ N⌉ messages, with one block each N−1 messages, N−1 blocks always. On a full crossbar of bandwidth B,
//! S bytes in m messages take m·L + (N−1)·S/N / B.

use super::{Algorithm, Parameter, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

const BLOCKS: Parameter = Parameter::count(
    "blocks",
    "the most blocks in a message, as the buffers allow: fewer means more messages",
    1 << 32,
    1,
    1 << 32,
);

pub(super) const PAT: Algorithm = Algorithm {
    name: "pat",
    summary: "shifted binomial trees, far ranks first with few blocks: ceil(log2 N) steps at any N",
    source: "Jeaugey, arXiv 2506.20252; NCCL 2.23, src/include/collectives.h",
    collectives: &[Collective::ReduceScatter, Collective::AllGather],
    ranks: "any",
    parameters: &[BLOCKS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let most = usize::try_from(request.count(BLOCKS.name)).unwrap_or(usize::MAX);
    let scatters = request.collective() == Collective::ReduceScatter;
    let bits = ranks.next_power_of_two().ilog2();
    let mut body = Vec::new();
    for bit in 0..bits {
        let distance = 1usize << if scatters { bit } else { bits - 1 - bit };
        let count = (ranks - distance).div_ceil(2 * distance);
        let cuts = (0..count).step_by(most.min(count));
        let messages: Vec<(usize, usize)> = cuts.map(|first| (first, most.min(count - first))).collect();
        let away = |direction: i64| Place::shift(0, Expr::from(direction) * distance);
        let blocks = |place: Place, first: usize, count: usize| {
            Chunks::one(Buffer::Output, Expr::rank_at(place) + first * 2 * distance)
                .repeat(count, 2 * distance as u64)
                .wrapping()
        };
        for &(first, count) in &messages {
            body.push(if scatters {
                Instruction::send(away(1), blocks(away(1), first, count))
            } else {
                Instruction::send(away(-1), blocks(Place::here(), first, count))
            });
        }
        for &(first, count) in &messages {
            body.push(if scatters {
                Instruction::reduce(away(-1), blocks(Place::here(), first, count))
            } else {
                Instruction::receive(away(1), blocks(away(1), first, count))
            });
        }
    }
    Ok(Schedule::uniform(
        PAT.name,
        request.in_place(),
        request.line()?,
        ranks as u64,
        0,
        Program::single(body),
    )?)
}
