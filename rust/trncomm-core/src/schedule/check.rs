//! What must hold of every program, checked when a schedule is made.
//!
//! INVARIANT: after the check, evaluating an expression can't panic: axes and loop variables exist and divisors are
//! positive constants. Values out of range (a peer or a chunk that isn't there) depend on the rank and are found by
//! the rank machine.

use super::{Chunks, Expr, Instruction, MAX_DEPTH, Move, Op, Place, Schedule};
use crate::error::ScheduleError;

struct Checker<'a> {
    schedule: &'a Schedule,
    streams: usize,
    stream: usize,
}

impl Schedule {
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        for (index, program) in self.programs().iter().enumerate() {
            for (stream, code) in program.streams.iter().enumerate() {
                let checker = Checker {
                    schedule: self,
                    streams: program.streams.len(),
                    stream,
                };
                checker.body(&code.body, 0).map_err(|reason| ScheduleError::Malformed {
                    rank: self.first_rank_of(index),
                    stream,
                    reason,
                })?;
            }
        }
        Ok(())
    }
}

impl Checker<'_> {
    fn body(&self, body: &[Instruction], depth: usize) -> Result<(), String> {
        for instruction in body {
            match instruction {
                Instruction::Send { to: place, chunks }
                | Instruction::Receive {
                    from: place, chunks, ..
                } => {
                    self.place(place, depth)?;
                    self.chunks(chunks, depth)?;
                }
                Instruction::Copy { from, to, .. } => {
                    self.chunks(from, depth)?;
                    self.chunks(to, depth)?;
                }
                Instruction::Wait { stream, count } => {
                    self.expr(count, depth)?;
                    if *stream >= self.streams || *stream == self.stream {
                        return Err(format!(
                            "waits for stream {stream}; expected another of the rank's {} streams",
                            self.streams
                        ));
                    }
                }
                Instruction::Compute { .. } => {}
                Instruction::Loop { body, .. } => {
                    if depth == MAX_DEPTH {
                        return Err(format!("loops nest more than {MAX_DEPTH} deep"));
                    }
                    self.body(body, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn chunks(&self, chunks: &Chunks, depth: usize) -> Result<(), String> {
        if self.schedule.capacity(chunks.buffer) == 0 {
            return Err("uses scratch chunks, but the schedule has none".to_owned());
        }
        for part in chunks.parts() {
            if part.buffer != chunks.buffer {
                return Err(format!(
                    "joins chunks of {} and of {}; expected one buffer",
                    chunks.buffer.name(),
                    part.buffer.name()
                ));
            }
            self.expr(&part.first, depth)?;
            part.runs.iter().try_for_each(|run| self.expr(&run.count, depth))?;
            part.views.iter().try_for_each(|view| self.expr(&view.origin, depth))?;
        }
        Ok(())
    }

    fn place(&self, place: &Place, depth: usize) -> Result<(), String> {
        for step in place.moves() {
            let (axis, value) = match step {
                Move::Shift { axis, by: value } | Move::Xor { axis, mask: value } | Move::Set { axis, to: value } => {
                    (*axis, value)
                }
                Move::Rank(value) => (0, value),
            };
            self.axis(axis)?;
            self.expr(value, depth)?;
        }
        Ok(())
    }

    fn axis(&self, axis: usize) -> Result<(), String> {
        let count = self.schedule.shape().axes();
        if axis < count {
            Ok(())
        } else {
            Err(format!("uses axis {axis} of a shape with {count} axes"))
        }
    }

    fn expr(&self, expr: &Expr, depth: usize) -> Result<(), String> {
        match expr {
            Expr::Const(_) => Ok(()),
            Expr::Var(var) if *var < depth => Ok(()),
            Expr::Var(var) => Err(format!("uses the variable of loop {var} inside {depth} loops")),
            Expr::RankAt(place) => self.place(place, depth),
            Expr::CoordinateAt(place, axis) => self.axis(*axis).and_then(|()| self.place(place, depth)),
            Expr::Binary(op, left, right) => {
                if matches!(op, Op::Div | Op::Mod) && right.constant().is_none_or(|divisor| divisor <= 0) {
                    return Err(format!("divides by {right}; expected a positive constant"));
                }
                self.expr(left, depth).and_then(|()| self.expr(right, depth))
            }
        }
    }
}
