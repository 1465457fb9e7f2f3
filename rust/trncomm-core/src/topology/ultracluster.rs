//! Many UltraServers on a network of three levels of switches: leaves, spines and cores.

use std::ops::Range;

use super::ports::Group;
use super::routing::Formula;
use super::ultraserver::{FIRST_PEER_PORT, Nodes, UltraServer};
use super::wiring::{End, Size, Wiring, at_least_one, product};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;

#[derive(Clone, Copy, Debug)]
pub(super) struct UltraCluster {
    pods: usize,
    /// UltraServers in each pod.
    each: usize,
    server: UltraServer,
    first: First,
}

/// The first node of each kind, kept as routes ask for them at every step.
#[derive(Clone, Copy, Debug)]
struct First {
    server_switch: usize,
    rack_switch: usize,
    leaf: usize,
    spine: usize,
    core: usize,
}

impl UltraCluster {
    fn new(pods: usize, each: usize, server: UltraServer) -> Self {
        let ultraservers = pods * each;
        let server_switch = ultraservers * server.ranks();
        let rack_switch = server_switch + ultraservers * server.server_switches();
        let leaf = rack_switch + ultraservers * server.racks;
        let spine = leaf + ultraservers * server.racks;
        let first = First {
            server_switch,
            rack_switch,
            leaf,
            spine,
            core: spine + pods * server.rack_size(),
        };
        Self {
            pods,
            each,
            server,
            first,
        }
    }

    fn ultraservers(self) -> usize {
        self.pods * self.each
    }

    /// Chips of a rack, below one leaf.
    fn places(self) -> usize {
        self.server.rack_size()
    }

    /// Leaves of a pod.
    fn leaves(self) -> usize {
        self.each * self.server.racks
    }

    fn ranks(self) -> usize {
        self.first.server_switch
    }

    /// The first switch of a server of an UltraServer.
    fn server_switch(self, ultraserver: usize) -> usize {
        self.first.server_switch + ultraserver * self.server.server_switches()
    }

    /// The first switch of a rack of an UltraServer.
    fn rack_switch(self, ultraserver: usize) -> usize {
        self.first.rack_switch + ultraserver * self.server.racks
    }

    /// The leaf of a rack, counted over all.
    fn leaf(self, rack: usize) -> usize {
        self.first.leaf + rack
    }

    fn spine(self, pod: usize, place: usize) -> usize {
        self.first.spine + pod * self.places() + place
    }

    fn core(self, place: usize, number: usize) -> usize {
        self.first.core + place * self.leaves() + number
    }

    /// A chip's port to the leaf, after those inside the UltraServer.
    fn fabric_port(self) -> usize {
        FIRST_PEER_PORT + self.server.racks - 1
    }

    pub(super) fn port(self, at: usize, to: usize) -> usize {
        let (size, places, leaves) = (self.server.ranks(), self.places(), self.leaves());
        let (rack, place) = (to / places, to % places);
        let above = |is_below: bool, ports: usize| if is_below { 0 } else { ports };
        if at < self.ranks() {
            if at / size == to / size {
                self.server.port(at % size, to % size)
            } else {
                self.fabric_port()
            }
        } else if at < self.first.rack_switch {
            place % self.server.chips
        } else if at < self.first.leaf {
            place
        } else if at < self.first.spine {
            // Down to another rack of the UltraServer, too: a chip there relays.
            let below = (at - self.first.leaf) / self.server.racks;
            place + above(below == to / size, places)
        } else if at < self.first.core {
            rack % leaves + above((at - self.first.spine) / places == rack / leaves, leaves)
        } else {
            rack / leaves
        }
    }

    /// The ports that are as good as one another: those up from a leaf, and from a spine.
    pub(super) fn choices(self, at: usize) -> Range<usize> {
        if (self.first.leaf..self.first.spine).contains(&at) {
            self.places()..2 * self.places()
        } else if self.pods > 1 && (self.first.spine..self.first.core).contains(&at) {
            self.leaves()..2 * self.leaves()
        } else {
            0..0
        }
    }
}

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
    /// UltraServers as of [`Self::ultraserver`], in pods, on a network of leaves, spines and cores.
    ///
    /// Shape `[pods, ultraservers, racks, servers, chips]`, with `ultraservers` in each pod. Every chip has one more link
    /// each way, to the leaf of its rack (tier `leaf`). A pod has as many spines as a rack has chips, each joined to all
    /// leaves of the pod (tier `spine`), and each spine has as many cores as a pod has leaves, each joined to the spines
    /// of the same number in all pods (tier `core`). So with links of one rate there is as much room above a switch as
    /// below it. A single UltraServer has no leaf, a single pod no cores. Switches of servers follow the chips, then
    /// those of racks, leaves, spines by pod, and cores by the number of their spines.
    ///
    /// Within an UltraServer routes are those of [`Self::ultraserver`]. Others go up to the spine in the destination's
    /// place of its rack and, into another pod, on to the core in the place of the destination's rack of its pod: traffic
    /// to different chips takes different links down (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
    /// permutations on real life fat trees", 2010). Up and then down closes no circle of waiting.
    pub fn ultracluster(
        pods: usize,
        ultraservers: usize,
        (racks, servers, chips): (usize, usize, usize),
        links: ClusterLinks,
    ) -> Result<Self, TopologyError> {
        at_least_one("pods", pods)?;
        at_least_one("ultraservers", ultraservers)?;
        at_least_one("racks", racks)?;
        at_least_one("servers", servers)?;
        at_least_one("chips", chips)?;
        let all = product(&[pods, ultraservers]);
        let all_racks = product(&[pods, ultraservers, racks]);
        let places = product(&[servers, chips]);
        let all_chips = places.saturating_mul(all_racks);
        let leaves = product(&[ultraservers, racks]);
        let switches = product(&[pods, ultraservers, racks, servers]).saturating_add(all_racks.saturating_mul(2));
        let upper = places.saturating_mul(leaves.saturating_add(pods as u128));
        let ports = [
            FIRST_PEER_PORT as u128 + racks as u128,
            places.saturating_mul(2),
            leaves.saturating_mul(2),
            pods as u128,
        ];
        let mut wiring = Wiring::new(&Size {
            nodes: all_chips.saturating_add(switches).saturating_add(upper),
            links: if all == 1 {
                all_chips.saturating_mul(4 + racks as u128 - 1)
            } else {
                all_chips.saturating_mul(4 + racks as u128 - 1 + 6)
            },
            ports: ports.into_iter().max().unwrap_or_default(),
        })?;
        let cluster = UltraCluster::new(pods, ultraservers, UltraServer { racks, servers, chips });
        cluster.add_nodes(&mut wiring);
        let shape = vec![pods, ultraservers, racks, servers, chips];
        for ultraserver in 0..cluster.ultraservers() {
            let nodes = Nodes {
                chips: ultraserver * cluster.server.ranks(),
                server_switches: cluster.server_switch(ultraserver),
                rack_switches: cluster.rack_switch(ultraserver),
            };
            let inner = [links.server, links.rack, links.between];
            cluster.server.add_cables(&mut wiring, &nodes, inner);
        }
        cluster.add_outer_cables(&mut wiring, &links);
        Ok(wiring.finish(Family::UltraCluster, shape, Formula::UltraCluster(cluster)))
    }
}

impl UltraCluster {
    fn has_leaves(self) -> bool {
        self.ultraservers() > 1
    }

    fn add_nodes(self, wiring: &mut Wiring) {
        let UltraServer { racks, servers, chips } = self.server;
        let mut chip = vec![Group::ONE, Group::ONE, Group::cycle(racks - 1)];
        if self.has_leaves() {
            chip.push(Group::ONE);
        }
        wiring.add_nodes(self.ranks(), &chip);
        wiring.add_nodes(self.ultraservers() * racks * servers, &[Group::cycle(chips)]);
        let of_rack = Group {
            extents: [1, servers, chips],
        };
        wiring.add_nodes(self.ultraservers() * racks, &[of_rack]);
        if !self.has_leaves() {
            return;
        }
        wiring.add_nodes(self.ultraservers() * racks, &[of_rack, of_rack]);
        let of_pod = Group {
            extents: [1, self.each, racks],
        };
        if self.pods == 1 {
            wiring.add_nodes(self.places(), &[of_pod]);
        } else {
            wiring.add_nodes(self.pods * self.places(), &[of_pod, of_pod]);
            wiring.add_nodes(self.places() * self.leaves(), &[Group::cycle(self.pods)]);
        }
    }

    /// The cables to leaves, spines and cores.
    fn add_outer_cables(self, wiring: &mut Wiring, links: &ClusterLinks) {
        if !self.has_leaves() {
            return;
        }
        let (places, leaves) = (self.places(), self.leaves());
        let tier = wiring.add_tier("leaf");
        for rank in 0..self.ranks() {
            let chip = End {
                node: rank,
                port: self.fabric_port(),
            };
            let leaf = End {
                node: self.leaf(rank / places),
                port: rank % places,
            };
            wiring.add_cable(chip, leaf, links.leaf, tier);
        }
        let tier = wiring.add_tier("spine");
        for rack in 0..self.pods * leaves {
            for place in 0..places {
                let lower = End {
                    node: self.leaf(rack),
                    port: places + place,
                };
                let upper = End {
                    node: self.spine(rack / leaves, place),
                    port: rack % leaves,
                };
                wiring.add_cable(lower, upper, links.spine, tier);
            }
        }
        if self.pods == 1 {
            return;
        }
        let tier = wiring.add_tier("core");
        for pod in 0..self.pods {
            for place in 0..places {
                for number in 0..leaves {
                    let lower = End {
                        node: self.spine(pod, place),
                        port: leaves + number,
                    };
                    let upper = End {
                        node: self.core(place, number),
                        port: pod,
                    };
                    wiring.add_cable(lower, upper, links.core, tier);
                }
            }
        }
    }
}
