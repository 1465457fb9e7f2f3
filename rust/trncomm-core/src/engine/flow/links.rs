//! The links and memories: who uses each, and what it has carried.

use super::paths::Use;
use super::service::rate_of;
use crate::engine::network::Traffic;
use crate::engine::recurrence::{Counters, Shape};
use crate::engine::resources::Resources;
use crate::units::Time;

/// One directed link, or a memory.
#[derive(Debug)]
pub(super) struct Link {
    /// In bytes a second.
    pub(super) bandwidth: u64,
    /// The same, times the weight of what serves every byte once.
    pub(super) capacity: f64,
    /// The classes that cross it, and those of them that ended since the rates were last solved.
    pub(super) users: Vec<u32>,
    /// The weights of the messages that cross it, times their priorities, summed.
    pub(super) weight: u64,
    /// Whether its users or their weight changed since the rates were last solved.
    dirty: bool,
    /// Whether some of its users ended since then.
    stale: bool,
    /// The solve that last reached it.
    pub(super) reached: u32,
    /// During filling: what isn't given away yet, and the weights, times priorities, of the messages that wait for a share of it.
    pub(super) left: f64,
    pub(super) waiting: u64,
    /// The weight of the messages that got their share in the present round.
    pub(super) served: u64,
    /// During filling: whether it is one of the links that the present round fills.
    pub(super) full: bool,
    busy_since: Time,
    busy: u64,
    /// Bytes times weight.
    carried: u128,
}

/// All links, and which of them changed.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) all: Vec<Link>,
    pub(super) dirty: Vec<u32>,
    /// The weight of what serves every byte once.
    pub(super) whole: u32,
}

impl Links {
    pub(super) fn new(resources: &Resources<'_>, whole: u32) -> Self {
        let link = |bandwidth: u64| Link {
            bandwidth,
            capacity: rate_of(bandwidth) * f64::from(whole),
            users: Vec::new(),
            weight: 0,
            dirty: false,
            stale: false,
            reached: 0,
            left: 0.0,
            waiting: 0,
            served: 0,
            full: false,
            busy_since: Time::ZERO,
            busy: 0,
            carried: 0,
        };
        Self {
            all: (0..resources.count())
                .map(|resource| link(resources.bandwidth(resource).bytes_per_second()))
                .collect(),
            dirty: Vec::new(),
            whole,
        }
    }

    /// A class begins to cross the links of `path`, which list it from now on where they don't yet; says whether no other
    /// class crosses any of them.
    pub(super) fn enter(&mut self, path: &[Use], priority: u32, class: u32, is_new: bool, now: Time) -> bool {
        let mut alone = true;
        for &Use { resource, weight } in path {
            let link = &mut self.all[resource as usize];
            if link.weight == 0 {
                link.busy_since = now;
            }
            link.weight += u64::from(weight) * u64::from(priority);
            if is_new {
                link.users.push(class);
            }
            alone &= link.users.len() == 1;
        }
        alone
    }

    /// Counts the bytes of a message that begins to cross the links of `path`; says whether no other class does.
    pub(super) fn carry(&mut self, path: &[Use], bytes: u64) -> bool {
        let mut alone = true;
        for &Use { resource, weight } in path {
            let link = &mut self.all[resource as usize];
            link.carried += u128::from(bytes) * u128::from(weight);
            alone &= link.users.len() == 1;
        }
        alone
    }

    /// The rates of all that cross links of `path` are to be solved anew.
    pub(super) fn mark_dirty(&mut self, path: &[Use]) {
        for hop in path {
            let link = &mut self.all[hop.index()];
            if !link.dirty {
                link.dirty = true;
                self.dirty.push(hop.resource);
            }
        }
    }

    /// A class has ended that crossed the links of `path`. Says whether no other class crosses any of them; then it is
    /// listed no more.
    pub(super) fn leave(&mut self, path: &[Use], priority: u32, now: Time) -> bool {
        let mut alone = true;
        for hop in path {
            let link = &mut self.all[hop.index()];
            link.weight -= u64::from(hop.weight) * u64::from(priority);
            if link.weight == 0 {
                link.busy += (now - link.busy_since).picoseconds();
            }
            alone &= link.users.len() == 1;
        }
        for hop in path {
            let link = &mut self.all[hop.index()];
            if alone {
                link.users.clear();
            } else {
                link.stale = true;
            }
        }
        alone
    }

    /// Whether no two classes cross any of the links of `path`.
    pub(super) fn is_lone(&self, path: &[Use]) -> bool {
        path.iter().all(|hop| self.all[hop.index()].users.len() == 1)
    }

    /// The slowest link of `path`, as its bandwidth and the weight of a message.
    pub(super) fn slowest(&self, path: &[Use]) -> (u64, u64) {
        let shares = path.iter().map(|hop| (self.all[hop.index()].bandwidth, hop.weight));
        let (bandwidth, weight) = shares.reduce(slower).expect("a path has links");
        (bandwidth, weight.into())
    }

    /// Marks the links of `path` as solved.
    pub(super) fn mark_solved(&mut self, path: &[Use], solve: u32) {
        for hop in path {
            let link = &mut self.all[hop.index()];
            link.reached = solve;
            link.dirty = false;
        }
    }

    /// Writes all that steers.
    pub(super) fn describe(&self, shape: &mut Shape) {
        for (index, link) in self.all.iter().enumerate() {
            if link.weight > 0 || !link.users.is_empty() {
                shape.index(index);
                shape.word(link.weight);
                shape.index(link.users.len());
                shape.word(u8::from(link.stale) << 1 | u8::from(link.dirty));
            }
        }
        // Every link that is dirty and unused by now is among these, too.
        let mut dirty = self.dirty.clone();
        dirty.sort_unstable();
        shape.index(dirty.len());
        shape.words(dirty);
    }

    /// Walks over all that links count; a link that is busy counts the time up to now.
    pub(super) fn count(&mut self, now: Time, counters: &mut Counters) {
        for link in &mut self.all {
            if link.weight > 0 {
                link.busy += (now - link.busy_since).picoseconds();
                link.busy_since = now;
            }
            counters.wide(&mut link.carried);
            counters.count(&mut link.busy);
        }
    }

    /// The present instant is later by so much.
    pub(super) fn put_off(&mut self, by: Time) {
        self.all.iter_mut().for_each(|link| link.busy_since += by);
    }

    /// What the first `links` of all, the links proper, have carried.
    pub(super) fn traffic(&self, links: usize, now: Time) -> Traffic {
        let busy = |link: &Link| match link.weight {
            0 => link.busy,
            _ => link.busy + (now - link.busy_since).picoseconds(),
        };
        let bytes = |link: &Link| u64::try_from(link.carried / u128::from(self.whole)).unwrap_or(u64::MAX);
        Traffic {
            link_bytes: self.all[..links].iter().map(bytes).collect(),
            link_busy: self.all[..links].iter().map(busy).collect(),
            ..Traffic::default()
        }
    }
}

/// The lower of two bandwidths over weights; the lower bandwidth of two that are the same.
fn slower(a: (u64, u32), b: (u64, u32)) -> (u64, u32) {
    if a.1 == b.1 {
        return a.min(b);
    }
    let (left, right) = (u128::from(a.0) * u128::from(b.1), u128::from(b.0) * u128::from(a.1));
    match left.cmp(&right) {
        std::cmp::Ordering::Less => a,
        std::cmp::Ordering::Equal => a.min(b),
        std::cmp::Ordering::Greater => b,
    }
}

impl Link {
    /// Forgets the classes that ended, by `ended`.
    pub(super) fn refresh(&mut self, ended: impl Fn(u32) -> bool) {
        self.dirty = false;
        if !std::mem::take(&mut self.stale) {
            return;
        }
        if self.weight == 0 {
            self.users.clear();
        } else {
            self.users.retain(|&class| !ended(class));
        }
    }
}
