//! Engines: one rank machine, and the network models behind it.
//!
//! An engine runs a schedule on a topology. It knows nothing of collectives or algorithms.

mod budget;
mod causes;
mod costs;
mod estimate;
mod flow;
mod histogram;
mod instant;
mod journey;
mod lanes;
mod leap;
mod loggp;
mod machine;
mod memory;
mod model;
mod network;
mod packet;
mod queue;
mod recurrence;
mod resources;

pub use causes::{Cause, Causes, Link, Work};
pub use costs::Costs;
pub use estimate::{Estimate, Limits};
pub use flow::{Flow, FlowOptions};
pub use histogram::Histogram;
pub use instant::Instant;
pub use journey::{Journey, Journeys};
pub use leap::Leapt;
pub use loggp::LogGp;
pub use machine::{Control, Outcome, Progress, Run, Shortcuts, run, run_with};
pub use memory::{Memory, Untracked};
pub use model::{Model, Options, estimate, simulate, simulate_with};
pub use network::{Advance, Due, MessageId, Network, Traffic};
pub use packet::{Packet, Switched};
pub use queue::{Heap, Queue, Wheel};
pub use recurrence::{Counters, Shape};
