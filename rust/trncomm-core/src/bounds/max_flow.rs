//! Maximum flows over a topology's links, and the cuts that stop them.
//!
//! The algorithm is Dinic's, as petgraph has it: it takes capacities of 128 bits, which exact ratios need, and gives the
//! flow of every edge, from which the smallest minimum cut follows.

use petgraph::algo::dinics;
use petgraph::graph::{Graph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::latency::Way;
use crate::ids::LinkId;
use crate::topology::Topology;

/// The links of a topology as capacities: parallel ones are one, and all are in units of their greatest common divisor.
pub(super) struct Capacities {
    nodes: usize,
    /// (source, destination, capacity), by source and destination.
    edges: Vec<(usize, usize, u128)>,
}

/// A fraction in lowest terms.
pub(super) fn lowest_terms(numerator: u128, denominator: u128) -> (u128, u128) {
    let divisor = gcd(numerator, denominator).max(1);
    (numerator / divisor, denominator / divisor)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Capacities {
    /// The capacities along the links, or with every link turned round.
    pub(super) fn new(topology: &Topology, way: Way) -> Self {
        let mut edges: Vec<(usize, usize, u128)> = (0..topology.links())
            .map(LinkId::new)
            .filter(|&link| topology.is_up(link))
            .map(|link| {
                let (from, to) = (topology.source(link).index(), topology.destination(link).index());
                let rate = topology.bandwidth(link).bytes_per_second().into();
                match way {
                    Way::Along => (from, to, rate),
                    Way::Against => (to, from, rate),
                }
            })
            .collect();
        edges.sort_unstable();
        edges.dedup_by(|next, kept| {
            let parallel = (next.0, next.1) == (kept.0, kept.1);
            if parallel {
                kept.2 += next.2;
            }
            parallel
        });
        let unit = edges.iter().fold(0, |unit, edge| gcd(unit, edge.2)).max(1);
        for edge in &mut edges {
            edge.2 /= unit;
        }
        Self {
            nodes: topology.nodes(),
            edges,
        }
    }

    /// The capacity that leaves a set of nodes.
    pub(super) fn leaving(&self, inside: &[bool]) -> u128 {
        let out = self.edges.iter().filter(|(from, to, _)| inside[*from] && !inside[*to]);
        out.map(|(_, _, capacity)| capacity).sum()
    }

    /// The maximum flow into `sink` where node r supplies up to `supplies[r]` and every capacity is `scale` times what it
    /// is; with the smallest minimum cut's side of the sink. Nothing where the numbers pass 128 bits.
    pub(super) fn flow(&self, supplies: &[u128], scale: u128, sink: usize) -> Option<(u128, Vec<bool>)> {
        let whole = supplies
            .iter()
            .try_fold(0_u128, |sum, supply| sum.checked_add(*supply))?;
        let capacity: u128 = self.edges.iter().map(|edge| edge.2).sum();
        capacity.checked_mul(scale)?.checked_add(whole)?;

        let mut graph: Graph<(), u128> = Graph::with_capacity(self.nodes + 1, self.edges.len() + supplies.len());
        for _ in 0..=self.nodes {
            graph.add_node(());
        }
        let source = NodeIndex::new(self.nodes);
        for (node, &supply) in supplies.iter().enumerate().filter(|(_, supply)| **supply > 0) {
            graph.add_edge(source, NodeIndex::new(node), supply);
        }
        for &(from, to, capacity) in &self.edges {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), capacity * scale);
        }
        let sink = NodeIndex::new(sink);
        let (value, flows) = dinics(&graph, source, sink);

        // What can still reach the sink: by an edge with room, or by giving back what an edge carries.
        let mut reaches = vec![false; self.nodes + 1];
        reaches[sink.index()] = true;
        let mut queue = vec![sink];
        while let Some(node) = queue.pop() {
            let with_room = graph
                .edges_directed(node, petgraph::Incoming)
                .filter(|edge| flows[edge.id().index()] < *edge.weight())
                .map(|edge| edge.source());
            let giving_back = graph
                .edges_directed(node, petgraph::Outgoing)
                .filter(|edge| flows[edge.id().index()] > 0)
                .map(|edge| edge.target());
            for next in with_room.chain(giving_back) {
                if !reaches[next.index()] {
                    reaches[next.index()] = true;
                    queue.push(next);
                }
            }
        }
        reaches.truncate(self.nodes);
        Some((value, reaches))
    }
}
