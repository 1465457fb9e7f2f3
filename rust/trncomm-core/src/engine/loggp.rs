//! The `loggp` model: only a rank's own ports contend.
//!
//! A message of b bytes occupies the first link of its route, then the last one, for b bytes at that link's rate each,
//! first-come first-served; what lies between costs latency and, where it is slower, its serialisation, but is never
//! busy. The message is cut through: its head is passed on at once. With L the sum of the link latencies and G the
//! inverse of the slowest rate, an uncontended message takes L + b·G, as in `LogGP` (Alexandrov et al., SPAA 1995)
//! with o = 0 and one byte's worth of gap more: b instead of b − 1.
//!
//! Messages that reach a last link at one instant are served by the place of the links that they come in by, relative
//! to that link ([`Topology::tie`]), then by that of the links before, then by the number of the message.

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
    lanes: Lanes,
    free: Vec<Time>,
    messages: Vec<Message>,
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
    first: LinkId,
    last: LinkId,
    /// How long the last link is busy with it.
    span: Time,
    /// When its end reaches the last link, were that free.
    tail: Time,
}

/// What an event is; those of one instant are handled in this order. A key holds the time (64 bits), the kind (2), the
/// place at the last link (18), that at the link before (11), the lane's mark (1), and the message or token (32).
const HEAD: u64 = 0;
const DELIVERED: u64 = 1;
const WOKEN: u64 = 2;

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
            lanes: Lanes::new(topology.links()),
            free: vec![Time::ZERO; topology.links()],
            messages: Vec::new(),
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

    /// The places of a message at the last link of its route and at the one before.
    fn ties(&self, path: &[LinkId]) -> u64 {
        let place = |back: usize| match path.len().checked_sub(back) {
            Some(index) if index > 0 => u64::from(self.topology.tie(path[index - 1], path[index])),
            _ => 0,
        };
        (place(1) << 11) | (place(2) % (1 << 11))
    }

    fn handle(&mut self, event: u128, due: &mut Vec<Due>) {
        #[allow(clippy::cast_possible_truncation)] // takes the fields apart again
        let (time, low, number) = (Time::from_picoseconds((event >> 64) as u64), event as u64, event as u32);
        match low >> 62 {
            HEAD => {
                let Message {
                    first,
                    last,
                    span,
                    tail,
                } = self.messages[number as usize];
                self.lanes.taken(&mut self.queue, first.index(), event);
                let start = self.occupy(last, time, span);
                let end = tail.max(start + span) + self.topology.latency(last);
                self.lanes
                    .push(&mut self.queue, last.index(), key(end, DELIVERED, 0, number));
            }
            DELIVERED => {
                let last = self.messages[number as usize].last;
                self.lanes.taken(&mut self.queue, last.index(), event);
                due.push(Due::Delivered(number));
            }
            _ => due.push(Due::Woken(number)),
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
        let (mut slowest, mut span, mut first_span) = (Time::ZERO, Time::ZERO, None);
        for &link in &path {
            span = topology.bandwidth(link).checked_serialization(bytes)?;
            self.budget.delay(span)?;
            self.budget.delay(topology.latency(link))?;
            self.budget.bytes(bytes)?;
            self.link_bytes[link.index()] += bytes.get();
            self.link_busy[link.index()] += span.picoseconds();
            first_span.get_or_insert(span);
            slowest = slowest.max(span);
            latency += topology.latency(link);
        }
        let first_span = first_span.unwrap_or(span);
        let start = self.occupy(first, at, first_span);
        let before = latency - topology.latency(last);
        let record = Message {
            first,
            last,
            span,
            tail: start + slowest + before,
        };
        let index = message as usize;
        if index >= self.messages.len() {
            self.messages.resize(index + 1, record);
        }
        self.messages[index] = record;
        let event = if path.len() == 1 {
            key(start + span + latency, DELIVERED, 0, message)
        } else {
            key(start + before, HEAD, self.ties(&path), message)
        };
        self.lanes.push(&mut self.queue, first.index(), event);
        self.path = path;
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.queue.push(key(at, WOKEN, 0, token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        const PAUSE_AFTER: u64 = 1 << 20;
        let pause = self.events + PAUSE_AFTER;
        while let Some(first) = self.queue.peek() {
            while let Some(event) = self.queue.peek()
                && event >> 64 == first >> 64
            {
                self.queue.pop();
                self.events += 1;
                self.handle(event, due);
            }
            #[allow(clippy::cast_possible_truncation)] // the upper 64 of 128 bits
            let time = Time::from_picoseconds((first >> 64) as u64);
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
