//! Trees through which pieces of a buffer follow each other.
//!
//! Every tree carries its own part of the buffer, cut into pieces, on streams of its own: one per direction. A rank
//! passes a piece on as soon as it has it, while the next ones are under way.

use super::tree::Node;
use super::{Algorithm, Parameter, Request};
use crate::collective::Collective;
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Expr, Instruction, Place, Program, Schedule};

pub(super) const PIECES: Parameter = Parameter::count(
    "pieces",
    "how many pieces a tree's part of the buffer is cut into; more hide the depth, fewer save messages",
    16,
    1,
    1 << 16,
);

/// The schedule in which rank v, counted from the root, has the places that `nodes_of(v)` gives in each tree.
pub(super) fn schedule(
    algorithm: &'static Algorithm,
    request: &Request<'_>,
    trees: u64,
    nodes_of: impl Fn(usize) -> Vec<Node>,
) -> Result<Schedule, AlgorithmError> {
    let (ranks, root) = (request.ranks(), request.root().index());
    let pieces = request.count(PIECES.name);
    let role_of = |rank: u32| -> Vec<Links> {
        let from_root = (rank as usize + ranks - root) % ranks;
        let nodes = nodes_of(from_root);
        nodes.iter().map(|node| Links::new(from_root, node)).collect()
    };
    let program_of = |role: &Vec<Links>| {
        let streams = (0..).zip(role).flat_map(|(tree, links)| {
            let first = tree * pieces;
            match request.collective() {
                Collective::Broadcast => vec![links.down(pieces, first)],
                Collective::Reduce => vec![links.up(pieces, first)],
                _ => {
                    let up = usize::try_from(2 * tree).expect("few trees");
                    vec![links.up(pieces, first), links.down_after(up, pieces, first)]
                }
            }
        });
        Program::parallel(streams.collect())
    };
    Ok(Schedule::by_role(
        algorithm.name,
        request.in_place(),
        request.line()?,
        trees * pieces,
        0,
        role_of,
        program_of,
    )?)
}

/// How far away a rank's neighbours in a tree are.
#[derive(PartialEq, Eq, Hash)]
struct Links {
    parent: Option<i64>,
    children: Vec<i64>,
}

impl Links {
    fn new(v: usize, node: &Node) -> Self {
        let signed = |number: usize| i64::try_from(number).expect("ranks fit 32 bits");
        let away = |other: usize| signed(other) - signed(v);
        Self {
            parent: node.parent.map(away),
            children: node.children.iter().copied().map(away).collect(),
        }
    }

    /// From the root to the leaves.
    fn down(&self, pieces: u64, first: u64) -> Vec<Instruction> {
        self.pass_down(Vec::new(), pieces, first)
    }

    /// The same, where the root waits for each piece to have come up on another of its streams.
    fn down_after(&self, up: usize, pieces: u64, first: u64) -> Vec<Instruction> {
        let (None, children @ 1..) = (self.parent, self.children.len()) else {
            return self.down(pieces, first);
        };
        let wait = Instruction::Wait {
            stream: up,
            count: (Expr::var(0) + 1) * children,
        };
        self.pass_down(vec![wait], pieces, first)
    }

    fn pass_down(&self, mut body: Vec<Instruction>, pieces: u64, first: u64) -> Vec<Instruction> {
        let parent = self.parent.iter();
        body.extend(parent.map(|&by| Instruction::receive(Place::shift(0, by), piece(first))));
        let children = self.children.iter();
        body.extend(children.map(|&by| Instruction::send(Place::shift(0, by), piece(first))));
        for_each_piece(pieces, body)
    }

    /// From the leaves to the root.
    fn up(&self, pieces: u64, first: u64) -> Vec<Instruction> {
        let children = self.children.iter();
        let mut body: Vec<Instruction> = children
            .map(|&by| Instruction::reduce(Place::shift(0, by), piece(first)))
            .collect();
        let parent = self.parent.iter();
        body.extend(parent.map(|&by| Instruction::send(Place::shift(0, by), piece(first))));
        for_each_piece(pieces, body)
    }
}

fn piece(first: u64) -> Chunks {
    let first = i64::try_from(first).expect("few pieces");
    Chunks::one(Buffer::Output, Expr::var(0) + first)
}

fn for_each_piece(pieces: u64, body: Vec<Instruction>) -> Vec<Instruction> {
    if body.is_empty() {
        return body;
    }
    vec![Instruction::repeat(pieces, body)]
}
