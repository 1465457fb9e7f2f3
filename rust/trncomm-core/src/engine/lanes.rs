//! Events that are known to come one after the other.
//!
//! What a link delivers, it delivers in order, so only the next of its events has to be in the queue. The queue then
//! holds about as many events as links are busy, however many are pending.

use std::collections::VecDeque;

use super::queue::Queue;

/// The bit of an event's key that says that it is the front of its lane. Keys must leave it to [`Lanes`].
pub(super) const IN_LANE: u128 = 1 << 32;

/// One first-in first-out queue of events a link, in ascending order, whose front is also in the event queue.
#[derive(Debug)]
pub(super) struct Lanes(Vec<VecDeque<u128>>);

impl Lanes {
    /// So many empty lanes.
    pub(super) fn new(count: usize) -> Self {
        Self(vec![VecDeque::new(); count])
    }

    /// Adds an event to a lane, or to the queue alone if it comes before the lane's last one.
    pub(super) fn push(&mut self, queue: &mut impl Queue, lane: usize, key: u128) {
        let lane = &mut self.0[lane];
        let key = key | IN_LANE;
        match lane.back() {
            Some(&back) if back > key => queue.push(key & !IN_LANE),
            Some(_) => lane.push_back(key),
            None => {
                lane.push_back(key);
                queue.push(key);
            }
        }
    }

    /// Moves a lane on, after the queue has given up `key`, which was pushed to it.
    pub(super) fn taken(&mut self, queue: &mut impl Queue, lane: usize, key: u128) {
        if key & IN_LANE != 0 {
            let lane = &mut self.0[lane];
            lane.pop_front();
            if let Some(&next) = lane.front() {
                queue.push(next);
            }
        }
    }

    /// The lanes that hold events, with them in order.
    pub(super) fn filled(&self) -> impl Iterator<Item = (usize, &VecDeque<u128>)> {
        self.0.iter().enumerate().filter(|(_, lane)| !lane.is_empty())
    }

    /// Moves all events later by so many picoseconds; those in the queue are the queue's own to move.
    pub(super) fn put_off(&mut self, by: u64) {
        let keys = self.0.iter_mut().flatten();
        keys.for_each(|key| *key += u128::from(by) << 64);
    }
}
