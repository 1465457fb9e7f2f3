//! The `packet` model: store-and-forward packets over links with first-in first-out output queues.
//!
//! A message is cut into packets of the format's payload, the last one shorter, each with a header. A link serves the
//! packets that wait for it in the order in which they came to its node; those that came at one instant, in the order
//! of the ports they came in by, relative to the link ([`Topology::tie`]); messages that start at the link's own node
//! come after those in transit, in the order of posting. A packet without bytes, header included, comes after all others
//! of its instant: it takes no time on a link, so it may come to the end of one together with the packet before it, and
//! must not get ahead of that. With unlimited buffers behind it, such a port needs no queue:
//! a packet departs at max(arrival, port free) + size / rate, and its arrival at the next node is known at once. So a
//! packet costs one event for every link after its first, and none at its destination unless it is a message's last.
//!
//! Packets reach the end of a link in the order in which it serves them, so only the first of those that it will
//! deliver has an event in the queue: at most two events are pending for each link, however much is posted at once.

mod gauges;
mod stall;
mod switched;
mod waiting;

pub use switched::Switched;

use std::collections::VecDeque;

use super::budget::Budget;
use super::lanes::Lanes;
use super::network::{Advance, Due, MessageId, Network, Traffic};
use super::queue::{Queue, Wheel};
use crate::error::SimulationError;
use crate::ids::{LinkId, RankId};
use crate::topology::{Arbitration, Fault, PacketFormat, Policy, Queueing, Topology};
use crate::units::{Bandwidth, Bytes, Time};

/// A packet network with unlimited buffers.
#[derive(Debug)]
pub struct Packet<'t, Q> {
    topology: &'t Topology,
    format: PacketFormat,
    queue: Q,
    now: Time,
    ports: Vec<Port>,
    /// The packets in transit that each link will bring to its end.
    transit: Lanes,
    messages: Vec<Message>,
    /// The routes of the messages under way, `stride` entries each.
    hops: Vec<Hop>,
    stride: usize,
    /// Messages that have not entered yet, by the time at which they do, then in the order of posting.
    entering: VecDeque<(Time, MessageId)>,
    path: Vec<LinkId>,
    link_bytes: Vec<u64>,
    link_busy: Vec<u64>,
    budget: Budget,
    crossings: u64,
    events: u64,
}

/// The sending end of a link.
#[derive(Clone, Copy, Debug)]
struct Port {
    free: Time,
    /// The serialisation of a full packet.
    full: Time,
    latency: Time,
    bandwidth: Bandwidth,
    /// The last of the messages that start on this link and still have packets before its far end.
    tail: Option<MessageId>,
}

impl Port {
    /// How long a packet occupies the link: a full one, or a message's last one, of `last` bytes.
    fn span(&self, is_last: bool, last: Bytes) -> Time {
        if is_last {
            self.bandwidth.serialization(last)
        } else {
            self.full
        }
    }
}

/// How many packets a message of `bytes` has, and the size of the last one on the wire.
fn cut(format: PacketFormat, bytes: Bytes) -> (u64, Bytes) {
    let payload = format.payload().get();
    let packets = bytes.get().div_ceil(payload).max(1);
    (
        packets,
        Bytes::new(bytes.get() - (packets - 1) * payload) + format.header(),
    )
}

/// How long a message's packets occupy a resource: full ones, and a last one.
fn whole_span(full: Time, packets: u64, last: Time) -> Result<Time, SimulationError> {
    let whole = full.checked_mul(packets - 1).and_then(|full| full.checked_add(last));
    whole.ok_or(SimulationError::TooLong {
        what: "delays",
        limit: "2^64 ps",
    })
}

fn span_of(port: &Port, packets: u64, last: Bytes) -> Result<Time, SimulationError> {
    whole_span(port.full, packets, port.bandwidth.checked_serialization(last)?)
}

#[derive(Clone, Copy, Debug)]
struct Message {
    /// Packets that haven't reached the second node yet, less the one on its way there.
    behind: u64,
    packets: u64,
    /// The size of the last packet on the wire; zero only if it is the only one and brings nothing at all.
    last: Bytes,
    hops: usize,
    /// When the first packet comes to the end of the first link.
    first_arrival: Time,
    /// The message that starts on the same first link after this one.
    next: Option<MessageId>,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    link: LinkId,
    /// The place of the link before at this one.
    tie: u32,
}

/// What an event is; those of one instant are handled in this order.
const ARRIVED: u64 = 0;
const ARRIVED_EMPTY: u64 = 1;
const DELIVERED: u64 = 2;
const WOKEN: u64 = 3;

/// The longest route, as 10 bits of an event's key hold.
const MAX_HOPS: usize = 1 << 10;

/// An event as a key of the queue: time, kind (2 bits), place at the port (18), last packet of its message or, for
/// a delivery, whether it is an empty one (1), position in the route (10), the lane's mark (1), message or token (32).
#[derive(Clone, Copy)]
struct Event {
    time: Time,
    kind: u64,
    tie: u32,
    last: bool,
    hop: usize,
    number: u32,
}

impl Event {
    fn key(self) -> u128 {
        let low = self.kind << 62
            | u64::from(self.tie) << 44
            | u64::from(self.last) << 43
            | (self.hop as u64) << 33
            | u64::from(self.number);
        u128::from(self.time.picoseconds()) << 64 | u128::from(low)
    }

    #[allow(clippy::cast_possible_truncation)] // takes the fields apart again
    fn from_key(key: u128) -> Self {
        let low = key as u64;
        Self {
            time: Time::from_picoseconds((key >> 64) as u64),
            kind: low >> 62,
            tie: (low >> 44) as u32 & ((1 << 18) - 1),
            last: low >> 43 & 1 == 1,
            hop: (low >> 33) as usize % MAX_HOPS,
            number: low as u32,
        }
    }
}

impl<'t> Packet<'t, Wheel> {
    /// Whether this model, without limits, does all that a topology's fabric asks for; [`Switched`] does in any case.
    pub fn serves(topology: &Topology) -> bool {
        let fabric = topology.fabric();
        fabric.buffer().is_none()
            && fabric.arbitration() == Arbitration::FirstCome
            && fabric.queueing() == Queueing::VirtualOutput
            && matches!(fabric.policy(), Policy::Fixed | Policy::FlowHash { .. })
            && topology.endpoint().window().is_none()
            && !topology
                .faults()
                .iter()
                .any(|fault| matches!(fault, Fault::LinkErrors { .. }))
    }

    /// An idle network with the topology's packet format.
    pub fn new(topology: &'t Topology) -> Result<Self, SimulationError> {
        let format = topology.packet_format();
        let fastest = topology.bandwidths().iter().max();
        // Most events follow one another by a packet's time on a link; a bucket of a quarter of it keeps new events
        // out of the open bucket.
        let width = match fastest {
            Some(rate) => rate.checked_serialization(format.payload())?.picoseconds() / 4,
            None => 1,
        };
        Self::with_queue(topology, Wheel::new(width))
    }
}

impl<'t, Q: Queue> Packet<'t, Q> {
    /// An idle network that keeps its events in `queue`, which must be empty.
    pub fn with_queue(topology: &'t Topology, queue: Q) -> Result<Self, SimulationError> {
        let format = topology.packet_format();
        let whole = format.payload() + format.header();
        let port = |(&bandwidth, &latency): (&Bandwidth, &Time)| -> Result<Port, SimulationError> {
            Ok(Port {
                free: Time::ZERO,
                full: bandwidth.checked_serialization(whole)?,
                latency,
                bandwidth,
                tail: None,
            })
        };
        let ports = topology
            .bandwidths()
            .iter()
            .zip(topology.latencies())
            .map(port)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            topology,
            format,
            queue,
            now: Time::ZERO,
            ports,
            transit: Lanes::new(topology.links()),
            messages: Vec::new(),
            hops: Vec::new(),
            stride: 1,
            entering: VecDeque::new(),
            path: Vec::new(),
            link_bytes: vec![0; topology.links()],
            link_busy: vec![0; topology.links()],
            budget: Budget::default(),
            crossings: 0,
            events: 0,
        })
    }

    /// Keeps the route in `path` as that of message `id`.
    fn keep_route(&mut self, id: MessageId) {
        if self.path.len() > self.stride {
            self.widen(self.path.len());
        }
        let start = id as usize * self.stride;
        for (index, &link) in self.path.iter().enumerate() {
            let tie = if index == 0 {
                0
            } else {
                self.topology.tie(self.path[index - 1], link)
            };
            self.hops[start + index] = Hop { link, tie };
        }
    }

    fn widen(&mut self, stride: usize) {
        let blank = Hop {
            link: LinkId::new(0),
            tie: 0,
        };
        let mut hops = vec![blank; self.messages.len() * stride];
        for (old, new) in self.hops.chunks_exact(self.stride).zip(hops.chunks_exact_mut(stride)) {
            new[..old.len()].copy_from_slice(old);
        }
        (self.hops, self.stride) = (hops, stride);
    }

    /// Puts a message's packets into the queue of its first link.
    fn enter(&mut self, at: Time, id: MessageId) {
        let Message {
            packets, last, hops, ..
        } = self.messages[id as usize];
        let first = self.hops[id as usize * self.stride].link;
        let port = &mut self.ports[first.index()];
        let start = at.max(port.free);
        port.free = start + span_of(port, packets, last).expect("checked when posted");
        if hops == 1 {
            let time = port.free + port.latency;
            self.deliver(time, id);
            return;
        }
        self.messages[id as usize].first_arrival = start + port.span(packets == 1, last) + port.latency;
        match port.tail.replace(id) {
            Some(before) => self.messages[before as usize].next = Some(id),
            None => self.start(id),
        }
    }

    /// Sends the first packet of a message on its way to the second node.
    fn start(&mut self, id: MessageId) {
        let Message {
            first_arrival, packets, ..
        } = self.messages[id as usize];
        self.queue.push(self.arrival(first_arrival, id, 1, packets == 1));
    }

    /// The event of a packet that comes to the node before the `hop`-th link of its route.
    fn arrival(&self, time: Time, id: MessageId, hop: usize, last: bool) -> u128 {
        let place = self.hops[id as usize * self.stride + hop].tie;
        let is_empty = self.messages[id as usize].last == Bytes::ZERO;
        let event = Event {
            time,
            kind: if is_empty { ARRIVED_EMPTY } else { ARRIVED },
            tie: place,
            last,
            hop,
            number: id,
        };
        event.key()
    }

    fn deliver(&mut self, time: Time, id: MessageId) {
        self.queue.push(
            Event {
                time,
                kind: DELIVERED,
                tie: 0,
                // A message without bytes may end together with the one before it on the link, and comes after that.
                last: self.messages[id as usize].last == Bytes::ZERO,
                hop: 0,
                number: id,
            }
            .key(),
        );
    }

    /// A packet has come to the node before the `hop`-th link of its route.
    fn forward(&mut self, key: u128) {
        let Event {
            time,
            last,
            hop,
            number: id,
            ..
        } = Event::from_key(key);
        let Message {
            hops, last: last_size, ..
        } = self.messages[id as usize];
        let route = id as usize * self.stride;
        if hop == 1 {
            self.follow(time, id, last);
        } else {
            self.transit
                .taken(&mut self.queue, self.hops[route + hop - 1].link.index(), key);
        }
        let link = self.hops[route + hop].link.index();
        let port = &mut self.ports[link];
        port.free = time.max(port.free) + port.span(last, last_size);
        let arrival = port.free + port.latency;
        if hop + 1 < hops {
            let key = self.arrival(arrival, id, hop + 1, last);
            self.transit.push(&mut self.queue, link, key);
        } else if last {
            self.deliver(arrival, id);
        }
    }

    /// A packet of `id` has left the first link: sends the one behind it, of this message or of the next.
    fn follow(&mut self, time: Time, id: MessageId, was_last: bool) {
        let message = &mut self.messages[id as usize];
        let port = &mut self.ports[self.hops[id as usize * self.stride].link.index()];
        if was_last {
            match message.next {
                Some(next) => self.start(next),
                None => port.tail = None,
            }
        } else {
            message.behind -= 1;
            let next_is_last = message.behind == 0;
            let gap = port.span(next_is_last, message.last);
            let key = self.arrival(time + gap, id, 1, next_is_last);
            self.queue.push(key);
        }
    }

    /// The next instant at which something happens.
    fn next_time(&mut self) -> Option<Time> {
        let queued = self.queue.peek().map(|key| Event::from_key(key).time);
        let entering = self.entering.front().map(|&(time, _)| time);
        match (queued, entering) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (time, None) | (None, time) => time,
        }
    }
}

impl<Q: Queue> Network for Packet<'_, Q> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        self.topology.route(source, destination, &mut self.path)?;
        if self.path.len() >= MAX_HOPS {
            return Err(SimulationError::Option {
                option: "links on a route",
                expected: format!("below {MAX_HOPS} for the packet model"),
                value: self.path.len().to_string(),
            });
        }
        let (packets, last) = cut(self.format, bytes);
        let header = self.format.header();
        let wire = packets.saturating_mul(header.get()).saturating_add(bytes.get());
        for &link in &self.path {
            let port = &self.ports[link.index()];
            let busy = span_of(port, packets, last)?;
            self.budget.delay(busy)?;
            self.budget.delay(port.latency)?;
            self.budget.bytes(Bytes::new(wire))?;
            self.link_bytes[link.index()] += wire;
            self.link_busy[link.index()] += busy.picoseconds();
        }
        self.crossings += packets * self.path.len() as u64;
        let record = Message {
            behind: packets - 1,
            packets,
            last,
            hops: self.path.len(),
            first_arrival: Time::ZERO,
            next: None,
        };
        let index = message as usize;
        if index >= self.messages.len() {
            self.messages.resize(index + 1, record);
            self.hops.resize(
                (index + 1) * self.stride,
                Hop {
                    link: LinkId::new(0),
                    tie: 0,
                },
            );
        }
        self.messages[index] = record;
        self.keep_route(message);
        if at == self.now {
            self.enter(at, message);
        } else {
            // Launch overheads are alike as a rule, so that the place is mostly the end.
            let place = self
                .entering
                .iter()
                .rposition(|&(time, _)| time <= at)
                .map_or(0, |before| before + 1);
            self.entering.insert(place, (at, message));
        }
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.queue.push(
            Event {
                time: at,
                kind: WOKEN,
                tie: 0,
                last: false,
                hop: 0,
                number: token,
            }
            .key(),
        );
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        const PAUSE_AFTER: u64 = 1 << 20;
        let pause = self.events + PAUSE_AFTER;
        while let Some(time) = self.next_time() {
            self.now = time;
            while let Some(key) = self.queue.peek() {
                let event = Event::from_key(key);
                if event.time != time {
                    break;
                }
                self.queue.pop();
                self.events += 1;
                match event.kind {
                    ARRIVED | ARRIVED_EMPTY => self.forward(key),
                    DELIVERED => due.push(Due::Delivered(event.number)),
                    _ => due.push(Due::Woken(event.number)),
                }
            }
            while let Some(&(at, message)) = self.entering.front()
                && at == time
            {
                self.entering.pop_front();
                self.events += 1;
                self.enter(at, message);
            }
            if !due.is_empty() {
                return Advance::Due(time);
            }
            if self.events >= pause {
                return Advance::Paused(time);
            }
        }
        Advance::Idle
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            link_bytes: self.link_bytes.clone(),
            link_busy: self.link_busy.clone(),
            packet_hops: self.crossings,
            events: self.events,
            ..Traffic::default()
        }
    }
}
