//! The tightest of all cuts, by maximum flows: exact, and affordable on small topologies.
//!
//! Where rank r holds `w_r` bytes that others need, a set S of nodes that some rank v lies outside of takes at least
//! w(S) / B⁺(S), with B⁺ the rate that leaves it. The largest such ratio λ is found by cut iteration (Dinkelbach): with
//! supplies `w_r` and capacities λ · rate, every v can be sent everything exactly if no S beats λ; if one can't, its
//! minimum cut does, and becomes the next λ. All numbers are integers, as λ is a fraction of two.
//!
//! With all ranks as sources this is the optimum of all-gather that trees attain (`ForestColl`, Zhao et al.,
//! arXiv 2402.06787); with one source it is that of broadcast (Edmonds, 1973). Reductions are the same against the links.

use super::demand::Demand;
use super::latency::{Nearest, Way, chips_are_alike};
use super::max_flow::{Capacities, lowest_terms};
use super::partition::Partition;
use super::{Bound, BoundKind};
use crate::collective::Collective;
use crate::topology::Topology;

/// The most nodes of a topology that is searched.
const MOST_NODES: usize = 512;
/// The most nodes and links that all maximum flows of a search see together.
const MOST_WORK: usize = 1 << 20;

/// The bounds that follow from the tightest cuts; none where a topology is too large to search.
pub(super) fn flow_bounds(topology: &Topology, demand: &Demand, nearest: &Nearest) -> Vec<Bound> {
    let ranks = topology.ranks();
    let root = demand.root().index();
    let all: Vec<usize> = (0..ranks).collect();
    let blocks: Vec<u64> = all.iter().map(|&rank| demand.block(rank)).collect();
    let alone = |holder: usize| all.iter().map(|&rank| u64::from(rank == holder)).collect::<Vec<_>>();
    // Where all chips are alike one sink stands for all.
    let sinks = if chips_are_alike(topology) { &all[..1] } else { &all[..] };
    let searches: Vec<(Way, Vec<u64>, &[usize])> = match demand.collective() {
        Collective::AllGather => vec![(Way::Along, blocks, sinks)],
        Collective::ReduceScatter => vec![(Way::Against, blocks, sinks)],
        Collective::Broadcast => vec![(Way::Along, alone(root), &all)],
        Collective::Reduce => vec![(Way::Against, alone(root), &all)],
        Collective::Gather => vec![(Way::Along, blocks, &all[root..=root])],
        Collective::Scatter => vec![(Way::Against, blocks, &all[root..=root])],
        Collective::AllReduce => vec![(Way::Along, alone(0), &all), (Way::Against, alone(0), &all)],
        Collective::AllToAll | Collective::Barrier | Collective::SendRecv | Collective::Custom => Vec::new(),
    };
    let work: usize = searches
        .iter()
        .map(|(_, _, sinks)| sinks.len() * (topology.nodes() + topology.links()))
        .sum();
    if topology.nodes() > MOST_NODES || work > MOST_WORK {
        return Vec::new();
    }
    let mut found: Vec<Bound> = searches
        .into_iter()
        .filter_map(|(way, weights, sinks)| {
            let tightest = Tightest::search(&Capacities::new(topology, way), &weights, sinks)?;
            let labels: Vec<usize> = tightest.set.iter().map(|&inside| usize::from(inside)).collect();
            let cut = Partition::of_labels(topology, &labels, "by the tightest cut".to_owned())?;
            cut.tightest_cut(topology, demand, nearest, BoundKind::MaxFlow)
        })
        .collect();
    if demand.collective() == Collective::AllReduce && !chips_are_alike(topology) {
        found.extend(tiles(topology).and_then(|tiles| tiles.exchange_bound(topology, demand, nearest)));
    }
    found
}

/// The set with the largest ratio of what it holds to what leaves it, in lowest terms.
struct Tightest {
    held: u128,
    leaving: u128,
    set: Vec<bool>,
}

impl Tightest {
    /// The tightest of the sets that don't contain all of `sinks`. Nothing where no such set holds anything, or where the
    /// numbers pass 128 bits.
    fn search(capacities: &Capacities, weights: &[u64], sinks: &[usize]) -> Option<Self> {
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let mut best: Option<Self> = None;
        for &sink in sinks {
            if u128::from(weights[sink]) == total {
                continue;
            }
            loop {
                // A ratio of 0 is beaten by whatever stands against the sink alone.
                let ratio = best.as_ref().map_or((0, 1), |best| (best.held, best.leaving));
                let (value, sink_side) = capacities.flow(&supplies(weights, ratio.1)?, ratio.0, sink)?;
                if value == total.checked_mul(ratio.1)? {
                    break;
                }
                let set: Vec<bool> = sink_side.iter().map(|&inside| !inside).collect();
                let inside = weights.iter().zip(&set).filter(|(_, inside)| **inside);
                let held: u128 = inside.map(|(&weight, _)| u128::from(weight)).sum();
                let (held, leaving) = lowest_terms(held, capacities.leaving(&set));
                best = Some(Self { held, leaving, set });
            }
        }
        best
    }
}

fn supplies(weights: &[u64], factor: u128) -> Option<Vec<u128>> {
    weights
        .iter()
        .map(|&weight| u128::from(weight).checked_mul(factor))
        .collect()
}

/// The parts that all-gather is short of rate into, as far as they don't overlap, and every other rank by itself.
///
/// If they tile the ranks, all-gather after reduce-scatter attains the partition bound.
fn tiles(topology: &Topology) -> Option<Partition> {
    let capacities = Capacities::new(topology, Way::Along);
    let ranks = topology.ranks();
    let weights = vec![1; ranks];
    let sinks: Vec<usize> = (0..ranks).collect();
    let tightest = Tightest::search(&capacities, &weights, &sinks)?;
    let supplies = supplies(&weights, tightest.leaving)?;
    let mut labels: Vec<Option<usize>> = vec![None; topology.nodes()];
    for sink in 0..ranks {
        if labels[sink].is_some() {
            continue;
        }
        let (_, tile) = capacities.flow(&supplies, tightest.held, sink)?;
        let overlaps = tile
            .iter()
            .zip(&labels)
            .any(|(inside, label)| *inside && label.is_some());
        if overlaps || tile[..ranks].iter().all(|inside| *inside) {
            labels[sink] = Some(sink);
        } else {
            let inside = labels.iter_mut().zip(&tile).filter(|(_, inside)| **inside);
            inside.for_each(|(label, _)| *label = Some(sink));
        }
    }
    // A switch in no tile gets a label that no chip has.
    let labels: Vec<usize> = labels
        .iter()
        .enumerate()
        .map(|(node, label)| label.unwrap_or(node))
        .collect();
    Partition::of_labels(topology, &labels, "that the tightest cuts leave".to_owned())
}
