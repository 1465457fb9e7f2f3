//! The `loggp` model: only a rank's own ports contend.
//!
//! A message of b bytes occupies the first link of its route, then the last one, for b bytes at that link's rate each,
//! first-come first-served; what lies between costs latency and, where it is slower, its serialisation, but is never
//! busy. The message is cut through: its head is passed on at once. With o = 0, L the sum of the link latencies and G
//! the inverse of the slowest rate, an uncontended message takes L + b·G, as in LogGP (Alexandrov et al., SPAA 1995,
//! with one byte's worth of gap more: b instead of b − 1).
//!
//! Messages that reach a last link at one instant are served by the place of the links that they come in by, relative
//! to that link ([`Topology::tie`]), then in the order of posting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::budget::Budget;
use super::network::{Advance, Due, MessageId, Network, Traffic};
use crate::error::SimulationError;
use crate::ids::{LinkId, RankId};
use crate::topology::Topology;
use crate::units::{Bytes, Time};

/// A network in which only the first and the last link of a route are ever busy.
#[derive(Debug)]
pub struct LogGp<'t> {
    topology: &'t Topology,
    free: Vec<Time>,
    link_bytes: Vec<u64>,
    link_busy: Vec<u64>,
    path: Vec<LinkId>,
    events: BinaryHeap<Reverse<Event>>,
    posted: u64,
    budget: Budget,
    handled: u64,
    hops: u64,
}

/// Ordered by time, then kind, then place at the port, then order of posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: Time,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A message's head is at its last link.
    Head {
        tie: u32,
        order: u64,
        message: MessageId,
        link: LinkId,
        bytes: Bytes,
        slowest_tail: Time,
    },
    Delivered {
        order: u64,
        message: MessageId,
    },
    Woken {
        token: u32,
    },
}

impl<'t> LogGp<'t> {
    /// An idle network.
    pub fn new(topology: &'t Topology) -> Self {
        Self {
            topology,
            free: vec![Time::ZERO; topology.links()],
            link_bytes: vec![0; topology.links()],
            link_busy: vec![0; topology.links()],
            path: Vec::new(),
            events: BinaryHeap::new(),
            posted: 0,
            budget: Budget::default(),
            handled: 0,
            hops: 0,
        }
    }

    fn push(&mut self, time: Time, what: What) {
        self.events.push(Reverse(Event { time, what }));
    }

    /// Occupies `link` for `bytes` from `ready` on, or once it is free; returns the end.
    fn occupy(&mut self, link: LinkId, ready: Time, bytes: Bytes) -> (Time, Time) {
        let start = ready.max(self.free[link.index()]);
        let end = start + self.topology.bandwidth(link).serialization(bytes);
        self.free[link.index()] = end;
        (start, end)
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
        self.posted += 1;
        self.hops += path.len() as u64;
        let mut latency = Time::ZERO;
        let mut slowest = Time::ZERO;
        for &link in &path {
            let time = topology.bandwidth(link).checked_serialization(bytes)?;
            self.budget.delay(time)?;
            self.budget.delay(topology.latency(link))?;
            self.budget.bytes(bytes)?;
            self.link_bytes[link.index()] += bytes.get();
            self.link_busy[link.index()] += time.picoseconds();
            slowest = slowest.max(time);
            latency += topology.latency(link);
        }
        let (first, last) = (path[0], path[path.len() - 1]);
        let (start, end) = self.occupy(first, at, bytes);
        if path.len() == 1 {
            self.push(
                end + latency,
                What::Delivered {
                    order: self.posted,
                    message,
                },
            );
        } else {
            let before = latency - topology.latency(last);
            let tie = topology.tie(path[path.len() - 2], last);
            let slowest_tail = start + slowest + before;
            let head = What::Head {
                tie,
                order: self.posted,
                message,
                link: last,
                bytes,
                slowest_tail,
            };
            self.push(start + before, head);
        }
        self.path = path;
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.push(at, What::Woken { token });
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        const PAUSE_AFTER: u64 = 1 << 18;
        let pause = self.handled + PAUSE_AFTER;
        while let Some(&Reverse(Event { time, .. })) = self.events.peek() {
            while let Some(&Reverse(event)) = self.events.peek()
                && event.time == time
            {
                self.events.pop();
                self.handled += 1;
                match event.what {
                    What::Head {
                        order,
                        message,
                        link,
                        bytes,
                        slowest_tail,
                        ..
                    } => {
                        let (_, end) = self.occupy(link, time, bytes);
                        let end = end.max(slowest_tail) + self.topology.latency(link);
                        self.push(end, What::Delivered { order, message });
                    }
                    What::Delivered { message, .. } => due.push(Due::Delivered(message)),
                    What::Woken { token } => due.push(Due::Woken(token)),
                }
            }
            if !due.is_empty() {
                return Advance::Due(time);
            }
            if self.handled >= pause {
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
            events: self.handled,
        }
    }
}
