//! The buffers of all ranks, holding symbolic values.

use super::brings;
use super::clocks::{Clocks, Stamp};
use super::value::Value;
use crate::engine::Memory;
use crate::error::ScheduleError;
use crate::schedule::{Buffer, ChunkRef, Combine, Schedule, Site};
use crate::units::Time;

/// Every chunk of every rank, rank by rank: input, output, scratch.
#[derive(Debug)]
pub(super) struct Buffers<V> {
    cells: Vec<Option<V>>,
    chunks: usize,
    per_rank: usize,
    clocks: Option<Clocks>,
}

impl<V: Value> Buffers<V> {
    /// The buffers as they are before the schedule starts.
    pub(super) fn new(schedule: &Schedule) -> Self {
        let chunks = usize::try_from(schedule.chunks()).expect("refused above a limit");
        let scratch = usize::try_from(schedule.capacity(Buffer::Scratch)).expect("refused above a limit");
        let per_rank = 2 * chunks + scratch;
        let mut cells = vec![None; per_rank * schedule.ranks()];
        let home = if schedule.goal().in_place { chunks } else { 0 };
        for (rank, cells) in (0..).zip(cells.chunks_exact_mut(per_rank)) {
            for (chunk, cell) in (0..).zip(&mut cells[home..home + chunks]) {
                *cell = brings(schedule, rank, chunk).then(|| V::brought(rank, chunk));
            }
        }
        Self {
            clocks: Clocks::new(schedule, cells.len()),
            cells,
            chunks,
            per_rank,
        }
    }

    /// Looks for chunks written while a message may still be read from them, and for ranks that leave a barrier
    /// before all have arrived; whether it could.
    pub(super) fn check_order(&self, barrier: bool) -> Result<bool, ScheduleError> {
        let Some(clocks) = &self.clocks else {
            return Ok(false);
        };
        if let Some(error) = clocks.found() {
            return Err(error.clone());
        }
        match clocks.unheard().filter(|_| barrier) {
            Some((rank, unheard)) => Err(ScheduleError::Unsynchronized { rank, unheard }),
            None => Ok(true),
        }
    }

    /// What `rank` holds in an output chunk.
    pub(super) fn output(&self, rank: u32, chunk: u64) -> Option<&V> {
        self.cells[self.index(rank, Buffer::Output, chunk)].as_ref()
    }

    fn index(&self, rank: u32, buffer: Buffer, chunk: u64) -> usize {
        let within = match buffer {
            Buffer::Input => 0,
            Buffer::Output => self.chunks,
            Buffer::Scratch => 2 * self.chunks,
        };
        rank as usize * self.per_rank + within + usize::try_from(chunk).expect("refused above a limit")
    }

    fn cells(&self, site: &Site<'_>, chunks: &ChunkRef<'_>) -> Result<Vec<usize>, String> {
        let mut cells = Vec::new();
        let buffer = chunks.chunks().buffer();
        chunks.for_each_range(site, &mut |first, count| {
            cells.extend((first..first + count).map(|chunk| self.index(site.rank, buffer, chunk)));
            Ok(())
        })?;
        Ok(cells)
    }

    fn read(&self, cells: &[usize], chunks: &ChunkRef<'_>) -> Result<Vec<V>, String> {
        cells
            .iter()
            .map(|&cell| self.cells[cell].clone())
            .collect::<Option<Vec<V>>>()
            .ok_or_else(|| format!("reads {} before anything is in it", chunks.chunks()))
    }

    fn write(&mut self, cells: &[usize], values: Vec<V>, combine: Combine) -> Result<(), String> {
        if cells.len() != values.len() {
            return Err(format!(
                "{} chunks arrive where {} are expected",
                values.len(),
                cells.len()
            ));
        }
        if let Some(clocks) = &mut self.clocks {
            let (chunks, per_rank) = (self.chunks, self.per_rank);
            clocks.write(cells, |cell| name(cell, chunks, per_rank));
        }
        for (&cell, value) in cells.iter().zip(values) {
            match (&mut self.cells[cell], combine) {
                (cell, Combine::Copy) => *cell = Some(value),
                (Some(held), Combine::Reduce) => held.add(&value),
                (None, Combine::Reduce) => return Err("reduces into a chunk before anything is in it".to_owned()),
            }
        }
        Ok(())
    }
}

/// The rank, buffer and chunk of a cell.
fn name(cell: usize, chunks: usize, per_rank: usize) -> (u32, &'static str, u64) {
    let (rank, within) = (cell / per_rank, cell % per_rank);
    let (buffer, first) = match within / chunks {
        0 => (Buffer::Input, 0),
        1 => (Buffer::Output, chunks),
        _ => (Buffer::Scratch, 2 * chunks),
    };
    let rank = u32::try_from(rank).expect("a shape's ranks fit 32 bits");
    (rank, buffer.name(), (within - first) as u64)
}

impl<V: Value> Memory for Buffers<V> {
    type Payload = (Vec<V>, Option<Stamp>);

    fn begins(&mut self, stream: u32, instruction: u64, _: Time) {
        if let Some(clocks) = &mut self.clocks {
            clocks.begins(stream, instruction);
        }
    }

    fn waited(&mut self, on: u32, count: u64) {
        if let Some(clocks) = &mut self.clocks {
            clocks.waited(on, count);
        }
    }

    fn send(&mut self, site: &Site<'_>, chunks: &ChunkRef<'_>) -> Result<Self::Payload, String> {
        let cells = self.cells(site, chunks)?;
        let stamp = self.clocks.as_mut().map(|clocks| clocks.post(&cells));
        Ok((self.read(&cells, chunks)?, stamp))
    }

    fn receive(
        &mut self,
        site: &Site<'_>,
        chunks: &ChunkRef<'_>,
        combine: Combine,
        (values, stamp): Self::Payload,
    ) -> Result<(), String> {
        let cells = self.cells(site, chunks)?;
        if let (Some(clocks), Some(stamp)) = (&mut self.clocks, stamp) {
            clocks.receive(&stamp);
        }
        self.write(&cells, values, combine)
            .map_err(|reason| format!("{} at {}", reason, chunks.chunks()))
    }

    fn copy(
        &mut self,
        site: &Site<'_>,
        from: &ChunkRef<'_>,
        to: &ChunkRef<'_>,
        combine: Combine,
    ) -> Result<(), String> {
        let values = self.read(&self.cells(site, from)?, from)?;
        let cells = self.cells(site, to)?;
        self.write(&cells, values, combine)
    }
}
