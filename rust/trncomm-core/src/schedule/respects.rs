//! Whether a schedule stays the same when its ranks are renumbered.

use super::code::{Code, Step, StreamCode};
use super::expr::{Expr, MAX_DEPTH, Op, Site};
use super::shape::{Move, Place};
use super::{Chunks, Instruction};

/// Up to so many instructions of all ranks, passes of loops included, are compared one by one where their text alone
/// doesn't tell.
const ONE_BY_ONE: u64 = 1 << 20;

/// What a renumbering does to a coordinate of the schedule's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// Nothing.
    Still,
    /// Adds to it, modulo the extent.
    Rotates,
    /// Flips bits of it.
    Flips,
    /// Something else.
    Other,
}

impl Code<'_> {
    /// Whether what every rank does, its image under a renumbering does with the images of its peers, for as many bytes.
    ///
    /// The renumbering moves ranks along `axis` of a numbering with these `extents`, whose axes are parts of those of
    /// the schedule's shape: by addition modulo the extent, or by exclusive or (`flips`).
    ///
    /// Found from the text of the programs, where peers are relative and counts don't depend on where a rank is; one by
    /// one where that doesn't tell and the schedule is small. Never true where it doesn't hold.
    pub(crate) fn respects(&self, extents: &[u32], axis: usize, flips: bool, renumbered: &dyn Fn(u32) -> u32) -> bool {
        let schedule = self.schedule();
        let ranks = u32::try_from(schedule.ranks()).expect("a shape's ranks fit 32 bits");
        let same_roles = (0..ranks).all(|rank| schedule.program_of(rank) == schedule.program_of(renumbered(rank)));
        if !same_roles {
            return false;
        }
        let actions = actions(schedule.shape().extents(), extents, axis, flips);
        let by_text = self.layout().uniform().is_some()
            && schedule.programs().iter().all(|program| {
                let mut bodies = program.streams.iter().map(|stream| &stream.body);
                bodies.all(|body| Text { actions: &actions }.keeps_all(body))
            });
        by_text || (self.instructions() <= ONE_BY_ONE && self.is_same_one_by_one(ranks, renumbered))
    }

    fn is_same_one_by_one(&self, ranks: u32, renumbered: &dyn Fn(u32) -> u32) -> bool {
        (0..ranks).all(|rank| {
            let image = renumbered(rank);
            self.streams(rank)
                .iter()
                .all(|stream| self.stream_is_same(stream, rank, image, renumbered))
        })
    }

    /// Runs through a stream without any network, as the rank and as its image at once.
    fn stream_is_same(&self, stream: &StreamCode<'_>, rank: u32, image: u32, renumbered: &dyn Fn(u32) -> u32) -> bool {
        let shape = self.schedule().shape();
        let ranks = i64::try_from(shape.ranks()).expect("ranks fit 32 bits");
        let mut vars = [0; MAX_DEPTH];
        let mut position = 0;
        while let Some(step) = stream.steps.get(position) {
            let (here, there) = (
                Site { shape, rank, vars },
                Site {
                    shape,
                    rank: image,
                    vars,
                },
            );
            let same_peer = |place: &Place| {
                let (peer, other) = (place.find(&here), place.find(&there));
                let peer = u32::try_from(peer).ok().filter(|&peer| i64::from(peer) < ranks);
                peer.is_some_and(|peer| i64::from(renumbered(peer)) == other)
            };
            let same_bytes = |chunks: &super::ChunkRef<'_>| {
                let (a, b) = (chunks.bytes(&here, self.layout()), chunks.bytes(&there, self.layout()));
                a.is_ok() && a == b
            };
            let same = match step {
                Step::Send { to, chunks } => same_peer(to) && same_bytes(chunks),
                Step::Receive { from, chunks, .. } => same_peer(from) && same_bytes(chunks),
                Step::Copy { from, to, .. } => same_bytes(from) && same_bytes(to),
                Step::Wait { count, .. } => count.value(&here) == count.value(&there),
                Step::Compute { .. } | Step::Enter { .. } | Step::Again { .. } => true,
            };
            if !same {
                return false;
            }
            position = match *step {
                Step::Enter { depth, times, exit } => {
                    vars[depth] = 0;
                    if times == 0 { exit } else { position + 1 }
                }
                Step::Again { depth, times, start } => {
                    vars[depth] += 1;
                    if vars[depth] < times { start } else { position + 1 }
                }
                _ => position + 1,
            };
        }
        true
    }
}

/// What a move along an axis of the finer numbering does to each axis of the shape.
fn actions(shape: &[u32], extents: &[u32], axis: usize, flips: bool) -> Vec<Action> {
    let stride_of =
        |extents: &[u32], axis: usize| extents[axis + 1..].iter().map(|&extent| u64::from(extent)).product();
    let stride: u64 = stride_of(extents, axis);
    let end = stride * u64::from(extents[axis]);
    (0..shape.len())
        .map(|coarse| {
            let from: u64 = stride_of(shape, coarse);
            let to = from * u64::from(shape[coarse]);
            // The finer axis is a part of this one, or not.
            if stride < from || end > to {
                Action::Still
            } else if flips && (stride / from).is_power_of_two() {
                Action::Flips
            } else if !flips && end == to {
                // The slowest part: a carry out of it is lost, as modulo the extent it must.
                Action::Rotates
            } else {
                Action::Other
            }
        })
        .collect()
}

/// What the text of a program shows, for a renumbering that does this to the coordinates.
struct Text<'a> {
    actions: &'a [Action],
}

impl Text<'_> {
    fn keeps_all(&self, body: &[Instruction]) -> bool {
        body.iter().all(|instruction| match instruction {
            Instruction::Send { to, chunks } => self.follows(to) && self.counts_same(chunks),
            Instruction::Receive { from, chunks, .. } => self.follows(from) && self.counts_same(chunks),
            Instruction::Copy { from, to, .. } => self.counts_same(from) && self.counts_same(to),
            Instruction::Wait { count, .. } => self.is_same(count),
            Instruction::Compute { .. } => true,
            Instruction::Loop { body, .. } => self.keeps_all(body),
        })
    }

    /// Whether the place seen from a rank's image is the image of the place seen from the rank.
    fn follows(&self, place: &Place) -> bool {
        let mut follows = true;
        for step in place.moves() {
            follows = match step {
                Move::Shift { axis, by } => {
                    follows && self.is_same(by) && matches!(self.actions[*axis], Action::Still | Action::Rotates)
                }
                Move::Xor { axis, mask } => {
                    follows && self.is_same(mask) && matches!(self.actions[*axis], Action::Still | Action::Flips)
                }
                Move::Set { axis, to } => follows && self.is_same(to) && self.actions[*axis] == Action::Still,
                // Wherever the moves before it led.
                Move::Rank(Expr::RankAt(place)) => self.follows(place),
                Move::Rank(_) => false,
            };
        }
        follows
    }

    /// Whether a value is the same for a rank and its image.
    fn is_same(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) | Expr::Var(_) => true,
            Expr::RankAt(_) => false,
            Expr::CoordinateAt(place, axis) => self.actions[*axis] == Action::Still && self.follows(place),
            Expr::Binary(Op::Mul, a, b) if [a, b].iter().any(|side| side.constant() == Some(0)) => true,
            Expr::Binary(_, a, b) => self.is_same(a) && self.is_same(b),
        }
    }

    /// Whether as many chunks are meant, wherever they lie.
    fn counts_same(&self, chunks: &Chunks) -> bool {
        chunks
            .parts()
            .all(|part| part.runs.iter().all(|run| self.is_same(&run.count)))
    }
}
