//! Neighbour exchange: ranks exchange pairs of blocks with the next and the previous rank in turn.
//!
//! First the ranks of each pair 2k, 2k+1 exchange their blocks. Then an even rank exchanges with the rank before it,
//! then with the one after it, and so on, an odd rank the other way round; each sends the pair of blocks that it has
//! received last. An even rank so hears of the pairs 1 before, 1 after, 2 before, … its own. N/2 steps; on a ring of
//! bandwidth B, S bytes take N/2·L + (N−1)·S/N / B.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const NEIGHBOR_EXCHANGE: Algorithm = Algorithm {
    name: "neighbor_exchange",
    summary: "exchanges with both neighbours in turn, two blocks at a time: N/2 steps, no long ways",
    source: "Chen et al., CLUSTER 2005; Open MPI, coll_base_allgather.c",
    collectives: &[Collective::AllGather],
    ranks: "even numbers",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    if ranks % 2 == 1 && ranks > 1 {
        return Err(request.not_applicable("even numbers work; ring, bruck and pat serve any number"));
    }
    let steps = (ranks / 2).saturating_sub(1);
    let program_of = |&odd: &bool| {
        // To the other rank of the pair, and the way in which an odd rank mirrors an even one.
        let inwards = if odd { -1 } else { 1 };
        if ranks == 1 {
            return Program::default();
        }
        let partner = || Place::shift(0, inwards);
        let mut body = vec![
            Instruction::send(partner(), Chunks::one(Buffer::Output, Expr::rank())),
            Instruction::receive(partner(), Chunks::one(Buffer::Output, Expr::rank_at(partner()))),
        ];
        let pair = |by: Expr| {
            let first = Expr::rank() - i64::from(odd) + by * (2 * inwards);
            Chunks::range(Buffer::Output, first, 2).wrapping()
        };
        let outer = |turn: &Expr| {
            [
                Instruction::send(Place::shift(0, -inwards), pair(turn.clone())),
                Instruction::receive(Place::shift(0, -inwards), pair(Expr::from(-1) - turn.clone())),
            ]
        };
        let inner = |turn: &Expr| {
            [
                Instruction::send(partner(), pair(Expr::from(-1) - turn.clone())),
                Instruction::receive(partner(), pair(turn.clone() + 1)),
            ]
        };
        let turn = Expr::var(0);
        let both = outer(&turn).into_iter().chain(inner(&turn)).collect();
        body.push(Instruction::repeat(steps / 2, both));
        if steps % 2 == 1 {
            body.extend(outer(&Expr::from(steps / 2)));
        }
        Program::single(body)
    };
    Ok(Schedule::by_role(
        NEIGHBOR_EXCHANGE.name,
        request.in_place(),
        request.line()?,
        ranks as u64,
        0,
        |rank| rank % 2 == 1,
        program_of,
    )?)
}
