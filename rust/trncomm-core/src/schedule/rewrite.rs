//! Programs rewritten part by part.

use super::expr::Expr;
use super::program::{Chunks, Instruction, Run};
use super::shape::{Move, Place};
use super::view::View;

/// What becomes of the parts of a program; each stays as it is unless said otherwise.
///
/// Parts are handed over after the expressions within them have been rewritten.
pub(super) trait Rewrite {
    fn variable(&self, depth: usize) -> Expr {
        Expr::Var(depth)
    }

    fn rank_at(&self, place: Place) -> Expr {
        Expr::rank_at(place)
    }

    fn coordinate_at(&self, place: Place, axis: usize) -> Expr {
        Expr::coordinate_at(place, axis)
    }

    fn step(&self, step: Move) -> Vec<Move> {
        vec![step]
    }

    fn selection(&self, chunks: Chunks) -> Chunks {
        chunks
    }

    fn wait(&self, stream: usize, count: Expr) -> Instruction {
        Instruction::Wait { stream, count }
    }

    fn expr(&self, expr: &Expr) -> Expr {
        match expr {
            Expr::Const(value) => Expr::Const(*value),
            Expr::Var(depth) => self.variable(*depth),
            Expr::RankAt(place) => self.rank_at(self.place(place)),
            Expr::CoordinateAt(place, axis) => self.coordinate_at(self.place(place), *axis),
            Expr::Binary(op, left, right) => Expr::binary(*op, self.expr(left), self.expr(right)),
        }
    }

    fn place(&self, place: &Place) -> Place {
        let moves = place.moves().iter().flat_map(|step| {
            self.step(match step {
                Move::Shift { axis, by } => Move::Shift {
                    axis: *axis,
                    by: self.expr(by),
                },
                Move::Xor { axis, mask } => Move::Xor {
                    axis: *axis,
                    mask: self.expr(mask),
                },
                Move::Set { axis, to } => Move::Set {
                    axis: *axis,
                    to: self.expr(to),
                },
                Move::Rank(number) => Move::Rank(self.expr(number)),
            })
        });
        Place::from_moves(moves.collect())
    }

    fn chunks(&self, chunks: &Chunks) -> Chunks {
        let runs = chunks.runs.iter().map(|run| Run {
            count: self.expr(&run.count),
            stride: run.stride,
        });
        let views = chunks.views.iter().map(|view| View {
            origin: self.expr(&view.origin),
            ..view.clone()
        });
        let selected = self.selection(Chunks {
            buffer: chunks.buffer,
            first: self.expr(&chunks.first),
            runs: runs.collect(),
            wraps: chunks.wraps,
            views: views.collect(),
            more: Vec::new(),
        });
        let more = chunks.more.iter().map(|part| self.chunks(part));
        more.fold(selected, Chunks::then)
    }

    fn body(&self, body: &[Instruction]) -> Vec<Instruction> {
        let rewritten = body.iter().map(|instruction| match instruction {
            Instruction::Send { to, chunks } => Instruction::Send {
                to: self.place(to),
                chunks: self.chunks(chunks),
            },
            Instruction::Receive { from, chunks, combine } => Instruction::Receive {
                from: self.place(from),
                chunks: self.chunks(chunks),
                combine: *combine,
            },
            Instruction::Copy { from, to, combine } => Instruction::Copy {
                from: self.chunks(from),
                to: self.chunks(to),
                combine: *combine,
            },
            Instruction::Wait { stream, count } => self.wait(*stream, self.expr(count)),
            Instruction::Compute { time } => Instruction::Compute { time: *time },
            Instruction::Loop { times, body } => Instruction::Loop {
                times: *times,
                body: self.body(body),
            },
        });
        rewritten.collect()
    }
}
