//! A topology under construction: sizes are checked first, then nodes and cables are added.

use super::adjacency::Adjacency;
use super::fault::Damage;
use super::ports::{Group, Layout};
use super::routing::Routing;
use super::{Endpoint, Fabric, Family, LinkSpec, PacketFormat, Topology};
use crate::error::TopologyError;
use crate::ids::NodeId;
use crate::units::{Bandwidth, Time};

/// The most nodes or links: a link takes 41 bytes, so that the largest topology takes about 1.4 GB.
const MOST_NODES: u128 = 1 << 25;
const MOST_LINKS: u128 = 1 << 25;
/// The most ports of a node, so that a place in the arbitration order fits an event's key.
const MOST_PORTS: u128 = 1 << 18;
/// The most tiers, as a link names its tier in 8 bits.
pub(super) const MOST_TIERS: u128 = 1 << 8;

/// How much a topology will hold, known before anything is allocated.
pub(super) struct Size {
    pub(super) nodes: u128,
    pub(super) links: u128,
    /// The ports of the node that has most.
    pub(super) ports: u128,
}

/// A port of a node.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) node: usize,
    pub(super) port: usize,
}

pub(super) struct Wiring {
    sources: Vec<NodeId>,
    destinations: Vec<NodeId>,
    bandwidths: Vec<Bandwidth>,
    latencies: Vec<Time>,
    link_tiers: Vec<u8>,
    output_ports: Vec<u32>,
    input_ports: Vec<u32>,
    tiers: Vec<String>,
    layouts: Vec<Layout>,
    node_layouts: Vec<u32>,
}

impl Wiring {
    /// Room for a topology of `size`, or an error that names what there would be too many of.
    pub(super) fn new(size: &Size) -> Result<Self, TopologyError> {
        let nodes = node_count(size.nodes)?;
        let links = at_most("links", size.links, MOST_LINKS)?;
        at_most("ports of one node", size.ports, MOST_PORTS)?;
        Ok(Self {
            sources: Vec::with_capacity(links),
            destinations: Vec::with_capacity(links),
            bandwidths: Vec::with_capacity(links),
            latencies: Vec::with_capacity(links),
            link_tiers: Vec::with_capacity(links),
            output_ports: Vec::with_capacity(links),
            input_ports: Vec::with_capacity(links),
            tiers: Vec::new(),
            layouts: Vec::new(),
            node_layouts: Vec::with_capacity(nodes),
        })
    }

    /// The index of the tier of that label, new or known. Callers keep to at most [`MOST_TIERS`].
    pub(super) fn add_tier(&mut self, label: &str) -> u8 {
        let index = self.tiers.iter().position(|known| known == label).unwrap_or_else(|| {
            self.tiers.push(label.to_owned());
            self.tiers.len() - 1
        });
        u8::try_from(index).expect("tiers were counted before they were added")
    }

    /// Adds `count` nodes whose ports fall into `groups`.
    pub(super) fn add_nodes(&mut self, count: usize, groups: &[Group]) {
        let layout = self.add_layout(groups);
        self.node_layouts.extend(std::iter::repeat_n(layout, count));
    }

    /// Adds a layout that several calls of [`Self::add_node`] share.
    pub(super) fn add_layout(&mut self, groups: &[Group]) -> u32 {
        self.layouts.push(Layout::new(groups));
        narrow(self.layouts.len() - 1)
    }

    /// Adds a layout of another topology, with one more group of ports or without.
    pub(super) fn add_layout_with(&mut self, layout: &Layout, more: Option<Group>) -> u32 {
        self.layouts.push(layout.with(more));
        narrow(self.layouts.len() - 1)
    }

    /// Adds one node of a layout added before.
    pub(super) fn add_node(&mut self, layout: u32) {
        self.node_layouts.push(layout);
    }

    /// Adds a link each way between two ports.
    pub(super) fn add_cable(&mut self, a: End, b: End, spec: LinkSpec, tier: u8) {
        self.add_link(a, b, spec, tier);
        self.add_link(b, a, spec, tier);
    }

    /// Adds a link from one port to another.
    pub(super) fn add_link(&mut self, from: End, to: End, spec: LinkSpec, tier: u8) {
        self.sources.push(NodeId::new(from.node));
        self.destinations.push(NodeId::new(to.node));
        self.bandwidths.push(spec.bandwidth);
        self.latencies.push(spec.latency);
        self.link_tiers.push(tier);
        self.output_ports.push(narrow(from.port));
        self.input_ports.push(narrow(to.port));
    }

    /// The topology; its ranks are the product of `shape`.
    pub(super) fn finish(self, family: Family, shape: Vec<usize>, routing: impl Into<Routing>) -> Topology {
        let nodes = self.node_layouts.len();
        Topology {
            name: family.name().to_owned(),
            family,
            ranks: shape.iter().product(),
            shape,
            ranks_per_chip: 1,
            server: None,
            out_links: Adjacency::new(nodes, &self.sources, &self.output_ports),
            in_links: Adjacency::new(nodes, &self.destinations, &self.input_ports),
            sources: self.sources,
            destinations: self.destinations,
            bandwidths: self.bandwidths,
            latencies: self.latencies,
            link_tiers: self.link_tiers,
            output_ports: self.output_ports,
            input_ports: self.input_ports,
            tiers: self.tiers,
            layouts: self.layouts,
            node_layouts: self.node_layouts,
            routing: routing.into(),
            damage: Damage::default(),
            endpoint: Endpoint::free(),
            packet_format: PacketFormat::default(),
            fabric: Fabric::default(),
        }
    }
}

/// A number of nodes as an index, or an error where there are too many.
pub(super) fn node_count(nodes: u128) -> Result<usize, TopologyError> {
    at_most("nodes", nodes, MOST_NODES)
}

/// The count of `what` as an index, or an error where it passes `limit`.
pub(super) fn at_most(what: &'static str, count: u128, limit: u128) -> Result<usize, TopologyError> {
    if count > limit {
        return Err(TopologyError::TooLarge {
            what,
            count,
            limit: u64::try_from(limit).expect("limits are small constants"),
        });
    }
    Ok(usize::try_from(count).expect("limits fit an index"))
}

/// An error where an argument that counts something is zero.
pub(super) fn at_least_one(argument: &'static str, value: usize) -> Result<(), TopologyError> {
    if value == 0 {
        return Err(TopologyError::Argument {
            argument,
            expected: "at least 1".to_owned(),
            value: "0".to_owned(),
        });
    }
    Ok(())
}

/// The product of extents, 2¹²⁸ − 1 where it passes that.
pub(super) fn product(extents: &[usize]) -> u128 {
    extents
        .iter()
        .fold(1, |product: u128, &extent| product.saturating_mul(extent as u128))
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("sizes were checked when the wiring began")
}
