//! Algorithms made of phases: each runs a flat algorithm along one axis of a shape, for all lines of that axis at once.
//!
//! The buffer is cut into a block for each rank, numbered by the coordinates, and so is itself a grid with the same
//! axes. Scattering along an axis leaves a rank with the blocks of its own coordinate on it; gathering undoes that. A
//! phase along an axis works on the blocks that agree with the rank on the axes scattered so far, and cuts them by
//! their coordinate on its own axis.

use crate::collective::{Collective, Goal};
use crate::error::AlgorithmError;
use crate::schedule::{Dim, Embedding, Expr, Region, Schedule, Shape, View};

/// A flat algorithm along an axis.
pub(super) struct Phase {
    /// The axis.
    pub axis: usize,
    /// The axes along which the data are scattered when it starts, without its own.
    pub scattered: Vec<usize>,
    /// The algorithm, over a line of the axis's extent.
    pub schedule: Schedule,
    /// Where the data are.
    pub from: Region,
    /// Where they go.
    pub to: Region,
}

impl Phase {
    /// A phase that works within the output buffer.
    pub fn new(axis: usize, scattered: &[usize], schedule: Schedule) -> Self {
        Self {
            axis,
            scattered: scattered.to_vec(),
            schedule,
            from: Region::OUTPUT,
            to: Region::OUTPUT,
        }
    }
}

/// What phases are put together to.
pub(super) struct Plan {
    /// The name of the algorithm.
    pub name: &'static str,
    /// What it comes to.
    pub goal: Goal,
    /// The shape of the ranks.
    pub shape: Shape,
    /// The axes by which blocks are numbered, slowest first: all in order where rank r's block must be block r.
    pub order: Vec<usize>,
    /// Images of scratch that phases name.
    pub images: u64,
    /// Phases that run side by side, each row of them on a part of every block.
    pub parts: Vec<Vec<Phase>>,
}

impl Plan {
    /// The schedule.
    pub fn build(self) -> Result<Schedule, AlgorithmError> {
        let split = self.split()?;
        let shape = Shape::new(&split.concat())?;
        let grid = BlockGrid::new(&self, &split);
        let chunks = grid.block * self.shape.ranks() as u64;
        let mut scratch = self.images;
        let mut side_by_side = Vec::new();
        for (part, phases) in (0..).zip(&self.parts) {
            let mut sequence = Vec::new();
            for phase in phases {
                let first: usize = split[..phase.axis].iter().map(Vec::len).sum();
                let axes: Vec<usize> = (first..first + split[phase.axis].len()).collect();
                let embedded = phase.schedule.on(&Embedding {
                    shape: &shape,
                    axes: &axes,
                    chunks,
                    view: grid.view(part, phase),
                    from: phase.from,
                    to: phase.to,
                    scratch,
                })?;
                // Scratch isn't used twice: a message of the phase before may still be reading it.
                scratch = embedded.capacity(crate::schedule::Buffer::Scratch) / chunks;
                sequence.push(embedded);
            }
            side_by_side.push(Schedule::sequence(&sequence)?);
        }
        Ok(Schedule::parallel(&side_by_side)?.claim(self.name, self.goal)?)
    }

    /// The extents that each axis is split into, since a stage may see its line as a shape of more axes.
    fn split(&self) -> Result<Vec<Vec<usize>>, AlgorithmError> {
        let extents = self.shape.extents().iter().enumerate();
        extents
            .map(|(axis, &extent)| {
                let along = self.parts.iter().flatten().filter(|phase| phase.axis == axis);
                let mut shapes = along.map(|phase| phase.schedule.shape().extents());
                let whole = [extent];
                let shape = shapes.next().unwrap_or(&whole);
                if let Some(other) = shapes.find(|&other| other != shape) {
                    return Err(AlgorithmError::NotApplicable {
                        algorithm: self.name,
                        collective: self.goal.collective.name(),
                        ranks: self.shape.ranks(),
                        reason: format!(
                            "the algorithms of a level must see it alike, got {shape:?} and {other:?}; ring fits any"
                        ),
                    });
                }
                Ok(shape.iter().map(|&extent| extent as usize).collect())
            })
            .collect()
    }
}

/// The phases that scatter along the axes of `order` one by one, or gather in reverse, or both.
///
/// `stage` makes the algorithm of a phase. An all-reduce along the last axis takes the place of scattering and
/// gathering it.
pub(super) fn scatter_and_gather(
    collective: Collective,
    order: &[usize],
    stage: impl Fn(Collective, usize) -> Result<Schedule, AlgorithmError>,
) -> Result<Vec<Phase>, AlgorithmError> {
    let phase = |collective: Collective, depth: usize| {
        let axis = order[depth];
        Ok(Phase::new(axis, &order[..depth], stage(collective, axis)?))
    };
    let (scattered, gathered) = match collective {
        Collective::ReduceScatter => (order.len(), 0),
        Collective::AllGather => (0, order.len()),
        _ => (order.len() - 1, order.len() - 1),
    };
    let mut phases: Vec<Result<Phase, AlgorithmError>> = Vec::new();
    phases.extend((0..scattered).map(|depth| phase(Collective::ReduceScatter, depth)));
    if scattered == gathered {
        phases.push(phase(collective, scattered));
    }
    phases.extend((0..gathered).rev().map(|depth| phase(Collective::AllGather, depth)));
    phases.into_iter().collect()
}

/// The order in which blocks are numbered for phases that scatter by `order`: the ranks' own where it matters where a
/// block ends, else the one that keeps what a phase works on together.
pub(super) fn numbering(collective: Collective, order: &[usize]) -> Vec<usize> {
    if collective.has_blocks() {
        (0..order.len()).collect()
    } else {
        order.to_vec()
    }
}

/// How the buffer's chunks lie in the grid of blocks.
struct BlockGrid {
    extents: Vec<u64>,
    /// The rank's coordinate along each axis, which may be split into several.
    coordinates: Vec<Expr>,
    order: Vec<usize>,
    /// How far apart, in chunks, two blocks are that are neighbours along an axis.
    strides: Vec<u64>,
    /// The chunks of a block.
    block: u64,
    /// The chunks of a part of a block.
    pieces: u64,
}

impl BlockGrid {
    fn new(plan: &Plan, split: &[Vec<usize>]) -> Self {
        let extents: Vec<u64> = plan.shape.extents().iter().map(|&extent| extent.into()).collect();
        let phases = || plan.parts.iter().flatten();
        let pieces = phases().map(|phase| needed_pieces(phase, &extents)).fold(1, lcm);
        let block = pieces * plan.parts.len() as u64;
        let mut strides = vec![0; extents.len()];
        let mut stride = block;
        for &axis in plan.order.iter().rev() {
            strides[axis] = stride;
            stride *= extents[axis];
        }
        let mut axes = 0..;
        let coordinate = |extents: &Vec<usize>| {
            let digits = extents.iter().zip(&mut axes);
            let number = digits.map(|(&extent, axis)| (extent, Expr::coordinate(axis)));
            let joined = number.reduce(|(_, slow), (extent, fast)| (extent, slow * extent + fast));
            joined.expect("an axis is split into one or more").1
        };
        Self {
            coordinates: split.iter().map(coordinate).collect(),
            extents,
            order: plan.order.clone(),
            strides,
            block,
            pieces,
        }
    }

    /// What a phase sees of a part of the buffer.
    fn view(&self, part: u64, phase: &Phase) -> View {
        let origin = phase
            .scattered
            .iter()
            .fold(Expr::from_count(part * self.pieces), |origin, &axis| {
                origin + self.coordinates[axis].clone() * Expr::from_count(self.strides[axis])
            });
        let cut = phase.schedule.chunks();
        if is_whole(phase) {
            debug_assert_eq!(self.block, self.pieces, "an all-reduce has whole blocks");
            // INVARIANT: the blocks that an all-reduce works on lie in a row, since it comes when the axes that number
            // blocks slowest are scattered, and has the buffer for itself.
            let each = blocks_of(phase, &self.extents) * self.pieces / cut;
            return View::new(origin, &[Dim::new(cut, each)], &[Dim::new(each, 1)]);
        }
        let extent = self.extents[phase.axis];
        let own_cut = cut / extent;
        let each = self.pieces / own_cut;
        let mut cell: Vec<Dim> = self
            .order
            .iter()
            .filter(|&axis| *axis != phase.axis && !phase.scattered.contains(axis))
            .map(|&axis| Dim::new(self.extents[axis], self.strides[axis]))
            .collect();
        cell.push(Dim::new(each, 1));
        View::new(
            origin,
            &[Dim::new(extent, self.strides[phase.axis]), Dim::new(own_cut, each)],
            &cell,
        )
    }
}

/// Whether a phase treats its data as a whole, not as a block for each rank of its line.
fn is_whole(phase: &Phase) -> bool {
    !phase.schedule.goal().collective.has_blocks()
}

/// How many blocks a phase works on.
fn blocks_of(phase: &Phase, extents: &[u64]) -> u64 {
    let kept = extents.iter().enumerate();
    kept.filter(|(axis, _)| !phase.scattered.contains(axis))
        .map(|(_, extent)| extent)
        .product()
}

/// In how many pieces a block must be cut for a phase.
fn needed_pieces(phase: &Phase, extents: &[u64]) -> u64 {
    let cut = phase.schedule.chunks();
    if is_whole(phase) {
        cut / gcd(cut, blocks_of(phase, extents))
    } else {
        cut / extents[phase.axis]
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u64, b: u64) -> u64 {
    a / gcd(a, b) * b
}
