//! How an engine's state is written down so that one sees whether it comes back: what steers, and what only counts.

use super::network::MessageId;
use crate::units::Time;

/// The state of an engine as far as it steers what happens next, written as words.
///
/// Instants are relative to the present, and messages are named by their place in the order of sending among those that
/// are under way. Two moments with the same words have the same future, until something that only counts comes to its
/// end.
#[derive(Debug, Default)]
pub struct Shape {
    words: Vec<u64>,
    now: Time,
    /// The name of each message, by its number.
    names: Vec<u32>,
    /// The messages that the network has, in the order of their names.
    carried: Vec<MessageId>,
}

impl Shape {
    /// An empty one for the present instant.
    pub(super) fn new(now: Time, names: Vec<u32>, carried: Vec<MessageId>) -> Self {
        Self {
            words: Vec::new(),
            now,
            names,
            carried,
        }
    }

    /// The present instant.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Writes a number.
    pub(super) fn word(&mut self, word: impl Into<u64>) {
        self.words.push(word.into());
    }

    /// Writes several numbers.
    pub(super) fn words(&mut self, words: impl IntoIterator<Item = impl Into<u64>>) {
        self.words.extend(words.into_iter().map(Into::into));
    }

    /// Writes how many things follow, or which of some it is.
    pub(super) fn index(&mut self, index: usize) {
        self.words.push(index as u64);
    }

    /// Writes an instant from which on something is possible: any that is past is as good as the present one.
    pub(super) fn time(&mut self, at: Time) {
        let after = at.picoseconds().saturating_sub(self.now.picoseconds());
        self.words.push(after);
    }

    /// Writes an instant that is past, or isn't.
    pub(super) fn moment(&mut self, at: Time) {
        self.words.push(at.picoseconds().wrapping_sub(self.now.picoseconds()));
    }

    /// Writes an instant that may not be set.
    pub(super) fn moment_if_any(&mut self, at: Option<Time>) {
        self.word(u8::from(at.is_some()));
        self.moment(at.unwrap_or(self.now));
    }

    /// Writes which message it is.
    pub(super) fn message(&mut self, id: MessageId) {
        let name = self.names.get(id as usize).copied().unwrap_or(u32::MAX);
        self.word(name);
    }

    /// Writes which messages they are, and how many.
    pub(super) fn messages<'a>(&mut self, ids: impl IntoIterator<Item = &'a MessageId>) {
        let before = self.words.len();
        self.word(0u8);
        for &id in ids {
            self.message(id);
        }
        self.words[before] = (self.words.len() - before - 1) as u64;
    }

    /// Writes which message it is, if there is one.
    pub(super) fn message_if_any(&mut self, id: Option<MessageId>) {
        self.word(u8::from(id.is_some()));
        if let Some(id) = id {
            self.message(id);
        }
    }

    /// The name of a message that is under way.
    pub(super) fn name(&self, id: MessageId) -> u32 {
        self.names.get(id as usize).copied().unwrap_or(u32::MAX)
    }

    /// The messages that the network has, in the order of their names.
    pub(super) fn carried(&self) -> Vec<MessageId> {
        self.carried.clone()
    }

    /// What was written.
    pub(super) fn into_words(self) -> Vec<u64> {
        self.words
    }
}

/// A walk over all that an engine counts, always in the same order: to remember it, to see how far it can go on growing
/// as it did, and to let it grow.
#[derive(Debug)]
pub struct Counters {
    purpose: Purpose,
    /// What was counted at the earlier of two moments.
    before: Vec<u128>,
    at: usize,
}

#[derive(Clone, Copy, Debug)]
enum Purpose {
    Remember,
    /// How many more times everything may grow as it did.
    Measure(u64),
    /// So many more times, each of which takes so long.
    Grow(u64, Time),
}

impl Counters {
    pub(super) fn remember() -> Self {
        Self {
            purpose: Purpose::Remember,
            before: Vec::new(),
            at: 0,
        }
    }

    /// Asks how often, at most `times`, what has grown since `before` may grow so again.
    pub(super) fn measure(before: Self, times: u64) -> Self {
        Self {
            purpose: Purpose::Measure(times),
            at: 0,
            ..before
        }
    }

    /// Lets what has grown since `before` grow so `times` more, each time in a period of `period`.
    pub(super) fn grow(before: Self, times: u64, period: Time) -> Self {
        Self {
            purpose: Purpose::Grow(times, period),
            at: 0,
            ..before
        }
    }

    /// How many times were found.
    pub(super) fn times(&self) -> u64 {
        match self.purpose {
            Purpose::Remember => 0,
            Purpose::Measure(times) | Purpose::Grow(times, _) => times,
        }
    }

    /// How many are remembered.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }

    fn before(&mut self) -> u128 {
        let before = self.before[self.at];
        self.at += 1;
        before
    }

    /// What only grows.
    pub(super) fn count(&mut self, value: &mut u64) {
        self.up_to(value, u64::MAX);
    }

    /// What only grows, up to `limit` and no further.
    pub(super) fn up_to(&mut self, value: &mut u64, limit: u64) {
        let mut wide = u128::from(*value);
        self.wide_up_to(&mut wide, limit.into());
        *value = u64::try_from(wide).expect("measured before to be within the limit");
    }

    /// What only grows, and is large.
    pub(super) fn wide(&mut self, value: &mut u128) {
        self.wide_up_to(value, u128::MAX);
    }

    fn wide_up_to(&mut self, value: &mut u128, limit: u128) {
        match self.purpose {
            Purpose::Remember => self.before.push(*value),
            Purpose::Measure(times) => {
                let growth = *value - self.before();
                let room = limit.saturating_sub(*value).checked_div(growth);
                let room = room.map_or(times, |room| u64::try_from(room).unwrap_or(u64::MAX));
                self.purpose = Purpose::Measure(times.min(room));
            }
            Purpose::Grow(times, _) => {
                let growth = *value - self.before();
                *value += growth * u128::from(times);
            }
        }
    }

    /// A past instant that is only reported: it is as much later as the present one, if it moved at all.
    pub(super) fn instant(&mut self, value: &mut Time) {
        match self.purpose {
            Purpose::Remember => self.before.push(value.picoseconds().into()),
            Purpose::Measure(_) => self.at += 1,
            Purpose::Grow(times, period) => {
                if self.before() != u128::from(value.picoseconds()) {
                    *value += later(period, times);
                }
            }
        }
    }
}

/// How long so many periods take, which must be within the range of time.
pub(super) fn later(period: Time, times: u64) -> Time {
    period.checked_mul(times).expect("leaps end within the range of time")
}
