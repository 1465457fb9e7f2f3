//! What a rank has under way, and the order in which its messages count as arrived.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::mailbox::Key;
use crate::engine::network::MessageId;

/// A rank's dealings with the network.
#[derive(Debug, Default)]
pub(super) struct Dispatch {
    /// Messages posted so far.
    pub(super) count: u64,
    /// Messages that the network has.
    pub(super) under_way: u32,
    /// Messages that wait for one of the rank's queues.
    pub(super) backlog: VecDeque<MessageId>,
    /// Messages to this rank whose completion overhead runs. It is the same for all, so they end in this order.
    pub(super) completing: VecDeque<MessageId>,
}

/// Holds back messages that overtook an earlier one of the same source, destination and channel: they match first-in
/// first-out, by the order of posting.
#[derive(Debug, Default)]
pub(super) struct Order {
    posted: FxHashMap<Key, VecDeque<(MessageId, bool)>>,
}

impl Order {
    /// A message has been posted.
    pub(super) fn posted(&mut self, key: Key, message: MessageId) {
        self.posted.entry(key).or_default().push_back((message, false));
    }

    /// A message has arrived: appends those that now count as arrived, in order.
    pub(super) fn arrived(&mut self, key: Key, message: MessageId, ready: &mut Vec<MessageId>) {
        let queue = self.posted.get_mut(&key).expect("a message that arrives was posted");
        let place = queue.iter().position(|&(posted, _)| posted == message);
        queue[place.expect("a message that arrives was posted")].1 = true;
        while let Some(&(first, true)) = queue.front() {
            ready.push(first);
            queue.pop_front();
        }
        if queue.is_empty() {
            self.posted.remove(&key);
        }
    }
}
