//! Routes by table: the next link from every node to every rank, found by breadth-first search.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::OnceLock;

use super::Topology;
use super::wiring::at_most;
use crate::error::TopologyError;
use crate::ids::{LinkId, NodeId, RankId};

/// The most entries of a route table: four bytes each, 1 GiB together, and as much again once all sets are asked for.
const MOST_ROUTES: u128 = 1 << 28;

/// How far each node is from one rank: one more than the links on the way, nothing where there is no way.
type Hops = Vec<Option<NonZeroU32>>;

/// The next link from every node to every rank, one row per rank.
#[derive(Clone, Debug)]
pub(super) struct RouteTable {
    nodes: usize,
    /// The link's id plus one, nothing where there is no path.
    next: Vec<Option<NonZeroU32>>,
    /// The rows of those ranks whose sets of next links were asked for.
    hops: Vec<OnceLock<Hops>>,
}

impl RouteTable {
    /// The table of a topology before it has links.
    pub(super) fn empty() -> Self {
        Self {
            nodes: 0,
            next: Vec::new(),
            hops: Vec::new(),
        }
    }

    /// An error where the table would have too many entries.
    pub(super) fn check_size(ranks: usize, nodes: usize) -> Result<(), TopologyError> {
        at_most("entries of the route table", ranks as u128 * nodes as u128, MOST_ROUTES).map(|_| ())
    }

    /// Fewest hops over the links that are up; of several next links, that of the lowest output port.
    ///
    /// An error names two ranks without a path.
    pub(super) fn new(topology: &Topology) -> Result<Self, TopologyError> {
        let nodes = topology.nodes();
        let mut next = Vec::with_capacity(topology.ranks() * nodes);
        let mut hops = Vec::with_capacity(nodes);
        let mut queue = VecDeque::with_capacity(nodes);
        for to in (0..topology.ranks()).map(RankId::new) {
            search(topology, to, &mut hops, &mut queue);
            if let Some(from) = hops[..topology.ranks()].iter().position(Option::is_none) {
                return Err(TopologyError::Disconnected {
                    from: RankId::new(from).get(),
                    to: to.get(),
                });
            }
            next.extend((0..nodes).map(|node| {
                let link = closer(topology, &hops, NodeId::new(node)).next()?;
                NonZeroU32::new(link.get() + 1)
            }));
        }
        Ok(Self {
            nodes,
            next,
            hops: vec![OnceLock::new(); topology.ranks()],
        })
    }

    pub(super) fn next(&self, at: NodeId, to: RankId) -> LinkId {
        let entry = self.next[to.index() * self.nodes + at.index()];
        LinkId::from(entry.expect("a route passes only nodes with a path to its end").get() - 1)
    }

    /// The links of all shortest ways, by ascending output port.
    pub(super) fn links<'t>(&'t self, topology: &'t Topology, at: NodeId, to: RankId) -> impl Iterator<Item = LinkId> {
        let hops = self.hops[to.index()].get_or_init(|| {
            let mut hops = Vec::with_capacity(self.nodes);
            search(topology, to, &mut hops, &mut VecDeque::new());
            hops
        });
        closer(topology, hops, at)
    }
}

/// Fills `hops` by a search from `to` against the links that are up.
fn search(topology: &Topology, to: RankId, hops: &mut Hops, queue: &mut VecDeque<(NodeId, NonZeroU32)>) {
    hops.clear();
    hops.resize(topology.nodes(), None);
    hops[to.index()] = Some(NonZeroU32::MIN);
    queue.push_back((NodeId::from(to.get()), NonZeroU32::MIN));
    while let Some((node, distance)) = queue.pop_front() {
        let farther = distance
            .checked_add(1)
            .expect("a way has fewer links than there are nodes");
        for &link in topology.in_links(node) {
            let source = topology.source(link);
            if topology.is_up(link) && hops[source.index()].is_none() {
                hops[source.index()] = Some(farther);
                queue.push_back((source, farther));
            }
        }
    }
}

/// The links from a node that are up and lead one hop closer.
fn closer<'t>(topology: &'t Topology, hops: &'t Hops, at: NodeId) -> impl Iterator<Item = LinkId> {
    let distance = hops[at.index()].map_or(0, NonZeroU32::get);
    topology.out_links(at).iter().copied().filter(move |&link| {
        let rest = hops[topology.destination(link).index()];
        topology.is_up(link) && rest.is_some_and(|rest| rest.get() + 1 == distance)
    })
}
