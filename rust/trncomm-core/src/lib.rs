//! Exact simulation of collective communication.
//!
//! Five stages, each built from those before it and from the foundations
//! (`units`, `ids`, `error`, `random`, `collective`):
//!
//! topology → algorithm → schedule → engine → result

pub mod algorithm;
pub mod bounds;
pub mod collective;
pub mod engine;
pub mod error;
pub mod ids;
pub mod proof;
pub mod quotient;
mod random;
pub mod result;
pub mod schedule;
pub mod topology;
pub mod units;
