//! What a collective forces from one set of ranks to another.

use crate::collective::{Collective, Goal};
use crate::error::TopologyError;
use crate::ids::RankId;
use crate::schedule::Layout;
use crate::units::Bytes;

/// A collective over a number of ranks on a buffer of a size.
pub(super) struct Demand {
    goal: Goal,
    ranks: usize,
    size: Bytes,
    layout: Layout,
}

/// What counts of a set of ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    pub(super) ranks: u64,
    /// The bytes of the blocks of its ranks.
    pub(super) blocks: u64,
    pub(super) has_root: bool,
    /// How many of its ranks have a successor outside.
    pub(super) successors: u64,
}

impl Demand {
    pub(super) fn new(ranks: usize, goal: Goal, size: Bytes, element: u64) -> Result<Self, TopologyError> {
        let layout = Layout::new(size, element, ranks as u64).map_err(|_| TopologyError::Argument {
            argument: "element",
            expected: format!("above 0 and a divisor of the size, {} bytes", size.get()),
            value: element.to_string(),
        })?;
        if goal.root.index() >= ranks {
            return Err(TopologyError::Argument {
                argument: "root",
                expected: format!("below {ranks}, the number of ranks"),
                value: goal.root.to_string(),
            });
        }
        Ok(Self {
            goal,
            ranks,
            size,
            layout,
        })
    }

    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    pub(super) fn collective(&self) -> Collective {
        self.goal.collective
    }

    pub(super) fn root(&self) -> RankId {
        self.goal.root
    }

    pub(super) fn size(&self) -> u128 {
        self.size.get().into()
    }

    /// The bytes of block `rank`.
    pub(super) fn block(&self, rank: usize) -> u64 {
        self.layout.bytes(rank as u64, 1).get()
    }

    pub(super) fn moves_bytes(&self) -> bool {
        self.ranks > 1
            && self.size > Bytes::ZERO
            && !matches!(self.collective(), Collective::Barrier | Collective::Custom)
    }

    /// Adds a rank to a group. `leaves` says whether its successor lies outside.
    pub(super) fn add(&self, group: &mut Group, rank: usize, leaves: bool) {
        group.ranks += 1;
        group.blocks += self.block(rank);
        group.has_root |= rank == self.root().index();
        group.successors += u64::from(leaves);
    }

    /// The group of all ranks that aren't in `group`.
    pub(super) fn rest(&self, group: &Group) -> Group {
        Group {
            ranks: self.ranks as u64 - group.ranks,
            blocks: self.size.get() - group.blocks,
            has_root: !group.has_root,
            // As many step into a set of a cycle as step out of it.
            successors: group.successors,
        }
    }

    /// The bytes that must pass from the ranks of `from` to those of `to`, which are all others.
    ///
    /// Of a reduction the ranks on one side can send at best one partial result for each element that the other side needs.
    pub(super) fn across(&self, from: &Group, to: &Group) -> u128 {
        let size = self.size();
        if from.ranks == 0 || to.ranks == 0 {
            return 0;
        }
        match self.collective() {
            Collective::AllReduce => size,
            Collective::AllGather => from.blocks.into(),
            Collective::ReduceScatter => to.blocks.into(),
            Collective::AllToAll => u128::from(from.ranks) * u128::from(to.blocks),
            Collective::Broadcast => {
                if from.has_root {
                    size
                } else {
                    0
                }
            }
            Collective::Reduce => {
                if to.has_root {
                    size
                } else {
                    0
                }
            }
            Collective::Gather => {
                if to.has_root {
                    from.blocks.into()
                } else {
                    0
                }
            }
            Collective::Scatter => {
                if from.has_root {
                    to.blocks.into()
                } else {
                    0
                }
            }
            Collective::SendRecv => size * u128::from(from.successors),
            Collective::Barrier | Collective::Custom => 0,
        }
    }

    /// Whether `to` needs something of `from`, another rank.
    pub(super) fn needs(&self, from: usize, to: usize) -> bool {
        if self.collective() == Collective::Barrier {
            return true;
        }
        if !self.moves_bytes() {
            return false;
        }
        let root = self.root().index();
        match self.collective() {
            Collective::AllReduce => true,
            Collective::AllGather => self.block(from) > 0,
            Collective::ReduceScatter | Collective::AllToAll => self.block(to) > 0,
            Collective::Broadcast => from == root,
            Collective::Reduce => to == root,
            Collective::Gather => to == root && self.block(from) > 0,
            Collective::Scatter => from == root && self.block(to) > 0,
            Collective::SendRecv => to == (from + 1) % self.ranks,
            Collective::Barrier | Collective::Custom => false,
        }
    }
}
