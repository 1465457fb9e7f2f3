//! Schedules as text that a person can read.

use std::fmt;

use super::{Chunks, Combine, Dim, Expr, Instruction, Program, Roles, Schedule, View};

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goal = self.goal();
        write!(
            f,
            "{} {}: {} ranks {:?}",
            self.name(),
            goal.collective,
            self.ranks(),
            self.shape().extents()
        )?;
        write!(f, ", {} chunks", self.chunks())?;
        if self.scratch > 0 {
            write!(f, ", {} scratch chunks", self.scratch)?;
        }
        if goal.collective.has_root() {
            write!(f, ", root {}", goal.root)?;
        }
        writeln!(f)?;
        for (index, program) in self.programs().iter().enumerate() {
            match &self.roles {
                Roles::Same => writeln!(f, "every rank r:")?,
                Roles::Table(table) => {
                    let ranks: Vec<usize> = (0..table.len())
                        .filter(|&rank| table[rank] as usize == index)
                        .take(9)
                        .collect();
                    let listed: Vec<String> = ranks.iter().take(8).map(ToString::to_string).collect();
                    let more = if ranks.len() > 8 { ", …" } else { "" };
                    writeln!(f, "rank r in {}{more}:", listed.join(", "))?;
                }
            }
            write_program(f, program)?;
        }
        Ok(())
    }
}

fn write_program(f: &mut fmt::Formatter<'_>, program: &Program) -> fmt::Result {
    if program.streams.is_empty() {
        return writeln!(f, "  nothing");
    }
    for (index, stream) in program.streams.iter().enumerate() {
        writeln!(f, "  stream {index} (channel {}):", stream.channel)?;
        write_body(f, &stream.body, 0)?;
    }
    Ok(())
}

fn write_body(f: &mut fmt::Formatter<'_>, body: &[Instruction], depth: usize) -> fmt::Result {
    for instruction in body {
        write!(f, "{:indent$}", "", indent = 4 + 2 * depth)?;
        match instruction {
            Instruction::Send { to, chunks } => writeln!(f, "send {chunks} to {to}")?,
            Instruction::Receive {
                from,
                chunks,
                combine: Combine::Copy,
            } => {
                writeln!(f, "receive {chunks} from {from}")?;
            }
            Instruction::Receive {
                from,
                chunks,
                combine: Combine::Reduce,
            } => {
                writeln!(f, "reduce {chunks} from {from}")?;
            }
            Instruction::Copy {
                from,
                to,
                combine: Combine::Copy,
            } => writeln!(f, "copy {from} to {to}")?,
            Instruction::Copy {
                from,
                to,
                combine: Combine::Reduce,
            } => writeln!(f, "reduce {from} into {to}")?,
            Instruction::Wait { stream, count } => writeln!(f, "wait until stream {stream} has done {count}")?,
            Instruction::Compute { time } => writeln!(f, "compute {time}")?,
            Instruction::Loop { times, body } => {
                writeln!(f, "for {} in 0..{times}:", ["i", "j", "k", "l"][depth.min(3)])?;
                write_body(f, body, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// Prints `output[r - 1]`, `output[4 .. +3]` (three in a row), `input[0 .. +4 by 8 .. +2]` (a run of runs), and such
/// sets joined by `and`.
impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}", self.buffer.name(), self.first)?;
        for run in &self.runs {
            write!(f, " .. +{}", run.count)?;
            if run.stride != 1 {
                write!(f, " by {}", run.stride)?;
            }
        }
        f.write_str(if self.wraps { " wrapping]" } else { "]" })?;
        self.views.iter().try_for_each(|view| write!(f, " of ({view})"))?;
        self.more.iter().try_for_each(|part| write!(f, " and {part}"))
    }
}

/// Prints `x0 + 3 by 8, 2 by 1 of 2 by 4`: from `x0` on three chunks 8 apart, and two next to each other from each of
/// them, each of two chunks 4 apart.
impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = |dims: &[Dim]| {
            let texts: Vec<String> = dims
                .iter()
                .map(|dim| format!("{} by {}", dim.count, dim.stride))
                .collect();
            if texts.is_empty() {
                "1".to_owned()
            } else {
                texts.join(", ")
            }
        };
        if self.origin != Expr::Const(0) {
            write!(f, "{} + ", self.origin)?;
        }
        f.write_str(&dims(&self.grid))?;
        if self.cell.is_empty() {
            return Ok(());
        }
        write!(f, " of {}", dims(&self.cell))
    }
}
