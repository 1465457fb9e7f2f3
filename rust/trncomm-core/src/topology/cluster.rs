//! Many servers that are alike, of any named shape, on a network of three levels of switches: leaves, spines and cores.

use std::ops::Range;
use std::sync::Arc;

use super::ports::Group;
use super::routing::{Formula, Routing};
use super::wiring::{End, Size, Wiring, at_least_one};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;
use crate::ids::{LinkId, NodeId, RankId};

/// Which chips of a server share a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// A server is cut into so many racks of chips that follow one another, and each rack has a leaf of its own.
    Racks(usize),
    /// A pod has so many leaves, and chip c of each of its servers is below leaf c modulo that number.
    Rails(usize),
}

/// The links of the network between servers, by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FabricLinks {
    /// From a chip to its leaf.
    pub leaf: LinkSpec,
    /// From a leaf to each spine of its pod.
    pub spine: LinkSpec,
    /// From a spine to each of its cores.
    pub core: LinkSpec,
}

/// Routes of a cluster, in closed form.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pods: usize,
    /// Servers in each pod.
    each: usize,
    /// Chips of a server.
    chips: usize,
    /// Switches within a server.
    switches: usize,
    /// A chip's port to its leaf, after those within the server.
    fabric_port: usize,
    server: Box<Formula>,
    leaves: Leaves,
    first: First,
}

/// The first node of each kind, kept as routes ask for them at every step.
#[derive(Clone, Copy, Debug)]
struct First {
    switch: usize,
    leaf: usize,
    spine: usize,
    core: usize,
}

/// Where a chip is on the network between servers.
#[derive(Clone, Copy)]
struct Place {
    pod: usize,
    /// The number of its leaf within the pod.
    leaf: usize,
    /// Its number below that leaf.
    position: usize,
}

impl Cluster {
    fn servers(&self) -> usize {
        self.pods * self.each
    }

    /// Leaves of a pod.
    fn leaves(&self) -> usize {
        match self.leaves {
            Leaves::Racks(racks) => self.each * racks,
            Leaves::Rails(rails) => rails,
        }
    }

    /// Chips below one leaf.
    fn positions(&self) -> usize {
        self.each * self.chips / self.leaves()
    }

    fn place(&self, chip: usize) -> Place {
        let (server, local) = (chip / self.chips, chip % self.chips);
        let (pod, server) = (server / self.each, server % self.each);
        let (leaf, position) = match self.leaves {
            Leaves::Racks(racks) => {
                let rack = self.chips / racks;
                (server * racks + local / rack, local % rack)
            }
            Leaves::Rails(rails) => (local % rails, server * (self.chips / rails) + local / rails),
        };
        Place { pod, leaf, position }
    }

    /// The node of the cluster that a node of a server is.
    fn node(&self, server: usize, local: usize) -> usize {
        if local < self.chips {
            server * self.chips + local
        } else {
            self.first.switch + server * self.switches + (local - self.chips)
        }
    }

    /// The server of a node below the leaves, and its number there.
    fn within(&self, node: usize) -> (usize, usize) {
        if node < self.first.switch {
            (node / self.chips, node % self.chips)
        } else {
            let switch = node - self.first.switch;
            (switch / self.switches, self.chips + switch % self.switches)
        }
    }

    pub(super) fn port(&self, at: usize, to: usize) -> usize {
        if at < self.first.leaf {
            let (server, local) = self.within(at);
            // A switch of another server hands on to the chip in the destination's place of its own.
            return if local < self.chips && server != to / self.chips {
                self.fabric_port
            } else {
                self.server.port(NodeId::new(local), RankId::new(to % self.chips))
            };
        }
        let (Place { pod, leaf, position }, leaves) = (self.place(to), self.leaves());
        let above = |is_below: bool, ports: usize| if is_below { 0 } else { ports };
        if at < self.first.spine {
            let at = at - self.first.leaf;
            let is_below = match self.leaves {
                // Down to another rack of the server, too: a chip there relays.
                Leaves::Racks(racks) => at / racks == to / self.chips,
                Leaves::Rails(_) => at == pod * leaves + leaf,
            };
            position + above(is_below, self.positions())
        } else if at < self.first.core {
            leaf + above((at - self.first.spine) / self.positions() == pod, leaves)
        } else {
            pod
        }
    }

    /// The ports that are as good as one another: those up from a leaf and from a spine, and those within a server.
    pub(super) fn choices(&self, at: usize) -> Range<usize> {
        let (leaves, positions) = (self.leaves(), self.positions());
        if at < self.first.leaf {
            self.server.choices(NodeId::new(self.within(at).1))
        } else if at < self.first.spine {
            positions..2 * positions
        } else if self.pods > 1 && at < self.first.core {
            leaves..2 * leaves
        } else {
            0..0
        }
    }

    /// How many virtual channels the routes within servers need; those between servers go up and then down.
    pub(super) fn channels(&self) -> u8 {
        self.server.channels()
    }

    /// Whether a link within a server crosses a dateline there.
    pub(super) fn crosses_dateline(&self, tier: usize, from: usize, to: usize) -> bool {
        from < self.first.leaf
            && to < self.first.leaf
            && self
                .server
                .crosses_dateline(tier, self.within(from).1, self.within(to).1)
    }
}

impl Topology {
    /// Servers that are alike in pods, on a network of leaves, spines and cores.
    ///
    /// Shape: `[pods, servers]` and the server's own, with `servers` in each pod. Every chip has one more link each way, to
    /// its leaf (tier `leaf`); `leaves` says which. A pod has as many spines as a leaf has chips, each joined to all leaves
    /// of the pod (tier `spine`), and each spine has as many cores as a pod has leaves, each joined to the spines of the
    /// same number in all pods (tier `core`). So with links of one rate there is as much room above a switch as below it.
    /// A single server has no leaf, a single pod no cores. Switches of servers follow the chips, server by server, then
    /// leaves, spines by pod, and cores by the number of their spines. Costs at chips, packets and fabric are the
    /// server's.
    ///
    /// Routes within a server are its own, also where the way by a leaf has fewer links. Others go up to the spine in the
    /// destination's place below its leaf and, into another pod, on to the core in the place of its leaf in its pod: traffic
    /// to different chips takes different links down (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
    /// permutations on real life fat trees", 2010). Up and then down closes no circle of waiting.
    ///
    /// An error where the server isn't a ring, torus, fully connected, switch or UltraServer, has faults or several ranks a
    /// chip, or where `leaves` doesn't divide its chips along its shape.
    pub fn cluster(
        server: Self,
        pods: usize,
        servers: usize,
        leaves: Leaves,
        links: FabricLinks,
    ) -> Result<Self, TopologyError> {
        at_least_one("pods", pods)?;
        at_least_one("servers", servers)?;
        let formula = formula_of(&server)?;
        let groups = Groups::new(&server, servers, leaves)?;
        let (chips, switches) = (server.ranks(), server.nodes() - server.ranks());
        let each_pod = servers as u128;
        let all = (pods as u128).saturating_mul(each_pod);
        let (pod_leaves, positions) = match leaves {
            Leaves::Racks(racks) => (each_pod.saturating_mul(racks as u128), (chips / racks) as u128),
            Leaves::Rails(rails) => (rails as u128, each_pod.saturating_mul((chips / rails) as u128)),
        };
        let all_leaves = pod_leaves.saturating_mul(pods as u128);
        let all_spines = positions.saturating_mul(pods as u128);
        let all_cores = positions.saturating_mul(pod_leaves);
        let has_leaves = all > 1;
        let outer = if has_leaves { 6 } else { 0 };
        let ports = if has_leaves {
            let of_switches = [positions.saturating_mul(2), pod_leaves.saturating_mul(2), pods as u128];
            of_switches.into_iter().max().unwrap_or_default()
        } else {
            0
        };
        let inner_ports = (0..server.nodes()).map(|node| server.ports(NodeId::new(node)));
        let mut wiring = Wiring::new(&Size {
            nodes: all
                .saturating_mul(server.nodes() as u128)
                .saturating_add(all_leaves)
                .saturating_add(all_spines)
                .saturating_add(all_cores),
            links: all.saturating_mul(server.links() as u128 + outer * chips as u128),
            ports: ports.max(inner_ports.max().unwrap_or(0) as u128 + 1),
        })?;
        let mut first = First {
            switch: pods * servers * chips,
            leaf: pods * servers * server.nodes(),
            spine: 0,
            core: 0,
        };
        let narrow = |count: u128| usize::try_from(count).expect("nodes were counted");
        first.spine = first.leaf + narrow(all_leaves);
        first.core = first.spine + narrow(all_spines);
        let cluster = Cluster {
            pods,
            each: servers,
            chips,
            switches,
            fabric_port: server.ports(NodeId::new(0)),
            server: Box::new(formula),
            leaves,
            first,
        };
        cluster.add_nodes(&mut wiring, &server, &groups, has_leaves);
        cluster.add_inner_links(&mut wiring, &server);
        if has_leaves {
            cluster.add_outer_cables(&mut wiring, &links);
        }
        let shape = [&[pods, servers], server.shape()].concat();
        let mut topology = wiring.finish(Family::UltraCluster, shape, Formula::Cluster(cluster));
        topology.endpoint = server.endpoint;
        topology.packet_format = server.packet_format;
        topology.fabric = server.fabric;
        topology.server = Some((Arc::new(server), leaves));
        Ok(topology)
    }

    /// What a cluster is made of, and which of its chips share a leaf; none for other shapes.
    pub fn server(&self) -> Option<(&Self, Leaves)> {
        self.server.as_ref().map(|(server, leaves)| (&**server, *leaves))
    }
}

/// The routes of what can be a server.
fn formula_of(server: &Topology) -> Result<Formula, TopologyError> {
    let refused = |value: String| {
        Err(TopologyError::Argument {
            argument: "server",
            expected: "a ring, torus, fully connected, switch or UltraServer of one rank a chip without faults"
                .to_owned(),
            value,
        })
    };
    if !server.faults().is_empty() {
        return refused(format!("{} with faults", server.name()));
    }
    match (&server.routing, server.family()) {
        (Routing::Formula(formula), family)
            if server.ranks_per_chip() == 1
                && !matches!(family, Family::Mesh | Family::LeafSpine | Family::UltraCluster) =>
        {
            Ok(formula.clone())
        }
        _ => refused(format!("{} of {} ranks", server.name(), server.ranks())),
    }
}

/// How ports towards chips and leaves are grouped, so that what can be rotated by itself is an extent of its own.
struct Groups {
    /// Of a leaf, towards its chips or towards the spines.
    positions: Group,
    /// Of a spine, towards its leaves or towards the cores.
    leaves: Group,
}

impl Groups {
    fn new(server: &Topology, servers: usize, leaves: Leaves) -> Result<Self, TopologyError> {
        let (argument, number, last) = match leaves {
            Leaves::Racks(racks) => ("racks", racks, server.ranks().checked_div(racks)),
            Leaves::Rails(rails) => ("rails", rails, Some(rails)),
        };
        let split = last.and_then(|last| split(server.shape(), last));
        let divides = number > 0 && server.ranks().is_multiple_of(number);
        let Some((before, after)) = split.filter(|_| divides) else {
            return Err(TopologyError::Argument {
                argument,
                expected: format!("a divisor of the {} chips of a server, along its shape", server.ranks()),
                value: number.to_string(),
            });
        };
        let with_servers = [&[servers], before.as_slice()].concat();
        Ok(match leaves {
            Leaves::Racks(_) => Self {
                positions: Group::of(&after),
                leaves: Group::of(&with_servers),
            },
            Leaves::Rails(_) => Self {
                positions: Group::of(&with_servers),
                leaves: Group::of(&after),
            },
        })
    }
}

/// Extents in two parts, the later of which has that product; an extent may be cut in two. None where that can't be.
fn split(extents: &[usize], last: usize) -> Option<(Vec<usize>, Vec<usize>)> {
    let (mut before, mut after, mut rest) = (extents.to_vec(), Vec::new(), last);
    while rest > 1 {
        let extent = before.pop()?;
        if rest.is_multiple_of(extent) {
            after.push(extent);
            rest /= extent;
        } else if extent.is_multiple_of(rest) {
            after.push(rest);
            before.push(extent / rest);
            rest = 1;
        } else {
            return None;
        }
    }
    after.reverse();
    (rest == 1).then_some((before, after))
}

impl Cluster {
    fn add_nodes(&self, wiring: &mut Wiring, server: &Topology, groups: &Groups, has_leaves: bool) {
        let fabric = if has_leaves { Some(Group::ONE) } else { None };
        let layouts: Vec<u32> = (0..server.nodes())
            .map(NodeId::new)
            .map(|node| {
                let more = fabric.filter(|_| node.index() < self.chips);
                wiring.add_layout_with(server.layout(node), more)
            })
            .collect();
        let (chips, switches) = layouts.split_at(self.chips);
        for of_server in [chips, switches] {
            for _ in 0..self.servers() {
                for &layout in of_server {
                    wiring.add_node(layout);
                }
            }
        }
        if !has_leaves {
            return;
        }
        wiring.add_nodes(self.pods * self.leaves(), &[groups.positions, groups.positions]);
        if self.pods == 1 {
            wiring.add_nodes(self.positions(), &[groups.leaves]);
        } else {
            wiring.add_nodes(self.pods * self.positions(), &[groups.leaves, groups.leaves]);
            wiring.add_nodes(self.positions() * self.leaves(), &[Group::cycle(self.pods)]);
        }
    }

    fn add_inner_links(&self, wiring: &mut Wiring, server: &Topology) {
        let tiers: Vec<u8> = server.tiers().iter().map(|label| wiring.add_tier(label)).collect();
        for number in 0..self.servers() {
            for link in (0..server.links()).map(LinkId::new) {
                let end = |node: NodeId, port: u32| End {
                    node: self.node(number, node.index()),
                    port: port as usize,
                };
                let spec = LinkSpec {
                    bandwidth: server.bandwidth(link),
                    latency: server.latency(link),
                };
                wiring.add_link(
                    end(server.source(link), server.output_port(link)),
                    end(server.destination(link), server.input_port(link)),
                    spec,
                    tiers[usize::from(server.tier(link))],
                );
            }
        }
    }

    /// The cables to leaves, spines and cores.
    fn add_outer_cables(&self, wiring: &mut Wiring, links: &FabricLinks) {
        let (positions, leaves) = (self.positions(), self.leaves());
        let tier = wiring.add_tier("leaf");
        for node in 0..self.first.switch {
            let place = self.place(node);
            let chip = End {
                node,
                port: self.fabric_port,
            };
            let leaf = End {
                node: self.first.leaf + place.pod * leaves + place.leaf,
                port: place.position,
            };
            wiring.add_cable(chip, leaf, links.leaf, tier);
        }
        let tier = wiring.add_tier("spine");
        for leaf in 0..self.pods * leaves {
            for position in 0..positions {
                let lower = End {
                    node: self.first.leaf + leaf,
                    port: positions + position,
                };
                let upper = End {
                    node: self.first.spine + leaf / leaves * positions + position,
                    port: leaf % leaves,
                };
                wiring.add_cable(lower, upper, links.spine, tier);
            }
        }
        if self.pods == 1 {
            return;
        }
        let tier = wiring.add_tier("core");
        for pod in 0..self.pods {
            for position in 0..positions {
                for number in 0..leaves {
                    let lower = End {
                        node: self.first.spine + pod * positions + position,
                        port: leaves + number,
                    };
                    let upper = End {
                        node: self.first.core + position * leaves + number,
                        port: pod,
                    };
                    wiring.add_cable(lower, upper, links.core, tier);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn extents_are_cut_where_the_product_says_or_not_at_all() {
        assert_eq!(split(&[2, 18, 4], 72), Some((vec![2], vec![18, 4])));
        assert_eq!(split(&[4, 4, 4], 2), Some((vec![4, 4, 2], vec![2])));
        assert_eq!(split(&[2, 18, 4], 12), Some((vec![2, 6], vec![3, 4])));
        assert_eq!(split(&[4, 4], 1), Some((vec![4, 4], vec![])));
        assert_eq!(split(&[4, 4], 3), None);
        assert_eq!(split(&[4, 4], 32), None);
    }
}
