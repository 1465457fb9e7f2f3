//! Lower bounds: times that no schedule of a collective can beat on a topology.
//!
//! A simulated time below a bound is a bug in one of the two, and the ratio of the two says how much is left to gain.
//!
//! # Why they hold
//! Take any set of links, link i with rate `R_i`, and suppose that B bytes must cross them between chips. A byte that
//! crosses link i belongs to a message, so it enters the network no sooner than `launch`; it needs at least `p_i` of
//! latency from the nearest chip to the link, the link's own latency, and `q_i` from there to the nearest chip; and
//! its receiver goes on `completion` after the message's last byte. If all is over at T, link i has carried at most
//! `R_i · (T − launch − d_i − completion)` bytes, where `d_i` is the sum of the three latencies, so that
//!
//! T ≥ launch + min d + B / Σ R + completion.
//!
//! Everything but the latency bound is this inequality with another set of links and the B that the collective
//! forces over it. Packet headers, rounding of each serialisation, finite buffers, reduction rates and memory only
//! add to T. B is exact where the buffer doesn't divide by the ranks, and a bound is rounded down to a picosecond.
//!
//! # What they assume
//! Data moves in messages between two chips: a switch neither reduces nor copies to several outputs. Without that,
//! [`BoundKind::Ports`] and [`BoundKind::Partition`] fall; the others stay.
//!
//! Whether a bound holds in a model that lets only the first and the last link of a route be busy is a property of
//! its kind: [`BoundKind::contention`].

mod demand;
mod distance;
mod flow;
mod latency;
mod max_flow;
mod partition;

use std::cmp::Reverse;

use crate::collective::Goal;
use crate::engine::Model;
use crate::error::TopologyError;
use crate::topology::Topology;
use crate::units::{Bytes, PICOSECONDS_PER_SECOND, Time};
use demand::Demand;
use distance::distance;
use flow::flow_bounds;
use latency::{Nearest, latency};
use partition::Partition;

/// A time that no schedule can beat, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The bound, rounded down; 2⁶⁴ − 1 ps where it is longer than a time can be.
    pub time: Time,
    /// What it follows from.
    pub kind: BoundKind,
    /// The formula with its numbers.
    pub explanation: String,
}

/// What a bound follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoundKind {
    /// Nothing has to move: the bound is zero.
    Nothing,
    /// Some rank needs something from a far one.
    Latency,
    /// Some rank must send more than others, or has less to send it by.
    Injection,
    /// Some rank must receive more than others, or has less to receive it by.
    Ejection,
    /// All ranks together must send more than what each must by itself (Patarasuk and Yuan, JPDC 69(2), 2009): a value
    /// that N ranks reduce and all learn takes 2(N − 1) messages.
    Ports,
    /// Bytes must cross between a group of ranks and the rest.
    Cut,
    /// Bytes must cross between two sets of ranks, found by maximum flows: no cut is tighter.
    MaxFlow,
    /// Bytes times the links that each must cross at least, of one tier or of all.
    Distance,
    /// As [`Self::Ports`], with groups of ranks in the place of ranks: p groups exchange 2(p − 1) buffers.
    Partition,
}

/// Which links a bound needs to be busy for every byte that crosses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contention {
    /// The first and the last of a message's route, as in the `loggp` model and in all others.
    Ports,
    /// Every link of a message's route, as in the `flow` and `packet` models.
    Links,
}

impl From<Model> for Contention {
    fn from(model: Model) -> Self {
        match model {
            Model::LogGp => Self::Ports,
            Model::Flow | Model::Packet => Self::Links,
        }
    }
}

impl BoundKind {
    /// The name, in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Latency => "latency",
            Self::Injection => "injection",
            Self::Ejection => "ejection",
            Self::Ports => "ports",
            Self::Cut => "cut",
            Self::MaxFlow => "max_flow",
            Self::Distance => "distance",
            Self::Partition => "partition",
        }
    }

    /// The least contention under which the bound holds.
    pub const fn contention(self) -> Contention {
        match self {
            Self::Nothing | Self::Latency | Self::Injection | Self::Ejection | Self::Ports => Contention::Ports,
            Self::Cut | Self::MaxFlow | Self::Distance | Self::Partition => Contention::Links,
        }
    }
}

/// The tightest bound of each kind on the time of a collective over all ranks, the tightest of all first; never empty.
///
/// `size` is the buffer as algorithms take it: all blocks together where there are blocks, what each rank sends for
/// all-to-all and send-receive. It holds elements of `element` bytes.
///
/// An error where `element` doesn't divide `size` or is zero, or where the root isn't a rank.
pub fn bounds(topology: &Topology, goal: Goal, size: Bytes, element: u64) -> Result<Vec<Bound>, TopologyError> {
    bounds_under(topology, goal, size, element, Contention::Links)
}

/// Those of the bounds that hold under this contention.
fn bounds_under(
    topology: &Topology,
    goal: Goal,
    size: Bytes,
    element: u64,
    contention: Contention,
) -> Result<Vec<Bound>, TopologyError> {
    let demand = Demand::new(topology.ranks(), goal, size, element)?;
    let mut found: Vec<Bound> = latency(topology, &demand).into_iter().collect();
    if demand.moves_bytes() {
        let nearest = Nearest::new(topology);
        for partition in Partition::natural(topology) {
            found.extend(partition.bounds(topology, &demand, &nearest));
        }
        // None of these holds for ports alone, and they are far the slowest to find.
        if contention == Contention::Links {
            found.extend(distance(topology, &demand, &nearest));
            found.extend(flow_bounds(topology, &demand, &nearest));
        }
    }
    found.retain(|bound| bound.kind.contention() <= contention);
    if found.is_empty() {
        found.push(Bound {
            time: Time::ZERO,
            kind: BoundKind::Nothing,
            explanation: "no rank needs anything from another".to_owned(),
        });
    }
    found.sort_by_key(|bound| (bound.kind, Reverse(bound.time)));
    found.dedup_by_key(|bound| bound.kind);
    found.sort_by_key(|bound| Reverse(bound.time));
    Ok(found)
}

/// The tightest bound that holds in a model with this contention.
///
/// Arguments and errors as for [`bounds`].
pub fn tightest(
    topology: &Topology,
    goal: Goal,
    size: Bytes,
    element: u64,
    contention: Contention,
) -> Result<Bound, TopologyError> {
    let tightest = bounds_under(topology, goal, size, element, contention)?
        .into_iter()
        .next();
    Ok(tightest.expect("there is a bound of zero at least"))
}

/// A time that is kept in 128 bits until it is known to be a bound.
fn clamp(picoseconds: u128) -> Time {
    Time::from_picoseconds(u64::try_from(picoseconds).unwrap_or(u64::MAX))
}

/// How long `bytes` take at a rate of `rate` bytes a second, rounded down.
fn serialization(bytes: u128, rate: u128) -> u128 {
    let second = u128::from(PICOSECONDS_PER_SECOND);
    // Past 2^128 the product is rounded down before it is made, which leaves a bound a bound.
    bytes
        .checked_mul(second)
        .map_or_else(|| (bytes / rate).saturating_mul(second), |scaled| scaled / rate)
}
