//! Many UltraServers as of a Trn3 machine, each rack of them below a leaf of its own.

use super::cluster::{FabricLinks, Leaves};
use super::{LinkSpec, Topology};
use crate::error::TopologyError;

/// The links of an UltraCluster, by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterLinks {
    /// From a chip to the switch of its server.
    pub server: LinkSpec,
    /// From a chip to the switch of its rack.
    pub rack: LinkSpec,
    /// From a chip to the chip in its place of another rack.
    pub between: LinkSpec,
    /// From a chip to the leaf of its rack.
    pub leaf: LinkSpec,
    /// From a leaf to each spine of its pod.
    pub spine: LinkSpec,
    /// From a spine to each of its cores.
    pub core: LinkSpec,
}

impl Topology {
    /// UltraServers as of [`Self::ultraserver`], in pods, on a network of leaves, spines and cores as of [`Self::cluster`].
    ///
    /// Shape `[pods, ultraservers, racks, servers, chips]`, with `ultraservers` in each pod; each rack has a leaf.
    pub fn ultracluster(
        pods: usize,
        ultraservers: usize,
        (racks, servers, chips): (usize, usize, usize),
        links: ClusterLinks,
    ) -> Result<Self, TopologyError> {
        let server = Self::ultraserver(racks, servers, chips, links.server, links.rack, links.between)?;
        let fabric = FabricLinks {
            leaf: links.leaf,
            spine: links.spine,
            core: links.core,
        };
        Self::cluster(server, pods, ultraservers, Leaves::Racks(racks), fabric)
    }
}
