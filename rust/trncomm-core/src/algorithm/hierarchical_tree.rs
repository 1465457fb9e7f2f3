//! Rooted collectives in two levels: a binomial tree over groups, and one within each of them.
//!
//! The ranks at the root's place stand for their groups: the root reaches them first, over the links between groups,
//! and each passes on to its own group. So every group hears once from outside, whatever the numbering, and long links
//! carry each block once. Reduce and gather are the same backwards.
//!
//! On a full crossbar of bandwidth B, one message at a time, with Y groups of X ranks a broadcast or reduce of S bytes
//! takes (⌈log₂ Y⌉ + ⌈log₂ X⌉)·(L + S/B), a gather or scatter (⌈log₂ Y⌉ + ⌈log₂ X⌉)·L + (N−1)/N·S / B.

use super::groups::{GROUP, Groups, WITHIN};
use super::levels::LEVELS;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

pub(super) const HIERARCHICAL_TREE: Algorithm = Algorithm {
    name: "hierarchical_tree",
    summary: "a binomial tree over groups, then one inside each: a group is reached once from outside",
    source: "Karonis et al., IPDPS 2000 (multilevel trees); Chan et al., Concurrency Computat. 19(13), 2007, section 4",
    collectives: &[
        Collective::Broadcast,
        Collective::Reduce,
        Collective::Gather,
        Collective::Scatter,
    ],
    ranks: "any; the innermost level is the group",
    parameters: &[LEVELS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let groups = Groups::new(request)?;
    let (ranks, root, collective) = (request.ranks(), request.root().index(), request.collective());
    let role_of = |rank: u32| {
        let rank = rank as usize;
        let from_root = |at: usize, root: usize, count: usize| (at + count - root) % count;
        let place = rank % groups.size;
        let inside = Links::new(from_root(place, root % groups.size, groups.size), groups.size);
        let group = from_root(rank / groups.size, root / groups.size, groups.count);
        let outside = (place == root % groups.size).then(|| Links::new(group, groups.count));
        Role { place, outside, inside }
    };
    Ok(Schedule::by_role(
        HIERARCHICAL_TREE.name,
        request.in_place(),
        Shape::new(&[groups.count, groups.size])?,
        if collective.has_blocks() { ranks as u64 } else { 1 },
        0,
        role_of,
        |role| Program::single(role.instructions(groups, collective)),
    )?)
}

/// What a rank has to do with both trees.
#[derive(PartialEq, Eq, Hash)]
struct Role {
    place: usize,
    outside: Option<Links>,
    inside: Links,
}

/// Who is next to a member of a binomial tree, in distances.
#[derive(PartialEq, Eq, Hash)]
struct Links {
    parent: Option<usize>,
    /// Furthest first, each with the number of members below it, itself included.
    children: Vec<(usize, usize)>,
    /// The members below it and itself.
    size: usize,
}

impl Links {
    /// The member so far from the root.
    fn new(from_root: usize, members: usize) -> Self {
        let parent = (from_root > 0).then(|| 1 << from_root.trailing_zeros());
        let reach = parent.unwrap_or_else(|| members.next_power_of_two());
        let size = reach.min(members - from_root);
        let steps = (0..reach.trailing_zeros()).rev().map(|bit| 1 << bit);
        let children = steps.filter(|&step| step < size);
        Self {
            parent,
            children: children.map(|step| (step, step.min(size - step))).collect(),
            size,
        }
    }

    /// What a member does, from the root on, along an axis; `data` gives what the member so far on needs, for so many.
    fn instructions(
        &self,
        axis: usize,
        collective: Collective,
        data: &dyn Fn(usize, usize) -> Chunks,
    ) -> Vec<Instruction> {
        let outwards = matches!(collective, Collective::Broadcast | Collective::Scatter);
        let mut body = Vec::new();
        if let Some(by) = self.parent {
            let parent = Place::shift(axis, Expr::from(0) - by);
            body.push(if outwards {
                Instruction::receive(parent, data(0, self.size))
            } else {
                Instruction::send(parent, data(0, self.size))
            });
        }
        for &(by, size) in &self.children {
            let child = Place::shift(axis, Expr::from(by));
            body.push(match collective {
                _ if outwards => Instruction::send(child, data(by, size)),
                Collective::Reduce => Instruction::reduce(child, data(by, size)),
                _ => Instruction::receive(child, data(by, size)),
            });
        }
        body
    }
}

impl Role {
    fn instructions(&self, groups: Groups, collective: Collective) -> Vec<Instruction> {
        let whole = || Chunks::one(Buffer::Output, 0);
        let of_groups = |by: usize, count: usize| {
            if !collective.has_blocks() {
                return whole();
            }
            let first = Expr::coordinate_at(Place::shift(GROUP, Expr::from(by)), GROUP);
            Chunks::range(Buffer::Output, first * groups.size, count * groups.size).wrapping()
        };
        let of_ranks = |by: usize, count: usize| {
            if !collective.has_blocks() {
                return whole();
            }
            let range = |place: usize, count: usize| {
                Chunks::range(Buffer::Output, Expr::coordinate(GROUP) * groups.size + place, count)
            };
            // Those past the group's end are at its start.
            let first = (self.place + by) % groups.size;
            let before_end = count.min(groups.size - first);
            if before_end == count {
                range(first, count)
            } else {
                range(first, before_end).then(range(0, count - before_end))
            }
        };
        let outside = self.outside.iter();
        let mut body: Vec<Instruction> = outside
            .flat_map(|links| links.instructions(GROUP, collective, &of_groups))
            .collect();
        body.extend(self.inside.instructions(WITHIN, collective, &of_ranks));
        if matches!(collective, Collective::Reduce | Collective::Gather) {
            body.reverse();
        }
        body
    }
}
