//! Linear rooted collectives: the root talks to every other rank itself.
//!
//! Through the root's port of bandwidth B go (N−1) messages: blocks for gather and scatter, (N−1)/N·S / B in all,
//! whole buffers for broadcast and reduce, (N−1)·S / B. Ranks are taken in rotation from the root on.

use super::direct::{after, block};
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const LINEAR: Algorithm = Algorithm {
    name: "linear",
    summary: "the root exchanges with every other rank itself: one step, N-1 messages at the root",
    source: "Chan et al., Concurrency Computat.: Pract. Exper. 19(13), 2007, section 3",
    collectives: &[
        Collective::Broadcast,
        Collective::Reduce,
        Collective::Gather,
        Collective::Scatter,
    ],
    ranks: "any",
    parameters: &[],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let root = request.root().get();
    let line = [request.ranks()];
    let whole = || Chunks::one(Buffer::Output, 0);
    let to_root = || Place::rank(i64::from(root));
    let own = || Chunks::one(Buffer::Output, Expr::rank());
    let theirs = || block(Buffer::Output, after(&line));
    let (chunks, at_root, elsewhere) = match request.collective() {
        Collective::Broadcast => (
            1,
            Instruction::send(after(&line), whole()),
            Instruction::receive(to_root(), whole()),
        ),
        Collective::Reduce => (
            1,
            Instruction::reduce(after(&line), whole()),
            Instruction::send(to_root(), whole()),
        ),
        Collective::Gather => (
            request.ranks(),
            Instruction::receive(after(&line), theirs()),
            Instruction::send(to_root(), own()),
        ),
        _ => (
            request.ranks(),
            Instruction::send(after(&line), theirs()),
            Instruction::receive(to_root(), own()),
        ),
    };
    let at_root = Instruction::repeat(request.ranks() - 1, vec![at_root]);
    let program_of = |&is_root: &bool| Program::single(vec![if is_root { at_root.clone() } else { elsewhere.clone() }]);
    Ok(Schedule::by_role(
        LINEAR.name,
        request.in_place(),
        request.line()?,
        chunks as u64,
        0,
        |rank| rank == root,
        program_of,
    )?)
}
