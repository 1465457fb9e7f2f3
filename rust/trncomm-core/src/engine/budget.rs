//! What keeps times and sizes within 64 bits.

use super::recurrence::Counters;
use crate::error::SimulationError;
use crate::units::{Bytes, Time};

/// The most that delays, or bytes, may add up to in one part of an engine.
const LIMIT: u64 = 1 << 62;

/// The error of delays that add up to more than times may be.
///
/// A function, as are those like it: an error made for `ok_or` has to be dropped again each time that there is none.
pub(super) fn too_long() -> SimulationError {
    SimulationError::TooLong {
        what: "delays",
        limit: "2^62 ps (53 days)",
    }
}

fn too_large() -> SimulationError {
    SimulationError::TooLong {
        what: "bytes",
        limit: "2^62 (4 EiB)",
    }
}

/// The sum of all delays and bytes so far.
///
/// INVARIANT: until a run ends some delay is running out at every moment, so no time in it is later than the sum of all
/// its delays. A network model and the rank machine each keep theirs below 2⁶² ps, so no time reaches 2⁶³ ps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    delays: u64,
    bytes: u64,
}

impl Budget {
    /// Counts a delay that will run out once.
    pub(super) fn delay(&mut self, span: Time) -> Result<(), SimulationError> {
        let sum = self.delays.checked_add(span.picoseconds()).filter(|&sum| sum < LIMIT);
        self.delays = sum.ok_or_else(too_long)?;
        Ok(())
    }

    /// Counts bytes that will be moved once.
    pub(super) fn bytes(&mut self, bytes: Bytes) -> Result<(), SimulationError> {
        let sum = self.bytes.checked_add(bytes.get()).filter(|&sum| sum < LIMIT);
        self.bytes = sum.ok_or_else(too_large)?;
        Ok(())
    }

    /// Walks over what is counted.
    pub(super) fn count(&mut self, counters: &mut Counters) {
        counters.up_to(&mut self.delays, LIMIT - 1);
        counters.up_to(&mut self.bytes, LIMIT - 1);
    }
}
