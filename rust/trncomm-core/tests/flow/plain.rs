//! The plain solver: every message by itself, and all rates from nothing at every event. Messages from one rank to
//! another stand in line.

use std::collections::{BTreeMap, BTreeSet};

use trncomm_core::engine::{Advance, Due, MessageId, Network, Traffic};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{Policy, Topology};
use trncomm_core::units::{Bytes, Time};

/// A link, or the memory of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Resource {
    Link(LinkId),
    Memory(RankId),
}

#[derive(Debug)]
struct Message {
    id: MessageId,
    /// Whether its bytes pass a memory and go nowhere; its number is a token then.
    is_touch: bool,
    ends: (RankId, RankId),
    enters: u64,
    /// How much of each byte each resource serves.
    path: BTreeMap<Resource, f64>,
    latency: u64,
    priority: f64,
    bytes: f64,
    left: f64,
    rate: f64,
    /// When it is delivered, once it has drained.
    arrives: Option<u64>,
}

impl Message {
    fn is_inside(&self, now: u64) -> bool {
        self.arrives.is_none() && self.enters <= now
    }
}

/// Max-min fair sharing in the plainest form; `cap` in bytes a second.
#[derive(Debug)]
pub struct Plain<'t> {
    topology: &'t Topology,
    cap: f64,
    by_round_trip: bool,
    now: u64,
    messages: Vec<Message>,
    wakes: Vec<(u64, u32)>,
}

impl<'t> Plain<'t> {
    pub fn new(topology: &'t Topology, cap: f64, by_round_trip: bool) -> Self {
        Self {
            topology,
            cap,
            by_round_trip,
            now: 0,
            messages: Vec::new(),
            wakes: Vec::new(),
        }
    }

    /// The present rates, in the order of posting.
    pub fn rates(&mut self) -> Vec<(MessageId, f64)> {
        self.solve();
        let fluid = self.served().into_iter().map(|index| &self.messages[index]);
        fluid.map(|message| (message.id, message.rate)).collect()
    }

    /// The first message of each line, by their places in the order of posting.
    fn served(&self) -> Vec<usize> {
        let inside = |index: &usize| self.messages[*index].is_inside(self.now);
        let mut first: BTreeMap<(RankId, RankId), (u64, usize)> = BTreeMap::new();
        for index in (0..self.messages.len()).filter(inside) {
            let message = &self.messages[index];
            let place = (message.enters, index);
            let known = first.entry(message.ends).or_insert(place);
            *known = place.min(*known);
        }
        let mut served: Vec<usize> = first.into_values().map(|(_, index)| index).collect();
        served.sort_unstable();
        served
    }

    /// Lets empty messages go whose turn has come.
    fn pass_empty(&mut self) {
        while let Some(index) = self
            .served()
            .into_iter()
            .find(|&index| self.messages[index].bytes == 0.0)
        {
            let message = &mut self.messages[index];
            message.arrives = Some(self.now + message.latency);
        }
    }

    /// The weight of a message over a route of so much latency; whole parts of 720,720 of that over the quickest link.
    fn priority(&self, latency: u64) -> f64 {
        let latencies = self.topology.latencies().iter().map(|latency| latency.picoseconds());
        let quickest = latencies.filter(|&latency| latency > 0).min().unwrap_or(0);
        if !self.by_round_trip {
            1.0
        } else if latency <= quickest {
            720_720.0
        } else {
            (720_720.0 * quickest as f64 / latency as f64).round().max(1.0)
        }
    }

    fn capacity(&self, resource: Resource) -> f64 {
        let rate = match resource {
            Resource::Link(link) => self.topology.bandwidth(link),
            Resource::Memory(_) => self.topology.endpoint().memory().expect("a rate"),
        };
        rate.bytes_per_second() as f64
    }

    /// The links from one rank to another, with the part of each byte that crosses each, and the latency of the longest
    /// way. Where packets are sprayed, what comes to a node is split evenly over its links, and by their rates where they
    /// take the shortest queues, in whole parts of 720,720.
    fn links(&self, from: RankId, to: RankId) -> Result<(BTreeMap<Resource, f64>, u64), SimulationError> {
        let latency = |link| self.topology.latency(link).picoseconds();
        let mut fixed = Vec::new();
        self.topology.route(from, to, &mut fixed)?;
        if !matches!(self.topology.fabric().policy(), Policy::Spray | Policy::Adaptive) {
            let sum = fixed.iter().map(|&link| latency(link)).sum();
            return Ok((fixed.into_iter().map(|link| (Resource::Link(link), 1.0)).collect(), sum));
        }
        let mut path = BTreeMap::new();
        let mut layer = BTreeMap::from([(NodeId::from(from.get()), (720_720_u32, 0))]);
        let mut links = Vec::new();
        while layer.keys().any(|node| node.get() != to.get()) {
            let mut next: BTreeMap<NodeId, (u32, u64)> = BTreeMap::new();
            for (node, (parts, so_far)) in layer {
                self.topology.next_links(node, to, &mut links);
                let rate = |link| match self.topology.fabric().policy() {
                    Policy::Adaptive => u128::from(self.topology.bandwidth(link).bytes_per_second()),
                    _ => 1,
                };
                let sum: u128 = links.iter().map(|&link| rate(link)).sum();
                let whole: Vec<u32> = links
                    .iter()
                    .map(|&link| (u128::from(parts) * rate(link) / sum) as u32)
                    .collect();
                let over = (parts - whole.iter().sum::<u32>()) as usize;
                for (number, (&link, &whole)) in links.iter().zip(&whole).enumerate() {
                    let mine = whole + u32::from(number < over);
                    path.insert(Resource::Link(link), f64::from(mine) / 720_720.0);
                    let there = next.entry(self.topology.destination(link)).or_default();
                    there.0 += mine;
                    there.1 = there.1.max(so_far + latency(link));
                }
            }
            layer = next;
        }
        let longest = layer.into_values().map(|(_, latency)| latency).max().unwrap_or(0);
        Ok((path, longest))
    }

    fn solve(&mut self) {
        self.pass_empty();
        let mut waiting: BTreeSet<usize> = self.served().into_iter().collect();
        let fluid = waiting.clone();
        while !waiting.is_empty() {
            let resources: BTreeSet<Resource> = waiting
                .iter()
                .flat_map(|&index| self.messages[index].path.keys().copied())
                .collect();
            let weight = |index: usize, resource| self.messages[index].path.get(&resource).copied().unwrap_or(0.0);
            let level = |resource| {
                let given = fluid.difference(&waiting);
                let given: f64 = given
                    .map(|&index| self.messages[index].rate * weight(index, resource))
                    .sum();
                let shares = |&index: &usize| weight(index, resource) * self.messages[index].priority;
                (self.capacity(resource) - given) / waiting.iter().map(shares).sum::<f64>()
            };
            let levels: Vec<(Resource, f64)> = resources.into_iter().map(|each| (each, level(each))).collect();
            let lowest = levels.iter().map(|&(_, level)| level).fold(f64::INFINITY, f64::min);
            let caps = waiting.iter().map(|&index| self.cap / self.messages[index].priority);
            let lowest = caps.fold(lowest, f64::min);
            let most = lowest * (1.0 + 1e-12);
            let full: Vec<Resource> = levels
                .iter()
                .filter(|(_, level)| *level <= most)
                .map(|&(resource, _)| resource)
                .collect();
            let is_fixed = |message: &Message| {
                self.cap / message.priority <= most || message.path.keys().any(|each| full.contains(each))
            };
            let fixed: Vec<usize> = waiting
                .iter()
                .copied()
                .filter(|&index| is_fixed(&self.messages[index]))
                .collect();
            for index in fixed {
                self.messages[index].rate = lowest * self.messages[index].priority;
                waiting.remove(&index);
            }
        }
    }
}

/// When `left` of `bytes` has drained: the first picosecond by which no more than 10⁻¹² of `bytes` is left.
fn drains(now: u64, left: f64, bytes: f64, rate: f64) -> u64 {
    now + (((left - bytes * 1e-12) / rate * 1e12).ceil() as u64).max(1)
}

impl Network for Plain<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let (mut path, latency) = self.links(source, destination)?;
        let is_nowhere = path.is_empty();
        let endpoint = self.topology.endpoint();
        if endpoint.memory().is_some() && !is_nowhere {
            let touches = endpoint.touches();
            for (rank, touches) in [(source, touches.read), (destination, touches.write)] {
                if touches > 0 {
                    path.insert(Resource::Memory(rank), f64::from(touches));
                }
            }
        }
        let enters = at.picoseconds();
        self.messages.push(Message {
            id: message,
            is_touch: false,
            ends: (source, destination),
            enters,
            latency,
            priority: self.priority(latency),
            bytes: bytes.get() as f64,
            left: bytes.get() as f64,
            rate: 0.0,
            arrives: is_nowhere.then_some(enters),
            path,
        });
        Ok(())
    }

    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        self.messages.push(Message {
            id: token,
            is_touch: true,
            ends: (rank, rank),
            enters: self.now,
            latency: 0,
            priority: self.priority(0),
            bytes: bytes.get() as f64,
            left: bytes.get() as f64,
            rate: 0.0,
            arrives: (bytes == Bytes::ZERO).then_some(self.now),
            path: BTreeMap::from([(Resource::Memory(rank), 1.0)]),
        });
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.wakes.push((at.picoseconds(), token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        loop {
            self.solve();
            let now = self.now;
            let served = self.served();
            let drain = |message: &Message| drains(now, message.left, message.bytes, message.rate);
            let known = self.messages.iter().filter_map(|message| match message.arrives {
                Some(arrives) => Some(arrives),
                None => (message.enters > now).then_some(message.enters),
            });
            let next = known.chain(served.iter().map(|&index| drain(&self.messages[index])));
            let Some(next) = next.chain(self.wakes.iter().map(|&(at, _)| at)).min() else {
                return Advance::Idle;
            };
            for index in served {
                let message = &mut self.messages[index];
                if drain(message) <= next {
                    message.arrives = Some(next + message.latency);
                }
                message.left -= message.rate * (next - now) as f64 / 1e12;
            }
            self.now = next;
            let arrived = |message: &Message| message.arrives == Some(next);
            let messages = self.messages.iter().filter(|message| arrived(message));
            due.extend(messages.map(|message| {
                if message.is_touch {
                    Due::Woken(message.id)
                } else {
                    Due::Delivered(message.id)
                }
            }));
            let woken = self.wakes.iter().filter(|(at, _)| *at == next);
            due.extend(woken.map(|&(_, token)| Due::Woken(token)));
            self.messages.retain(|message| !arrived(message));
            self.wakes.retain(|&(at, _)| at != next);
            if !due.is_empty() {
                return Advance::Due(Time::from_picoseconds(next));
            }
        }
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
