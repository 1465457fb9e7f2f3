//! The `loggp` model agrees, to the picosecond, with a plain reading of its rules.

mod common;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use common::networks::{memory, with_memory};
use common::traffic::{Job, collective_job, traffic_job};
use common::{cases, run_on, serialization};
use proptest::prelude::*;
use trncomm_core::engine::{Advance, Due, LogGp, MessageId, Network, Traffic};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::{LinkId, RankId};
use trncomm_core::topology::Topology;
use trncomm_core::units::{Bytes, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// The head of a message has come to the last link of its route.
    AtLastLink(MessageId),
    /// To the memory of its receiver.
    AtMemory(MessageId),
    /// Through the memory of its sender to the first link of its route.
    AtFirstLink(MessageId),
    Delivered(MessageId),
    Woken(u32),
    /// A message enters the network at its source.
    Entered(MessageId),
}

struct Message {
    route: Vec<LinkId>,
    source: RankId,
    destination: RankId,
    bytes: u64,
    /// When its last byte would come to where its head goes next, were all that follows free.
    tail: u64,
    /// Its place among those that entered, or left their last links.
    turn: u64,
}

/// Only memories and the first and the last link of a route are ever busy.
struct PlainPorts<'t> {
    topology: &'t Topology,
    now: u64,
    /// By time, then in the order in which they were made.
    heap: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    made: u64,
    messages: BTreeMap<MessageId, Message>,
    /// When each link is free, and the memory of each rank.
    free: Vec<u64>,
    free_memory: Vec<u64>,
    /// When the last message between two ranks is delivered.
    ends: BTreeMap<(RankId, RankId), u64>,
    traffic: Traffic,
}

impl<'t> PlainPorts<'t> {
    fn new(topology: &'t Topology) -> Self {
        Self {
            topology,
            now: 0,
            heap: BinaryHeap::new(),
            made: 0,
            messages: BTreeMap::new(),
            free: vec![0; topology.links()],
            free_memory: vec![0; topology.ranks()],
            ends: BTreeMap::new(),
            traffic: Traffic {
                link_bytes: vec![0; topology.links()],
                link_busy: vec![0; topology.links()],
                ..Traffic::default()
            },
        }
    }

    fn plan(&mut self, time: u64, happening: Happening) {
        self.heap.push(Reverse((time, self.made, happening)));
        self.made += 1;
    }

    fn turn(&mut self, id: MessageId) -> &mut Message {
        let message = self.messages.get_mut(&id).expect("posted");
        message.turn = self.made;
        self.made += 1;
        message
    }

    fn span(&self, link: LinkId, bytes: u64) -> u64 {
        serialization(bytes, self.topology.bandwidth(link).bytes_per_second())
    }

    fn latency(&self, links: &[LinkId]) -> u64 {
        let latencies = links.iter().map(|&link| self.topology.latency(link).picoseconds());
        latencies.sum()
    }

    /// Gives a link to a message from now on, or once it is free; returns when that is.
    fn occupy(&mut self, link: LinkId, bytes: u64) -> u64 {
        let start = self.now.max(self.free[link.index()]);
        self.free[link.index()] = start + self.span(link, bytes);
        start
    }

    /// Lets bytes pass a memory from now on, or once it is free; returns when they begin and when they have.
    fn occupy_memory(&mut self, rank: RankId, bytes: u64) -> (u64, u64) {
        let rate = self.topology.endpoint().memory().expect("a rate").bytes_per_second();
        let free = &mut self.free_memory[rank.index()];
        let start = self.now.max(*free);
        *free = start + serialization(bytes, rate);
        (start, *free)
    }

    /// How often a byte touches the memory at the sender and at the receiver; not at all where memories take no time.
    fn touches(&self) -> (u64, u64) {
        let endpoint = self.topology.endpoint();
        let touches = endpoint.touches();
        endpoint
            .memory()
            .map_or((0, 0), |_| (touches.read.into(), touches.write.into()))
    }

    /// A message sets out.
    fn enter(&mut self, id: MessageId) {
        let now = self.now;
        let message = self.turn(id);
        message.tail = now;
        let (source, bytes) = (message.source, message.bytes);
        let (reads, _) = self.touches();
        if reads == 0 {
            self.onto_first_link(id);
        } else {
            let (start, end) = self.occupy_memory(source, reads * bytes);
            self.messages.get_mut(&id).expect("posted").tail = end;
            self.plan(start, Happening::AtFirstLink(id));
        }
    }

    /// A message goes onto its first link; its end comes to the last one when it has passed the slowest link of all.
    fn onto_first_link(&mut self, id: MessageId) {
        let Message { ref route, bytes, .. } = self.messages[&id];
        let route = route.clone();
        let start = self.occupy(route[0], bytes);
        let before = self.latency(&route[..route.len() - 1]);
        let slowest = route.iter().map(|&link| self.span(link, bytes)).max().expect("links");
        let message = self.messages.get_mut(&id).expect("posted");
        message.tail = message.tail.max(start + slowest) + before;
        if route.len() == 1 {
            self.leave_last_link(id, start);
        } else {
            self.plan(start + before, Happening::AtLastLink(id));
        }
    }

    /// A message has its last link from `start` on.
    fn leave_last_link(&mut self, id: MessageId, start: u64) {
        let Message { ref route, bytes, .. } = self.messages[&id];
        let last = route[route.len() - 1];
        let (served, latency) = (start + self.span(last, bytes), self.latency(&[last]));
        let (_, writes) = self.touches();
        let message = self.turn(id);
        message.tail = message.tail.max(served) + latency;
        if writes == 0 {
            self.end(id);
        } else {
            self.plan(start + latency, Happening::AtMemory(id));
        }
    }

    /// A message goes into the memory of its receiver.
    fn enter_memory(&mut self, id: MessageId) {
        let Message { destination, bytes, .. } = self.messages[&id];
        let (_, writes) = self.touches();
        let (_, end) = self.occupy_memory(destination, writes * bytes);
        let message = self.messages.get_mut(&id).expect("posted");
        message.tail = message.tail.max(end);
        self.end(id);
    }

    /// A message ends when its last byte has passed all, but not before those sent ahead of it to the same rank.
    fn end(&mut self, id: MessageId) {
        let message = &self.messages[&id];
        let pair = (message.source, message.destination);
        let end = message.tail.max(self.ends.get(&pair).copied().unwrap_or(0));
        self.ends.insert(pair, end);
        self.plan(end, Happening::Delivered(id));
    }

    /// The places of a message's links at each node from the last one back. A message that started at a node comes
    /// after those that passed it.
    fn places(&self, id: MessageId) -> Vec<u32> {
        let pairs = self.messages[&id].route.windows(2).rev();
        pairs
            .map(|pair| self.topology.tie(pair[0], pair[1]))
            .chain([u32::MAX])
            .collect()
    }

    /// The port by which a message comes to its receiver.
    fn port(&self, id: MessageId) -> u32 {
        let route = &self.messages[&id].route;
        self.topology.input_port(route[route.len() - 1])
    }

    /// The route of the policy.
    fn route(&self, source: RankId, destination: RankId) -> Result<Vec<LinkId>, SimulationError> {
        let mut route = Vec::new();
        self.topology.route(source, destination, &mut route)?;
        Ok(route)
    }
}

impl Network for PlainPorts<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let route = self.route(source, destination)?;
        let bytes = bytes.get();
        for &link in &route {
            self.traffic.link_bytes[link.index()] += bytes;
            self.traffic.link_busy[link.index()] += self.span(link, bytes);
            self.traffic.packet_hops += 1;
        }
        let record = Message {
            route,
            source,
            destination,
            bytes,
            tail: 0,
            turn: 0,
        };
        self.messages.insert(message, record);
        if at.picoseconds() == self.now {
            self.enter(message);
        } else {
            self.plan(at.picoseconds(), Happening::Entered(message));
        }
        Ok(())
    }

    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        let (_, end) = self.occupy_memory(rank, bytes.get());
        self.plan(end, Happening::Woken(token));
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.plan(at.picoseconds(), Happening::Woken(token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        while let Some(&Reverse((now, _, _))) = self.heap.peek() {
            self.now = now;
            let (mut at_last, mut at_memory, mut at_first) = (Vec::new(), Vec::new(), Vec::new());
            let mut entered = Vec::new();
            // A station of one kind serves all that have come at this instant, and what that brings to others comes
            // before what reaches later kinds.
            loop {
                while let Some(&Reverse((time, _, happening))) = self.heap.peek()
                    && time == now
                {
                    self.heap.pop();
                    match happening {
                        Happening::Entered(id) => entered.push(id),
                        Happening::AtLastLink(id) => at_last.push(id),
                        Happening::AtMemory(id) => at_memory.push(id),
                        Happening::AtFirstLink(id) => at_first.push(id),
                        Happening::Delivered(id) => due.push(Due::Delivered(id)),
                        Happening::Woken(token) => due.push(Due::Woken(token)),
                    }
                }
                if !at_last.is_empty() {
                    at_last.sort_by_key(|&id| (self.places(id), self.messages[&id].turn));
                    for id in at_last.drain(..) {
                        let message = &self.messages[&id];
                        let (last, bytes) = (message.route[message.route.len() - 1], message.bytes);
                        let start = self.occupy(last, bytes);
                        self.leave_last_link(id, start);
                    }
                } else if !at_memory.is_empty() {
                    at_memory.sort_by_key(|&id| (self.port(id), self.messages[&id].turn));
                    for id in at_memory.drain(..) {
                        self.enter_memory(id);
                    }
                } else if !at_first.is_empty() {
                    at_first.sort_by_key(|&id| self.messages[&id].turn);
                    for id in at_first.drain(..) {
                        self.onto_first_link(id);
                    }
                } else {
                    break;
                }
            }
            for id in entered {
                self.enter(id);
            }
            if !due.is_empty() {
                return Advance::Due(Time::from_picoseconds(now));
            }
        }
        Advance::Idle
    }

    fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }
}

fn check(job: &Job) -> Result<(), TestCaseError> {
    let Job {
        topology,
        schedule,
        size,
        element,
    } = job;
    let expected = run_on(topology, schedule, *size, *element, PlainPorts::new(topology));
    let got = run_on(topology, schedule, *size, *element, LogGp::new(topology));
    prop_assert_eq!(got, expected);
    Ok(())
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn collectives_take_the_times_of_the_plain_rules(job in collective_job()) {
        check(&job)?;
    }

    #[test]
    fn traffic_of_any_kind_takes_the_times_of_the_plain_rules(job in traffic_job()) {
        check(&job)?;
    }

    #[test]
    fn memories_take_the_times_of_the_plain_rules(
        job in prop_oneof![collective_job(), traffic_job()],
        memory in memory(),
    ) {
        let topology = with_memory(job.topology.clone(), memory);
        check(&Job { topology, ..job })?;
    }
}
