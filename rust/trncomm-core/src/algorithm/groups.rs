//! What algorithms share that treat the innermost level as a group: a shape of groups, and steps within a group.

use super::direct::block;
use super::levels::levels;
use super::{AlgorithmError, Request};
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place};

/// The axis that numbers groups.
pub(super) const GROUP: usize = 0;
/// The axis that numbers the ranks of a group.
pub(super) const WITHIN: usize = 1;

/// Groups of ranks.
#[derive(Clone, Copy)]
pub(super) struct Groups {
    /// How many.
    pub count: usize,
    /// The ranks of each.
    pub size: usize,
}

impl Groups {
    /// The innermost level as the group, all levels around it as one.
    pub fn new(request: &Request<'_>) -> Result<Self, AlgorithmError> {
        let levels = levels(request)?;
        let (size, around) = levels.split_last().expect("at least one level");
        Ok(Self {
            count: around.iter().product(),
            size: *size,
        })
    }

    /// The blocks of all ranks of a group.
    pub fn blocks(self, buffer: Buffer, group: Expr) -> Chunks {
        Chunks::range(buffer, group * self.size, self.size)
    }

    /// Every rank gets the blocks of its group.
    pub fn gather_own(self) -> [Instruction; 2] {
        let own = || Chunks::one(Buffer::Output, Expr::rank());
        self.exchange(
            Instruction::send(after(0), own()),
            Instruction::receive(before(0), block(Buffer::Output, before(0))),
        )
    }

    /// Every rank gets what its group has in its block, reduced.
    pub fn scatter_own(self) -> [Instruction; 2] {
        let own = || Chunks::one(Buffer::Output, Expr::rank());
        self.exchange(
            Instruction::send(after(0), block(Buffer::Output, after(0))),
            Instruction::reduce(before(0), own()),
        )
    }

    fn exchange(self, send: Instruction, receive: Instruction) -> [Instruction; 2] {
        [send, receive].map(|instruction| Instruction::repeat(self.size - 1, vec![instruction]))
    }
}

/// The rank of the group 1 + i further on, where i counts the loop at `depth`.
pub(super) fn after(depth: usize) -> Place {
    Place::shift(WITHIN, Expr::var(depth) + 1)
}

/// The rank of the group 1 + i further back.
pub(super) fn before(depth: usize) -> Place {
    Place::shift(WITHIN, Expr::from(-1) - Expr::var(depth))
}
