//! The latency bound: the farthest pair of ranks of which one needs something of the other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::demand::Demand;
use super::{Bound, BoundKind, clamp};
use crate::collective::Collective;
use crate::ids::{LinkId, NodeId};
use crate::topology::{Family, Topology};

/// The most links and nodes that all searches of one bound look at together.
const MOST_WORK: usize = 1 << 23;

/// Whether a search follows links or goes against them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Along,
    Against,
}

/// The length of the shortest path from (or, against the links, to) the nearest of `starts`, for every node.
pub(super) fn distances(
    topology: &Topology,
    starts: impl IntoIterator<Item = NodeId>,
    way: Way,
    length: impl Fn(LinkId) -> u64,
) -> Vec<Option<u128>> {
    let mut best: Vec<Option<u128>> = vec![None; topology.nodes()];
    let mut queue = BinaryHeap::new();
    for start in starts {
        best[start.index()] = Some(0);
        queue.push(Reverse((0_u128, start)));
    }
    while let Some(Reverse((distance, node))) = queue.pop() {
        if best[node.index()] != Some(distance) {
            continue;
        }
        let links = match way {
            Way::Along => topology.out_links(node),
            Way::Against => topology.in_links(node),
        };
        for &link in links.iter().filter(|&&link| topology.is_up(link)) {
            let next = match way {
                Way::Along => topology.destination(link),
                Way::Against => topology.source(link),
            };
            let through = distance + u128::from(length(link));
            if best[next.index()].is_none_or(|known| through < known) {
                best[next.index()] = Some(through);
                queue.push(Reverse((through, next)));
            }
        }
    }
    best
}

/// How much latency lies at least between each node and chips.
pub(super) struct Nearest {
    from_chip: Vec<Option<u128>>,
    to_chip: Vec<Option<u128>>,
}

impl Nearest {
    pub(super) fn new(topology: &Topology) -> Self {
        let search = |way| {
            let chips = (0..topology.ranks()).map(NodeId::new);
            distances(topology, chips, way, |link| topology.latency(link).picoseconds())
        };
        Self {
            from_chip: search(Way::Along),
            to_chip: search(Way::Against),
        }
    }

    /// The least latency of a path between chips that crosses a link; nothing where there is none.
    pub(super) fn through(&self, topology: &Topology, link: LinkId) -> Option<u128> {
        let before = self.from_chip[topology.source(link).index()]?;
        let after = self.to_chip[topology.destination(link).index()]?;
        Some(before + u128::from(topology.latency(link).picoseconds()) + after)
    }
}

/// Whether some symmetry of the topology takes any chip to any other. Faults are taken to break it.
///
/// INVARIANT: without faults every link of a named shape has the rate and latency that the shape gives to its tier.
pub(super) fn chips_are_alike(topology: &Topology) -> bool {
    let is_regular = match topology.family() {
        Family::Ring
        | Family::Torus
        | Family::FullyConnected
        | Family::Switch
        | Family::LeafSpine
        | Family::UltraServer
        | Family::UltraCluster => true,
        // A mesh has corners; a list of links may be anything.
        Family::Mesh | Family::Custom => false,
    };
    is_regular && topology.faults().is_empty()
}

/// The number of searches over a topology that fit the time that a bound may take.
pub(super) fn affordable_searches(topology: &Topology) -> usize {
    MOST_WORK / (topology.nodes() + topology.links())
}

/// launch + the most latency by which a rank is away from one that it needs + completion.
///
/// Of a large topology whose chips differ only some ranks are looked at, evenly spaced, which leaves it a bound.
pub(super) fn latency(topology: &Topology, demand: &Demand) -> Option<Bound> {
    let ranks = demand.ranks();
    let root = demand.root().index();
    let last = ranks - 1;
    // The last block is empty only if all are, so that its rank is as good as any where all are alike.
    let alike = chips_are_alike(topology);
    let (way, starts): (Way, Vec<usize>) = match demand.collective() {
        Collective::Broadcast | Collective::Scatter => (Way::Along, vec![root]),
        Collective::Reduce | Collective::Gather => (Way::Against, vec![root]),
        Collective::ReduceScatter | Collective::AllToAll if alike => (Way::Against, vec![last]),
        Collective::AllReduce | Collective::AllGather | Collective::Barrier if alike => (Way::Along, vec![last]),
        Collective::AllReduce
        | Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Barrier
        | Collective::SendRecv => {
            let count = affordable_searches(topology).clamp(1, ranks);
            (Way::Along, (1..=count).map(|k| k * ranks / count - 1).collect())
        }
        Collective::Custom => return None,
    };
    let mut farthest: Option<(u128, Reverse<(usize, usize)>)> = None;
    for start in starts {
        let distances = distances(topology, [NodeId::new(start)], way, |link| {
            topology.latency(link).picoseconds()
        });
        for (other, distance) in distances[..ranks].iter().enumerate() {
            let (from, to) = match way {
                Way::Along => (start, other),
                Way::Against => (other, start),
            };
            if from != to && demand.needs(from, to) {
                let distance = distance.expect("a topology has a path between any two ranks");
                farthest = farthest.max(Some((distance, Reverse((from, to)))));
            }
        }
    }
    let (distance, Reverse((from, to))) = farthest?;
    let launch = topology.endpoint().launch().picoseconds();
    let completion = topology.endpoint().completion().picoseconds();
    Some(Bound {
        time: clamp(u128::from(launch) + distance + u128::from(completion)),
        kind: BoundKind::Latency,
        explanation: format!(
            "rank {to} needs something of rank {from}, {distance} ps of link latency away: \
             launch + latency + completion = {launch} + {distance} + {completion} ps"
        ),
    })
}
