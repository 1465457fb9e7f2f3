//! What a renumbering of the ranks does to the links: the image of each, if it has one.

use crate::ids::{LinkId, NodeId, RankId};
use crate::random::split_mix;
use crate::topology::{Policy, Topology};

use super::group::Group;

/// No link.
pub(super) const NONE: u32 = u32::MAX;

/// Up to so many pairs of ranks, all routes are compared.
const ALL_PAIRS: usize = 1 << 18;

/// How many far ranks each rank's routes are compared to, besides its neighbours along every axis, where there are more.
const FAR: u64 = 2;

/// Routes that show every link: those between all pairs of ranks, or a choice of them.
#[derive(Debug)]
pub(super) struct Routes<'t> {
    topology: &'t Topology,
    spreads: bool,
    pairs: Vec<(u32, u32)>,
    links: Vec<LinkId>,
    /// Where the links of each pair end.
    ends: Vec<usize>,
}

/// What a renumbering must leave alone besides rates, latencies and tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Nothing more: links are shared.
    Shared,
    /// Who goes first of what meets at one port at one instant.
    Served,
}

impl<'t> Routes<'t> {
    /// Those of a topology whose ranks are numbered as the axes of `numbering` say.
    pub(super) fn new(topology: &'t Topology, numbering: &Group) -> Self {
        let ranks = topology.ranks();
        let number = |rank: usize| u32::try_from(rank).expect("ranks fit 32 bits");
        let mut pairs = Vec::new();
        for from in 0..number(ranks) {
            if ranks * ranks <= ALL_PAIRS {
                pairs.extend((0..number(ranks)).map(|to| (from, to)));
                continue;
            }
            pairs.extend((0..numbering.axes().len()).map(|axis| (from, numbering.moved(from, axis, 1))));
            let far = |draw| split_mix(u64::from(from) * FAR + draw) % ranks as u64;
            pairs.extend((0..FAR).map(|draw| (from, u32::try_from(far(draw)).expect("a rank"))));
        }
        pairs.retain(|(from, to)| from != to);
        let spreads = matches!(topology.fabric().policy(), Policy::Spray | Policy::Adaptive);
        let (mut links, mut ends, mut way) = (Vec::new(), Vec::with_capacity(pairs.len()), Vec::new());
        for &(from, to) in &pairs {
            ways(topology, spreads, from, to, &mut way);
            links.extend_from_slice(&way);
            ends.push(links.len());
        }
        Self {
            topology,
            spreads,
            pairs,
            links,
            ends,
        }
    }

    /// Whether every route was compared, and not a choice of them.
    pub(super) fn are_all(topology: &Topology) -> bool {
        topology.ranks() * topology.ranks() <= ALL_PAIRS
    }

    /// The image of every link that some route takes, [`NONE`] for others; none at all where the renumbering isn't a
    /// symmetry.
    pub(super) fn images(&self, order: Order, renumbered: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
        let topology = self.topology;
        for rank in (0..topology.ranks()).map(RankId::new) {
            let image = RankId::from(renumbered(rank.get()));
            if topology.late(rank) != topology.late(image) || topology.slowness(rank) != topology.slowness(image) {
                return None;
            }
        }
        let mut images = vec![NONE; topology.links()];
        let mut origins = vec![NONE; topology.links()];
        let mut way = Vec::new();
        let mut begin = 0;
        for (&(from, to), &end) in self.pairs.iter().zip(&self.ends) {
            let route = &self.links[begin..end];
            begin = end;
            ways(topology, self.spreads, renumbered(from), renumbered(to), &mut way);
            if way.len() != route.len() {
                return None;
            }
            for (&link, &image) in route.iter().zip(&way) {
                let (known, origin) = (&mut images[link.index()], &mut origins[image.index()]);
                if *known == NONE && *origin == NONE {
                    (*known, *origin) = (image.get(), link.get());
                    if !alike(topology, link, image) {
                        return None;
                    }
                } else if *known != image.get() || *origin != link.get() {
                    return None;
                }
            }
            if order == Order::Served && !served_alike(topology, route, &way) {
                return None;
            }
        }
        Some(images)
    }
}

/// Whether two links have the same properties.
fn alike(topology: &Topology, a: LinkId, b: LinkId) -> bool {
    topology.bandwidth(a) == topology.bandwidth(b)
        && topology.latency(a) == topology.latency(b)
        && topology.tier(a) == topology.tier(b)
}

/// Whether two routes are served in the same places at every port that they pass.
fn served_alike(topology: &Topology, a: &[LinkId], b: &[LinkId]) -> bool {
    let tie = |pair: &[LinkId]| topology.tie(pair[0], pair[1]);
    let places = a.windows(2).map(tie).eq(b.windows(2).map(tie));
    let port = |route: &[LinkId]| route.last().map(|&last| topology.input_port(last));
    // What comes to a memory is served by the port that it came in by.
    places && (topology.endpoint().memory().is_none() || port(a) == port(b))
}

/// All links that a message from one rank to another may take, in an order that depends on where they are only.
fn ways(topology: &Topology, spreads: bool, from: u32, to: u32, links: &mut Vec<LinkId>) {
    let to = RankId::from(to);
    if !spreads {
        let found = topology.route(RankId::from(from), to, links);
        return found.expect("ranks of the topology");
    }
    links.clear();
    let (mut layer, mut next) = (vec![NodeId::from(from)], Vec::new());
    let mut choices = Vec::new();
    // INVARIANT: every choice leads one hop closer.
    while layer.iter().any(|node| node.get() != to.get()) {
        for &node in &layer {
            topology.next_links(node, to, &mut choices);
            links.extend_from_slice(&choices);
            for &link in &choices {
                let end = topology.destination(link);
                if !next.contains(&end) {
                    next.push(end);
                }
            }
        }
        layer.clear();
        std::mem::swap(&mut layer, &mut next);
    }
}
