//! The flow model: a message is a fluid that shares the links of its route max-min fairly with all others.
//!
//! Messages from one rank to another are served one after the other, in the order in which they enter, as a chip's DMA
//! engine serves them. The first of such a line is served at one rate on all links of its fixed route: the rate at which
//! no message can get more without taking from one that has no more than itself, nor more than its cap. When its last
//! byte has been served (it has *drained*), the next in line takes its place on the links, at once; it is delivered
//! after the sum of the latencies of its route. A message without bytes takes the latency alone once its turn has come.
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
//! since its turn came and the rate is a link's bandwidth over a whole number, as it is for a message alone and for
//! equal messages; elsewhere a drain may come early by 2⁻⁴⁰ of the time that the whole message takes at its last rate,
//! the room left for the rounding of rates.
//!
//! **Rates** are solved by progressive filling (Bertsekas and Gallager, *Data Networks*, 2nd edition, section 6.5.2),
//! with links in a heap by their level, the share that they would give each message that waits for one. What keeps it
//! cheap:
//! - The unit is the *class*: all messages of a pair of ranks, which take one path. It has one rate, whatever the number
//!   of its messages, and the path, its latency and its rate when alone are found once. A message that follows another
//!   changes no rate.
//! - Links and classes know one another: a link lists the classes that cross it, a class the links of its path. From
//!   what changed, only the connected component of links and classes is walked and solved; `SimGrid`'s lazy partial
//!   invalidation is of this kind (Casanova et al., J. Parallel Distrib. Comput. 74(10), 2014).
//! - A class alone on its path is its own component, and has its rate without any look at others. What is planned for
//!   it stays where its drain is only put off, and is looked at again when it comes up.
//! - A component needs one event, the first drain among its classes: any drain changes the component, and it is solved
//!   anew. Events of one instant share an entry of the heap.
//!
//! Deliveries at one instant come in the order of entering. Memory is proportional to the messages under way.
//!
//! **Memories.** Where the endpoint has a memory rate, the memories at both ends are links without latency, of which a
//! message uses its rate times the touches of a byte. A level is then what is left of a link over the *weights* of those
//! that wait for it: the max-min fair rates are still those of the messages. What a rank reduces or copies is a line of
//! messages that pass its memory alone, once for each touch.
//!
//! **Several ways.** With a fixed policy a message takes the fixed route, with a flow hash the one that the hash picks, as
//! in the packet model. Elsewhere it is split at every node over the links that are equally good there, evenly where packets
//! are sprayed and by the rates of the links where they take the shortest queue, and all parts go on in step: one fluid,
//! of which each link carries a part (a multiple of 1/720,720). It is delivered after the longest way. So the model leaves
//! out that a part on a quick way may run ahead, and that adaptive packets avoid links that others fill.
//!
//! **Weights.** Fairness is by messages, not by bytes or by distance, unless the options ask for
//! [shares by the round trip](FlowOptions::with_round_trip_weights): then a level is what a link gives for each share.
//!
//! **A window** of w bytes caps the rate of a message at w over twice the latency of its route.
//!
//! **Cost.** A change costs as much as the component in which it happens: nothing but its own route for a message alone,
//! and all F classes where all are joined. Equal messages change together. F messages of one component
//! that all end at different instants, such as an all-to-all at once of random sizes, cost F² in all.
//!
//! **Against packets.** Completion times of contended collectives are within 5 % of those of the packet model for messages
//! of 64 packets or more, but for a few cases that docs/models.md shows with figures: latencies that are long against the
//! messages fall elsewhere, and a port there serves its messages to several ranks in order, so that links further on may
//! stand idle, and the first child of a tree goes on before the others have their data.
//!
//! What it does not do: buffers, headers, packets, bit errors.

mod agenda;
mod classes;
mod links;
mod options;
mod pairs;
mod paths;
mod service;
mod solver;

use super::network::{Advance, Due, MessageId, Network, Traffic};
use super::recurrence::{Counters, Shape};
use crate::error::{SimulationError, UnitError};
use crate::ids::RankId;
use crate::quotient::Fold;
use crate::topology::Topology;
use crate::units::{Bandwidth, Bytes, PICOSECONDS_PER_SECOND, Time};
use agenda::Agenda;
use classes::{Classes, Joined, Limits, Member, NONE};
use links::Links;
pub use options::FlowOptions;
use options::{longest_latency, quickest_latency};
use paths::{Extent, Paths, TOO_LATE, Use};
use solver::{Component, Solver, lone_rate};

/// The latest time of anything; leaves room to add to.
const HORIZON: u64 = 1 << 62;

/// How many links and classes are looked at, or messages moved, before a pause.
const PAUSE_EVERY: u64 = 1 << 20;

/// A message that enters later.
#[derive(Clone, Copy, Debug)]
struct Start {
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
    paths: Paths<'t>,
    links: Links,
    classes: Classes,
    solver: Solver,
    starts: Agenda<Start>,
    /// (leader, stamp) of each component, at its first drain, or before for one of a single class.
    drains: Agenda<(u32, u32)>,
    /// (order of entering, message).
    deliveries: Agenda<(u64, MessageId)>,
    wakes: Agenda<u32>,
    entered: u64,
    /// Bytes that haven't drained.
    outstanding: u64,
    /// The lowest rate that a message alone may have, in bytes a second, but for those whose bytes touch a memory more
    /// than once.
    slowest: u64,
    /// No route has a longer latency, in picoseconds.
    longest: u64,
    /// The least latency of a link that takes time.
    quickest: Time,
    hops: u64,
    events: u64,
    path: Vec<Use>,
    starting: Vec<Start>,
    draining: Vec<(u32, u32)>,
    delivered: Vec<(u64, MessageId)>,
    woken: Vec<u32>,
}

impl<'t> Flow<'t> {
    /// An empty network over the links of `topology`.
    pub fn new(topology: &'t Topology, options: FlowOptions) -> Self {
        Self::folded(topology, options, None)
    }

    /// An empty network over the representatives, if there is a fold.
    pub fn folded(topology: &'t Topology, options: FlowOptions, fold: Option<&'t Fold>) -> Self {
        let paths = Paths::new(topology, fold);
        let memory = topology.endpoint().memory();
        let slowest = memory.map_or(u64::MAX, Bandwidth::bytes_per_second);
        Self {
            topology,
            options,
            now: Time::ZERO,
            links: Links::new(&paths.resources, paths.whole()),
            classes: Classes::new(paths.whole()),
            solver: Solver::default(),
            starts: Agenda::default(),
            drains: Agenda::default(),
            deliveries: Agenda::default(),
            wakes: Agenda::default(),
            entered: 0,
            outstanding: 0,
            slowest: (options.least_rate(topology) / u64::from(paths.resources.most_copies()))
                .min(slowest)
                .max(1),
            longest: longest_latency(topology),
            quickest: quickest_latency(topology),
            paths,
            hops: 0,
            events: 0,
            path: Vec::new(),
            starting: Vec::new(),
            draining: Vec::new(),
            delivered: Vec::new(),
            woken: Vec::new(),
        }
    }

    /// The present rate of every message that is being served, in bytes a second, in the order of entering.
    pub fn rates(&mut self) -> Vec<(MessageId, f64)> {
        if !self.links.dirty.is_empty() {
            self.solve();
        }
        let mut rates: Vec<_> = self.classes.served().collect();
        rates.sort_unstable_by_key(|&(order, ..)| order);
        rates.into_iter().map(|(_, message, rate)| (message, rate)).collect()
    }

    /// A message enters now.
    fn start(&mut self, start: &Start) -> Result<(), SimulationError> {
        self.events += 1;
        let member = self.member(start.message, start.bytes);
        if start.source == start.destination {
            self.outstanding -= member.bytes;
            self.deliveries.push(self.now, (member.order, member.message));
            return Ok(());
        }
        let class = match self.classes.find(start.source, start.destination) {
            Some(class) => class,
            None => self.add_class(start.source, start.destination)?,
        };
        let extent = self.classes.extent(class);
        self.hops += u64::from(extent.links);
        if member.bytes == 0 && !self.classes.all[class as usize].is_active {
            let arrival = self.now + extent.latency;
            self.deliveries.push(arrival, (member.order, member.message));
        } else {
            self.join(class, member);
        }
        Ok(())
    }

    /// A message as part of a class, the next in the order of entering.
    fn member(&mut self, message: MessageId, bytes: Bytes) -> Member {
        self.entered += 1;
        Member {
            order: self.entered,
            message,
            bytes: bytes.get(),
        }
    }

    /// Adds a message to a class.
    fn join(&mut self, class: u32, member: Member) {
        let Joined::Starts { is_new } = self.classes.join(class, member, self.now) else {
            return;
        };
        let path = self.classes.path(class);
        let priority = self.classes.all[class as usize].priority;
        let is_alone = self.links.enter(path, priority, class, is_new, self.now);
        self.links.carry(path, member.bytes);
        if is_alone {
            self.plan_lone(class);
        } else {
            self.links.mark_dirty(path);
        }
    }

    fn add_class(&mut self, source: RankId, destination: RankId) -> Result<u32, SimulationError> {
        let extent = self.paths.find(source, destination, &mut self.path)?;
        let cap = self.options.cap_over(extent.latency);
        let lone = lone_rate(&self.path, cap, &self.links);
        let priority = self.options.priority(extent.latency, self.quickest);
        let limits = Limits { lone, cap, priority };
        Ok(self.classes.add((source, destination), &self.path, extent, limits))
    }

    /// Brings the rate of a class up to date that is alone on its path, without looking at others.
    fn plan_lone(&mut self, class: u32) {
        if let Some((finish, stamp)) = self.classes.set_lone_rate(class, self.now) {
            self.drains.push(finish, (class, stamp));
            self.forget_drains();
        }
    }

    /// Drops what was planned before a change, where it has become much.
    fn forget_drains(&mut self) {
        // There are no more components than classes with messages.
        if self.drains.len() > 2 * self.classes.active + 1024 {
            let classes = &self.classes.all;
            self.drains
                .retain(|&(leader, stamp)| classes[leader as usize].stamp == stamp);
        }
    }

    /// Brings rates up to date with all that changed at the present instant.
    fn solve(&mut self) {
        let drains = &mut self.drains;
        self.solver
            .solve(&mut self.links, &mut self.classes, self.now, |component| {
                let Component { leader, stamp, finish } = component;
                drains.push(finish, (leader, stamp));
            });
        self.forget_drains();
    }

    /// Takes what has drained at the present instant off the links.
    fn drain(&mut self) {
        let mut draining = std::mem::take(&mut self.draining);
        self.drains.take(self.now, &mut draining);
        for (leader, stamp) in draining.drain(..) {
            if self.classes.all[leader as usize].stamp != stamp {
                continue;
            }
            if let Some(again) = self.classes.come_up(leader, self.now) {
                self.drains.push(again, (leader, stamp));
                continue;
            }
            let mut at = leader;
            let mut all_go_on = true;
            while at != NONE {
                let next = self.classes.all[at as usize].next;
                if let Some(member) = self.classes.drained(at, self.now) {
                    all_go_on &= self.deliver(at, member);
                }
                at = next;
            }
            if all_go_on {
                // No rate has changed: each message that drained is followed by one over the same links.
                let finish = self.classes.plan_again(leader);
                self.drains.push(finish, (leader, stamp));
            }
        }
        self.draining = draining;
    }

    /// Delivers a message that has drained and lets the next one of its class follow; says whether there is one.
    fn deliver(&mut self, class: u32, drained: Member) -> bool {
        let is_touch = self.classes.is_touch(class);
        let arrival = self.now + self.classes.extent(class).latency;
        let mut member = drained;
        loop {
            self.events += 1;
            self.outstanding -= member.bytes;
            if is_touch {
                self.wakes.push(self.now, member.message);
            } else {
                self.deliveries.push(arrival, (member.order, member.message));
            }
            let Some(next) = self.classes.move_up(class, self.now) else {
                self.leave(class);
                return false;
            };
            if next.bytes > 0 {
                self.links.carry(self.classes.path(class), next.bytes);
                return true;
            }
            member = next;
        }
    }

    /// Takes a class that has ended off its links.
    fn leave(&mut self, class: u32) {
        let path = self.classes.path(class);
        let priority = self.classes.all[class as usize].priority;
        if self.links.leave(path, priority, self.now) {
            self.classes.free_now(class);
        } else {
            self.links.mark_dirty(path);
            self.classes.free_later(class);
        }
    }

    /// An error where what is under way might not drain within the range of time.
    fn check_horizon(&self, at: Time, bytes: Bytes) -> Result<u64, SimulationError> {
        let total = self.outstanding.checked_add(bytes.get());
        // One link at least works at its full rate, or one message at its cap, while anything is under way.
        let touches = u128::from(self.paths.most_touches());
        let drains = |total: u64| {
            (u128::from(total) * touches)
                .checked_mul(u128::from(PICOSECONDS_PER_SECOND))
                .map(|work| work / u128::from(self.slowest) + u128::from(at.picoseconds()))
                .is_some_and(|end| end < u128::from(HORIZON))
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
        let extent = self.paths.find(source, destination, &mut self.path)?;
        if extent.latency.picoseconds() < HORIZON {
            Ok(())
        } else {
            Err(TOO_LATE)
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
        let is_known = source.index().max(destination.index()) < self.topology.ranks();
        if !is_known || (self.paths.is_folded() && self.classes.find(source, destination).is_none()) {
            self.paths.find(source, destination, &mut self.path)?;
        }
        self.paths.check()?;
        self.check_latency(source, destination)?;
        self.outstanding = self.check_horizon(at, bytes)?;
        let start = Start {
            message,
            source,
            destination,
            bytes,
        };
        if at == self.now {
            self.start(&start)
        } else {
            self.starts.push(at, start);
            Ok(())
        }
    }

    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        self.paths.check()?;
        self.outstanding = self.check_horizon(self.now, bytes)?;
        if bytes == Bytes::ZERO {
            self.wakes.push(self.now, token);
            return Ok(());
        }
        let class = self.classes.find(rank, rank).unwrap_or_else(|| {
            let path = [self.paths.memory(rank)];
            let extent = Extent {
                latency: Time::ZERO,
                links: 0,
            };
            let limits = Limits {
                lone: lone_rate(&path, f64::INFINITY, &self.links),
                cap: f64::INFINITY,
                priority: self.options.priority(Time::ZERO, self.quickest),
            };
            self.classes.add((rank, rank), &path, extent, limits)
        });
        let member = self.member(token, bytes);
        self.join(class, member);
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.wakes.push(at, token);
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        let pause = self.solver.work + self.events + PAUSE_EVERY;
        loop {
            let starts = self.starts.next();
            let planned = [starts, self.deliveries.next(), self.wakes.next()];
            let planned = planned.into_iter().flatten().min();
            if planned != Some(self.now) && !self.links.dirty.is_empty() {
                self.solve();
            }
            let drains = self.drains.next();
            let Some(next) = planned.into_iter().chain(drains).min() else {
                return Advance::Idle;
            };
            self.now = next;
            // What drains goes first: a message that starts finds the links as they are left.
            if drains == Some(next) {
                self.drain();
            }
            if starts == Some(next) {
                self.begin();
            }
            if self.collect(due) {
                return Advance::Due(next);
            }
            if self.solver.work + self.events > pause {
                return Advance::Paused(next);
            }
        }
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn recurs(&self) -> bool {
        true
    }

    fn describe(&mut self, shape: &mut Shape) {
        self.classes.describe(self.entered, shape);
        self.links.describe(shape);
        for (at, start) in self.starts.items() {
            shape.moment(at);
            shape.message(start.message);
        }
        for (at, &(leader, stamp)) in self.drains.items() {
            // What was planned before a change doesn't come to pass.
            if self.classes.all[leader as usize].stamp == stamp {
                shape.moment(at);
                self.classes.describe_component(leader, shape);
            }
        }
        for (at, &(order, message)) in self.deliveries.items() {
            shape.moment(at);
            shape.word(self.entered - order);
            shape.message(message);
        }
        for (at, &token) in self.wakes.items() {
            shape.moment(at);
            shape.word(token);
        }
    }

    fn count(&mut self, counters: &mut Counters) {
        self.links.count(self.now, counters);
        counters.count(&mut self.hops);
    }

    fn put_off(&mut self, by: Time) {
        self.now += by;
        self.links.put_off(by);
        self.classes.put_off(by);
        self.starts.put_off(by);
        self.drains.put_off(by);
        self.deliveries.put_off(by);
        self.wakes.put_off(by);
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            packet_hops: self.hops,
            events: self.events,
            ..self.links.traffic(self.paths.resources.link_count(), self.now)
        }
    }
}

impl Flow<'_> {
    /// Lets in what enters now.
    fn begin(&mut self) {
        let mut starting = std::mem::take(&mut self.starting);
        self.starts.take(self.now, &mut starting);
        for start in starting.drain(..) {
            self.start(&start)
                .expect("both ranks were checked when the message was posted");
        }
        self.starting = starting;
    }

    /// Appends what is due now; says whether anything is.
    fn collect(&mut self, due: &mut Vec<Due>) -> bool {
        let before = due.len();
        if self.deliveries.next() == Some(self.now) {
            self.deliveries.take(self.now, &mut self.delivered);
            if self.delivered.len() > 1 {
                self.delivered.sort_by_key(|&(order, _)| order);
            }
            due.extend(self.delivered.drain(..).map(|(_, message)| Due::Delivered(message)));
        }
        if self.wakes.next() == Some(self.now) {
            self.wakes.take(self.now, &mut self.woken);
            due.extend(self.woken.drain(..).map(Due::Woken));
        }
        self.events += (due.len() - before) as u64;
        due.len() > before
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

    /// Runs to the end; returns how many messages were delivered.
    fn run_out(flow: &mut Flow<'_>) -> usize {
        let (mut due, mut delivered) = (Vec::new(), 0);
        while flow.advance(&mut due) != Advance::Idle {
            delivered += due.drain(..).count();
        }
        delivered
    }

    /// What solving once looks at: every class, and every link that one crosses.
    fn looks(classes: u64, links: u64) -> u64 {
        classes + links
    }

    #[test]
    fn a_message_alone_on_its_links_is_never_solved() {
        let topology = star(64, Time::from_picoseconds(500_000));
        let mut flow = Flow::new(&topology, FlowOptions::default());
        for round in 0..20 {
            for rank in 0..64 {
                post(
                    &mut flow,
                    rank,
                    (rank + 1) % 64,
                    1000 + u64::from((rank * 7 + round * 13) % 64),
                );
            }
            run_out(&mut flow);
        }
        assert_eq!(flow.solver.work, 0);
        // A start, a drain and a delivery each.
        assert_eq!(flow.events, 3 * 20 * 64);
    }

    #[test]
    fn equal_messages_that_change_together_are_solved_once() {
        for ranks in [8, 16, 32] {
            let topology = star(ranks, Time::ZERO);
            let mut flow = Flow::new(&topology, FlowOptions::default());
            let ranks = u32::try_from(ranks).expect("few");
            let pairs = (0..ranks).flat_map(|from| (1..ranks).map(move |by| (from, (from + by) % ranks)));
            for (source, destination) in pairs {
                post(&mut flow, source, destination, 1000);
            }
            run_out(&mut flow);
            let ranks = u64::from(ranks);
            // When all have drained, only links are left to look at.
            assert!(flow.solver.work <= looks(ranks * (ranks - 1), 2 * ranks) + 2 * ranks);
        }
    }

    #[test]
    fn a_message_that_follows_another_has_nothing_solved() {
        let topology = star(9, Time::ZERO);
        let work_of = |messages: u64| {
            let mut flow = Flow::new(&topology, FlowOptions::default());
            for _ in 0..messages {
                for source in 1..9 {
                    post(&mut flow, source, 0, 1000 + u64::from(source));
                }
            }
            assert_eq!(run_out(&mut flow) as u64, 8 * messages);
            flow.solver.work
        };
        // Solved when all begin, and each time that a line of messages ends.
        assert!(work_of(1) <= 9 * looks(8, 9));
        assert_eq!(work_of(50), work_of(1));
    }

    #[test]
    fn a_change_looks_at_its_own_component_alone() {
        let topology = star(64, Time::ZERO);
        let mut flow = Flow::new(&topology, FlowOptions::default());
        // 16 incasts of 3, apart from one another.
        for incast in 0..16 {
            for sender in 1..4 {
                post(&mut flow, incast * 4 + sender, incast * 4, 1000);
            }
        }
        let mut due = Vec::new();
        flow.rates();
        let before = flow.solver.work;
        post(&mut flow, 1, 2, 100);
        flow.rates();
        // Its links, those of its sender's other message and of the two that meet that, and what crosses them.
        assert!(
            flow.solver.work - before <= looks(4, 6),
            "{} looks",
            flow.solver.work - before
        );
        while flow.advance(&mut due) != Advance::Idle {}
        assert_eq!(due.len(), 49);
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
