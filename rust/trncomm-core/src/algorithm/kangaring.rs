//! Neuron's `KangaRing`: a ring of groups, of which only one rank is on the ring.
//!
//! The first rank of a group, its primary, is on the ring and carries the blocks of all X ranks of a group in each of
//! its Y − 1 steps. All-gather: the ranks of a group exchange their blocks; then the primary passes what it receives
//! on to the next primary and to the others of its group. Reduce-scatter: the primary reduces what comes along the
//! ring and what the others of its group add, and passes it on; at the end the ranks of a group exchange blocks.
//! Half the steps of a ring over all ranks where groups are pairs.
//!
//! On the machine a write to both neighbours reads memory once, and a reduction of three inputs writes once: 25 % and
//! 33 % fewer touches of memory. Here they are separate messages, so that saving is not in the schedule. Which rank of
//! a pair is primary alternates between the cycles of a torus there; here there is one ring. With groups of one it is
//! the ring.

use super::groups::{GROUP, Groups, WITHIN, after};
use super::levels::LEVELS;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

pub(super) const KANGARING: Algorithm = Algorithm {
    name: "kangaring",
    summary: "a ring of groups with one rank of each on it, which feeds the others: Y - 1 steps for Y groups",
    source: "Neuron runtime documentation, intra-node collectives, KangaRing",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any; the innermost level is the group",
    parameters: &[LEVELS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let groups = Groups::new(request)?;
    let program_of = |primary: bool| {
        let mut body = Vec::new();
        if request.collective() != Collective::AllGather {
            body.push(if primary { reduce_along(groups) } else { add(groups) });
            body.extend(groups.scatter_own());
        }
        if request.collective() != Collective::ReduceScatter {
            body.extend(groups.gather_own());
            body.push(if primary { pass_along(groups) } else { be_fed(groups) });
        }
        Program::single(body)
    };
    Ok(Schedule::by_role(
        KANGARING.name,
        request.in_place(),
        Shape::new(&[groups.count, groups.size])?,
        request.ranks() as u64,
        0,
        |rank| (rank as usize).is_multiple_of(groups.size),
        |&primary| program_of(primary),
    )?)
}

/// The blocks of the group `back` + i further back, where i counts the steps of the ring.
fn behind(groups: Groups, back: i64) -> Chunks {
    let place = Place::shift(GROUP, Expr::from(-back) - Expr::var(0));
    groups.blocks(Buffer::Output, Expr::coordinate_at(place, GROUP))
}

fn next() -> Place {
    Place::shift(GROUP, 1)
}

fn previous() -> Place {
    Place::shift(GROUP, -1)
}

fn primary() -> Place {
    Place::here().then_set(WITHIN, 0)
}

/// The reduce-scatter of a primary.
fn reduce_along(groups: Groups) -> Instruction {
    let add = Instruction::reduce(after(1), behind(groups, 1));
    Instruction::repeat(
        groups.count - 1,
        vec![
            Instruction::repeat(groups.size - 1, vec![add]),
            Instruction::send(next(), behind(groups, 1)),
            Instruction::reduce(previous(), behind(groups, 2)),
        ],
    )
}

/// The reduce-scatter of the others.
fn add(groups: Groups) -> Instruction {
    Instruction::repeat(groups.count - 1, vec![Instruction::send(primary(), behind(groups, 1))])
}

/// The all-gather of a primary.
fn pass_along(groups: Groups) -> Instruction {
    let feed = Instruction::send(after(1), behind(groups, 1));
    Instruction::repeat(
        groups.count - 1,
        vec![
            Instruction::send(next(), behind(groups, 0)),
            Instruction::receive(previous(), behind(groups, 1)),
            Instruction::repeat(groups.size - 1, vec![feed]),
        ],
    )
}

/// The all-gather of the others.
fn be_fed(groups: Groups) -> Instruction {
    Instruction::repeat(
        groups.count - 1,
        vec![Instruction::receive(primary(), behind(groups, 1))],
    )
}
