//! What made each thing in a run happen when it did: a chain of messages and work back from the end to the start.
//!
//! A stream does in no time whatever it isn't kept from, so at each instant there is one thing that it last waited for: a
//! message, work of its rank, or another stream of it. What it sends was caused by that. A message that waited for
//! one of its rank's queues was caused by the message that left the queue. So every moment of the run lies in
//! one link of the chain that ends with the last event, and nothing off the chain could have ended the run sooner.

use crate::schedule::{ChunkRef, Combine, Site};
use crate::units::Time;

use super::memory::Memory;

/// What took a while and had something else wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A message.
    Message {
        /// The rank that sent it.
        source: u32,
        /// The rank that it went to.
        destination: u32,
        /// Its bytes.
        bytes: u64,
        /// When its rank gave it to the network.
        posted: Time,
        /// From then to its entry into the network.
        launch: Time,
        /// When the network had brought it.
        delivered: Time,
    },
    /// Work of a rank.
    Work {
        /// The rank.
        rank: u32,
        /// What it did.
        work: Work,
        /// When it began.
        since: Time,
    },
}

/// What keeps a stream busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reducing what has arrived.
    Reduction,
    /// Copying within the rank.
    Copy,
    /// Computing.
    Compute,
}

/// A link of the chain: from `begin` to `end` the run waited for `cause`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// When what was needed for it had happened.
    pub begin: Time,
    /// When what waited for it could go on.
    pub end: Time,
    /// What it was.
    pub cause: Cause,
    /// How long the stream that received it had stood waiting when it came; zero for anything but a message.
    pub waited: Time,
}

/// The place of nothing in the list of causes.
const NONE: u32 = u32::MAX;

/// Buffers that keep no data but remember what caused what. Takes 64 bytes for every message.
#[derive(Debug, Default)]
pub struct Causes {
    known: Vec<Known>,
    streams: Vec<Stream>,
    /// The stream that does what is told next, and when.
    current: usize,
    now: Time,
    /// The last delivery, which may let a message have its rank's queue.
    delivered: u32,
    /// The last event of the run: the delivery of this message, or the end of this stream.
    last: Option<(Time, u32)>,
}

#[derive(Debug)]
struct Known {
    cause: Cause,
    /// What caused it, in the list; [`NONE`] for the start.
    by: u32,
    waited: Time,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// What it last waited for, in the list.
    by: u32,
    since: Time,
    work: Work,
}

/// More causes than these would not fit the memory of a small machine.
const MOST: usize = 1 << 26;

impl Causes {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            delivered: NONE,
            ..Self::default()
        }
    }

    /// The chain from the start to the last event, in order of time. What comes before the first link, if it doesn't
    /// begin at zero, is the lateness of the rank where it begins.
    pub fn chain(&self) -> Vec<Link> {
        let mut links = Vec::new();
        let Some((mut end, mut place)) = self.last else {
            return links;
        };
        while let Some(known) = self.known.get(place as usize) {
            let begin = match known.cause {
                Cause::Message { posted, .. } => posted,
                Cause::Work { since, .. } => since,
            };
            links.push(Link {
                begin,
                end,
                cause: known.cause,
                waited: known.waited,
            });
            (end, place) = (begin, known.by);
        }
        links.reverse();
        links
    }

    fn stream(&mut self, number: usize) -> &mut Stream {
        if number >= self.streams.len() {
            self.streams.resize(
                number + 1,
                Stream {
                    by: NONE,
                    since: Time::ZERO,
                    work: Work::Compute,
                },
            );
        }
        &mut self.streams[number]
    }

    fn add(&mut self, cause: Cause, by: u32) -> Result<u32, String> {
        if self.known.len() >= MOST {
            return Err(format!(
                "is one of more than {MOST} causes, the most that an explanation keeps"
            ));
        }
        self.known.push(Known {
            cause,
            by,
            waited: Time::ZERO,
        });
        Ok(u32::try_from(self.known.len() - 1).expect("at most 2^26 causes"))
    }

    /// The stream that is told of begins a piece of work, unless it takes no time.
    fn busy(&mut self, work: Work) {
        let current = self.current;
        self.stream(current).work = work;
    }

    fn ends(&mut self, now: Time, by: u32) {
        if self.last.is_none_or(|(last, _)| last < now) {
            self.last = Some((now, by));
        }
    }
}

impl Memory for Causes {
    type Payload = u32;

    fn begins(&mut self, stream: u32, _: u64, now: Time) {
        (self.current, self.now) = (stream as usize, now);
        self.stream(stream as usize).work = Work::Compute;
    }

    fn starts(&mut self, stream: u32, now: Time) {
        self.stream(stream as usize).since = now;
    }

    fn waited(&mut self, on: u32, _: u64) {
        let (current, now) = (self.current, self.now);
        let by = self.stream(on as usize).by;
        let stream = self.stream(current);
        // A stream that found the other far enough on goes on at the instant at which it came there.
        if stream.since < now {
            (stream.by, stream.since) = (by, now);
        }
    }

    fn send(&mut self, site: &Site<'_>, _: &ChunkRef<'_>) -> Result<u32, String> {
        let current = self.current;
        let by = self.stream(current).by;
        let cause = Cause::Message {
            source: site.rank,
            destination: NONE,
            bytes: 0,
            posted: self.now,
            launch: Time::ZERO,
            delivered: self.now,
        };
        self.add(cause, by)
    }

    fn posted(&mut self, &message: &u32, launched: Time, to: u32, size: u64, now: Time) {
        let Known { cause, by, .. } = &mut self.known[message as usize];
        if let Cause::Message {
            destination,
            bytes,
            posted,
            launch,
            ..
        } = cause
        {
            if *posted < now {
                *by = self.delivered;
            }
            (*destination, *bytes, *posted, *launch) = (to, size, now, launched);
        }
    }

    fn delivered(&mut self, &message: &u32, now: Time) {
        if let Cause::Message { delivered, .. } = &mut self.known[message as usize].cause {
            *delivered = now;
        }
        self.delivered = message;
        self.ends(now, message);
    }

    fn receive(&mut self, _: &Site<'_>, _: &ChunkRef<'_>, combine: Combine, message: u32) -> Result<(), String> {
        let (current, now) = (self.current, self.now);
        let stream = self.stream(current);
        // A message that was there before the stream came for it kept nobody waiting.
        let waited = now - stream.since;
        if waited > Time::ZERO {
            (stream.by, stream.since) = (message, now);
            self.known[message as usize].waited = waited;
        }
        if combine == Combine::Reduce {
            self.busy(Work::Reduction);
        }
        Ok(())
    }

    fn copy(&mut self, _: &Site<'_>, _: &ChunkRef<'_>, _: &ChunkRef<'_>, _: Combine) -> Result<(), String> {
        self.busy(Work::Copy);
        Ok(())
    }

    fn woken(&mut self, stream: u32, rank: u32, now: Time) {
        let Stream { by, since, work } = *self.stream(stream as usize);
        // What can't be kept any more is left out of the chain; the run ends with an error at its next message.
        let cause = Cause::Work { rank, work, since };
        if let Ok(place) = self.add(cause, by) {
            let stream = self.stream(stream as usize);
            (stream.by, stream.since) = (place, now);
        }
    }

    fn ended(&mut self, stream: u32, now: Time) {
        let by = self.stream(stream as usize).by;
        self.ends(now, by);
    }
}
