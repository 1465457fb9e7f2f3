//! What becomes of the data that a schedule moves.

use crate::schedule::{ChunkRef, Combine, Site};
use crate::units::Time;

/// The buffers of all ranks, as far as a run needs them: not at all for timing, symbolically for a proof.
///
/// Errors are texts without the rank, which the rank machine adds.
pub trait Memory {
    /// What a message carries.
    type Payload;

    /// Whether there is nothing to keep of what happens, so that it needn't be told of what a leap leaves out.
    const FORGETS: bool = false;

    /// What follows is done now by this stream (streams of all ranks are numbered together, rank by rank), in its
    /// instruction number `instruction`, from 0.
    fn begins(&mut self, _stream: u32, _instruction: u64, _now: Time) {}

    /// A stream begins its program, later than the others if its rank is late.
    fn starts(&mut self, _stream: u32, _now: Time) {}

    /// What kept a stream of this rank busy has ended: a reduction, a copy, or computing.
    fn woken(&mut self, _stream: u32, _rank: u32, _now: Time) {}

    /// A stream has ended its program.
    fn ended(&mut self, _stream: u32, _now: Time) {}

    /// A message of so many bytes to this rank is given to the network, which it enters when `launch` has passed.
    fn posted(&mut self, _payload: &Self::Payload, _launch: Time, _destination: u32, _bytes: u64, _now: Time) {}

    /// The network has brought a message to its destination.
    fn delivered(&mut self, _payload: &Self::Payload, _now: Time) {}

    /// The stream has waited until stream `on` of the same rank had completed `count` instructions.
    fn waited(&mut self, _on: u32, _count: u64) {}

    /// Reads what a rank sends.
    fn send(&mut self, site: &Site<'_>, chunks: &ChunkRef<'_>) -> Result<Self::Payload, String>;

    /// Stores or reduces what a rank has received.
    fn receive(
        &mut self,
        site: &Site<'_>,
        chunks: &ChunkRef<'_>,
        combine: Combine,
        payload: Self::Payload,
    ) -> Result<(), String>;

    /// Moves data within a rank.
    fn copy(&mut self, site: &Site<'_>, from: &ChunkRef<'_>, to: &ChunkRef<'_>, combine: Combine)
    -> Result<(), String>;
}

/// No buffers: what moves is only counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untracked;

impl Memory for Untracked {
    type Payload = ();

    const FORGETS: bool = true;

    fn send(&mut self, _: &Site<'_>, _: &ChunkRef<'_>) -> Result<(), String> {
        Ok(())
    }

    fn receive(&mut self, _: &Site<'_>, _: &ChunkRef<'_>, _: Combine, (): ()) -> Result<(), String> {
        Ok(())
    }

    fn copy(&mut self, _: &Site<'_>, _: &ChunkRef<'_>, _: &ChunkRef<'_>, _: Combine) -> Result<(), String> {
        Ok(())
    }
}
