//! Messages that have arrived before their receiver asked for them.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::engine::network::MessageId;

/// (destination, source, channel).
pub(super) type Key = (u32, u32, u32);

/// First-in first-out queues, one a (destination, source, channel), kept only while they hold something.
///
/// A queue is a chain through a table over all messages, so that entries are small and nothing is allocated for one: an
/// exchange at once keeps a million of them, and then it is memory that takes the time.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    queues: FxHashMap<Key, Queue>,
    /// The message behind each one; means nothing for the last of a queue.
    behind: Vec<MessageId>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: MessageId,
    last: MessageId,
}

impl Mailbox {
    pub(super) fn put(&mut self, key: Key, message: MessageId) {
        match self.queues.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(Queue {
                    first: message,
                    last: message,
                });
            }
            Entry::Occupied(mut occupied) => {
                let queue = occupied.get_mut();
                let last = queue.last as usize;
                if self.behind.len() <= last {
                    self.behind.resize(last + 1, 0);
                }
                self.behind[last] = message;
                queue.last = message;
            }
        }
    }

    pub(super) fn take(&mut self, key: Key) -> Option<MessageId> {
        let Entry::Occupied(mut occupied) = self.queues.entry(key) else {
            return None;
        };
        let Queue { first, last } = *occupied.get();
        if first == last {
            occupied.remove();
        } else {
            occupied.get_mut().first = self.behind[first as usize];
        }
        Some(first)
    }

    /// All that is kept, by key.
    pub(super) fn sorted(&self) -> Vec<(Key, Vec<MessageId>)> {
        let mut all: Vec<_> = self
            .queues
            .iter()
            .map(|(&key, &Queue { first, last })| {
                let next = |&id: &MessageId| (id != last).then(|| self.behind[id as usize]);
                (key, std::iter::successors(Some(first), next).collect())
            })
            .collect();
        all.sort_unstable_by_key(|&(key, _)| key);
        all
    }

    /// The least key that still holds a message.
    pub(super) fn first(&self) -> Option<Key> {
        // The least of all keys doesn't depend on the order of iteration.
        self.queues.keys().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_key_come_out_in_the_order_in_which_they_went_in() {
        let mut mailbox = Mailbox::default();
        let (key, other) = ((0, 1, 0), (0, 2, 0));
        for (key, message) in [(key, 7), (other, 3), (key, 2), (key, 9)] {
            mailbox.put(key, message);
        }
        assert_eq!(mailbox.take(key), Some(7));
        // A number is used again once its message has been taken.
        mailbox.put(key, 7);
        assert_eq!(mailbox.first(), Some(key));
        assert_eq!(
            [
                mailbox.take(key),
                mailbox.take(key),
                mailbox.take(key),
                mailbox.take(key)
            ],
            [Some(2), Some(9), Some(7), None]
        );
        assert_eq!(mailbox.take(other), Some(3));
        assert_eq!(mailbox.first(), None);
    }
}
