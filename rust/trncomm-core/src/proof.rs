//! Proofs: a schedule is run on a network without time, on symbolic data, and its end is compared with the
//! collective's promise.
//!
//! Every chunk of every rank holds what went into it. Exact proofs keep the set of contributions, (rank, chunk) with
//! a count, and name what is missing or doubled. Beyond a few hundred ranks a contribution is a random 64-bit weight
//! and a chunk holds the sum of its weights modulo 2⁶⁴. A wrong chunk passes only if the weighted sum of its errors
//! is zero modulo 2⁶⁴: a chance of at most 2^(k−64) where contributions are miscounted by less than 2^k, so below
//! 2⁻⁴⁰ for a chunk, since k < 24 with fewer than 2²⁴ messages into any chunk.
//!
//! A schedule that is too large to run whole is proved from its first rank, if its ranks are all alike: see
//! [`Method::Symmetric`].
//!
//! Also proved, for up to 1024 streams and 2²² chunks over all ranks, and for any order of events that the schedule
//! allows: no chunk is written while a message posted from it may still be read, and no rank leaves a barrier before
//! all have arrived.

mod boxes;
mod buffers;
mod clocks;
mod steps;
mod symmetric;
mod translation;
mod value;

pub use steps::{StepMessage, steps};

use buffers::Buffers;
use value::{Contributions, Value, Weight};

use crate::collective::{Collective, Goal};
use crate::engine::{Control, Instant, Progress, run};
use crate::error::{ScheduleError, SimulationError};
use crate::schedule::{Buffer, Code, Layout, Schedule};
use crate::topology::Endpoint;
use crate::units::Bytes;

/// The most ranks for which contributions are kept as sets.
const EXACT_RANKS: usize = 256;
/// The most chunks over all ranks and buffers: what fits half a gibibyte.
const MAX_CELLS: u64 = 1 << 25;
/// The most instructions that are run.
const MAX_INSTRUCTIONS: u64 = 1 << 28;

/// How a schedule was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By the set of contributions in every chunk.
    Exact,
    /// By the sum of random weights in every chunk.
    Fingerprint,
    /// By the set of contributions in every chunk of the first rank, where moving all ranks along an axis of their grid
    /// maps the schedule to itself. That it does is compared at every step on 40 ranks drawn at random, and on the
    /// corners of the grid: a schedule that treats half of the ranks or more in another way than the first passes with
    /// a chance of 2⁻⁴⁰.
    Symmetric,
}

/// A schedule's proof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proof {
    /// How it was proved.
    pub method: Method,
    /// The messages that were sent and received.
    pub messages: u64,
    /// The chunks whose content at the end was checked.
    pub chunks: u64,
    /// Whether the order of events was checked, too: that no chunk is written while a message posted from it may still
    /// be read, and that no rank leaves a barrier before all have arrived. Not so with over 1024 streams or 2²² chunks.
    pub ordered: bool,
    /// An upper bound on the probability that a wrong schedule passes.
    pub miss_probability: f64,
}

/// Proves that `schedule` does what its goal says, for every buffer size.
///
/// An error says what is wrong: a missing or doubled contribution, a deadlock, a message that nobody receives, a
/// message of another size than its receiver expects, a chunk that is read before anything is in it, a
/// chunk that is written while a message posted from it may still be read, a rank that leaves a barrier early; or that the schedule is too large to run
/// whole.
pub fn verify(schedule: &Schedule, control: &mut dyn FnMut(Progress) -> Control) -> Result<Proof, SimulationError> {
    let layout = Layout::new(Bytes::new(schedule.chunks()), 1, schedule.chunks())?;
    let code = Code::new(schedule, layout)?;
    let scratch = u128::from(schedule.capacity(Buffer::Scratch));
    let cells = schedule.ranks() as u128 * (2 * u128::from(schedule.chunks()) + scratch);
    let fits = refuse_above("chunks over all ranks", cells, MAX_CELLS)
        .and_then(|()| refuse_above("instructions", code.instructions().into(), MAX_INSTRUCTIONS));
    if let Err(too_large) = fits {
        return symmetric::prove(&code, control)?.ok_or_else(|| too_large.into());
    }
    if schedule.ranks() <= EXACT_RANKS {
        prove::<Contributions>(&code, Method::Exact, control)
    } else {
        prove::<Weight>(&code, Method::Fingerprint, control)
    }
}

/// Proves a schedule from its first rank, whatever its size; none where its ranks aren't all alike, or it is one that
/// [`verify`] has to run whole.
///
/// Errors as for [`verify`], of the first rank.
pub fn verify_first_rank(
    schedule: &Schedule,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Option<Proof>, SimulationError> {
    let layout = Layout::new(Bytes::new(schedule.chunks()), 1, schedule.chunks())?;
    symmetric::prove(&Code::new(schedule, layout)?, control)
}

fn refuse_above(what: &'static str, count: u128, limit: u64) -> Result<(), ScheduleError> {
    if count > limit.into() {
        Err(ScheduleError::TooLarge { what, count, limit })
    } else {
        Ok(())
    }
}

fn prove<V: Value>(
    code: &Code<'_>,
    method: Method,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Proof, SimulationError> {
    let schedule = code.schedule();
    let buffers = Buffers::<V>::new(schedule);
    let outcome = run(code, &Endpoint::free(), Instant::default(), buffers, control).map_err(as_proof_error)?;
    if let Some((source_rank, destination, channel)) = outcome.unreceived {
        return Err(ScheduleError::Unreceived {
            source_rank,
            destination,
            channel,
        }
        .into());
    }
    let chunks = check_end(schedule, &outcome.memory)?;
    let barrier = schedule.goal().collective == Collective::Barrier;
    let ordered = outcome.memory.check_order(barrier)?;
    #[allow(clippy::cast_precision_loss)] // a bound needs no more precision
    let miss_probability = if method == Method::Exact {
        0.0
    } else {
        (chunks as f64 * (-40f64).exp2()).min(1.0)
    };
    Ok(Proof {
        method,
        messages: outcome.messages,
        chunks,
        ordered,
        miss_probability,
    })
}

fn as_proof_error(error: SimulationError) -> SimulationError {
    match error {
        SimulationError::Deadlock {
            waiting, ranks, first, ..
        } => ScheduleError::Deadlock { waiting, ranks, first }.into(),
        other => other,
    }
}

/// Compares every output chunk that the goal speaks of; returns how many there are.
fn check_end<V: Value>(schedule: &Schedule, buffers: &Buffers<V>) -> Result<u64, ScheduleError> {
    let mut checked = 0;
    for rank in 0..u32::try_from(schedule.ranks()).expect("a shape's ranks fit 32 bits") {
        for chunk in 0..schedule.chunks() {
            if let Some(promise) = promise(schedule, rank, chunk) {
                V::check(buffers.output(rank, chunk), promise, rank, chunk, schedule.ranks())?;
                checked += 1;
            }
        }
    }
    Ok(checked)
}

/// What an output chunk must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// The contributions of all ranks to the chunk of this index, each once.
    Sum(u64),
    /// What this rank brought in the chunk of this index.
    From(u32, u64),
}

fn promise(schedule: &Schedule, rank: u32, chunk: u64) -> Option<Promise> {
    let Goal { collective, root, .. } = schedule.goal();
    let ranks = schedule.ranks() as u64;
    let pieces = schedule.chunks() / ranks.min(schedule.chunks());
    let owner = u32::try_from(chunk / pieces).unwrap_or(u32::MAX);
    let source = || Promise::From(owner, chunk);
    match collective {
        Collective::AllReduce => Some(Promise::Sum(chunk)),
        Collective::ReduceScatter => (owner == rank).then_some(Promise::Sum(chunk)),
        Collective::Reduce => (rank == root.get()).then_some(Promise::Sum(chunk)),
        Collective::AllGather => Some(source()),
        Collective::Gather => (rank == root.get()).then(source),
        Collective::Broadcast => Some(Promise::From(root.get(), chunk)),
        Collective::Scatter => (owner == rank).then_some(Promise::From(root.get(), chunk)),
        Collective::AllToAll => Some(Promise::From(owner, u64::from(rank) * pieces + chunk % pieces)),
        Collective::SendRecv => {
            let before = (u64::from(rank) + ranks - 1) % ranks;
            Some(Promise::From(u32::try_from(before).expect("a rank"), chunk))
        }
        Collective::Barrier | Collective::Custom => None,
    }
}

/// Whether a rank brings something in the chunk of this index at the start.
fn brings(schedule: &Schedule, rank: u32, chunk: u64) -> bool {
    let Goal { collective, root, .. } = schedule.goal();
    let pieces = schedule.chunks() / (schedule.ranks() as u64).min(schedule.chunks());
    match collective {
        Collective::AllReduce
        | Collective::ReduceScatter
        | Collective::Reduce
        | Collective::AllToAll
        | Collective::SendRecv
        | Collective::Barrier
        | Collective::Custom => true,
        Collective::AllGather | Collective::Gather => chunk / pieces == u64::from(rank),
        Collective::Broadcast | Collective::Scatter => rank == root.get(),
    }
}
