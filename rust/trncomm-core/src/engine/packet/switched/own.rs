//! The messages that start at a node: how their packets set out.

use super::{ACKNOWLEDGED, DELIVERED, FLAG, GENERATION_BITS, Packet, Switched, key};
use crate::engine::network::MessageId;
use crate::engine::packet::waiting::OwnHead;
use crate::engine::queue::Queue;
use crate::engine::resources::Hop;
use crate::ids::{NodeId, RankId};
use crate::topology::Policy;
use crate::units::{Bytes, Time};

/// Something that starts at a node, in the queue of its first resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// The lower, the earlier it came.
    pub stamp: u64,
    what: What,
}

/// What starts.
#[derive(Clone, Copy, Debug)]
enum What {
    /// The packets of a message, or those that this resource is the first to be free for.
    Packets(MessageId),
    /// This packet of a message, and every so many further on.
    Every {
        message: MessageId,
        number: u64,
        stride: u64,
    },
    /// Bytes that pass the memory and go nowhere.
    Touch { bytes: Bytes, token: u32 },
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub source: RankId,
    pub destination: RankId,
    pub packets: u64,
    /// The size of the last packet on the wire.
    pub last: Bytes,
    /// Tells a message from an earlier one of the same number.
    pub generation: u64,
    /// How long an acknowledgement takes: the latencies of the route.
    pub way_back: Time,
    /// Packets that have set out.
    sent: u64,
    /// Packets that have started on their last resource.
    brought: u64,
    /// When the last of those will be at the destination, and the highest of their numbers.
    latest: Time,
    highest: u64,
    /// Bytes that have set out and are not acknowledged.
    in_flight: u64,
}

impl Sending {
    pub(super) fn new(source: RankId, destination: RankId, packets: u64, last: Bytes) -> Self {
        Self {
            source,
            destination,
            packets,
            last,
            generation: 0,
            way_back: Time::ZERO,
            sent: 0,
            brought: 0,
            latest: Time::ZERO,
            highest: 0,
            in_flight: 0,
        }
    }
}

impl Switched<'_> {
    /// Puts a message into the queue of its first resource, or of several that share it.
    pub(super) fn enter(&mut self, message: MessageId) {
        let first = self.steering.step(message, 0).hop.resource as usize;
        if self.steering.is_fixed() || self.resources.link(first).is_none() {
            self.queue_own(first, What::Packets(message));
            return;
        }
        let Sending {
            source,
            destination,
            packets,
            ..
        } = self.messages[message as usize];
        let mut links = Vec::new();
        let node = NodeId::from(source.get());
        self.resources.topology().next_links(node, destination, &mut links);
        let stride = links.len() as u64;
        if self.steering.policy() != Policy::Spray || stride == 1 {
            for link in links {
                self.queue_own(link.index(), What::Packets(message));
            }
            return;
        }
        // The message takes up the turns of its node where the one before it left off.
        let start = self.steering.take_turns(node, packets) % stride;
        for (place, link) in (0..stride).zip(links) {
            let number = (place + stride - start) % stride;
            if number < packets {
                let every = What::Every {
                    message,
                    number,
                    stride,
                };
                self.queue_own(link.index(), every);
            }
        }
    }

    /// Has bytes pass a memory.
    pub(super) fn enter_touch(&mut self, memory: usize, bytes: Bytes, token: u32) {
        self.queue_own(memory, What::Touch { bytes, token });
    }

    fn queue_own(&mut self, output: usize, what: What) {
        self.stamp += 1;
        let stamp = self.stamp;
        self.outputs[output].own.push_back(Own { stamp, what });
        self.touch_output(output);
    }

    /// What would set out next here. Messages whose window is closed step aside until they hear from the other end.
    pub(super) fn next_own(&mut self, output: usize) -> Option<OwnHead> {
        loop {
            let own = *self.outputs[output].own.front()?;
            let slot = self.outputs[output].own_slot;
            let Some((message, number)) = self.packet_of(own.what) else {
                return Some(OwnHead {
                    stamp: own.stamp,
                    channel: 0,
                    slot,
                    is_ready: true,
                });
            };
            let sending = &self.messages[message as usize];
            let last = number + 1 == sending.packets;
            let size = self.size(message, last);
            if let Some(window) = self.window
                && sending.in_flight > 0
                && sending.in_flight + size > window
            {
                self.outputs[output].own.pop_front();
                let place = super::index(output);
                self.parked.entry(message).or_default().push((place, own));
                continue;
            }
            let channel = self.first_channel(message, output);
            return Some(OwnHead {
                stamp: own.stamp,
                channel,
                slot,
                is_ready: self.fits(output, message, last, channel),
            });
        }
    }

    /// The message and the number of the packet that is next; none for a touch.
    fn packet_of(&self, what: What) -> Option<(MessageId, u64)> {
        match what {
            What::Packets(message) => Some((message, self.messages[message as usize].sent)),
            What::Every { message, number, .. } => Some((message, number)),
            What::Touch { .. } => None,
        }
    }

    fn first_channel(&self, message: MessageId, output: usize) -> u8 {
        if self.steering.is_fixed() {
            self.steering.step(message, 0).channel
        } else {
            self.first_step(output).channel
        }
    }

    /// Starts what [`Self::next_own`] found.
    pub(super) fn start_own(&mut self, output: usize) {
        let own = *self.outputs[output].own.front().expect("found before");
        if let What::Touch { bytes, token } = own.what {
            let end = self.now + self.resources.bandwidth(output).serialization(bytes);
            self.outputs[output].own.pop_front();
            self.outputs[output].free = end;
            self.queue.push(key(end, super::WOKEN, token));
            return;
        }
        let (message, number) = self.packet_of(own.what).expect("not a touch");
        let sending = &mut self.messages[message as usize];
        sending.sent += 1;
        let last = number + 1 == sending.packets;
        let is_over = match &mut self.outputs[output].own.front_mut().expect("found before").what {
            What::Every { number, stride, .. } => {
                *number += *stride;
                *number >= sending.packets
            }
            _ => last,
        };
        if is_over {
            self.outputs[output].own.pop_front();
            self.call_off(message);
        }
        let size = self.size(message, last);
        self.messages[message as usize].in_flight += size;
        let here = if self.steering.is_fixed() || self.resources.link(output).is_none() {
            self.steering.step(message, 0)
        } else {
            self.first_step(output)
        };
        let packet = Packet {
            message,
            number,
            last,
            hop: 0,
            here,
            from: None,
            came: self.now,
        };
        let id = if let Some(free) = self.free.pop() {
            self.packets[free as usize] = packet;
            free
        } else {
            self.packets.push(packet);
            super::index(self.packets.len() - 1)
        };
        self.start(output, id);
    }

    /// The last packet of a message has set out: other resources that could have sent it need not.
    fn call_off(&mut self, message: MessageId) {
        if self.steering.policy() != Policy::Adaptive {
            return;
        }
        self.parked.remove(&message);
        let Sending {
            source, destination, ..
        } = self.messages[message as usize];
        let mut links = Vec::new();
        let topology = self.resources.topology();
        topology.next_links(NodeId::from(source.get()), destination, &mut links);
        for link in links {
            let own = &mut self.outputs[link.index()].own;
            // They all send messages in much the same order, so it is near the front.
            let place = own
                .iter()
                .position(|own| matches!(own.what, What::Packets(other) if other == message));
            if let Some(place) = place {
                own.remove(place);
                self.touch_output(link.index());
            }
        }
    }

    /// The step of a packet that sets out on a link.
    fn first_step(&self, output: usize) -> super::Step {
        let hop = Hop {
            resource: super::index(output),
            touches: 1,
        };
        self.step_onto(hop)
    }

    /// A packet will be at its destination at `arrival`; its message is delivered with the last to come.
    pub(super) fn bring(&mut self, id: MessageId, number: u64, arrival: Time) {
        let has_window = self.window.is_some();
        let message = &mut self.messages[id as usize];
        if number < message.highest {
            self.steering.count_reordered();
        }
        message.highest = message.highest.max(number);
        message.brought += 1;
        message.latest = message.latest.max(arrival);
        if message.brought == message.packets {
            // A message without bytes may end together with the one before it, and comes after that.
            let is_empty = u128::from(message.last == Bytes::ZERO);
            self.queue.push(key(message.latest, DELIVERED, id) | is_empty << FLAG);
        } else if has_window {
            let at = arrival + message.way_back;
            let generation = u128::from(message.generation % (1 << GENERATION_BITS));
            let is_last = u128::from(number + 1 == message.packets);
            self.queue
                .push(key(at, ACKNOWLEDGED, id) | generation << (FLAG + 1) | is_last << FLAG);
        }
    }

    /// The sender learns that a packet of a message has arrived.
    pub(super) fn acknowledged(&mut self, id: MessageId, generation: u64, is_last: bool) {
        if self.messages[id as usize].generation != generation {
            return;
        }
        self.messages[id as usize].in_flight -= self.size(id, is_last);
        self.resumed.extend(self.parked.remove(&id).into_iter().flatten());
    }

    /// Puts what heard from the other end at this instant back into the queues, in the order in which it was there.
    pub(super) fn resume(&mut self) {
        let mut resumed = std::mem::take(&mut self.resumed);
        resumed.sort_unstable_by_key(|(output, own)| (*output, own.stamp));
        for (output, own) in resumed.drain(..) {
            self.queue_own(output as usize, own.what);
        }
        self.resumed = resumed;
    }
}
