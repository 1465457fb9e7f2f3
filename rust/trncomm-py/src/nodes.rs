//! Nodes and links by number and by name.

use std::fmt;
use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use trncomm_core::ids::{LinkId, NodeId};
use trncomm_core::topology::Topology;

use crate::convert::TOPOLOGY;

/// A node as people call it: "chip 5", "switch 144", "core 5" where chips have several.
pub fn node_name(topology: &Topology, node: NodeId) -> String {
    let kinds = kinds(topology);
    let is_of = |(_, nodes): &&(&str, Range<usize>)| nodes.contains(&node.index());
    let (kind, _) = kinds.iter().find(is_of).expect("every node is of a kind");
    format!("{kind} {node}")
}

/// The nodes of each kind that there are.
fn kinds(topology: &Topology) -> Vec<(&'static str, Range<usize>)> {
    let (ranks, nodes) = (topology.ranks(), topology.nodes());
    let mut kinds = if topology.ranks_per_chip() == 1 {
        vec![("chip", 0..ranks), ("switch", ranks..nodes)]
    } else {
        let switches = ranks + topology.chips();
        vec![
            ("core", 0..ranks),
            ("chip", ranks..switches),
            ("switch", switches..nodes),
        ]
    };
    kinds.retain(|(_, nodes)| !nodes.is_empty());
    kinds
}

/// A link as people call it: "link 3 (rack, chip 0 to switch 144)".
pub fn link_name(topology: &Topology, link: LinkId) -> String {
    format!(
        "link {link} ({}, {} to {})",
        topology.tiers()[usize::from(topology.tier(link))],
        node_name(topology, topology.source(link)),
        node_name(topology, topology.destination(link))
    )
}

/// A node of some topology, by its number or its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeRef {
    Number(u32),
    Core(u32),
    Chip(u32),
    Switch(u32),
}

impl NodeRef {
    pub fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(text) = value.cast::<PyString>() else {
            return index(name, value).map(Self::Number);
        };
        let text = text.to_cow()?;
        let (kind, number) = text.split_once(' ').unwrap_or_default();
        match (kind, number.parse()) {
            ("core", Ok(number)) => Ok(Self::Core(number)),
            ("chip", Ok(number)) => Ok(Self::Chip(number)),
            ("switch", Ok(number)) => Ok(Self::Switch(number)),
            _ => Err(TOPOLOGY.raise(
                name,
                format!(
                    "{name} must be the number of a node, or a name such as \"chip 5\" or \"switch 144\", got {text:?}"
                ),
            )),
        }
    }

    /// The node, if the topology has it.
    pub fn of(self, topology: &Topology) -> PyResult<NodeId> {
        let kinds = kinds(topology);
        let of = |kind: &str| {
            let known = kinds.iter().find(|(name, _)| *name == kind);
            known.map_or(0..0, |(_, nodes)| nodes.clone())
        };
        let (number, there) = match self {
            Self::Number(number) => (number, 0..topology.nodes()),
            Self::Core(number) => (number, of("core")),
            Self::Chip(number) => (number, of("chip")),
            Self::Switch(number) => (number, of("switch")),
        };
        if there.contains(&(number as usize)) {
            return Ok(NodeId::from(number));
        }
        let plural = |kind: &str| {
            if kind == "switch" {
                "switches".to_owned()
            } else {
                format!("{kind}s")
            }
        };
        let mut choices: Vec<String> = kinds
            .iter()
            .map(|(kind, nodes)| format!("{} {} to {}", plural(kind), nodes.start, nodes.end - 1))
            .collect();
        if of("switch").is_empty() {
            choices.push("no switches".to_owned());
        }
        let last = choices.pop().expect("chips at least");
        Err(TOPOLOGY.raise(
            "node",
            format!("node must be one of {} and {last}, got {self}", choices.join(", ")),
        ))
    }
}

impl fmt::Display for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Core(number) => write!(f, "'core {number}'"),
            Self::Chip(number) => write!(f, "'chip {number}'"),
            Self::Switch(number) => write!(f, "'switch {number}'"),
        }
    }
}

/// Links of some topology: one by its number, or all that lead from one node to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkRef {
    Number(u32),
    Between(NodeRef, NodeRef),
}

impl LinkRef {
    pub fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(pair) = value.cast::<PyTuple>() else {
            return index(name, value).map(Self::Number);
        };
        let (source, destination): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract().map_err(|_| {
            TOPOLOGY.raise(
                name,
                format!("{name} must be a number or a pair (source, destination), got {pair}"),
            )
        })?;
        Ok(Self::Between(
            NodeRef::read("source", &source)?,
            NodeRef::read("destination", &destination)?,
        ))
    }

    /// The links, with the other half of their cables if `both`; in ascending order within a direction.
    pub fn of(self, topology: &Topology, both: bool) -> PyResult<Vec<LinkId>> {
        match self {
            Self::Number(number) => {
                let links = topology.links();
                if number as usize >= links {
                    let problem = format!("link must be below {links}, the number of links, got {number}");
                    return Err(TOPOLOGY.raise("link", problem));
                }
                let link = LinkId::from(number);
                let mut found = vec![link];
                if both {
                    found.push(back(topology, link)?);
                }
                Ok(found)
            }
            Self::Between(source, destination) => {
                let (source, destination) = (source.of(topology)?, destination.of(topology)?);
                let mut found = between(topology, source, destination)?;
                if both {
                    found.extend(between(topology, destination, source)?);
                }
                Ok(found)
            }
        }
    }
}

impl fmt::Display for LinkRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Between(source, destination) => write!(f, "({source}, {destination})"),
        }
    }
}

/// The other half of a link's cable.
fn back(topology: &Topology, link: LinkId) -> PyResult<LinkId> {
    let (source, destination) = (topology.source(link), topology.destination(link));
    let is_back = |&other: &LinkId| {
        topology.destination(other) == source
            && topology.output_port(other) == topology.input_port(link)
            && topology.input_port(other) == topology.output_port(link)
    };
    let found = topology.out_links(destination).iter().copied().find(is_back);
    found.ok_or_else(|| {
        let name = link_name(topology, link);
        TOPOLOGY.raise(
            "link",
            format!("{name} has no link back, so it must be named without both"),
        )
    })
}

fn between(topology: &Topology, source: NodeId, destination: NodeId) -> PyResult<Vec<LinkId>> {
    let leaving = topology.out_links(source).iter().copied();
    let mut found: Vec<LinkId> = leaving
        .filter(|&link| topology.destination(link) == destination)
        .collect();
    found.sort_unstable();
    if found.is_empty() {
        let (source, destination) = (node_name(topology, source), node_name(topology, destination));
        return Err(TOPOLOGY.raise("link", format!("there is no link from {source} to {destination}")));
    }
    Ok(found)
}

/// A number of 32 bits.
fn index(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let number = TOPOLOGY.number(name, value)?;
    u32::try_from(number).map_err(|_| TOPOLOGY.raise(name, format!("{name} must be below 2^32, got {number}")))
}
