//! Leap: what repeats is run once, and the rest is counted.
//!
//! The state of an engine has two parts: what steers ([`Shape`]), with instants relative to the present, and what only
//! counts ([`Counters`]). If all that steers is the same at two moments, then what happened between them will happen
//! again, instant by instant, and again, until a counter that steers when it ends, such as the passes left of a loop,
//! comes to its end. So the engine adds as many of these periods as end none, at once, and goes on as usual. Nothing is
//! approximated: what each rank does, and when, and what each link carries, is what it would have been.
//!
//! **Where to look.** A period has to bring every rank back to the same place of its program, so that the state can only
//! come back when a loop does. One stream in a loop sets the pace: the end of each of its passes is a *beat*, at which one
//! may look. To write down the state costs as much as many events do, so one listens first: every delivery adds its
//! destination and its instant, from the beat before on, to a number that costs next to nothing, and beats between which
//! the same was heard are probably a period apart. Some moments are kept, at intervals that grow, so that one is at hand
//! whatever the period turns out to be; the state is written down again where what is heard says that such a moment
//! has come back. After a comparison in vain, no other is made until twice as much has been done.
//!
//! **What a leap keeps.** Times of all ranks, bytes and busy times of links, messages, packet-hops, latencies (the
//! histogram too): all are counters. The count of events is that of the events that were handled.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use super::histogram::Histogram;
use super::recurrence::Counters;
use crate::random::split_mix;
use crate::schedule::MAX_DEPTH;
use crate::units::Time;

/// How much work one may spend on keeping moments, as a part of all: one in so many.
const ONE_IN: u64 = 64;
/// How many words are written in the time of an event.
const WORDS_AN_EVENT: u64 = 8;
/// How many comparisons may be in vain before they have to keep within that part.
const PATIENCE: u32 = 4;
/// How many words of earlier moments are kept, and how many moments at most.
const KEPT_WORDS: usize = 1 << 23;
const KEPT: usize = 32;
/// How many beats are remembered.
const BEATS: usize = 1 << 20;

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
        for &word in &words {
            hasher.write_u64(word);
        }
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

    /// In words.
    fn size(&self) -> usize {
        self.words.len() + 2 * self.counters.len() + MAX_DEPTH * self.vars.len()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.hash == other.hash && self.words == other.words
    }
}

/// What one looks for at a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// To keep the moment, for later.
    Keep,
    /// Whether it is like the moment of this beat.
    Compare(u64),
}

/// The watch for moments that come back.
#[derive(Debug, Default)]
pub(super) struct Leap {
    /// The stream whose passes set the pace.
    pacemaker: Option<u32>,
    /// Whether it has ended a pass at this instant.
    is_marked: bool,
    /// How many beats there were.
    beats: u64,
    last_beat: Time,
    /// What was heard since the last beat.
    heard: u64,
    /// The last beat of each sound.
    sounds: FxHashMap<u64, u64>,
    /// Earlier moments with their beats, the earliest first.
    moments: Vec<(u64, Moment)>,
    /// How many words they have together.
    kept: usize,
    /// At least so many beats lie between those that are kept for whatever may come.
    spacing: u64,
    /// The work that went into keeping moments.
    spent: u64,
    /// How many comparisons were in vain.
    in_vain: u32,
    /// Until so much work has been done, no moments are compared.
    patience: u64,
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
            _ => self.pacemaker = None,
        }
    }

    /// Whether the pacemaker has ended a pass at this instant.
    pub(super) fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// A message has been delivered to a rank.
    pub(super) fn hear(&mut self, rank: u32, posted: Time, now: Time) {
        let after = now.picoseconds().wrapping_sub(self.last_beat.picoseconds());
        let took = now.picoseconds() - posted.picoseconds();
        // Sums of such numbers for different arguments don't meet by chance.
        let sound = split_mix(after ^ u64::from(rank) << 40 ^ took.rotate_left(20));
        self.heard = self.heard.wrapping_add(sound);
    }

    /// Whether there is something to look for at this instant, given how many messages are under way and how much work was
    /// done so far.
    pub(super) fn beat(&mut self, now: Time, under_way: usize, work: u64) -> Option<Look> {
        self.is_marked = false;
        let length = now.picoseconds() - self.last_beat.picoseconds();
        let sound = split_mix(self.heard ^ length.rotate_left(32) ^ (under_way as u64).rotate_left(48));
        (self.heard, self.last_beat) = (0, now);
        self.beats += 1;
        if self.sounds.len() == BEATS {
            self.sounds.clear();
        }
        let before = self.sounds.insert(sound, self.beats);
        if let Some(before) = before
            && work >= self.patience
        {
            let first = self.moments.partition_point(|&(beat, _)| beat < before);
            match self.moments.get(first) {
                Some(&(beat, _)) if beat == before => return Some(Look::Compare(beat)),
                // A moment that will be at hand when it comes back.
                None => return Some(Look::Keep),
                Some(_) => {}
            }
        }
        let last = self.moments.last().map_or(0, |&(beat, _)| beat);
        let is_due = self.beats >= last + self.spacing && self.spent <= work / ONE_IN;
        is_due.then_some(Look::Keep)
    }

    /// Keeps a moment.
    pub(super) fn keep(&mut self, moment: Moment) {
        self.spent += moment.size() as u64 / WORDS_AN_EVENT + 1;
        self.kept += moment.size();
        self.moments.push((self.beats, moment));
        while self.moments.len() > KEPT || (self.kept > KEPT_WORDS && self.moments.len() > 1) {
            // Every other one goes, and those to come lie twice as far apart, so that they stay even.
            let mut goes = true;
            self.moments.retain(|_| {
                goes = !goes;
                !goes
            });
            self.kept = self.moments.iter().map(|(_, moment)| moment.size()).sum();
            self.spacing = self.spacing.max(1) * 2;
        }
    }

    /// The moment of a beat, if this one is like it; otherwise this one is kept.
    pub(super) fn compare(&mut self, beat: u64, moment: Moment) -> Option<(Moment, Moment)> {
        let place = self.moments.iter().position(|&(kept, _)| kept == beat);
        if let Some(place) = place
            && self.moments[place].1.is_like(&moment)
        {
            let (_, earlier) = self.moments.swap_remove(place);
            self.moments.clear();
            self.sounds.clear();
            (self.kept, self.spacing, self.in_vain) = (0, 0, 0);
            return Some((earlier, moment));
        }
        self.keep(moment);
        self.in_vain += 1;
        if self.in_vain > PATIENCE {
            self.patience = self.spent * ONE_IN;
        }
        None
    }

    /// Something came back in vain, as a loop is about to end: there is no use in looking at every beat until then.
    pub(super) fn rest(&mut self, work: u64) {
        self.patience = work + work / ONE_IN;
    }

    /// A leap was made, to `now`.
    pub(super) fn leapt(&mut self, by: Time, instructions: u64, now: Time) {
        self.leapt.leaps += 1;
        self.leapt.time += by;
        self.leapt.instructions += instructions;
        self.last_beat = now;
    }
}
