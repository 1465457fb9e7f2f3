//! Engines: one rank machine, and the network models behind it.
//!
//! An engine runs a schedule on a topology. It knows nothing of collectives or algorithms.

mod instant;
mod machine;
mod memory;
mod network;

pub use instant::Instant;
pub use machine::{Control, Outcome, Progress, run};
pub use memory::{Memory, Untracked};
pub use network::{Advance, Due, MessageId, Network, Traffic};
