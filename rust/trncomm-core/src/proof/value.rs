//! What a chunk holds, as a set of contributions or as a sum of weights.

use std::rc::Rc;

use super::Promise;
use crate::error::ScheduleError;
use crate::random::split_mix;

/// The content of a chunk.
pub(super) trait Value: Clone + std::fmt::Debug {
    /// What `rank` brings in the chunk of this index.
    fn brought(rank: u32, chunk: u64) -> Self;

    /// Both contents reduced.
    fn add(&mut self, other: &Self);

    /// Compares what an output chunk holds with what it must hold.
    fn check(held: Option<&Self>, promise: Promise, rank: u32, chunk: u64, ranks: usize) -> Result<(), ScheduleError>;
}

/// A contribution: who brought it, and in which chunk.
type Atom = (u32, u64);

/// A multiset of contributions in ascending order, shared between the chunks that it was copied to.
#[derive(Clone, Debug)]
pub(super) struct Contributions(Rc<Vec<(Atom, u32)>>);

impl Value for Contributions {
    fn brought(rank: u32, chunk: u64) -> Self {
        Self(Rc::new(vec![((rank, chunk), 1)]))
    }

    fn add(&mut self, other: &Self) {
        let (left, right) = (&self.0, &other.0);
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut i, mut j) = (0, 0);
        while i < left.len() && j < right.len() {
            let ((a, count), (b, more)) = (left[i], right[j]);
            if a <= b {
                merged.push((a, if a == b { count + more } else { count }));
                i += 1;
                j += usize::from(a == b);
            } else {
                merged.push((b, more));
                j += 1;
            }
        }
        merged.extend_from_slice(&left[i..]);
        merged.extend_from_slice(&right[j..]);
        self.0 = Rc::new(merged);
    }

    fn check(held: Option<&Self>, promise: Promise, rank: u32, chunk: u64, ranks: usize) -> Result<(), ScheduleError> {
        let nothing = Vec::new();
        let held = held.map_or(&nothing, |held| &*held.0);
        let (of, index) = match promise {
            Promise::Sum(index) => (0..u32::try_from(ranks).expect("exact proofs are small"), index),
            Promise::From(rank, index) => (rank..rank + 1, index),
        };
        let doubled: Vec<u32> = held
            .iter()
            .filter(|(_, count)| *count > 1)
            .map(|((rank, _), _)| *rank)
            .collect();
        if !doubled.is_empty() {
            return Err(ScheduleError::Doubled { rank, chunk, doubled });
        }
        let stray = held
            .iter()
            .find(|((rank, chunk), _)| *chunk != index || !of.contains(rank));
        if let Some(((from, of_chunk), _)) = stray {
            let detail = format!(
                "it holds chunk {of_chunk} of rank {from}, but should hold {}",
                promise.text()
            );
            return Err(ScheduleError::Wrong { rank, chunk, detail });
        }
        // Without doubled and stray ones, as many as there should be are all of them.
        if held.len() == of.len() {
            return Ok(());
        }
        let missing = of
            .filter(|rank| !held.iter().any(|((from, _), _)| from == rank))
            .collect();
        Err(ScheduleError::Missing { rank, chunk, missing })
    }
}

/// A sum of random weights, one for each contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight(u64);

impl Value for Weight {
    /// The weight is a mix of the rank and the chunk (steps of `SplitMix64`), so
    /// that proofs are the same on every run.
    fn brought(rank: u32, chunk: u64) -> Self {
        Self(split_mix(split_mix(u64::from(rank)) ^ chunk))
    }

    fn add(&mut self, other: &Self) {
        self.0 = self.0.wrapping_add(other.0);
    }

    fn check(held: Option<&Self>, promise: Promise, rank: u32, chunk: u64, ranks: usize) -> Result<(), ScheduleError> {
        let expected = match promise {
            Promise::From(from, index) => Self::brought(from, index).0,
            Promise::Sum(index) => (0..u32::try_from(ranks).expect("a shape's ranks fit 32 bits"))
                .fold(0u64, |sum, from| sum.wrapping_add(Self::brought(from, index).0)),
        };
        match held {
            Some(held) if held.0 == expected => Ok(()),
            Some(_) => Err(ScheduleError::Wrong {
                rank,
                chunk,
                detail: format!("its fingerprint isn't that of {}", promise.text()),
            }),
            None => Err(ScheduleError::Wrong {
                rank,
                chunk,
                detail: format!("it holds nothing, but should hold {}", promise.text()),
            }),
        }
    }
}

impl Promise {
    pub(super) fn text(self) -> String {
        match self {
            Self::Sum(chunk) => format!("the sum of chunk {chunk} over all ranks"),
            Self::From(rank, chunk) => format!("chunk {chunk} of rank {rank}"),
        }
    }
}
