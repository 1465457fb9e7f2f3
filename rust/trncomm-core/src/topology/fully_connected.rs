//! Every chip joined to every other.

use super::ports::Group;
use super::routing::Formula;
use super::wiring::{End, Size, Wiring, at_least_one, product};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;

#[derive(Clone, Copy, Debug)]
pub(super) struct FullyConnected {
    ranks: usize,
}

impl FullyConnected {
    /// Ports are numbered by how far ahead the neighbour is, so that every chip sees the same ports.
    pub(super) fn port(self, at: usize, to: usize) -> usize {
        (to + self.ranks - at) % self.ranks - 1
    }
}

impl Topology {
    /// Chips with a link each way between any two.
    ///
    /// Shape `[ranks]`; one tier, `link`. Routes are that one link.
    pub fn fully_connected(ranks: usize, spec: LinkSpec) -> Result<Self, TopologyError> {
        at_least_one("ranks", ranks)?;
        let mut wiring = Wiring::new(&Size {
            nodes: ranks as u128,
            links: product(&[ranks, ranks - 1]),
            ports: ranks as u128 - 1,
        })?;
        wiring.add_nodes(ranks, &[Group::cycle(ranks - 1)]);
        let tier = wiring.add_tier("link");
        let routing = FullyConnected { ranks };
        let end = |node, neighbour| End {
            node,
            port: routing.port(node, neighbour),
        };
        for a in 0..ranks {
            for b in a + 1..ranks {
                wiring.add_cable(end(a, b), end(b, a), spec, tier);
            }
        }
        Ok(wiring.finish(Family::FullyConnected, vec![ranks], Formula::FullyConnected(routing)))
    }
}
