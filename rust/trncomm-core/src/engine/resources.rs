//! What a message occupies on its way: links, and the memories at both ends.
//!
//! Resources are numbered: the links of the topology first, then, where the endpoint has a memory rate, the memory of
//! each rank. Memories come before the first and after the last link of every route. Under a fold they are those of the
//! representatives.

use crate::error::{SimulationError, TopologyError, UnitError};
use crate::ids::{LinkId, NodeId, RankId};
use crate::quotient::Fold;
use crate::random::split_mix;
use crate::topology::{Policy, Topology, Touches};
use crate::units::{Bandwidth, Bytes, Time};

/// A resource on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    /// Its number.
    pub resource: u32,
    /// How often each byte counts.
    pub touches: u32,
}

/// The links and memories of a topology.
#[derive(Debug)]
pub(super) struct Resources<'t> {
    topology: &'t Topology,
    fold: Option<&'t Fold>,
    memory: Option<(Bandwidth, Touches)>,
    path: Vec<LinkId>,
}

impl<'t> Resources<'t> {
    pub(super) fn new(topology: &'t Topology) -> Self {
        Self::folded(topology, None)
    }

    /// Those of the representatives, if there is a fold.
    pub(super) fn folded(topology: &'t Topology, fold: Option<&'t Fold>) -> Self {
        let endpoint = topology.endpoint();
        let memory = endpoint.memory().map(|rate| (rate, endpoint.touches()));
        Self {
            topology,
            fold,
            memory,
            path: Vec::new(),
        }
    }

    pub(super) fn topology(&self) -> &'t Topology {
        self.topology
    }

    /// How many are links.
    pub(super) fn link_count(&self) -> usize {
        self.fold.map_or(self.topology.links(), Fold::links)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        let ranks = self.fold.map_or(self.topology.ranks(), Fold::ranks);
        self.link_count() + self.memory.map_or(0, |_| ranks)
    }

    /// The link of that number; none for a memory.
    pub(super) fn link(&self, resource: usize) -> Option<LinkId> {
        (resource < self.link_count()).then(|| {
            self.fold
                .map_or_else(|| LinkId::new(resource), |fold| fold.link(resource))
        })
    }

    /// The number of a link, and how many copies of a message cross it at once.
    pub(super) fn number(&self, link: LinkId) -> Result<(u32, u32), SimulationError> {
        let Some(fold) = self.fold else {
            return Ok((link.get(), 1));
        };
        let number = fold.link_index(link).ok_or(SimulationError::Unfoldable)?;
        Ok((index(number), fold.multiplicity(number)))
    }

    /// The most copies of a message that cross a link at once.
    pub(super) fn most_copies(&self) -> u32 {
        let copies = |fold: &Fold| (0..fold.links()).map(|link| fold.multiplicity(link)).max();
        self.fold.and_then(copies).unwrap_or(1)
    }

    /// The memory of a rank, if memories take time.
    pub(super) fn memory_of(&self, rank: RankId) -> Option<usize> {
        let place = self.fold.map_or(rank.index(), |fold| fold.index(rank));
        self.memory.map(|_| self.link_count() + place)
    }

    /// The memory of a rank, and how long `bytes` take to pass it once; memories take time.
    pub(super) fn pass_memory(&self, rank: RankId, bytes: Bytes) -> Result<(usize, Time), UnitError> {
        let memory = self.memory_of(rank).expect("asked only where memories take time");
        Ok((memory, self.bandwidth(memory).checked_serialization(bytes)?))
    }

    /// The links of the route that was asked for last, as the topology numbers them.
    pub(super) fn path(&self) -> &[LinkId] {
        &self.path
    }

    pub(super) fn bandwidth(&self, resource: usize) -> Bandwidth {
        match (self.link(resource), self.memory) {
            (Some(link), _) => self.topology.bandwidth(link),
            (None, Some((rate, _))) => rate,
            (None, None) => unreachable!("only links are numbered where memories take no time"),
        }
    }

    pub(super) fn latency(&self, resource: usize) -> Time {
        self.link(resource)
            .map_or(Time::ZERO, |link| self.topology.latency(link))
    }

    /// Puts what a message from one rank to another occupies into `route`, in order.
    pub(super) fn route(&mut self, from: RankId, to: RankId, route: &mut Vec<Hop>) -> Result<(), SimulationError> {
        self.find_links(from, to)?;
        let [read, write] = self.ends(from, to);
        route.clear();
        route.extend(read);
        for &link in &self.path {
            let (resource, touches) = self.number(link)?;
            route.push(Hop { resource, touches });
        }
        route.extend(write);
        Ok(())
    }

    /// The links of the route from one rank to another, in order.
    pub(super) fn links(&mut self, from: RankId, to: RankId) -> Result<&[LinkId], TopologyError> {
        self.find_links(from, to)?;
        Ok(&self.path)
    }

    fn find_links(&mut self, from: RankId, to: RankId) -> Result<(), TopologyError> {
        match self.topology.fabric().policy() {
            Policy::FlowHash { seed } => self.hashed_path(from, to, seed),
            Policy::Fixed | Policy::Spray | Policy::Adaptive => self.topology.route(from, to, &mut self.path),
        }
    }

    /// Puts the links that a hash of both ends picks into `path`.
    fn hashed_path(&mut self, from: RankId, to: RankId, seed: u64) -> Result<(), TopologyError> {
        // Refuses ranks that aren't there.
        self.topology.route(from, to, &mut self.path)?;
        self.path.clear();
        let hash = split_mix(split_mix(split_mix(seed) ^ u64::from(from.get())) ^ u64::from(to.get()));
        let mut at = NodeId::from(from.get());
        let mut links = Vec::new();
        while at.get() != to.get() {
            self.topology.next_links(at, to, &mut links);
            // Each node looks at the hash anew, so that two choices in a row don't go hand in hand.
            let number = split_mix(hash ^ u64::from(index(self.path.len()))) % links.len() as u64;
            let link = links[usize::try_from(number).expect("below the number of links")];
            self.path.push(link);
            at = self.topology.destination(link);
        }
        Ok(())
    }

    /// The memory of the sender, or of the receiver, as a part of a route.
    pub(super) fn ends(&self, from: RankId, to: RankId) -> [Option<Hop>; 2] {
        [
            self.memory_hop(from, |touches| touches.read),
            self.memory_hop(to, |touches| touches.write),
        ]
    }

    /// The memory of a rank as a part of a route; none where memories take no time or bytes don't touch them.
    pub(super) fn memory_hop(&self, rank: RankId, touches: impl Fn(Touches) -> u32) -> Option<Hop> {
        let (_, weights) = self.memory?;
        let resource = u32::try_from(self.memory_of(rank)?).expect("links and ranks stay below 2^26");
        let touches = touches(weights);
        (touches > 0).then_some(Hop { resource, touches })
    }

    /// How long `bytes` occupy a hop.
    pub(super) fn span(&self, hop: Hop, bytes: Bytes) -> Result<Time, UnitError> {
        let bytes = Bytes::new(bytes.get().saturating_mul(hop.touches.into()));
        self.bandwidth(hop.resource as usize).checked_serialization(bytes)
    }
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("a route has fewer than 2^32 links")
}
