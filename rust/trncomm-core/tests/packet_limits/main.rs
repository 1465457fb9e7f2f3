//! The packet model with limits: buffers, credits, turns, several ways, windows, faults. Each by itself has a closed form.
//!
//! Where nothing else is said, a link carries a byte in a picosecond, so that times can be read as bytes.

#[path = "../common/mod.rs"]
mod common;

mod deadlocks;
mod drive;
mod endpoints;
mod events;
mod faults;
mod laws;
mod numbers;
mod policies;
mod queues;
mod unlimited;
