//! Faults: a view of a topology in which something is down, slow, late or unreliable.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use super::Topology;
use super::detours::{Detours, damaged};
use super::routing::{Formula, Routing};
use super::table::RouteTable;
use crate::error::TopologyError;
use crate::ids::{LinkId, NodeId, RankId};
use crate::units::{Bandwidth, Time};

/// Something that is wrong with a part of a topology.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A directed link carries nothing; a cable that is cut is two of them.
    LinkDown(LinkId),
    /// A link sends at `numerator` / `denominator` of its rate, rounded down to whole bytes a second.
    LinkSlow {
        /// The link.
        link: LinkId,
        /// From 1 to `denominator`.
        numerator: u32,
        /// At least 1.
        denominator: u32,
    },
    /// A link gets bits wrong, so that packets are sent again.
    LinkErrors {
        /// The link.
        link: LinkId,
        /// The share of bits that come out wrong, from 0 to below 1.
        bit_error_rate: f64,
    },
    /// A switch carries nothing: all its links are down, in and out.
    NodeDown(NodeId),
    /// A rank begins late.
    Late {
        /// The rank.
        rank: RankId,
        /// By how much.
        by: Time,
    },
    /// Launch, completion, reduction and copy of a rank take `numerator` / `denominator` times as long.
    Slow {
        /// The rank.
        rank: RankId,
        /// At least `denominator`.
        numerator: u32,
        /// At least 1.
        denominator: u32,
    },
}

/// What faults have made of a topology.
#[derive(Clone, Debug, Default)]
pub(super) struct Damage {
    faults: Vec<Fault>,
    /// Whether each link is down; empty while all are up.
    down: Vec<bool>,
    /// The rates of slow links before they were.
    slow_links: BTreeMap<LinkId, Bandwidth>,
    errors: BTreeMap<LinkId, f64>,
    late: BTreeMap<RankId, Time>,
    slow: BTreeMap<RankId, (u32, u32)>,
    /// The nodes that have lost all usual links to some rank.
    damaged: Vec<NodeId>,
    /// For each rank, what is cut off from it, found when first asked for; empty while all links are up, and where a
    /// table knows.
    detours: Vec<OnceLock<Detours>>,
}

impl Topology {
    /// A view of the topology with faults, besides those that it has already.
    ///
    /// Nodes, ports and links keep their numbers, so that results compare column by column: a link that is down keeps
    /// its row and its place in [`Self::out_links`], but no route takes it. Routes that are whole stay as they are. Those that are
    /// not follow, from the first node that has no way left among its usual [`Self::next_links`], a shortest way over what
    /// is left; where several links are as good, named shapes take the one in the place of the destination modulo their number,
    /// lists of links that of the lowest output port.
    ///
    /// No table over all pairs is made for a named shape: for a rank that a broken route leads to, the nodes that are
    /// cut off from it are listed when first asked for.
    ///
    /// An error names what isn't there or is out of range, a chip that is to be down, a second fault of one kind on one link or
    /// rank (that it is down may be said twice), or two ranks that no path joins any more.
    pub fn with_faults(&self, faults: &[Fault]) -> Result<Self, TopologyError> {
        let mut view = self.clone();
        for &fault in faults {
            view.apply(fault)?;
        }
        view.damage.faults.extend_from_slice(faults);
        let has_new_down = faults
            .iter()
            .any(|fault| matches!(fault, Fault::LinkDown(_) | Fault::NodeDown(_)));
        if has_new_down {
            view.reroute()?;
        }
        Ok(view)
    }

    /// The faults of this view, in the order given; none unless it is one.
    pub fn faults(&self) -> &[Fault] {
        &self.damage.faults
    }

    /// Whether a link carries anything.
    pub fn is_up(&self, link: LinkId) -> bool {
        !self.damage.down.get(link.index()).is_some_and(|&down| down)
    }

    /// Whether no link is down.
    pub(super) fn are_all_up(&self) -> bool {
        self.damage.down.is_empty()
    }

    /// The rate that a link would have without faults.
    pub fn whole_bandwidth(&self, link: LinkId) -> Bandwidth {
        self.damage
            .slow_links
            .get(&link)
            .copied()
            .unwrap_or_else(|| self.bandwidth(link))
    }

    /// The share of a link's bits that come out wrong.
    pub fn bit_error_rate(&self, link: LinkId) -> f64 {
        self.damage.errors.get(&link).copied().unwrap_or(0.0)
    }

    /// How much later than the others a rank begins.
    pub fn late(&self, rank: RankId) -> Time {
        self.damage.late.get(&rank).copied().unwrap_or(Time::ZERO)
    }

    /// How many times longer a rank's launch, completion, reduction and copy take, as numerator and denominator.
    pub fn slowness(&self, rank: RankId) -> (u32, u32) {
        self.damage.slow.get(&rank).copied().unwrap_or((1, 1))
    }

    /// What is cut off from a rank, where links are down in a named shape.
    pub(super) fn detours(&self, to: RankId) -> Option<(&Formula, &Detours)> {
        let Routing::Formula(formula) = &self.routing else {
            return None;
        };
        let slot = self.damage.detours.get(to.index())?;
        let detours = slot.get_or_init(|| Detours::find(self, formula, &self.damage.damaged, to));
        Some((formula, detours))
    }

    fn apply(&mut self, fault: Fault) -> Result<(), TopologyError> {
        match fault {
            Fault::LinkDown(link) => {
                self.check_link(link)?;
                self.take_down(link);
            }
            Fault::LinkSlow {
                link,
                numerator,
                denominator,
            } => {
                self.check_link(link)?;
                if numerator == 0 || numerator > denominator {
                    return Err(out_of_range(
                        "fraction of a link's rate",
                        "above 0 and at most 1",
                        format!("{numerator}/{denominator} for link {link}"),
                    ));
                }
                let rate = &mut self.bandwidths[link.index()];
                let is_first = self.damage.slow_links.insert(link, *rate).is_none();
                once(is_first, "LinkSlow", "link", link.get())?;
                *rate = rate.fraction(numerator, denominator)?;
            }
            Fault::LinkErrors { link, bit_error_rate } => {
                self.check_link(link)?;
                if !(0.0..1.0).contains(&bit_error_rate) {
                    return Err(out_of_range(
                        "bit error rate",
                        "from 0 to below 1",
                        format!("{bit_error_rate} for link {link}"),
                    ));
                }
                let is_first = self.damage.errors.insert(link, bit_error_rate).is_none();
                once(is_first, "LinkErrors", "link", link.get())?;
            }
            Fault::NodeDown(node) => {
                self.check_switch(node)?;
                let links = [self.out_links.of(node), self.in_links.of(node)].concat();
                for link in links {
                    self.take_down(link);
                }
            }
            Fault::Late { rank, by } => {
                self.check_rank(rank)?;
                let is_first = self.damage.late.insert(rank, by).is_none();
                once(is_first, "Late", "rank", rank.get())?;
            }
            Fault::Slow {
                rank,
                numerator,
                denominator,
            } => {
                self.check_rank(rank)?;
                if denominator == 0 || numerator < denominator {
                    return Err(out_of_range(
                        "slowness",
                        "at least 1",
                        format!("{numerator}/{denominator} for rank {rank}"),
                    ));
                }
                let is_first = self.damage.slow.insert(rank, (numerator, denominator)).is_none();
                once(is_first, "Slow", "rank", rank.get())?;
            }
        }
        Ok(())
    }

    fn take_down(&mut self, link: LinkId) {
        self.damage.down.resize(self.sources.len(), false);
        self.damage.down[link.index()] = true;
    }

    /// Finds the routes over what is left, or an error that names two ranks without a path.
    fn reroute(&mut self) -> Result<(), TopologyError> {
        match &self.routing {
            Routing::Table(_) => self.routing = Routing::Table(Arc::new(RouteTable::new(self)?)),
            Routing::Formula(formula) => {
                self.check_connected()?;
                self.damage.damaged = damaged(self, formula);
                self.damage.detours = vec![OnceLock::new(); self.ranks];
            }
        }
        Ok(())
    }

    /// Every rank reaches every other if all reach rank 0 and are reached from there.
    fn check_connected(&self) -> Result<(), TopologyError> {
        let reached = self.reached(|node| self.out_links(node), |link| self.destination(link));
        if let Some(to) = reached[..self.ranks].iter().position(|&reached| !reached) {
            return Err(TopologyError::Disconnected {
                from: 0,
                to: RankId::new(to).get(),
            });
        }
        let reaching = self.reached(|node| self.in_links(node), |link| self.source(link));
        if let Some(from) = reaching[..self.ranks].iter().position(|&reaching| !reaching) {
            return Err(TopologyError::Disconnected {
                from: RankId::new(from).get(),
                to: 0,
            });
        }
        Ok(())
    }

    /// Whether each node is found from node 0 over the links that are up.
    fn reached<'t>(&'t self, links: impl Fn(NodeId) -> &'t [LinkId], end: impl Fn(LinkId) -> NodeId) -> Vec<bool> {
        let mut reached = vec![false; self.nodes()];
        reached[0] = true;
        let mut open = VecDeque::from([NodeId::new(0)]);
        while let Some(node) = open.pop_front() {
            for &link in links(node) {
                let next = end(link);
                if self.is_up(link) && !reached[next.index()] {
                    reached[next.index()] = true;
                    open.push_back(next);
                }
            }
        }
        reached
    }

    fn check_link(&self, link: LinkId) -> Result<(), TopologyError> {
        below("link", link.get(), self.links(), "links")
    }

    fn check_rank(&self, rank: RankId) -> Result<(), TopologyError> {
        below("rank", rank.get(), self.ranks, "ranks")
    }

    fn check_switch(&self, node: NodeId) -> Result<(), TopologyError> {
        below("node", node.get(), self.nodes(), "nodes")?;
        if self.is_chip(node) {
            return Err(out_of_range(
                "node that is down",
                "a switch, as the rank of a chip takes part in every collective that doesn't leave it out",
                format!("{node}, a chip"),
            ));
        }
        Ok(())
    }
}

fn below(argument: &'static str, value: u32, count: usize, what: &str) -> Result<(), TopologyError> {
    if value as usize >= count {
        let expected = format!("below {count}, the number of {what}");
        return Err(out_of_range(argument, &expected, value.to_string()));
    }
    Ok(())
}

/// An error unless this is the first fault of its kind on a link or rank: of two, neither is the truth.
fn once(is_first: bool, kind: &str, what: &str, id: u32) -> Result<(), TopologyError> {
    if is_first {
        return Ok(());
    }
    Err(out_of_range(
        "faults",
        &format!("at most one {kind} for a {what}"),
        format!("a second one for {what} {id}"),
    ))
}

fn out_of_range(argument: &'static str, expected: &str, value: String) -> TopologyError {
    TopologyError::Argument {
        argument,
        expected: expected.to_owned(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, LinkId, NodeId, RankId, Topology};
    use crate::topology::LinkSpec;
    use crate::units::{Bandwidth, Time};

    fn spec() -> LinkSpec {
        LinkSpec {
            bandwidth: Bandwidth::new(64_000_000_000).expect("not zero"),
            latency: Time::ZERO,
        }
    }

    /// For how many ranks detours were looked for, and how many nodes were found cut off from them in all.
    fn listed(view: &Topology) -> (usize, usize) {
        let found = view.damage.detours.iter().filter_map(|slot| slot.get());
        found.fold((0, 0), |(ranks, nodes), detours| (ranks + 1, nodes + detours.len()))
    }

    fn route(view: &Topology, from: usize, to: usize) {
        view.route(RankId::new(from), RankId::new(to), &mut Vec::new())
            .expect("both exist");
    }

    #[test]
    fn whole_routes_list_no_detours() {
        let torus = Topology::torus(&[100, 100], &[spec()]).expect("a torus");
        let view = torus.with_faults(&[Fault::LinkDown(LinkId::new(0))]).expect("a view");
        // The link goes from rank 0 up in x, which no other row uses.
        for to in 0..10_000 {
            route(&view, 1, to);
        }
        assert_eq!(listed(&view), (0, 0));
    }

    #[test]
    fn a_broken_route_lists_what_is_cut_off_from_its_end_only() {
        let torus = Topology::torus(&[100, 100], &[spec()]).expect("a torus");
        let view = torus.with_faults(&[Fault::LinkDown(LinkId::new(0))]).expect("a view");
        route(&view, 0, 100);
        // Up to 50 steps go up: from the 50 chips of the row at and before rank 0.
        assert_eq!(listed(&view), (1, 50));
    }

    #[test]
    fn a_plane_down_cuts_off_only_itself() {
        let switch = Topology::switch(10_000, 4, spec()).expect("a switch");
        let plane = Fault::NodeDown(NodeId::new(10_000));
        let view = switch.with_faults(&[plane]).expect("three are left");
        for to in [4, 8, 12] {
            route(&view, 1, to);
        }
        assert_eq!(listed(&view), (3, 3));
    }
}
