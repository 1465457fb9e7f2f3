//! The Trn3 UltraServer: servers of chips under a switch each, racks of servers under another, racks joined chip by chip.

use super::ports::Group;
use super::routing::Formula;
use super::wiring::{End, Size, Wiring, at_least_one, product};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;

/// A chip's ports: its server's switch, its rack's switch, then the other racks by how far ahead they are.
const SERVER_PORT: usize = 0;
const RACK_PORT: usize = 1;
const FIRST_PEER_PORT: usize = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct UltraServer {
    racks: usize,
    servers: usize,
    chips: usize,
}

impl UltraServer {
    fn rack_size(self) -> usize {
        self.servers * self.chips
    }

    fn ranks(self) -> usize {
        self.racks * self.rack_size()
    }

    /// The switch of a server, counted over all racks.
    fn server_switch(self, server: usize) -> usize {
        self.ranks() + server
    }

    fn rack_switch(self, rack: usize) -> usize {
        self.server_switch(self.racks * self.servers) + rack
    }

    fn peer_port(self, rack: usize, other: usize) -> usize {
        FIRST_PEER_PORT + (other + self.racks - rack) % self.racks - 1
    }

    pub(super) fn port(self, at: usize, to: usize) -> usize {
        if at < self.ranks() {
            let (rack, target) = (at / self.rack_size(), to / self.rack_size());
            if rack != target {
                self.peer_port(rack, target)
            } else if at / self.chips == to / self.chips {
                SERVER_PORT
            } else {
                RACK_PORT
            }
        } else if at < self.rack_switch(0) {
            to % self.chips
        } else {
            to % self.rack_size()
        }
    }
}

impl UltraServer {
    /// Adds all cables: those of servers, of racks, and between racks.
    fn add_cables(self, wiring: &mut Wiring, [server, rack, between]: [LinkSpec; 3]) {
        let tiers = ["server", "rack", "between-racks"].map(|label| wiring.add_tier(label));
        for chip in 0..self.ranks() {
            let end = |port| End { node: chip, port };
            let server_switch = End {
                node: self.server_switch(chip / self.chips),
                port: chip % self.chips,
            };
            wiring.add_cable(end(SERVER_PORT), server_switch, server, tiers[0]);
            let own_rack = chip / self.rack_size();
            let rack_switch = End {
                node: self.rack_switch(own_rack),
                port: chip % self.rack_size(),
            };
            wiring.add_cable(end(RACK_PORT), rack_switch, rack, tiers[1]);
            for other in own_rack + 1..self.racks {
                let peer = End {
                    node: chip + (other - own_rack) * self.rack_size(),
                    port: self.peer_port(other, own_rack),
                };
                wiring.add_cable(end(self.peer_port(own_rack, other)), peer, between, tiers[2]);
            }
        }
    }
}

impl Topology {
    /// The shape of a Trn3 UltraServer: a switch a server, a switch a rack, and direct links between racks.
    ///
    /// Shape `[racks, servers, chips]`, with `servers` in each rack and `chips` in each server. Every chip has one link each way
    /// to its server's switch (tier `server`) and to its rack's (tier `rack`); chips at equal (server, chip) of any two racks
    /// are joined directly (tier `between-racks`). The servers' switches follow the chips, the racks' follow those.
    ///
    /// Routes correct the rack first, then the rest, as the upper bits of an address come first: over a direct link to the chip
    /// at the sender's own position in the target rack, which relays; then through the server's switch if the server is
    /// right, through the rack's if not. Links are passed in the order between racks, up, down, so no cycle of waiting can form.
    ///
    /// Source: AWS Neuron SDK documentation, `trn3-arch.rst` (levels, direct links, routing by address).
    pub fn ultraserver(
        racks: usize,
        servers: usize,
        chips: usize,
        server_link: LinkSpec,
        rack_link: LinkSpec,
        between_link: LinkSpec,
    ) -> Result<Self, TopologyError> {
        at_least_one("racks", racks)?;
        at_least_one("servers", servers)?;
        at_least_one("chips", chips)?;
        let all_chips = product(&[racks, servers, chips]);
        let switches = product(&[racks, servers]).saturating_add(racks as u128);
        let ports_of_chip = FIRST_PEER_PORT as u128 + racks as u128 - 1;
        let mut wiring = Wiring::new(&Size {
            nodes: all_chips.saturating_add(switches),
            // Two cables to switches, and half of one to every other rack.
            links: all_chips.saturating_mul(4 + racks as u128 - 1),
            ports: ports_of_chip.max(product(&[servers, chips])),
        })?;
        let shape = UltraServer { racks, servers, chips };
        wiring.add_nodes(shape.ranks(), &[Group::ONE, Group::ONE, Group::cycle(racks - 1)]);
        wiring.add_nodes(racks * servers, &[Group::cycle(chips)]);
        // Servers and chips can be rotated by themselves, so they are two extents of one group.
        wiring.add_nodes(
            racks,
            &[Group {
                extents: [1, servers, chips],
            }],
        );

        shape.add_cables(&mut wiring, [server_link, rack_link, between_link]);
        Ok(wiring.finish(
            Family::UltraServer,
            vec![racks, servers, chips],
            Formula::UltraServer(shape),
        ))
    }
}
