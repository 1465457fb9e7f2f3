//! Neuron's mesh: groups exchange with all other groups at once, and the ranks of a group share that work.
//!
//! With Y groups of X ranks, rank l of a group serves the groups k further on for which k modulo X is l. All-gather:
//! the ranks of a group exchange their blocks; each sends all X of them to rank l of the groups that it serves, and
//! passes what comes from others on to its group. Reduce-scatter is the same backwards: the ranks of a group hand
//! their blocks for another group to the one that serves it, which reduces and sends them. Three steps, of which one
//! leaves the group, with about (Y−1)/X messages of X blocks a rank instead of (Y−1)·X of one.
//!
//! A group is what shares memory or a switch: the ranks of a chip, or the chips of a server. With groups of one it is
//! a direct exchange.

use super::groups::{GROUP, Groups, WITHIN, after, before};
use super::levels::LEVELS;
use super::{Algorithm, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule, Shape};

pub(super) const MESH: Algorithm = Algorithm {
    name: "mesh",
    summary: "every group sends to every other at once, its ranks sharing the work: three steps, large messages, incast",
    source: "Neuron runtime documentation, intra-node collectives, mesh",
    collectives: &[Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather],
    ranks: "any; the innermost level is the group",
    parameters: &[LEVELS],
    build,
};

fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let groups = Groups::new(request)?;
    let mesh = Mesh { groups };
    let program_of = |place: usize| {
        let served = mesh.served(place);
        let mut body = Vec::new();
        if request.collective() != Collective::AllGather {
            body.extend(mesh.reduce_scatter(&served));
        }
        if request.collective() != Collective::ReduceScatter {
            body.extend(mesh.all_gather(&served));
        }
        Program::single(body)
    };
    Ok(Schedule::by_role(
        MESH.name,
        request.in_place(),
        Shape::new(&[groups.count, groups.size])?,
        request.ranks() as u64,
        0,
        |rank| rank as usize % groups.size,
        |&role| program_of(role),
    )?)
}

struct Mesh {
    groups: Groups,
}

/// The groups that a rank serves: `first` further on, and every `size` groups from there, `count` in all.
struct Served {
    first: usize,
    count: usize,
}

impl Mesh {
    fn served(&self, rank: usize) -> Served {
        let first = if rank == 0 { self.groups.size } else { rank };
        Served {
            first,
            count: (self.groups.count + self.groups.size - 1).saturating_sub(first) / self.groups.size,
        }
    }

    /// The same place in the i-th group that the rank serves, `sign` 1 further on or −1 further back.
    fn group(&self, served: &Served, sign: i64) -> Place {
        let steps = Expr::var(0) * self.groups.size + served.first;
        Place::shift(GROUP, Expr::from(0) + steps * sign)
    }

    /// All blocks of the group at a place.
    fn blocks(&self, place: Place) -> Chunks {
        self.groups.blocks(Buffer::Output, Expr::coordinate_at(place, GROUP))
    }

    fn all_gather(&self, served: &Served) -> Vec<Instruction> {
        let (to, from) = (|| self.group(served, 1), || self.group(served, -1));
        let pass_on = Instruction::send(after(1), self.blocks(from()));
        let mut body = self.groups.gather_own().to_vec();
        body.push(Instruction::repeat(
            served.count,
            vec![Instruction::send(to(), self.blocks(Place::here()))],
        ));
        body.push(Instruction::repeat(
            served.count,
            vec![
                Instruction::receive(from(), self.blocks(from())),
                Instruction::repeat(self.groups.size - 1, vec![pass_on]),
            ],
        ));
        let receive = |group: Place, other: Place| Instruction::receive(other, self.blocks(group));
        body.extend(self.for_each_other(receive, -1, served));
        body
    }

    fn reduce_scatter(&self, served: &Served) -> Vec<Instruction> {
        let (to, from) = (|| self.group(served, 1), || self.group(served, -1));
        let take = Instruction::reduce(before(1), self.blocks(to()));
        let send = |group: Place, other: Place| Instruction::send(other, self.blocks(group));
        let mut body = self.for_each_other(send, 1, served);
        body.push(Instruction::repeat(
            served.count,
            vec![
                Instruction::repeat(self.groups.size - 1, vec![take]),
                Instruction::send(to(), self.blocks(to())),
            ],
        ));
        body.push(Instruction::repeat(
            served.count,
            vec![Instruction::reduce(from(), self.blocks(Place::here()))],
        ));
        body.extend(self.groups.scatter_own());
        body
    }

    /// An instruction for each group that another rank of the own group serves, `sign` further on or back: in rotation,
    /// and for each of them in the order in which it serves.
    fn for_each_other(
        &self,
        instruction: impl Fn(Place, Place) -> Instruction,
        sign: i64,
        served: &Served,
    ) -> Vec<Instruction> {
        let own = served.first % self.groups.size;
        (1..self.groups.size)
            .map(|step| {
                let rank = (own + step) % self.groups.size;
                let theirs = self.served(rank);
                let to = Place::shift(WITHIN, i64::try_from(step).expect("below the number of ranks"));
                Instruction::repeat(theirs.count, vec![instruction(self.group(&theirs, sign), to)])
            })
            .collect()
    }
}
