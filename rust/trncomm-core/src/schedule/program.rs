//! What a rank does: streams of instructions.

use super::expr::Expr;
use super::shape::Place;
use super::view::View;
use crate::units::Time;

/// A memory area of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// What the rank brings, where the collective doesn't work in place.
    Input,
    /// What the rank takes away; its own contribution too, where the collective works in place.
    Output,
    /// Working space: whole or partial images of the buffer's cut.
    Scratch,
}

impl Buffer {
    /// The name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Scratch => "scratch",
        }
    }
}

/// A set of chunks of one buffer: `first`, and from each chunk so far `count` chunks `stride` apart, for every run.
///
/// `first: 3, runs: [(2, 10), (2, 1)]` is 3, 4, 13, 14. The order is the order in which data travels, so that the
/// n-th chunk sent is the n-th received. The indices may be those of a [`View`] of the buffer. More such sets of the
/// same buffer may follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunks {
    pub(super) buffer: Buffer,
    pub(super) first: Expr,
    pub(super) runs: Vec<Run>,
    pub(super) wraps: bool,
    pub(super) views: Vec<View>,
    pub(super) more: Vec<Chunks>,
}

/// Repeats of a set of chunks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// How many times.
    pub count: Expr,
    /// How far apart.
    pub stride: u64,
}

impl Chunks {
    /// One chunk.
    pub fn one(buffer: Buffer, index: impl Into<Expr>) -> Self {
        Self {
            buffer,
            first: index.into(),
            runs: Vec::new(),
            wraps: false,
            views: Vec::new(),
            more: Vec::new(),
        }
    }

    /// `count` chunks in a row.
    pub fn range(buffer: Buffer, first: impl Into<Expr>, count: impl Into<Expr>) -> Self {
        Self::one(buffer, first).repeat(count, 1)
    }

    /// This set `count` times, each `stride` chunks after the one before. The last repeat varies fastest.
    #[must_use]
    pub fn repeat(mut self, count: impl Into<Expr>, stride: u64) -> Self {
        let count = count.into();
        if count != Expr::Const(1) {
            self.runs.push(Run { count, stride });
        }
        self
    }

    /// The same set, with indices past the buffer's end counted from its start.
    #[must_use]
    pub fn wrapping(mut self) -> Self {
        self.wraps = true;
        self
    }

    /// This set, then another of the same buffer (a schedule with another buffer is refused): they travel together.
    #[must_use]
    pub fn then(mut self, mut other: Self) -> Self {
        let following = std::mem::take(&mut other.more);
        self.more.push(other);
        self.more.extend(following);
        self
    }

    /// The sets that this one is made of, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.more)
    }

    /// The same set of a smaller buffer, which is seen in a larger one as `view` says.
    #[must_use]
    pub fn seen_through(mut self, buffer: Buffer, view: View) -> Self {
        for part in &mut self.more {
            part.buffer = buffer;
            part.views.push(view.clone());
        }
        self.buffer = buffer;
        self.views.push(view);
        self
    }

    /// The buffer.
    pub fn buffer(&self) -> Buffer {
        self.buffer
    }
}

/// What a receiver does with what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Stores it.
    Copy,
    /// Reduces it into what is there.
    Reduce,
}

/// One thing a stream does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Hands a message to the network and goes on.
    Send {
        /// The destination.
        to: Place,
        /// What is sent.
        chunks: Chunks,
    },
    /// Waits for the next message from a rank, then stores or reduces it.
    Receive {
        /// The source.
        from: Place,
        /// Where it goes.
        chunks: Chunks,
        /// Whether it is stored or reduced.
        combine: Combine,
    },
    /// Moves data within the rank.
    Copy {
        /// What is read.
        from: Chunks,
        /// What is written.
        to: Chunks,
        /// Whether it is stored or reduced.
        combine: Combine,
    },
    /// Waits until another stream of the rank has completed `count` instructions (each pass of a loop counts anew).
    Wait {
        /// The other stream.
        stream: usize,
        /// How many.
        count: Expr,
    },
    /// Keeps the stream busy.
    Compute {
        /// For how long.
        time: Time,
    },
    /// Runs a body `times` times, with a loop variable that counts from 0.
    Loop {
        /// How often.
        times: u64,
        /// The instructions.
        body: Vec<Instruction>,
    },
}

impl Instruction {
    /// A [`Self::Send`].
    pub fn send(to: Place, chunks: Chunks) -> Self {
        Self::Send { to, chunks }
    }

    /// A [`Self::Receive`] that stores.
    pub fn receive(from: Place, chunks: Chunks) -> Self {
        Self::Receive {
            from,
            chunks,
            combine: Combine::Copy,
        }
    }

    /// A [`Self::Receive`] that reduces.
    pub fn reduce(from: Place, chunks: Chunks) -> Self {
        Self::Receive {
            from,
            chunks,
            combine: Combine::Reduce,
        }
    }

    /// A [`Self::Copy`] that stores.
    pub fn copy(from: Chunks, to: Chunks) -> Self {
        Self::Copy {
            from,
            to,
            combine: Combine::Copy,
        }
    }

    /// A [`Self::Loop`].
    pub fn repeat(times: impl TryInto<u64>, body: Vec<Self>) -> Self {
        Self::Loop {
            times: times.try_into().ok().expect("a count of steps is not negative"),
            body,
        }
    }
}

/// Instructions that run one after the other. Messages of a stream carry its channel, and match first-in first-out
/// per (source, destination, channel).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    /// The channel.
    pub channel: u32,
    /// The instructions.
    pub body: Vec<Instruction>,
}

/// The streams of a rank, which run side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// The streams.
    pub streams: Vec<Stream>,
}

impl Program {
    /// A program of one stream, on channel 0.
    pub fn single(body: Vec<Instruction>) -> Self {
        Self {
            streams: vec![Stream { channel: 0, body }],
        }
    }

    /// A program with one stream for each body, on channels 0, 1, ….
    pub fn parallel(bodies: Vec<Vec<Instruction>>) -> Self {
        let streams = (0..)
            .zip(bodies)
            .map(|(channel, body)| Stream { channel, body })
            .collect();
        Self { streams }
    }
}
