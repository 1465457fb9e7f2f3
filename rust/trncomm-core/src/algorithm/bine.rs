//! Bine trees: binomial trees with shorter ways, from numbers in base −2.
//!
//! In step s = ⌈log₂ N⌉−1, …, 0 every rank v that has the data, counted from the root, passes it on over a distance of
//! ρ(s) = (1 − (−2)^(s+1))/3 = 1, −1, 3, −5, 11, …: forwards if v is even, backwards if it is odd. The distances are
//! two thirds of the binomial tree's, to both sides. Where N is not a power of two, some ranks would hear twice; the
//! later message is left out. Ranks' parity is that of the number reached without wrapping, so that odd N work, too.
//! Reduce is the same backwards.
//!
//! On a full crossbar of bandwidth B both take ⌈log₂ N⌉·(L + S/B) for S bytes. The butterflies of the same paper
//! exchange as [Swing](super::swing) does.

use super::swing::rho;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const BINE: Algorithm = Algorithm {
    name: "bine",
    summary: "binomial trees over both sides of the root: ceil(log2 N) steps, a third less distance",
    source: "De Sensi et al., SC'25, arXiv 2508.17311, section 3",
    collectives: &[Collective::Broadcast, Collective::Reduce],
    ranks: "any",
    parameters: &[],
    build,
};

/// A rank of the tree, counted from the root.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Links {
    parent: Option<i64>,
    /// In the order in which they hear.
    children: Vec<i64>,
}

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let tree = tree(ranks);
    let whole = || Chunks::one(Buffer::Output, 0);
    let away = |by: i64| Place::shift(0, Expr::from(by));
    let program_of = |links: &&Links| {
        let Links { parent, children } = links;
        let up = parent.iter().map(|&by| away(by));
        let down = children.iter().map(|&by| away(by));
        Program::single(if request.collective() == Collective::Broadcast {
            let receive = up.map(|place| Instruction::receive(place, whole()));
            receive
                .chain(down.map(|place| Instruction::send(place, whole())))
                .collect()
        } else {
            let reduce = down.rev().map(|place| Instruction::reduce(place, whole()));
            reduce
                .chain(up.map(|place| Instruction::send(place, whole())))
                .collect()
        })
    };
    Ok(Schedule::by_role(
        BINE.name,
        request.in_place(),
        request.line()?,
        1,
        0,
        |rank| &tree[(rank as usize + ranks - request.root().index()) % ranks],
        program_of,
    )?)
}

fn tree(ranks: usize) -> Vec<Links> {
    let count = i64::try_from(ranks).expect("ranks fit 32 bits");
    let mut tree = vec![Links::default(); ranks];
    let mut heard = vec![false; ranks];
    heard[0] = true;
    // Who has the data, by the number reached without wrapping.
    let mut holders = vec![0i64];
    let index = |number: i64| usize::try_from(number.rem_euclid(count)).expect("a remainder");
    for step in (0..ranks.next_power_of_two().ilog2()).rev() {
        for holder in 0..holders.len() {
            let from = holders[holder];
            let by = if from % 2 == 0 { rho(step) } else { -rho(step) };
            let to = index(from + by);
            if !heard[to] {
                heard[to] = true;
                tree[index(from)].children.push(by);
                tree[to].parent = Some(-by);
                holders.push(from + by);
            }
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::tree;

    #[test]
    fn every_rank_but_the_root_hears_once() {
        for ranks in 1..600 {
            let tree = tree(ranks);
            assert!(tree[0].parent.is_none(), "{ranks}");
            assert!(tree[1..].iter().all(|links| links.parent.is_some()), "{ranks}");
        }
    }
}
