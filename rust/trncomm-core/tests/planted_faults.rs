//! A fault that is planted in a right schedule is found, and named with its ranks and chunks.

use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::Control;
use trncomm_core::error::{ScheduleError, SimulationError};
use trncomm_core::proof::{Method, Proof, verify};
use trncomm_core::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

/// The number of ranks of the schedules below.
const RANKS: usize = 4;

fn output(first: usize) -> Chunks {
    Chunks::one(Buffer::Output, first)
}

fn scratch(first: usize) -> Chunks {
    Chunks::one(Buffer::Scratch, first)
}

fn send(to: usize, chunks: Chunks) -> Instruction {
    Instruction::send(Place::rank(to), chunks)
}

fn receive(from: usize, chunks: Chunks) -> Instruction {
    Instruction::receive(Place::rank(from), chunks)
}

fn reduce(from: usize, chunks: Chunks) -> Instruction {
    Instruction::reduce(Place::rank(from), chunks)
}

fn prove(schedule: &Schedule) -> Result<Proof, SimulationError> {
    verify(schedule, &mut |_| Control::Continue)
}

/// What is wrong with the schedule in which every rank does as `bodies` says.
fn prove_bodies(collective: Collective, chunks: u64, bodies: &[Vec<Instruction>]) -> Result<Proof, SimulationError> {
    let shape = Shape::new(&[bodies.len()]).expect("a line");
    let goal = Goal::in_place(collective);
    let program_of = |rank: u32| Program::single(bodies[rank as usize].clone());
    prove(&Schedule::by_rank("planted", goal, shape, chunks, chunks, program_of).expect("well formed"))
}

fn fault(collective: Collective, chunks: u64, bodies: &[Vec<Instruction>]) -> ScheduleError {
    match prove_bodies(collective, chunks, bodies).expect_err("a planted fault") {
        SimulationError::Schedule(error) => error,
        other => panic!("expected a fault of the schedule, got {other}"),
    }
}

/// All-reduce of two chunks by way of rank 0: everyone hands over both, and gets both back.
fn star() -> Vec<Vec<Instruction>> {
    let both = || Chunks::range(Buffer::Output, 0, 2);
    let mut bodies = vec![Vec::new(); RANKS];
    for rank in 1..RANKS {
        bodies[0].push(reduce(rank, both()));
        bodies[rank] = vec![send(0, both()), receive(0, both())];
    }
    bodies[0].extend((1..RANKS).map(|rank| send(rank, both())));
    bodies
}

/// All-gather of a chunk from each rank, every one straight to every other.
fn exchange() -> Vec<Vec<Instruction>> {
    let others = |rank: usize| (0..RANKS).filter(move |&other| other != rank);
    let body = |rank: usize| {
        let sends = others(rank).map(|other| send(other, output(rank)));
        sends
            .chain(others(rank).map(|other| receive(other, output(other))))
            .collect()
    };
    (0..RANKS).map(body).collect()
}

/// The ring all-reduce.
fn ring(ranks: usize) -> Schedule {
    let block = |back: i64| output_at(Expr::rank_at(Place::shift(0, Expr::from(-back) - Expr::var(0))));
    let (to, from) = (|| Place::shift(0, 1), || Place::shift(0, -1));
    let program = Program::single(vec![
        Instruction::repeat(
            ranks - 1,
            vec![Instruction::send(to(), block(1)), Instruction::reduce(from(), block(2))],
        ),
        Instruction::repeat(
            ranks - 1,
            vec![
                Instruction::send(to(), block(0)),
                Instruction::receive(from(), block(1)),
            ],
        ),
    ]);
    let goal = Goal::in_place(Collective::AllReduce);
    let shape = Shape::new(&[ranks]).expect("a line");
    Schedule::uniform("ring", goal, shape, ranks as u64, 0, program).expect("well formed")
}

fn output_at(index: Expr) -> Chunks {
    Chunks::one(Buffer::Output, index)
}

#[test]
fn the_schedules_are_right_before_anything_is_planted() {
    let proof = prove_bodies(Collective::AllReduce, 2, &star()).expect("right");
    assert_eq!((proof.method, proof.messages, proof.chunks), (Method::Exact, 6, 8));
    let proof = prove_bodies(Collective::AllGather, 4, &exchange()).expect("right");
    assert_eq!((proof.method, proof.messages, proof.chunks), (Method::Exact, 12, 16));
    assert_eq!(prove(&ring(257)).expect("right").method, Method::Fingerprint);
}

#[test]
fn a_missing_contribution_names_who_is_missing_where() {
    let mut bodies = star();
    // Rank 2's data arrives, but goes where nobody looks.
    bodies[0][1] = receive(2, Chunks::range(Buffer::Scratch, 0, 2));
    let missing = fault(Collective::AllReduce, 2, &bodies);
    assert_eq!(
        missing,
        ScheduleError::Missing {
            rank: 0,
            chunk: 0,
            missing: vec![2],
        }
    );
    assert!(missing.to_string().contains("rank 2"), "{missing}");
}

#[test]
fn a_contribution_missing_from_one_chunk_of_one_rank_names_that_chunk() {
    let mut bodies = star();
    // Rank 3 takes chunk 1 back into scratch, and keeps its own.
    bodies[0].pop();
    bodies[0].extend([send(3, output(0)), send(3, output(1))]);
    bodies[3].pop();
    bodies[3].extend([receive(0, output(0)), receive(0, scratch(1))]);
    assert_eq!(
        fault(Collective::AllReduce, 2, &bodies),
        ScheduleError::Missing {
            rank: 3,
            chunk: 1,
            missing: vec![0, 1, 2],
        }
    );
}

#[test]
fn a_doubled_contribution_names_who_is_doubled_where() {
    let mut bodies = star();
    // Rank 1 hands its second chunk over once more.
    bodies[1].insert(1, send(0, output(1)));
    bodies[0].insert(1, reduce(1, output(1)));
    assert_eq!(
        fault(Collective::AllReduce, 2, &bodies),
        ScheduleError::Doubled {
            rank: 0,
            chunk: 1,
            doubled: vec![1],
        }
    );
}

#[test]
fn ranks_that_wait_for_each_other_in_a_circle_are_a_deadlock() {
    let mut bodies = exchange();
    // Ranks 1, 2 and 3 each wait for the next of them before they send it anything.
    for (rank, next) in [(1, 2), (2, 3), (3, 1)] {
        let at = bodies[rank]
            .iter()
            .position(|instruction| *instruction == receive(next, output(next)));
        let receive = bodies[rank].remove(at.expect("there"));
        bodies[rank].insert(0, receive);
    }
    // Rank 0 waits for all of them, too.
    assert_eq!(
        fault(Collective::AllGather, 4, &bodies),
        ScheduleError::Deadlock {
            waiting: 4,
            ranks: 4,
            first: "rank 0, stream 0, after 3 instructions, waits for a message from rank 1 on channel 0".to_owned(),
        }
    );
}

#[test]
fn streams_of_a_rank_that_wait_for_each_other_are_a_deadlock() {
    let wait = |stream| Instruction::Wait {
        stream,
        count: Expr::from(1),
    };
    let shape = Shape::new(&[3]).expect("a line");
    let goal = Goal::in_place(Collective::Custom);
    let schedule = Schedule::by_rank("planted", goal, shape, 1, 0, |rank| match rank {
        1 => Program::parallel(vec![vec![wait(1)], vec![wait(0)]]),
        _ => Program::default(),
    });
    let error = prove(&schedule.expect("well formed")).expect_err("nobody goes on");
    assert_eq!(
        error,
        SimulationError::Schedule(ScheduleError::Deadlock {
            waiting: 1,
            ranks: 3,
            first: "rank 1, stream 0, after 0 instructions, waits for stream 1 to complete 1 instructions (it has \
                    completed 0)"
                .to_owned(),
        })
    );
}

#[test]
fn a_message_that_nobody_sends_is_a_deadlock_of_the_rank_that_waits() {
    let mut bodies = star();
    bodies[3].remove(0);
    let error = fault(Collective::AllReduce, 2, &bodies);
    // Ranks 1 and 2 wait for rank 0, which waits for rank 3.
    assert_eq!(
        error,
        ScheduleError::Deadlock {
            waiting: 4,
            ranks: 4,
            first: "rank 0, stream 0, after 2 instructions, waits for a message from rank 3 on channel 0".to_owned(),
        }
    );
}

#[test]
fn a_message_that_nobody_receives_names_both_ends() {
    let mut bodies = exchange();
    bodies[2].push(send(1, output(2)));
    assert_eq!(
        fault(Collective::AllGather, 4, &bodies),
        ScheduleError::Unreceived {
            source_rank: 2,
            destination: 1,
            channel: 0,
        }
    );
}

#[test]
fn a_message_on_a_channel_that_nobody_listens_to_is_a_deadlock() {
    let shape = Shape::new(&[2]).expect("a line");
    let goal = Goal::in_place(Collective::Custom);
    let schedule = Schedule::by_rank("planted", goal, shape, 1, 0, |rank| match rank {
        0 => Program::parallel(vec![vec![], vec![send(1, output(0))]]),
        _ => Program::single(vec![receive(0, output(0))]),
    });
    let error = prove(&schedule.expect("well formed")).expect_err("channels differ");
    assert!(
        error.to_string().contains("rank 1, stream 0") && error.to_string().contains("from rank 0 on channel 0"),
        "{error}"
    );
}

#[test]
fn a_message_of_another_size_than_expected_names_both_sizes_and_both_ranks() {
    let mut bodies = star();
    bodies[2][0] = send(0, output(0));
    let error = fault(Collective::AllReduce, 2, &bodies);
    let ScheduleError::Malformed { rank, stream, reason } = error else {
        panic!("{error}");
    };
    assert_eq!((rank, stream), (0, 0));
    assert_eq!(
        reason,
        "1 chunks arrive where 2 are expected at output[0 .. +2], from rank 2"
    );
}

#[test]
fn a_chunk_that_is_sent_before_anything_is_in_it_is_named() {
    let mut bodies = exchange();
    // Rank 3 passes on rank 0's chunk before it has it.
    bodies[3][2] = send(2, output(0));
    let error = fault(Collective::AllGather, 4, &bodies);
    let ScheduleError::Malformed { rank, stream, reason } = error else {
        panic!("{error}");
    };
    assert_eq!((rank, stream), (3, 0));
    assert_eq!(reason, "reads output[0] before anything is in it");
}

#[test]
fn a_reduction_into_a_chunk_before_anything_is_in_it_is_named() {
    let mut bodies = star();
    bodies[0][0] = reduce(1, Chunks::range(Buffer::Scratch, 0, 2));
    let error = fault(Collective::AllReduce, 2, &bodies);
    let ScheduleError::Malformed { rank, reason, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(rank, 0);
    assert_eq!(
        reason,
        "reduces into a chunk before anything is in it at scratch[0 .. +2], from rank 1"
    );
}

#[test]
fn a_wrong_block_names_what_it_holds_and_what_it_should() {
    let mut bodies = exchange();
    // Rank 0 stores what it gets from 1 and 2 the wrong way round.
    bodies[0][3] = receive(1, output(2));
    bodies[0][4] = receive(2, output(1));
    assert_eq!(
        fault(Collective::AllGather, 4, &bodies),
        ScheduleError::Wrong {
            rank: 0,
            chunk: 1,
            detail: "it holds chunk 2 of rank 2, but should hold chunk 1 of rank 1".to_owned(),
        }
    );
}

#[test]
fn a_block_that_never_comes_is_missing() {
    let mut bodies = exchange();
    bodies[1].retain(|instruction| *instruction != send(3, output(1)));
    bodies[3].retain(|instruction| *instruction != receive(1, output(1)));
    assert_eq!(
        fault(Collective::AllGather, 4, &bodies),
        ScheduleError::Missing {
            rank: 3,
            chunk: 1,
            missing: vec![1],
        }
    );
}

#[test]
fn a_peer_that_is_not_there_is_named() {
    for (peer, named) in [
        (Place::rank(4), "r<=4>"),
        (Place::rank(-1), "r<=-1>"),
        (Place::rank(i64::MAX), "r<=9223372036854775807>"),
        (Place::xor(0, 4), "r<0:^4>"),
        (Place::rank(2), "itself"),
        (Place::here(), "itself"),
    ] {
        let mut bodies = exchange();
        bodies[2].insert(0, Instruction::send(peer, output(2)));
        let error = fault(Collective::AllGather, 4, &bodies);
        let ScheduleError::Malformed { rank, stream, reason } = error else {
            panic!("{error}");
        };
        assert_eq!((rank, stream), (2, 0));
        assert_eq!(
            reason,
            format!("names {named} as its peer; expected another of 4 ranks")
        );
    }
}

#[test]
fn a_chunk_that_is_not_there_is_named() {
    for (chunks, expected) in [
        (output(4), "1 chunks from output[4] on; output has 4"),
        (output_at(Expr::from(-1)), "1 chunks from output[-1] on; output has 4"),
        (
            Chunks::range(Buffer::Output, 2, 3),
            "3 chunks from output[2] on; output has 4",
        ),
        (scratch(7), "1 chunks from scratch[7] on; scratch has 4"),
        (
            Chunks::range(Buffer::Output, 0, 5),
            "a count of 5 chunks in output[0 .. +5]",
        ),
        (
            Chunks::range(Buffer::Output, 0, Expr::from(-1)),
            "a count of -1 chunks in output[0 .. +-1]",
        ),
    ] {
        let mut bodies = exchange();
        bodies[1].insert(0, send(2, chunks));
        let error = fault(Collective::AllGather, 4, &bodies);
        let ScheduleError::Malformed { rank, stream, reason } = error else {
            panic!("{error}");
        };
        assert_eq!((rank, stream), (1, 0));
        assert_eq!(reason, expected);
    }
}

#[test]
fn a_chunk_that_is_written_while_it_may_still_be_leaving_is_named() {
    let mut bodies = star();
    // Rank 1 clears its first chunk at once, without waiting for the answer.
    bodies[1].insert(1, Instruction::copy(output(1), output(0)));
    assert_eq!(
        fault(Collective::AllReduce, 2, &bodies),
        ScheduleError::Overwritten {
            rank: 1,
            buffer: "output",
            chunk: 0,
            stream: 0,
            instruction: 1,
            posted_by: 0,
            posted: 0,
        }
    );
}

#[test]
fn a_wrong_block_among_many_ranks_is_found_by_fingerprint() {
    let ranks = 300;
    let goal = Goal::in_place(Collective::Broadcast);
    let shape = Shape::new(&[ranks]).expect("a line");
    // A chain of ranks that pass the buffer on, in which rank 250 gives the next one its scratch.
    let schedule = Schedule::by_rank("chain", goal, shape, 2, 2, |rank| {
        let rank = rank as usize;
        let (both, both_of_scratch) = (
            || Chunks::range(Buffer::Output, 0, 2),
            || Chunks::range(Buffer::Scratch, 0, 2),
        );
        let mut body = Vec::new();
        if rank > 0 {
            body.push(receive(rank - 1, both()));
        }
        if rank + 1 < ranks {
            if rank == 250 {
                body.push(Instruction::copy(output(0), scratch(0)));
                body.push(Instruction::copy(output(0), scratch(1)));
                body.push(send(rank + 1, both_of_scratch()));
            } else {
                body.push(send(rank + 1, both()));
            }
        }
        Program::single(body)
    });
    assert_eq!(
        prove(&schedule.expect("well formed")),
        Err(SimulationError::Schedule(ScheduleError::Wrong {
            rank: 251,
            chunk: 1,
            detail: "its fingerprint isn't that of chunk 1 of rank 0".to_owned(),
        }))
    );
}
