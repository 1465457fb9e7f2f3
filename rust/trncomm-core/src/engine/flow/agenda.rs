//! What is to happen at later instants, with everything of one instant kept together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::units::Time;

/// How many of the instants asked for last are looked through before a new bucket is opened.
const RECENT: usize = 2;

/// Items by instant; those of one instant come out together, in the order in which they went in.
///
/// Symmetric traffic puts thousands of items at one instant, one after the other: they share a bucket, so that the
/// heap is touched once for all of them. Instants that only grow, as when a constant is added to the present, need no
/// heap: their buckets wait in line.
#[derive(Debug)]
pub(super) struct Agenda<T> {
    /// Buckets that were opened for an instant no earlier than that of the one before.
    line: VecDeque<(Time, u32)>,
    /// The other buckets, by [`key`].
    heap: BinaryHeap<Reverse<u128>>,
    slots: Vec<Bucket<T>>,
    free: Vec<u32>,
    /// The buckets opened last, which may still be added to.
    recent: [Option<(Time, u32)>; RECENT],
    opened: u64,
    len: usize,
    /// The buckets of the instant that is being taken.
    taken: Vec<(u64, u32)>,
}

#[derive(Debug)]
struct Bucket<T> {
    /// Its number in the order of opening.
    number: u64,
    /// Kept here, as most buckets of traffic that isn't symmetric hold one item.
    first: Option<T>,
    others: Vec<T>,
}

impl<T> Bucket<T> {
    fn push(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.others.push(item);
        }
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    fn append_to(&mut self, into: &mut Vec<T>) {
        into.extend(self.first.take());
        if !self.others.is_empty() {
            into.append(&mut self.others);
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.others.retain(&mut keep);
        if self.first.as_ref().is_some_and(|first| !keep(first)) {
            self.first = (!self.others.is_empty()).then(|| self.others.remove(0));
        }
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            recent: [None; RECENT],
            opened: 0,
            len: 0,
            taken: Vec::new(),
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
        self.slots[slot as usize].push(item);
        self.len += 1;
    }

    // Once a bucket is no longer recent, a later one of the same instant takes what follows.
    fn open(&mut self, at: Time) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Bucket {
                number: 0,
                first: None,
                others: Vec::new(),
            });
            u32::try_from(self.slots.len() - 1).expect("fewer instants than messages and streams")
        });
        self.slots[slot as usize].number = self.opened;
        self.opened += 1;
        if self.line.back().is_none_or(|&(last, _)| last <= at) {
            self.line.push_back((at, slot));
        } else {
            self.heap.push(Reverse(key(at, slot)));
        }
        self.recent.rotate_right(1);
        self.recent[0] = Some((at, slot));
        slot
    }

    /// The earliest instant.
    pub(super) fn next(&self) -> Option<Time> {
        let line = self.line.front().map(|&(time, _)| time);
        let heap = self.heap.peek().map(|&Reverse(key)| unpacked(key).0);
        match (line, heap) {
            (Some(line), Some(heap)) => Some(line.min(heap)),
            (line, heap) => line.or(heap),
        }
    }

    /// Moves the items of the instant `at` to the end of `into`, where it is the earliest.
    pub(super) fn take(&mut self, at: Time, into: &mut Vec<T>) {
        let mut taken = std::mem::take(&mut self.taken);
        while let Some(&(time, slot)) = self.line.front()
            && time == at
        {
            self.line.pop_front();
            taken.push((self.slots[slot as usize].number, slot));
        }
        while let Some((time, slot)) = self.heap.peek().map(|&Reverse(key)| unpacked(key))
            && time == at
        {
            self.heap.pop();
            taken.push((self.slots[slot as usize].number, slot));
        }
        if taken.len() > 1 {
            taken.sort_unstable();
        }
        for (_, slot) in taken.drain(..) {
            let bucket = &mut self.slots[slot as usize];
            self.len -= bucket.len();
            bucket.append_to(into);
            self.close(slot);
        }
        self.taken = taken;
    }

    fn close(&mut self, slot: u32) {
        self.free.push(slot);
        for recent in &mut self.recent {
            if recent.is_some_and(|(_, open)| open == slot) {
                *recent = None;
            }
        }
    }

    /// All items with their instants, in the order in which they will come out.
    pub(super) fn items(&self) -> Vec<(Time, &T)> {
        let waiting = self.heap.iter().map(|&Reverse(key)| unpacked(key));
        let mut buckets: Vec<_> = self
            .line
            .iter()
            .copied()
            .chain(waiting)
            .map(|(time, slot)| (time, self.slots[slot as usize].number, slot))
            .collect();
        buckets.sort_unstable();
        let items = |(time, _, slot): (Time, u64, u32)| {
            let bucket = &self.slots[slot as usize];
            bucket.first.iter().chain(&bucket.others).map(move |item| (time, item))
        };
        buckets.into_iter().flat_map(items).collect()
    }

    /// Moves all items later by so much.
    pub(super) fn put_off(&mut self, by: Time) {
        self.line.iter_mut().for_each(|(time, _)| *time += by);
        self.recent.iter_mut().flatten().for_each(|(time, _)| *time += by);
        let waiting = std::mem::take(&mut self.heap).into_iter();
        let later = |Reverse(old)| {
            let (time, slot) = unpacked(old);
            Reverse(key(time + by, slot))
        };
        self.heap = waiting.map(later).collect();
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Drops the items that `keep` doesn't hold on to.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut line = std::mem::take(&mut self.line);
        line.retain(|&(_, slot)| self.keep_bucket(slot, &mut keep));
        self.line = line;
        let mut heap = std::mem::take(&mut self.heap);
        heap.retain(|&Reverse(key)| self.keep_bucket(unpacked(key).1, &mut keep));
        self.heap = heap;
    }

    /// Drops items of a bucket; closes it where none is left, and says whether one is.
    fn keep_bucket(&mut self, slot: u32, keep: &mut impl FnMut(&T) -> bool) -> bool {
        let bucket = &mut self.slots[slot as usize];
        self.len -= bucket.len();
        bucket.retain(keep);
        self.len += bucket.len();
        let kept = bucket.len() > 0;
        if !kept {
            self.close(slot);
        }
        kept
    }
}

/// An instant and a slot as one number, which compares without a branch: half of those in a heap would be guessed wrong.
fn key(at: Time, slot: u32) -> u128 {
    (u128::from(at.picoseconds()) << 32) | u128::from(slot)
}

#[allow(clippy::cast_possible_truncation)] // it undoes `key`
fn unpacked(key: u128) -> (Time, u32) {
    (Time::from_picoseconds((key >> 32) as u64), key as u32)
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
        let expected = [1, 4, 7, 0, 6, 3, 5];
        assert_eq!(
            agenda.items().into_iter().map(|(_, &item)| item).collect::<Vec<_>>(),
            expected
        );
        agenda.put_off(at(100));
        assert_eq!(agenda.next(), Some(at(103)));
        let mut taken = Vec::new();
        while let Some(next) = agenda.next() {
            agenda.take(next, &mut taken);
        }
        assert_eq!(taken, expected);
        assert_eq!(agenda.len(), 0);
    }
}
