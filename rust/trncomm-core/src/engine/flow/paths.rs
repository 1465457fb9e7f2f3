//! What a message uses, and how much of each: links, all or a part of it, and the memories at both ends.

use crate::engine::resources::{Hop, Resources};
use crate::error::SimulationError;
use crate::ids::{LinkId, NodeId, RankId};
use crate::quotient::Fold;
use crate::topology::{Policy, Topology};
use crate::units::Time;

/// What stands for a whole where messages are spread: the least common multiple of 1 to 16, so that up to 16 equal
/// parts are whole numbers.
pub(super) const PARTS: u32 = 720_720;

/// The error of a route that takes longer than times may be.
pub(super) const TOO_LATE: SimulationError = SimulationError::TooLong {
    what: "delays",
    limit: "2^62 ps (53 days)",
};

/// A resource that a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// Its number.
    pub(super) resource: u32,
    /// How much of each byte of the message it serves, in parts of [`Paths::whole`].
    pub(super) weight: u32,
}

impl Use {
    pub(super) fn index(self) -> usize {
        self.resource as usize
    }
}

/// What a path comes to besides its resources.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The sum of the latencies; where there are several ways, that of the longest.
    pub(super) latency: Time,
    /// How many links each byte crosses.
    pub(super) links: u32,
}

/// Finds what messages use.
#[derive(Debug)]
pub(super) struct Paths<'t> {
    pub(super) resources: Resources<'t>,
    is_folded: bool,
    policy: Policy,
    route: Vec<Hop>,
    links: Vec<LinkId>,
    layer: Vec<Place>,
    next_layer: Vec<Place>,
}

/// A node that some of a message's bytes pass.
#[derive(Clone, Copy, Debug)]
struct Place {
    node: NodeId,
    weight: u32,
    latency: Time,
}

impl<'t> Paths<'t> {
    pub(super) fn new(topology: &'t Topology, fold: Option<&'t Fold>) -> Self {
        Self {
            resources: Resources::folded(topology, fold),
            is_folded: fold.is_some(),
            policy: topology.fabric().policy(),
            route: Vec::new(),
            links: Vec::new(),
            layer: Vec::new(),
            next_layer: Vec::new(),
        }
    }

    /// The weight of a resource that serves every byte once.
    pub(super) fn whole(&self) -> u32 {
        if self.spreads() { PARTS } else { 1 }
    }

    /// Whether representatives stand for others.
    pub(super) fn is_folded(&self) -> bool {
        self.is_folded
    }

    fn spreads(&self) -> bool {
        matches!(self.policy, Policy::Spray | Policy::Adaptive)
    }

    /// The most often that a byte counts anywhere.
    pub(super) fn most_touches(&self) -> u32 {
        let endpoint = self.resources.topology().endpoint();
        let touches = endpoint.memory().map(|_| endpoint.touches());
        touches.map_or(1, |touches| touches.read.max(touches.write).max(1))
    }

    /// An error where weights don't fit.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let touches = self.most_touches();
        match self.whole().checked_mul(touches) {
            Some(_) => Ok(()),
            None => Err(SimulationError::Option {
                option: "touches of memory",
                expected: format!("at most {} where messages are spread", u32::MAX / PARTS),
                value: touches.to_string(),
            }),
        }
    }

    /// Puts what a message from one rank to another uses into `path`; nothing where both are the same.
    pub(super) fn find(&mut self, from: RankId, to: RankId, path: &mut Vec<Use>) -> Result<Extent, SimulationError> {
        path.clear();
        let extent = self.find_all(from, to, path)?;
        if self.is_folded {
            merge(path)?;
        }
        Ok(extent)
    }

    /// The same; what represents several links of the route comes several times.
    fn find_all(&mut self, from: RankId, to: RankId, path: &mut Vec<Use>) -> Result<Extent, SimulationError> {
        let mut extent = Extent {
            latency: Time::ZERO,
            links: 0,
        };
        if from == to {
            // Refuses a rank that isn't there.
            self.resources.topology().route(from, to, &mut self.links)?;
            return Ok(extent);
        }
        self.resources.route(from, to, &mut self.route)?;
        if self.spreads() {
            let touched = |hop: &&Hop| self.resources.link(hop.resource as usize).is_none();
            path.extend(self.route.iter().filter(touched).map(|hop| Use {
                resource: hop.resource,
                weight: hop.touches * PARTS,
            }));
            return self.spread(from, to, path);
        }
        for hop in &self.route {
            if self.resources.link(hop.resource as usize).is_some() {
                extent.links += 1;
            }
            let latency = self.resources.latency(hop.resource as usize);
            extent.latency = extent.latency.checked_add(latency).ok_or(TOO_LATE)?;
            path.push(Use {
                resource: hop.resource,
                weight: hop.touches,
            });
        }
        Ok(extent)
    }

    /// The memory of a rank, for bytes that pass it once; memories take time.
    pub(super) fn memory(&self, rank: RankId) -> Use {
        let hop = self.resources.memory_hop(rank, |_| 1);
        Use {
            resource: hop.expect("asked only where memories take time").resource,
            weight: self.whole(),
        }
    }

    /// Splits a message at every node over the links that are equally good there: evenly where it is sprayed, by their
    /// rates where it takes the shortest queues. What whole parts leave over goes to the first links.
    fn spread(&mut self, from: RankId, to: RankId, path: &mut Vec<Use>) -> Result<Extent, SimulationError> {
        let topology = self.resources.topology();
        let mut links = 0;
        self.layer.clear();
        self.layer.push(Place {
            node: NodeId::from(from.get()),
            weight: PARTS,
            latency: Time::ZERO,
        });
        // INVARIANT: every choice leads one hop closer, so that all ways have one length and no link comes twice.
        while self.layer.iter().any(|place| place.node.get() != to.get()) {
            links += 1;
            self.next_layer.clear();
            for place in &self.layer {
                topology.next_links(place.node, to, &mut self.links);
                let rate = |link: LinkId| match self.policy {
                    Policy::Adaptive => u128::from(topology.bandwidth(link).bytes_per_second()),
                    _ => 1,
                };
                let rates: u128 = self.links.iter().map(|&link| rate(link)).sum();
                let share = |link| {
                    let share = u128::from(place.weight) * rate(link) / rates;
                    u32::try_from(share).expect("a part of a weight")
                };
                let mut over = place.weight - self.links.iter().map(|&link| share(link)).sum::<u32>();
                for &link in &self.links {
                    let weight = share(link) + u32::from(over > 0);
                    over = over.saturating_sub(1);
                    if weight == 0 {
                        continue;
                    }
                    let (resource, copies) = self.resources.number(link)?;
                    let weight_of_copies = weight.checked_mul(copies).ok_or(SimulationError::Unfoldable)?;
                    path.push(Use {
                        resource,
                        weight: weight_of_copies,
                    });
                    let node = topology.destination(link);
                    let latency = place.latency.checked_add(topology.latency(link)).ok_or(TOO_LATE)?;
                    match self.next_layer.iter_mut().find(|next| next.node == node) {
                        Some(next) => {
                            next.weight += weight;
                            next.latency = next.latency.max(latency);
                        }
                        None => self.next_layer.push(Place { node, weight, latency }),
                    }
                }
            }
            std::mem::swap(&mut self.layer, &mut self.next_layer);
        }
        Ok(Extent {
            latency: self.layer.iter().map(|place| place.latency).max().unwrap_or_default(),
            links,
        })
    }
}

/// Adds up what a message uses of the same resource.
fn merge(path: &mut Vec<Use>) -> Result<(), SimulationError> {
    let mut kept = 0;
    for place in 0..path.len() {
        let next = path[place];
        if let Some(known) = path[..kept].iter_mut().find(|known| known.resource == next.resource) {
            let weight = known.weight.checked_add(next.weight);
            known.weight = weight.ok_or(SimulationError::Unfoldable)?;
        } else {
            path[kept] = next;
            kept += 1;
        }
    }
    path.truncate(kept);
    Ok(())
}
