//! Swing: exchanges that swing between both sides, so that none is far.
//!
//! In step s an even rank exchanges with the rank ρ(s) = (1 − (−2)^(s+1))/3 = 1, −1, 3, −5, 11, … further on, an odd
//! rank with the one ρ(s) further back. An all-gather takes the steps downwards: in each a rank hears the blocks that
//! its partner has and it lacks. A reduce-scatter is the same backwards, nearest first with the most blocks. In ⌈log₂ N⌉
//! steps N−1 blocks are sent, for any even N.
//!
//! All even ranks exchange the same blocks, counted from their own, and odd ranks their mirror image. An all-reduce at
//! odd N cuts the buffer for N−1 ranks; the last rank hands its buffer to the one before it, and gets the result back.
//!
//! On a full crossbar of bandwidth B an all-gather of S bytes takes ⌈log₂ N⌉·L + (N−1)·S/N / B, an all-reduce twice
//! that; on a torus the links are shared: by a factor of up to 1.2 in two dimensions, 1.04 in three.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const SWING: Algorithm = Algorithm {
    name: "swing",
    summary: "exchanges to both sides in turn: log2 N steps with the ring's bytes, short ways on rings and tori",
    source: "De Sensi et al., NSDI 2024, arXiv 2401.09356, section 3",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "even numbers; any for all_reduce, with two more steps where N is odd",
    parameters: &[],
    build,
};

/// The distance of step `step`.
pub(super) fn rho(step: u32) -> i64 {
    (1 - (-2i64).pow(step + 1)) / 3
}

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    let collective = request.collective();
    let odd = ranks % 2 == 1 && ranks > 1;
    if odd && collective != Collective::AllReduce {
        return Err(request.not_applicable("even numbers work; bruck, circulant and pat serve any number"));
    }
    let active = if odd { ranks - 1 } else { ranks };
    let steps = steps(active);
    // Whether the rank is odd, the one beside the folded one, the folded one.
    let role_of = |rank: u32| {
        (
            rank % 2 == 1,
            odd && rank as usize + 1 == active,
            rank as usize == active,
        )
    };
    let program_of = |&(odd_rank, beside, folded): &(bool, bool, bool)| {
        if folded {
            return Program::single(vec![
                Instruction::send(Place::shift(0, -1), everything(active)),
                Instruction::receive(Place::shift(0, -1), everything(active)),
            ]);
        }
        let side = Side {
            sign: if odd_rank { -1 } else { 1 },
            active,
            folded: odd,
        };
        let mut body = Vec::new();
        if beside {
            body.push(Instruction::reduce(Place::shift(0, 1), everything(active)));
        }
        if collective.reduces() {
            body.extend(steps.iter().rev().flat_map(|step| side.reduce_scatter(step)));
        }
        if collective != Collective::ReduceScatter {
            body.extend(steps.iter().flat_map(|step| side.all_gather(step)));
        }
        if beside {
            body.push(Instruction::send(Place::shift(0, 1), everything(active)));
        }
        Program::single(body)
    };
    Ok(Schedule::by_role(
        SWING.name,
        request.in_place(),
        request.line()?,
        active as u64,
        0,
        role_of,
        program_of,
    )?)
}

fn everything(blocks: usize) -> Chunks {
    Chunks::range(Buffer::Output, 0, blocks)
}

/// A step of an all-gather as rank 0 sees it.
struct Step {
    /// How far away the partner is.
    distance: i64,
    /// The blocks that it hears, counted from its own.
    blocks: Vec<Progression>,
}

/// The steps of an all-gather over an even number of ranks, or one, furthest first.
fn steps(ranks: usize) -> Vec<Step> {
    let count = i64::try_from(ranks).expect("ranks fit 32 bits");
    let mut held = vec![false; ranks];
    held[0] = true;
    let index = |number: i64| usize::try_from(number.rem_euclid(count)).expect("a remainder");
    let step = |step: u32| {
        let distance = rho(step);
        // The partner holds the mirror image of what rank 0 holds.
        let heard: Vec<usize> = (0..ranks)
            .filter(|&block| {
                let image = distance - i64::try_from(block).expect("ranks fit 32 bits");
                !held[block] && held[index(image)]
            })
            .collect();
        for &block in &heard {
            held[block] = true;
        }
        Step {
            distance,
            blocks: progressions(&heard),
        }
    };
    (0..ranks.next_power_of_two().ilog2()).rev().map(step).collect()
}

/// Numbers at equal distances.
#[derive(Debug, PartialEq, Eq)]
struct Progression {
    first: usize,
    stride: usize,
    count: usize,
}

/// Ascending numbers as few progressions, which take turns: as many as the gaps between the numbers have a period.
fn progressions(numbers: &[usize]) -> Vec<Progression> {
    let gaps: Vec<usize> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let period = (1..=gaps.len())
        .find(|&period| gaps.iter().zip(&gaps[period..]).all(|(gap, later)| gap == later))
        .unwrap_or(1);
    let stride = gaps.iter().take(period).sum();
    let turns = numbers.iter().take(period).enumerate();
    turns
        .map(|(turn, &first)| Progression {
            first,
            stride,
            count: (numbers.len() - turn).div_ceil(period),
        })
        .collect()
}

/// What an even rank (sign 1) or an odd one (sign −1) does.
struct Side {
    sign: i64,
    active: usize,
    /// Whether there is a rank beyond the active ones.
    folded: bool,
}

impl Side {
    fn all_gather(&self, step: &Step) -> [Instruction; 2] {
        [
            Instruction::send(self.partner(step), self.theirs(step)),
            Instruction::receive(self.partner(step), self.ours(step)),
        ]
    }

    fn reduce_scatter(&self, step: &Step) -> [Instruction; 2] {
        [
            Instruction::send(self.partner(step), self.ours(step)),
            Instruction::reduce(self.partner(step), self.theirs(step)),
        ]
    }

    fn partner(&self, step: &Step) -> Place {
        let by = self.sign * step.distance;
        if self.folded {
            Place::rank((Expr::rank() + by) % self.active)
        } else {
            Place::shift(0, by)
        }
    }

    /// The blocks that the rank hears in an all-gather.
    fn ours(&self, step: &Step) -> Chunks {
        self.blocks(step, &Expr::rank(), self.sign)
    }

    /// The blocks that its partner hears.
    fn theirs(&self, step: &Step) -> Chunks {
        self.blocks(step, &(Expr::rank() + self.sign * step.distance), -self.sign)
    }

    /// The blocks of the step, counted from `anchor` forwards or backwards, and round the active ranks.
    fn blocks(&self, step: &Step, anchor: &Expr, sign: i64) -> Chunks {
        let parts = step.blocks.iter().map(|progression| {
            let stride = if sign > 0 || progression.stride == 0 {
                progression.stride
            } else {
                self.active - progression.stride
            };
            Chunks::one(Buffer::Output, anchor.clone() + Expr::from(progression.first) * sign)
                .repeat(progression.count, stride as u64)
                .wrapping()
        });
        parts
            .reduce(Chunks::then)
            .expect("a rank hears something in every step")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_all_gather_hears_every_other_block_once_at_every_even_number() {
        for ranks in (2..400).step_by(2) {
            let heard: usize = steps(ranks).iter().flat_map(|step| &step.blocks).map(|b| b.count).sum();
            assert_eq!(heard, ranks - 1);
        }
    }

    #[test]
    fn numbers_become_the_progressions_that_they_consist_of() {
        let numbers = |parts: &[Progression]| {
            let mut numbers: Vec<usize> = parts
                .iter()
                .flat_map(|p| (0..p.count).map(|i| p.first + i * p.stride))
                .collect();
            numbers.sort_unstable();
            numbers
        };
        for given in [&[3][..], &[1, 2, 5, 6, 9], &[0, 4, 8, 12], &[1, 2, 4, 8, 16]] {
            assert_eq!(numbers(&progressions(given)), given);
        }
        assert_eq!(progressions(&[1, 2, 5, 6, 9]).len(), 2);
        assert_eq!(progressions(&[]), []);
    }
}
