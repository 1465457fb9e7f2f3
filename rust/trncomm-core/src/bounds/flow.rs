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
/// The most nodes and links that a search may see, counting a link once a flow and a node once for each of its sources.
const MOST_WORK: usize = 1 << 24;

/// A search for the tightest cut that comes from some of `weights` and that some of `sinks` lies beyond.
struct Search<'s> {
    way: Way,
    weights: Vec<u64>,
    sinks: &'s [usize],
}

impl Search<'_> {
    fn is_affordable(&self, topology: &Topology) -> bool {
        let sources = self.weights.iter().filter(|weight| **weight > 0).count();
        let nodes = topology.nodes();
        nodes <= MOST_NODES && self.sinks.len() * (topology.links() + (1 + sources) * nodes) <= MOST_WORK
    }
}

/// The bounds that follow from the tightest cuts; none where a topology is too large to search.
pub(super) fn flow_bounds(topology: &Topology, demand: &Demand, nearest: &Nearest) -> Vec<Bound> {
    let ranks = topology.ranks();
    let root = demand.root().index();
    let all: Vec<usize> = (0..ranks).collect();
    let to_root = &all[root..=root];
    // Where all chips are alike one sink stands for all.
    let each = if chips_are_alike(topology) { &all[..1] } else { &all[..] };
    let blocks = || all.iter().map(|&rank| demand.block(rank)).collect::<Vec<_>>();
    let alone = |holder: usize| all.iter().map(|&rank| u64::from(rank == holder)).collect::<Vec<_>>();
    let search = |way, weights, sinks| Search { way, weights, sinks };
    let searches = match demand.collective() {
        Collective::AllGather => vec![search(Way::Along, blocks(), each)],
        Collective::ReduceScatter => vec![search(Way::Against, blocks(), each)],
        Collective::Broadcast => vec![search(Way::Along, alone(root), &all)],
        Collective::Reduce => vec![search(Way::Against, alone(root), &all)],
        Collective::Gather => vec![search(Way::Along, blocks(), to_root)],
        Collective::Scatter => vec![search(Way::Against, blocks(), to_root)],
        Collective::AllReduce => vec![search(Way::Along, alone(0), &all), search(Way::Against, alone(0), &all)],
        Collective::AllToAll | Collective::Barrier | Collective::SendRecv | Collective::Custom => Vec::new(),
    };
    let affordable = searches.into_iter().filter(|search| search.is_affordable(topology));
    let mut found: Vec<Bound> = affordable
        .filter_map(|search| {
            let tightest = Tightest::find(&Capacities::new(topology, search.way), &search.weights, search.sinks)?;
            let labels: Vec<usize> = tightest.set.iter().map(|&inside| usize::from(inside)).collect();
            let cut = Partition::of_labels(topology, &labels, "on one side of the tightest cut".to_owned())?;
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
    fn find(capacities: &Capacities, weights: &[u64], sinks: &[usize]) -> Option<Self> {
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
    let ranks = topology.ranks();
    let sinks: Vec<usize> = (0..ranks).collect();
    let search = Search {
        way: Way::Along,
        weights: vec![1; ranks],
        sinks: &sinks,
    };
    if !search.is_affordable(topology) {
        return None;
    }
    let capacities = Capacities::new(topology, search.way);
    let tightest = Tightest::find(&capacities, &search.weights, search.sinks)?;
    let supplies = supplies(&search.weights, tightest.leaving)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::LinkInput;

    /// A strongly connected graph of `ranks` chips and two switches with links of a few small rates.
    fn graph(ranks: usize, seed: u64) -> Topology {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let nodes = ranks as u64 + 2;
        let circle: Vec<(u64, u64)> = (0..nodes).map(|node| (node, (node + 1) % nodes)).collect();
        let chords: Vec<(u64, u64)> = (0..2 * nodes).map(|_| (random(nodes), random(nodes))).collect();
        let links: Vec<LinkInput> = circle
            .into_iter()
            .chain(chords)
            .filter(|(from, to)| from != to)
            .map(|(source, destination)| LinkInput {
                source,
                destination,
                bandwidth: 1 + random(9),
                latency: 0,
                tier: "link".to_owned(),
            })
            .collect();
        Topology::from_links(ranks, 2, &links).expect("a circle joins all")
    }

    /// The largest ratio over all sets of nodes that leave out some sink, by trying them all.
    fn by_force(capacities: &Capacities, nodes: usize, weights: &[u64], sinks: &[usize]) -> (u128, u128) {
        let mut best = (0, 1);
        for set in 1..(1_usize << nodes) - 1 {
            let inside: Vec<bool> = (0..nodes).map(|node| set >> node & 1 == 1).collect();
            let held: u64 = weights
                .iter()
                .zip(&inside)
                .filter(|(_, inside)| **inside)
                .map(|(weight, _)| weight)
                .sum();
            let leaving = capacities.leaving(&inside);
            if sinks.iter().any(|&sink| !inside[sink]) && u128::from(held) * best.1 > best.0 * leaving {
                best = (held.into(), leaving);
            }
        }
        lowest_terms(best.0, best.1)
    }

    #[test]
    fn cut_iteration_finds_the_tightest_of_all_cuts() {
        for seed in 0..60 {
            let ranks = 3 + usize::try_from(seed % 5).expect("small");
            let topology = graph(ranks, seed);
            let all: Vec<usize> = (0..ranks).collect();
            let alone: Vec<u64> = all.iter().map(|&rank| u64::from(rank == 1)).collect();
            let uneven: Vec<u64> = all.iter().map(|&rank| 1000 + 7 * (rank as u64 % 2)).collect();
            for way in [Way::Along, Way::Against] {
                let capacities = Capacities::new(&topology, way);
                for (weights, sinks) in [(&alone, &all[..]), (&uneven, &all[..]), (&uneven, &all[..1])] {
                    let tightest = Tightest::find(&capacities, weights, sinks).expect("a sink without all");
                    let expected = by_force(&capacities, topology.nodes(), weights, sinks);
                    assert_eq!((tightest.held, tightest.leaving), expected, "seed {seed}");
                }
            }
        }
    }
}
