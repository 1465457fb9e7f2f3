//! How the next link towards a rank is found: in closed form for a named shape, by a table for a list of links.

use super::Topology;
use super::custom::RouteTable;
use super::fully_connected::FullyConnected;
use super::grid::Grid;
use super::leaf_spine::LeafSpine;
use super::switch::Switch;
use super::ultraserver::UltraServer;
use crate::error::TopologyError;
use crate::ids::{LinkId, NodeId, RankId};

#[derive(Clone, Debug)]
pub(super) enum Routing {
    /// Ring, mesh and torus.
    Grid(Grid),
    FullyConnected(FullyConnected),
    Switch(Switch),
    LeafSpine(LeafSpine),
    UltraServer(UltraServer),
    Table(RouteTable),
}

impl Topology {
    /// Puts the fixed route from one rank to another into `path`, in place of what it held.
    ///
    /// Empty where both are the same rank. An error names a rank that isn't there.
    pub fn route(&self, from: RankId, to: RankId, path: &mut Vec<LinkId>) -> Result<(), TopologyError> {
        path.clear();
        for rank in [from, to] {
            if rank.index() >= self.ranks {
                return Err(TopologyError::Argument {
                    argument: "rank",
                    expected: format!("below {}, the number of ranks", self.ranks),
                    value: rank.to_string(),
                });
            }
        }
        let mut at = NodeId::from(from.get());
        while at.get() != to.get() {
            let link = self.next_link(at, to);
            path.push(link);
            at = self.destination(link);
        }
        Ok(())
    }

    /// The link by which traffic for a rank leaves a node on its fixed route.
    ///
    /// It depends on the destination alone, so a route never differs by where it began.
    ///
    /// # Panics
    /// If `at` is the destination itself, or a switch that no route to `to` passes.
    pub fn next_link(&self, at: NodeId, to: RankId) -> LinkId {
        let (node, rank) = (at.index(), to.index());
        // INVARIANT: every port of a named shape has one outgoing link, so a node's links are indexed by port.
        let port = match &self.routing {
            Routing::Grid(grid) => grid.port(node, rank),
            Routing::FullyConnected(mesh) => mesh.port(node, rank),
            Routing::Switch(switch) => switch.port(node, rank),
            Routing::LeafSpine(clos) => clos.port(node, rank),
            Routing::UltraServer(server) => server.port(node, rank),
            Routing::Table(table) => return table.next(at, to),
        };
        self.out_links(at)[port]
    }
}
