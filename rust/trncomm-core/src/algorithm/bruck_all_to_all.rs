//! Bruck's index algorithm: all-to-all in which blocks travel together, digit by digit.
//!
//! Position j of a rank holds a block that has j ranks to go, at first its own for r+j. For every digit w in base R
//! and value z > 0, all positions whose digit w is z go to r + z·R^w in one message; what comes from r − z·R^w takes
//! their place. After all digits position j holds the block from rank r−j.
//!
//! Incoming blocks get an area of their own for every (w, z), since the positions that they take the place of may
//! still be leaving. A block of position j is then found in the area of the last digit of j that is not zero so far.
//! The first copy turns the input to positions and the last ones turn positions to the output, as in the paper. Where
//! blocks differ in size (by at most one element), messages have the sizes of the positions.
//!
//! On a full crossbar of bandwidth B, one message at a time, m messages with b blocks of S/N bytes in all take
//! m·L + b·S/N / B: for 144 ranks 8 with 496 blocks (R = 2), 11 with 392 (R = 4), 143 with 143 (R = N).

use super::Request;
use super::bruck::BRUCK;
use super::direct::keep_own_block;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

/// A message: the positions whose digit of weight `width` is `value`, and the first scratch chunk of what comes in.
struct Area {
    width: usize,
    value: usize,
    base: usize,
}

pub(super) fn build(request: &Request<'_>, radix: usize) -> Result<Schedule, AlgorithmError> {
    let ranks = request.ranks();
    // The positions themselves come first in scratch, then the areas.
    let mut scratch = ranks;
    let mut areas: Vec<Area> = Vec::new();
    let mut body = vec![keep_own_block()];
    if ranks > 1 {
        let others = Chunks::range(Buffer::Input, Expr::rank() + 1, ranks - 1).wrapping();
        body.push(Instruction::copy(others, Chunks::range(Buffer::Scratch, 1, ranks - 1)));
    }
    let mut width = 1;
    while width < ranks {
        let lower = areas.len();
        let mut receives = Vec::new();
        for value in (1..radix).take_while(|value| value * width < ranks) {
            let area = Area {
                width,
                value,
                base: scratch,
            };
            let positions = Positions::new(&area, radix, ranks);
            let (from, to) = positions.moved(&areas[..lower]);
            let skip = Expr::from(value * width);
            body.push(Instruction::send(Place::shift(0, skip.clone()), from));
            receives.push(Instruction::receive(Place::shift(0, Expr::from(0) - skip), to));
            scratch += positions.count();
            areas.push(area);
        }
        body.extend(receives);
        width *= radix;
    }
    // Positions whose last digit other than zero is this one lie at the start of its area, in order.
    body.extend(areas.iter().map(|area| {
        let first = area.value * area.width;
        let count = area.width.min(ranks - first);
        Instruction::copy(
            Chunks::range(Buffer::Scratch, area.base, count),
            Chunks::one(Buffer::Output, Expr::rank() - first)
                .repeat(count, ranks as u64 - 1)
                .wrapping(),
        )
    }));
    Ok(Schedule::uniform(
        BRUCK.name,
        request.out_of_place(),
        request.line()?,
        ranks as u64,
        scratch as u64,
        Program::single(body),
    )?)
}

/// The positions of a message: `full` groups of `width`, each `width · radix` after the one before, and `rest` more.
struct Positions<'a> {
    area: &'a Area,
    radix: usize,
    full: usize,
    rest: usize,
}

impl<'a> Positions<'a> {
    fn new(area: &'a Area, radix: usize, ranks: usize) -> Self {
        let period = area.width * radix;
        let beyond = ranks - area.value * area.width;
        let full = beyond / period + usize::from(beyond % period >= area.width);
        let rest = if beyond % period < area.width {
            beyond % period
        } else {
            0
        };
        Self {
            area,
            radix,
            full,
            rest,
        }
    }

    fn count(&self) -> usize {
        self.full * self.area.width + self.rest
    }

    /// Where the positions lie before the message, and where they come in, in the same order: first those that
    /// haven't moved yet, then those in each of the areas of lower digits.
    fn moved(&self, lower: &[Area]) -> (Chunks, Chunks) {
        let Area { width, value, base } = *self.area;
        let groups = |first: usize, stride: usize, groups: usize| {
            Chunks::one(Buffer::Scratch, first).repeat(groups, stride as u64)
        };
        let unmoved = self.full + usize::from(self.rest > 0);
        let mut from = groups(value * width, width * self.radix, unmoved);
        let mut to = groups(base, width, unmoved);
        for area in lower {
            let (first, end) = (area.value * area.width, (area.value + 1) * area.width);
            let whole = self.full + usize::from(self.rest >= end);
            // A group of this message's positions is `width` apart from the next in the lower area, too.
            let start = area.base + value * width / self.radix;
            if whole > 0 {
                from = from.then(groups(start, width, whole).repeat(area.width, 1));
                to = to.then(groups(base + first, width, whole).repeat(area.width, 1));
            }
            if (first + 1..end).contains(&self.rest) {
                let count = self.rest - first;
                from = from.then(Chunks::range(Buffer::Scratch, start + whole * width, count));
                to = to.then(Chunks::range(Buffer::Scratch, base + first + whole * width, count));
            }
        }
        (from, to)
    }
}
