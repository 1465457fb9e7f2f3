//! Recursive halving and doubling over any number of ranks.
//!
//! With p = 2^⌊log₂ N⌋ and e = N − p, the first 2e ranks form pairs. The even one of a pair hands its data to the odd
//! one and sits out; the p ranks that go on are numbered x: odd ranks r < 2e are x = (r−1)/2, ranks r ≥ 2e are
//! x = r − e. So rank x is rank x + min(x+1, e) of all, and answers for the blocks from x + min(x, e) up to
//! (x+1) + min(x+1, e): its own, and its partner's.
//!
//! Halving (reduce-scatter): for d = p/2, p/4, …, 1, x exchanges with x xor d; each sends the blocks of the other's
//! half and reduces those of its own. Doubling (all-gather) is the same backwards. All-reduce is one after the other.

use super::{Algorithm, Parameter, Request, recursive_all_reduce};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

const SOURCE: &str = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, sections 4.1, 4.3 and 4.5";
const NONE: &[Parameter] = &[];

pub(super) const HALVING_DOUBLING: Algorithm = Algorithm {
    name: "recursive_halving_doubling",
    summary: "reduce-scatter by halving, all-gather by doubling: 2 log2 N steps with the ring's bytes",
    source: SOURCE,
    collectives: &[Collective::AllReduce],
    ranks: "any; two more steps where N is not a power of two",
    parameters: NONE,
    build: |request| build(&HALVING_DOUBLING, request),
};

pub(super) const HALVING: Algorithm = Algorithm {
    name: "recursive_halving",
    summary: "exchanges of half the data, a quarter, …: log2 N steps with the ring's bytes",
    source: SOURCE,
    collectives: &[Collective::ReduceScatter],
    ranks: "any; two more steps where N is not a power of two",
    parameters: NONE,
    build: |request| build(&HALVING, request),
};

pub(super) const DOUBLING: Algorithm = Algorithm {
    name: "recursive_doubling",
    summary: "exchanges with ranks 1, 2, 4, … away: log2 N steps; all_reduce sends the whole buffer in each",
    source: SOURCE,
    collectives: &[Collective::AllReduce, Collective::AllGather],
    ranks: "any; two more steps where N is not a power of two",
    parameters: NONE,
    build: |request| match request.collective() {
        Collective::AllReduce => recursive_all_reduce::build(request),
        _ => build(&DOUBLING, request),
    },
};

/// The halves of the algorithm that a collective needs.
struct Parts {
    halving: bool,
    doubling: bool,
}

fn build(algorithm: &'static Algorithm, request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let parts = Parts {
        halving: request.collective().reduces(),
        doubling: request.collective() != Collective::ReduceScatter,
    };
    let fold = Fold::new(ranks);
    let program_of = |part: &Part| {
        Program::single(match part {
            Part::Alone => fold.exchanges(&parts, &(Expr::rank() - fold.extra)),
            Part::OddOfPair => fold.odd_of_pair(&parts),
            Part::EvenOfPair => fold.even_of_pair(&parts),
        })
    };
    Ok(Schedule::by_role(
        algorithm.name,
        request.in_place(),
        request.line()?,
        ranks as u64,
        0,
        |rank| fold.part_of(rank),
        program_of,
    )?)
}

/// How N ranks fold onto a power of two.
pub(super) struct Fold {
    /// The power of two.
    pub(super) active: usize,
    /// The number of pairs.
    pub(super) extra: usize,
    ranks: usize,
}

/// The part that a rank has in a fold.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// It isn't paired.
    Alone,
    /// It goes on for its pair.
    OddOfPair,
    /// It sits out.
    EvenOfPair,
}

impl Fold {
    pub(super) fn new(ranks: usize) -> Self {
        let active = 1 << ranks.ilog2();
        Self {
            active,
            extra: ranks - active,
            ranks,
        }
    }

    pub(super) fn part_of(&self, rank: u32) -> Part {
        if rank as usize >= 2 * self.extra {
            Part::Alone
        } else if rank % 2 == 1 {
            Part::OddOfPair
        } else {
            Part::EvenOfPair
        }
    }

    /// The blocks of the active ranks from `x` to `x + width`.
    fn blocks(&self, x: &Expr, width: usize) -> Chunks {
        let start = |x: Expr| x.clone() + x.min(self.extra);
        let first = start(x.clone());
        let count = start(x.clone() + width) - first.clone();
        Chunks::range(
            Buffer::Output,
            first,
            if self.extra == 0 { Expr::from(width) } else { count },
        )
    }

    fn everything(&self) -> Chunks {
        Chunks::range(Buffer::Output, 0, self.ranks)
    }

    /// All that rank `even` of a pair takes back: everything, but where it has handed over no more than its block, not
    /// that block, of which a message may still be under way.
    fn returned(&self, parts: &Parts, even: Expr) -> Chunks {
        if parts.halving {
            self.everything()
        } else {
            Chunks::range(Buffer::Output, even + 1, self.ranks - 1).wrapping()
        }
    }

    /// The active rank whose number differs from `x` in one bit.
    pub(super) fn across(&self, x: &Expr, distance: usize) -> Place {
        if self.extra == 0 {
            return Place::xor(0, distance);
        }
        let other = x.clone() ^ distance;
        Place::rank(other.clone() + (other + 1).min(self.extra))
    }

    /// The exchanges among active ranks, of which this is number `x`.
    fn exchanges(&self, parts: &Parts, x: &Expr) -> Vec<Instruction> {
        let mut body = Vec::new();
        let distances = || (0..self.active.ilog2()).map(|bit| 1usize << bit);
        // The first of the `distance` active ranks that x shares its half with.
        let half = |x: Expr, distance: usize| x / distance * distance;
        if parts.halving {
            for distance in distances().rev() {
                let other = || x.clone() ^ distance;
                let theirs = self.blocks(&half(other(), distance), distance);
                let ours = self.blocks(&half(x.clone(), distance), distance);
                body.push(Instruction::send(self.across(x, distance), theirs));
                body.push(Instruction::reduce(self.across(x, distance), ours));
            }
        }
        if parts.doubling {
            for distance in distances() {
                let other = || x.clone() ^ distance;
                let theirs = self.blocks(&half(other(), distance), distance);
                let ours = self.blocks(&half(x.clone(), distance), distance);
                body.push(Instruction::send(self.across(x, distance), ours));
                body.push(Instruction::receive(self.across(x, distance), theirs));
            }
        }
        body
    }

    /// The rank of a pair that goes on, for both.
    fn odd_of_pair(&self, parts: &Parts) -> Vec<Instruction> {
        let partner = || Place::shift(0, -1);
        let partners_block = || Chunks::one(Buffer::Output, Expr::rank() - 1);
        let mut body = Vec::new();
        if parts.halving {
            body.push(Instruction::reduce(partner(), self.everything()));
        } else {
            body.push(Instruction::receive(partner(), partners_block()));
        }
        body.extend(self.exchanges(parts, &((Expr::rank() - 1) / 2)));
        if parts.doubling {
            body.push(Instruction::send(partner(), self.returned(parts, Expr::rank() - 1)));
        } else {
            body.push(Instruction::send(partner(), partners_block()));
        }
        body
    }

    /// The rank of a pair that sits out.
    fn even_of_pair(&self, parts: &Parts) -> Vec<Instruction> {
        let partner = || Place::shift(0, 1);
        let own_block = || Chunks::one(Buffer::Output, Expr::rank());
        let hand_over = if parts.halving { self.everything() } else { own_block() };
        let take_back = if parts.doubling {
            self.returned(parts, Expr::rank())
        } else {
            own_block()
        };
        vec![
            Instruction::send(partner(), hand_over),
            Instruction::receive(partner(), take_back),
        ]
    }
}
