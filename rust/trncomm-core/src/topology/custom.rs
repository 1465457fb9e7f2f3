//! A topology from a list of links, routed by tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ports::Group;
use super::routing::Routing;
use super::table::RouteTable;
use super::wiring::{End, MOST_TIERS, Size, Wiring, at_least_one, at_most, node_count};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;
use crate::ids::NodeId;
use crate::units::{Bandwidth, Time};

/// A directed link as a caller describes it, not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInput {
    /// The node that it leaves.
    pub source: u64,
    /// The node that it reaches.
    pub destination: u64,
    /// Bytes a second, above 0.
    pub bandwidth: u64,
    /// Wire plus the receiver's pipeline, in picoseconds.
    pub latency: u64,
    /// The label of its tier.
    pub tier: String,
}

/// Gives each node's ports their numbers: the k-th link to a neighbour and the k-th link from it share a port.
struct PortNumbers {
    pairs: BTreeMap<(usize, usize), Pair>,
    counts: Vec<usize>,
}

/// The ports of one node towards one neighbour, and how many links of each direction have one.
#[derive(Default)]
struct Pair {
    ports: Vec<usize>,
    outputs: usize,
    inputs: usize,
}

impl PortNumbers {
    fn output(&mut self, node: usize, neighbour: usize) -> End {
        let pair = self.pairs.entry((node, neighbour)).or_default();
        pair.outputs += 1;
        let used = pair.outputs;
        Self::end(pair, used, node, &mut self.counts[node])
    }

    fn input(&mut self, node: usize, neighbour: usize) -> End {
        let pair = self.pairs.entry((node, neighbour)).or_default();
        pair.inputs += 1;
        let used = pair.inputs;
        Self::end(pair, used, node, &mut self.counts[node])
    }

    fn end(pair: &mut Pair, used: usize, node: usize, count: &mut usize) -> End {
        if used > pair.ports.len() {
            pair.ports.push(*count);
            *count += 1;
        }
        End {
            node,
            port: pair.ports[used - 1],
        }
    }
}

impl Topology {
    /// Chips, switches and the directed links between them, as listed; nodes `ranks` and up are the switches.
    ///
    /// Shape `[ranks]`; link ids and tiers follow the list. Parallel links are allowed. A node's ports are numbered in
    /// the order in which the list first needs them, all in one group: the k-th link to a neighbour and the k-th link from it share
    /// one. Routes have the fewest hops, through chips and switches alike; of several next links they take that of
    /// the lowest output port.
    ///
    /// An error names a node that isn't there, a link from a node to itself or without bandwidth, two ranks without
    /// a path, or a size beyond what tables of `ranks` × nodes routes may hold (2²⁸, 1 GiB).
    pub fn from_links(ranks: usize, switches: usize, links: &[LinkInput]) -> Result<Self, TopologyError> {
        at_least_one("ranks", ranks)?;
        let nodes = node_count(ranks as u128 + switches as u128)?;
        RouteTable::check_size(ranks, nodes)?;
        let labels: BTreeSet<&str> = links.iter().map(|link| link.tier.as_str()).collect();
        at_most("tiers", labels.len() as u128, MOST_TIERS)?;

        let mut numbers = PortNumbers {
            pairs: BTreeMap::new(),
            counts: vec![0; nodes],
        };
        let mut ends = Vec::with_capacity(links.len());
        for (index, link) in links.iter().enumerate() {
            let source = node_of(index, link.source, nodes)?;
            let destination = node_of(index, link.destination, nodes)?;
            if source == destination {
                return Err(TopologyError::SelfLoop {
                    link: index,
                    node: NodeId::new(source).get(),
                });
            }
            ends.push((numbers.output(source, destination), numbers.input(destination, source)));
        }

        let mut wiring = Wiring::new(&Size {
            nodes: nodes as u128,
            links: links.len() as u128,
            ports: numbers.counts.iter().copied().max().unwrap_or(0) as u128,
        })?;
        let mut layouts = BTreeMap::new();
        for &ports in &numbers.counts {
            let layout = *layouts
                .entry(ports)
                .or_insert_with(|| wiring.add_layout(&[Group::cycle(ports)]));
            wiring.add_node(layout);
        }
        for (index, (link, (from, to))) in links.iter().zip(ends).enumerate() {
            let bandwidth = Bandwidth::new(link.bandwidth).map_err(|_| TopologyError::Argument {
                argument: "bandwidth",
                expected: "above 0 bytes/s".to_owned(),
                value: format!("0 for link {index}"),
            })?;
            let spec = LinkSpec {
                bandwidth,
                latency: Time::from_picoseconds(link.latency),
            };
            let tier = wiring.add_tier(&link.tier);
            wiring.add_link(from, to, spec, tier);
        }
        let mut topology = wiring.finish(
            Family::Custom,
            vec![ranks],
            Routing::Table(Arc::new(RouteTable::empty())),
        );
        topology.routing = Routing::Table(Arc::new(RouteTable::new(&topology)?));
        Ok(topology)
    }
}

fn node_of(link: usize, node: u64, nodes: usize) -> Result<usize, TopologyError> {
    usize::try_from(node)
        .ok()
        .filter(|&index| index < nodes)
        .ok_or(TopologyError::UnknownNode { link, node, nodes })
}
