//! The logical shape of a schedule's ranks, and places in it.

use super::expr::{Expr, Site};
use crate::error::ScheduleError;

/// The extents of the grid that ranks are numbered in, last axis fastest: `[700, 144]` is rank
/// `144 · coordinate(0) + coordinate(1)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    extents: Vec<u32>,
    strides: Vec<u32>,
    ranks: u32,
}

impl Shape {
    /// A grid of these extents, each at least 1; their product is the number of ranks.
    pub fn new(extents: &[usize]) -> Result<Self, ScheduleError> {
        let mut strides = vec![0; extents.len()];
        let mut ranks: u32 = 1;
        for (axis, &extent) in extents.iter().enumerate().rev() {
            strides[axis] = ranks;
            ranks = u32::try_from(extent)
                .ok()
                .filter(|&extent| extent > 0)
                .and_then(|extent| ranks.checked_mul(extent))
                .ok_or_else(|| {
                    ScheduleError::Shape(format!(
                        "extents must be at least 1 and come to at most 2^32 - 1 ranks, got {extents:?}"
                    ))
                })?;
        }
        if extents.is_empty() {
            return Err(ScheduleError::Shape("a shape needs at least one axis".to_owned()));
        }
        let extents = extents
            .iter()
            .map(|&extent| u32::try_from(extent).expect("checked above"))
            .collect();
        Ok(Self {
            extents,
            strides,
            ranks,
        })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks as usize
    }

    /// The number of axes.
    pub fn axes(&self) -> usize {
        self.extents.len()
    }

    /// The extents, first axis slowest.
    pub fn extents(&self) -> &[u32] {
        &self.extents
    }

    /// How far apart in number two ranks are that are neighbours along `axis`.
    pub(super) fn stride(&self, axis: usize) -> u32 {
        self.strides[axis]
    }

    /// The coordinate of `rank` along `axis`.
    pub(super) fn coordinate(&self, rank: u32, axis: usize) -> u32 {
        if self.extents.len() == 1 {
            rank
        } else {
            rank / self.strides[axis] % self.extents[axis]
        }
    }
}

/// One step of the way from a rank to a place: along one axis, or to a rank by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// Adds to the coordinate, modulo the extent.
    Shift {
        /// The axis.
        axis: usize,
        /// How far, either way.
        by: Expr,
    },
    /// Flips the bits of the coordinate that are set in the mask.
    Xor {
        /// The axis.
        axis: usize,
        /// The mask.
        mask: Expr,
    },
    /// Goes to a coordinate.
    Set {
        /// The axis.
        axis: usize,
        /// The new coordinate.
        to: Expr,
    },
    /// Goes to a rank by its number.
    Rank(Expr),
}

/// A rank named from where another rank stands: moves made one after the other. No moves: the rank itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place(Vec<Move>);

impl Place {
    /// The rank itself.
    pub fn here() -> Self {
        Self::default()
    }

    /// The rank whose coordinate along `axis` is `by` further, modulo the extent.
    pub fn shift(axis: usize, by: impl Into<Expr>) -> Self {
        Self::here().then_shift(axis, by)
    }

    /// The rank whose coordinate along `axis` differs in the bits of `mask`.
    pub fn xor(axis: usize, mask: impl Into<Expr>) -> Self {
        Self(vec![Move::Xor {
            axis,
            mask: mask.into(),
        }])
    }

    /// The rank of this number.
    pub fn rank(number: impl Into<Expr>) -> Self {
        Self(vec![Move::Rank(number.into())])
    }

    /// A further shift.
    #[must_use]
    pub fn then_shift(mut self, axis: usize, by: impl Into<Expr>) -> Self {
        self.0.push(Move::Shift { axis, by: by.into() });
        self
    }

    /// A further move to a coordinate.
    #[must_use]
    pub fn then_set(mut self, axis: usize, to: impl Into<Expr>) -> Self {
        self.0.push(Move::Set { axis, to: to.into() });
        self
    }

    /// The place that these moves lead to.
    pub(super) fn from_moves(moves: Vec<Move>) -> Self {
        Self(moves)
    }

    /// The moves, in order.
    pub fn moves(&self) -> &[Move] {
        &self.0
    }

    /// The number of the rank at this place, seen from `site`; may lie outside the shape.
    pub fn find(&self, site: &Site<'_>) -> i64 {
        let shape = site.shape;
        let mut rank = i64::from(site.rank);
        for step in &self.0 {
            rank = match step {
                Move::Rank(number) => number.value(site),
                Move::Shift { axis, by } => {
                    let extent = i64::from(shape.extents[*axis]);
                    let stride = i64::from(shape.strides[*axis]);
                    let from = if shape.extents.len() == 1 {
                        rank
                    } else {
                        rank / stride % extent
                    };
                    let mut to = from.wrapping_add(by.value(site));
                    if to >= extent || to < 0 {
                        to = to.rem_euclid(extent);
                    }
                    rank + (to - from) * stride
                }
                Move::Xor { axis, mask } => {
                    let from = rank / i64::from(shape.strides[*axis]) % i64::from(shape.extents[*axis]);
                    let to = from ^ mask.value(site);
                    if to < 0 || to >= i64::from(shape.extents[*axis]) {
                        return -1;
                    }
                    rank + (to - from) * i64::from(shape.strides[*axis])
                }
                Move::Set { axis, to } => {
                    let from = rank / i64::from(shape.strides[*axis]) % i64::from(shape.extents[*axis]);
                    let to = to.value(site);
                    if to < 0 || to >= i64::from(shape.extents[*axis]) {
                        return -1;
                    }
                    rank + (to - from) * i64::from(shape.strides[*axis])
                }
            };
            // A rank outside the shape has no coordinates to move along.
            if rank < 0 || rank >= i64::from(shape.ranks) {
                return -1;
            }
        }
        rank
    }
}
