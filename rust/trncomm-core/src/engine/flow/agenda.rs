//! What is to happen at later instants, with everything of one instant kept together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::Time;

/// How many of the instants asked for last are looked through before a new bucket is opened.
const RECENT: usize = 2;

/// Items by instant; those of one instant come out together, in the order in which they went in.
///
/// Symmetric traffic puts thousands of items at one instant, one after the other. They share a bucket, so that the
/// heap is touched once for all of them.
#[derive(Debug)]
pub(super) struct Agenda<T> {
    /// (instant, number of the bucket in order of opening, slot).
    heap: BinaryHeap<Reverse<(Time, u64, usize)>>,
    slots: Vec<Vec<T>>,
    free: Vec<usize>,
    /// The buckets opened last, which may still be added to.
    recent: [Option<(Time, usize)>; RECENT],
    opened: u64,
    len: usize,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            recent: [None; RECENT],
            opened: 0,
            len: 0,
        }
    }
}

impl<T> Agenda<T> {
    pub(super) fn push(&mut self, at: Time, item: T) {
        let known = self.recent.iter().flatten().find(|(time, _)| *time == at);
        let slot = match known {
            Some(&(_, slot)) => slot,
            None => self.open(at),
        };
        self.slots[slot].push(item);
        self.len += 1;
    }

    // Once a bucket is no longer recent, a later one of the same instant takes what follows, and is taken after it.
    fn open(&mut self, at: Time) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Vec::new());
            self.slots.len() - 1
        });
        self.heap.push(Reverse((at, self.opened, slot)));
        self.opened += 1;
        self.recent.rotate_right(1);
        self.recent[0] = Some((at, slot));
        slot
    }

    /// The earliest instant.
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// Moves the items of the instant `at` to the end of `into`, where it is the earliest.
    pub(super) fn take(&mut self, at: Time, into: &mut Vec<T>) {
        while let Some(&Reverse((time, _, slot))) = self.heap.peek()
            && time == at
        {
            self.heap.pop();
            self.len -= self.slots[slot].len();
            into.append(&mut self.slots[slot]);
            self.close(slot);
        }
    }

    fn close(&mut self, slot: usize) {
        self.free.push(slot);
        for recent in &mut self.recent {
            if recent.is_some_and(|(_, open)| open == slot) {
                *recent = None;
            }
        }
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Drops the items that `keep` doesn't hold on to.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for (time, order, slot) in std::mem::take(&mut self.heap).into_iter().map(|Reverse(entry)| entry) {
            self.len -= self.slots[slot].len();
            self.slots[slot].retain(&mut keep);
            self.len += self.slots[slot].len();
            if self.slots[slot].is_empty() {
                self.close(slot);
            } else {
                self.heap.push(Reverse((time, order, slot)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_an_instant_come_out_in_the_order_in_which_they_went_in() {
        let mut agenda = Agenda::default();
        let at = Time::from_picoseconds;
        for (item, time) in [5, 3, 5, 7, 3, 9, 5, 3].into_iter().enumerate() {
            agenda.push(at(time), item);
        }
        agenda.retain(|item| *item != 2);
        let mut taken = Vec::new();
        while let Some(next) = agenda.next() {
            agenda.take(next, &mut taken);
        }
        assert_eq!(taken, [1, 4, 7, 0, 6, 3, 5]);
        assert_eq!(agenda.len(), 0);
    }
}
