//! Programs made ready to run: loops flattened into jumps, sizes computed once where they don't depend on the rank.

use super::expr::Site;
use super::{Chunks, Combine, Instruction, Layout, Place, Schedule, View};
use crate::error::ScheduleError;
use crate::units::{Bytes, Time};

/// A schedule with a buffer size, ready for the rank machine.
#[derive(Debug)]
pub struct Code<'s> {
    schedule: &'s Schedule,
    layout: Layout,
    programs: Vec<Vec<StreamCode<'s>>>,
}

/// A stream's steps. Running past the last one ends the stream.
#[derive(Debug)]
pub struct StreamCode<'s> {
    /// The channel of the stream's messages.
    pub channel: u32,
    /// The steps.
    pub steps: Vec<Step<'s>>,
}

/// A step of a stream.
#[derive(Debug)]
pub enum Step<'s> {
    /// See [`Instruction::Send`].
    Send {
        /// The destination.
        to: &'s Place,
        /// What is sent.
        chunks: ChunkRef<'s>,
    },
    /// See [`Instruction::Receive`].
    Receive {
        /// The source.
        from: &'s Place,
        /// Where it goes.
        chunks: ChunkRef<'s>,
        /// Whether it is stored or reduced.
        combine: Combine,
    },
    /// See [`Instruction::Copy`].
    Copy {
        /// What is read.
        from: ChunkRef<'s>,
        /// What is written.
        to: ChunkRef<'s>,
        /// Whether it is stored or reduced.
        combine: Combine,
    },
    /// See [`Instruction::Wait`].
    Wait {
        /// The other stream.
        stream: usize,
        /// How many of its instructions must be complete.
        count: &'s super::Expr,
    },
    /// See [`Instruction::Compute`].
    Compute {
        /// For how long.
        time: Time,
    },
    /// The head of a loop: sets its variable to 0, or leaves if it runs no times.
    Enter {
        /// The loop's nesting depth, which numbers its variable.
        depth: usize,
        /// How often the body runs.
        times: u64,
        /// The step after the loop.
        exit: usize,
    },
    /// The foot of a loop: counts, and goes back while there are passes left.
    Again {
        /// The loop's nesting depth.
        depth: usize,
        /// How often the body runs.
        times: u64,
        /// The first step of the body.
        start: usize,
    },
}

/// A set of chunks, with its size where that is the same everywhere.
#[derive(Clone, Copy, Debug)]
pub struct ChunkRef<'s> {
    chunks: &'s Chunks,
    capacity: u64,
    fixed: Option<Bytes>,
}

impl<'s> Code<'s> {
    /// Prepares `schedule` for a buffer cut as `layout` says.
    pub fn new(schedule: &'s Schedule, layout: Layout) -> Result<Self, ScheduleError> {
        if layout.chunks() != schedule.chunks() {
            return Err(ScheduleError::Shape(format!(
                "the layout has {} chunks, the schedule {}",
                layout.chunks(),
                schedule.chunks()
            )));
        }
        let programs = schedule
            .programs()
            .iter()
            .map(|program| {
                let stream = |stream: &'s super::Stream| {
                    let mut steps = Vec::new();
                    flatten(schedule, layout, &stream.body, 0, &mut steps);
                    StreamCode {
                        channel: stream.channel,
                        steps,
                    }
                };
                program.streams.iter().map(stream).collect()
            })
            .collect();
        Ok(Self {
            schedule,
            layout,
            programs,
        })
    }

    /// The schedule.
    pub fn schedule(&self) -> &'s Schedule {
        self.schedule
    }

    /// The cut of the buffer.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The streams of every program.
    pub(crate) fn programs(&self) -> &[Vec<StreamCode<'s>>] {
        &self.programs
    }

    /// The streams of `rank`.
    pub fn streams(&self, rank: u32) -> &[StreamCode<'s>] {
        &self.programs[self.schedule.program_of(rank)]
    }

    /// How many instructions all ranks complete together; what progress is measured against.
    pub fn instructions(&self) -> u64 {
        let of_program: Vec<u64> = self
            .schedule
            .programs()
            .iter()
            .map(|program| {
                program
                    .streams
                    .iter()
                    .map(|stream| count(&stream.body))
                    .fold(0, u64::saturating_add)
            })
            .collect();
        let ranks = u32::try_from(self.schedule.ranks()).expect("a shape's ranks fit 32 bits");
        (0..ranks)
            .map(|rank| of_program[self.schedule.program_of(rank)])
            .fold(0, u64::saturating_add)
    }
}

/// How many instructions a body completes; loops count every pass.
pub(super) fn count(body: &[Instruction]) -> u64 {
    body.iter()
        .map(|instruction| match instruction {
            Instruction::Loop { times, body } => times.saturating_mul(count(body)),
            _ => 1,
        })
        .fold(0, u64::saturating_add)
}

fn flatten<'s>(
    schedule: &'s Schedule,
    layout: Layout,
    body: &'s [Instruction],
    depth: usize,
    steps: &mut Vec<Step<'s>>,
) {
    let chunk_ref = |chunks: &'s Chunks| ChunkRef {
        chunks,
        capacity: schedule.capacity(chunks.buffer),
        fixed: fixed_size(chunks, layout),
    };
    for instruction in body {
        match instruction {
            Instruction::Send { to, chunks } => steps.push(Step::Send {
                to,
                chunks: chunk_ref(chunks),
            }),
            Instruction::Receive { from, chunks, combine } => {
                steps.push(Step::Receive {
                    from,
                    chunks: chunk_ref(chunks),
                    combine: *combine,
                });
            }
            Instruction::Copy { from, to, combine } => {
                steps.push(Step::Copy {
                    from: chunk_ref(from),
                    to: chunk_ref(to),
                    combine: *combine,
                });
            }
            Instruction::Wait { stream, count } => steps.push(Step::Wait { stream: *stream, count }),
            Instruction::Compute { time } => steps.push(Step::Compute { time: *time }),
            // However often, it does nothing.
            Instruction::Loop { body, .. } if count(body) == 0 => {}
            Instruction::Loop { times, body } => {
                let enter = steps.len();
                steps.push(Step::Enter {
                    depth,
                    times: *times,
                    exit: 0,
                });
                flatten(schedule, layout, body, depth + 1, steps);
                steps.push(Step::Again {
                    depth,
                    times: *times,
                    start: enter + 1,
                });
                let exit = steps.len();
                steps[enter] = Step::Enter {
                    depth,
                    times: *times,
                    exit,
                };
            }
        }
    }
}

/// The size of the set where every chunk and every count is the same everywhere.
fn fixed_size(chunks: &Chunks, layout: Layout) -> Option<Bytes> {
    let each = layout.uniform()?.get();
    let mut sum: u64 = 0;
    for part in chunks.parts() {
        let cells = part
            .views
            .iter()
            .try_fold(each, |size, view| size.checked_mul(view.cell_size()))?;
        let size = part.runs.iter().try_fold(cells, |size, run| {
            size.checked_mul(u64::try_from(run.count.constant()?).ok()?)
        })?;
        sum = sum.checked_add(size)?;
    }
    Some(Bytes::new(sum))
}

impl ChunkRef<'_> {
    /// The chunks themselves.
    pub fn chunks(&self) -> &Chunks {
        self.chunks
    }

    /// How many bytes they hold together, where that is the same everywhere.
    pub(super) fn fixed_size(&self) -> Option<Bytes> {
        self.fixed
    }

    /// How many bytes they hold together.
    pub fn bytes(&self, site: &Site<'_>, layout: &Layout) -> Result<Bytes, String> {
        if let Some(fixed) = self.fixed {
            return Ok(fixed);
        }
        let mut sum = Bytes::ZERO;
        self.for_each_range(site, &mut |first, count| {
            sum = sum.saturating_add(layout.bytes(first, count));
            Ok(())
        })?;
        Ok(sum)
    }

    /// Calls `visit(first, count)` for each stretch of neighbouring chunks, in order; an error says which chunk lies
    /// outside the buffer.
    pub fn for_each_range(
        &self,
        site: &Site<'_>,
        visit: &mut dyn FnMut(u64, u64) -> Result<(), String>,
    ) -> Result<(), String> {
        for chunks in self.chunks.parts() {
            let part = ChunkRef { chunks, ..*self };
            part.walk(site, 0, chunks.first.value(site), visit)?;
        }
        Ok(())
    }

    fn walk(
        &self,
        site: &Site<'_>,
        level: usize,
        first: i64,
        visit: &mut dyn FnMut(u64, u64) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(run) = self.chunks.runs.get(level) else {
            return self.clip(site, first, 1, visit);
        };
        let count = u64::try_from(run.count.value(site))
            .ok()
            .filter(|&count| count <= self.capacity_of(0))
            .ok_or_else(|| format!("a count of {} chunks in {}", run.count.value(site), self.chunks))?;
        if run.stride == 1 && level + 1 == self.chunks.runs.len() {
            return self.clip(site, first, count, visit);
        }
        for index in 0..count {
            let offset = index.wrapping_mul(run.stride).cast_signed();
            self.walk(site, level + 1, first.wrapping_add(offset), visit)?;
        }
        Ok(())
    }

    /// How many chunks the indices may name after so many views.
    fn capacity_of(&self, views: usize) -> u64 {
        self.chunks.views.get(views).map_or(self.capacity, View::size)
    }

    /// Visits a stretch after checking it against the buffer's end, or cutting it there.
    fn clip(
        &self,
        site: &Site<'_>,
        first: i64,
        count: u64,
        visit: &mut dyn FnMut(u64, u64) -> Result<(), String>,
    ) -> Result<(), String> {
        let capacity = self.capacity_of(0);
        if count == 0 || !self.chunks.wraps {
            return self.look(site, 0, first, count, visit);
        }
        let end = i64::try_from(capacity)
            .map_err(|_| format!("{} has too many chunks to wrap", self.chunks.buffer.name()))?;
        let first = first.rem_euclid(end);
        let head = count.min(capacity - first.cast_unsigned());
        self.look(site, 0, first, head, visit)?;
        self.look(site, 0, 0, count - head, visit)
    }

    /// Visits what a stretch of the view at `level` covers in the buffer itself.
    fn look(
        &self,
        site: &Site<'_>,
        level: usize,
        first: i64,
        count: u64,
        visit: &mut dyn FnMut(u64, u64) -> Result<(), String>,
    ) -> Result<(), String> {
        if count == 0 {
            return Ok(());
        }
        let capacity = self.capacity_of(level);
        let start = u64::try_from(first)
            .ok()
            .filter(|&start| start < capacity && count <= capacity - start)
            .ok_or_else(|| {
                let name = self.chunks.buffer.name();
                format!("{count} chunks from {name}[{first}] on; {name} has {capacity}")
            })?;
        match self.chunks.views.get(level) {
            None => visit(start, count),
            Some(view) => view.for_each_range(view.origin.value(site), start, count, &mut |first, count| {
                self.look(site, level + 1, first, count, visit)
            }),
        }
    }
}
