//! How much a schedule does, in numbers, without running it.

use super::code::{Code, Step, StreamCode};
use super::expr::{MAX_DEPTH, Site};

/// How much some ranks do together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) streams: u64,
    pub(crate) messages: u64,
    /// Sizes that depend on where a rank is, or on a loop, are taken from one rank and its first pass.
    pub(crate) bytes: u64,
    /// How many messages the streams send, together, between two instructions that may have to wait.
    pub(crate) at_once: u64,
}

impl Census {
    fn plus(self, other: Self, times: u64) -> Self {
        let add = |a: u64, b: u64| a.saturating_add(b.saturating_mul(times));
        Self {
            streams: add(self.streams, other.streams),
            messages: add(self.messages, other.messages),
            bytes: add(self.bytes, other.bytes),
            at_once: add(self.at_once, other.at_once),
        }
    }
}

/// Sends in a stretch of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// Those before the first instruction that may have to wait; all, if there is none.
    first: u64,
    /// Those since the last one.
    last: u64,
    most: u64,
    waits: bool,
}

impl Burst {
    fn then(self, next: Self) -> Self {
        let joined = self.last.saturating_add(next.first);
        Self {
            first: if self.waits { self.first } else { joined },
            last: if next.waits { next.last } else { joined },
            most: self.most.max(next.most).max(joined),
            waits: self.waits || next.waits,
        }
    }

    fn repeated(self, times: u64) -> Self {
        match times {
            0 => Self::default(),
            1 => self,
            _ if self.waits => self.then(self),
            _ => {
                let all = self.first.saturating_mul(times);
                Self {
                    first: all,
                    last: all,
                    most: all,
                    waits: false,
                }
            }
        }
    }
}

impl Code<'_> {
    /// What these ranks do together.
    pub(crate) fn census(&self, ranks: impl Iterator<Item = u32>) -> Census {
        let schedule = self.schedule();
        let mut programs: Vec<Option<(u64, u32)>> = vec![None; self.programs().len()];
        for rank in ranks {
            programs[schedule.program_of(rank)].get_or_insert((0, rank)).0 += 1;
        }
        let counted = programs.into_iter().flatten();
        counted.fold(Census::default(), |sum, (ranks, example)| {
            let streams = self.streams(example).iter();
            streams.fold(sum, |sum, stream| sum.plus(self.stream_census(stream, example), ranks))
        })
    }

    fn stream_census(&self, stream: &StreamCode<'_>, rank: u32) -> Census {
        let site = Site {
            shape: self.schedule().shape(),
            rank,
            vars: [0; MAX_DEPTH],
        };
        let mut census = Census {
            streams: 1,
            ..Census::default()
        };
        // How often each step is done, and the stretches that aren't closed yet, the innermost last.
        let mut times = vec![1_u64];
        let mut open = vec![Burst::default()];
        for step in &stream.steps {
            let step_burst = match step {
                Step::Enter { times: more, .. } => {
                    times.push(times.last().expect("one").saturating_mul(*more));
                    open.push(Burst::default());
                    continue;
                }
                Step::Again { times: more, .. } => {
                    times.pop();
                    open.pop().expect("a loop that was entered").repeated(*more)
                }
                Step::Send { chunks, .. } => {
                    let often = *times.last().expect("one");
                    let bytes = chunks.bytes(&site, self.layout()).map_or(0, crate::units::Bytes::get);
                    census.messages = census.messages.saturating_add(often);
                    census.bytes = census.bytes.saturating_add(often.saturating_mul(bytes));
                    Burst {
                        first: 1,
                        last: 1,
                        most: 1,
                        waits: false,
                    }
                }
                Step::Receive { .. } | Step::Wait { .. } => Burst {
                    waits: true,
                    ..Burst::default()
                },
                Step::Copy { .. } | Step::Compute { .. } => Burst::default(),
            };
            let around = open.last_mut().expect("the stream itself");
            *around = around.then(step_burst);
        }
        census.at_once = open.pop().expect("the stream itself").most;
        census
    }

    /// The place that a rank's first send goes to, if it has one.
    pub(crate) fn first_peer(&self, rank: u32) -> Option<i64> {
        let site = Site {
            shape: self.schedule().shape(),
            rank,
            vars: [0; MAX_DEPTH],
        };
        let mut steps = self.streams(rank).iter().flat_map(|stream| &stream.steps);
        steps.find_map(|step| match step {
            Step::Send { to, .. } => Some(to.find(&site)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Collective, Goal};
    use crate::schedule::{Buffer, Chunks, Instruction, Layout, Place, Program, Schedule, Shape};
    use crate::units::Bytes;

    fn census_of(body: Vec<Instruction>) -> Census {
        let goal = Goal::in_place(Collective::AllReduce);
        let shape = Shape::new(&[4]).expect("a line");
        let schedule = Schedule::uniform("planted", goal, shape, 4, 0, Program::single(body)).expect("a schedule");
        let layout = Layout::new(Bytes::new(400), 1, 4).expect("whole elements");
        Code::new(&schedule, layout).expect("code").census(0..4)
    }

    #[test]
    fn loops_multiply_and_waits_part_what_is_sent_at_once() {
        let chunk = || Chunks::one(Buffer::Output, 0);
        let send = || Instruction::send(Place::shift(0, 1), chunk());
        let receive = || Instruction::receive(Place::shift(0, -1), chunk());
        let ranks = 4;
        for (body, messages, at_once) in [
            (vec![], 0, 0),
            (
                vec![Instruction::repeat(
                    5_u64,
                    vec![Instruction::repeat(3_u64, vec![send()])],
                )],
                15,
                15,
            ),
            (vec![Instruction::repeat(5_u64, vec![send(), receive()])], 5, 1),
            (vec![Instruction::repeat(5_u64, vec![send(), receive(), send()])], 10, 2),
            (
                vec![
                    send(),
                    Instruction::repeat(5_u64, vec![send(), receive()]),
                    send(),
                    send(),
                ],
                8,
                2,
            ),
            (vec![Instruction::repeat(0_u64, vec![send()]), send()], 1, 1),
        ] {
            let census = census_of(body);
            assert_eq!(
                census,
                Census {
                    streams: ranks,
                    messages: ranks * messages,
                    bytes: ranks * messages * 100,
                    at_once: ranks * at_once
                }
            );
        }
    }
}
