//! The shapes that a topology can be built as.

use std::fmt;

/// A shape that a topology can be built as. It tells how nodes, ports and links are laid out, which a name doesn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// [`Topology::ring`](super::Topology::ring).
    Ring,
    /// [`Topology::mesh`](super::Topology::mesh).
    Mesh,
    /// [`Topology::torus`](super::Topology::torus).
    Torus,
    /// [`Topology::fully_connected`](super::Topology::fully_connected).
    FullyConnected,
    /// [`Topology::switch`](super::Topology::switch).
    Switch,
    /// [`Topology::leaf_spine`](super::Topology::leaf_spine).
    LeafSpine,
    /// [`Topology::ultraserver`](super::Topology::ultraserver).
    UltraServer,
    /// [`Topology::ultracluster`](super::Topology::ultracluster).
    UltraCluster,
    /// [`Topology::from_links`](super::Topology::from_links).
    Custom,
}

impl Family {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Mesh => "mesh",
            Self::Torus => "torus",
            Self::FullyConnected => "fully_connected",
            Self::Switch => "switch",
            Self::LeafSpine => "leaf_spine",
            Self::UltraServer => "ultraserver",
            Self::UltraCluster => "ultracluster",
            Self::Custom => "custom",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
