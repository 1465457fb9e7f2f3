//! Which loop variables have a say in what a stream does, apart from how often it does it.

use super::code::{Step, StreamCode};
use super::expr::{Expr, Op, Site};
use super::shape::{Move, Place};
use super::{ChunkRef, MAX_DEPTH};

/// The loops of a stream, as far as a run that comes back to itself must know them.
#[derive(Debug)]
pub(crate) struct Loops {
    loops: Vec<Loop>,
    /// For each step, the loops around it, outermost first.
    around: Vec<[u32; MAX_DEPTH]>,
}

/// A loop of a stream.
#[derive(Debug)]
pub(crate) struct Loop {
    /// The nesting depth, which numbers the variable.
    pub(crate) depth: usize,
    /// How often the body runs.
    pub(crate) times: u64,
    /// Whether a peer or a size depends on the variable, or a wait in a way that isn't linear.
    pub(crate) steers: bool,
    /// The steps of the body that wait for a count which some variable is a part of.
    pub(crate) waits: Vec<usize>,
}

const NONE: u32 = u32::MAX;

impl Loops {
    /// Those of a stream.
    pub(crate) fn of(stream: &StreamCode<'_>) -> Self {
        let mut loops = Vec::new();
        let mut around = vec![[NONE; MAX_DEPTH]; stream.steps.len()];
        for (at, step) in stream.steps.iter().enumerate() {
            let Step::Enter { depth, times, exit } = *step else {
                continue;
            };
            let body = at + 1..exit;
            let number = u32::try_from(loops.len()).expect("a program has fewer than 2^32 loops");
            around[body.clone()].iter_mut().for_each(|loops| loops[depth] = number);
            let steps = || body.clone().map(|at| (at, &stream.steps[at]));
            let counts = |step: &Step<'_>| match step {
                Step::Wait { count, .. } => (0..MAX_DEPTH).any(|depth| count.depends_on(depth)),
                _ => false,
            };
            loops.push(Loop {
                depth,
                times,
                steers: steps().any(|(_, step)| steers(step, depth)),
                waits: steps().filter(|(_, step)| counts(step)).map(|(at, _)| at).collect(),
            });
        }
        Self { loops, around }
    }

    /// The loops around a step, outermost first; none past the last step.
    pub(crate) fn around(&self, position: usize) -> impl Iterator<Item = &Loop> {
        let around = self.around.get(position).copied().unwrap_or([NONE; MAX_DEPTH]);
        around
            .into_iter()
            .take_while(|&number| number != NONE)
            .map(|number| &self.loops[number as usize])
    }
}

impl StreamCode<'_> {
    /// The stream that a wait is for, and the count that it waits for when the loop variables are those of `site`.
    pub(crate) fn wait_at(&self, position: usize, site: &Site<'_>) -> Option<(usize, i64)> {
        match &self.steps[position] {
            Step::Wait { stream, count } => Some((*stream, count.value(site))),
            _ => None,
        }
    }
}

/// Whether the variable of that depth has a say in what a step does.
fn steers(step: &Step<'_>, depth: usize) -> bool {
    match step {
        Step::Send { to, chunks } => to.depends_on(depth) || chunks.size_depends_on(depth),
        Step::Receive { from, chunks, .. } => from.depends_on(depth) || chunks.size_depends_on(depth),
        Step::Copy { from, to, .. } => from.size_depends_on(depth) || to.size_depends_on(depth),
        Step::Wait { count, .. } => !count.is_linear_in(depth),
        Step::Compute { .. } | Step::Enter { .. } | Step::Again { .. } => false,
    }
}

impl ChunkRef<'_> {
    fn size_depends_on(&self, depth: usize) -> bool {
        self.fixed_size().is_none()
            && self.chunks().parts().any(|part| {
                part.first.depends_on(depth)
                    || part.runs.iter().any(|run| run.count.depends_on(depth))
                    || part.views.iter().any(|view| view.origin.depends_on(depth))
            })
    }
}

impl Place {
    fn depends_on(&self, depth: usize) -> bool {
        self.moves().iter().any(|step| match step {
            Move::Shift { by: expr, .. } | Move::Xor { mask: expr, .. } | Move::Set { to: expr, .. } => {
                expr.depends_on(depth)
            }
            Move::Rank(number) => number.depends_on(depth),
        })
    }
}

impl Expr {
    /// Whether the variable of that depth is a part of it.
    fn depends_on(&self, depth: usize) -> bool {
        match self {
            Self::Const(_) => false,
            Self::Var(var) => *var == depth,
            Self::RankAt(place) | Self::CoordinateAt(place, _) => place.depends_on(depth),
            Self::Binary(_, left, right) => left.depends_on(depth) || right.depends_on(depth),
        }
    }

    /// Whether it grows by the same each time that the variable of that depth grows by one.
    fn is_linear_in(&self, depth: usize) -> bool {
        match self {
            Self::Binary(Op::Add | Op::Sub, left, right) => left.is_linear_in(depth) && right.is_linear_in(depth),
            Self::Binary(Op::Mul, left, right) => {
                let is_free = |by: &Self| !(0..MAX_DEPTH).any(|depth| by.depends_on(depth));
                let scales = |by: &Self, expr: &Self| is_free(by) && expr.is_linear_in(depth);
                scales(left, right) || scales(right, left) || !self.depends_on(depth)
            }
            Self::Var(_) => true,
            _ => !self.depends_on(depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Collective, Goal};
    use crate::schedule::{Buffer, Chunks, Code, Instruction, Layout, Program, Schedule, Shape};
    use crate::units::Bytes;

    /// The loops around the innermost step of a schedule of one stream whose body is this, by depth, with what they
    /// steer.
    fn steering(size: u64, body: Vec<Instruction>) -> Vec<(u64, bool)> {
        let goal = Goal::in_place(Collective::AllReduce);
        let shape = Shape::new(&[4]).expect("a line");
        let schedule = Schedule::uniform("planted", goal, shape, 4, 0, Program::single(body)).expect("a schedule");
        let layout = Layout::new(Bytes::new(size), 1, 4).expect("whole elements");
        let code = Code::new(&schedule, layout).expect("code");
        let stream = &code.streams(0)[0];
        let loops = Loops::of(stream);
        let inner = stream.steps.iter().position(|step| matches!(step, Step::Send { .. }));
        let around = loops.around(inner.expect("a send"));
        around.map(|inside| (inside.times, inside.steers)).collect()
    }

    fn send(to: Place, first: Expr) -> Instruction {
        Instruction::send(to, Chunks::one(Buffer::Output, first % 4))
    }

    #[test]
    fn a_variable_steers_what_a_peer_or_a_size_depends_on_alone() {
        let ring = |inner| vec![Instruction::repeat(3u64, vec![Instruction::repeat(5u64, vec![inner])])];
        let next = || Place::shift(0, 1);
        let chunk = || Expr::rank() + Expr::var(1);
        // Equal chunks: it is only where they lie that depends on the variable.
        assert_eq!(steering(400, ring(send(next(), chunk()))), [(3, false), (5, false)]);
        // Chunks of 101 and 100 bytes.
        assert_eq!(steering(401, ring(send(next(), chunk()))), [(3, false), (5, true)]);
        assert_eq!(
            steering(400, ring(send(Place::shift(0, Expr::var(0) + 1), chunk()))),
            [(3, true), (5, false)]
        );
    }

    #[test]
    fn a_sum_with_constant_factors_is_linear_and_nothing_else() {
        let (i, j) = (|| Expr::var(0), || Expr::var(1));
        for linear in [i() * 3 + 1, Expr::rank() * i() - j(), j() * j(), Expr::from(7)] {
            assert!(linear.is_linear_in(0), "{linear}");
        }
        for other in [i() * i(), i() * j(), i() % 3, i() / 2, i().min(4), i() ^ 1] {
            assert!(!other.is_linear_in(0), "{other}");
        }
    }
}
