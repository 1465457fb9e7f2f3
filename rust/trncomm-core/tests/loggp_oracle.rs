//! The `loggp` model agrees, to the picosecond, with a plain reading of its rules.

mod common;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

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
    /// A message enters the network at its source.
    Entered(MessageId),
    /// The head of a message has come to the last link of its route.
    Reached(MessageId),
    Delivered(MessageId),
    Woken(u32),
}

struct Message {
    route: Vec<LinkId>,
    source: RankId,
    destination: RankId,
    bytes: u64,
    /// When its first byte goes onto the first link.
    start: u64,
    /// Its place among those that entered.
    entered: u64,
}

/// Only the first and the last link of a route are ever busy.
struct PlainPorts<'t> {
    topology: &'t Topology,
    now: u64,
    /// By time, then in the order in which they were made.
    heap: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    made: u64,
    messages: BTreeMap<MessageId, Message>,
    free: Vec<u64>,
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

    /// A message goes onto its first link.
    fn enter(&mut self, id: MessageId) {
        let Message { ref route, bytes, .. } = self.messages[&id];
        let route = route.clone();
        let start = self.occupy(route[0], bytes);
        let made = self.made;
        let message = self.messages.get_mut(&id).expect("posted");
        (message.start, message.entered) = (start, made);
        if route.len() == 1 {
            self.finish(id, start);
        } else {
            let before = self.latency(&route[..route.len() - 1]);
            self.plan(start + before, Happening::Reached(id));
        }
    }

    /// A message goes onto its last link at `last_start`: it ends when its last byte has passed the slowest link, but
    /// not before those sent ahead of it to the same rank.
    fn finish(&mut self, id: MessageId, last_start: u64) {
        let message = &self.messages[&id];
        let (route, bytes) = (&message.route, message.bytes);
        let last = route[route.len() - 1];
        let slowest = route.iter().map(|&link| self.span(link, bytes)).max().expect("links");
        let tail = message.start + self.latency(&route[..route.len() - 1]) + slowest;
        let end = tail.max(last_start + self.span(last, bytes)) + self.latency(&[last]);
        let pair = (message.source, message.destination);
        let end = end.max(self.ends.get(&pair).copied().unwrap_or(0));
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
        let mut route = Vec::new();
        self.topology.route(source, destination, &mut route)?;
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
            start: 0,
            entered: 0,
        };
        self.messages.insert(message, record);
        self.plan(at.picoseconds(), Happening::Entered(message));
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.plan(at.picoseconds(), Happening::Woken(token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        while let Some(&Reverse((now, _, _))) = self.heap.peek() {
            self.now = now;
            let (mut entered, mut reached) = (Vec::new(), Vec::new());
            while let Some(&Reverse((time, _, happening))) = self.heap.peek()
                && time == now
            {
                self.heap.pop();
                match happening {
                    Happening::Entered(id) => entered.push(id),
                    Happening::Reached(id) => reached.push(id),
                    Happening::Delivered(id) => due.push(Due::Delivered(id)),
                    Happening::Woken(token) => due.push(Due::Woken(token)),
                }
            }
            reached.sort_by_key(|&id| (self.places(id), self.messages[&id].entered));
            for id in reached {
                let message = &self.messages[&id];
                let (last, bytes) = (message.route[message.route.len() - 1], message.bytes);
                let start = self.occupy(last, bytes);
                self.finish(id, start);
            }
            // What has just been finished may end at this very instant, and does so before anything starts.
            if self.heap.peek().is_some_and(|&Reverse((time, _, _))| time == now) {
                for id in entered {
                    self.plan(now, Happening::Entered(id));
                }
                continue;
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
}
