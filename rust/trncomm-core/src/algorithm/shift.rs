//! The plain exchange for `send_recv`: every rank sends its buffer to the next, all at once.
//!
//! One message each way a rank: L + S / B on links that aren't shared.

use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Instruction, Place, Program, Schedule};

pub(super) const SHIFT: Algorithm = Algorithm {
    name: "shift",
    summary: "every rank sends its buffer to the next rank in one message",
    source: "nccl-tests, sendrecv.cu",
    collectives: &[Collective::SendRecv],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let input = Chunks::one(Buffer::Input, 0);
    let output = Chunks::one(Buffer::Output, 0);
    let body = if request.ranks() == 1 {
        vec![Instruction::copy(input, output)]
    } else {
        vec![
            Instruction::send(Place::shift(0, 1), input),
            Instruction::receive(Place::shift(0, -1), output),
        ]
    };
    Ok(Schedule::uniform(
        SHIFT.name,
        request.out_of_place(),
        request.line()?,
        1,
        0,
        Program::single(body),
    )?)
}
