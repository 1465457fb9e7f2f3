//! The packet model in full: finite buffers with credits, virtual channels, turns among inputs, cut-through, several
//! ways, links that err.
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
//! **Cut-through.** A packet may leave a node as soon as its header is there, which takes a picosecond at least, but no
//! earlier than lets its last byte come in before it goes out.
//!
//! **Events.** One for every arrival at a node that passes the packet on, and one for every choice that can't be made
//! when a packet arrives. What happens at a packet's destination is known when its last link starts it. Credits are
//! lists of times that are looked at when a link chooses; only a link that is held up for lack of room asks for an
//! event when the next one is due.
//!
//! A link that nothing but its own node's messages can take, as that of a chip at a switch, needs no event for each
//! packet: their order is known, and so is the room that comes back within a latency, so several start at once.
//!
//! It keeps what the model without limits ([`super::Packet`]) doesn't need: a record for every packet under way.

mod choice;
mod own;
mod reserve;
mod retry;
mod steer;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use super::gauges::Gauges;
use super::stall;
use super::waiting::{PacketId, Queues, Waiting};
use super::{OWN_PLACE, cut, head, whole_span};
use crate::engine::budget::Budget;
use crate::engine::network::{Advance, Due, MessageId, Network, Traffic};
use crate::engine::queue::{Queue, Wheel};
use crate::engine::resources::Resources;
use crate::error::SimulationError;
use crate::ids::{LinkId, NodeId, RankId};
use crate::topology::{Arbitration, Fabric, Forwarding, PacketFormat, Policy, Queueing, Topology};
use crate::units::{Bytes, Time};
use own::{Own, Sending};
use reserve::Worst;
use retry::Retries;
use steer::{Steering, Step};

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
    /// What is on its way to the end of each resource, in order; the event of the first is in the queue.
    on_the_way: Vec<VecDeque<(Time, PacketId)>>,
    now: Time,
    /// Counts what comes: what has a lower stamp came earlier.
    stamp: u64,
    outputs: Vec<Output>,
    /// The room left ahead of each resource, by virtual channel.
    room: Vec<u64>,
    /// Room that comes back: (when, channel, bytes), by time.
    credits: Vec<VecDeque<(Time, u8, u64)>>,
    waiting: Queues,
    /// The packets at each input link and channel, where they all wait in one line.
    behind: Vec<VecDeque<PacketId>>,
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    messages: Vec<Sending>,
    /// The most bytes of a message that are sent and not acknowledged.
    window: Option<u64>,
    /// What waits for an acknowledgement, by message, and the resource that it starts on.
    parked: FxHashMap<MessageId, Vec<(u32, Own)>>,
    steering: Steering,
    retries: Retries,
    /// The longest that a full packet takes on any link, the longest latency, and the most attempts.
    worst: Worst,
    entering: VecDeque<(Time, MessageId)>,
    /// What came to a node at this instant and has yet to pick a link.
    coming: Vec<PacketId>,
    /// What can be taken from this instant on.
    arrived: Vec<(usize, Waiting)>,
    /// What heard from the other end at this instant.
    resumed: Vec<(u32, Own)>,
    /// Resources to which something has happened.
    touched: Vec<u32>,
    choosing: Vec<u32>,
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
    /// How long a full packet takes, and what has to be there before a packet is cut through.
    full: Time,
    head: Time,
    /// The event that is pending for the next choice.
    ready: Option<Time>,
    held_since: Option<Time>,
    touched: bool,
    /// The slot of the node's own messages.
    own_slot: u32,
    /// Whether nothing but those ever takes it, and they in their order.
    is_own_alone: bool,
    /// How many packets in transit wait.
    waiting: u32,
    /// What starts here.
    own: VecDeque<Own>,
}

impl Output {
    fn has_more(&self) -> bool {
        self.waiting > 0 || !self.own.is_empty()
    }
}

/// A packet under way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    message: MessageId,
    /// Its number in the message.
    number: u64,
    last: bool,
    /// How many resources it has passed.
    hop: u32,
    /// What it waits for or is on.
    here: Step,
    /// The resource and channel in whose buffer it waits.
    from: Option<(u32, u8)>,
    /// When it came there.
    came: Time,
}

/// What an event is, in the upper three bits of the low half of its key; the lower 32 hold the number.
const ARRIVED: u64 = 0;
const READY: u64 = 1;
const OFFER: u64 = 2;
const ACKNOWLEDGED: u64 = 3;
const DELIVERED: u64 = 4;
const WOKEN: u64 = 5;

/// The bit of a key that says, of a message delivered, that it is empty, and of a packet acknowledged, that it is the last.
const FLAG: u32 = 32;
/// The bits of a key above it and below the kind, which hold the generation of an acknowledged message.
const GENERATION_BITS: u32 = 28;

/// What packets without bytes have added to their ties: they come after all others of their instant.
const EMPTY_PLACE: u32 = OWN_PLACE + 1;

fn key(time: Time, kind: u64, number: u32) -> u128 {
    (u128::from(time.picoseconds()) << 64) | u128::from((kind << 61) | u64::from(number))
}

fn time_of(event: u128) -> Time {
    #[allow(clippy::cast_possible_truncation)] // the upper 64 of 128 bits
    Time::from_picoseconds((event >> 64) as u64)
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("resources, slots and packets stay below 2^32")
}

/// Whether a link carries only what starts at its node: that of a rank with a single neighbour, through which no route
/// passes, and whose memory takes no time (else packets come to the link out of that).
fn starts_only(topology: &Topology, link: LinkId) -> bool {
    let (node, neighbour) = (topology.source(link), topology.destination(link));
    node.index() < topology.ranks()
        && topology.endpoint().memory().is_none()
        && topology
            .out_links(node)
            .iter()
            .all(|&link| topology.destination(link) == neighbour)
        && topology
            .in_links(node)
            .iter()
            .all(|&link| topology.source(link) == neighbour)
}

impl<'t> Switched<'t> {
    /// An idle network with the topology's fabric, packet format and endpoint.
    ///
    /// An error where a buffer can't hold a full packet, or where a link gets nearly every packet wrong. With fewer
    /// virtual channels than the shape needs ([`Topology::channels`]) traffic may deadlock; more than that stay unused.
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
        let channels = usize::from(fabric.virtual_channels().min(topology.channels()));
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
        let in_order = matches!(fabric.policy(), Policy::Fixed | Policy::FlowHash { .. })
            && topology.endpoint().window().is_none();
        let output = |resource: usize| -> Result<Output, SimulationError> {
            Ok(Output {
                free: Time::ZERO,
                latency: resources.latency(resource),
                full: resources.bandwidth(resource).checked_serialization(whole)?,
                head: head(resources.bandwidth(resource), format),
                ready: None,
                held_since: None,
                touched: false,
                own_slot: slots[resource].0 - 1,
                is_own_alone: in_order && resources.link(resource).is_some_and(|link| starts_only(topology, link)),
                waiting: 0,
                own: VecDeque::new(),
            })
        };
        let outputs = (0..count).map(output).collect::<Result<Vec<_>, _>>()?;
        let retries = Retries::new(topology, whole)?;
        let worst = Worst::of(&outputs[..topology.links()], &retries);
        let width = outputs.iter().map(|output| output.full.picoseconds() / 4).min();
        Ok(Self {
            fabric,
            format,
            channels,
            whole: whole.get(),
            limited: fabric.buffer().is_some(),
            queue: Wheel::new(width.unwrap_or(1)),
            on_the_way: vec![VecDeque::new(); count],
            now: Time::ZERO,
            stamp: 0,
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
                Queueing::Input => vec![VecDeque::new(); topology.links() * channels],
                Queueing::VirtualOutput => Vec::new(),
            },
            packets: Vec::new(),
            free: Vec::new(),
            messages: Vec::new(),
            window: topology.endpoint().window().map(Bytes::get),
            parked: FxHashMap::default(),
            steering: Steering::new(topology, fabric),
            retries,
            worst,
            entering: VecDeque::new(),
            coming: Vec::new(),
            arrived: Vec::new(),
            resumed: Vec::new(),
            touched: Vec::new(),
            choosing: Vec::new(),
            gauges: Gauges::new(count),
            budget: Budget::default(),
            crossings: 0,
            events: 0,
            resources,
        })
    }

    /// Whether nothing is under way: no packet on a link, in a buffer or in a queue, and all room ahead of the links is
    /// back, or will be with credits that are due.
    pub fn is_drained(&self) -> bool {
        let limit = self.fabric.buffer().map_or(u64::MAX, Bytes::get);
        let links = self.resources.topology().links();
        let has_all_room = |output: usize| {
            (0..)
                .zip(&self.room[output * self.channels..][..self.channels])
                .all(|(channel, &room)| {
                    let credits = self.credits[output].iter().filter(|credit| credit.1 == channel);
                    credits.fold(room, |room, credit| room + credit.2) == limit
                })
        };
        self.entering.is_empty()
            && self.parked.is_empty()
            && self.free.len() == self.packets.len()
            && self.on_the_way.iter().all(VecDeque::is_empty)
            && self.behind.iter().all(VecDeque::is_empty)
            && !self.outputs.iter().any(Output::has_more)
            && self.gauges.are_at_rest()
            && (0..links).all(has_all_room)
    }

    /// How long a packet occupies a step.
    fn span(&self, message: MessageId, step: Step, is_last: bool) -> Time {
        if !is_last && step.hop.touches == 1 {
            return self.outputs[step.hop.resource as usize].full;
        }
        let bytes = Bytes::new(self.size(message, is_last));
        self.resources.span(step.hop, bytes).expect("checked when posted")
    }

    /// The bytes of a packet in a buffer.
    fn size(&self, message: MessageId, is_last: bool) -> u64 {
        if is_last {
            self.messages[message as usize].last.get()
        } else {
            self.whole
        }
    }

    fn touch_output(&mut self, output: usize) {
        if !std::mem::replace(&mut self.outputs[output].touched, true) {
            self.touched.push(index(output));
        }
    }

    /// The first packet on its way to the end of a resource has come there.
    fn reach(&mut self, resource: u32) {
        let on_the_way = &mut self.on_the_way[resource as usize];
        let (_, id) = on_the_way.pop_front().expect("one event for the first");
        if let Some(&(next, _)) = on_the_way.front() {
            self.queue.push(key(next, ARRIVED, resource));
        }
        if self.steering.is_fixed() {
            self.arrive(id);
        } else {
            self.coming.push(id);
        }
    }

    /// A packet has come to a node that passes it on.
    fn arrive(&mut self, id: PacketId) {
        let Packet {
            message,
            hop,
            last,
            here,
            ..
        } = self.packets[id as usize];
        let from = here.hop.resource as usize;
        let next = self.next_step(message, hop, here);
        let packet = &mut self.packets[id as usize];
        packet.hop = hop + 1;
        packet.from = Some((here.hop.resource, here.channel));
        packet.here = next;
        packet.came = self.now;
        self.gauges
            .queued(from, next.hop.resource as usize, self.size(message, last));
        if let Some(behind) = self.behind.get_mut(from * self.channels + usize::from(here.channel)) {
            behind.push_back(id);
            if behind.len() > 1 {
                return;
            }
        }
        self.offer(id);
    }

    /// A packet stands where its next resource can take it.
    fn offer(&mut self, id: PacketId) {
        let Packet {
            message,
            last,
            here: next,
            ..
        } = self.packets[id as usize];
        let is_empty = self.size(message, last) == 0;
        let waiting = Waiting {
            packet: id,
            stamp: 0,
            tie: next.tie + if is_empty { EMPTY_PLACE } else { 0 },
            slot: next.slot,
            channel: next.channel,
        };
        self.arrived.push((next.hop.resource as usize, waiting));
    }

    /// Starts a packet on a resource.
    fn start(&mut self, output: usize, id: PacketId) {
        let Packet {
            message,
            number,
            last,
            hop,
            here,
            from,
            came,
        } = self.packets[id as usize];
        let span = self.span(message, here, last);
        let bytes = self.size(message, last);
        let latency = self.outputs[output].latency;
        let again = self.retries.delay(output, span, latency, bytes);
        let end = self.now + again + span;
        self.outputs[output].free = end;
        if !self.steering.is_fixed() {
            self.gauges.carries(output, bytes, span);
            self.crossings += u64::from(self.resources.link(output).is_some());
        }
        if again > Time::ZERO {
            self.gauges.carries(output, 0, again);
        }
        if self.limited {
            self.room[output * self.channels + usize::from(here.channel)] -= bytes;
        }
        if let Some((input, channel)) = from {
            self.gauges.started(input as usize, output, came, self.now, bytes);
            self.give_back(input as usize, channel, bytes, end);
            let line = input as usize * self.channels + usize::from(channel);
            if line < self.behind.len() {
                self.queue.push(key(end, OFFER, index(line)));
            }
        }
        if self.is_end(message, hop, here) {
            self.free.push(id);
            self.give_back(output, here.channel, bytes, end + latency);
            self.bring(message, number, end + latency);
            return;
        }
        let early = match self.fabric.forwarding() {
            Forwarding::CutThrough => {
                let behind_head = span.saturating_sub(self.outputs[output].head);
                behind_head.min(self.shortest_next(message, hop, here, last))
            }
            Forwarding::StoreAndForward => Time::ZERO,
        };
        let arrival = end.saturating_sub(early) + latency;
        // INVARIANT: each comes no earlier than the one before it, also cut through: that one came when it ended or before.
        let on_the_way = &mut self.on_the_way[output];
        on_the_way.push_back((arrival, id));
        if on_the_way.len() == 1 {
            self.queue.push(key(arrival, ARRIVED, index(output)));
        }
    }

    /// The first packet of an input has left: the one behind it is next.
    fn next_in_line(&mut self, line: usize) {
        self.behind[line].pop_front();
        if let Some(&next) = self.behind[line].front() {
            self.offer(next);
        }
    }

    /// Puts what came at this instant into the queues, and lets resources choose.
    fn settle(&mut self) {
        self.steer();
        self.stamp += 1;
        let mut arrived = std::mem::take(&mut self.arrived);
        // Inputs that take turns have a queue each, so only those served by time need an order.
        if arrived.len() > 1 && self.fabric.arbitration() == Arbitration::FirstCome {
            // Stable: packets of one link that are alike in all this stay in the order in which it sent them.
            arrived.sort_by_key(|(output, waiting)| (*output, waiting.tie, waiting.slot));
        }
        for (output, mut waiting) in arrived.drain(..) {
            waiting.stamp = self.stamp;
            self.waiting.push(output, waiting);
            self.outputs[output].waiting += 1;
            self.touch_output(output);
        }
        self.arrived = arrived;
        self.resume();
        while !self.touched.is_empty() {
            let mut choosing = std::mem::take(&mut self.choosing);
            std::mem::swap(&mut choosing, &mut self.touched);
            if !self.steering.is_fixed() {
                // The links of a node may share messages, so which one chooses first tells.
                choosing.sort_unstable();
            }
            for output in choosing.drain(..) {
                self.outputs[output as usize].touched = false;
                self.choose(output as usize);
            }
            self.choosing = choosing;
        }
    }

    /// Lets the packets that came at this instant pick their links.
    fn steer(&mut self) {
        let mut coming = std::mem::take(&mut self.coming);
        coming.sort_by_key(|&id| self.place_at_node(self.packets[id as usize].here.hop.resource));
        for id in coming.drain(..) {
            self.arrive(id);
        }
        self.coming = coming;
    }

    /// Handles the events of this instant; false if there are none.
    fn handle_all(&mut self, due: &mut Vec<Due>) -> bool {
        let before = self.events;
        while let Some(event) = self.queue.peek()
            && time_of(event) == self.now
        {
            self.queue.pop();
            self.events += 1;
            self.handle(event, due);
        }
        self.events > before
    }

    fn handle(&mut self, event: u128, due: &mut Vec<Due>) {
        #[allow(clippy::cast_possible_truncation)] // takes the fields apart again
        let (low, number) = (event as u64, event as u32);
        match low >> 61 {
            ARRIVED => self.reach(number),
            READY => {
                let output = &mut self.outputs[number as usize];
                if output.ready == Some(self.now) {
                    output.ready = None;
                    self.touch_output(number as usize);
                }
            }
            OFFER => self.next_in_line(number as usize),
            ACKNOWLEDGED => {
                let generation = (low >> (FLAG + 1)) % (1 << GENERATION_BITS);
                self.acknowledged(number, generation, low >> FLAG & 1 == 1);
            }
            DELIVERED => due.push(Due::Delivered(number)),
            _ => due.push(Due::Woken(number)),
        }
    }
}

impl Network for Switched<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let (packets, last) = cut(self.format, bytes);
        let wire = packets
            .saturating_mul(self.format.header().get())
            .saturating_add(bytes.get());
        self.plan(message, source, destination)?;
        let sending = Sending::new(source, destination, packets, last);
        let slot = message as usize;
        if slot >= self.messages.len() {
            self.messages.resize(slot + 1, sending);
        }
        let generation = self.messages[slot].generation;
        self.messages[slot] = sending;
        self.messages[slot].generation = (generation + 1) % (1 << GENERATION_BITS);
        for hop in 0..self.steering.hops(message) {
            let step = self.steering.step(message, hop);
            let resource = step.hop.resource as usize;
            let full = self.resources.span(step.hop, Bytes::new(self.whole))?;
            let busy = whole_span(full, packets, self.resources.span(step.hop, last)?)?;
            let latency = self.outputs[resource].latency;
            self.budget.delay(self.most_delay(resource, packets, busy))?;
            self.budget.bytes(Bytes::new(wire))?;
            self.messages[slot].way_back += latency;
            if self.steering.is_fixed() {
                self.gauges.carries(resource, wire, busy);
                if self.resources.link(resource).is_some() {
                    self.crossings += packets;
                }
            }
        }
        if at == self.now {
            self.enter(message);
            self.settle();
        } else {
            let place = self.entering.iter().rposition(|&(time, _)| time <= at);
            self.entering
                .insert(place.map_or(0, |before| before + 1), (at, message));
        }
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.queue.push(key(at, WOKEN, token));
    }

    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        let (memory, span) = self.resources.pass_memory(rank, bytes)?;
        self.budget.delay(span)?;
        self.enter_touch(memory, bytes, token);
        self.settle();
        Ok(())
    }

    fn keeps_order(&self) -> bool {
        self.steering.is_fixed() && self.window.is_none()
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        const PAUSE_AFTER: u64 = 1 << 18;
        let pause = self.events + PAUSE_AFTER;
        loop {
            let queued = self.queue.peek().map(time_of);
            let entering = self.entering.front().map(|&(time, _)| time);
            let Some(time) = queued.into_iter().chain(entering).min() else {
                return Advance::Idle;
            };
            self.now = time;
            while self.handle_all(due) {
                self.settle();
            }
            while let Some(&(at, message)) = self.entering.front()
                && at == time
            {
                self.entering.pop_front();
                self.events += 1;
                self.enter(message);
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
            reordered: self.steering.reordered(),
            ..self.gauges.report(links)
        }
    }

    fn stuck(&self) -> Option<String> {
        let mut waits = BTreeMap::new();
        for (output, waiting) in self.waiting.iter() {
            if let Some((from, channel)) = self.packets[waiting.packet as usize].from {
                waits
                    .entry((from as usize, channel))
                    .or_insert((output, waiting.channel));
            }
        }
        let topology = self.resources.topology();
        let place = |node: NodeId| {
            let what = if node.index() < topology.ranks() {
                "chip"
            } else {
                "switch"
            };
            format!("{what} {node}")
        };
        stall::describe(&waits, |resource| match self.resources.link(resource) {
            Some(link) => format!(
                "link {link} ({} to {})",
                place(topology.source(link)),
                place(topology.destination(link))
            ),
            None => format!("memory of rank {}", resource - topology.links()),
        })
    }
}
