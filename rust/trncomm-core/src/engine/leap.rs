//! Leap: what repeats is run once, and the rest is counted.
//!
//! The state of an engine has two parts: what steers ([`Shape`]), with instants relative to the present, and what only
//! counts ([`Counters`]). If all that steers is the same at two moments, then what happened between them will happen
//! again, instant by instant, and again, until a counter that steers when it ends, such as the passes left of a loop,
//! comes to its end. So the engine adds as many of these periods as end none, at once, and goes on as usual. Nothing is
//! approximated: what each rank does, and when, and what each link carries, is what it would have been.
//!
//! **Where to look.** A period has to bring every rank back to the same place of its program, so that the state can only
//! come back when a loop does. One stream in a loop sets the pace: at the end of each of its passes one may look.
//! To write down the state costs as much as some events do, so one looks either when that is little against all that was
//! done since the start, or when the last passes took as long as those before them and had as much happen in them.
//! After a look in vain of the second kind, the next has to wait until twice as much has been done.
//!
//! **What a leap keeps.** Times of all ranks, bytes and busy times of links, messages, packet-hops, latencies (the
//! histogram too): all are counters. The count of events is that of the events that were handled.

use std::collections::VecDeque;
use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::histogram::Histogram;
use super::recurrence::Counters;
use crate::schedule::MAX_DEPTH;
use crate::units::Time;

/// How much work one may spend on looking, as a part of all: one in so many.
const ONE_IN: u64 = 32;
/// How many words are written in the time of an event.
const WORDS_AN_EVENT: u64 = 16;
/// How many passes back the rhythm is compared; the longest period in passes that it shows is half of that.
const PULSES: usize = 64;
/// How many words of earlier moments are kept, and how many moments at most.
const KEPT_WORDS: usize = 1 << 22;
const KEPT: usize = 16;

/// What leaps have saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leapt {
    /// How many leaps there were.
    pub leaps: u64,
    /// The simulated time that they took together.
    pub time: Time,
    /// How many instructions of programs they completed.
    pub instructions: u64,
}

/// A moment, as one has to know it to see whether it comes back.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) now: Time,
    hash: u64,
    words: Vec<u64>,
    pub(super) counters: Counters,
    pub(super) latencies: Histogram,
    /// The loop variables of all streams.
    pub(super) vars: Vec<[u64; MAX_DEPTH]>,
    pub(super) done: u64,
}

impl Moment {
    pub(super) fn new(
        now: Time,
        words: Vec<u64>,
        counters: Counters,
        latencies: Histogram,
        vars: Vec<[u64; MAX_DEPTH]>,
        done: u64,
    ) -> Self {
        let mut hasher = FxHasher::default();
        words.iter().for_each(|&word| hasher.write_u64(word));
        Self {
            now,
            hash: hasher.finish(),
            words,
            counters,
            latencies,
            vars,
            done,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.hash == other.hash && self.words == other.words
    }
}

/// The watch for moments that come back.
#[derive(Debug, Default)]
pub(super) struct Leap {
    /// The stream whose passes set the pace.
    pacemaker: Option<u32>,
    /// Whether it has ended a pass at this instant.
    is_marked: bool,
    /// (time, work) of the last passes, the latest first.
    pulses: VecDeque<(Time, u64)>,
    last: (Time, u64),
    /// Earlier moments.
    moments: VecDeque<Moment>,
    kept: usize,
    /// The work that went into looking.
    spent: u64,
    /// Until so much work has been done, the rhythm is no reason to look.
    patience: u64,
    /// How many more passes the rhythm is a reason for.
    looks: usize,
    pub(super) leapt: Leapt,
}

impl Leap {
    /// A stream has ended a pass of a loop, and begins another or not.
    pub(super) fn passed(&mut self, stream: u32, goes_on: bool) {
        match self.pacemaker {
            Some(pacemaker) if pacemaker != stream => {}
            _ if goes_on => {
                self.pacemaker = Some(stream);
                self.is_marked = true;
            }
            _ => {
                self.pacemaker = None;
                self.pulses.clear();
            }
        }
    }

    /// Whether this is a moment to look at, given how much work was done so far.
    pub(super) fn is_due(&mut self, now: Time, work: u64) -> bool {
        if !std::mem::take(&mut self.is_marked) {
            return false;
        }
        self.pulses.truncate(PULSES - 1);
        self.pulses.push_front((now - self.last.0, work - self.last.1));
        self.last = (now, work);
        if self.spent <= work / ONE_IN {
            return true;
        }
        if self.looks == 0
            && work >= self.patience
            && let Some(period) = self.rhythm()
        {
            self.looks = period + 1;
            self.patience = 2 * work;
        }
        if self.looks == 0 {
            return false;
        }
        self.looks -= 1;
        true
    }

    /// After how many passes the last ones took as long, and as much work, as those before them.
    fn rhythm(&self) -> Option<usize> {
        (1..=self.pulses.len() / 2).find(|&period| {
            let earlier = self.pulses.iter().skip(period);
            self.pulses.iter().zip(earlier).take(period.max(2)).all(|(a, b)| a == b)
        })
    }

    /// The earlier moment that this one is like, if there is one; else it is kept.
    pub(super) fn look(&mut self, moment: Moment) -> Option<(Moment, Moment)> {
        self.spent += moment.words.len() as u64 / WORDS_AN_EVENT + 1;
        if let Some(place) = self.moments.iter().position(|earlier| earlier.is_like(&moment)) {
            let earlier = self.moments.remove(place).expect("a place of a moment");
            self.forget();
            return Some((earlier, moment));
        }
        self.kept += moment.words.len();
        self.moments.push_front(moment);
        while self.moments.len() > KEPT || (self.kept > KEPT_WORDS && self.moments.len() > 1) {
            self.kept -= self.moments.pop_back().map_or(0, |oldest| oldest.words.len());
        }
        None
    }

    /// Forgets earlier moments and the rhythm: a leap, or the end of a loop, is a new beginning.
    fn forget(&mut self) {
        self.moments.clear();
        self.kept = 0;
        self.pulses.clear();
        self.looks = 0;
        self.patience = 0;
    }

    /// A leap was made, to `now`.
    pub(super) fn leapt(&mut self, by: Time, instructions: u64, now: Time) {
        self.leapt.leaps += 1;
        self.leapt.time = self.leapt.time + by;
        self.leapt.instructions += instructions;
        self.last.0 = now;
    }
}
