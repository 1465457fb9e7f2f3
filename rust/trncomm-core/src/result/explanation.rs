//! Why a run took as long as it did: the time of its chain of causes, by what it went into.

use crate::engine::{Cause, Causes, Control, Journeys, Link, Model, Progress, Work, simulate_with};
use crate::error::SimulationError;
use crate::ids::RankId;
use crate::schedule::Schedule;
use crate::topology::Topology;
use crate::units::{Bytes, Time};

/// What time can go into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Before a late rank began.
    Late,
    /// Launching a message.
    Launch,
    /// A message on the slowest of its links.
    Serialisation,
    /// Packets on its other links, where nodes pass on whole packets only.
    Forwarding,
    /// The latencies of its links.
    Propagation,
    /// More than it would take by itself: links shared with other messages, and waits for room.
    Contention,
    /// Completing a message at its destination.
    Completion,
    /// Reducing.
    Reduction,
    /// Copying.
    Copy,
    /// Computing.
    Compute,
}

impl Part {
    /// Every part, in the order in which a message meets them.
    pub const ALL: [Self; 10] = [
        Self::Late,
        Self::Launch,
        Self::Serialisation,
        Self::Forwarding,
        Self::Propagation,
        Self::Contention,
        Self::Completion,
        Self::Reduction,
        Self::Copy,
        Self::Compute,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Late => "late start",
            Self::Launch => "launch",
            Self::Serialisation => "serialisation",
            Self::Forwarding => "forwarding",
            Self::Propagation => "propagation",
            Self::Contention => "contention",
            Self::Completion => "completion",
            Self::Reduction => "reduction",
            Self::Copy => "copy",
            Self::Compute => "compute",
        }
    }
}

/// The chain of causes that ends with the end of a run, and what its time went into.
#[derive(Clone, Debug)]
pub struct Explanation {
    chain: Vec<Link>,
    parts: Vec<[Time; Part::ALL.len()]>,
    late: Time,
    time: Time,
}

impl Explanation {
    /// Runs the schedule as [`SimulationResult::of`](super::SimulationResult::of) does, and keeps what caused what.
    pub fn of(
        topology: &Topology,
        schedule: &Schedule,
        size: Bytes,
        element: u64,
        model: Model,
        control: &mut dyn FnMut(Progress) -> Control,
    ) -> Result<Self, SimulationError> {
        let outcome = simulate_with(topology, schedule, size, element, model, Causes::new(), control)?;
        let time = outcome.finish.iter().max().copied().unwrap_or_default();
        let chain = outcome.memory.chain();
        let mut journeys = Journeys::new(topology, model);
        let parts = chain
            .iter()
            .map(|link| divide(link, &mut journeys))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            late: chain.first().map_or(time, |link| link.begin),
            chain,
            parts,
            time,
        })
    }

    /// The chain, in order of time: each link begins when the one before ends, the last one ends with the run.
    pub fn chain(&self) -> &[Link] {
        &self.chain
    }

    /// What the time of each link of the chain went into, in the order of [`Part::ALL`].
    pub fn parts(&self) -> &[[Time; Part::ALL.len()]] {
        &self.parts
    }

    /// What the time of the run went into, part by part; together they are [`Self::time`].
    pub fn total(&self) -> [Time; Part::ALL.len()] {
        let mut total = [Time::ZERO; Part::ALL.len()];
        total[Part::Late as usize] = self.late;
        for parts in &self.parts {
            for (sum, &part) in total.iter_mut().zip(parts) {
                *sum += part;
            }
        }
        total
    }

    /// From the start to the moment when the last rank has finished.
    pub fn time(&self) -> Time {
        self.time
    }
}

/// What the time of a link went into.
fn divide(link: &Link, journeys: &mut Journeys<'_>) -> Result<[Time; Part::ALL.len()], SimulationError> {
    let mut parts = [Time::ZERO; Part::ALL.len()];
    let whole = link.end - link.begin;
    let mut left = whole;
    // Takes as much of a part as there is time left for it.
    let mut take = |part: Part, wanted: Time| {
        let taken = wanted.min(left);
        parts[part as usize] = taken;
        left = left - taken;
    };
    match link.cause {
        Cause::Message {
            source,
            destination,
            bytes,
            launch,
            delivered,
            ..
        } => {
            let (from, to) = (RankId::from(source), RankId::from(destination));
            let journey = journeys.of(from, to, Bytes::new(bytes))?;
            take(Part::Completion, link.end - delivered);
            take(Part::Launch, launch);
            take(Part::Propagation, journey.propagation);
            take(Part::Serialisation, journey.serialisation);
            take(Part::Forwarding, journey.forwarding);
            take(Part::Contention, whole);
        }
        Cause::Work { work, .. } => take(
            match work {
                Work::Reduction => Part::Reduction,
                Work::Copy => Part::Copy,
                Work::Compute => Part::Compute,
            },
            whole,
        ),
    }
    Ok(parts)
}
