//! Results: what a run came to, in times, rates and loads.

mod explanation;

pub use explanation::{Explanation, Part};

use crate::bounds::{Bound, tightest};
use crate::collective::{Collective, Goal};
use crate::engine::{Control, Model, Options, Outcome, Progress, Untracked, simulate};
use crate::error::SimulationError;
use crate::ids::LinkId;
use crate::schedule::Schedule;
use crate::topology::Topology;
use crate::units::{Bytes, Time};

/// The result of simulating a schedule on a topology.
#[derive(Debug)]
pub struct SimulationResult {
    algorithm: String,
    goal: Goal,
    ranks: usize,
    size: Bytes,
    element: u64,
    model: Model,
    time: Time,
    busiest: Option<Busiest>,
    outcome: Outcome<Untracked>,
}

/// The link that was sending for the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busiest {
    /// The link.
    pub link: LinkId,
    /// How long it was sending.
    pub busy: Time,
}

impl SimulationResult {
    /// Simulates `schedule` with a buffer of `size` bytes a rank, made of elements of `element` bytes.
    ///
    /// The size is that of the larger of a rank's input and output, as nccl-tests and nccom-test count it.
    pub fn of(
        topology: &Topology,
        schedule: &Schedule,
        size: Bytes,
        element: u64,
        options: impl Into<Options>,
        control: &mut dyn FnMut(Progress) -> Control,
    ) -> Result<Self, SimulationError> {
        let options = options.into();
        let outcome = simulate(topology, schedule, size, element, options, control)?;
        let busy = outcome.traffic.link_busy.iter().enumerate();
        // Of links that are equally busy, the first.
        let busiest = busy
            .max_by_key(|&(link, &busy)| (busy, std::cmp::Reverse(link)))
            .map(|(link, &busy)| Busiest {
                link: LinkId::new(link),
                busy: Time::from_picoseconds(busy),
            });
        Ok(Self {
            algorithm: schedule.name().to_owned(),
            goal: schedule.goal(),
            ranks: schedule.ranks(),
            size,
            element,
            model: options.model(),
            time: outcome.finish.iter().max().copied().unwrap_or_default(),
            busiest,
            outcome,
        })
    }

    /// The name of the algorithm.
    pub fn algorithm(&self) -> &str {
        &self.algorithm
    }

    /// What the schedule achieves.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The size of a rank's buffer.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// The bytes of an element.
    pub fn element(&self) -> u64 {
        self.element
    }

    /// The network model.
    pub fn model(&self) -> Model {
        self.model
    }

    /// From the start to the moment when the last rank has finished.
    pub fn time(&self) -> Time {
        self.time
    }

    /// Size over time, in bytes a second; zero where the time is zero.
    #[allow(clippy::cast_precision_loss)]
    pub fn algorithm_bandwidth(&self) -> f64 {
        if self.time == Time::ZERO {
            0.0
        } else {
            self.size.get() as f64 / self.time.seconds()
        }
    }

    /// Algorithm bandwidth times the collective's factor, as nccl-tests and nccom-test define it, in bytes a second.
    #[allow(clippy::cast_precision_loss)]
    pub fn bus_bandwidth(&self) -> f64 {
        let (numerator, denominator) = self.goal.collective.bus_factor(self.ranks);
        self.algorithm_bandwidth() * numerator as f64 / denominator as f64
    }

    /// The link that was sending for the longest; none on a topology without links.
    pub fn busiest(&self) -> Option<Busiest> {
        self.busiest
    }

    /// How much of the time the busiest link was sending, from 0 to 1.
    pub fn wire_efficiency(&self) -> f64 {
        match self.busiest {
            Some(busiest) if self.time > Time::ZERO => busiest.busy.seconds() / self.time.seconds(),
            _ => 0.0,
        }
    }

    /// The tightest lower bound on the time of any schedule for this collective on `topology`, which must be the one
    /// that was simulated on; none for a schedule over a part of its ranks.
    ///
    /// An error where the run was quicker than that: one of the two is wrong.
    pub fn bound(&self, topology: &Topology) -> Result<Option<Bound>, SimulationError> {
        if self.ranks != topology.ranks() || self.goal.collective == Collective::Custom {
            return Ok(None);
        }
        let bound = tightest(topology, self.goal, self.size, self.element, self.model.into())?;
        self.check_against(topology.name(), &bound)?;
        Ok(Some(bound))
    }

    fn check_against(&self, topology: &str, bound: &Bound) -> Result<(), SimulationError> {
        if self.time >= bound.time {
            return Ok(());
        }
        Err(SimulationError::BelowBound {
            run: format!(
                "{} of {} in elements of {} bytes by {} over {} ranks of {topology}, model {}",
                self.goal.collective, self.size, self.element, self.algorithm, self.ranks, self.model
            ),
            time_ps: self.time.picoseconds(),
            bound_ps: bound.time.picoseconds(),
            bound: bound.explanation.clone(),
        })
    }

    /// When each rank had ended its program and every message it sent was delivered.
    pub fn finish(&self) -> &[Time] {
        &self.outcome.finish
    }

    /// How many bytes each rank sent.
    pub fn sent(&self) -> &[u64] {
        &self.outcome.sent
    }

    /// The bytes that each directed link carried, headers included.
    pub fn link_bytes(&self) -> &[u64] {
        &self.outcome.traffic.link_bytes
    }

    /// How many picoseconds each directed link was sending.
    pub fn link_busy(&self) -> &[u64] {
        &self.outcome.traffic.link_busy
    }

    /// The number of messages.
    pub fn messages(&self) -> u64 {
        self.outcome.messages
    }

    /// Messages (packets, where the model has them) times the links that each crossed.
    pub fn packet_hops(&self) -> u64 {
        self.outcome.traffic.packet_hops
    }

    /// The number of events that the network model handled.
    pub fn events(&self) -> u64 {
        self.outcome.traffic.events
    }

    /// The columns and the latencies as the engine left them.
    pub fn outcome(&self) -> &Outcome<Untracked> {
        &self.outcome
    }

    /// The columns by themselves, for a caller that takes over their memory.
    pub fn into_outcome(self) -> Outcome<Untracked> {
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::BoundKind;
    use crate::schedule::{Program, Shape};
    use crate::topology::LinkSpec;
    use crate::units::Bandwidth;

    #[test]
    fn a_run_quicker_than_its_bound_is_an_internal_error() {
        let cable = LinkSpec {
            bandwidth: Bandwidth::new(1_000_000_000).expect("above zero"),
            latency: Time::ZERO,
        };
        let ring = Topology::ring(4, cable).expect("a ring");
        let idle = Program::single(Vec::new());
        let (goal, line) = (Goal::in_place(Collective::AllGather), Shape::new(&[4]).expect("a line"));
        let schedule = Schedule::uniform("idle", goal, line, 4, 0, idle).expect("a schedule");
        let run = SimulationResult::of(&ring, &schedule, Bytes::new(400), 1, Model::LogGp, &mut |_| {
            Control::Continue
        });
        let run = run.expect("a run that ends");
        let bound = |picoseconds| Bound {
            time: Time::from_picoseconds(picoseconds),
            kind: BoundKind::Ports,
            explanation: "made up".to_owned(),
        };
        let time = run.time().picoseconds();
        assert!(run.check_against("ring", &bound(time)).is_ok());
        let error = run
            .check_against("ring", &bound(time + 1))
            .expect_err("a bound that is beaten");
        assert!(
            error.to_string().starts_with("internal error: all_gather of 400 B"),
            "{error}"
        );
    }
}
