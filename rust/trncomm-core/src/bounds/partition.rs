//! Bounds from partitions: what must leave or enter each part, and what all parts together must exchange.

use petgraph::unionfind::UnionFind;

use super::demand::{Demand, Group};
use super::latency::Nearest;
use super::{Bound, BoundKind, clamp, serialization};
use crate::collective::Collective;
use crate::ids::{LinkId, NodeId};
use crate::topology::{Family, Topology};

/// Up to so many tiers, every set of tiers is cut.
const MOST_TIERS_FOR_ALL_SETS: usize = 6;

/// Up to so many links, counted once for each set, every set of tiers is cut.
const MOST_LOOKS_FOR_ALL_SETS: usize = 1 << 24;

/// Every chip in one part; a switch in one or in none.
pub(super) struct Partition {
    part_of: Vec<Option<u32>>,
    parts: usize,
    what: String,
}

/// A set of links that bytes have to cross.
#[derive(Clone, Copy, Default)]
pub(super) struct Crossing {
    links: u64,
    rate: u128,
    /// The least latency between chips by way of one of the links.
    latency: Option<u128>,
}

impl Crossing {
    pub(super) fn add(&mut self, topology: &Topology, nearest: &Nearest, link: LinkId) {
        // A link that is down or lies on no path between chips carries nothing.
        if topology.is_up(link)
            && let Some(latency) = nearest.through(topology, link)
        {
            self.links += 1;
            self.rate += u128::from(topology.bandwidth(link).bytes_per_second());
            self.latency = Some(self.latency.map_or(latency, |least| least.min(latency)));
        }
    }

    fn join(&mut self, other: &Self) {
        self.links += other.links;
        self.rate += other.rate;
        self.latency = self.latency.into_iter().chain(other.latency).min();
    }

    /// The bound of the module's doc where `bytes` must cross; nothing where none must.
    pub(super) fn bound(&self, topology: &Topology, bytes: u128, kind: BoundKind, why: &str) -> Option<Bound> {
        let time = self.time(topology, bytes)?;
        let (rate, latency) = (self.rate, self.latency?);
        let launch = topology.endpoint().launch().picoseconds();
        let completion = topology.endpoint().completion().picoseconds();
        Some(Bound {
            time: clamp(time),
            kind,
            explanation: format!(
                "{why} over {} links of {rate} bytes/s together: launch + latency + bytes / rate + completion = \
                 {launch} + {latency} + {} + {completion} ps",
                self.links,
                serialization(bytes, rate),
            ),
        })
    }

    fn time(&self, topology: &Topology, bytes: u128) -> Option<u128> {
        if bytes == 0 {
            return None;
        }
        let endpoint = topology.endpoint();
        let overhead = u128::from(endpoint.launch().picoseconds()) + u128::from(endpoint.completion().picoseconds());
        Some(serialization(bytes, self.rate).saturating_add(overhead + self.latency?))
    }
}

/// A part, and the links that leave and enter it.
#[derive(Clone, Default)]
struct Part {
    first: usize,
    group: Group,
    leaving: Crossing,
    entering: Crossing,
}

impl Partition {
    /// The partitions that a topology suggests: ranks that hang together without some of its tiers, down to single ranks,
    /// and the halves of a grid.
    pub(super) fn natural(topology: &Topology) -> Vec<Self> {
        let mut partitions: Vec<Self> = tier_sets(topology)
            .into_iter()
            .map(|tiers| Self::without(topology, &tiers))
            .collect();
        let is_grid = matches!(topology.family(), Family::Ring | Family::Mesh | Family::Torus);
        if is_grid && topology.ranks_per_chip() == 1 {
            // Up to extent 3 a half is a slab, which the dimension's tier gave already.
            let long = topology.shape().iter().enumerate().filter(|(_, extent)| **extent > 3);
            partitions.extend(long.map(|(dimension, _)| Self::halves(topology, dimension)));
        }
        partitions.retain(|partition| partition.parts > 1);
        partitions
    }

    /// The parts that hang together by links of other tiers than these.
    fn without(topology: &Topology, tiers: &[u8]) -> Self {
        let mut together: UnionFind<usize> = UnionFind::new(topology.nodes());
        for link in (0..topology.links()).map(LinkId::new) {
            if !tiers.contains(&topology.tier(link)) {
                together.union(topology.source(link).index(), topology.destination(link).index());
            }
        }
        let parts = together.into_labeling();
        let labels: Vec<&str> = tiers
            .iter()
            .map(|&tier| topology.tiers()[usize::from(tier)].as_str())
            .collect();
        Self::by_label(
            topology,
            &parts,
            format!("that hang together without the links of {}", labels.join(", ")),
        )
    }

    /// Puts nodes of one label together; labels that no chip has make no part.
    fn by_label(topology: &Topology, labels: &[usize], what: String) -> Self {
        let mut part_of_label: Vec<Option<u32>> = vec![None; topology.nodes()];
        let mut parts = 0;
        for &label in &labels[..topology.ranks()] {
            part_of_label[label].get_or_insert_with(|| {
                parts += 1;
                parts - 1
            });
        }
        Self {
            part_of: labels.iter().map(|&label| part_of_label[label]).collect(),
            parts: parts as usize,
            what,
        }
    }

    /// A grid cut across one dimension.
    fn halves(topology: &Topology, dimension: usize) -> Self {
        let shape = topology.shape();
        let stride: usize = shape[dimension + 1..].iter().product();
        let extent = shape[dimension];
        let labels: Vec<usize> = (0..topology.ranks())
            .map(|rank| usize::from(rank / stride % extent >= extent.div_ceil(2)))
            .collect();
        Self::by_label(topology, &labels, format!("in one half of dimension {dimension}"))
    }

    /// Whether every part is one chip without a switch, so that what crosses are a chip's own links.
    fn singles(&self, topology: &Topology) -> bool {
        self.parts == topology.ranks() && self.part_of[topology.ranks()..].iter().all(Option::is_none)
    }

    fn part(&self, node: NodeId) -> Option<usize> {
        self.part_of[node.index()].map(|part| part as usize)
    }

    fn summarize(&self, topology: &Topology, demand: &Demand, nearest: &Nearest) -> Vec<Part> {
        let mut parts = vec![Part::default(); self.parts];
        for rank in (0..topology.ranks()).rev() {
            let part = self.part(NodeId::new(rank)).expect("every chip is in a part");
            let successor = NodeId::new((rank + 1) % topology.ranks());
            parts[part].first = rank;
            demand.add(&mut parts[part].group, rank, self.part(successor) != Some(part));
        }
        for index in 0..topology.links() {
            let link = LinkId::new(index);
            let (from, to) = (self.part(topology.source(link)), self.part(topology.destination(link)));
            if from != to {
                if let Some(part) = from {
                    parts[part].leaving.add(topology, nearest, link);
                }
                if let Some(part) = to {
                    parts[part].entering.add(topology, nearest, link);
                }
            }
        }
        parts
    }

    /// Chips of one label together, with the switches of that label; nothing where there is only one label.
    pub(super) fn of_labels(topology: &Topology, labels: &[usize], what: String) -> Option<Self> {
        Some(Self::by_label(topology, labels, what)).filter(|partition| partition.parts > 1)
    }

    /// The tightest bounds by what leaves a part, by what enters one, and by what all exchange.
    pub(super) fn bounds(&self, topology: &Topology, demand: &Demand, nearest: &Nearest) -> Vec<Bound> {
        let parts = self.summarize(topology, demand, nearest);
        let (out, into) = if self.singles(topology) {
            (BoundKind::Injection, BoundKind::Ejection)
        } else {
            (BoundKind::Cut, BoundKind::Cut)
        };
        let found = [
            self.leaving(topology, demand, &parts, out),
            self.entering(topology, demand, &parts, into),
            self.exchange(topology, demand, &parts),
        ];
        found.into_iter().flatten().collect()
    }

    /// The tighter of the bounds by what leaves a part and by what enters one, as a bound of this kind.
    pub(super) fn tightest_cut(
        &self,
        topology: &Topology,
        demand: &Demand,
        nearest: &Nearest,
        kind: BoundKind,
    ) -> Option<Bound> {
        let parts = self.summarize(topology, demand, nearest);
        let leaving = self.leaving(topology, demand, &parts, kind);
        let entering = self.entering(topology, demand, &parts, kind);
        entering.into_iter().chain(leaving).max_by_key(|bound| bound.time)
    }

    fn leaving(&self, topology: &Topology, demand: &Demand, parts: &[Part], kind: BoundKind) -> Option<Bound> {
        let (part, links, bytes) = tightest(topology, parts, |part| {
            (&part.leaving, demand.across(&part.group, &demand.rest(&part.group)))
        })?;
        let why = format!("{bytes} bytes must leave {}", self.describe(part));
        links.bound(topology, bytes, kind, &why)
    }

    fn entering(&self, topology: &Topology, demand: &Demand, parts: &[Part], kind: BoundKind) -> Option<Bound> {
        let (part, links, bytes) = tightest(topology, parts, |part| {
            (&part.entering, demand.across(&demand.rest(&part.group), &part.group))
        })?;
        let why = format!("{bytes} bytes must enter {}", self.describe(part));
        links.bound(topology, bytes, kind, &why)
    }

    /// The bound by what all parts exchange.
    pub(super) fn exchange_bound(&self, topology: &Topology, demand: &Demand, nearest: &Nearest) -> Option<Bound> {
        self.exchange(topology, demand, &self.summarize(topology, demand, nearest))
    }

    /// 2(p − 1) buffers through the links of all p parts: for each element p − 1 messages at least until one part has
    /// the result, and p − 1 more until all have. Each of them leaves one part and enters another.
    fn exchange(&self, topology: &Topology, demand: &Demand, parts: &[Part]) -> Option<Bound> {
        if demand.collective() != Collective::AllReduce {
            return None;
        }
        let kind = if self.singles(topology) {
            BoundKind::Ports
        } else {
            BoundKind::Partition
        };
        let bytes = 2 * (self.parts as u128 - 1) * demand.size();
        let (mut leaving, mut entering) = (Crossing::default(), Crossing::default());
        for part in parts {
            leaving.join(&part.leaving);
            entering.join(&part.entering);
        }
        let scarcer = if leaving.rate <= entering.rate {
            leaving
        } else {
            entering
        };
        let (parts, size) = (self.parts, demand.size());
        let who = if self.singles(topology) {
            format!("{parts} ranks")
        } else {
            format!("{parts} groups of ranks {}", self.what)
        };
        let why = format!("{who} must exchange 2 · ({parts} − 1) · {size} = {bytes} bytes");
        scarcer.bound(topology, bytes, kind, &why)
    }

    fn describe(&self, part: &Part) -> String {
        match part.group.ranks {
            1 => format!("rank {}", part.first),
            ranks => format!("{ranks} ranks, the first of them {}, {}", part.first, self.what),
        }
    }
}

/// The part with the longest time, the first of several; with the links and the bytes that it follows from.
fn tightest<'a>(
    topology: &Topology,
    parts: &'a [Part],
    crossing: impl Fn(&'a Part) -> (&'a Crossing, u128),
) -> Option<(&'a Part, &'a Crossing, u128)> {
    let mut best: Option<(u128, (&Part, &Crossing, u128))> = None;
    for part in parts {
        let (links, bytes) = crossing(part);
        if let Some(time) = links.time(topology, bytes)
            && best.is_none_or(|(longest, _)| time > longest)
        {
            best = Some((time, (part, links, bytes)));
        }
    }
    best.map(|(_, found)| found)
}

/// Which sets of tiers to take away: all sets of a few tiers, else each, all but each, and all. Of many links, where a look
/// at each takes long, each tier and, as shapes list tiers from the inside out, all from each on.
fn tier_sets(topology: &Topology) -> Vec<Vec<u8>> {
    let mut used = topology.link_tiers().to_vec();
    used.sort_unstable();
    used.dedup();
    let is_large = topology.links().saturating_mul(1 << used.len().min(32)) > MOST_LOOKS_FOR_ALL_SETS;
    if is_large {
        let each = used.iter().map(|&tier| vec![tier]);
        let outer = (0..used.len().saturating_sub(1)).map(|first| used[first..].to_vec());
        return each.chain(outer).collect();
    }
    if used.len() <= MOST_TIERS_FOR_ALL_SETS {
        return (1..1_usize << used.len())
            .map(|set| {
                let chosen = used.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
                chosen.map(|(_, &tier)| tier).collect()
            })
            .collect();
    }
    let each = used.iter().map(|&tier| vec![tier]);
    let all_but = used
        .iter()
        .map(|&left| used.iter().copied().filter(|&tier| tier != left).collect());
    each.chain(all_but).chain([used.clone()]).collect()
}
