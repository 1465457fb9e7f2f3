//! Sets of ranks as boxes, and what a chunk holds in terms of them.

use std::rc::Rc;

/// The most boxes that a chunk's content is kept in.
const MOST_BOXES: usize = 1 << 12;

/// Neighbouring coordinates along an axis, counted round: so many from a first one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    first: u32,
    count: u32,
}

impl Span {
    fn meets(self, other: Self, extent: u32) -> bool {
        let ahead = (other.first + extent - self.first) % extent;
        ahead < self.count || extent - ahead < other.count
    }

    /// Both together, where they are neighbours that don't meet.
    fn joined(self, other: Self, extent: u32) -> Option<Self> {
        let count = self.count + other.count;
        if count > extent {
            return None;
        }
        let follows = |a: Self, b: Self| (a.first + a.count) % extent == b.first;
        let first = if follows(self, other) {
            self.first
        } else if follows(other, self) {
            other.first
        } else {
            return None;
        };
        // A whole round starts anywhere; at 0, so that equal sets look equal.
        let first = if count == extent { 0 } else { first };
        Some(Self { first, count })
    }
}

/// Ranks that form a box in the grid of their coordinates: a span along each axis.
type Cuboid = Vec<Span>;

/// The contributions to a chunk: whose, each of them as often as it is in a box.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Share {
    chunk: u64,
    boxes: Vec<Cuboid>,
}

/// What a chunk holds: contributions by the chunk that they are of.
///
/// Contributions of ranks that lie together in the grid take the room of one, so that a sum over a hundred thousand
/// ranks that a ring gathers is kept exactly, at every step, in a few numbers.
#[derive(Clone, Debug)]
pub(super) struct Held(Rc<Vec<Share>>);

/// Why a chunk doesn't hold what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something else is in it.
    Stray(u64),
    /// Some rank's contribution is in it more than once.
    Doubled,
    /// So many ranks' contributions are in it.
    Only(u64),
    /// Its content is too scattered to be kept.
    Scattered,
}

impl Held {
    /// What the rank at these coordinates brings in a chunk.
    pub(super) fn brought(coordinates: &[u32], chunk: u64) -> Self {
        let alone = coordinates.iter().map(|&first| Span { first, count: 1 }).collect();
        Self(Rc::new(vec![Share {
            chunk,
            boxes: vec![alone],
        }]))
    }

    /// The same with every rank and every chunk moved.
    pub(super) fn moved(&self, by: &[u32], extents: &[u32], chunk: impl Fn(u64) -> u64) -> Self {
        let shares = self.0.iter().map(|share| Share {
            chunk: chunk(share.chunk),
            boxes: share.boxes.iter().map(|one| shifted(one, by, extents)).collect(),
        });
        Self(Rc::new(shares.collect()))
    }

    /// Both contents reduced.
    pub(super) fn add(&mut self, other: &Self, extents: &[u32]) -> Result<(), Fault> {
        let shares = Rc::make_mut(&mut self.0);
        for share in other.0.iter() {
            let held = shares.iter().position(|held| held.chunk == share.chunk);
            let index = held.unwrap_or_else(|| {
                shares.push(Share {
                    chunk: share.chunk,
                    boxes: Vec::new(),
                });
                shares.len() - 1
            });
            let boxes = &mut shares[index].boxes;
            for one in &share.boxes {
                insert(boxes, one.clone(), extents);
            }
            if boxes.len() > MOST_BOXES {
                return Err(Fault::Scattered);
            }
        }
        Ok(())
    }

    /// Whether it is each contribution to `chunk` of all ranks once, or that of one rank alone.
    pub(super) fn check(&self, chunk: u64, only: Option<&[u32]>, extents: &[u32]) -> Result<(), Fault> {
        if let Some(stray) = self.0.iter().find(|share| share.chunk != chunk) {
            return Err(Fault::Stray(stray.chunk));
        }
        let boxes: &[Cuboid] = self.0.first().map_or(&[], |share| &share.boxes);
        let meets = |a: &Cuboid, b: &Cuboid| (0..extents.len()).all(|axis| a[axis].meets(b[axis], extents[axis]));
        let doubled = |(index, one): (usize, &Cuboid)| boxes[index + 1..].iter().any(|other| meets(one, other));
        if boxes.iter().enumerate().any(doubled) {
            return Err(Fault::Doubled);
        }
        let size = |one: &Cuboid| one.iter().map(|span| u64::from(span.count)).product::<u64>();
        let held: u64 = boxes.iter().map(size).sum();
        match only {
            Some(rank) => {
                let alone: Cuboid = rank.iter().map(|&first| Span { first, count: 1 }).collect();
                if held == 1 && meets(&boxes[0], &alone) {
                    Ok(())
                } else {
                    Err(Fault::Stray(chunk))
                }
            }
            // Boxes that don't meet hold different ranks; as many as there are, are all.
            None if held == extents.iter().map(|&extent| u64::from(extent)).product() => Ok(()),
            None => Err(Fault::Only(held)),
        }
    }
}

fn shifted(one: &Cuboid, by: &[u32], extents: &[u32]) -> Cuboid {
    let along = one.iter().zip(by).zip(extents);
    along
        .map(|((span, &by), &extent)| Span {
            first: if span.count == extent {
                0
            } else {
                (span.first + by) % extent
            },
            count: span.count,
        })
        .collect()
}

/// Adds a box, joined with others as long as two make one.
fn insert(boxes: &mut Vec<Cuboid>, mut one: Cuboid, extents: &[u32]) {
    while let Some((index, joined)) = boxes
        .iter()
        .enumerate()
        .find_map(|(index, other)| join(&one, other, extents).map(|joined| (index, joined)))
    {
        boxes.swap_remove(index);
        one = joined;
    }
    boxes.push(one);
}

/// The box that two boxes make which differ along one axis alone, and are neighbours there.
fn join(a: &Cuboid, b: &Cuboid, extents: &[u32]) -> Option<Cuboid> {
    let mut apart = (0..extents.len()).filter(|&axis| a[axis] != b[axis]);
    let axis = apart.next()?;
    if apart.next().is_some() {
        return None;
    }
    let mut joined = a.clone();
    joined[axis] = a[axis].joined(b[axis], extents[axis])?;
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENTS: [u32; 2] = [3, 4];

    fn sum(ranks: &[[u32; 2]]) -> Held {
        let mut held = Held::brought(&ranks[0], 7);
        for rank in &ranks[1..] {
            held.add(&Held::brought(rank, 7), &EXTENTS).expect("few boxes");
        }
        held
    }

    fn all() -> Vec<[u32; 2]> {
        (0..3).flat_map(|a| (0..4).map(move |b| [a, b])).collect()
    }

    #[test]
    fn all_ranks_in_any_order_are_all_ranks() {
        for stride in [1, 5, 7, 11] {
            let order: Vec<[u32; 2]> = (0..12).map(|step| all()[step * stride % 12]).collect();
            assert_eq!(sum(&order).check(7, None, &EXTENTS), Ok(()));
        }
        assert_eq!(sum(&all()).0[0].boxes.len(), 1, "in a row they are one box");
    }

    #[test]
    fn a_rank_too_many_or_too_few_is_noticed_whichever_it_is() {
        for out in 0..12 {
            let mut ranks = all();
            ranks.remove(out);
            assert_eq!(sum(&ranks).check(7, None, &EXTENTS), Err(Fault::Only(11)));
            let mut ranks = all();
            ranks.push(ranks[out]);
            assert_eq!(sum(&ranks).check(7, None, &EXTENTS), Err(Fault::Doubled));
            ranks.swap_remove(usize::from(out == 0));
            assert_eq!(sum(&ranks).check(7, None, &EXTENTS), Err(Fault::Doubled));
        }
    }

    #[test]
    fn moving_takes_every_rank_along() {
        let moved = sum(&[[2, 3], [2, 0]]).moved(&[2, 1], &EXTENTS, |chunk| chunk + 1);
        let expected = Held::brought(&[1, 0], 8);
        let mut rest = moved.clone();
        assert_eq!(moved.check(8, None, &EXTENTS), Err(Fault::Only(2)));
        rest.add(&expected, &EXTENTS).expect("few boxes");
        assert_eq!(rest.check(8, None, &EXTENTS), Err(Fault::Doubled));
        assert_eq!(expected.check(8, Some(&[1, 0]), &EXTENTS), Ok(()));
        assert_eq!(expected.check(8, Some(&[1, 1]), &EXTENTS), Err(Fault::Stray(8)));
        assert_eq!(expected.check(7, None, &EXTENTS), Err(Fault::Stray(8)));
    }
}
