//! Exact simulation of collective communication.
//!
//! Five stages, each built from those before it and from the foundations
//! (`units`, `ids`, `error`, `collective`):
//!
//! topology → algorithm → schedule → engine → result

pub mod collective;
pub mod error;
pub mod ids;
pub mod topology;
pub mod units;
