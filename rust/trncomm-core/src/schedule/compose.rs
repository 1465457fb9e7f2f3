//! Schedules made of schedules: one after the other, side by side, along an axis, over and over.
//!
//! What they come to is not known here: a composed schedule promises nothing ([`Collective::Custom`]) until it is
//! given a goal with [`Schedule::claim`]. All parts work on the same buffers, scratch too; keeping them out of each
//! other's way, with [`View`]s and scratch images, is left to who composes.
//!
//! A phase may start on one rank while another is still in the phase before. That is sound as long as each phase is,
//! since messages of both match in the order in which they were sent; but a phase must not overwrite what a message
//! of an earlier one may still be reading, unless what it writes came to be because that message arrived.

use std::collections::HashMap;

use super::code::count;
use super::expr::Expr;
use super::program::{Buffer, Chunks, Instruction, Program, Stream};
use super::rewrite::Rewrite;
use super::shape::{Move, Place, Shape};
use super::view::View;
use super::{Roles, Schedule};
use crate::collective::{Collective, Goal};
use crate::error::ScheduleError;

/// One image of the buffer's cut: the input or the output buffer, or a part of scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    buffer: Buffer,
    image: u64,
}

impl Region {
    /// The input buffer.
    pub const INPUT: Self = Self {
        buffer: Buffer::Input,
        image: 0,
    };
    /// The output buffer.
    pub const OUTPUT: Self = Self {
        buffer: Buffer::Output,
        image: 0,
    };

    /// Image number `image` of the cut in scratch.
    pub const fn scratch(image: u64) -> Self {
        Self {
            buffer: Buffer::Scratch,
            image,
        }
    }
}

/// Where a schedule goes in a larger one.
#[derive(Clone, Debug)]
pub struct Embedding<'a> {
    /// The shape of the larger one's ranks.
    pub shape: &'a Shape,
    /// The axes that stand for those of the schedule's own shape.
    pub axes: &'a [usize],
    /// The number of chunks that the larger one cuts the buffer into.
    pub chunks: u64,
    /// Where the schedule's chunks lie among those.
    pub view: View,
    /// Where the schedule finds its input.
    pub from: Region,
    /// Where it leaves its output.
    pub to: Region,
    /// The first image of scratch that it may use.
    pub scratch: u64,
}

impl Schedule {
    /// Schedules one after the other: what a rank does for one starts when all streams of the rank have ended the one
    /// before. They must have the same shape and cut.
    pub fn sequence(parts: &[Self]) -> Result<Self, ScheduleError> {
        compose("sequence", parts, |programs| {
            programs
                .iter()
                .fold(Program::default(), |before, program| then(before, program))
        })
    }

    /// Schedules side by side, each on channels of its own. They must have the same shape and cut.
    pub fn parallel(parts: &[Self]) -> Result<Self, ScheduleError> {
        let channels: Vec<u32> = parts.iter().map(Self::channels).collect();
        compose("parallel", parts, |programs| {
            let mut streams: Vec<Stream> = Vec::new();
            let mut first_channel = 0;
            for (program, channels) in programs.iter().zip(&channels) {
                let shift = ShiftStreams(streams.len());
                streams.extend(program.streams.iter().map(|stream| Stream {
                    channel: first_channel + stream.channel,
                    body: shift.body(&stream.body),
                }));
                first_channel += channels;
            }
            Program { streams }
        })
    }

    /// The schedule over and over; a rank starts a round when all its streams have ended the one before.
    pub fn repeat(&self, times: u64) -> Result<Self, ScheduleError> {
        compose("repeat", std::slice::from_ref(self), |programs| {
            over_and_over(programs[0], times)
        })
    }

    /// The schedule along axes of a larger shape, by all ranks that differ in nothing else, for each such group.
    ///
    /// A schedule that works in place is given a copy of its input where it finds it elsewhere than it is to leave its
    /// output; one that doesn't, where both are the same, is given a copy in scratch.
    pub fn on(&self, embedding: &Embedding<'_>) -> Result<Self, ScheduleError> {
        let Embedding { shape, axes, .. } = *embedding;
        let fits = |(&axis, extent): (&usize, &u32)| shape.extents().get(axis) == Some(extent);
        if axes.len() != self.shape.axes() || !axes.iter().zip(self.shape.extents()).all(fits) {
            return Err(ScheduleError::Shape(format!(
                "a schedule over {:?} ranks doesn't fit axes {axes:?} of {:?} ranks",
                self.shape.extents(),
                shape.extents()
            )));
        }
        if embedding.view.size() != self.chunks {
            return Err(ScheduleError::Shape(format!(
                "a schedule of {} chunks doesn't fit a view of {}",
                self.chunks,
                embedding.view.size()
            )));
        }
        let copies = self.goal.in_place != (embedding.from == embedding.to);
        let (input, scratch) = if copies && !self.goal.in_place {
            (Region::scratch(embedding.scratch), embedding.scratch + 1)
        } else {
            (embedding.from, embedding.scratch)
        };
        let onto = Onto {
            embedding,
            strides: (0..axes.len()).map(|axis| self.shape.stride(axis)).collect(),
            input,
            scratch,
            scratch_size: self.scratch,
        };
        let rewrite = |program: &Program| {
            let streams = program.streams.iter().map(|stream| Stream {
                channel: stream.channel,
                body: onto.body(&stream.body),
            });
            Program {
                streams: streams.collect(),
            }
        };
        let copy = copies.then(|| {
            let to = if self.goal.in_place { embedding.to } else { input };
            Program::single(vec![Instruction::copy(onto.all(embedding.from), onto.all(to))])
        });
        let programs = self.programs.iter().map(|program| match &copy {
            Some(copy) => then(copy.clone(), &rewrite(program)),
            None => rewrite(program),
        });
        let own_images = self.scratch.div_ceil(self.chunks);
        Self::checked(
            self.name.clone(),
            Goal::in_place(Collective::Custom),
            shape.clone(),
            embedding.chunks,
            (scratch + own_images) * embedding.chunks,
            programs.collect(),
            self.roles_on(shape, axes),
        )
    }

    /// The same schedule under another name, with a promise to keep.
    pub fn claim(self, name: impl Into<String>, goal: Goal) -> Result<Self, ScheduleError> {
        Self::checked(
            name.into(),
            goal,
            self.shape,
            self.chunks,
            self.scratch,
            self.programs,
            self.roles,
        )
    }

    /// How many channels it uses, counted from 0 to the last.
    fn channels(&self) -> u32 {
        let streams = self.programs.iter().flat_map(|program| &program.streams);
        streams.map(|stream| stream.channel + 1).max().unwrap_or(0)
    }

    fn roles_on(&self, shape: &Shape, axes: &[usize]) -> Roles {
        let Roles::Table(table) = &self.roles else {
            return Roles::Same;
        };
        let ranks = u32::try_from(shape.ranks()).expect("a shape's ranks fit 32 bits");
        let number = |rank: u32| -> u32 {
            let steps = axes.iter().enumerate();
            steps
                .map(|(own, &axis)| shape.coordinate(rank, axis) * self.shape.stride(own))
                .sum()
        };
        Roles::Table((0..ranks).map(|rank| table[number(rank) as usize]).collect())
    }
}

/// Makes a program of each combination of programs that some rank runs.
fn compose(name: &str, parts: &[Schedule], make: impl Fn(&[&Program]) -> Program) -> Result<Schedule, ScheduleError> {
    let first = parts
        .first()
        .ok_or_else(|| ScheduleError::Shape(format!("a {name} needs at least one schedule")))?;
    for part in parts {
        if part.shape != first.shape || part.chunks != first.chunks {
            return Err(ScheduleError::Shape(format!(
                "schedules over {:?} ranks with {} chunks and {:?} ranks with {} chunks don't go together",
                first.shape.extents(),
                first.chunks,
                part.shape.extents(),
                part.chunks
            )));
        }
    }
    let programs_of = |rank: u32| -> Vec<usize> { parts.iter().map(|part| part.program_of(rank)).collect() };
    let program = |roles: &[usize]| {
        let programs: Vec<&Program> = parts
            .iter()
            .zip(roles)
            .map(|(part, &role)| &part.programs[role])
            .collect();
        make(&programs)
    };
    let (programs, roles) = if parts.iter().all(|part| part.roles == Roles::Same) {
        (vec![program(&programs_of(0))], Roles::Same)
    } else {
        let ranks = u32::try_from(first.shape.ranks()).expect("a shape's ranks fit 32 bits");
        let mut seen = HashMap::new();
        let mut programs = Vec::new();
        let table = (0..ranks).map(|rank| {
            *seen.entry(programs_of(rank)).or_insert_with_key(|roles| {
                programs.push(program(roles));
                u32::try_from(programs.len() - 1).expect("at most one program a rank")
            })
        });
        let table = table.collect();
        (programs, Roles::Table(table))
    };
    Schedule::checked(
        name.to_owned(),
        Goal::in_place(Collective::Custom),
        first.shape.clone(),
        first.chunks,
        parts.iter().map(|part| part.scratch).max().unwrap_or(0),
        programs,
        roles,
    )
}

/// One program after another. A stream goes on with the stream of the same channel, once all others have ended too.
fn then(mut before: Program, after: &Program) -> Program {
    let done: Vec<u64> = before.streams.iter().map(|stream| count(&stream.body)).collect();
    let mut targets: Vec<usize> = Vec::new();
    for stream in &after.streams {
        let target = (0..done.len())
            .find(|target| before.streams[*target].channel == stream.channel && !targets.contains(target))
            .unwrap_or_else(|| {
                before.streams.push(Stream {
                    channel: stream.channel,
                    body: Vec::new(),
                });
                before.streams.len() - 1
            });
        targets.push(target);
    }
    let waits = |target: usize| {
        let others = done.iter().enumerate();
        others.filter(move |&(other, &done)| other != target && done > 0)
    };
    let offsets = targets
        .iter()
        .map(|&target| done.get(target).copied().unwrap_or(0) + waits(target).count() as u64);
    let shift = ShiftWaits {
        streams: targets.clone(),
        counts: offsets.map(Expr::from_count).collect(),
        inner: false,
    };
    for (stream, &target) in after.streams.iter().zip(&targets) {
        let body = &mut before.streams[target].body;
        body.extend(waits(target).map(|(other, &done)| wait(other, Expr::from_count(done))));
        body.extend(shift.body(&stream.body));
    }
    before
}

fn over_and_over(program: &Program, times: u64) -> Program {
    let streams = program.streams.len();
    let waits = streams.saturating_sub(1) as u64;
    let round = |stream: usize| {
        let instructions = count(&program.streams[stream].body) + waits;
        Expr::var(0) * Expr::from_count(instructions)
    };
    let shift = ShiftWaits {
        streams: (0..streams).collect(),
        counts: (0..streams)
            .map(|stream| round(stream) + Expr::from_count(waits))
            .collect(),
        inner: true,
    };
    let streams = program.streams.iter().enumerate().map(|(index, stream)| {
        let others = (0..streams).filter(|&other| other != index);
        let mut body: Vec<Instruction> = others.map(|other| wait(other, round(other))).collect();
        body.extend(shift.body(&stream.body));
        Stream {
            channel: stream.channel,
            body: vec![Instruction::Loop { times, body }],
        }
    });
    Program {
        streams: streams.collect(),
    }
}

fn wait(stream: usize, count: Expr) -> Instruction {
    Instruction::Wait { stream, count }
}

/// Streams that come after others of the rank.
struct ShiftStreams(usize);

impl Rewrite for ShiftStreams {
    fn wait(&self, stream: usize, count: Expr) -> Instruction {
        wait(stream + self.0, count)
    }
}

/// Streams that have done something before, and stand elsewhere among the rank's.
struct ShiftWaits {
    streams: Vec<usize>,
    counts: Vec<Expr>,
    /// Whether there is one more loop around them.
    inner: bool,
}

impl Rewrite for ShiftWaits {
    fn variable(&self, depth: usize) -> Expr {
        Expr::var(depth + usize::from(self.inner))
    }

    fn wait(&self, stream: usize, count: Expr) -> Instruction {
        wait(self.streams[stream], count + self.counts[stream].clone())
    }
}

/// A program in the terms of a larger shape and cut.
struct Onto<'a> {
    embedding: &'a Embedding<'a>,
    /// The strides of the axes of the program's own shape.
    strides: Vec<u32>,
    input: Region,
    /// The first image of scratch for the program's own.
    scratch: u64,
    scratch_size: u64,
}

impl Onto<'_> {
    fn seen(&self, chunks: Chunks, region: Region, size: u64) -> Chunks {
        let Embedding { view, chunks: cut, .. } = self.embedding;
        chunks.seen_through(region.buffer, view.images(region.image, *cut, size))
    }

    /// All that the view shows of a region.
    fn all(&self, region: Region) -> Chunks {
        let size = self.embedding.view.size();
        let all = Chunks::range(region.buffer, 0, Expr::from_count(size));
        self.seen(all, region, size)
    }
}

impl Rewrite for Onto<'_> {
    fn rank_at(&self, place: Place) -> Expr {
        let axes = self.embedding.axes.iter().zip(&self.strides);
        let digits = axes.map(|(&axis, &stride)| Expr::coordinate_at(place.clone(), axis) * Expr::Const(stride.into()));
        digits
            .reduce(|sum, digit| sum + digit)
            .expect("a shape has at least one axis")
    }

    fn coordinate_at(&self, place: Place, axis: usize) -> Expr {
        Expr::coordinate_at(place, self.embedding.axes[axis])
    }

    fn step(&self, step: Move) -> Vec<Move> {
        let axes = self.embedding.axes;
        match step {
            Move::Shift { axis, by } => vec![Move::Shift { axis: axes[axis], by }],
            Move::Xor { axis, mask } => vec![Move::Xor { axis: axes[axis], mask }],
            Move::Set { axis, to } => vec![Move::Set { axis: axes[axis], to }],
            Move::Rank(number) => {
                let digit = |(position, (&axis, &stride)): (usize, (&usize, &u32))| {
                    let digit = number.clone() / Expr::Const(stride.into());
                    // The first digit takes what is left, so that a rank that isn't there is found out.
                    let extent = i64::from(self.embedding.shape.extents()[axis]);
                    let to = if position == 0 { digit } else { digit % extent };
                    Move::Set { axis, to }
                };
                axes.iter().zip(&self.strides).enumerate().map(digit).collect()
            }
        }
    }

    fn selection(&self, chunks: Chunks) -> Chunks {
        let size = self.embedding.view.size();
        match chunks.buffer {
            Buffer::Input => self.seen(chunks, self.input, size),
            Buffer::Output => self.seen(chunks, self.embedding.to, size),
            Buffer::Scratch => self.seen(chunks, Region::scratch(self.scratch), self.scratch_size),
        }
    }
}
