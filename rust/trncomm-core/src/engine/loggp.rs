//! The `loggp` model: only a rank's own ports and memories contend.
//!
//! A message of b bytes occupies the first link of its route, then the last one, for b bytes at that link's rate each,
//! first-come first-served; what lies between costs latency and, where it is slower, its serialisation, but is never
//! busy. The message is cut through: its head is passed on at once. With L the sum of the link latencies and G the
//! inverse of the slowest rate, an uncontended message takes L + b·G, as in `LogGP` (Alexandrov et al., SPAA 1995)
//! with o = 0 and one byte's worth of gap more: b instead of b − 1.
//!
//! Where the endpoint has a memory rate, the memory of the sender comes before the first link and that of the receiver
//! after the last one, without latency, each occupied for as many bytes as touch it. So a message has at most four
//! stations, and its head comes from one to the next. What a rank reduces or copies waits for its memory in the same
//! line.
//!
//! **Ties.** At one instant heads are served at last links first, then at the memories of receivers, then at first
//! links, then what enters. Messages that reach a last link at one instant are served by the place of the links that
//! they come in by, relative to that link ([`Topology::tie`]), then by that of the links before, back to where they
//! started; those that start at a node come after those that pass it. Messages that reach a memory are served by the
//! input port. Messages between the same two ranks never overtake one another: where what
//! lies between is slower than the last link, a short message ends no sooner than the long one ahead of it.
//!
//! Of the fabric's policies the flow hash picks routes here as in the other models. Packets aren't spread: with
//! the others every message takes its fixed route.

mod places;

use std::cmp::Ordering;
use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::budget::{Budget, too_long};
use super::lanes::Lanes;
use super::network::{Advance, Due, MessageId, Network, Traffic};
use super::queue::{Queue, Wheel};
use super::resources::{Hop, Resources};
use crate::error::SimulationError;
use crate::ids::{LinkId, RankId};
use crate::topology::Topology;
use crate::units::{Bytes, Time};
use places::{at_last_link, order_of_ways};

/// A network in which only memories and the first and the last link of a route are ever busy.
#[derive(Debug)]
pub struct LogGp<'t> {
    topology: &'t Topology,
    resources: Resources<'t>,
    queue: Wheel,
    now: Time,
    /// A lane for every resource, and one more for every memory: of the heads that leave it for a first link.
    lanes: Lanes,
    free: Vec<Time>,
    messages: Vec<Message>,
    /// Messages that have not entered yet, by the time at which they do, then in the order of posting.
    entering: VecDeque<(Time, MessageId)>,
    served: u64,
    /// Messages whose heads have reached a station of one kind at this instant, by places alike as far as a key holds
    /// them.
    reached: Vec<MessageId>,
    /// By station, the last turn in which some message reached it, and how many turns there were.
    turns: Vec<u64>,
    turn: u64,
    /// When the last message from one rank to another ends, and its place among those that end then; only for
    /// messages that might be overtaken.
    ends: FxHashMap<(RankId, RankId), (Time, u64)>,
    /// By link.
    carried: Vec<Carried>,
    budget: Budget,
    events: u64,
    hops: u64,
}

/// What a link has carried, in bytes and picoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    bytes: u64,
    busy: u64,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Message {
    source: RankId,
    destination: RankId,
    /// The memory of the sender, where it takes time.
    read: Option<Memory>,
    first: LinkId,
    last: LinkId,
    /// The memory of the receiver, where it takes time.
    write: Option<Memory>,
    /// How long the first link is busy with it, the last one, and the slowest of all links.
    spans: Spans,
    /// The latency of all links but the last.
    before: Time,
    /// See [`at_last_link`].
    ties: u64,
    is_empty: bool,
    /// When its end reaches the station that its head reaches next, were all that follows free.
    tail: Time,
    /// Its number among the messages that have entered, or have had their last link.
    served: u64,
}

/// A memory that a message occupies for a span.
#[derive(Clone, Copy, Debug)]
struct Memory {
    resource: u32,
    span: Time,
}

#[derive(Clone, Copy, Debug)]
struct Spans {
    first: Time,
    last: Time,
    slowest: Time,
}

/// What an event is; those of one instant are handled in this order. A key holds the time (64 bits), the kind (3), the
/// place at the last link or memory (18), that at the link before (10), the lane's mark (1), and the message or token
/// (32). For a delivery the places are its place among those of one source and destination at that instant.
const AT_LAST_LINK: u64 = 0;
const AT_MEMORY: u64 = 1;
const AT_FIRST_LINK: u64 = 2;
const DELIVERED: u64 = 3;
const WOKEN: u64 = 4;

/// The most that the place of a delivery can be in a key.
const MAX_PLACE_AT_END: u64 = (1 << 27) - 1;

fn key(time: Time, kind: u64, ties: u64, number: u32) -> u128 {
    u128::from(time.picoseconds()) << 64 | u128::from(kind << 61 | ties << 33 | u64::from(number))
}

impl<'t> LogGp<'t> {
    /// An idle network.
    pub fn new(topology: &'t Topology) -> Self {
        // A bucket of the wheel is to be well below the time between two messages of a link.
        let shortest = topology
            .latencies()
            .iter()
            .min()
            .map_or(1, |latency| latency.picoseconds() / 4);
        let resources = Resources::new(topology);
        let count = resources.count();
        Self {
            topology,
            resources,
            queue: Wheel::new(shortest),
            now: Time::ZERO,
            lanes: Lanes::new(count + (count - topology.links())),
            free: vec![Time::ZERO; count],
            messages: Vec::new(),
            entering: VecDeque::new(),
            served: 0,
            reached: Vec::new(),
            turns: vec![0; count],
            turn: 0,
            ends: FxHashMap::default(),
            carried: vec![Carried::default(); topology.links()],
            budget: Budget::default(),
            events: 0,
            hops: 0,
        }
    }

    /// Occupies a resource for `span` from `ready` on, or once it is free; returns the start.
    fn occupy(&mut self, resource: usize, ready: Time, span: Time) -> Time {
        let free = &mut self.free[resource];
        let start = ready.max(*free);
        *free = start + span;
        start
    }

    fn number(&mut self) -> u64 {
        self.served += 1;
        self.served
    }

    /// The lane of the heads that leave a memory for a first link.
    fn lane_behind(&self, memory: Memory) -> usize {
        memory.resource as usize + self.topology.ranks()
    }

    /// The lane of the heads that come to the receiver, or of messages that end there.
    fn last_lane(message: &Message) -> usize {
        message
            .write
            .map_or(message.last.index(), |memory| memory.resource as usize)
    }

    /// A message sets out: through the memory of its sender, or at once onto its first link.
    fn enter(&mut self, at: Time, id: MessageId) {
        let number = self.number();
        let message = &mut self.messages[id as usize];
        message.served = number;
        let Some(memory) = message.read else {
            message.tail = at;
            self.onto_first_link(at, id);
            return;
        };
        let start = self.occupy(memory.resource as usize, at, memory.span);
        self.messages[id as usize].tail = start + memory.span;
        let lane = self.lane_behind(memory);
        self.lanes.push(&mut self.queue, lane, key(start, AT_FIRST_LINK, 0, id));
    }

    /// Puts a message whose head is there onto its first link.
    fn onto_first_link(&mut self, at: Time, id: MessageId) {
        let Message {
            first,
            last,
            spans,
            before,
            ties,
            tail,
            ..
        } = self.messages[id as usize];
        let start = self.occupy(first.index(), at, spans.first);
        self.messages[id as usize].tail = tail.max(start + spans.slowest) + before;
        // Only a route of one link ends with the link that it begins with.
        if first == last {
            self.leave_last_link(id, start);
        } else {
            self.lanes.push(
                &mut self.queue,
                first.index(),
                key(start + before, AT_LAST_LINK, ties, id),
            );
        }
    }

    /// Lets a message that has its last link from `start` on go to the memory of its receiver, or end.
    fn leave_last_link(&mut self, id: MessageId, start: Time) {
        let Message {
            last,
            write,
            spans,
            tail,
            ..
        } = self.messages[id as usize];
        let latency = self.topology.latency(last);
        if write.is_none() {
            self.finish(id, start + spans.last, latency);
            return;
        }
        let number = self.number();
        let message = &mut self.messages[id as usize];
        message.tail = tail.max(start + spans.last) + latency;
        message.served = number;
        let place = u64::from(self.topology.input_port(last)) << 10;
        self.lanes.push(
            &mut self.queue,
            // Those that the link brings come in its order.
            last.index(),
            key(start + latency, AT_MEMORY, place, id),
        );
    }

    /// Lets the messages in `reached` have the station of that kind.
    fn serve_reached(&mut self, kind: u64) {
        let mut reached = std::mem::take(&mut self.reached);
        if self.some_meet(kind, &reached) {
            reached.sort_unstable_by(|&a, &b| self.order_at(kind, a, b));
        }
        for id in reached.drain(..) {
            let Message { last, spans, write, .. } = self.messages[id as usize];
            match (kind, write) {
                (AT_LAST_LINK, _) => {
                    let start = self.occupy(last.index(), self.now, spans.last);
                    self.leave_last_link(id, start);
                }
                (AT_MEMORY, Some(memory)) => {
                    let start = self.occupy(memory.resource as usize, self.now, memory.span);
                    self.finish(id, start + memory.span, Time::ZERO);
                }
                _ => self.onto_first_link(self.now, id),
            }
        }
        self.reached = reached;
    }

    /// Whether two of the messages reach one station; where none do, as in traffic that is symmetric, their order means
    /// nothing, and sorting them is saved.
    fn some_meet(&mut self, kind: u64, reached: &[MessageId]) -> bool {
        if reached.len() < 2 {
            return false;
        }
        self.turn += 1;
        let (messages, turns, turn) = (&self.messages, &mut self.turns, self.turn);
        reached.iter().any(|&id| {
            let message = &messages[id as usize];
            let station = match (kind, message.write) {
                (AT_LAST_LINK, _) => message.last.index(),
                (AT_MEMORY, Some(memory)) => memory.resource as usize,
                _ => message.first.index(),
            };
            std::mem::replace(&mut turns[station], turn) == turn
        })
    }

    /// The order of two messages that reach stations of one kind at one instant, as the module says; any if the stations
    /// differ.
    fn order_at(&self, kind: u64, a: MessageId, b: MessageId) -> Ordering {
        let (a, b) = (&self.messages[a as usize], &self.messages[b as usize]);
        let in_turn = || a.served.cmp(&b.served);
        match kind {
            AT_LAST_LINK => a.last.cmp(&b.last).then_with(|| {
                // Both go to the chip at the end of that link.
                if a.source == b.source {
                    in_turn()
                } else {
                    order_of_ways(self.topology, a.source, b.source, a.destination)
                }
            }),
            // By port as far as keys go; those of one port come by one link, in its order.
            AT_MEMORY => a.last.cmp(&b.last).then_with(in_turn),
            _ => in_turn(),
        }
    }

    /// Plans the end of a message that its last station has served by `served`, and that takes `latency` from there.
    fn finish(&mut self, id: MessageId, served: Time, latency: Time) {
        let message = &self.messages[id as usize];
        let Message {
            source,
            destination,
            tail,
            is_empty,
            ..
        } = *message;
        let lane = Self::last_lane(message);
        let mut end = tail.max(served) + latency;
        // A message that was ahead ends by `served` at the last station, unless it waited for its own tail.
        let mut place = 0;
        if tail > served || !self.ends.is_empty() {
            let pair = (source, destination);
            if let Some(&(ahead, its_place)) = self.ends.get(&pair)
                && ahead >= end
            {
                (end, place) = (ahead, its_place + 1);
            }
            if tail > served || place > 0 {
                self.ends.insert(pair, (end, place));
            }
        }
        // An empty message may end together with the one ahead of it.
        let place = place.min(MAX_PLACE_AT_END) << 1 | u64::from(is_empty);
        self.lanes.push(&mut self.queue, lane, key(end, DELIVERED, place, id));
    }

    /// Handles all events of the present instant.
    fn handle_instant(&mut self, due: &mut Vec<Due>) {
        let mut reached = None;
        loop {
            let event = self.queue.peek().filter(|&event| Self::time_of(event) == self.now);
            #[allow(clippy::cast_possible_truncation)] // takes the fields apart again
            let (low, number) = event.map_or((0, 0), |event| (event as u64, event as u32));
            let kind = low >> 61;
            // Kind and places.
            let station = event.filter(|_| kind <= AT_FIRST_LINK).map(|_| low >> 33);
            if let Some(before) = reached
                && station != reached
            {
                // What is served may reach another station at this instant.
                self.serve_reached(before >> 28);
                reached = None;
                continue;
            }
            let Some(event) = event else { return };
            self.queue.pop();
            self.events += 1;
            if kind == WOKEN {
                due.push(Due::Woken(number));
                continue;
            }
            let message = &self.messages[number as usize];
            let lane = match kind {
                AT_LAST_LINK => message.first.index(),
                AT_MEMORY => message.last.index(),
                AT_FIRST_LINK => self.lane_behind(message.read.expect("it came through a memory")),
                _ => Self::last_lane(message),
            };
            self.lanes.taken(&mut self.queue, lane, event);
            if station.is_some() {
                self.reached.push(number);
                reached = station;
            } else {
                due.push(Due::Delivered(number));
            }
        }
    }

    #[allow(clippy::cast_possible_truncation)] // the upper 64 of 128 bits
    fn time_of(event: u128) -> Time {
        Time::from_picoseconds((event >> 64) as u64)
    }

    /// A message of `bytes` from one rank to another, counted as carried.
    fn record(&mut self, source: RankId, destination: RankId, bytes: Bytes) -> Result<Message, SimulationError> {
        let [read, write] = self.resources.ends(source, destination);
        let [read, write] = [self.memory(read, bytes)?, self.memory(write, bytes)?];
        let topology = self.topology;
        let links = self.resources.links(source, destination)?;
        let (&[first, ..], &[.., last]) = (links, links) else {
            unreachable!("a route between two ranks has links")
        };
        // Most routes have links of few rates, one after the other.
        let (mut rate, mut span) = (topology.bandwidth(first), Time::ZERO);
        let (mut latency, mut slowest, mut busy) = (Time::ZERO, Time::ZERO, Time::ZERO);
        let (rates, latencies) = (topology.bandwidths(), topology.latencies());
        for (place, &link) in links.iter().enumerate() {
            let index = link.index();
            if place == 0 || rates[index] != rate {
                rate = rates[index];
                span = rate.checked_serialization(bytes)?;
                slowest = slowest.max(span);
            }
            busy = busy.checked_add(span).ok_or_else(too_long)?;
            latency = latency.checked_add(latencies[index]).ok_or_else(too_long)?;
            let carried = &mut self.carried[index];
            // Both sums are checked below, by the budget of all that was carried.
            carried.bytes = carried.bytes.wrapping_add(bytes.get());
            carried.busy = carried.busy.wrapping_add(span.picoseconds());
        }
        let hops = links.len() as u64;
        let ties = at_last_link(topology, links.iter().copied());
        self.budget.delay(busy)?;
        self.budget.delay(latency)?;
        self.budget.bytes(Bytes::new(bytes.get().saturating_mul(hops)))?;
        self.hops += hops;
        Ok(Message {
            source,
            destination,
            read,
            first,
            last,
            write,
            spans: Spans {
                first: topology.bandwidth(first).checked_serialization(bytes)?,
                last: span,
                slowest,
            },
            before: latency - topology.latency(last),
            ties,
            is_empty: bytes == Bytes::ZERO,
            tail: Time::ZERO,
            served: 0,
        })
    }

    /// What a message of `bytes` does to a memory that it touches.
    fn memory(&mut self, hop: Option<Hop>, bytes: Bytes) -> Result<Option<Memory>, SimulationError> {
        let Some(hop) = hop else { return Ok(None) };
        let span = self.resources.span(hop, bytes)?;
        self.budget.delay(span)?;
        Ok(Some(Memory {
            resource: hop.resource,
            span,
        }))
    }

    /// The next instant at which something happens.
    fn next_time(&mut self) -> Option<Time> {
        let queued = self.queue.peek().map(Self::time_of);
        let entering = self.entering.front().map(|&(time, _)| time);
        match (queued, entering) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (time, None) | (None, time) => time,
        }
    }
}

impl Network for LogGp<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let record = self.record(source, destination, bytes)?;
        let index = message as usize;
        if index >= self.messages.len() {
            self.messages.resize(index + 1, record);
        }
        self.messages[index] = record;
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
        let start = self.occupy(memory, self.now, span);
        self.wake(start + span, token);
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.queue.push(key(at, WOKEN, 0, token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        const PAUSE_AFTER: u64 = 1 << 20;
        let pause = self.events + PAUSE_AFTER;
        while let Some(time) = self.next_time() {
            self.now = time;
            self.handle_instant(due);
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
            link_bytes: self.carried.iter().map(|carried| carried.bytes).collect(),
            link_busy: self.carried.iter().map(|carried| carried.busy).collect(),
            packet_hops: self.hops,
            events: self.events,
            ..Traffic::default()
        }
    }
}
