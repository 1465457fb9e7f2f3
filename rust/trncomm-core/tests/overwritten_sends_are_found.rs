//! A chunk that is written while a message posted from it may still be read is found, and nothing else is.

use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::Control;
use trncomm_core::error::{ScheduleError, SimulationError};
use trncomm_core::proof::{Proof, verify};
use trncomm_core::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

fn prove(ranks: usize, program: Program) -> Result<Proof, SimulationError> {
    let shape = Shape::new(&[ranks]).expect("a line");
    let goal = Goal::in_place(Collective::Custom);
    let schedule = Schedule::uniform("test", goal, shape, 2, 2, program).expect("well formed");
    verify(&schedule, &mut |_| Control::Continue)
}

fn output(index: i64) -> Chunks {
    Chunks::one(Buffer::Output, index)
}

fn next() -> Place {
    Place::shift(0, 1)
}

fn previous() -> Place {
    Place::shift(0, -1)
}

fn send(index: i64) -> Instruction {
    Instruction::send(next(), output(index))
}

#[test]
fn an_exchange_within_one_chunk_overwrites_what_is_leaving() {
    let error = prove(
        2,
        Program::single(vec![send(0), Instruction::receive(previous(), output(0))]),
    );
    assert_eq!(
        error,
        Err(SimulationError::Schedule(ScheduleError::Overwritten {
            rank: 0,
            buffer: "output",
            chunk: 0,
            stream: 0,
            instruction: 1,
            posted_by: 0,
            posted: 0,
        }))
    );
}

#[test]
fn an_answer_says_that_the_message_was_received() {
    let to_scratch = Instruction::receive(previous(), Chunks::one(Buffer::Scratch, 0));
    let body = vec![
        send(0),
        to_scratch,
        // On a ring of two the next message of the peer comes after it has received ours.
        send(1),
        Instruction::receive(previous(), output(0)),
    ];
    assert!(prove(2, Program::single(body.clone())).expect("safe").ordered);
    // On a ring of three it comes from the other neighbour, which knows nothing of our message.
    let error = prove(3, Program::single(body)).expect_err("unsafe");
    assert!(
        error.to_string().contains("writes output[0] in instruction 3"),
        "{error}"
    );
}

#[test]
fn a_local_copy_onto_a_leaving_chunk_is_found() {
    let body = vec![
        send(0),
        Instruction::copy(output(1), output(0)),
        Instruction::receive(previous(), output(1)),
    ];
    let error = prove(2, Program::single(body)).expect_err("unsafe");
    assert!(
        error.to_string().contains("writes output[0] in instruction 1"),
        "{error}"
    );
}

#[test]
fn a_wait_carries_what_the_other_stream_knew_and_no_more() {
    let scratch = || Chunks::one(Buffer::Scratch, 0);
    // Stream 0 sends and hears that the message was received with its third instruction; stream 1 then writes.
    let talk = vec![
        send(0),
        Instruction::receive(previous(), scratch()),
        send(1),
        Instruction::receive(previous(), scratch()),
    ];
    let write_after = |count: i64| {
        let wait = Instruction::Wait {
            stream: 0,
            count: Expr::from(count),
        };
        Program::parallel(vec![talk.clone(), vec![wait, Instruction::copy(output(1), output(0))]])
    };
    prove(2, write_after(4)).expect("stream 0 has heard of it");
    let error = prove(2, write_after(3)).expect_err("stream 0 has not heard of it yet");
    assert!(
        error.to_string().contains("instruction 1 of stream 1")
            && error.to_string().contains("instruction 0 of stream 0"),
        "{error}"
    );
}
