//! Two levels of switches: leaves with chips below, spines that join all leaves.

use std::ops::Range;

use super::ports::Group;
use super::routing::Formula;
use super::wiring::{End, Size, Wiring, at_least_one, product};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;

#[derive(Clone, Copy, Debug)]
pub(super) struct LeafSpine {
    leaves: usize,
    ranks_per_leaf: usize,
    spines: usize,
}

impl LeafSpine {
    fn ranks(self) -> usize {
        self.leaves * self.ranks_per_leaf
    }

    fn leaf_node(self, leaf: usize) -> usize {
        self.ranks() + leaf
    }

    fn spine_node(self, spine: usize) -> usize {
        self.ranks() + self.leaves + spine
    }

    /// A leaf's ports are its chips, then the spines; a spine's are the leaves.
    pub(super) fn port(self, at: usize, to: usize) -> usize {
        let leaf = to / self.ranks_per_leaf;
        if at < self.ranks() {
            0
        } else if at == self.leaf_node(leaf) {
            to % self.ranks_per_leaf
        } else if at < self.spine_node(0) {
            self.ranks_per_leaf + to % self.spines
        } else {
            leaf
        }
    }

    /// The ports that are as good as one another: of a leaf, every spine's.
    pub(super) fn choices(self, at: usize) -> Range<usize> {
        if (self.leaf_node(0)..self.spine_node(0)).contains(&at) {
            self.ranks_per_leaf..self.ranks_per_leaf + self.spines
        } else {
            0..0
        }
    }
}

impl Topology {
    /// Chips under leaf switches, with one link each way between every leaf and every spine switch.
    ///
    /// Shape `[leaves, ranks_per_leaf]`; leaves follow the chips, spines the leaves. `down` is a link between chip and
    /// leaf (tier `leaf`), `up` one between leaf and spine (tier `spine`). Traffic to rank d of another leaf takes spine
    /// d mod `spines`.
    pub fn leaf_spine(
        leaves: usize,
        ranks_per_leaf: usize,
        spines: usize,
        down: LinkSpec,
        up: LinkSpec,
    ) -> Result<Self, TopologyError> {
        at_least_one("leaves", leaves)?;
        at_least_one("ranks_per_leaf", ranks_per_leaf)?;
        at_least_one("spines", spines)?;
        let ranks = product(&[leaves, ranks_per_leaf]);
        let spine_cables = product(&[leaves, spines]);
        let mut wiring = Wiring::new(&Size {
            nodes: ranks.saturating_add(leaves as u128 + spines as u128),
            links: ranks.saturating_add(spine_cables).saturating_mul(2),
            ports: (ranks_per_leaf as u128 + spines as u128).max(leaves as u128),
        })?;
        let clos = LeafSpine {
            leaves,
            ranks_per_leaf,
            spines,
        };
        wiring.add_nodes(clos.ranks(), &[Group::ONE]);
        wiring.add_nodes(leaves, &[Group::cycle(ranks_per_leaf), Group::cycle(spines)]);
        wiring.add_nodes(spines, &[Group::cycle(leaves)]);

        let (leaf_tier, spine_tier) = (wiring.add_tier("leaf"), wiring.add_tier("spine"));
        for rank in 0..clos.ranks() {
            let chip = End { node: rank, port: 0 };
            let leaf = End {
                node: clos.leaf_node(rank / ranks_per_leaf),
                port: rank % ranks_per_leaf,
            };
            wiring.add_cable(chip, leaf, down, leaf_tier);
        }
        for leaf in 0..leaves {
            for spine in 0..spines {
                let lower = End {
                    node: clos.leaf_node(leaf),
                    port: ranks_per_leaf + spine,
                };
                let upper = End {
                    node: clos.spine_node(spine),
                    port: leaf,
                };
                wiring.add_cable(lower, upper, up, spine_tier);
            }
        }
        Ok(wiring.finish(
            Family::LeafSpine,
            vec![leaves, ranks_per_leaf],
            Formula::LeafSpine(clos),
        ))
    }
}
