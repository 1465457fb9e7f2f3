//! The packet model in full: finite buffers with credits, virtual channels, turns among inputs, cut-through.
//!
//! **Nodes.** At the end of every link each virtual channel has a receive buffer. A packet waits in it for its next
//! link, and is gone from it when the last byte has left. A link starts a packet only if the next buffer has room for
//! all of it, counting what is already on the way there; the room is given back (a credit) one latency of the link
//! after the packet has left that buffer. A packet at its destination leaves its buffer at once, or through the memory
//! where that takes time. Messages that start at a node wait in a queue of their own for each first link, without a
//! limit.
//!
//! **Choice.** Whenever a link is free, it takes one of the packets that wait for it and have room ahead: first come
//! first served for each virtual channel, those of one instant by their ties; or the inputs in turn, the link's own
//! index last, the node's own messages as the last input. All that happens at an instant is collected before any link
//! chooses, so that no choice depends on the order in which events of one instant are handled.
//!
//! **Events.** One for every arrival at a node that passes the packet on, and one for every choice that can't be made
//! when a packet arrives. What happens at a packet's destination is known when its last link starts it. Credits are
//! lists of times that are looked at when a link chooses; only a link that is held up for lack of room asks for an
//! event when the next one is due.
//!
//! It keeps what the model without limits ([`super::Packet`]) doesn't need: a record for every packet under way.

use std::collections::{BTreeMap, VecDeque};

use super::gauges::Gauges;
use super::stall;
use super::waiting::{PacketId, Queues, Waiting};
use super::{cut, whole_span};
use crate::engine::budget::Budget;
use crate::engine::lanes::Lanes;
use crate::engine::network::{Advance, Due, MessageId, Network, Traffic};
use crate::engine::queue::{Queue, Wheel};
use crate::engine::resources::{Hop, Resources};
use crate::error::SimulationError;
use crate::ids::{LinkId, NodeId, RankId};
use crate::topology::{Fabric, Forwarding, PacketFormat, Queueing, Topology};
use crate::units::{Bytes, Time};

/// A packet network with everything that a fabric can have.
#[derive(Debug)]
pub struct Switched<'t> {
    resources: Resources<'t>,
    fabric: Fabric,
    format: PacketFormat,
    channels: usize,
    /// The size of a full packet.
    whole: u64,
    limited: bool,
    queue: Wheel,
    in_flight: Lanes,
    now: Time,
    outputs: Vec<Output>,
    /// The room left ahead of each resource, by virtual channel.
    room: Vec<u64>,
    /// Room that comes back: (when, channel, bytes), by time.
    credits: Vec<VecDeque<(Time, u8, u64)>>,
    waiting: Queues,
    /// Packets behind the first at each input and channel, where they all wait in one queue.
    behind: Vec<VecDeque<PacketId>>,
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    messages: Vec<Message>,
    hops: Vec<RouteHop>,
    stride: usize,
    entering: VecDeque<(Time, MessageId)>,
    route: Vec<Hop>,
    arrived: Vec<(usize, Waiting)>,
    touched: Vec<u32>,
    gauges: Gauges,
    budget: Budget,
    crossings: u64,
    events: u64,
}

/// The sending end of a resource.
#[derive(Debug)]
struct Output {
    free: Time,
    latency: Time,
    /// The event that is pending for the next choice.
    ready: Option<Time>,
    held_since: Option<Time>,
    touched: bool,
    /// The slot of the node's own messages.
    own_slot: u32,
    /// How many packets in transit wait.
    waiting: u32,
    /// Messages that start here, with the time at which they came.
    own: VecDeque<(Time, MessageId)>,
}

impl Output {
    fn has_more(&self) -> bool {
        self.waiting > 0 || !self.own.is_empty()
    }
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    message: MessageId,
    /// The position in the route of the resource that it waits for or is on.
    hop: u32,
    last: bool,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    packets: u64,
    sent: u64,
    /// Packets that have started on their last resource.
    brought: u64,
    /// When the last of those will be at the destination.
    latest: Time,
    last: Bytes,
    hops: u32,
}

#[derive(Clone, Copy, Debug)]
struct RouteHop {
    hop: Hop,
    channel: u8,
    /// The place of the resource before at this one.
    tie: u32,
    /// The slot of the resource before at this one.
    slot: u32,
    full: Time,
}

/// What an event is, in the upper three bits of the low half of its key; the lower 32 hold the number.
const ARRIVED: u64 = 0;
const READY: u64 = 1;
const OFFER: u64 = 2;
const DELIVERED: u64 = 3;
const WOKEN: u64 = 4;

fn key(time: Time, kind: u64, number: u32) -> u128 {
    (u128::from(time.picoseconds()) << 64) | u128::from((kind << 61) | u64::from(number))
}

impl<'t> Switched<'t> {
    /// An idle network with the topology's fabric and packet format.
    ///
    /// An error where a buffer can't hold a full packet.
    pub fn new(topology: &'t Topology) -> Result<Self, SimulationError> {
        let resources = Resources::new(topology);
        let (fabric, format) = (*topology.fabric(), topology.packet_format());
        let whole = format.payload() + format.header();
        if let Some(buffer) = fabric.buffer()
            && buffer < whole
        {
            return Err(SimulationError::Option {
                option: "buffer",
                expected: format!("at least a full packet of {whole}"),
                value: buffer.to_string(),
            });
        }
        let channels = usize::from(fabric.virtual_channels());
        let count = resources.count();
        let node_slots = |node: NodeId| index(topology.ports(node) * channels);
        let slots: Vec<(u32, u32)> = (0..count)
            .map(|resource| {
                let Some(link) = resources.link(resource) else {
                    let own = node_slots(NodeId::new(resource - topology.links()));
                    return (own + 1, own);
                };
                let own = index((topology.output_port(link) as usize + 1) * channels - 1);
                (node_slots(topology.source(link)) + 1, own)
            })
            .collect();
        let room = fabric.buffer().map_or(u64::MAX, Bytes::get);
        let outputs = (0..count)
            .map(|resource| Output {
                free: Time::ZERO,
                latency: resources.latency(resource),
                ready: None,
                held_since: None,
                touched: false,
                waiting: 0,
                own_slot: slots[resource].0 - 1,
                own: VecDeque::new(),
            })
            .collect();
        let fastest = topology.bandwidths().iter().max();
        let width = match fastest {
            Some(rate) => rate.checked_serialization(whole)?.picoseconds() / 4,
            None => 1,
        };
        Ok(Self {
            fabric,
            format,
            channels,
            whole: whole.get(),
            limited: fabric.buffer().is_some(),
            queue: Wheel::new(width),
            in_flight: Lanes::new(count),
            now: Time::ZERO,
            outputs,
            // A memory has no buffer of its own behind it.
            room: (0..count * channels)
                .map(|cell| {
                    if cell / channels < topology.links() {
                        room
                    } else {
                        u64::MAX
                    }
                })
                .collect(),
            credits: vec![VecDeque::new(); count],
            waiting: Queues::new(fabric.arbitration(), channels, &slots),
            behind: match fabric.queueing() {
                Queueing::Input => vec![VecDeque::new(); count * channels],
                Queueing::VirtualOutput => Vec::new(),
            },
            packets: Vec::new(),
            free: Vec::new(),
            messages: Vec::new(),
            hops: Vec::new(),
            stride: 1,
            entering: VecDeque::new(),
            route: Vec::new(),
            arrived: Vec::new(),
            touched: Vec::new(),
            gauges: Gauges::new(count),
            budget: Budget::default(),
            crossings: 0,
            events: 0,
            resources,
        })
    }

    fn hop(&self, message: MessageId, hop: u32) -> &RouteHop {
        &self.hops[message as usize * self.stride + hop as usize]
    }

    /// How long a packet occupies a hop.
    fn span(&self, message: MessageId, at: u32, is_last: bool) -> Time {
        let hop = self.hop(message, at);
        if is_last {
            let bytes = self.messages[message as usize].last;
            self.resources.span(hop.hop, bytes).expect("checked when posted")
        } else {
            hop.full
        }
    }

    /// The bytes of a packet in a buffer.
    fn size(&self, message: MessageId, is_last: bool) -> u64 {
        if is_last {
            self.messages[message as usize].last.get()
        } else {
            self.whole
        }
    }

    fn touch(&mut self, output: usize) {
        if !std::mem::replace(&mut self.outputs[output].touched, true) {
            self.touched.push(index(output));
        }
    }

    /// A packet has come to the end of the resource that it was on.
    fn arrive(&mut self, id: PacketId, event: u128) {
        let Packet { message, hop, last } = self.packets[id as usize];
        let RouteHop { hop: on, channel, .. } = *self.hop(message, hop);
        let from = on.resource as usize;
        self.in_flight.taken(&mut self.queue, from, event);
        let bytes = self.size(message, last);
        self.packets[id as usize].hop = hop + 1;
        let next = self.hop(message, hop + 1).hop.resource as usize;
        self.gauges.queued(from, next, bytes);
        if let Some(behind) = self.behind.get_mut(from * self.channels + usize::from(channel)) {
            behind.push_back(id);
            if behind.len() > 1 {
                return;
            }
        }
        self.offer(id);
    }

    /// A packet stands where its next resource can take it.
    fn offer(&mut self, id: PacketId) {
        let Packet { message, hop, .. } = self.packets[id as usize];
        let next = *self.hop(message, hop);
        let waiting = Waiting {
            packet: id,
            since: self.now,
            tie: next.tie,
            slot: next.slot,
            channel: next.channel,
        };
        self.arrived.push((next.hop.resource as usize, waiting));
    }

    /// Room for `bytes` comes back to a resource, one latency after `left`.
    fn give_back(&mut self, resource: usize, channel: u8, bytes: u64, left: Time) {
        if !self.limited {
            return;
        }
        let at = left + self.outputs[resource].latency;
        let credits = &mut self.credits[resource];
        let place = credits
            .iter()
            .rposition(|&(time, ..)| time <= at)
            .map_or(0, |before| before + 1);
        credits.insert(place, (at, channel, bytes));
        if self.outputs[resource].held_since.is_some() {
            self.ask(resource, at);
        }
    }

    /// Has a resource choose again at `at`, unless it will before.
    fn ask(&mut self, resource: usize, at: Time) {
        let output = &mut self.outputs[resource];
        if output.ready.is_none_or(|ready| at < ready) {
            output.ready = Some(at);
            self.queue.push(key(at, READY, index(resource)));
        }
    }

    /// Lets a resource take the next packet, if it is free and one has room ahead.
    fn choose(&mut self, output: usize) {
        let now = self.now;
        if self.outputs[output].free > now {
            let free = self.outputs[output].free;
            self.ask(output, free);
            return;
        }
        while let Some(&(at, channel, bytes)) = self.credits[output].front()
            && at <= now
        {
            self.credits[output].pop_front();
            self.room[output * self.channels + usize::from(channel)] += bytes;
        }
        let room = &self.room[output * self.channels..][..self.channels];
        let fits = |message: MessageId, last: bool, channel: u8| self.size(message, last) <= room[usize::from(channel)];
        let transit = self.waiting.choose(output, |waiting| {
            let packet = self.packets[waiting.packet as usize];
            fits(packet.message, packet.last, waiting.channel)
        });
        let own = self.outputs[output].own.front().copied().filter(|&(_, message)| {
            let Message { packets, sent, .. } = self.messages[message as usize];
            fits(message, sent + 1 == packets, self.hop(message, 0).channel)
        });
        let own_slot = self.outputs[output].own_slot;
        let own_first = match (transit, own) {
            (None, None) => {
                self.hold(output);
                return;
            }
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(transit), Some((since, _))) => {
                match (
                    self.waiting.turn(output, own_slot),
                    self.waiting.turn(output, transit.slot),
                ) {
                    (Some(own), Some(other)) => own < other,
                    _ => since < transit.since,
                }
            }
        };
        if let Some(since) = self.outputs[output].held_since.take() {
            self.gauges.held(output, now - since);
        }
        match (own, transit) {
            (Some((since, message)), _) if own_first => {
                let id = self.next_of(output, message);
                self.waiting.took_own(output, own_slot);
                self.start(output, id, since, false);
            }
            (_, Some(transit)) => {
                self.waiting.take(output, &transit);
                self.outputs[output].waiting -= 1;
                self.start(output, transit.packet, transit.since, true);
            }
            _ => unreachable!("one of the two goes first"),
        }
        if self.outputs[output].has_more() {
            self.ask(output, self.outputs[output].free);
        }
    }

    /// Nothing can go: if that is for lack of room, waits for it.
    fn hold(&mut self, output: usize) {
        if !self.outputs[output].has_more() {
            return;
        }
        self.outputs[output].held_since.get_or_insert(self.now);
        if let Some(&(at, ..)) = self.credits[output].front() {
            self.ask(output, at);
        }
    }

    /// The next packet of a message that starts here.
    fn next_of(&mut self, output: usize, id: MessageId) -> PacketId {
        let message = &mut self.messages[id as usize];
        message.sent += 1;
        let last = message.sent == message.packets;
        if last {
            self.outputs[output].own.pop_front();
        }
        let packet = Packet {
            message: id,
            hop: 0,
            last,
        };
        if let Some(free) = self.free.pop() {
            self.packets[free as usize] = packet;
            free
        } else {
            self.packets.push(packet);
            index(self.packets.len() - 1)
        }
    }

    /// Starts a packet on a resource; it came at `since` by another, or starts at the node.
    fn start(&mut self, output: usize, id: PacketId, since: Time, transit: bool) {
        let Packet { message, hop, last } = self.packets[id as usize];
        let RouteHop { channel, .. } = *self.hop(message, hop);
        let span = self.span(message, hop, last);
        let end = self.now + span;
        let bytes = self.size(message, last);
        self.outputs[output].free = end;
        if self.limited {
            self.room[output * self.channels + usize::from(channel)] -= bytes;
        }
        if transit {
            let RouteHop { hop: from, channel, .. } = *self.hop(message, hop - 1);
            self.gauges
                .started(from.resource as usize, output, since, self.now, bytes);
            self.give_back(from.resource as usize, channel, bytes, end);
            if !self.behind.is_empty() {
                let input = from.resource as usize * self.channels + usize::from(channel);
                self.queue.push(key(end, OFFER, index(input)));
            }
        }
        let latency = self.outputs[output].latency;
        if hop + 1 == self.messages[message as usize].hops {
            self.free.push(id);
            self.give_back(output, channel, bytes, end + latency);
            self.bring(message, end + latency);
            return;
        }
        let early = match self.fabric.forwarding() {
            Forwarding::CutThrough => span.min(self.span(message, hop + 1, last)),
            Forwarding::StoreAndForward => Time::ZERO,
        };
        let arrival = end.saturating_sub(early) + latency;
        self.in_flight.push(&mut self.queue, output, key(arrival, ARRIVED, id));
    }

    /// A packet will be at its destination at `arrival`, and its message is delivered if it was the last to set out.
    fn bring(&mut self, id: MessageId, arrival: Time) {
        let message = &mut self.messages[id as usize];
        message.brought += 1;
        message.latest = message.latest.max(arrival);
        if message.brought == message.packets {
            self.queue.push(key(message.latest, DELIVERED, id));
        }
    }

    /// The first packet of an input has left: the one behind it is next.
    fn next_in_line(&mut self, input: usize) {
        self.behind[input].pop_front();
        if let Some(&next) = self.behind[input].front() {
            self.offer(next);
        }
    }

    /// Puts the packets that came at this instant into the queues, and lets resources choose.
    fn settle(&mut self) {
        let mut arrived = std::mem::take(&mut self.arrived);
        if arrived.len() > 1 {
            arrived.sort_unstable_by_key(|(output, waiting)| (*output, waiting.tie, waiting.packet));
        }
        for (output, waiting) in arrived.drain(..) {
            self.waiting.push(output, waiting);
            self.outputs[output].waiting += 1;
            self.touch(output);
        }
        self.arrived = arrived;
        let mut touched = std::mem::take(&mut self.touched);
        for output in touched.drain(..) {
            self.outputs[output as usize].touched = false;
            self.choose(output as usize);
        }
        self.touched = touched;
    }

    fn enter(&mut self, at: Time, message: MessageId) {
        let first = self.hop(message, 0).hop.resource as usize;
        self.outputs[first].own.push_back((at, message));
        self.touch(first);
    }

    fn handle(&mut self, event: u128, due: &mut Vec<Due>) {
        #[allow(clippy::cast_possible_truncation)] // takes the fields apart again
        let (low, number) = (event as u64, event as u32);
        match low >> 61 {
            ARRIVED => self.arrive(number, event),
            READY => {
                let output = &mut self.outputs[number as usize];
                if output.ready == Some(self.now) {
                    output.ready = None;
                    self.touch(number as usize);
                }
            }
            OFFER => self.next_in_line(number as usize),
            DELIVERED => due.push(Due::Delivered(number)),
            _ => due.push(Due::Woken(number)),
        }
    }

    fn keep_route(&mut self, id: MessageId) -> Result<(), SimulationError> {
        let topology = self.resources.topology();
        let whole = self.format.payload() + self.format.header();
        if self.route.len() > self.stride {
            self.widen(self.route.len());
        }
        let mut used = None;
        let mut slot = 0;
        for (at, &hop) in self.route.iter().enumerate() {
            let link = self.resources.link(hop.resource as usize);
            let before = at.checked_sub(1).map(|before| self.route[before]);
            let before_link = before.and_then(|before| self.resources.link(before.resource as usize));
            let tie = match (before_link, link) {
                (Some(input), Some(output)) => topology.tie(input, output),
                (Some(input), None) => topology.input_port(input),
                // What starts at the node comes after what passes through it.
                (None, _) => OWN_TIE,
            };
            let channel = match link {
                Some(link) if self.channels > 1 => {
                    let channel = channel_of(topology, used, link);
                    used = Some((link, channel));
                    channel
                }
                _ => 0,
            };
            let kept = RouteHop {
                hop,
                channel,
                tie,
                slot,
                full: self.resources.span(hop, whole)?,
            };
            self.hops[id as usize * self.stride + at] = kept;
            slot = match link {
                Some(link) => index(topology.input_port(link) as usize * self.channels) + u32::from(channel),
                // The memory of the sender stands for the node's own messages.
                None => self.own_slot_after(at),
            };
        }
        Ok(())
    }

    fn own_slot_after(&self, at: usize) -> u32 {
        self.route
            .get(at + 1)
            .map_or(0, |next| self.outputs[next.resource as usize].own_slot)
    }

    fn widen(&mut self, stride: usize) {
        let blank = BLANK;
        let mut hops = vec![blank; self.messages.len() * stride];
        for (old, new) in self.hops.chunks_exact(self.stride).zip(hops.chunks_exact_mut(stride)) {
            new[..old.len()].copy_from_slice(old);
        }
        (self.hops, self.stride) = (hops, stride);
    }
}

/// Above every tie of a topology.
const OWN_TIE: u32 = 1 << 18;

impl Network for Switched<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let mut route = std::mem::take(&mut self.route);
        self.resources.route(source, destination, &mut route)?;
        self.route = route;
        let (packets, last) = cut(self.format, bytes);
        let wire = packets
            .saturating_mul(self.format.header().get())
            .saturating_add(bytes.get());
        let record = Message {
            packets,
            sent: 0,
            brought: 0,
            latest: Time::ZERO,
            last,
            hops: index(self.route.len()),
        };
        let slot = message as usize;
        if slot >= self.messages.len() {
            self.messages.resize(slot + 1, record);
            self.hops.resize((slot + 1) * self.stride, BLANK);
        }
        self.messages[slot] = record;
        self.keep_route(message)?;
        for at in 0..record.hops {
            let RouteHop { hop, full, .. } = *self.hop(message, at);
            let resource = hop.resource as usize;
            let busy = whole_span(full, packets, self.resources.span(hop, last)?)?;
            self.budget.delay(busy)?;
            self.budget.delay(self.outputs[resource].latency)?;
            self.budget.bytes(Bytes::new(wire))?;
            self.gauges.carries(resource, wire, busy);
            if self.resources.link(resource).is_some() {
                self.crossings += packets;
            }
        }
        if at == self.now {
            self.enter(at, message);
            self.settle();
        } else {
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
        self.queue.push(key(at, WOKEN, token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        const PAUSE_AFTER: u64 = 1 << 19;
        let pause = self.events + PAUSE_AFTER;
        loop {
            let queued = self.queue.peek().map(time_of);
            let entering = self.entering.front().map(|&(time, _)| time);
            let Some(time) = queued.into_iter().chain(entering).min() else {
                return Advance::Idle;
            };
            self.now = time;
            while let Some(event) = self.queue.peek()
                && time_of(event) == time
            {
                self.queue.pop();
                self.events += 1;
                self.handle(event, due);
            }
            while let Some(&(at, message)) = self.entering.front()
                && at == time
            {
                self.entering.pop_front();
                self.events += 1;
                self.enter(at, message);
            }
            self.settle();
            if !due.is_empty() {
                return Advance::Due(time);
            }
            if self.events >= pause {
                return Advance::Paused(time);
            }
        }
    }

    fn traffic(&self) -> Traffic {
        let links = self.resources.topology().links();
        Traffic {
            packet_hops: self.crossings,
            events: self.events,
            ..self.gauges.report(links)
        }
    }

    fn stuck(&self) -> Option<String> {
        let mut waits = BTreeMap::new();
        for (output, waiting) in self.waiting.iter() {
            let Packet { message, hop, .. } = self.packets[waiting.packet as usize];
            if let Some(before) = hop.checked_sub(1) {
                let RouteHop { hop: from, channel, .. } = *self.hop(message, before);
                waits
                    .entry((from.resource as usize, channel))
                    .or_insert((output, waiting.channel));
            }
        }
        let topology = self.resources.topology();
        stall::describe(&waits, |resource| match self.resources.link(resource) {
            Some(link) => format!(
                "link {link} (node {} to {})",
                topology.source(link),
                topology.destination(link)
            ),
            None => format!("memory of rank {}", resource - topology.links()),
        })
    }
}

fn time_of(event: u128) -> Time {
    #[allow(clippy::cast_possible_truncation)] // the upper 64 of 128 bits
    Time::from_picoseconds((event >> 64) as u64)
}

const BLANK: RouteHop = RouteHop {
    hop: Hop {
        resource: 0,
        touches: 1,
    },
    channel: 0,
    tie: 0,
    slot: 0,
    full: Time::ZERO,
};

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("resources, slots and packets stay below 2^32")
}

fn channel_of(_: &Topology, _: Option<(LinkId, u8)>, _: LinkId) -> u8 {
    0
}
