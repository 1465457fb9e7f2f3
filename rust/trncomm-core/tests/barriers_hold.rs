//! A barrier that a rank can leave before all have arrived is refused.

use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::Control;
use trncomm_core::error::{ScheduleError, SimulationError};
use trncomm_core::proof::verify;
use trncomm_core::schedule::{Buffer, Chunks, Instruction, Place, Program, Schedule, Shape};

fn exchange(by: i64) -> [Instruction; 2] {
    let nothing = || Chunks::range(Buffer::Output, 0, 0);
    [
        Instruction::send(Place::shift(0, by), nothing()),
        Instruction::receive(Place::shift(0, -by), nothing()),
    ]
}

fn barrier(ranks: usize, distances: &[i64]) -> Schedule {
    let body = distances.iter().flat_map(|&by| exchange(by)).collect();
    let shape = Shape::new(&[ranks]).expect("a line");
    let goal = Goal::in_place(Collective::Barrier);
    Schedule::uniform("test", goal, shape, 1, 0, Program::single(body)).expect("well formed")
}

#[test]
fn a_rank_that_has_not_heard_of_all_others_may_not_leave() {
    assert!(verify(&barrier(8, &[1, 2, 4]), &mut |_| Control::Continue).is_ok());
    let error = verify(&barrier(8, &[1, 2]), &mut |_| Control::Continue).expect_err("half of the ranks are unheard");
    let unheard = vec![1, 2, 3, 4];
    assert_eq!(
        error,
        SimulationError::Schedule(ScheduleError::Unsynchronized { rank: 0, unheard })
    );
}
