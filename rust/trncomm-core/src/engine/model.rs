//! The network models by name, and a run of a schedule on one of them.

use std::fmt;

use super::flow::{Flow, FlowOptions};
use super::loggp::LogGp;
use super::machine::{Control, Outcome, Progress, run};
use super::memory::{Memory, Untracked};
use super::packet::{Packet, Switched};
use crate::error::SimulationError;
use crate::schedule::{Code, Layout, Schedule};
use crate::topology::Topology;
use crate::units::Bytes;

/// A network model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// Only a rank's own ports contend. See [`LogGp`].
    LogGp,
    /// Fluids share links max-min fairly. See [`Flow`].
    Flow,
    /// Packets contend for links. See [`Packet`].
    Packet,
}

impl Model {
    /// Every model, from the quickest to the closest.
    pub const ALL: [Self; 3] = [Self::LogGp, Self::Flow, Self::Packet];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LogGp => "loggp",
            Self::Flow => "flow",
            Self::Packet => "packet",
        }
    }

    /// The model of that name.
    pub fn from_name(name: &str) -> Result<Self, SimulationError> {
        Self::ALL
            .into_iter()
            .find(|model| model.name() == name)
            .ok_or_else(|| SimulationError::Option {
                option: "model",
                expected: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
                value: format!("{name:?}"),
            })
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs `schedule` on `topology`, rank r on chip r, with a buffer of `size` bytes made of elements of `element` bytes.
pub fn simulate(
    topology: &Topology,
    schedule: &Schedule,
    size: Bytes,
    element: u64,
    model: Model,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Outcome<Untracked>, SimulationError> {
    simulate_with(topology, schedule, size, element, model, Untracked, control)
}

/// As [`simulate`], with buffers that are told of what happens.
pub fn simulate_with<M: Memory>(
    topology: &Topology,
    schedule: &Schedule,
    size: Bytes,
    element: u64,
    model: Model,
    memory: M,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Outcome<M>, SimulationError> {
    if schedule.ranks() > topology.ranks() {
        return Err(SimulationError::Ranks {
            schedule: schedule.ranks(),
            topology: topology.ranks(),
        });
    }
    if element == 0 || !size.get().is_multiple_of(element) {
        return Err(SimulationError::Option {
            option: "size",
            expected: format!("a whole number of elements of {element} bytes"),
            value: format!("{} bytes", size.get()),
        });
    }
    let layout = Layout::new(size, element, schedule.chunks())?;
    let code = Code::new(schedule, layout)?;
    match model {
        Model::LogGp => run(&code, topology, LogGp::new(topology), memory, control),
        Model::Flow => run(
            &code,
            topology,
            Flow::new(topology, FlowOptions::of(topology)),
            memory,
            control,
        ),
        Model::Packet if Packet::serves(topology) => run(&code, topology, Packet::new(topology)?, memory, control),
        Model::Packet => run(&code, topology, Switched::new(topology)?, memory, control),
    }
}
