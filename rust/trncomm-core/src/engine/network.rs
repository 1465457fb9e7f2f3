//! What the rank machine asks of a network model.

use super::recurrence::{Counters, Shape};
use crate::error::SimulationError;
use crate::ids::RankId;
use crate::units::{Bytes, Time};

/// A message under way, numbered by the rank machine; numbers are reused after delivery.
pub type MessageId = u32;

/// Something the rank machine asked for and now gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The last byte of a message has reached its destination.
    Delivered(MessageId),
    /// The instant of a [`Network::wake`] has come.
    Woken(u32),
}

/// How far [`Network::advance`] got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// To this instant, at which something is due.
    Due(Time),
    /// To this instant, at which nothing is due: a pause to look for interrupts.
    Paused(Time),
    /// To the end: nothing is under way.
    Idle,
}

/// What a network carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Payload and header bytes that each directed link carried.
    pub link_bytes: Vec<u64>,
    /// Picoseconds that each directed link was sending, or waiting to send a packet again that it got wrong.
    pub link_busy: Vec<u64>,
    /// Picoseconds that packets waited at a node for each link, summed over packets. Like the columns below, empty
    /// where the model has no such thing.
    pub link_wait: Vec<u128>,
    /// Picoseconds that the packet that waited longest waited at a node for each link.
    pub link_longest_wait: Vec<u64>,
    /// Picoseconds that each link stood still for lack of room behind it.
    pub link_held: Vec<u64>,
    /// The most bytes of packets in transit that ever waited for each link.
    pub queue_peak: Vec<u64>,
    /// Bytes of packets in transit that waited for each link, times the picoseconds that they did.
    pub queue_area: Vec<u128>,
    /// The most bytes that ever waited in the buffer at each link's end.
    pub buffer_peak: Vec<u64>,
    /// Packets that started on their last link after one that was sent later.
    pub reordered: u64,
    /// Messages times the links that each crossed, in packets where the model has packets.
    pub packet_hops: u64,
    /// Events that the model handled.
    pub events: u64,
}

/// A network model: carries messages and keeps the time.
///
/// Time moves in [`Self::advance`] only. Whatever is posted at an instant is part of that instant.
///
/// INVARIANT: messages from one rank to another are delivered in the order in which they enter, also within an instant,
/// unless [`Self::keeps_order`] says otherwise.
pub trait Network {
    /// Hands over a message of `bytes` that enters the network at `at`, not before the present instant.
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError>;

    /// Asks for [`Due::Woken`] with `token` at `at`, not before the present instant.
    fn wake(&mut self, at: Time, token: u32);

    /// Asks for [`Due::Woken`] with `token` when `bytes` have passed the memory of a rank, from the present instant on.
    ///
    /// Asked only where the endpoint has a memory rate, so a model for networks without one may leave it out.
    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        unreachable!("no memory rate, yet {bytes} are to pass the memory of rank {rank} for {token}")
    }

    /// Whether messages of one source and destination are delivered in the order of their posting, if they enter in it.
    fn keeps_order(&self) -> bool {
        true
    }

    /// Moves on to the next instant at which something is due, and appends all that is due then to `due`.
    fn advance(&mut self, due: &mut Vec<Due>) -> Advance;

    /// What has been carried so far.
    fn traffic(&self) -> Traffic;

    /// What an idle network with messages inside is stuck on.
    fn stuck(&self) -> Option<String> {
        None
    }

    /// Events handled so far.
    fn events(&self) -> u64 {
        self.traffic().events
    }

    /// Whether the model can say what steers it, as the three that follow do. Where it can't, runs over it don't leap.
    fn recurs(&self) -> bool {
        false
    }

    /// Writes all that steers what happens next.
    fn describe(&mut self, _shape: &mut Shape) {}

    /// Walks over all that the model counts, always in the same order.
    fn count(&mut self, _counters: &mut Counters) {}

    /// Puts all that is to happen later by so much.
    fn put_off(&mut self, _by: Time) {}
}
