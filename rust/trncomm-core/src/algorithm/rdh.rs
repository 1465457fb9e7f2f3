//! Neuron's RDH: recursive halving and doubling on a torus read as a hypercube.
//!
//! An axis of 2^b chips gives b of the hypercube's axes. Its coordinates are counted in Gray code, so that on an axis of
//! 4 chips both of its steps go to neighbours: flipping digit i of the code turns coordinate c into c xor (2^(i+1) − 1).
//! log₂ N steps for a reduce-scatter or all-gather, with the ring's bytes, all over one cable where no axis exceeds 4.

use super::hierarchical::along_levels;
use super::levels::{LEVELS, levels};
use super::{Algorithm, Request};
use crate::collective::{Collective, Goal};
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

pub(super) const RDH: Algorithm = Algorithm {
    name: "rdh",
    summary: "halving and doubling on a torus read as a hypercube: log2 N steps between neighbours on axes up to 4",
    source: "Neuron runtime documentation, intra-node collectives, RDH (one rank a chip)",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "powers of two along every axis",
    parameters: &[LEVELS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let levels = levels(request)?;
    if !levels.iter().all(|level| level.is_power_of_two()) {
        return Err(request.not_applicable(format!(
            "every extent must be a power of two, got {levels:?}; k_nomial exchanges along any"
        )));
    }
    along_levels(RDH.name, request, &levels, |collective, axis| {
        along_axis(collective, levels[axis])
    })
}

/// Halving, doubling or both along a line of 2^b ranks.
fn along_axis(collective: Collective, ranks: usize) -> Result<Schedule, AlgorithmError> {
    let distances = || (0..ranks.ilog2()).map(|digit| 1usize << digit);
    let other = |distance: usize| Place::xor(0, 2 * distance - 1);
    // The blocks of the `distance` ranks that the rank at a place shares its half with.
    let half = |place: Place, distance: usize| {
        let first = Expr::coordinate_at(place, 0) / distance * distance;
        Chunks::range(Buffer::Output, first, distance)
    };
    let mut body = Vec::new();
    if collective.reduces() {
        for distance in distances().rev() {
            body.push(Instruction::send(other(distance), half(other(distance), distance)));
            body.push(Instruction::reduce(other(distance), half(Place::here(), distance)));
        }
    }
    if collective != Collective::ReduceScatter {
        for distance in distances() {
            body.push(Instruction::send(other(distance), half(Place::here(), distance)));
            body.push(Instruction::receive(other(distance), half(other(distance), distance)));
        }
    }
    let (goal, line) = (Goal::in_place(collective), Shape::new(&[ranks])?);
    Ok(Schedule::uniform(
        RDH.name,
        goal,
        line,
        ranks as u64,
        0,
        Program::single(body),
    )?)
}
