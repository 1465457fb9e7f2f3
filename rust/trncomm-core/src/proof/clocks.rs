//! What is known to have happened before what, whatever the times are.
//!
//! A send posts its message and goes on; the network may read the chunks until the message is received. So a write
//! is safe only if every message posted from the chunk was received before, in an order that holds whatever the
//! times are: within a stream, from a send to its receive, and across a wait (Lamport, Commun. ACM 21(7), 1978).
//! Vector clocks decide that order exactly (Mattern, 1989): a stream's clock holds, for every stream, how many
//! events of it are known to have happened, and a message received as event e of stream s is safe once the writer's
//! clock has reached e at s. A barrier holds if every rank's clocks end with an event of every other rank.

use std::rc::Rc;

use crate::error::ScheduleError;
use crate::schedule::{Instruction, Schedule};

/// The most streams over all ranks for which clocks are kept: they cost as much for every message.
const MAX_STREAMS: usize = 1024;
/// The most chunks of all ranks for which posted messages are kept.
const MAX_CELLS: usize = 1 << 22;

/// The clock of a stream after one of its instructions.
type Moment = (u64, Rc<[u32]>);

/// Clocks of all streams, and the messages posted from every chunk.
#[derive(Debug)]
pub(super) struct Clocks {
    now: Vec<Vec<u32>>,
    /// Streams of rank r are `first[r]..first[r + 1]`.
    first: Vec<usize>,
    /// The clock of a stream after its instructions that are events, where some stream waits for another.
    history: Option<Vec<Vec<Moment>>>,
    messages: Vec<Posted>,
    /// For every chunk of every rank, the messages posted from it since it was written last.
    readers: Vec<Vec<u32>>,
    stream: usize,
    instruction: u64,
    found: Option<ScheduleError>,
}

#[derive(Debug)]
struct Posted {
    stream: usize,
    instruction: u64,
    /// The stream that received it, and the number of that event.
    received: Option<(usize, u32)>,
}

/// What a message carries besides its data.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    clock: Rc<[u32]>,
    message: u32,
}

impl Clocks {
    /// Clocks for `schedule`, unless it is too large; `cells` is the number of chunks of all ranks.
    pub(super) fn new(schedule: &Schedule, cells: usize) -> Option<Self> {
        let ranks = u32::try_from(schedule.ranks()).expect("a shape's ranks fit 32 bits");
        let mut first = vec![0];
        let mut streams = 0;
        for rank in 0..ranks {
            streams += schedule.programs()[schedule.program_of(rank)].streams.len();
            first.push(streams);
        }
        if streams > MAX_STREAMS || cells > MAX_CELLS {
            return None;
        }
        let waits = schedule
            .programs()
            .iter()
            .flat_map(|program| &program.streams)
            .any(|stream| has_waits(&stream.body));
        Some(Self {
            now: vec![vec![0; streams]; streams],
            first,
            history: waits.then(|| vec![Vec::new(); streams]),
            messages: Vec::new(),
            readers: vec![Vec::new(); cells],
            stream: 0,
            instruction: 0,
            found: None,
        })
    }

    /// The first write that came too early, if any.
    pub(super) fn found(&self) -> Option<&ScheduleError> {
        self.found.as_ref()
    }

    /// Ranks that a rank has not heard of by its end, and that rank; the first, if there is any.
    pub(super) fn unheard(&self) -> Option<(u32, Vec<u32>)> {
        let ranks = self.first.len() - 1;
        let streams = |rank: usize| self.first[rank]..self.first[rank + 1];
        let has_heard = |rank: usize, of: usize| {
            let mut clocks = self.now[streams(rank)].iter();
            clocks.any(|clock| clock[streams(of)].iter().any(|&events| events > 0))
        };
        let number = |rank: usize| u32::try_from(rank).expect("a rank");
        (0..ranks).find_map(|rank| {
            let unheard: Vec<u32> = (0..ranks)
                .filter(|&of| of != rank && !has_heard(rank, of))
                .map(number)
                .collect();
            (!unheard.is_empty()).then(|| (number(rank), unheard))
        })
    }

    /// What follows is an event of this stream.
    pub(super) fn begins(&mut self, stream: u32, instruction: u64) {
        self.stream = stream as usize;
        self.instruction = instruction;
        self.now[self.stream][self.stream] += 1;
        self.remember();
    }

    /// The stream knows what another knew after `count` instructions.
    pub(super) fn waited(&mut self, on: u32, count: u64) {
        let known = self.history.as_ref().and_then(|history| {
            let events = &history[on as usize];
            let past = events.partition_point(|(instruction, _)| *instruction < count);
            past.checked_sub(1).map(|last| events[last].1.clone())
        });
        if let Some(clock) = known {
            self.learn(&clock);
        }
    }

    /// A message is posted from these chunks.
    pub(super) fn post(&mut self, cells: &[usize]) -> Stamp {
        let message = u32::try_from(self.messages.len()).expect("instructions are limited");
        self.messages.push(Posted {
            stream: self.stream,
            instruction: self.instruction,
            received: None,
        });
        for &cell in cells {
            self.readers[cell].push(message);
        }
        Stamp {
            clock: self.now[self.stream].as_slice().into(),
            message,
        }
    }

    /// A message is received.
    pub(super) fn receive(&mut self, stamp: &Stamp) {
        self.messages[stamp.message as usize].received = Some((self.stream, self.now[self.stream][self.stream]));
        self.learn(&stamp.clock);
    }

    /// These chunks are written; `name` says what a chunk is called.
    pub(super) fn write(&mut self, cells: &[usize], name: impl Fn(usize) -> (u32, &'static str, u64)) {
        for &cell in cells {
            let clock = &self.now[self.stream];
            let early = self.readers[cell]
                .drain(..)
                .map(|message| &self.messages[message as usize])
                .find(|posted| posted.received.is_none_or(|(stream, event)| clock[stream] < event));
            if let Some(posted) = early
                && self.found.is_none()
            {
                let (rank, buffer, chunk) = name(cell);
                self.found = Some(ScheduleError::Overwritten {
                    rank,
                    buffer,
                    chunk,
                    stream: self.number(self.stream),
                    instruction: self.instruction,
                    posted_by: self.number(posted.stream),
                    posted: posted.instruction,
                });
            }
        }
    }

    /// The number of a stream within its rank.
    fn number(&self, stream: usize) -> u32 {
        let rank = self.first.partition_point(|&first| first <= stream) - 1;
        u32::try_from(stream - self.first[rank]).expect("few streams")
    }

    fn learn(&mut self, clock: &[u32]) {
        for (known, &more) in self.now[self.stream].iter_mut().zip(clock) {
            *known = (*known).max(more);
        }
        self.remember();
    }

    /// Keeps the present clock as the one after the present instruction.
    fn remember(&mut self) {
        let Some(history) = &mut self.history else { return };
        let events = &mut history[self.stream];
        if events
            .last()
            .is_some_and(|(instruction, _)| *instruction == self.instruction)
        {
            events.pop();
        }
        events.push((self.instruction, self.now[self.stream].as_slice().into()));
    }
}

fn has_waits(body: &[Instruction]) -> bool {
    body.iter().any(|instruction| match instruction {
        Instruction::Wait { .. } => true,
        Instruction::Loop { body, .. } => has_waits(body),
        _ => false,
    })
}
