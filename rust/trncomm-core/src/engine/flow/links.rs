//! The directed links: who uses each, and what it has carried.

use super::service::rate_of;
use crate::engine::network::Traffic;
use crate::ids::LinkId;
use crate::topology::Topology;
use crate::units::Time;

/// One directed link.
#[derive(Debug)]
pub(super) struct Link {
    /// In bytes a second.
    pub(super) bandwidth: u64,
    pub(super) capacity: f64,
    /// The classes that cross it, and those of them that ended since the rates were last solved.
    pub(super) users: Vec<u32>,
    /// How many messages cross it.
    pub(super) flows: u32,
    /// Whether its users or their number changed since the rates were last solved.
    dirty: bool,
    /// Whether some of its users ended since then.
    stale: bool,
    /// The solve that last reached it.
    pub(super) reached: u32,
    /// During filling: what isn't given away yet, and how many messages wait for a share of it.
    pub(super) left: f64,
    pub(super) waiting: u32,
    /// Messages that got their share in the present round.
    pub(super) served: u32,
    /// During filling: whether it is one of the links that the present round fills.
    pub(super) full: bool,
    busy_since: Time,
    busy: u64,
    bytes: u64,
}

/// All links, and which of them changed.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) all: Vec<Link>,
    pub(super) dirty: Vec<u32>,
}

impl Links {
    pub(super) fn new(topology: &Topology) -> Self {
        let link = |bandwidth: u64| Link {
            bandwidth,
            capacity: rate_of(bandwidth),
            users: Vec::new(),
            flows: 0,
            dirty: false,
            stale: false,
            reached: 0,
            left: 0.0,
            waiting: 0,
            served: 0,
            full: false,
            busy_since: Time::ZERO,
            busy: 0,
            bytes: 0,
        };
        Self {
            all: topology
                .bandwidths()
                .iter()
                .map(|bandwidth| link(bandwidth.bytes_per_second()))
                .collect(),
            dirty: Vec::new(),
        }
    }

    /// A message of `bytes` begins to cross the links of `path`.
    pub(super) fn enter(&mut self, path: &[LinkId], bytes: u64, now: Time) {
        for &id in path {
            let link = &mut self.all[id.index()];
            if link.flows == 0 {
                link.busy_since = now;
            }
            link.flows += 1;
            link.bytes += bytes;
            if !link.dirty {
                link.dirty = true;
                self.dirty.push(id.get());
            }
        }
    }

    /// A message has crossed the links of `path`; `ended` if it was the last of its class.
    pub(super) fn leave(&mut self, path: &[LinkId], ended: bool, now: Time) {
        for &id in path {
            let link = &mut self.all[id.index()];
            link.release(now);
            link.stale |= ended;
            if !link.dirty {
                link.dirty = true;
                self.dirty.push(id.get());
            }
        }
    }

    /// As [`Self::leave`] for the last message of a class, where no other class crosses any of the links: then nothing is
    /// left to solve, and this says so.
    pub(super) fn leave_empty(&mut self, path: &[LinkId], now: Time) -> bool {
        if path.iter().any(|hop| self.all[hop.index()].users.len() != 1) {
            return false;
        }
        for hop in path {
            let link = &mut self.all[hop.index()];
            link.release(now);
            link.users.clear();
        }
        true
    }

    /// The bandwidth of the slowest link of `path`, where no other class crosses any of them.
    pub(super) fn lone_bandwidth(&self, path: &[LinkId]) -> Option<u64> {
        let links = path.iter().map(|hop| &self.all[hop.index()]);
        links
            .map(|link| (link.users.len() == 1).then_some(link.bandwidth))
            .try_fold(u64::MAX, |least, bandwidth| {
                bandwidth.map(|bandwidth| least.min(bandwidth))
            })
    }

    /// Marks the links of `path` as solved.
    pub(super) fn mark_solved(&mut self, path: &[LinkId], solve: u32) {
        for hop in path {
            let link = &mut self.all[hop.index()];
            link.reached = solve;
            link.dirty = false;
        }
    }

    pub(super) fn traffic(&self, now: Time) -> Traffic {
        let busy = |link: &Link| match link.flows {
            0 => link.busy,
            _ => link.busy + (now - link.busy_since).picoseconds(),
        };
        Traffic {
            link_bytes: self.all.iter().map(|link| link.bytes).collect(),
            link_busy: self.all.iter().map(busy).collect(),
            ..Traffic::default()
        }
    }
}

impl Link {
    fn release(&mut self, now: Time) {
        self.flows -= 1;
        if self.flows == 0 {
            self.busy += (now - self.busy_since).picoseconds();
        }
    }

    /// Forgets the classes that ended, by `ended`.
    pub(super) fn refresh(&mut self, ended: impl Fn(u32) -> bool) {
        self.dirty = false;
        if !std::mem::take(&mut self.stale) {
            return;
        }
        if self.flows == 0 {
            self.users.clear();
        } else {
            self.users.retain(|&class| !ended(class));
        }
    }
}
