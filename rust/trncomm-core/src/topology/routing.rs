//! How the next link towards a rank is found: in closed form for a named shape, by a table for a list of links.

use super::custom::RouteTable;
use super::fully_connected::FullyConnected;
use super::grid::Grid;
use super::leaf_spine::LeafSpine;
use super::switch::Switch;
use super::ultraserver::UltraServer;

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
