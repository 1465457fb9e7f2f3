//! The network models by name, and a run of a schedule on one of them.

use std::fmt;

use super::estimate::{Estimate, Limits};
use super::flow::{Flow, FlowOptions};
use super::loggp::LogGp;
use super::machine::{Control, Outcome, Progress, Shortcuts, run, run_with};
use super::memory::{Memory, Untracked};
use super::packet::{Packet, Switched};
use crate::error::SimulationError;
use crate::quotient::{Fold, Kind, Stopped, fold};
use crate::schedule::{Code, Layout, Schedule};
use crate::topology::Topology;
use crate::units::{Bytes, Time};

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

/// How a run is made: the network model, and shortcuts, which change nothing of what it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    model: Model,
    fold: bool,
    leap: bool,
    limits: Limits,
}

impl From<Model> for Options {
    /// With every shortcut.
    fn from(model: Model) -> Self {
        Self {
            model,
            fold: true,
            leap: true,
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// The same, with ranks and links that are alike run once, or each by itself; see
    /// [`fold`](crate::quotient::fold()).
    #[must_use]
    pub const fn with_fold(self, fold: bool) -> Self {
        Self { fold, ..self }
    }

    /// The same, with what repeats run once and counted, or run each time; see the `leap` module of the engine.
    #[must_use]
    pub const fn with_leap(self, leap: bool) -> Self {
        Self { leap, ..self }
    }

    /// The same, but refused if it would cost more than this.
    #[must_use]
    pub const fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The network model.
    pub const fn model(self) -> Model {
        self.model
    }
}

impl Options {
    /// The fold that a run takes, if there is one and it may.
    fn fold(
        self,
        topology: &Topology,
        code: &Code<'_>,
        control: &mut dyn FnMut(Progress) -> Control,
    ) -> Result<Option<Fold>, SimulationError> {
        let kind = match self.model {
            Model::Flow => Kind::Shares,
            Model::Packet if Packet::serves(topology) => Kind::Serves,
            Model::LogGp | Model::Packet => return Ok(None),
        };
        if !self.fold {
            return Ok(None);
        }
        let nothing_yet = Progress {
            done: 0,
            total: code.instructions(),
            time: Time::ZERO,
        };
        let mut goes_on = || control(nothing_yet) == Control::Continue;
        fold(topology, code, kind, &mut goes_on)
            .map_err(|Stopped| SimulationError::Interrupted { events: 0, time_ps: 0 })
    }
}

/// Runs `schedule` on `topology`, rank r on chip r, with a buffer of `size` bytes made of elements of `element` bytes.
pub fn simulate(
    topology: &Topology,
    schedule: &Schedule,
    size: Bytes,
    element: u64,
    options: impl Into<Options>,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Outcome<Untracked>, SimulationError> {
    let options = options.into();
    let Options {
        model, leap, limits, ..
    } = options;
    let code = prepare(topology, schedule, size, element)?;
    let check = |fold: Option<&Fold>| {
        let estimate = Estimate::of(topology, &code, model, fold);
        estimate.check(limits, || instead(&code, options, &estimate))
    };
    if let Some(fold) = options.fold(topology, &code, control)? {
        check(Some(&fold))?;
        let shortcuts = Shortcuts {
            fold: Some(&fold),
            leap,
        };
        match run_model(topology, &code, model, Untracked, shortcuts, control) {
            Err(SimulationError::Unfoldable) => {}
            outcome => return outcome.map(|outcome| outcome.unfolded(&fold)),
        }
    }
    check(None)?;
    let shortcuts = Shortcuts { fold: None, leap };
    run_model(topology, &code, model, Untracked, shortcuts, control)
}

/// What the same run will cost. The symmetry is searched for as in the run itself.
pub fn estimate(
    topology: &Topology,
    schedule: &Schedule,
    size: Bytes,
    element: u64,
    options: impl Into<Options>,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Estimate, SimulationError> {
    let options = options.into();
    let code = prepare(topology, schedule, size, element)?;
    let fold = options.fold(topology, &code, control)?;
    Ok(Estimate::of(topology, &code, options.model, fold.as_ref()))
}

/// What could be done instead of a run that would cost too much.
fn instead(code: &Code<'_>, options: Options, estimate: &Estimate) -> String {
    let layout = code.layout();
    let ranks = code.schedule().ranks();
    if options.fold && layout.uniform().is_none() {
        let padded = layout.padded().get();
        return format!("chunks that differ keep ranks from being run once for all: try {padded} bytes (pad=True)");
    }
    if !options.fold && options.model != Model::LogGp {
        return "try fold=True, which runs ranks that are alike once".to_owned();
    }
    let most = options.limits.memory.unwrap_or(u64::MAX);
    let fits = u128::from(most) * ranks as u128 / u128::from(estimate.memory.max(1));
    let slower = options.limits.time.map_or(1, |time| {
        estimate.time.as_nanos().div_ceil(time.as_nanos().max(1)).max(1)
    });
    let fits = fits.min(ranks as u128 / slower).max(1);
    match options.model {
        Model::Packet => format!("try model=\"flow\", which has no packets, or about {fits} ranks"),
        Model::Flow | Model::LogGp => format!("try an algorithm with fewer messages, or about {fits} ranks"),
    }
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
    let code = prepare(topology, schedule, size, element)?;
    run_model(topology, &code, model, memory, Shortcuts::default(), control)
}

/// The schedule made ready for a buffer of `size` bytes.
fn prepare<'s>(
    topology: &Topology,
    schedule: &'s Schedule,
    size: Bytes,
    element: u64,
) -> Result<Code<'s>, SimulationError> {
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
    Ok(Code::new(schedule, layout)?)
}

fn run_model<M: Memory>(
    topology: &Topology,
    code: &Code<'_>,
    model: Model,
    memory: M,
    shortcuts: Shortcuts<'_>,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Outcome<M>, SimulationError> {
    match model {
        Model::LogGp => run(code, topology, LogGp::new(topology), memory, control),
        Model::Flow => {
            let network = Flow::folded(topology, FlowOptions::of(topology), shortcuts.fold);
            run_with(code, topology, network, memory, shortcuts, control)
        }
        Model::Packet if Packet::serves(topology) => {
            let network = Packet::folded(topology, shortcuts.fold)?;
            let network = if shortcuts.leap { network.with_trains() } else { network };
            run_with(code, topology, network, memory, shortcuts, control)
        }
        Model::Packet => run(code, topology, Switched::new(topology)?, memory, control),
    }
}
