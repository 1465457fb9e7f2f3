//! Schedules put together do what their parts do, in the order that was asked for.

use std::collections::BTreeMap;

use trncomm_core::algorithm;
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::Control;
use trncomm_core::error::ScheduleError;
use trncomm_core::ids::RankId;
use trncomm_core::proof::verify;
use trncomm_core::schedule::{
    Buffer, Chunks, Dim, Embedding, Instruction, Place, Program, Region, Schedule, Shape, View,
};
use trncomm_core::topology::{LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Time};

fn flat(collective: Collective, name: &str, ranks: usize) -> Schedule {
    let spec = LinkSpec {
        bandwidth: Bandwidth::new(1).expect("above zero"),
        latency: Time::ZERO,
    };
    let topology = Topology::switch(ranks, 1, spec).expect("a valid shape");
    algorithm::build(&topology, collective, name, RankId::new(0), BTreeMap::default()).expect("fits any number")
}

fn prove(schedule: Schedule, goal: Goal) {
    let schedule = schedule.claim("composed", goal).expect("a valid schedule");
    verify(&schedule, &mut |_| Control::Continue).unwrap_or_else(|error| panic!("{error}\n{schedule}"));
}

fn shape(extents: &[usize]) -> Shape {
    Shape::new(extents).expect("a valid shape")
}

/// The whole of a buffer of `chunks` chunks.
fn whole(chunks: u64) -> View {
    View::new(0, &[Dim::new(chunks, 1)], &[])
}

#[test]
fn reduce_scatter_and_all_gather_in_sequence_are_an_all_reduce() {
    let names = ["ring", "bidirectional_ring", "direct"];
    for first in names {
        for second in names {
            let parts = [
                flat(Collective::ReduceScatter, first, 6),
                flat(Collective::AllGather, second, 6),
            ];
            // The bidirectional ring cuts twice as finely; all are put into the finer cut.
            let line = shape(&[6]);
            let parts = parts.map(|part| {
                let each = 12 / part.chunks();
                let view = View::new(0, &[Dim::new(part.chunks(), each)], &[Dim::new(each, 1)]);
                let embedding = Embedding {
                    shape: &line,
                    axes: &[0],
                    chunks: 12,
                    view,
                    from: Region::OUTPUT,
                    to: Region::OUTPUT,
                    scratch: 0,
                };
                part.on(&embedding).expect("fits")
            });
            let both = Schedule::sequence(&parts).expect("alike");
            prove(both, Goal::in_place(Collective::AllReduce));
        }
    }
}

#[test]
fn a_stream_of_the_second_waits_for_all_streams_of_the_first() {
    let two = flat(Collective::ReduceScatter, "bidirectional_ring", 4);
    let sequence = Schedule::sequence(&[two.clone(), two]).expect("alike");
    let waits: Vec<(usize, Option<i64>)> = sequence.programs()[0]
        .streams
        .iter()
        .map(|stream| match stream.body[1] {
            // Each stream completes 3 sends and 3 receives.
            Instruction::Wait { stream, ref count } => (stream, count.constant()),
            ref other => panic!("expected a wait, got {other:?}"),
        })
        .collect();
    assert_eq!(waits, [(1, Some(6)), (0, Some(6))]);
}

#[test]
fn parts_side_by_side_use_channels_of_their_own() {
    let ring = flat(Collective::AllReduce, "bidirectional_ring", 4);
    let parallel = Schedule::parallel(&[ring.clone(), ring]).expect("alike");
    let channels: Vec<u32> = parallel.programs()[0]
        .streams
        .iter()
        .map(|stream| stream.channel)
        .collect();
    assert_eq!(channels, [0, 1, 2, 3]);
}

#[test]
fn a_schedule_of_two_axes_runs_on_any_two_axes_of_a_larger_shape() {
    let line = shape(&[2, 3]);
    // Peers named by number, so that the numbers must become coordinates on both axes.
    let by_number = Schedule::by_rank("by_number", Goal::in_place(Collective::AllReduce), line, 1, 1, |rank| {
        let whole = || Chunks::one(Buffer::Output, 0);
        let copy = || Chunks::one(Buffer::Scratch, 0);
        let others = || (0..6).filter(move |&other| other != i64::from(rank));
        let mut body = vec![Instruction::copy(whole(), copy())];
        body.extend(others().map(|other| Instruction::send(Place::rank(other), copy())));
        body.extend(others().map(|other| Instruction::reduce(Place::rank(other), whole())));
        Program::single(body)
    })
    .expect("a valid schedule");
    let large = shape(&[2, 5, 3]);
    let plane = |schedule: &Schedule| {
        schedule
            .on(&Embedding {
                shape: &large,
                axes: &[0, 2],
                chunks: 4,
                view: View::new(0, &[Dim::new(1, 4)], &[Dim::new(4, 1)]),
                from: Region::OUTPUT,
                to: Region::OUTPUT,
                scratch: 0,
            })
            .expect("fits")
    };
    let across = flat(Collective::AllReduce, "one_shot", 5)
        .on(&Embedding {
            shape: &large,
            axes: &[1],
            chunks: 4,
            view: View::new(0, &[Dim::new(1, 4)], &[Dim::new(4, 1)]),
            from: Region::OUTPUT,
            to: Region::OUTPUT,
            scratch: 1,
        })
        .expect("fits");
    let both = Schedule::sequence(&[plane(&by_number), across]).expect("alike");
    prove(both, Goal::in_place(Collective::AllReduce));
}

#[test]
fn an_in_place_schedule_finds_its_input_elsewhere_by_a_copy() {
    let line = shape(&[5]);
    let moved = flat(Collective::AllReduce, "bidirectional_ring", 5)
        .on(&Embedding {
            shape: &line,
            axes: &[0],
            chunks: 10,
            view: whole(10),
            from: Region::INPUT,
            to: Region::OUTPUT,
            scratch: 0,
        })
        .expect("fits");
    prove(moved, Goal::out_of_place(Collective::AllReduce));
}

#[test]
fn rounds_follow_each_other() {
    // Passing on what was received last, over 7 ranks: after 7 rounds each rank has its own again, after 8 that of the
    // rank before. The answer says that what was sent may be written over.
    let line = shape(&[7]);
    let mail = |buffer| Chunks::one(buffer, 0);
    let answer = || Chunks::one(Buffer::Scratch, 1);
    let pass = |rounds: u64| {
        let round = Program::parallel(vec![
            vec![
                Instruction::send(Place::shift(0, 1), mail(Buffer::Output)),
                Instruction::receive(Place::shift(0, -1), mail(Buffer::Scratch)),
                Instruction::send(Place::shift(0, -1), mail(Buffer::Scratch)),
                Instruction::receive(Place::shift(0, 1), answer()),
            ],
            vec![
                Instruction::Wait {
                    stream: 0,
                    count: 4.into(),
                },
                Instruction::copy(mail(Buffer::Scratch), mail(Buffer::Output)),
            ],
        ]);
        Schedule::uniform("pass", Goal::in_place(Collective::Custom), line.clone(), 1, 2, round)
            .expect("a valid schedule")
            .repeat(rounds)
            .expect("alike")
    };
    let goal = Goal::in_place(Collective::SendRecv);
    prove(pass(1), goal);
    prove(pass(8), goal);
    let back = pass(7).claim("pass", goal).expect("a valid schedule");
    assert!(verify(&back, &mut |_| Control::Continue).is_err());
}

#[test]
fn what_does_not_go_together_is_refused() {
    let (four, six) = (
        flat(Collective::AllReduce, "ring", 4),
        flat(Collective::AllReduce, "ring", 6),
    );
    assert!(matches!(
        Schedule::sequence(&[four.clone(), six]),
        Err(ScheduleError::Shape(_))
    ));
    assert!(matches!(Schedule::parallel(&[]), Err(ScheduleError::Shape(_))));
    let plane = shape(&[4, 5]);
    let embedding = |axis: &'static [usize], cut| Embedding {
        shape: &plane,
        axes: axis,
        chunks: 20,
        view: whole(cut),
        from: Region::OUTPUT,
        to: Region::OUTPUT,
        scratch: 0,
    };
    assert!(four.on(&embedding(&[0], 4)).is_ok());
    for (axes, cut) in [(&[1][..], 4), (&[2], 4), (&[0, 1], 4), (&[], 4), (&[0], 5)] {
        assert!(matches!(four.on(&embedding(axes, cut)), Err(ScheduleError::Shape(_))));
    }
}
