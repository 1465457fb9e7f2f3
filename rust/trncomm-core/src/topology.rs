//! Topologies: chips, switches and directed links, and how traffic is routed over them.
//!
//! A topology is immutable and flat: one column per property of a link, indexed by [`LinkId`]. It knows nothing of
//! collectives, messages or time.

mod adjacency;
mod cores;
mod custom;
mod detours;
mod endpoint;
mod fabric;
mod family;
mod fault;
mod ports;
mod routing;
mod table;
mod wiring;

// Named shapes, one file each; a ring is a torus of one dimension.
mod cluster;
mod fully_connected;
mod grid;
mod leaf_spine;
mod switch;
mod ultracluster;
mod ultraserver;

pub use cluster::{FabricLinks, Leaves};
pub use custom::LinkInput;
pub use endpoint::{Endpoint, PacketFormat, Touches};
pub use fabric::{Arbitration, Fabric, Forwarding, Policy, Queueing};
pub use family::Family;
pub use fault::Fault;
pub use ultracluster::ClusterLinks;

use std::sync::Arc;

use crate::ids::{LinkId, NodeId};
use crate::units::{Bandwidth, Time};
use adjacency::Adjacency;
use fault::Damage;
use ports::Layout;
use routing::Routing;

/// What a named shape builds its links from: the rate and the latency of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// The rate of each direction.
    pub bandwidth: Bandwidth,
    /// Wire plus the receiver's pipeline.
    pub latency: Time,
}

/// Chips, switches, the directed links between them, and a fixed route from every rank to every other.
///
/// Chips come first: rank r is node r, switches follow. Where chips have several ranks ([`Topology::with_cores`]) these come
/// first, and the chips are the first of the other nodes. A *cable* is a pair of links, one each way, between one port of a
/// node and one port of another; nodes number their ports from 0, group by group.
#[derive(Clone, Debug)]
pub struct Topology {
    name: String,
    family: Family,
    shape: Vec<usize>,
    ranks: usize,
    ranks_per_chip: usize,
    /// What a cluster is made of.
    server: Option<(Arc<Topology>, Leaves)>,
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
    out_links: Adjacency,
    in_links: Adjacency,
    routing: Routing,
    damage: Damage,
    endpoint: Endpoint,
    packet_format: PacketFormat,
    fabric: Fabric,
}

impl Topology {
    /// What to call it in reports: that of its family, unless set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape that it was built as.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The number of ranks: chips, or their cores where each has several.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of chips and switches.
    pub fn nodes(&self) -> usize {
        self.node_layouts.len()
    }

    /// The number of directed links.
    pub fn links(&self) -> usize {
        self.sources.len()
    }

    /// The logical extents of the ranks, the last one counting fastest; their product is [`Self::ranks`].
    ///
    /// `[ranks]` for ring, fully connected, switch and custom, the dimensions for mesh and torus,
    /// `[leaves, ranks_per_leaf]`, `[racks, servers, chips]`, and `[pods, servers]` before the shape of the server; ranks of
    /// a chip are one more.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether a node is a rank's: a chip, or a core of one. The others are switches, and chips that have cores.
    pub fn is_chip(&self, node: NodeId) -> bool {
        node.index() < self.ranks
    }

    /// The node that a link leaves.
    pub fn source(&self, link: LinkId) -> NodeId {
        self.sources[link.index()]
    }

    /// The node that a link reaches.
    pub fn destination(&self, link: LinkId) -> NodeId {
        self.destinations[link.index()]
    }

    /// The rate of a link.
    pub fn bandwidth(&self, link: LinkId) -> Bandwidth {
        self.bandwidths[link.index()]
    }

    /// The latency of a link: wire plus the receiver's pipeline.
    pub fn latency(&self, link: LinkId) -> Time {
        self.latencies[link.index()]
    }

    /// The tier of a link, an index into [`Self::tiers`].
    pub fn tier(&self, link: LinkId) -> u8 {
        self.link_tiers[link.index()]
    }

    /// The number, at its source, of the port that a link leaves by.
    pub fn output_port(&self, link: LinkId) -> u32 {
        self.output_ports[link.index()]
    }

    /// The number, at its destination, of the port that a link comes in by.
    pub fn input_port(&self, link: LinkId) -> u32 {
        self.input_ports[link.index()]
    }

    /// The column of [`Self::source`].
    pub fn sources(&self) -> &[NodeId] {
        &self.sources
    }

    /// The column of [`Self::destination`].
    pub fn destinations(&self) -> &[NodeId] {
        &self.destinations
    }

    /// The column of [`Self::bandwidth`].
    pub fn bandwidths(&self) -> &[Bandwidth] {
        &self.bandwidths
    }

    /// The column of [`Self::latency`].
    pub fn latencies(&self) -> &[Time] {
        &self.latencies
    }

    /// The column of [`Self::tier`].
    pub fn link_tiers(&self) -> &[u8] {
        &self.link_tiers
    }

    /// The labels of the tiers, such as `server`, `rack`, `between-racks`.
    pub fn tiers(&self) -> &[String] {
        &self.tiers
    }

    /// The links that leave a node, by ascending output port.
    pub fn out_links(&self, node: NodeId) -> &[LinkId] {
        self.out_links.of(node)
    }

    /// The links that reach a node, by ascending input port.
    pub fn in_links(&self, node: NodeId) -> &[LinkId] {
        self.in_links.of(node)
    }

    /// The number of ports of a node.
    pub fn ports(&self, node: NodeId) -> usize {
        self.layout(node).ports()
    }

    /// The place in the arbitration order of a packet that comes in by `input` and leaves by `output`; lower goes first.
    ///
    /// The order is that of the input port's group, then of the number of steps from the output's index to the input's
    /// within the input's group, modulo the extents of that group. It is *relative to the output* because an absolute
    /// port number would favour the same chip at every output: rotating the ranks would change who goes first, and so
    /// times, though nothing about the system had changed. For one output no two input ports share a place. Below 2¹⁸,
    /// the most ports that a node may have.
    pub fn tie(&self, input: LinkId, output: LinkId) -> u32 {
        let node = self.destination(input);
        debug_assert_eq!(node, self.source(output), "a packet leaves the node that it came to");
        self.layout(node).tie(self.input_port(input), self.output_port(output))
    }

    /// What a message costs at the chips that send and receive it; free unless set.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// How a message is cut into packets; 4096 bytes without a header unless set.
    pub fn packet_format(&self) -> PacketFormat {
        self.packet_format
    }

    /// How nodes hold, order and steer packets; see [`Fabric`] for what they do unless set.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The same topology by another name.
    #[must_use]
    pub fn with_name(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// The same topology with other endpoint costs.
    #[must_use]
    pub fn with_endpoint(self, endpoint: Endpoint) -> Self {
        Self { endpoint, ..self }
    }

    /// The same topology with another packet format.
    #[must_use]
    pub fn with_packet_format(self, packet_format: PacketFormat) -> Self {
        Self { packet_format, ..self }
    }

    /// The same topology whose nodes hold, order and steer packets in another way.
    #[must_use]
    pub fn with_fabric(self, fabric: Fabric) -> Self {
        Self { fabric, ..self }
    }

    fn layout(&self, node: NodeId) -> &Layout {
        &self.layouts[self.node_layouts[node.index()] as usize]
    }
}
