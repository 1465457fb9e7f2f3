//! The flow model: a message is a fluid that shares the links of its route max-min fairly with all others.
//!
//! A message posted at t enters at t, and is served at one rate on all links of its fixed route: the rate at which no
//! message can get more without taking from one that has no more than itself, nor more than its cap. When its last
//! byte has been served (it has *drained*), the message leaves the links; it is delivered after the sum of the
//! latencies of its route. A message without bytes takes the latency alone.
//!
//! **Latency last.** `SimGrid` lets a message wait out the latency first and then share. Where all routes have one
//! latency, both give the same times, all shifted alike. Where they differ, this model agrees better with packets at
//! the near end of the route: a sender's link is taken at the instant of posting, and is free for the next message
//! as soon as the last byte has left it. Further on, packets come one latency a hop later than this model has it; with
//! latency first they would come earlier than `SimGrid` has it by what lies behind them. Neither is exact beyond
//! the first link.
//!
//! **Events.** Starts, drains and deliveries are instants in integer picoseconds. All that changes at an instant is
//! taken together, and rates are solved once, when time is about to move on. A message drains at the
//! first picosecond by which it has been served in full. That is exact, in 128 bits, where the message has had one rate
//! since it was posted and the rate is a link's bandwidth over a whole number, as it is for a message alone and for
//! equal messages; elsewhere a drain may come early by 2⁻⁴⁰ of the time that the whole message takes at its last rate,
//! the room left for the rounding of rates.
//!
//! **Rates** are solved by progressive filling (Bertsekas and Gallager, *Data Networks*, 2nd edition, section 6.5.2),
//! with links in a heap by their level, the share that they would give each message that waits for one. Three things
//! keep it cheap:
//! - Only the connected components (of links and messages) in which something changed are solved; `SimGrid`'s lazy
//!   partial invalidation is of this kind (Casanova et al., J. Parallel Distrib. Comput. 74(10), 2014).
//! - Messages of one route are a class with one rate. Its messages end in the order of what the class must have
//!   been served, counted since it began, as in the virtual time of fair queueing (Demers, Keshav and Shenker,
//!   SIGCOMM 1989), so that a change of rate touches the class and not its messages.
//! - A component needs one event, the first drain among its classes: any drain changes the component, and it is solved
//!   anew. Events of one instant share an entry of the heap.
//!
//! Deliveries at one instant come in the order of posting. Memory is proportional to the messages under way.
//!
//! **Cost.** A change costs as much as the component in which it happens: nothing but its own route for a message alone,
//! and all F messages where all are joined. Equal messages change together. F messages of one component
//! that all end at different instants, such as an all-to-all at once of random sizes, cost F² in all.
//!
//! What it does not do: buffers, headers, packets, several routes for one message.

mod agenda;
mod classes;
mod links;
mod service;
mod solver;

use super::network::{Advance, Due, MessageId, Network, Traffic};
use crate::error::{SimulationError, UnitError};
use crate::ids::{LinkId, RankId};
use crate::topology::Topology;
use crate::units::{Bandwidth, Bytes, PICOSECONDS_PER_SECOND, Time};
use agenda::Agenda;
use classes::{Classes, Member, NONE};
use links::Links;
use service::{rate_of, window_rate};
use solver::{Component, Solver};

/// The latest time of anything; leaves room to add to.
const HORIZON: u64 = 1 << 62;

/// How many links and classes are looked at, or messages moved, before a pause.
const PAUSE_EVERY: u64 = 1 << 20;

/// What limits a message besides the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOptions {
    cap: Option<Bandwidth>,
    window: Option<Bytes>,
}

impl FlowOptions {
    /// With a highest rate of each message.
    #[must_use]
    pub const fn with_cap(self, cap: Bandwidth) -> Self {
        Self { cap: Some(cap), ..self }
    }

    /// With at most `window` bytes of each message under way: a highest rate of `window` over the round trip, twice the
    /// latency of the route, and not below 1 byte a second. An error where the window is zero.
    pub fn with_window(self, window: Bytes) -> Result<Self, SimulationError> {
        if window == Bytes::ZERO {
            return Err(SimulationError::Option {
                option: "window",
                expected: "above 0 bytes".to_owned(),
                value: window.to_string(),
            });
        }
        Ok(Self {
            window: Some(window),
            ..self
        })
    }

    /// The highest rate of a message over a route of `latency`, in bytes a second.
    fn cap_over(self, latency: Time) -> f64 {
        let fixed = self.cap.map(|cap| rate_of(cap.bytes_per_second()));
        let window = self.window.filter(|_| latency > Time::ZERO);
        let by_window = window.map(|window| window_rate(window.get(), latency + latency).max(1.0));
        fixed.unwrap_or(f64::INFINITY).min(by_window.unwrap_or(f64::INFINITY))
    }

    /// A rate that any message over `topology` has when it is alone, in bytes a second.
    fn least_rate(self, topology: &Topology) -> u64 {
        let rates = topology.bandwidths().iter().chain(&self.cap);
        let slowest = rates.map(|rate| rate.bytes_per_second()).min().unwrap_or(u64::MAX);
        let Some(window) = self.window else { return slowest };
        let round_trip = 2 * u128::from(longest_latency(topology));
        let per_trip = u128::from(window.get()) * u128::from(PICOSECONDS_PER_SECOND);
        let by_window = per_trip.checked_div(round_trip).unwrap_or(u128::MAX);
        slowest.min(u64::try_from(by_window).unwrap_or(u64::MAX).max(1))
    }
}

/// What no route's latency passes, in picoseconds: a route passes no node twice.
fn longest_latency(topology: &Topology) -> u64 {
    let latencies = topology.latencies().iter().map(|latency| latency.picoseconds());
    let longest = latencies.max().unwrap_or(0);
    longest.saturating_mul(u64::try_from(topology.nodes()).unwrap_or(u64::MAX))
}

/// A message that enters later.
#[derive(Clone, Copy, Debug)]
struct Start {
    order: u64,
    message: MessageId,
    source: RankId,
    destination: RankId,
    bytes: Bytes,
}

/// The network in which messages share links max-min fairly.
#[derive(Debug)]
pub struct Flow<'t> {
    topology: &'t Topology,
    options: FlowOptions,
    now: Time,
    links: Links,
    classes: Classes,
    solver: Solver,
    starts: Agenda<Start>,
    /// (leader, stamp) of each component, at its first drain.
    drains: Agenda<(u32, u32)>,
    /// (order of posting, message).
    deliveries: Agenda<(u64, MessageId)>,
    wakes: Agenda<u32>,
    posted: u64,
    /// Bytes that haven't drained.
    outstanding: u64,
    /// The lowest rate that a message alone may have, in bytes a second.
    slowest: u64,
    /// No route has a longer latency, in picoseconds.
    longest: u64,
    hops: u64,
    events: u64,
    path: Vec<LinkId>,
    starting: Vec<Start>,
    draining: Vec<(u32, u32)>,
    drained: Vec<Member>,
    delivered: Vec<(u64, MessageId)>,
    woken: Vec<u32>,
}

impl<'t> Flow<'t> {
    /// An empty network over the links of `topology`.
    pub fn new(topology: &'t Topology, options: FlowOptions) -> Self {
        Self {
            topology,
            options,
            now: Time::ZERO,
            links: Links::new(topology),
            classes: Classes::new(),
            solver: Solver::default(),
            starts: Agenda::default(),
            drains: Agenda::default(),
            deliveries: Agenda::default(),
            wakes: Agenda::default(),
            posted: 0,
            outstanding: 0,
            slowest: options.least_rate(topology),
            longest: longest_latency(topology),
            hops: 0,
            events: 0,
            path: Vec::new(),
            starting: Vec::new(),
            draining: Vec::new(),
            drained: Vec::new(),
            delivered: Vec::new(),
            woken: Vec::new(),
        }
    }

    /// The present rate of every message that is being served, in bytes a second, in the order of posting.
    pub fn rates(&mut self) -> Vec<(MessageId, f64)> {
        if !self.links.dirty.is_empty() {
            self.solve();
        }
        let mut rates: Vec<_> = self.classes.members().collect();
        rates.sort_unstable_by_key(|&(order, ..)| order);
        rates.into_iter().map(|(_, message, rate)| (message, rate)).collect()
    }

    /// A message enters now.
    fn start(&mut self, start: &Start) -> Result<(), SimulationError> {
        self.events += 1;
        let class = match self.classes.find(start.source, start.destination) {
            Some(class) => class,
            None => self.add_class(start.source, start.destination)?,
        };
        let hops = self.classes.path(class).len();
        self.hops += hops as u64;
        if hops == 0 || start.bytes == Bytes::ZERO {
            self.outstanding -= start.bytes.get();
            let at = self.now + self.classes.latency(class);
            self.deliveries.push(at, (start.order, start.message));
            return Ok(());
        }
        let bytes = start.bytes.get();
        if self.classes.join(class, start.message, bytes, start.order, self.now) {
            for hop in self.classes.path(class) {
                self.links.all[hop.index()].users.push(class);
            }
        }
        self.links.enter(self.classes.path(class), bytes, self.now);
        Ok(())
    }

    fn add_class(&mut self, source: RankId, destination: RankId) -> Result<u32, SimulationError> {
        self.topology.route(source, destination, &mut self.path)?;
        let latency = self
            .path
            .iter()
            .fold(Time::ZERO, |sum, &link| sum + self.topology.latency(link));
        let cap = self.options.cap_over(latency);
        Ok(self.classes.add(source, destination, &self.path, latency, cap))
    }

    /// Brings rates up to date with all that changed at the present instant.
    fn solve(&mut self) {
        let drains = &mut self.drains;
        self.solver
            .solve(&mut self.links, &mut self.classes, self.now, |component| {
                let Component { leader, stamp, finish } = component;
                drains.push(finish, (leader, stamp));
            });
        // There are no more components than classes with messages; the rest was planned before a change.
        if drains.len() > 2 * self.classes.active + 1024 {
            let classes = &self.classes.all;
            drains.retain(|&(leader, stamp)| classes[leader as usize].stamp == stamp);
        }
    }

    /// Takes what has drained at the present instant off the links.
    fn drain(&mut self) {
        self.drains.take(self.now, &mut self.draining);
        for (leader, stamp) in self.draining.drain(..) {
            if self.classes.all[leader as usize].stamp != stamp {
                continue;
            }
            let mut at = leader;
            while at != NONE {
                let next = self.classes.all[at as usize].next;
                self.classes.take_drained(at, self.now, &mut self.drained);
                if !self.drained.is_empty() {
                    let arrival = self.now + self.classes.latency(at);
                    let path = self.classes.path(at);
                    let ended = self.classes.all[at as usize].count == 0;
                    let gone = ended && self.drained.len() == 1 && self.links.leave_empty(path, self.now);
                    for member in self.drained.drain(..) {
                        self.events += 1;
                        self.outstanding -= member.bytes;
                        if !gone {
                            self.links.leave(path, ended, self.now);
                        }
                        self.deliveries.push(arrival, (member.order, member.message));
                    }
                    if gone {
                        self.classes.free_now(at);
                    } else if ended {
                        self.classes.free_later(at);
                    }
                }
                at = next;
            }
        }
    }

    /// An error where what is under way might not drain within the range of time.
    fn check_horizon(&self, at: Time, bytes: Bytes) -> Result<u64, SimulationError> {
        let total = self.outstanding.checked_add(bytes.get());
        // One link at least works at its full rate, or one message at its cap, while anything is under way.
        let drains = |total: u64| {
            u128::from(total) * u128::from(PICOSECONDS_PER_SECOND) / u128::from(self.slowest)
                + u128::from(at.picoseconds())
                < u128::from(HORIZON)
        };
        total.filter(|&total| drains(total)).ok_or_else(|| {
            let bandwidth = Bandwidth::new(self.slowest).expect("a rate of a link");
            UnitError::TimeOverflow { bytes, bandwidth }.into()
        })
    }
}

impl Flow<'_> {
    /// An error where the latency between two ranks is out of the range of time.
    fn check_latency(&mut self, source: RankId, destination: RankId) -> Result<(), SimulationError> {
        if self.longest < HORIZON {
            return Ok(());
        }
        self.topology.route(source, destination, &mut self.path)?;
        let mut latencies = self.path.iter().map(|&link| self.topology.latency(link));
        let latency = latencies.try_fold(Time::ZERO, Time::checked_add);
        match latency {
            Some(latency) if latency.picoseconds() < HORIZON => Ok(()),
            _ => Err(SimulationError::TooLong {
                what: "delays",
                limit: "2^62 ps (53 days)",
            }),
        }
    }
}

impl Network for Flow<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        for rank in [source, destination] {
            if rank.index() >= self.topology.ranks() {
                self.topology.route(source, destination, &mut self.path)?;
            }
        }
        self.check_latency(source, destination)?;
        self.outstanding = self.check_horizon(at, bytes)?;
        let start = Start {
            order: self.posted,
            message,
            source,
            destination,
            bytes,
        };
        self.posted += 1;
        if at == self.now {
            self.start(&start)
        } else {
            self.starts.push(at, start);
            Ok(())
        }
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.wakes.push(at, token);
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        let pause = self.solver.work + self.events + PAUSE_EVERY;
        loop {
            let planned = [self.starts.next(), self.deliveries.next(), self.wakes.next()];
            let planned = planned.into_iter().flatten().min();
            if planned != Some(self.now) && !self.links.dirty.is_empty() {
                self.solve();
            }
            let Some(next) = planned.into_iter().chain(self.drains.next()).min() else {
                return Advance::Idle;
            };
            self.now = next;
            // What drains goes first: a message that starts finds the links as they are left.
            self.drain();
            let mut starting = std::mem::take(&mut self.starting);
            self.starts.take(next, &mut starting);
            for start in starting.drain(..) {
                self.start(&start)
                    .expect("both ranks were checked when the message was posted");
            }
            self.starting = starting;
            if self.collect(due) {
                return Advance::Due(next);
            }
            if self.solver.work + self.events > pause {
                return Advance::Paused(next);
            }
        }
    }

    /// A short message overtakes a long one that shares its route.
    fn keeps_order(&self) -> bool {
        false
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            packet_hops: self.hops,
            events: self.events,
            ..self.links.traffic(self.now)
        }
    }
}

impl Flow<'_> {
    /// Appends what is due now; says whether anything is.
    fn collect(&mut self, due: &mut Vec<Due>) -> bool {
        self.deliveries.take(self.now, &mut self.delivered);
        self.wakes.take(self.now, &mut self.woken);
        let count = self.delivered.len() + self.woken.len();
        self.events += count as u64;
        self.delivered.sort_by_key(|&(order, _)| order);
        due.extend(self.delivered.drain(..).map(|(_, message)| Due::Delivered(message)));
        due.extend(self.woken.drain(..).map(Due::Woken));
        count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::LinkSpec;

    fn star(ranks: usize, latency: Time) -> Topology {
        let bandwidth = Bandwidth::new(1_000_000_000).expect("above zero");
        Topology::switch(ranks, 1, LinkSpec { bandwidth, latency }).expect("a shape")
    }

    fn post(flow: &mut Flow<'_>, source: u32, destination: u32, bytes: u64) {
        flow.post(flow.now, 0, source.into(), destination.into(), Bytes::new(bytes))
            .expect("ranks of the star");
    }

    /// Runs to the next delivery.
    fn deliver(flow: &mut Flow<'_>) {
        let mut due = Vec::new();
        while due.is_empty() {
            assert_ne!(flow.advance(&mut due), Advance::Idle);
        }
    }

    #[test]
    fn messages_that_were_delivered_leave_no_memory_behind() {
        let topology = star(40, Time::ZERO);
        let mut flow = Flow::new(&topology, FlowOptions::default());
        for source in 0..40 {
            for destination in (0..40).filter(|&destination| destination != source) {
                post(&mut flow, source, destination, 1000);
                deliver(&mut flow);
            }
        }
        assert_eq!(flow.classes.all.len(), 1, "one message is under way at a time");
        assert_eq!(flow.outstanding, 0);
        assert_eq!(flow.deliveries.len() + flow.drains.len() + flow.starts.len(), 0);
    }

    #[test]
    fn drains_that_were_put_off_are_forgotten() {
        let topology = star(3, Time::ZERO);
        let mut flow = Flow::new(&topology, FlowOptions::default());
        post(&mut flow, 0, 2, 1_000_000_000);
        for _ in 0..10_000 {
            // Each puts off the end of the long message.
            post(&mut flow, 1, 2, 100);
            deliver(&mut flow);
        }
        assert!(
            flow.drains.len() <= 2 * 2 + 1024,
            "{} drains are planned",
            flow.drains.len()
        );
    }

    #[test]
    fn long_stretches_without_a_delivery_are_interrupted() {
        // The first message arrives a second after the last has drained; each drain has all the others solved anew.
        let topology = star(1024, Time::from_picoseconds(PICOSECONDS_PER_SECOND));
        let mut flow = Flow::new(&topology, FlowOptions::default());
        for source in 1..1024 {
            post(&mut flow, source, 0, u64::from(source));
        }
        let mut due = Vec::new();
        assert!(matches!(flow.advance(&mut due), Advance::Paused(_)));
        assert!(due.is_empty());
    }
}
