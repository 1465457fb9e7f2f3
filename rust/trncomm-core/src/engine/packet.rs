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
mod trains;
mod waiting;

pub use switched::Switched;
use trains::{NEVER, NONE, Trains};

use std::collections::VecDeque;

use super::budget::Budget;
use super::lanes::{IN_LANE, Lanes};
use super::network::{Advance, Due, MessageId, Network, Traffic};
use super::queue::{Queue, Wheel};
use super::recurrence::{Counters, Shape};
use super::resources::{self, Resources};
use crate::error::SimulationError;
use crate::ids::RankId;
use crate::quotient::Fold;
use crate::topology::{Arbitration, Fault, Forwarding, PacketFormat, Policy, Queueing, Topology};
use crate::units::{Bandwidth, Bytes, Time};

/// A packet network with unlimited buffers.
#[derive(Debug)]
pub struct Packet<'t, Q> {
    resources: Resources<'t>,
    format: PacketFormat,
    /// The size of a full packet.
    whole: Bytes,
    cuts_through: bool,
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
    route: Vec<resources::Hop>,
    link_bytes: Vec<u64>,
    link_busy: Vec<u64>,
    budget: Budget,
    crossings: u64,
    events: u64,
    /// What moves packets together, if they are.
    trains: Option<Trains>,
}

/// The sending end of a link.
#[derive(Clone, Copy, Debug)]
struct Port {
    free: Time,
    /// The serialisation of a full packet.
    full: Time,
    /// That of what has to be there before a packet is cut through.
    head: Time,
    latency: Time,
    bandwidth: Bandwidth,
    /// The last of the messages that start on this link and still have packets before its far end.
    tail: Option<MessageId>,
}

/// How many packets a message of `bytes` has, and the size of the last one on the wire.
pub(in crate::engine) fn cut(format: PacketFormat, bytes: Bytes) -> (u64, Bytes) {
    let payload = format.payload().get();
    let packets = bytes.get().div_ceil(payload).max(1);
    (
        packets,
        Bytes::new(bytes.get() - (packets - 1) * payload) + format.header(),
    )
}

/// How long the head of a packet takes, before which it isn't cut through: the header, and never no time at all.
///
/// So a packet with bytes is at the end of a link later than it starts there, and later than an empty one ahead of it.
fn head(bandwidth: Bandwidth, format: PacketFormat) -> Time {
    bandwidth.serialization(format.header()).max(Time::from_picoseconds(1))
}

/// How long a message's packets occupy a resource: full ones, and a last one.
pub(super) fn whole_span(full: Time, packets: u64, last: Time) -> Result<Time, SimulationError> {
    let whole = full.checked_mul(packets - 1).and_then(|full| full.checked_add(last));
    whole.ok_or(SimulationError::TooLong {
        what: "delays",
        limit: "2^64 ps",
    })
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
    /// Whether it is one of those that start on their first link one after the other.
    is_chained: bool,
    /// Its line.
    line: u32,
    /// When its delivery is planned for.
    due: Time,
    /// When it is delivered, once that is known for good.
    end: Time,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    resource: u32,
    touches: u32,
    /// The place of the resource before at this one.
    tie: u32,
}

impl Hop {
    const BLANK: Self = Self {
        resource: 0,
        touches: 1,
        tie: 0,
    };

    fn index(self) -> usize {
        self.resource as usize
    }
}

/// The place of what comes out of a node's own memory: after what passes through the node. No node has so many ports.
const OWN_PLACE: u32 = (1 << 18) - 1;

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

    /// What it is, with its instant from the present on and its message by name.
    fn words(self, shape: &Shape) -> [u64; 4] {
        let after = self.time.picoseconds() - shape.now().picoseconds();
        let place = u64::from(self.tie) << 1 | u64::from(self.last);
        let number = if self.kind == WOKEN {
            self.number
        } else {
            shape.name(self.number)
        };
        [after, self.kind << 32 | place, self.hop as u64, number.into()]
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
        Self::folded(topology, None)
    }

    /// An idle network of the representatives, if there is a fold; its links are each crossed by one copy of a message.
    pub fn folded(topology: &'t Topology, fold: Option<&'t Fold>) -> Result<Self, SimulationError> {
        let format = topology.packet_format();
        let fastest = topology.bandwidths().iter().max();
        // Most events follow one another by a packet's time on a link; a bucket of a quarter of it keeps new events
        // out of the open bucket.
        let width = match fastest {
            Some(rate) => rate.checked_serialization(format.payload())?.picoseconds() / 4,
            None => 1,
        };
        Self::over(Resources::folded(topology, fold), Wheel::new(width))
    }
}

impl<'t, Q: Queue> Packet<'t, Q> {
    /// An idle network that keeps its events in `queue`, which must be empty.
    pub fn with_queue(topology: &'t Topology, queue: Q) -> Result<Self, SimulationError> {
        Self::over(Resources::new(topology), queue)
    }

    fn over(resources: Resources<'t>, queue: Q) -> Result<Self, SimulationError> {
        let topology = resources.topology();
        let format = topology.packet_format();
        let whole = format.payload() + format.header();
        let count = resources.count();
        let port = |resource: usize| -> Result<Port, SimulationError> {
            let bandwidth = resources.bandwidth(resource);
            Ok(Port {
                free: Time::ZERO,
                full: bandwidth.checked_serialization(whole)?,
                head: head(bandwidth, format),
                latency: resources.latency(resource),
                bandwidth,
                tail: None,
            })
        };
        let ports = (0..count).map(port).collect::<Result<_, _>>()?;
        Ok(Self {
            resources,
            format,
            whole,
            cuts_through: topology.fabric().forwarding() == Forwarding::CutThrough,
            queue,
            now: Time::ZERO,
            ports,
            transit: Lanes::new(count),
            messages: Vec::new(),
            hops: Vec::new(),
            stride: 1,
            entering: VecDeque::new(),
            route: Vec::new(),
            link_bytes: vec![0; count],
            link_busy: vec![0; count],
            budget: Budget::default(),
            crossings: 0,
            events: 0,
            trains: None,
        })
    }

    /// The same, with packets that follow one another undisturbed moved together: nothing of what happens changes, only
    /// the count of events.
    #[must_use]
    pub fn with_trains(mut self) -> Self {
        // A packet that is cut through comes to a link before it could be sent on as a whole.
        self.trains = (!self.cuts_through).then(|| Trains::new(self.ports.len()));
        self
    }

    /// Keeps the route in `route` as that of message `id`.
    fn keep_route(&mut self, id: MessageId) {
        if self.route.len() > self.stride {
            self.widen(self.route.len());
        }
        let start = id as usize * self.stride;
        let topology = self.resources.topology();
        let mut path = self.resources.path().iter().copied();
        let mut before = None;
        for (index, &resources::Hop { resource, touches }) in self.route.iter().enumerate() {
            let link = self.resources.link(resource as usize).and_then(|_| path.next());
            let tie = match (before, link) {
                (Some(input), Some(output)) => topology.tie(input, output),
                (Some(input), None) => topology.input_port(input),
                (None, _) => OWN_PLACE,
            };
            before = link;
            self.hops[start + index] = Hop { resource, touches, tie };
        }
    }

    fn widen(&mut self, stride: usize) {
        let mut hops = vec![Hop::BLANK; self.messages.len() * stride];
        for (old, new) in self.hops.chunks_exact(self.stride).zip(hops.chunks_exact_mut(stride)) {
            new[..old.len()].copy_from_slice(old);
        }
        (self.hops, self.stride) = (hops, stride);
    }

    fn hop(&self, id: MessageId, hop: usize) -> Hop {
        self.hops[id as usize * self.stride + hop]
    }

    /// How long a packet occupies a hop: a full one, or a message's last one, of `last` bytes.
    fn span(&self, hop: Hop, is_last: bool, last: Bytes) -> Time {
        let port = &self.ports[hop.index()];
        if hop.touches == 1 && !is_last {
            return port.full;
        }
        let bytes = if is_last { last } else { self.whole };
        port.bandwidth
            .serialization(Bytes::new(bytes.get() * u64::from(hop.touches)))
    }

    /// How long before its last byte a packet counts as come to the end of a hop, where it is passed on.
    fn early(&self, id: MessageId, hop: usize, is_last: bool, last: Bytes) -> Time {
        if !self.cuts_through {
            return Time::ZERO;
        }
        let (here, next) = (self.hop(id, hop), self.hop(id, hop + 1));
        let behind_head = self
            .span(here, is_last, last)
            .saturating_sub(self.ports[here.index()].head);
        behind_head.min(self.span(next, is_last, last))
    }

    /// How long a message's packets occupy a hop.
    fn whole_span(&self, hop: Hop, packets: u64, last: Bytes) -> Result<Time, SimulationError> {
        let touched = |bytes: Bytes| Bytes::new(bytes.get().saturating_mul(hop.touches.into()));
        let bandwidth = self.ports[hop.index()].bandwidth;
        let full = bandwidth.checked_serialization(touched(self.whole))?;
        whole_span(full, packets, bandwidth.checked_serialization(touched(last))?)
    }

    /// Puts a message's packets into the queue of its first link.
    fn enter(&mut self, at: Time, id: MessageId) {
        let Message {
            packets, last, hops, ..
        } = self.messages[id as usize];
        let first = self.hop(id, 0);
        self.settle(first.index());
        let span = self.whole_span(first, packets, last).expect("checked when posted");
        let start = at.max(self.ports[first.index()].free);
        let port = &mut self.ports[first.index()];
        port.free = start + span;
        let latency = port.latency;
        if hops == 1 {
            let time = port.free + latency;
            self.deliver(time, id);
            return;
        }
        if self.depart(id, start) {
            return;
        }
        let is_last = packets == 1;
        let until_arrival = self.span(first, is_last, last) - self.early(id, 0, is_last, last);
        self.messages[id as usize].first_arrival = start + until_arrival + latency;
        let port = &mut self.ports[first.index()];
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
        self.messages[id as usize].due = time;
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
        let before = self.hop(id, hop - 1).index();
        self.transit.taken(&mut self.queue, before, key);
        if hop == 1 {
            self.follow(time, id, last);
        }
        let here = self.hop(id, hop);
        let span = self.span(here, last, last_size);
        let port = &mut self.ports[here.index()];
        port.free = time.max(port.free) + span;
        let arrival = port.free + port.latency;
        if hop + 1 < hops {
            let key = self.arrival(arrival - self.early(id, hop, last, last_size), id, hop + 1, last);
            self.transit.push(&mut self.queue, here.index(), key);
        } else if last {
            self.deliver(arrival, id);
        }
    }

    /// A packet of `id` has left the first link: sends the one behind it, of this message or of the next.
    fn follow(&mut self, time: Time, id: MessageId, was_last: bool) {
        let first = self.hop(id, 0);
        let message = &mut self.messages[id as usize];
        if was_last && !message.is_chained {
            // What follows on the link starts by itself.
        } else if was_last {
            match message.next.take() {
                Some(next) => self.start(next),
                None => self.ports[first.index()].tail = None,
            }
        } else {
            message.behind -= 1;
            let (is_last, last) = (message.behind == 0, message.last);
            // The packet behind ends by its own span later; both may count as come early.
            let gap = self.span(first, is_last, last) + self.early(id, 0, false, last);
            let time = time + gap - self.early(id, 0, is_last, last);
            let key = self.arrival(time, id, 1, is_last);
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
        self.resources.route(source, destination, &mut self.route)?;
        if self.route.len() >= MAX_HOPS {
            return Err(SimulationError::Option {
                option: "links on a route",
                expected: format!("below {MAX_HOPS} for the packet model"),
                value: self.route.len().to_string(),
            });
        }
        let (packets, last) = cut(self.format, bytes);
        let header = self.format.header();
        let wire = packets.saturating_mul(header.get()).saturating_add(bytes.get());
        for &resources::Hop { resource, touches } in &self.route {
            let hop = Hop {
                resource,
                touches,
                tie: 0,
            };
            let busy = self.whole_span(hop, packets, last)?;
            self.budget.delay(busy)?;
            self.budget.delay(self.ports[hop.index()].latency)?;
            self.budget.bytes(Bytes::new(wire))?;
            self.link_bytes[hop.index()] += wire;
            self.link_busy[hop.index()] += busy.picoseconds();
            if self.resources.link(hop.index()).is_some() {
                self.crossings += packets;
            }
        }
        let record = Message {
            behind: packets - 1,
            packets,
            last,
            hops: self.route.len(),
            first_arrival: Time::ZERO,
            next: None,
            is_chained: true,
            line: NONE,
            due: NEVER,
            end: NEVER,
        };
        let index = message as usize;
        if index >= self.messages.len() {
            self.messages.resize(index + 1, record);
            self.hops.resize((index + 1) * self.stride, Hop::BLANK);
        }
        self.messages[index] = record;
        self.keep_route(message);
        self.messages[index].line = self.board(message, source, destination, last);
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

    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        let (memory, span) = self.resources.pass_memory(rank, bytes)?;
        self.budget.delay(span)?;
        self.settle(memory);
        let port = &mut self.ports[memory];
        port.free = self.now.max(port.free) + span;
        let end = port.free;
        self.wake(end, token);
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
                    DELIVERED => {
                        if self.is_delivered(event.number) {
                            due.push(Due::Delivered(event.number));
                        }
                    }
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

    fn events(&self) -> u64 {
        self.events
    }

    fn recurs(&self) -> bool {
        true
    }

    fn describe(&mut self, shape: &mut Shape) {
        self.describe_trains(shape);
        for (index, port) in self.ports.iter().enumerate() {
            if port.free > self.now || port.tail.is_some() {
                shape.index(index);
                shape.time(port.free);
                shape.message_if_any(port.tail);
            }
        }
        for id in shape.carried() {
            let message = &self.messages[id as usize];
            shape.word(message.behind << 1 | u64::from(message.is_chained));
            shape.time(message.first_arrival);
            shape.message_if_any(message.next);
        }
        let mut waiting: Vec<[u64; 4]> = self
            .queue
            .keys()
            .filter(|key| key & IN_LANE == 0)
            .map(|key| Event::from_key(key).words(shape))
            .collect();
        waiting.sort_unstable();
        shape.index(waiting.len());
        shape.words(waiting.into_iter().flatten());
        for (lane, keys) in self.transit.filled() {
            shape.index(lane);
            shape.index(keys.len());
            for &key in keys {
                let words = Event::from_key(key).words(shape);
                shape.words(words);
            }
        }
        for &(at, message) in &self.entering {
            shape.moment(at);
            shape.message(message);
        }
    }

    fn count(&mut self, counters: &mut Counters) {
        self.link_bytes.iter_mut().for_each(|bytes| counters.count(bytes));
        self.link_busy.iter_mut().for_each(|busy| counters.count(busy));
        counters.count(&mut self.crossings);
        self.budget.count(counters);
    }

    fn put_off(&mut self, by: Time) {
        self.now += by;
        self.ports.iter_mut().for_each(|port| port.free += by);
        let messages = self.messages.iter_mut();
        messages.for_each(|message| message.first_arrival += by);
        self.put_off_trains(by);
        self.queue.put_off(by.picoseconds());
        self.transit.put_off(by.picoseconds());
        self.entering.iter_mut().for_each(|(at, _)| *at += by);
    }

    fn traffic(&self) -> Traffic {
        let links = self.resources.link_count();
        Traffic {
            link_bytes: self.link_bytes[..links].to_vec(),
            link_busy: self.link_busy[..links].to_vec(),
            packet_hops: self.crossings,
            events: self.events,
            ..Traffic::default()
        }
    }
}
