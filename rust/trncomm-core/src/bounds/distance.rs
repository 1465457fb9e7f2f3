//! The distance bound on all-to-all: bytes times the links that each crosses at least fit into the links' rates.

use super::demand::Demand;
use super::latency::{Nearest, Way, affordable_searches, chips_are_alike, distances};
use super::partition::Crossing;
use super::{Bound, BoundKind};
use crate::collective::Collective;
use crate::ids::{LinkId, NodeId};
use crate::topology::Topology;

/// One bound by the links of all tiers and one for each tier, where there are several; none for other collectives.
///
/// On a torus the bound of one dimension is the optimum of the linear program. A large topology whose chips differ
/// has none, as it would take a search from every chip.
pub(super) fn distance(topology: &Topology, demand: &Demand, nearest: &Nearest) -> Vec<Bound> {
    if demand.collective() != Collective::AllToAll {
        return Vec::new();
    }
    let count = u8::try_from(topology.tiers().len()).unwrap_or(u8::MAX);
    let each = if count > 1 { 0..count } else { 0..0 };
    each.map(Some)
        .chain([None])
        .filter_map(|tier| bound(topology, demand, nearest, tier))
        .collect()
}

/// The bound by the links of one tier, or of all.
fn bound(topology: &Topology, demand: &Demand, nearest: &Nearest, tier: Option<u8>) -> Option<Bound> {
    let counts = |link: LinkId| tier.is_none_or(|tier| topology.tier(link) == tier);
    let crossed = |to: usize| -> u128 {
        let hops = distances(topology, [NodeId::new(to)], Way::Against, |link| {
            u64::from(counts(link))
        });
        hops[..topology.ranks()].iter().flatten().sum()
    };
    let bytes = if chips_are_alike(topology) {
        demand.size().checked_mul(crossed(0))?
    } else if affordable_searches(topology) >= topology.ranks() {
        (0..topology.ranks()).try_fold(0_u128, |sum, to| {
            sum.checked_add(u128::from(demand.block(to)).checked_mul(crossed(to))?)
        })?
    } else {
        return None;
    };
    let mut links = Crossing::default();
    for link in (0..topology.links()).map(LinkId::new).filter(|&link| counts(link)) {
        links.add(topology, nearest, link);
    }
    let which = tier.map_or("all tiers", |tier| topology.tiers()[usize::from(tier)].as_str());
    let why = format!("{bytes} bytes, each counted for every link of {which} on its shortest way, must cross");
    links.bound(topology, bytes, BoundKind::Distance, &why)
}
