//! What becomes of the data that a schedule moves.

use crate::schedule::{ChunkRef, Combine, Site};

/// The buffers of all ranks, as far as a run needs them: not at all for timing, symbolically for a proof.
///
/// Errors are texts without the rank, which the rank machine adds.
pub trait Memory {
    /// What a message carries.
    type Payload;

    /// What follows is done by this stream (streams of all ranks are numbered together, rank by rank), in its
    /// instruction number `instruction`, from 0.
    fn begins(&mut self, _stream: u32, _instruction: u64) {}

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
