//! Rings along Hamiltonian cycles of a torus that share no cable, each in both directions.
//!
//! With R directed rings, each takes 1/R of every block: N−1 steps a pass, as one ring, and 1/R of its time for the
//! bytes. On a torus of two dimensions two cycles make R = 4, and all links are busy all the time.
//!
//! Ranks are at places of a cycle that no shift describes, so each has a program of its own.

use super::hamiltonian::cycles;
use super::levels::{LEVELS, levels};
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const MULTI_RING: Algorithm = Algorithm {
    name: "multi_ring",
    summary: "rings along cycles of a torus that share no cable, both ways: the ring's steps, every link busy",
    source: "Neuron runtime documentation, intra-node ring (two Hamiltonian cycles of 4x4); Bae and Bose, 2003",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "up to 2^20 instructions in all; made for tori: two cycles where two extents are both even or both odd",
    parameters: &[LEVELS],
    build,
};

/// The most instructions of all programs together.
const MOST_INSTRUCTIONS: usize = 1 << 20;

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let extents = levels(request)?;
    let ranks = request.ranks();
    let steps = if request.collective() == Collective::AllReduce {
        2
    } else {
        ranks
    };
    if ranks * steps * 8 > MOST_INSTRUCTIONS {
        return Err(request.not_applicable(format!(
            "each rank has a program of its own, which is too much beyond {MOST_INSTRUCTIONS} instructions; bucket uses \
             every link of a torus of any size with one program"
        )));
    }
    let rings: Vec<Ring> = cycles(&extents)
        .into_iter()
        .flat_map(|cycle| {
            let back: Vec<usize> = cycle.iter().rev().copied().collect();
            [Ring::new(cycle), Ring::new(back)]
        })
        .collect();
    let program_of = |rank: u32| {
        let streams = rings.iter().enumerate().map(|(part, ring)| {
            let seat = Seat {
                ring,
                own: ring.places[rank as usize],
                part,
                parts: rings.len(),
            };
            seat.passes(request.collective())
        });
        Program::parallel(streams.collect())
    };
    let chunks = (ranks * rings.len()) as u64;
    Ok(Schedule::by_rank(
        MULTI_RING.name,
        request.in_place(),
        request.line()?,
        chunks,
        0,
        program_of,
    )?)
}

/// Ranks in the order in which a ring passes through them.
struct Ring {
    order: Vec<usize>,
    /// Where each rank stands in the order.
    places: Vec<usize>,
}

impl Ring {
    fn new(order: Vec<usize>) -> Self {
        let mut places = vec![0; order.len()];
        for (place, &rank) in order.iter().enumerate() {
            places[rank] = place;
        }
        Self { order, places }
    }
}

/// A rank's place in a ring, and the part of each block that the ring carries.
struct Seat<'a> {
    ring: &'a Ring,
    own: usize,
    part: usize,
    parts: usize,
}

impl Seat<'_> {
    fn ranks(&self) -> usize {
        self.ring.order.len()
    }

    /// The rank so many places further on.
    fn ahead(&self, steps: usize) -> Place {
        Place::rank(self.ring.order[(self.own + steps) % self.ranks()])
    }

    fn passes(&self, collective: Collective) -> Vec<Instruction> {
        match collective {
            Collective::AllReduce => self.by_place(),
            collective => self.by_rank(collective),
        }
    }

    /// Reduce-scatter and all-gather of blocks numbered by place, since any cut serves an all-reduce.
    fn by_place(&self) -> Vec<Instruction> {
        let (next, previous) = (|| self.ahead(1), || self.ahead(self.ranks() - 1));
        let block = |back: usize| {
            let place = (Expr::from(self.own + self.ranks() - back) - Expr::var(0)) % self.ranks();
            Chunks::one(Buffer::Output, place * self.parts + self.part)
        };
        let steps = self.ranks() - 1;
        let pass = |first: usize, receive: fn(Place, Chunks) -> Instruction| {
            Instruction::repeat(
                steps,
                vec![
                    Instruction::send(next(), block(first)),
                    receive(previous(), block(first + 1)),
                ],
            )
        };
        if steps == 0 {
            return Vec::new();
        }
        vec![pass(1, Instruction::reduce), pass(0, Instruction::receive)]
    }

    /// One pass of blocks that belong to ranks, whose numbers follow no rule along the ring.
    fn by_rank(&self, collective: Collective) -> Vec<Instruction> {
        let ranks = self.ranks();
        let block = |back: usize| {
            let owner = self.ring.order[(self.own + 2 * ranks - back) % ranks];
            Chunks::one(Buffer::Output, Expr::from(owner * self.parts + self.part))
        };
        let step = |step: usize| {
            let (next, previous) = (self.ahead(1), self.ahead(ranks - 1));
            if collective == Collective::ReduceScatter {
                [
                    Instruction::send(next, block(step + 1)),
                    Instruction::reduce(previous, block(step + 2)),
                ]
            } else {
                [
                    Instruction::send(next, block(step)),
                    Instruction::receive(previous, block(step + 1)),
                ]
            }
        };
        (0..ranks - 1).flat_map(step).collect()
    }
}
