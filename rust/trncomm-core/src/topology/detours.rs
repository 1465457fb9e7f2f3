//! Ways around links that are down, in a named shape.
//!
//! The usual ways to a rank are those of the shape's formula. A node is *cut off* from the rank if each of its usual next
//! links is down or leads to a node that is cut off. A node that isn't keeps to its usual links, as far as they are good;
//! one that is takes any link that is up and lies on a shortest way over what is left. Either way each link leads one hop
//! closer: usual ways are as short as any, so what is left can't have shorter ones. So no choice makes a loop, and
//! whoever's route is whole keeps it.
//!
//! Nodes that are cut off are few as a rule, on a torus those of the line in which a link is down; they are listed
//! rank by rank, and only for ranks that someone asks for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Topology;
use super::routing::Formula;
use crate::ids::{LinkId, NodeId, RankId};

/// The nodes that are cut off from one rank, and the links that they take instead.
#[derive(Clone, Debug)]
pub(super) struct Detours {
    /// In ascending order.
    nodes: Vec<NodeId>,
    /// Where each node's links begin, and one past the last.
    first: Vec<u32>,
    links: Vec<LinkId>,
}

/// The nodes from which all usual links to some rank are down: where looking for what is cut off begins, whatever the rank.
pub(super) fn damaged(topology: &Topology, formula: &Formula) -> Vec<NodeId> {
    let nodes = (0..topology.nodes()).map(NodeId::new);
    nodes
        .filter(|&node| {
            let links = topology.out_links(node);
            let choices = formula.choices(node);
            let is_down = |port: usize| !topology.is_up(links[port]);
            let lost_all = !choices.is_empty() && choices.clone().all(is_down);
            lost_all || (0..links.len()).any(|port| !choices.contains(&port) && is_down(port))
        })
        .collect()
}

impl Detours {
    /// All that is cut off from `to`; `damaged` are the nodes of [`damaged`].
    pub(super) fn find(topology: &Topology, formula: &Formula, damaged: &[NodeId], to: RankId) -> Self {
        let mut search = Search {
            topology,
            formula,
            to,
            cut_off: vec![false; topology.nodes()],
            hops: vec![None; topology.nodes()],
        };
        let nodes = search.cut_off(damaged);
        if !nodes.is_empty() {
            search.measure(&nodes);
        }
        let mut first = vec![0];
        let mut links = Vec::new();
        for &node in &nodes {
            let closer = search.hops[node.index()].map(|hops| hops - 1);
            links.extend(topology.out_links(node).iter().copied().filter(|&link| {
                closer.is_some() && topology.is_up(link) && search.hops[topology.destination(link).index()] == closer
            }));
            first.push(u32::try_from(links.len()).expect("at most all links of the topology, which have 32-bit ids"));
        }
        Self { nodes, first, links }
    }

    /// How many nodes are cut off.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The links to take, given the usual ones.
    pub(super) fn links<'d>(
        &'d self,
        topology: &'d Topology,
        at: NodeId,
        usual: &'d [LinkId],
    ) -> impl Iterator<Item = LinkId> {
        let instead = self.instead(at);
        let any = instead.is_some();
        let links = instead.unwrap_or(usual).iter().copied();
        links.filter(move |&link| any || self.is_good(topology, link))
    }

    /// The usual link if it is good; else the one of [`Self::links`] in the place of the destination modulo their number,
    /// so that what went one way spreads over those that are left.
    pub(super) fn next_link(
        &self,
        topology: &Topology,
        at: NodeId,
        to: RankId,
        usual: LinkId,
        others: &[LinkId],
    ) -> LinkId {
        if self.is_good(topology, usual) {
            return usual;
        }
        let count = self.links(topology, at, others).count();
        let place = to.index().checked_rem(count);
        place
            .and_then(|place| self.links(topology, at, others).nth(place))
            .expect("a route passes only nodes with a path to its end")
    }

    /// Whether a usual link is up and leads to a node that isn't cut off.
    fn is_good(&self, topology: &Topology, link: LinkId) -> bool {
        topology.is_up(link) && self.nodes.binary_search(&topology.destination(link)).is_err()
    }

    /// The links of a node that is cut off.
    fn instead(&self, at: NodeId) -> Option<&[LinkId]> {
        let place = self.nodes.binary_search(&at).ok()?;
        Some(&self.links[self.first[place] as usize..self.first[place + 1] as usize])
    }
}

struct Search<'t> {
    topology: &'t Topology,
    formula: &'t Formula,
    to: RankId,
    cut_off: Vec<bool>,
    /// Hops to the rank, where they are known.
    hops: Vec<Option<u32>>,
}

impl Search<'_> {
    /// The nodes that are cut off, ascending. One whose usual links aren't all down is only if those that are up lead to
    /// nodes that are, so the search goes against the links from the damaged nodes.
    fn cut_off(&mut self, damaged: &[NodeId]) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut open = damaged.to_vec();
        while let Some(node) = open.pop() {
            if self.cut_off[node.index()] || self.has_usual_way(node) {
                continue;
            }
            self.cut_off[node.index()] = true;
            found.push(node);
            let before = self.topology.in_links(node).iter();
            let before = before.filter(|&&link| self.topology.is_up(link));
            open.extend(before.map(|&link| self.topology.source(link)));
        }
        found.sort_unstable();
        found
    }

    fn has_usual_way(&self, node: NodeId) -> bool {
        let is_good =
            |&link: &LinkId| self.topology.is_up(link) && !self.cut_off[self.topology.destination(link).index()];
        node.get() == self.to.get()
            || is_good(&self.topology.usual_link(node, self.to))
            || self
                .topology
                .usual_links(self.formula, node, self.to)
                .iter()
                .any(is_good)
    }

    /// Finds the hops from each of the nodes that are cut off, and from those to which they have a link.
    fn measure(&mut self, cut_off: &[NodeId]) {
        let mut open = BinaryHeap::new();
        for &node in cut_off {
            for &link in self.topology.out_links(node) {
                let next = self.topology.destination(link);
                if self.topology.is_up(link) && !self.cut_off[next.index()] {
                    let hops = self.usual_hops(next);
                    open.push(Reverse((hops + 1, node)));
                }
            }
        }
        while let Some(Reverse((hops, node))) = open.pop() {
            if self.hops[node.index()].is_some() {
                continue;
            }
            self.hops[node.index()] = Some(hops);
            for &link in self.topology.in_links(node) {
                let before = self.topology.source(link);
                if self.topology.is_up(link) && self.cut_off[before.index()] && self.hops[before.index()].is_none() {
                    open.push(Reverse((hops + 1, before)));
                }
            }
        }
    }

    /// The hops from a node that isn't cut off: as many as were all links up.
    fn usual_hops(&mut self, node: NodeId) -> u32 {
        if let Some(hops) = self.hops[node.index()] {
            return hops;
        }
        let (mut at, mut hops) = (node, 0);
        while at.get() != self.to.get() {
            at = self.topology.destination(self.topology.usual_link(at, self.to));
            hops += 1;
        }
        self.hops[node.index()] = Some(hops);
        hops
    }
}
