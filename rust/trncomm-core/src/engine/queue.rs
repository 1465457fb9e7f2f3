//! Pending events in order of their keys.
//!
//! A key is 128 bits: the time in the upper 64, whatever else decides the order below. [`Heap`] is a binary heap, the
//! plain structure that [`Wheel`] is checked against and measured against.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A set of pending events, taken least key first. Keys are distinct, or equal ones are alike.
pub trait Queue {
    /// Adds an event, not before the last one taken.
    fn push(&mut self, key: u128);

    /// The least key.
    fn peek(&mut self) -> Option<u128>;

    /// Takes the least key.
    fn pop(&mut self) -> Option<u128>;

    /// All keys, in any order.
    fn keys(&self) -> impl Iterator<Item = u128>;

    /// Moves all events later by so many picoseconds.
    fn put_off(&mut self, by: u64);
}

/// A binary heap.
#[derive(Debug, Default)]
pub struct Heap(BinaryHeap<Reverse<u128>>);

impl Queue for Heap {
    fn push(&mut self, key: u128) {
        self.0.push(Reverse(key));
    }

    fn peek(&mut self) -> Option<u128> {
        self.0.peek().map(|&Reverse(key)| key)
    }

    fn pop(&mut self) -> Option<u128> {
        self.0.pop().map(|Reverse(key)| key)
    }

    fn keys(&self) -> impl Iterator<Item = u128> {
        self.0.iter().map(|&Reverse(key)| key)
    }

    fn put_off(&mut self, by: u64) {
        let keys = std::mem::take(&mut self.0).into_iter();
        self.0 = keys.map(|Reverse(key)| Reverse(later(key, by))).collect();
    }
}

/// How many buckets the wheel has.
const BUCKETS: usize = 1 << 12;
/// How many buckets are opened between two looks at how full they are.
const REVIEW_AFTER: u32 = 1 << 12;

/// A wheel of time buckets: events of one bucket are sorted when their time comes, events past the wheel's horizon
/// wait in a heap. The width of a bucket follows the density of events.
#[derive(Debug)]
pub struct Wheel {
    /// The width of a bucket is 2^shift ps.
    shift: u32,
    /// The number of the open bucket since time 0.
    open: u64,
    /// The events of the open bucket, least last.
    current: Vec<u128>,
    /// Those of the buckets that follow, unsorted; bucket n is at n modulo their number.
    buckets: Vec<Vec<u128>>,
    /// One bit a bucket that holds something.
    occupied: Vec<u64>,
    /// Events past the horizon.
    later: Heap,
    opened: u32,
    sorted: u64,
    deferred: u64,
}

impl Wheel {
    /// A wheel whose buckets are about `width` ps wide at first.
    pub fn new(width: u64) -> Self {
        Self {
            shift: width.max(1).ilog2(),
            open: 0,
            current: Vec::new(),
            buckets: vec![Vec::new(); BUCKETS],
            occupied: vec![0; BUCKETS / 64],
            later: Heap::default(),
            opened: 0,
            sorted: 0,
            deferred: 0,
        }
    }

    fn bucket(&self, key: u128) -> u64 {
        time(key) >> self.shift
    }

    fn place(&mut self, key: u128, bucket: u64) {
        let index = slot(bucket);
        self.buckets[index].push(key);
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    /// Opens the next bucket that holds something; false if none does.
    fn turn(&mut self) -> bool {
        if self.opened == REVIEW_AFTER {
            self.review();
        }
        let near = self.next_occupied();
        let far = self.later.peek().map(|key| self.bucket(key));
        let next = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (Some(bucket), None) | (None, Some(bucket)) => bucket,
            (None, None) => return false,
        };
        self.open = next;
        while let Some(key) = self.later.peek()
            && self.bucket(key) < next + BUCKETS as u64
        {
            self.later.pop();
            let bucket = self.bucket(key);
            self.place(key, bucket);
        }
        let index = slot(next);
        self.occupied[index / 64] &= !(1 << (index % 64));
        std::mem::swap(&mut self.current, &mut self.buckets[index]);
        self.current.sort_unstable_by(|a, b| b.cmp(a));
        self.opened += 1;
        self.sorted += self.current.len() as u64;
        true
    }

    /// The first bucket after the open one that holds something.
    fn next_occupied(&self) -> Option<u64> {
        let start = slot(self.open + 1);
        let words = self.occupied.len();
        let head = self.occupied[start / 64] >> (start % 64);
        if head != 0 {
            return Some(self.open + 1 + u64::from(head.trailing_zeros()));
        }
        let mut offset = 64 - (start % 64) as u64;
        for step in 1..=words {
            let word = self.occupied[(start / 64 + step) % words];
            if word != 0 {
                return Some(self.open + 1 + offset + u64::from(word.trailing_zeros()));
            }
            offset += 64;
        }
        None
    }

    /// Halves or doubles the width where buckets turned out full, or much lay past the horizon.
    fn review(&mut self) {
        let average = self.sorted / u64::from(self.opened);
        let shift = if average > 48 && self.shift > 0 {
            self.shift - 1
        } else if self.deferred > self.sorted / 4 && average < 24 && self.shift < 63 {
            self.shift + 1
        } else {
            self.shift
        };
        if shift != self.shift {
            self.rebuild(shift);
        }
        (self.opened, self.sorted, self.deferred) = (0, 0, 0);
    }

    /// Sorts all events into buckets of another width. The open bucket must be used up.
    fn rebuild(&mut self, shift: u32) {
        let keys: Vec<u128> = self.buckets.iter_mut().flat_map(std::mem::take).collect();
        self.occupied.fill(0);
        // The first bucket that can hold a pending event, less one: nothing pending is in the open bucket.
        let least = keys.iter().min().copied().into_iter().chain(self.later.peek()).min();
        self.shift = shift;
        self.open = least.map_or(0, |key| self.bucket(key).saturating_sub(1));
        for key in keys {
            self.push(key);
        }
    }
}

impl Queue for Wheel {
    fn push(&mut self, key: u128) {
        let bucket = self.bucket(key);
        if bucket <= self.open {
            let at = self.current.partition_point(|&other| other > key);
            self.current.insert(at, key);
        } else if bucket - self.open < BUCKETS as u64 {
            self.place(key, bucket);
        } else {
            self.deferred += 1;
            self.later.push(key);
        }
    }

    fn peek(&mut self) -> Option<u128> {
        if self.current.is_empty() && !self.turn() {
            return None;
        }
        self.current.last().copied()
    }

    fn pop(&mut self) -> Option<u128> {
        if self.current.is_empty() && !self.turn() {
            return None;
        }
        self.current.pop()
    }

    fn keys(&self) -> impl Iterator<Item = u128> {
        let near = self.current.iter().chain(self.buckets.iter().flatten()).copied();
        near.chain(self.later.keys())
    }

    fn put_off(&mut self, by: u64) {
        let keys: Vec<u128> = self.keys().map(|key| later(key, by)).collect();
        self.current.clear();
        self.buckets.iter_mut().for_each(Vec::clear);
        self.occupied.fill(0);
        self.later = Heap::default();
        let least = keys.iter().min();
        self.open = least.map_or(self.open, |&key| self.bucket(key).saturating_sub(1));
        for key in keys {
            self.push(key);
        }
    }
}

/// A key so many picoseconds later.
fn later(key: u128, by: u64) -> u128 {
    key + (u128::from(by) << 64)
}

#[allow(clippy::cast_possible_truncation)] // the upper 64 of 128 bits
fn time(key: u128) -> u64 {
    (key >> 64) as u64
}

#[allow(clippy::cast_possible_truncation)] // below BUCKETS
fn slot(bucket: u64) -> usize {
    bucket as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of numbers for the mixes below (Marsaglia's xorshift).
    fn next(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn events_that_are_put_off_come_in_the_same_order_later() {
        let mut state = 0x1234_5678_9ABC_DEF1;
        for by in [0, 1, 1 << 20, 1 << 50] {
            let (mut wheel, mut heap) = (Wheel::new(100), Heap::default());
            for round in 0..3000u64 {
                let key = u128::from(round * 7 + next(&mut state) % (1 << 22)) << 64 | u128::from(round);
                wheel.push(key);
                heap.push(key);
                if round % 3 == 0 {
                    assert_eq!(wheel.pop(), heap.pop());
                }
            }
            wheel.put_off(by);
            let mut waiting: Vec<u128> = std::iter::from_fn(|| heap.pop()).collect();
            let mut keys: Vec<u128> = wheel.keys().collect();
            keys.sort_unstable();
            for key in &mut waiting {
                *key += u128::from(by) << 64;
            }
            assert_eq!(keys, waiting);
            let taken: Vec<u128> = std::iter::from_fn(|| wheel.pop()).collect();
            assert_eq!(taken, waiting);
        }
    }

    #[test]
    fn a_wheel_takes_events_in_the_order_of_a_heap() {
        let mut state = 0x1234_5678_9ABC_DEF1;
        // Spreads from much narrower than a bucket to far past the horizon, and mixes of both.
        for (width, spreads) in [
            (1, vec![1, 50]),
            (4096, vec![100, 1 << 14, 1 << 40]),
            (1 << 20, vec![1000, 1 << 13]),
        ] {
            let (mut wheel, mut heap) = (Wheel::new(width), Heap::default());
            let mut now = 0u64;
            for round in 0..200_000u64 {
                let spread = spreads[usize::try_from(next(&mut state)).expect("64 bits") % spreads.len()];
                let grows = if round < 2_000 {
                    2
                } else {
                    u64::from(!next(&mut state).is_multiple_of(8))
                };
                for _ in 0..grows {
                    let at = u128::from(now + next(&mut state) % spread) << 64 | u128::from(next(&mut state));
                    wheel.push(at);
                    heap.push(at);
                }
                assert_eq!(wheel.peek(), heap.peek());
                let taken = wheel.pop();
                assert_eq!(taken, heap.pop());
                now = taken.map_or(now, time);
            }
            while let Some(key) = heap.pop() {
                assert_eq!(wheel.pop(), Some(key));
            }
            assert_eq!(wheel.pop(), None);
        }
    }
}
