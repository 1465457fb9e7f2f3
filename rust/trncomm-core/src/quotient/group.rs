//! Groups of renumberings of ranks: translations along the axes of a mixed-radix numbering.

/// How a coordinate moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// By addition, modulo the extent.
    Rotate,
    /// By exclusive or with a mask; the extent is a power of two.
    Xor,
}

/// An axis of the numbering, and the moves along it that belong to the group: all multiples of `step`.
///
/// INVARIANT: `step` divides `extent`, so that ranks in one orbit are those of one remainder. For [`Turn::Xor`] both
/// are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) extent: u32,
    pub(super) step: u32,
    pub(super) turn: Turn,
}

impl Axis {
    /// An axis along which nothing moves.
    pub(super) const fn still(extent: u32) -> Self {
        Self {
            extent,
            step: extent,
            turn: Turn::Rotate,
        }
    }

    /// How many moves there are, the one that changes nothing included.
    pub(super) const fn order(self) -> u32 {
        self.extent / self.step
    }

    /// The coordinate moved so that `from` would come to `to`; both of one remainder.
    fn moved(self, coordinate: u32, from: u32, to: u32) -> u32 {
        match self.turn {
            Turn::Rotate => {
                let by = if to >= from {
                    to - from
                } else {
                    self.extent - (from - to)
                };
                let moved = u64::from(coordinate) + u64::from(by);
                u32::try_from(moved % u64::from(self.extent)).expect("below the extent")
            }
            Turn::Xor => coordinate ^ from ^ to,
        }
    }
}

/// A group that acts on ranks without fixing any: the product of the moves along each axis.
#[derive(Clone, Debug)]
pub(super) struct Group {
    axes: Vec<Axis>,
    /// How far apart in number neighbours along each axis are.
    strides: Vec<u32>,
    /// The same among the representatives.
    inner_strides: Vec<u32>,
}

impl Group {
    /// The group of these axes, the last one counting fastest. Their extents come to a number of ranks.
    pub(super) fn new(axes: Vec<Axis>) -> Self {
        let strides = |size: fn(Axis) -> u32| {
            let mut strides = vec![1; axes.len()];
            for axis in (1..axes.len()).rev() {
                strides[axis - 1] = strides[axis] * size(axes[axis]);
            }
            strides
        };
        Self {
            strides: strides(|axis| axis.extent),
            inner_strides: strides(|axis| axis.step),
            axes,
        }
    }

    /// Every rotation along axes of these extents, by which any rank comes to any other.
    pub(super) fn whole(extents: &[u32]) -> Self {
        let axis = |&extent: &u32| Axis {
            extent,
            step: 1,
            turn: Turn::Rotate,
        };
        Self::new(extents.iter().map(axis).collect())
    }

    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many renumberings it has: ranks in each orbit.
    pub(super) fn order(&self) -> u64 {
        self.axes.iter().map(|axis| u64::from(axis.order())).product()
    }

    /// How many ranks represent the others.
    pub(super) fn representatives(&self) -> u32 {
        self.axes.iter().map(|axis| axis.step).product()
    }

    /// Where a rank is along an axis.
    pub(super) fn coordinate(&self, rank: u32, axis: usize) -> u32 {
        rank / self.strides[axis] % self.axes[axis].extent
    }

    /// The number among the representatives of the one that stands for a rank.
    pub(super) fn index(&self, rank: u32) -> u32 {
        let parts = self.axes.iter().zip(&self.inner_strides).enumerate();
        parts
            .map(|(number, (axis, inner))| self.coordinate(rank, number) % axis.step * inner)
            .sum()
    }

    /// The representative of that number.
    pub(super) fn representative(&self, index: u32) -> u32 {
        let parts = self.axes.iter().zip(self.strides.iter().zip(&self.inner_strides));
        parts
            .map(|(axis, (stride, inner))| index / inner % axis.step * stride)
            .sum()
    }

    /// The number of `to`'s representative, and the rank that `from` becomes where `to` becomes its representative.
    pub(super) fn carry(&self, from: u32, to: u32) -> (u32, u32) {
        let (mut index, mut carried) = (0, 0);
        for (number, axis) in self.axes.iter().enumerate() {
            let target = self.coordinate(to, number);
            let home = target % axis.step;
            index += home * self.inner_strides[number];
            carried += axis.moved(self.coordinate(from, number), target, home) * self.strides[number];
        }
        (index, carried)
    }

    /// Moves along an axis of which all of them are made: the smallest rotation, or every single bit.
    pub(super) fn generators(&self, axis: usize) -> impl Iterator<Item = u32> + use<> {
        let Axis { extent, step, turn } = self.axes[axis];
        let bits = (0..u32::BITS).map_while(move |bit| step.checked_shl(bit).filter(|&by| by < extent));
        bits.take(match turn {
            Turn::Rotate => 1,
            Turn::Xor => usize::MAX,
        })
    }

    /// The rank after a move along an axis.
    pub(super) fn moved(&self, rank: u32, axis: usize, by: u32) -> u32 {
        let from = self.coordinate(rank, axis);
        let to = self.axes[axis].moved(from, 0, by);
        rank - from * self.strides[axis] + to * self.strides[axis]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<Group> {
        let axis = |extent, step, turn| Axis { extent, step, turn };
        vec![
            Group::new(vec![axis(12, 3, Turn::Rotate)]),
            Group::new(vec![axis(8, 2, Turn::Xor)]),
            Group::new(vec![axis(6, 2, Turn::Rotate), Axis::still(3), axis(4, 1, Turn::Xor)]),
        ]
    }

    #[test]
    fn a_carried_pair_is_an_image_of_the_pair() {
        for group in groups() {
            let ranks: u32 = group.axes().iter().map(|axis| axis.extent).product();
            for from in 0..ranks {
                for to in 0..ranks {
                    let (index, carried) = group.carry(from, to);
                    let home = group.representative(index);
                    assert_eq!(group.index(to), index);
                    assert_eq!(group.index(carried), group.index(from));
                    // Moving both by any generators leads to the same pair.
                    for axis in 0..group.axes().len() {
                        for by in group.generators(axis) {
                            let (a, b) = (group.moved(from, axis, by), group.moved(to, axis, by));
                            assert_eq!(group.carry(a, b), (index, carried));
                        }
                    }
                    assert_eq!(group.index(home), index);
                }
            }
        }
    }

    #[test]
    fn orbits_are_all_of_the_size_of_the_group() {
        for group in groups() {
            let ranks: u32 = group.axes().iter().map(|axis| axis.extent).product();
            let mut sizes = vec![0_u64; group.representatives() as usize];
            (0..ranks).for_each(|rank| sizes[group.index(rank) as usize] += 1);
            assert!(sizes.iter().all(|&size| size == group.order()), "{sizes:?}");
        }
    }
}
