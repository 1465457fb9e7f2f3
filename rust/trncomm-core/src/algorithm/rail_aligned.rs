//! Rail-aligned all-to-all: what leaves a group leaves it at the place that it is destined for.
//!
//! With groups of X ranks, a rank hands each block for another group to the rank of its own group that has the block's
//! final place; that rank sends all X blocks of its group in one message along its rail, where they arrive in place.
//! A rank sends Y·(X−1) messages inside, a block each, and Y − 1 messages of X blocks outside instead of (Y−1)·X, and
//! crosses no rail. The hand-over for one group goes on while the message for the one before is under way.

use super::groups::{GROUP, Groups, WITHIN, after, before};
use super::levels::LEVELS;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape, Stream};

pub(super) const RAIL_ALIGNED: Algorithm = Algorithm {
    name: "rail_aligned",
    summary: "blocks change rails inside the group, then leave it along the rail, a group's together: no rail is crossed",
    source: "NCCL 2.12, PXN (NVIDIA technical blog, Doubling all2all performance, 2022)",
    collectives: &[Collective::AllToAll],
    ranks: "any; the outer levels are taken as one",
    parameters: &[LEVELS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let groups = Groups::new(request)?;
    // The number of the rank's own group, and of the group 1 + i further on.
    let own_group = || Expr::coordinate(GROUP);
    let group_after = || Expr::coordinate_at(Place::shift(GROUP, Expr::var(0) + 1), GROUP);
    let mut hand_over = Vec::new();
    hand_over.push(Instruction::repeat(
        groups.count - 1,
        inside(groups, 1, Buffer::Scratch, &group_after),
    ));
    hand_over.extend(inside(groups, 0, Buffer::Output, &own_group));
    let each_group = 1 + 2 * (groups.size - 1);
    let leave = vec![Instruction::repeat(
        groups.count - 1,
        vec![
            Instruction::Wait {
                stream: 0,
                count: (Expr::var(0) + 1) * each_group,
            },
            Instruction::send(
                Place::shift(GROUP, Expr::var(0) + 1),
                groups.blocks(Buffer::Scratch, group_after()),
            ),
        ],
    )];
    let source = || Place::shift(GROUP, Expr::from(-1) - Expr::var(0));
    let arrive = vec![Instruction::repeat(
        groups.count - 1,
        vec![Instruction::receive(
            source(),
            groups.blocks(Buffer::Output, Expr::coordinate_at(source(), GROUP)),
        )],
    )];
    let stream = |channel: u32, body: Vec<Instruction>| Stream { channel, body };
    let chunks = request.ranks() as u64;
    Ok(Schedule::uniform(
        RAIL_ALIGNED.name,
        request.out_of_place(),
        Shape::new(&[groups.count, groups.size])?,
        chunks,
        chunks,
        Program {
            streams: vec![stream(0, hand_over), stream(1, leave), stream(1, arrive)],
        },
    )?)
}

/// Exchanges, within a group, the blocks that are destined for `group`, into the slots of the ranks that they come from.
/// `depth` is the number of loops around it.
fn inside(groups: Groups, depth: usize, to: Buffer, group: &dyn Fn() -> Expr) -> Vec<Instruction> {
    let block =
        |buffer: Buffer, place: Place| Chunks::one(buffer, group() * groups.size + Expr::coordinate_at(place, WITHIN));
    let (after, before) = (|| after(depth), || before(depth));
    vec![
        Instruction::copy(block(Buffer::Input, Place::here()), block(to, Place::here())),
        Instruction::repeat(
            groups.size - 1,
            vec![Instruction::send(after(), block(Buffer::Input, after()))],
        ),
        Instruction::repeat(
            groups.size - 1,
            vec![Instruction::receive(before(), block(to, before()))],
        ),
    ]
}
