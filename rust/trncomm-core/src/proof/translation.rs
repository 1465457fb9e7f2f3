//! What moving all ranks along the axes of their grid does to chunks, and whether a program moves along.

use crate::error::SimulationError;
use crate::random::split_mix;
use crate::schedule::{Buffer, ChunkRef, Code, MAX_DEPTH, Place, Site, Step, StreamCode};

/// Ranks drawn at random with which a program is compared, beside the corners of the grid.
pub(super) const SAMPLED: u32 = 40;

/// How chunks follow ranks: each axis of the ranks turns a digit of the chunk's number, or none.
#[derive(Clone, Debug)]
pub(super) struct Translation {
    pub(super) extents: Vec<u32>,
    /// How far apart two chunks are whose digit for the axis differs by one; 0 where the axis turns none.
    strides: Vec<u64>,
    /// The chunks of an image of the buffer.
    chunks: u64,
    /// Whether scratch is laid out as the buffer is; else nothing in it moves.
    scratch: bool,
}

impl Translation {
    /// The ways in which chunks may follow ranks: by blocks in each order of the axes, or not at all.
    pub(super) fn candidates(extents: &[u32], chunks: u64) -> Vec<Self> {
        let ranks: u64 = extents.iter().map(|&extent| u64::from(extent)).product();
        let mut found = Vec::new();
        if chunks.is_multiple_of(ranks) {
            for order in orders(extents.len()) {
                let mut stride = chunks / ranks;
                let mut strides = vec![0; extents.len()];
                for &axis in order.iter().rev() {
                    strides[axis] = stride;
                    stride *= u64::from(extents[axis]);
                }
                found.push(strides);
            }
        }
        found.push(vec![0; extents.len()]);
        found
            .into_iter()
            .flat_map(|strides| {
                [true, false].map(|scratch| Self {
                    extents: extents.to_vec(),
                    strides: strides.clone(),
                    chunks,
                    scratch,
                })
            })
            .collect()
    }

    /// The coordinates of a rank.
    pub(super) fn coordinates(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut coordinates = vec![0; self.extents.len()];
        for (coordinate, &extent) in coordinates.iter_mut().zip(&self.extents).rev() {
            *coordinate = rest % extent;
            rest /= extent;
        }
        coordinates
    }

    /// The rank at these coordinates.
    pub(super) fn rank(&self, coordinates: &[u32]) -> u32 {
        let digits = coordinates.iter().zip(&self.extents);
        digits.fold(0, |rank, (&coordinate, &extent)| rank * extent + coordinate)
    }

    /// The way back.
    pub(super) fn inverse(&self, by: &[u32]) -> Vec<u32> {
        let digits = by.iter().zip(&self.extents);
        digits.map(|(&by, &extent)| (extent - by) % extent).collect()
    }

    /// Where a rank is that is moved.
    fn moved(&self, rank: u32, by: &[u32]) -> u32 {
        let mut coordinates = self.coordinates(rank);
        for ((coordinate, &by), &extent) in coordinates.iter_mut().zip(by).zip(&self.extents) {
            *coordinate = (*coordinate + by) % extent;
        }
        self.rank(&coordinates)
    }

    /// The chunk of a buffer that stands for `chunk` where ranks are moved.
    pub(super) fn chunk(&self, buffer: Buffer, chunk: u64, by: &[u32]) -> u64 {
        if buffer == Buffer::Scratch && !self.scratch {
            return chunk;
        }
        self.label(chunk, by)
    }

    /// The chunk of the data that stands for `chunk` where ranks are moved.
    pub(super) fn label(&self, chunk: u64, by: &[u32]) -> u64 {
        let mut moved = chunk;
        let within = chunk % self.chunks;
        for ((&stride, &extent), &by) in self.strides.iter().zip(&self.extents).zip(by) {
            if stride > 0 && by > 0 {
                let digit = within / stride % u64::from(extent);
                let turned = (digit + u64::from(by)) % u64::from(extent);
                moved = moved + turned * stride - digit * stride;
            }
        }
        moved
    }

    /// Whether, at every step, what the first rank does, other ranks do with the chunks and peers that stand for its:
    /// the corners of the grid, and [`SAMPLED`] ranks drawn at random.
    ///
    /// Asks `go_on` before every step.
    pub(super) fn holds(
        &self,
        code: &Code<'_>,
        go_on: &mut dyn FnMut() -> Result<(), SimulationError>,
    ) -> Result<bool, SimulationError> {
        let axes = self.extents.len().min(8);
        let corner = |bits: u32, far: bool| {
            let along = |(axis, &extent): (usize, &u32)| match (bits >> axis.min(8) & 1, far) {
                (0, _) => 0,
                (_, true) => extent - 1,
                (_, false) => 1 % extent,
            };
            self.extents.iter().enumerate().map(along).collect::<Vec<u32>>()
        };
        let corners = (1..1 << axes).flat_map(|bits| [corner(bits, false), corner(bits, true)]);
        let ranks: u64 = self.extents.iter().map(|&extent| u64::from(extent)).product();
        let drawn = (0..SAMPLED).map(|draw| {
            let rank = u32::try_from(split_mix(draw.into()) % ranks).expect("below the number of ranks");
            self.coordinates(rank)
        });
        // The nearest first: most that is wrong shows there.
        for by in corners.chain(drawn) {
            if !self.moves_along(code, &by, go_on)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn moves_along(
        &self,
        code: &Code<'_>,
        by: &[u32],
        go_on: &mut dyn FnMut() -> Result<(), SimulationError>,
    ) -> Result<bool, SimulationError> {
        let rank = self.rank(by);
        let mut compare = Compare {
            translation: self,
            code,
            by,
            rank,
            here: Vec::new(),
            there: Vec::new(),
        };
        for stream in code.streams(0) {
            if !compare.stream(stream, go_on)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The orders of so many axes; beyond five only as they are and backwards.
fn orders(axes: usize) -> Vec<Vec<usize>> {
    if axes > 5 {
        return vec![(0..axes).collect(), (0..axes).rev().collect()];
    }
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in 0..axes {
        orders = orders
            .iter()
            .flat_map(|order| {
                (0..=order.len()).rev().map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, axis);
                    longer
                })
            })
            .collect();
    }
    orders
}

/// A walk through the program of the first rank and of another.
struct Compare<'a, 's> {
    translation: &'a Translation,
    code: &'a Code<'s>,
    by: &'a [u32],
    rank: u32,
    here: Vec<u64>,
    there: Vec<u64>,
}

impl<'s> Compare<'_, 's> {
    fn stream(
        &mut self,
        stream: &StreamCode<'s>,
        go_on: &mut dyn FnMut() -> Result<(), SimulationError>,
    ) -> Result<bool, SimulationError> {
        let mut walk = Walk::new(stream);
        while let Some((step, vars)) = walk.next() {
            go_on()?;
            let same = match step {
                Step::Send { to: peer, chunks } | Step::Receive { from: peer, chunks, .. } => {
                    self.same_peer(peer, vars) && self.same_chunks(&[chunks], vars)
                }
                Step::Copy { from, to, .. } => self.same_chunks(&[from, to], vars),
                Step::Wait { count, .. } => {
                    count.value(&self.site(0, vars)) == count.value(&self.site(self.rank, vars))
                }
                Step::Compute { .. } | Step::Enter { .. } | Step::Again { .. } => true,
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn site(&self, rank: u32, vars: [u64; MAX_DEPTH]) -> Site<'s> {
        Site {
            shape: self.code.schedule().shape(),
            rank,
            vars,
        }
    }

    fn same_peer(&self, place: &Place, vars: [u64; MAX_DEPTH]) -> bool {
        let (peer, other) = (place.find(&self.site(0, vars)), place.find(&self.site(self.rank, vars)));
        let ranks = i64::try_from(self.code.schedule().ranks()).expect("ranks fit 32 bits");
        let peer = u32::try_from(peer).ok().filter(|&peer| i64::from(peer) < ranks);
        peer.is_some_and(|peer| i64::from(self.translation.moved(peer, self.by)) == other)
    }

    /// Whether the sets of chunks stand for each other, in whatever order; pairs of them where there are two lists.
    fn same_chunks(&mut self, lists: &[&ChunkRef<'s>], vars: [u64; MAX_DEPTH]) -> bool {
        let mut here = std::mem::take(&mut self.here);
        let mut there = std::mem::take(&mut self.there);
        let mut same = true;
        let mut pairs: Vec<Vec<(u64, u64)>> = vec![Vec::new(), Vec::new()];
        for chunks in lists {
            let buffer = chunks.chunks().buffer();
            same &= list(chunks, &self.site(0, vars), &mut here).is_ok()
                && list(chunks, &self.site(self.rank, vars), &mut there).is_ok();
            for chunk in &mut here {
                *chunk = self.translation.chunk(buffer, *chunk, self.by);
            }
            if lists.len() > 1 {
                for (pairs, chunks) in pairs.iter_mut().zip([&here, &there]) {
                    if pairs.is_empty() {
                        pairs.extend(chunks.iter().map(|&chunk| (chunk, 0)));
                    } else {
                        same &= pairs.len() == chunks.len();
                        pairs.iter_mut().zip(chunks).for_each(|(pair, &chunk)| pair.1 = chunk);
                    }
                }
            } else if here != there {
                here.sort_unstable();
                there.sort_unstable();
                same &= here == there;
            }
        }
        for pairs in &mut pairs {
            pairs.sort_unstable();
        }
        same &= pairs[0] == pairs[1];
        (self.here, self.there) = (here, there);
        same
    }
}

/// The chunks of a set, in order.
pub(super) fn list(chunks: &ChunkRef<'_>, site: &Site<'_>, into: &mut Vec<u64>) -> Result<(), String> {
    into.clear();
    chunks.for_each_range(site, &mut |first, count| {
        into.extend(first..first + count);
        Ok(())
    })
}

/// A stream's steps as they come, without loops.
pub(super) struct Walk<'a, 's> {
    steps: &'a [Step<'s>],
    position: usize,
    vars: [u64; MAX_DEPTH],
}

impl<'a, 's> Walk<'a, 's> {
    pub(super) fn new(stream: &'a StreamCode<'s>) -> Self {
        Self {
            steps: &stream.steps,
            position: 0,
            vars: [0; MAX_DEPTH],
        }
    }

    /// The next step that does something, and the loop variables there.
    pub(super) fn next(&mut self) -> Option<(&'a Step<'s>, [u64; MAX_DEPTH])> {
        loop {
            let step = self.steps.get(self.position)?;
            self.position += 1;
            match *step {
                Step::Enter { depth, times, exit } => {
                    self.vars[depth] = 0;
                    if times == 0 {
                        self.position = exit;
                    }
                }
                Step::Again { depth, times, start } => {
                    self.vars[depth] += 1;
                    if self.vars[depth] < times {
                        self.position = start;
                    }
                }
                _ => return Some((step, self.vars)),
            }
        }
    }
}
