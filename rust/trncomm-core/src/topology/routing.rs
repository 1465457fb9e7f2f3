//! How the next link towards a rank is found: in closed form for a named shape, by a table for a list of links.

use std::ops::Range;
use std::sync::Arc;

use super::Topology;
use super::cluster::Cluster;
use super::cores::Cores;
use super::fully_connected::FullyConnected;
use super::grid::Grid;
use super::leaf_spine::LeafSpine;
use super::switch::Switch;
use super::table::RouteTable;
use super::ultraserver::UltraServer;
use crate::error::TopologyError;
use crate::ids::{LinkId, NodeId, RankId};

#[derive(Clone, Debug)]
pub(super) enum Routing {
    Formula(Formula),
    /// Shared by all views under whose faults the routes are the same.
    Table(Arc<RouteTable>),
}

impl From<Formula> for Routing {
    fn from(formula: Formula) -> Self {
        Self::Formula(formula)
    }
}

/// The routes of a named shape, over links that are all up.
///
/// INVARIANT: each link of a set leads one hop closer, from every node and not from ranks only. Routes are as short as can
/// be, but for those within a server of a cluster, which don't leave it for a shorter way over its leaf.
#[derive(Clone, Debug)]
pub(super) enum Formula {
    /// Ring, mesh and torus.
    Grid(Grid),
    FullyConnected(FullyConnected),
    Switch(Switch),
    LeafSpine(LeafSpine),
    UltraServer(UltraServer),
    Cluster(Cluster),
    Cores(Cores),
}

impl Formula {
    /// The port of the fixed route, one of [`Self::ports`].
    pub(super) fn port(&self, at: NodeId, to: RankId) -> usize {
        let (at, to) = (at.index(), to.index());
        match self {
            Self::Grid(grid) => grid.port(at, to),
            Self::FullyConnected(mesh) => mesh.port(at, to),
            Self::Switch(switch) => switch.port(at, to),
            Self::LeafSpine(clos) => clos.port(at, to),
            Self::UltraServer(server) => server.port(at, to),
            Self::Cluster(cluster) => cluster.port(at, to),
            Self::Cores(cores) => cores.port(at, to),
        }
    }

    /// The ports of all ways that are as good.
    pub(super) fn ports(&self, at: NodeId, to: RankId) -> Range<usize> {
        let (port, choices) = (self.port(at, to), self.choices(at));
        if choices.contains(&port) {
            choices
        } else {
            port..port + 1
        }
    }

    /// The ports of a node that are as good as one another for every rank to which one of them leads; none where each
    /// is the only one.
    pub(super) fn choices(&self, at: NodeId) -> Range<usize> {
        match self {
            Self::Switch(switch) => switch.choices(at.index()),
            Self::LeafSpine(clos) => clos.choices(at.index()),
            Self::Cluster(cluster) => cluster.choices(at.index()),
            Self::Cores(cores) => cores.choices(at.index()),
            Self::Grid(_) | Self::FullyConnected(_) | Self::UltraServer(_) => 0..0,
        }
    }

    /// See [`Topology::channels`].
    pub(super) fn channels(&self) -> u8 {
        match self {
            Self::Grid(grid) if grid.has_circles() => 2,
            Self::Cluster(cluster) => cluster.channels(),
            Self::Cores(cores) => cores.channels(),
            Self::Grid(_) | Self::FullyConnected(_) | Self::Switch(_) | Self::LeafSpine(_) | Self::UltraServer(_) => 1,
        }
    }

    /// Whether a link of that tier crosses the dateline of a grid.
    pub(super) fn crosses_dateline(&self, tier: usize, from: usize, to: usize) -> bool {
        match self {
            // INVARIANT: the tiers of a grid are its dimensions, also where other tiers follow.
            Self::Grid(grid) => grid.crosses_dateline(tier, from, to),
            Self::Cluster(cluster) => cluster.crosses_dateline(tier, from, to),
            Self::Cores(cores) => cores.crosses_dateline(tier, from, to),
            Self::FullyConnected(_) | Self::Switch(_) | Self::LeafSpine(_) | Self::UltraServer(_) => false,
        }
    }
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
        if self.pass_grid(from, to, path) {
            return Ok(());
        }
        path.clear();
        let start = NodeId::from(from.get());
        let (mut at, mut is_broken) = (start, false);
        while at.get() != to.get() {
            let link = if is_broken {
                self.next_link(at, to)
            } else {
                self.usual_link(at, to)
            };
            if self.is_up(link) {
                path.push(link);
                at = self.destination(link);
            } else {
                // A detour may turn off long before the link that is down.
                path.clear();
                (at, is_broken) = (start, true);
            }
        }
        Ok(())
    }

    /// Puts the fixed route over a grid into `path`; says whether that is the route: a grid, without a link down on it.
    fn pass_grid(&self, from: RankId, to: RankId, path: &mut Vec<LinkId>) -> bool {
        let Routing::Formula(Formula::Grid(grid)) = &self.routing else {
            return false;
        };
        grid.for_each_port(from.index(), to.index(), |at, port| {
            path.push(self.out_links(NodeId::new(at))[port]);
        });
        self.are_all_up() || path.iter().all(|&link| self.is_up(link))
    }

    /// The link by which traffic for a rank leaves a node on its fixed route.
    ///
    /// It depends on the destination alone, so a route never differs by where it began. One of [`Self::next_links`].
    ///
    /// # Panics
    /// If `at` is the destination itself, or a switch that no route to `to` passes.
    pub fn next_link(&self, at: NodeId, to: RankId) -> LinkId {
        let usual = self.usual_link(at, to);
        self.detours(to).map_or(usual, |(formula, detours)| {
            detours.next_link(self, at, to, usual, self.usual_links(formula, at, to))
        })
    }

    /// Puts all links on which traffic for a rank may leave a node into `links`, by ascending output port.
    ///
    /// They are equally good: each leads to a node that is one hop closer, so that no choice among them makes a loop or a
    /// longer way. From a chip under planes they are the links to all planes; from a leaf those to all spines;
    /// on a grid, where dimensions are corrected in order, and on the other named shapes there is one, that of
    /// [`Self::next_link`], also half-way round a ring; for a list of links they are those of all shortest ways. What a
    /// view's faults have broken is left out. Empty where `at` is the destination.
    pub fn next_links(&self, at: NodeId, to: RankId, links: &mut Vec<LinkId>) {
        links.clear();
        if at.get() == to.get() {
            return;
        }
        match &self.routing {
            Routing::Table(table) => links.extend(table.links(self, at, to)),
            Routing::Formula(formula) => {
                let usual = self.usual_links(formula, at, to);
                match self.detours(to) {
                    Some((_, detours)) => links.extend(detours.links(self, at, usual)),
                    None => links.extend_from_slice(usual),
                }
            }
        }
    }

    /// The virtual channel that a packet uses on `link`, given the link before and its channel there.
    ///
    /// On a ring or torus the links of one direction close a circle, and packets that each hold a buffer of it and wait for
    /// the next would wait for ever. So each dimension has a dateline, the link between its last coordinate and its first: a packet
    /// is on channel 1 from there on until it turns into another dimension, on 0 before. Neither channel closes a
    /// circle then, as a packet crosses a dateline once at most, and dimensions are passed in order (Dally and Seitz,
    /// "Deadlock-free message routing in multiprocessor interconnection networks", 1987). 0 on other shapes. Below
    /// [`Self::channels`].
    ///
    /// A dateline is a place. Where channels matter, with finite buffers or turns, a ring isn't the same from every rank.
    pub fn channel(&self, previous: Option<(LinkId, u8)>, link: LinkId) -> u8 {
        let Routing::Formula(formula) = &self.routing else {
            return 0;
        };
        let dimension = self.tier(link);
        let (from, to) = (self.source(link).index(), self.destination(link).index());
        if formula.crosses_dateline(usize::from(dimension), from, to) {
            return 1;
        }
        match previous {
            Some((before, channel)) if self.tier(before) == dimension => channel,
            _ => 0,
        }
    }

    /// How many virtual channels keep packets on this shape's routes from waiting for one another in a circle, each on its
    /// [`Self::channel`].
    ///
    /// 2 where some dimension of 3 or more wraps around (3 needs them only with links down, as a route takes one link of
    /// it otherwise); 1 elsewhere. Without them a mesh passes dimensions in order, switches pass links up and then
    /// down, and an UltraServer's route takes a link between racks at most once and first, then one up, then one down: a chip
    /// that relays sends what came from another rack into its own, never back.
    ///
    /// Nothing is promised for a list of links, nor where links are down on any shape but a ring: detours turn as they must.
    pub fn channels(&self) -> u8 {
        match &self.routing {
            Routing::Formula(formula) => formula.channels(),
            Routing::Table(_) => 1,
        }
    }

    /// Whether routes are looked up in a table, one entry for each node and rank, instead of found by a formula.
    pub(crate) fn is_routed_by_table(&self) -> bool {
        matches!(self.routing, Routing::Table(_))
    }

    /// The next link of the fixed route where all links of a named shape are up; whatever is up for a list of links.
    pub(super) fn usual_link(&self, at: NodeId, to: RankId) -> LinkId {
        match &self.routing {
            // INVARIANT: every port of a named shape has one outgoing link, so a node's links are indexed by port.
            Routing::Formula(formula) => self.out_links(at)[formula.port(at, to)],
            Routing::Table(table) => table.next(at, to),
        }
    }

    pub(super) fn usual_links(&self, formula: &Formula, at: NodeId, to: RankId) -> &[LinkId] {
        &self.out_links(at)[formula.ports(at, to)]
    }
}
