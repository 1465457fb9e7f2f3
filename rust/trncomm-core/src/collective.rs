//! Collectives: what every rank holds at the start and must hold at the end.

use std::fmt;

use crate::error::AlgorithmError;
use crate::ids::RankId;

/// A collective operation, named as PyTorch distributed names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Every rank ends with the reduction of all buffers.
    AllReduce,
    /// Rank r ends with block r of the reduction.
    ReduceScatter,
    /// Every rank ends with the blocks of all ranks.
    AllGather,
    /// Rank r sends block d to rank d and ends with a block from every rank.
    AllToAll,
    /// Every rank ends with the root's buffer.
    Broadcast,
    /// The root ends with the reduction of all buffers.
    Reduce,
    /// The root ends with the blocks of all ranks.
    Gather,
    /// Rank r ends with block r of the root's buffer.
    Scatter,
    /// No rank leaves before all have arrived. Moves no data.
    Barrier,
    /// Rank r sends its buffer to rank r + 1 (modulo the number of ranks).
    SendRecv,
    /// Whatever the schedule does: no promise, nothing to prove but that it ends.
    Custom,
}

impl Collective {
    /// Every collective, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::AllReduce,
        Self::ReduceScatter,
        Self::AllGather,
        Self::AllToAll,
        Self::Broadcast,
        Self::Reduce,
        Self::Gather,
        Self::Scatter,
        Self::Barrier,
        Self::SendRecv,
        Self::Custom,
    ];

    /// The name, in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllGather => "all_gather",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
            Self::SendRecv => "send_recv",
            Self::Custom => "custom",
        }
    }

    /// Names that other tools use for it (nccom-test, JAX, MPI), all accepted by [`Self::from_name`].
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::AllReduce => &["allreduce", "allr", "psum"],
            Self::ReduceScatter => &["reducescatter", "redsct", "reduce_scatter_tensor", "psum_scatter"],
            Self::AllGather => &["allgather", "allg", "all_gather_into_tensor"],
            Self::AllToAll => &["alltoall", "all_to_all_single", "a2a"],
            Self::Broadcast => &["bcast", "pbroadcast"],
            Self::Reduce | Self::Gather | Self::Scatter | Self::Barrier | Self::Custom => &[],
            Self::SendRecv => &["sendrecv", "p2p"],
        }
    }

    /// The collective of that name or alias, in any case; `-` counts as `_`.
    pub fn from_name(name: &str) -> Result<Self, AlgorithmError> {
        let wanted = name.to_ascii_lowercase().replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|collective| collective.name() == wanted || collective.aliases().contains(&wanted.as_str()))
            .ok_or_else(|| AlgorithmError::Unknown {
                kind: "collective",
                name: name.to_owned(),
                hint: crate::error::hint(&wanted, Self::ALL.into_iter().map(Self::name)),
            })
    }

    /// Whether it combines values of several ranks.
    pub const fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::ReduceScatter | Self::Reduce)
    }

    /// Whether it has a root.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Whether the buffer is cut into one block for each rank (the size is that of all blocks together).
    pub const fn has_blocks(self) -> bool {
        matches!(
            self,
            Self::ReduceScatter | Self::AllGather | Self::AllToAll | Self::Gather | Self::Scatter
        )
    }

    /// The factor from algorithm to bus bandwidth over `ranks` ranks, as nccl-tests (PERFORMANCE.md) and
    /// nccom-test define it: (numerator, denominator).
    pub fn bus_factor(self, ranks: usize) -> (u64, u64) {
        let n = ranks as u64;
        match self {
            Self::AllReduce => (2 * n.saturating_sub(1), n.max(1)),
            Self::ReduceScatter | Self::AllGather | Self::AllToAll | Self::Gather | Self::Scatter => {
                (n.saturating_sub(1), n.max(1))
            }
            Self::Broadcast | Self::Reduce | Self::Barrier | Self::SendRecv | Self::Custom => (1, 1),
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a schedule claims to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The collective.
    pub collective: Collective,
    /// The root, for those that have one; rank 0 otherwise.
    pub root: RankId,
    /// Whether what a rank brings lies in the output buffer from the start.
    pub in_place: bool,
}

impl Goal {
    /// A collective from one buffer to another, with rank 0 as its root.
    pub fn out_of_place(collective: Collective) -> Self {
        Self {
            collective,
            root: RankId::new(0),
            in_place: false,
        }
    }

    /// A collective within one buffer, with rank 0 as its root.
    pub fn in_place(collective: Collective) -> Self {
        Self {
            in_place: true,
            ..Self::out_of_place(collective)
        }
    }

    /// The same with another root.
    #[must_use]
    pub fn with_root(self, root: RankId) -> Self {
        Self { root, ..self }
    }
}
