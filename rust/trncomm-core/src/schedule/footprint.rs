//! How much memory a schedule takes.

use std::mem::{size_of, size_of_val};

use super::{Chunks, Expr, Instruction, Move, Place, Roles, Schedule};

impl Schedule {
    /// The bytes of memory that it takes, counting what its vectors hold and not what they have room for.
    pub fn footprint(&self) -> usize {
        let streams = self.programs.iter().flat_map(|program| &program.streams);
        let roles = match &self.roles {
            Roles::Same => 0,
            Roles::Table(table) => size_of_val(table.as_slice()),
        };
        size_of_val(self)
            + self.name.len()
            + 2 * size_of_val(self.shape.extents())
            + roles
            + size_of_val(self.programs.as_slice())
            + streams
                .map(|stream| size_of_val(stream) + body(&stream.body))
                .sum::<usize>()
    }
}

fn body(instructions: &[Instruction]) -> usize {
    size_of_val(instructions) + instructions.iter().map(instruction).sum::<usize>()
}

/// What an instruction holds beside itself; so do the functions below.
fn instruction(instruction: &Instruction) -> usize {
    match instruction {
        Instruction::Send { to: at, chunks: data }
        | Instruction::Receive {
            from: at, chunks: data, ..
        } => place(at) + chunks(data),
        Instruction::Copy { from, to, .. } => chunks(from) + chunks(to),
        Instruction::Wait { count, .. } => expr(count),
        Instruction::Compute { .. } => 0,
        Instruction::Loop { body: inner, .. } => body(inner),
    }
}

fn chunks(chunks: &Chunks) -> usize {
    let counts = chunks.runs.iter().map(|run| expr(&run.count));
    expr(&chunks.first) + size_of_val(chunks.runs.as_slice()) + counts.sum::<usize>()
}

fn place(place: &Place) -> usize {
    let inner = place.moves().iter().map(|step| match step {
        Move::Shift { by: value, .. }
        | Move::Xor { mask: value, .. }
        | Move::Set { to: value, .. }
        | Move::Rank(value) => expr(value),
    });
    size_of_val(place.moves()) + inner.sum::<usize>()
}

fn expr(value: &Expr) -> usize {
    match value {
        Expr::Const(_) | Expr::Var(_) => 0,
        Expr::RankAt(at) | Expr::CoordinateAt(at, _) => size_of::<Place>() + place(at),
        Expr::Binary(_, left, right) => 2 * size_of::<Expr>() + expr(left) + expr(right),
    }
}
