//! Messages that have arrived before their receiver asked for them.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::engine::network::MessageId;

/// (destination, source, channel).
pub(super) type Key = (u32, u32, u32);

/// First-in first-out queues, one a (destination, source, channel), kept only while they hold something.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    queues: FxHashMap<Key, Queue>,
}

/// Most queues hold one message, which then needs no allocation.
#[derive(Debug)]
enum Queue {
    One(MessageId),
    Many(VecDeque<MessageId>),
}

impl Mailbox {
    pub(super) fn put(&mut self, key: Key, message: MessageId) {
        match self.queues.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(Queue::One(message));
            }
            Entry::Occupied(mut occupied) => match occupied.get_mut() {
                Queue::One(first) => {
                    let first = *first;
                    occupied.insert(Queue::Many(VecDeque::from([first, message])));
                }
                Queue::Many(queue) => queue.push_back(message),
            },
        }
    }

    pub(super) fn take(&mut self, key: Key) -> Option<MessageId> {
        let Entry::Occupied(mut occupied) = self.queues.entry(key) else {
            return None;
        };
        match occupied.get_mut() {
            Queue::One(message) => {
                let message = *message;
                occupied.remove();
                Some(message)
            }
            Queue::Many(queue) => {
                let message = queue.pop_front();
                if queue.is_empty() {
                    occupied.remove();
                }
                message
            }
        }
    }

    /// The least key that still holds a message.
    pub(super) fn first(&self) -> Option<Key> {
        // The least of all keys doesn't depend on the order of iteration.
        self.queues.keys().min().copied()
    }
}
