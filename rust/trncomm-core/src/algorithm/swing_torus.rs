//! Swing on a torus: an exchange at every step with a partner that swings from one side to the other, never far away.
//!
//! In step t along an axis, with ρ(t) = (1 − (−2)^(t+1))/3 = 1, −1, 3, −5, …, even coordinates x meet x + ρ(t) and odd
//! ones x − ρ(t), modulo the extent: distances of about a third of 2^t where recursive halving has 2^t. A
//! D-dimensional torus runs 2D parts side by side, each on 1/(2D) of the data: part c takes the axes in turn from axis
//! c modulo D on, and the parts from D on swing the other way. All-reduce takes 2·log₂ N steps with the ring's bytes;
//! links carry 1.0 (4×4) to at most 1.2 (two dimensions) times the optimum.
//!
//! Blocks are numbered so that what a rank still answers for after t steps lies in a row along every axis; any cut
//! serves an all-reduce.

use super::levels::{LEVELS, levels};
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

pub(super) const SWING_TORUS: Algorithm = Algorithm {
    name: "swing_torus",
    summary: "halving and doubling whose partners swing from side to side, along all axes and both ways at once",
    source: "De Sensi, Bonato, Saam and Hoefler, NSDI 2024, pp. 1445-1462, arXiv 2401.09356",
    collectives: &[Collective::AllReduce],
    ranks: "powers of two along every axis, up to 2^14 in all",
    parameters: &[LEVELS],
    build,
};

/// The most ranks, each of which has a program of its own.
const MOST_RANKS: usize = 1 << 14;

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let extents = levels(request)?;
    if !extents.iter().all(|extent| extent.is_power_of_two()) || request.ranks() > MOST_RANKS {
        return Err(request.not_applicable(format!(
            "every extent must be a power of two, and all together at most {MOST_RANKS} ranks, got {extents:?}; bucket \
             fits any torus"
        )));
    }
    let dimensions = extents.len();
    let ways: Vec<Vec<Swing>> = [false, true]
        .map(|mirrored| extents.iter().map(|&extent| Swing::new(extent, mirrored)).collect())
        .into();
    let parts: Vec<Part> = (0..2 * dimensions)
        .map(|number| Part {
            number,
            parts: 2 * dimensions,
            order: turns(&extents, number % dimensions),
            axes: &ways[number / dimensions],
        })
        .collect();
    let shape = Shape::new(&extents)?;
    let program_of = |rank: u32| {
        let mut rest = rank as usize;
        let mut coordinates: Vec<usize> = extents
            .iter()
            .rev()
            .map(|extent| {
                let coordinate = rest % extent;
                rest /= extent;
                coordinate
            })
            .collect();
        coordinates.reverse();
        Program::parallel(parts.iter().map(|part| part.body(&coordinates)).collect())
    };
    let chunks = (request.ranks() * parts.len()) as u64;
    Ok(Schedule::by_rank(
        SWING_TORUS.name,
        request.in_place(),
        shape,
        chunks,
        0,
        program_of,
    )?)
}

/// The axis of each step: in turn from `first` on, passing over those that have had their log₂ of the extent.
fn turns(extents: &[usize], first: usize) -> Vec<usize> {
    let longest = extents.iter().map(|extent| extent.ilog2()).max().unwrap_or(0);
    let round = |turn: u32| {
        let axes = (0..extents.len()).map(move |step| (first + step) % extents.len());
        axes.filter(move |&axis| extents[axis].ilog2() > turn)
    };
    (0..longest).flat_map(round).collect()
}

/// The partners along an axis, and the numbers of its blocks.
struct Swing {
    /// The partner of each coordinate in each step.
    partners: Vec<Vec<usize>>,
    /// The number of the block that each coordinate ends with.
    numbers: Vec<usize>,
}

impl Swing {
    fn new(extent: usize, mirrored: bool) -> Self {
        let modulus = i64::try_from(extent).expect("at most 2^14");
        let partner = |step: u32, coordinate: usize| {
            let reach = (1 - (-2i64).pow(step + 1)) / 3;
            let forward = coordinate.is_multiple_of(2) != mirrored;
            let to = i64::try_from(coordinate).expect("at most 2^14") + if forward { reach } else { -reach };
            usize::try_from(to.rem_euclid(modulus)).expect("not negative")
        };
        let partners: Vec<Vec<usize>> = (0..extent.ilog2())
            .map(|step| (0..extent).map(|coordinate| partner(step, coordinate)).collect())
            .collect();
        let mut numbers = vec![0; extent];
        number(&partners, &mut numbers, &mut vec![false; extent], 0, 0, 0);
        Self { partners, numbers }
    }

    /// The blocks that a coordinate answers for after `done` steps: the first and how many.
    fn blocks(&self, coordinate: usize, done: usize) -> (usize, usize) {
        let count = 1 << (self.partners.len() - done);
        (self.numbers[coordinate] / count * count, count)
    }
}

/// Numbers the blocks that `coordinate` answers for after `done` steps from `first` on: its own half, then its partner's.
fn number(
    partners: &[Vec<usize>],
    numbers: &mut [usize],
    seen: &mut [bool],
    coordinate: usize,
    done: usize,
    first: usize,
) {
    if done == partners.len() {
        assert!(
            !std::mem::replace(&mut seen[coordinate], true),
            "the steps lead from a coordinate to every other in one way"
        );
        numbers[coordinate] = first;
        return;
    }
    let half = 1 << (partners.len() - done - 1);
    number(partners, numbers, seen, coordinate, done + 1, first);
    let partner = partners[done][coordinate];
    number(partners, numbers, seen, partner, done + 1, first + half);
}

/// One of the parts that run side by side.
struct Part<'a> {
    number: usize,
    parts: usize,
    /// The axis of each step.
    order: Vec<usize>,
    axes: &'a [Swing],
}

impl Part<'_> {
    fn body(&self, coordinates: &[usize]) -> Vec<Instruction> {
        let mut done = vec![0; coordinates.len()];
        let mut scatter = Vec::new();
        let mut gather = Vec::new();
        for &axis in &self.order {
            let mut partner = coordinates.to_vec();
            partner[axis] = self.axes[axis].partners[done[axis]][coordinates[axis]];
            let peer = || Place::here().then_set(axis, partner[axis]);
            done[axis] += 1;
            let (own, theirs) = (self.blocks(coordinates, &done), self.blocks(&partner, &done));
            scatter.push([
                Instruction::send(peer(), theirs.clone()),
                Instruction::reduce(peer(), own.clone()),
            ]);
            gather.push([Instruction::send(peer(), own), Instruction::receive(peer(), theirs)]);
        }
        scatter.into_iter().chain(gather.into_iter().rev()).flatten().collect()
    }

    /// What the rank at these coordinates answers for after so many steps along each axis.
    fn blocks(&self, coordinates: &[usize], done: &[usize]) -> Chunks {
        let mut stride = self.parts;
        let mut first = self.number;
        let mut runs = Vec::new();
        for (axis, swing) in self.axes.iter().enumerate().rev() {
            let (start, count) = swing.blocks(coordinates[axis], done[axis]);
            first += start * stride;
            runs.push((count, stride as u64));
            stride *= swing.numbers.len();
        }
        let chunks = Chunks::one(Buffer::Output, Expr::from(first));
        runs.iter()
            .rev()
            .fold(chunks, |chunks, &(count, stride)| chunks.repeat(count, stride))
    }
}
