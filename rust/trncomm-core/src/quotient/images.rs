//! What a renumbering of the ranks does to the links: the image of each, if it has one.

use crate::ids::{LinkId, NodeId, RankId};
use crate::random::split_mix;
use crate::topology::{Policy, Topology};

use super::group::Group;

/// No link.
pub(super) const NONE: u32 = u32::MAX;

/// Up to so many places from which a rank is routed to (ranks times nodes), all routes of a named shape are compared.
const ALL_PLACES: usize = 1 << 20;

/// The most links of the routes to neighbours along every axis; where there are more, nothing is compared.
const NEAR_LINKS: usize = 1 << 26;

/// The most links a rank of the routes of each other choice: more than there are on a way over three levels of switches.
const FAR_LINKS: usize = 8;

/// Routes that show every link: all of them, or a choice.
///
/// All are compared where there are few places and wherever tables hold them, as nothing ties one entry of a table to the
/// next. On a large named shape, routes go by formulas of coordinates, and these are compared: those to the neighbours
/// along every axis and as far as it takes to show every link, from every rank; and those from one rank to all, and
/// from all to one. The former choice is the same from every rank, so that it shows whole orbits of links; the latter
/// shows where a formula changes on the way round an axis, as the remainder of a division does.
#[derive(Debug)]
pub(super) struct Routes<'t> {
    topology: &'t Topology,
    spreads: bool,
    choice: Option<Choice>,
}

/// A node and its image, and the links by which they were reached, if they aren't the first.
type Pair = (NodeId, NodeId, Option<(LinkId, LinkId)>);

/// Some routes.
#[derive(Debug, Default)]
struct Choice {
    pairs: Vec<(u32, u32)>,
    links: Vec<LinkId>,
    /// Where the links of each pair end.
    ends: Vec<usize>,
    /// How many pairs are the same from every rank.
    regular: usize,
    /// Whether each link is among them.
    shown: Vec<bool>,
}

/// What a network model does with what meets at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Shares the link: a renumbering must leave alone rates, latencies and tiers.
    Shares,
    /// Serves one after the other: it must also leave alone who goes first of what meets at one port at one instant.
    Serves,
}

impl<'t> Routes<'t> {
    /// Those of a topology whose ranks are numbered as the axes of `numbering` say; none where they are too many to
    /// compare.
    pub(super) fn new(topology: &'t Topology, numbering: &Group) -> Option<Self> {
        let spreads = matches!(topology.fabric().policy(), Policy::Spray | Policy::Adaptive);
        let mut choice = None;
        if !Self::are_all(topology) {
            choice = Some(Choice::new(topology, spreads, numbering)?);
        }
        Some(Self {
            topology,
            spreads,
            choice,
        })
    }

    /// Whether every route is compared, and not a choice of them.
    pub(super) fn are_all(topology: &Topology) -> bool {
        topology.is_routed_by_table() || topology.ranks() * topology.nodes() <= ALL_PLACES
    }

    /// The image of every link that is taken the same way from every rank, [`NONE`] for others; none at all where the
    /// renumbering isn't a symmetry.
    ///
    /// INVARIANT: links that have an image are those that are one, so that they make up whole orbits.
    pub(super) fn images(&self, kind: Kind, renumbered: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
        let topology = self.topology;
        let ranks: Vec<u32> = (0..number(topology.ranks())).map(renumbered).collect();
        let same_pace = (0..).zip(&ranks).all(|(rank, &image)| {
            let (rank, image) = (RankId::from(rank), RankId::from(image));
            topology.late(rank) == topology.late(image) && topology.slowness(rank) == topology.slowness(image)
        });
        if !same_pace {
            return None;
        }
        let mut images = Images::new(topology);
        match &self.choice {
            Some(choice) => self.compare(choice, kind, &ranks, &mut images)?,
            None => self.compare_all(kind, &ranks, &mut images)?,
        }
        Some(images.of)
    }

    fn compare(&self, choice: &Choice, kind: Kind, ranks: &[u32], images: &mut Images<'_>) -> Option<()> {
        let mut way = Vec::new();
        let mut begin = 0;
        let mut known = None;
        for (place, (&(from, to), &end)) in choice.pairs.iter().zip(&choice.ends).enumerate() {
            if place == choice.regular {
                if !images.are_whole() {
                    return None;
                }
                known = Some(images.of.clone());
            }
            let route = &choice.links[begin..end];
            begin = end;
            let (from, to) = (ranks[from as usize], ranks[to as usize]);
            ways(self.topology, self.spreads, from, to, &mut way);
            if way.len() != route.len() || !route.iter().zip(&way).all(|(&link, &image)| images.add(link, image)) {
                return None;
            }
            if kind == Kind::Serves && !served_alike(self.topology, route, &way) {
                return None;
            }
        }
        // What the other routes showed was to be looked at only.
        images.of = known?;
        Some(())
    }

    /// Goes all ways of all routes and of their images side by side. A route on from a node doesn't depend on where it
    /// began, so each node is left once for every destination.
    fn compare_all(&self, kind: Kind, ranks: &[u32], images: &mut Images<'_>) -> Option<()> {
        let topology = self.topology;
        let mut left = vec![(NONE, NONE); topology.nodes()];
        let (mut links, mut others) = (Vec::new(), Vec::new());
        let mut ways: Vec<Pair> = Vec::new();
        for to in 0..number(topology.ranks()) {
            let image_of_to = ranks[to as usize];
            for from in 0..number(topology.ranks()) {
                ways.push((NodeId::from(from), NodeId::from(ranks[from as usize]), None));
                while let Some((at, there, before)) = ways.pop() {
                    let is_end = at.get() == to;
                    if is_end != (there.get() == image_of_to) {
                        return None;
                    }
                    if is_end {
                        let is_same = before.is_none_or(|(link, image)| comes_in_alike(topology, link, image));
                        if kind == Kind::Serves && !is_same {
                            return None;
                        }
                        continue;
                    }
                    self.next(at, to, &mut links);
                    self.next(there, image_of_to, &mut others);
                    if links.len() != others.len() {
                        return None;
                    }
                    if let (Kind::Serves, Some((link, image))) = (kind, before) {
                        let ties = links.iter().map(|&next| topology.tie(link, next));
                        if !ties.eq(others.iter().map(|&next| topology.tie(image, next))) {
                            return None;
                        }
                    }
                    let (last, known) = left[at.index()];
                    if last == to {
                        if known != there.get() {
                            return None;
                        }
                        continue;
                    }
                    left[at.index()] = (to, there.get());
                    for (&link, &image) in links.iter().zip(&others) {
                        if !images.add(link, image) {
                            return None;
                        }
                        let ends = (topology.destination(link), topology.destination(image));
                        ways.push((ends.0, ends.1, Some((link, image))));
                    }
                }
            }
        }
        images.are_whole().then_some(())
    }

    /// The links on which traffic for a rank may leave a node.
    fn next(&self, at: NodeId, to: u32, links: &mut Vec<LinkId>) {
        let to = RankId::from(to);
        if self.spreads {
            self.topology.next_links(at, to, links);
        } else {
            links.clear();
            links.push(self.topology.next_link(at, to));
        }
    }
}

impl Choice {
    /// None where the routes to neighbours are too long.
    fn new(topology: &Topology, spreads: bool, numbering: &Group) -> Option<Self> {
        let mut choice = Self {
            shown: vec![false; topology.links()],
            ..Self::default()
        };
        let axes = numbering.axes();
        let neighbours = (0..)
            .zip(axes)
            .map(|(axis, of)| numbering.moved(0, axis, 1 % of.extent));
        let drawn = (0..).zip(axes).fold(0, |rank, (axis, of)| {
            let by = split_mix(axis as u64) % u64::from(of.extent);
            numbering.moved(rank, axis, u32::try_from(by).expect("below the extent"))
        });
        for to in neighbours {
            if !choice.add_regular(topology, spreads, numbering, to) {
                return None;
            }
        }
        let mut way = Vec::new();
        ways(topology, spreads, 0, drawn, &mut way);
        if way.len() <= FAR_LINKS {
            choice.add_regular(topology, spreads, numbering, drawn);
        }
        let last = number(topology.ranks()) - 1;
        let from_first = spaced(topology, spreads, |rank| (0, rank));
        for &(_, to) in &from_first {
            ways(topology, spreads, 0, to, &mut way);
            let rest = NEAR_LINKS.saturating_sub(choice.links.len());
            if way.iter().any(|&link| !choice.shown[link.index()]) && way.len() * topology.ranks() <= rest {
                choice.add_regular(topology, spreads, numbering, to);
            }
        }
        choice.regular = choice.pairs.len();
        let to_last = spaced(topology, spreads, |rank| (rank, last));
        for pair in from_first.into_iter().chain(to_last) {
            choice.add(topology, spreads, pair, &mut way);
        }
        Some(choice)
    }

    /// Adds the routes from every rank to the one that is as far from it as `to` is from the first; says whether they
    /// are short enough.
    fn add_regular(&mut self, topology: &Topology, spreads: bool, numbering: &Group, to: u32) -> bool {
        let mut way = Vec::new();
        (0..number(topology.ranks())).all(|from| {
            let far = (0..numbering.axes().len()).fold(from, |rank, axis| {
                numbering.moved(rank, axis, numbering.coordinate(to, axis))
            });
            self.add(topology, spreads, (from, far), &mut way);
            self.links.len() <= NEAR_LINKS
        })
    }

    fn add(&mut self, topology: &Topology, spreads: bool, (from, to): (u32, u32), way: &mut Vec<LinkId>) {
        if from != to {
            ways(topology, spreads, from, to, way);
            self.pairs.push((from, to));
            for link in way.iter() {
                self.shown[link.index()] = true;
            }
            self.links.extend_from_slice(way);
            self.ends.push(self.links.len());
        }
    }
}

/// As many pairs of ranks of this form as have [`FAR_LINKS`] a rank, evenly spaced, from the far end on.
fn spaced(topology: &Topology, spreads: bool, pair: impl Fn(u32) -> (u32, u32)) -> Vec<(u32, u32)> {
    let all = || 0..number(topology.ranks());
    let mut way = Vec::new();
    let mut length = |rank| {
        let (from, to) = pair(rank);
        ways(topology, spreads, from, to, &mut way);
        way.len()
    };
    let some = all().step_by(1 + topology.ranks() / 64);
    let longest = some.map(&mut length).max().unwrap_or(0);
    all().rev().step_by(1 + longest / FAR_LINKS).map(pair).collect()
}

/// Images of links as far as they are known.
#[derive(Debug)]
struct Images<'t> {
    topology: &'t Topology,
    of: Vec<u32>,
    origins: Vec<u32>,
}

impl<'t> Images<'t> {
    fn new(topology: &'t Topology) -> Self {
        Self {
            topology,
            of: vec![NONE; topology.links()],
            origins: vec![NONE; topology.links()],
        }
    }

    /// Makes one link the image of another; says whether that agrees with what is known, and the two are alike.
    fn add(&mut self, link: LinkId, image: LinkId) -> bool {
        let (known, origin) = (&mut self.of[link.index()], &mut self.origins[image.index()]);
        if *known == NONE && *origin == NONE {
            (*known, *origin) = (image.get(), link.get());
            return alike(self.topology, link, image);
        }
        *known == image.get() && *origin == link.get()
    }

    /// Whether the links that have an image are those that are one.
    fn are_whole(&self) -> bool {
        let is_both = |(&of, &origin): (&u32, &u32)| (of == NONE) == (origin == NONE);
        self.of.iter().zip(&self.origins).all(is_both)
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).expect("ranks fit 32 bits")
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
    places
        && a.last()
            .zip(b.last())
            .is_none_or(|(&a, &b)| comes_in_alike(topology, a, b))
}

/// Whether what two links bring to ranks is served alike there: what comes to a memory, by the port that it came in by.
fn comes_in_alike(topology: &Topology, a: LinkId, b: LinkId) -> bool {
    topology.endpoint().memory().is_none() || topology.input_port(a) == topology.input_port(b)
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
