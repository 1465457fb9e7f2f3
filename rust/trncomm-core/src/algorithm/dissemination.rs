//! Dissemination barrier: in step k rank r tells r+2^k and hears from r−2^k.
//!
//! After ⌈log₂ N⌉ steps every rank has heard of every other; messages are empty, so it takes ⌈log₂ N⌉·L.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Instruction, Place, Program, Schedule};

pub(super) const DISSEMINATION: Algorithm = Algorithm {
    name: "dissemination",
    summary: "empty messages to ranks 1, 2, 4, … away: ceil(log2 N) steps",
    source: "Hensgen, Finkel and Manber, Int. J. Parallel Program. 17(1), 1988",
    collectives: &[Collective::Barrier],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let nothing = || Chunks::range(Buffer::Output, 0, 0);
    let steps = request.ranks().next_power_of_two().ilog2();
    let step = |bit: u32| {
        [
            Instruction::send(Place::shift(0, 1i64 << bit), nothing()),
            Instruction::receive(Place::shift(0, -(1i64 << bit)), nothing()),
        ]
    };
    Ok(Schedule::uniform(
        DISSEMINATION.name,
        request.in_place(),
        request.line()?,
        1,
        0,
        Program::single((0..steps).flat_map(step).collect()),
    )?)
}
