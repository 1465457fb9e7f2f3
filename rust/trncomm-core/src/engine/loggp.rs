//! The `loggp` model: only a rank's own ports contend.
//!
//! A message of b bytes occupies the first link of its route, then the last one, for b bytes at that link's rate each,
//! first-come first-served; what lies between costs latency and, where it is slower, its serialisation, but is never
//! busy. The message is cut through: its head is passed on at once. With L the sum of the link latencies and G the
//! inverse of the slowest rate, an uncontended message takes L + b·G, as in `LogGP` (Alexandrov et al., SPAA 1995)
//! with o = 0 and one byte's worth of gap more: b instead of b − 1.
//!
//! Messages that reach a last link at one instant are served by the place of the links that they come in by, relative
//! to that link ([`Topology::tie`]), then by that of the links before, back to where they started; those that start at
//! a node come after those that pass it. Messages between the same two ranks never overtake one another: where what
//! lies between is slower than the last link, a short message ends no sooner than the long one ahead of it.

use std::cmp::Ordering;
use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::budget::Budget;
use super::lanes::Lanes;
use super::network::{Advance, Due, MessageId, Network, Traffic};
use super::queue::{Queue, Wheel};
use crate::error::SimulationError;
use crate::ids::{LinkId, RankId};
use crate::topology::Topology;
use crate::units::{Bytes, Time};

/// A network in which only the first and the last link of a route are ever busy.
#[derive(Debug)]
pub struct LogGp<'t> {
    topology: &'t Topology,
    queue: Wheel,
    now: Time,
    lanes: Lanes,
    free: Vec<Time>,
    messages: Vec<Message>,
    /// Messages that have not entered yet, by the time at which they do, then in the order of posting.
    entering: VecDeque<(Time, MessageId)>,
    entered: u64,
    /// Messages whose heads have reached their last links at this instant, by places alike as far as a key holds them.
    reached: Vec<MessageId>,
    /// When the last message from one rank to another ends, and its place among those that end then; only for
    /// messages that might be overtaken.
    ends: FxHashMap<(RankId, RankId), (Time, u64)>,
    link_bytes: Vec<u64>,
    link_busy: Vec<u64>,
    path: Vec<LinkId>,
    budget: Budget,
    events: u64,
    hops: u64,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Message {
    source: RankId,
    destination: RankId,
    first: LinkId,
    last: LinkId,
    /// How long the first link is busy with it, the last one, and the slowest of all.
    spans: Spans,
    /// The latency of all links but the last.
    before: Time,
    /// See [`LogGp::ties`].
    ties: u64,
    is_empty: bool,
    /// When its end reaches the last link, were that free.
    tail: Time,
    /// Its number among the messages that have entered.
    entered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Spans {
    first: Time,
    last: Time,
    slowest: Time,
}

/// What an event is; those of one instant are handled in this order. A key holds the time (64 bits), the kind (2), the
/// place at the last link (18), that at the link before (11), the lane's mark (1), and the message or token (32). For
/// a delivery the places are its place among those of one source and destination at that instant.
const HEAD: u64 = 0;
const DELIVERED: u64 = 1;
const WOKEN: u64 = 2;

/// The most that the place at the link before, and the place of a delivery, can be in a key.
const MAX_PLACE_BEFORE: u64 = (1 << 11) - 1;
const MAX_PLACE_AT_END: u64 = (1 << 28) - 1;

fn key(time: Time, kind: u64, ties: u64, number: u32) -> u128 {
    u128::from(time.picoseconds()) << 64 | u128::from(kind << 62 | ties << 33 | u64::from(number))
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
        Self {
            topology,
            queue: Wheel::new(shortest),
            now: Time::ZERO,
            lanes: Lanes::new(topology.links()),
            free: vec![Time::ZERO; topology.links()],
            messages: Vec::new(),
            entering: VecDeque::new(),
            entered: 0,
            reached: Vec::new(),
            ends: FxHashMap::default(),
            link_bytes: vec![0; topology.links()],
            link_busy: vec![0; topology.links()],
            path: Vec::new(),
            budget: Budget::default(),
            events: 0,
            hops: 0,
        }
    }

    /// Occupies `link` for `span` from `ready` on, or once it is free; returns the start.
    fn occupy(&mut self, link: LinkId, ready: Time, span: Time) -> Time {
        let free = &mut self.free[link.index()];
        let start = ready.max(*free);
        *free = start + span;
        start
    }

    /// The places of a message at the last link of its route and, as far as a key holds it, at the one before; the
    /// last place there for a message that starts there.
    fn ties(&self, path: &[LinkId]) -> u64 {
        let place = |pair: &[LinkId]| u64::from(self.topology.tie(pair[0], pair[1]));
        let mut places = path.windows(2).rev().map(place);
        let (at_last, before) = (places.next().unwrap_or(0), places.next());
        at_last << 11 | before.map_or(MAX_PLACE_BEFORE, |place| place.min(MAX_PLACE_BEFORE))
    }

    /// Puts a message onto its first link.
    fn enter(&mut self, at: Time, id: MessageId) {
        let Message {
            first,
            last,
            spans,
            before,
            ties,
            ..
        } = self.messages[id as usize];
        let start = self.occupy(first, at, spans.first);
        let message = &mut self.messages[id as usize];
        message.tail = start + spans.slowest + before;
        message.entered = self.entered;
        self.entered += 1;
        // Only a route of one link ends with the link that it begins with.
        if first == last {
            self.finish(id, start);
        } else {
            self.lanes
                .push(&mut self.queue, first.index(), key(start + before, HEAD, ties, id));
        }
    }

    /// Lets the messages in `reached` have their last links.
    fn serve_reached(&mut self) {
        let mut reached = std::mem::take(&mut self.reached);
        if reached.len() > 1 {
            reached.sort_unstable_by(|&a, &b| self.order_at_last_link(a, b));
        }
        for id in reached.drain(..) {
            let Message { last, spans, .. } = self.messages[id as usize];
            let start = self.occupy(last, self.now, spans.last);
            self.finish(id, start);
        }
        self.reached = reached;
    }

    /// The order of two messages that reach their last links at one instant, as the module says; any if the links differ.
    fn order_at_last_link(&self, a: MessageId, b: MessageId) -> Ordering {
        let (a, b) = (&self.messages[a as usize], &self.messages[b as usize]);
        a.last.cmp(&b.last).then_with(|| {
            // Both go to the chip at the end of that link.
            if a.source == b.source {
                a.entered.cmp(&b.entered)
            } else {
                self.order_of_ways(a.source, b.source, a.destination)
            }
        })
    }

    /// The order of the routes from two ranks to a third one, by places from the last link back.
    ///
    /// Found by routing anew, which few messages need: most differ in places that a key holds.
    fn order_of_ways(&self, a: RankId, b: RankId, to: RankId) -> Ordering {
        let way = |from| {
            let mut path = Vec::new();
            self.topology
                .route(from, to, &mut path)
                .expect("ranks that a message was posted between");
            path
        };
        let (a, b) = (way(a), way(b));
        let place = |pair: (&[LinkId], &[LinkId])| {
            let tie = |pair: &[LinkId]| self.topology.tie(pair[0], pair[1]);
            tie(pair.0).cmp(&tie(pair.1))
        };
        let pairs = a.windows(2).rev().zip(b.windows(2).rev());
        let places_differ = pairs.map(place).find(|order| order.is_ne());
        // One passes the node where the other starts: the longer way goes first.
        places_differ.unwrap_or_else(|| b.len().cmp(&a.len()))
    }

    /// Plans the end of a message that has its last link from `start` on.
    fn finish(&mut self, id: MessageId, start: Time) {
        let Message {
            source,
            destination,
            last,
            spans,
            tail,
            is_empty,
            ..
        } = self.messages[id as usize];
        let served = start + spans.last;
        let mut end = tail.max(served) + self.topology.latency(last);
        // A message that was ahead ends by `served` at the last link, unless it waited for its own tail.
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
        self.lanes
            .push(&mut self.queue, last.index(), key(end, DELIVERED, place, id));
    }

    /// Handles all events of the present instant.
    fn handle_instant(&mut self, due: &mut Vec<Due>) {
        let mut ties_reached = None;
        loop {
            let event = self.queue.peek().filter(|&event| Self::time_of(event) == self.now);
            #[allow(clippy::cast_possible_truncation)] // takes the fields apart again
            let (low, number) = event.map_or((0, 0), |event| (event as u64, event as u32));
            let ties = event.filter(|_| low >> 62 == HEAD).map(|_| low >> 33);
            if ties != ties_reached && !self.reached.is_empty() {
                // What is served may be delivered at this instant.
                self.serve_reached();
                continue;
            }
            ties_reached = ties;
            let Some(event) = event else { return };
            self.queue.pop();
            self.events += 1;
            let Message { first, last, .. } = match low >> 62 {
                WOKEN => {
                    due.push(Due::Woken(number));
                    continue;
                }
                _ => self.messages[number as usize],
            };
            if ties.is_some() {
                self.lanes.taken(&mut self.queue, first.index(), event);
                self.reached.push(number);
            } else {
                self.lanes.taken(&mut self.queue, last.index(), event);
                due.push(Due::Delivered(number));
            }
        }
    }

    #[allow(clippy::cast_possible_truncation)] // the upper 64 of 128 bits
    fn time_of(event: u128) -> Time {
        Time::from_picoseconds((event >> 64) as u64)
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
        let topology = self.topology;
        let mut path = std::mem::take(&mut self.path);
        topology.route(source, destination, &mut path)?;
        self.hops += path.len() as u64;
        let (first, last) = (path[0], path[path.len() - 1]);
        let mut latency = Time::ZERO;
        let mut spans: Option<Spans> = None;
        for &link in &path {
            let span = topology.bandwidth(link).checked_serialization(bytes)?;
            self.budget.delay(span)?;
            self.budget.delay(topology.latency(link))?;
            self.budget.bytes(bytes)?;
            self.link_bytes[link.index()] += bytes.get();
            self.link_busy[link.index()] += span.picoseconds();
            let (first, slowest) = spans.map_or((span, span), |spans| (spans.first, spans.slowest.max(span)));
            spans = Some(Spans {
                first,
                last: span,
                slowest,
            });
            latency += topology.latency(link);
        }
        let record = Message {
            source,
            destination,
            first,
            last,
            spans: spans.expect("a route between two ranks has links"),
            before: latency - topology.latency(last),
            ties: self.ties(&path),
            is_empty: bytes == Bytes::ZERO,
            tail: Time::ZERO,
            entered: 0,
        };
        self.path = path;
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
            link_bytes: self.link_bytes.clone(),
            link_busy: self.link_busy.clone(),
            packet_hops: self.hops,
            events: self.events,
            ..Traffic::default()
        }
    }
}
