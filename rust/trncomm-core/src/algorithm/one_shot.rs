//! One-shot all-reduce: every rank sends its whole buffer to every other and reduces what arrives.
//!
//! Works from the input to the output buffer, since the input must stay as it is until it has been sent.

use super::direct::{after, before};
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Instruction, Program, Schedule};

pub(super) const ONE_SHOT: Algorithm = Algorithm {
    name: "one_shot",
    summary: "every rank sends its whole buffer to every other: one step, N-1 times the bytes",
    source: "Neuron runtime documentation, single-step mesh; MSCCL++ one-shot all-pairs",
    collectives: &[Collective::AllReduce],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let (shape, extents) = request.grid()?;
    let others = request.ranks() - 1;
    let input = || Chunks::one(Buffer::Input, 0);
    let output = || Chunks::one(Buffer::Output, 0);
    let program = Program::single(vec![
        Instruction::copy(input(), output()),
        Instruction::repeat(others, vec![Instruction::send(after(&extents), input())]),
        Instruction::repeat(others, vec![Instruction::reduce(before(&extents), output())]),
    ]);
    Ok(Schedule::uniform(
        ONE_SHOT.name,
        request.out_of_place(),
        shape,
        1,
        0,
        program,
    )?)
}
