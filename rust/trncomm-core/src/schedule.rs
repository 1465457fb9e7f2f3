//! Schedules: what every rank does, in order, as a small program in the rank's own terms.
//!
//! A schedule holds no times and no sizes, so that one proof and one build serve every message size. Ranks that do
//! the same share a program; peers and chunks are expressions of the rank's place and of loop variables.

mod census;
mod check;
mod code;
mod compose;
mod expr;
mod footprint;
mod layout;
mod listing;
mod program;
mod recurs;
mod respects;
mod rewrite;
mod shape;
mod view;

use std::collections::HashMap;
use std::hash::Hash;

pub use code::{ChunkRef, Code, Step, StreamCode};
pub use compose::{Embedding, Region};
pub use expr::{Expr, MAX_DEPTH, Op, Site};
pub use layout::Layout;
pub use program::{Buffer, Chunks, Combine, Instruction, Program, Run, Stream};
pub(crate) use recurs::Loops;
pub use shape::{Move, Place, Shape};
pub use view::{Dim, View};

use crate::collective::Goal;
use crate::error::ScheduleError;

/// The programs of all ranks, and what they claim to achieve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    name: String,
    goal: Goal,
    shape: Shape,
    chunks: u64,
    scratch: u64,
    programs: Vec<Program>,
    roles: Roles,
}

/// Which program a rank runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Roles {
    /// All ranks run the one program.
    Same,
    /// Rank r runs program `table[r]`.
    Table(Vec<u32>),
}

impl Schedule {
    /// One program for all ranks.
    ///
    /// `chunks` is the number of chunks that the buffer is cut into, `scratch` the number of chunks of working space
    /// (chunk i of it has the size of chunk i modulo `chunks`).
    pub fn uniform(
        name: impl Into<String>,
        goal: Goal,
        shape: Shape,
        chunks: u64,
        scratch: u64,
        program: Program,
    ) -> Result<Self, ScheduleError> {
        Self::checked(name.into(), goal, shape, chunks, scratch, vec![program], Roles::Same)
    }

    /// A program for each rank, made by `program_of`; equal ones are kept once.
    ///
    /// Makes as many programs as there are ranks; [`Self::by_role`] makes fewer.
    pub fn by_rank(
        name: impl Into<String>,
        goal: Goal,
        shape: Shape,
        chunks: u64,
        scratch: u64,
        mut program_of: impl FnMut(u32) -> Program,
    ) -> Result<Self, ScheduleError> {
        Self::by_role(
            name,
            goal,
            shape,
            chunks,
            scratch,
            |rank| rank,
            |&rank| program_of(rank),
        )
    }

    /// A program for each role, made by `program_of`, where `role_of` gives the role of a rank; equal programs are kept
    /// once.
    pub fn by_role<R: Eq + Hash>(
        name: impl Into<String>,
        goal: Goal,
        shape: Shape,
        chunks: u64,
        scratch: u64,
        role_of: impl Fn(u32) -> R,
        mut program_of: impl FnMut(&R) -> Program,
    ) -> Result<Self, ScheduleError> {
        let ranks = u32::try_from(shape.ranks()).expect("a shape's ranks fit 32 bits");
        let mut known = HashMap::new();
        let mut seen = HashMap::new();
        let mut programs = Vec::new();
        let mut number = |program: Program| {
            *seen.entry(program).or_insert_with_key(|program| {
                programs.push(program.clone());
                u32::try_from(programs.len() - 1).expect("at most one program a rank")
            })
        };
        let table: Vec<u32> = (0..ranks)
            .map(|rank| {
                let role = role_of(rank);
                *known.entry(role).or_insert_with_key(|role| number(program_of(role)))
            })
            .collect();
        let roles = if programs.len() == 1 {
            Roles::Same
        } else {
            Roles::Table(table)
        };
        Self::checked(name.into(), goal, shape, chunks, scratch, programs, roles)
    }

    fn checked(
        name: String,
        goal: Goal,
        shape: Shape,
        chunks: u64,
        scratch: u64,
        programs: Vec<Program>,
        roles: Roles,
    ) -> Result<Self, ScheduleError> {
        if goal.root.index() >= shape.ranks() {
            return Err(ScheduleError::Shape(format!(
                "the root must be a rank from 0 to {}, got {}",
                shape.ranks() - 1,
                goal.root
            )));
        }
        if chunks == 0 {
            return Err(ScheduleError::Shape("a schedule needs at least one chunk".to_owned()));
        }
        if goal.collective.has_blocks() && !chunks.is_multiple_of(shape.ranks() as u64) {
            return Err(ScheduleError::Shape(format!(
                "{} needs a whole number of chunks a rank; {chunks} chunks over {} ranks are not",
                goal.collective,
                shape.ranks()
            )));
        }
        let schedule = Self {
            name,
            goal,
            shape,
            chunks,
            scratch,
            programs,
            roles,
        };
        schedule.check()?;
        Ok(schedule)
    }

    /// The name of the algorithm that made it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it claims to achieve.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// The logical shape of its ranks.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.shape.ranks()
    }

    /// The number of chunks that the buffer is cut into.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The number of chunks that `buffer` holds.
    pub fn capacity(&self, buffer: Buffer) -> u64 {
        match buffer {
            Buffer::Input | Buffer::Output => self.chunks,
            Buffer::Scratch => self.scratch,
        }
    }

    /// The distinct programs.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The index of the program that `rank` runs.
    pub fn program_of(&self, rank: u32) -> usize {
        match &self.roles {
            Roles::Same => 0,
            Roles::Table(table) => table[rank as usize] as usize,
        }
    }

    /// The first rank that runs the program, for messages about it.
    fn first_rank_of(&self, program: usize) -> u32 {
        match &self.roles {
            Roles::Same => 0,
            Roles::Table(table) => {
                let first = table.iter().position(|&role| role as usize == program).unwrap_or(0);
                u32::try_from(first).expect("a rank")
            }
        }
    }
}
