//! The plain solver: every message by itself, and all rates from nothing at every event.

use std::collections::BTreeSet;

use trncomm_core::engine::{Advance, Due, MessageId, Network, Traffic};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::{LinkId, RankId};
use trncomm_core::topology::Topology;
use trncomm_core::units::{Bytes, Time};

#[derive(Debug)]
struct Message {
    id: MessageId,
    enters: u64,
    path: Vec<LinkId>,
    latency: u64,
    bytes: f64,
    left: f64,
    rate: f64,
    /// When it is delivered, once it has drained.
    arrives: Option<u64>,
}

impl Message {
    fn is_fluid(&self, now: u64) -> bool {
        self.arrives.is_none() && self.enters <= now
    }
}

/// Max-min fair sharing in the plainest form; `cap` in bytes a second.
#[derive(Debug)]
pub struct Plain<'t> {
    topology: &'t Topology,
    cap: f64,
    now: u64,
    messages: Vec<Message>,
    wakes: Vec<(u64, u32)>,
}

impl<'t> Plain<'t> {
    pub fn new(topology: &'t Topology, cap: f64) -> Self {
        Self {
            topology,
            cap,
            now: 0,
            messages: Vec::new(),
            wakes: Vec::new(),
        }
    }

    /// The present rates, in the order of posting.
    pub fn rates(&mut self) -> Vec<(MessageId, f64)> {
        self.solve();
        let fluid = self.messages.iter().filter(|message| message.is_fluid(self.now));
        fluid.map(|message| (message.id, message.rate)).collect()
    }

    fn capacity(&self, link: LinkId) -> f64 {
        self.topology.bandwidth(link).bytes_per_second() as f64
    }

    fn solve(&mut self) {
        let mut waiting: BTreeSet<usize> = (0..self.messages.len())
            .filter(|&index| self.messages[index].is_fluid(self.now))
            .collect();
        let fluid = waiting.clone();
        while !waiting.is_empty() {
            let links: BTreeSet<LinkId> = waiting
                .iter()
                .flat_map(|&index| self.messages[index].path.iter().copied())
                .collect();
            let crosses = |index: &usize, link| self.messages[*index].path.contains(&link);
            let level = |link| {
                let given = fluid.difference(&waiting).filter(|index| crosses(index, link));
                let given: f64 = given.map(|&index| self.messages[index].rate).sum();
                let sharers = waiting.iter().filter(|index| crosses(index, link)).count();
                (self.capacity(link) - given) / sharers as f64
            };
            let levels: Vec<(LinkId, f64)> = links.into_iter().map(|link| (link, level(link))).collect();
            let lowest = levels.iter().map(|&(_, level)| level).fold(self.cap, f64::min);
            let full: Vec<LinkId> = levels
                .iter()
                .filter(|(_, level)| *level <= lowest * (1.0 + 1e-12))
                .map(|&(link, _)| link)
                .collect();
            let all = lowest == self.cap;
            let fixed: Vec<usize> = waiting
                .iter()
                .copied()
                .filter(|&index| all || self.messages[index].path.iter().any(|link| full.contains(link)))
                .collect();
            for index in fixed {
                self.messages[index].rate = lowest;
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
        let mut path = Vec::new();
        self.topology.route(source, destination, &mut path)?;
        let latency = path.iter().map(|&link| self.topology.latency(link).picoseconds()).sum();
        let enters = at.picoseconds();
        self.messages.push(Message {
            id: message,
            enters,
            latency,
            bytes: bytes.get() as f64,
            left: bytes.get() as f64,
            rate: 0.0,
            arrives: (bytes == Bytes::ZERO || path.is_empty()).then_some(enters + latency),
            path,
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
            let next = self.messages.iter().map(|message| match message.arrives {
                Some(arrives) => arrives,
                None if message.enters > now => message.enters,
                None => drains(now, message.left, message.bytes, message.rate),
            });
            let Some(next) = next.chain(self.wakes.iter().map(|&(at, _)| at)).min() else {
                return Advance::Idle;
            };
            for message in self.messages.iter_mut().filter(|message| message.is_fluid(now)) {
                if drains(now, message.left, message.bytes, message.rate) <= next {
                    message.arrives = Some(next + message.latency);
                }
                message.left -= message.rate * (next - now) as f64 / 1e12;
            }
            self.now = next;
            let arrived = |message: &Message| message.arrives == Some(next);
            let messages = self.messages.iter().filter(|message| arrived(message));
            due.extend(messages.map(|message| Due::Delivered(message.id)));
            let woken = self.wakes.iter().filter(|(at, _)| *at == next);
            due.extend(woken.map(|&(_, token)| Due::Woken(token)));
            self.messages.retain(|message| !arrived(message));
            self.wakes.retain(|&(at, _)| at != next);
            if !due.is_empty() {
                return Advance::Due(Time::from_picoseconds(next));
            }
        }
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
