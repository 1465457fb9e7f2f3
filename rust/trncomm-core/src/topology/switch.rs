//! A switch, or several in parallel (planes): every chip has one cable to each.

use std::ops::Range;

use super::ports::Group;
use super::routing::Formula;
use super::wiring::{End, Size, Wiring, at_least_one, product};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;

#[derive(Clone, Copy, Debug)]
pub(super) struct Switch {
    ranks: usize,
    planes: usize,
}

impl Switch {
    /// The ports that are as good as one another: of a chip, every plane's.
    pub(super) fn choices(self, at: usize) -> Range<usize> {
        if at < self.ranks { 0..self.planes } else { 0..0 }
    }

    pub(super) fn port(self, at: usize, to: usize) -> usize {
        if at < self.ranks { to % self.planes } else { to }
    }
}

impl Topology {
    /// Chips under `planes` switches, each chip with one link each way to each switch.
    ///
    /// Shape `[ranks]`; plane p is node ranks + p; one tier, `link`. Traffic to rank d takes plane d mod `planes`.
    pub fn switch(ranks: usize, planes: usize, spec: LinkSpec) -> Result<Self, TopologyError> {
        at_least_one("ranks", ranks)?;
        at_least_one("planes", planes)?;
        let mut wiring = Wiring::new(&Size {
            nodes: ranks as u128 + planes as u128,
            links: product(&[2, ranks, planes]),
            ports: ranks.max(planes) as u128,
        })?;
        wiring.add_nodes(ranks, &[Group::cycle(planes)]);
        wiring.add_nodes(planes, &[Group::cycle(ranks)]);
        let tier = wiring.add_tier("link");
        for rank in 0..ranks {
            for plane in 0..planes {
                let chip = End {
                    node: rank,
                    port: plane,
                };
                let switch = End {
                    node: ranks + plane,
                    port: rank,
                };
                wiring.add_cable(chip, switch, spec, tier);
            }
        }
        Ok(wiring.finish(Family::Switch, vec![ranks], Formula::Switch(Switch { ranks, planes })))
    }
}
