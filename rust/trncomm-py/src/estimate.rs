//! What a run will cost, and what it may.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use trncomm_core::engine::{self, Limits, Model, Options};

use crate::convert::ARGUMENT;
use crate::detached::detached;
use crate::errors::of_simulation;
use crate::schedule::Schedule;
use crate::topology::Topology;

/// What a run will cost, leaps apart, which make it cheaper by an amount that isn't known before.
///
/// Messages are counted; memory and time are right within a factor of about three as a rule.
#[pyclass(frozen, module = "trncomm")]
pub struct Estimate {
    core: engine::Estimate,
}

#[pymethods]
impl Estimate {
    /// Ranks that will be run, each for all that are alike.
    #[getter]
    fn ranks_run(&self) -> usize {
        self.core.run.ranks
    }

    /// Links that will be run, each for all that are alike.
    #[getter]
    fn links_run(&self) -> usize {
        self.core.run.links
    }

    /// Messages that all ranks send.
    #[getter]
    fn messages(&self) -> u64 {
        self.core.messages
    }

    /// Messages that will be run.
    #[getter]
    fn messages_run(&self) -> u64 {
        self.core.messages_run
    }

    /// Packets that will be run, times the links that each crosses; messages, where the model has no packets.
    #[getter]
    fn packet_hops_run(&self) -> u64 {
        self.core.packet_hops_run
    }

    /// Bytes of memory, those of the topology and the schedule apart.
    #[getter]
    fn memory_bytes(&self) -> u64 {
        self.core.memory
    }

    /// Time on a processor.
    #[getter]
    fn seconds(&self) -> f64 {
        self.core.time.as_secs_f64()
    }

    fn __repr__(&self) -> String {
        let run = self.core.run;
        format!(
            "<Estimate: {} ranks and {} links to run, {} of {} messages, about {} MiB, up to {:.3} s>",
            run.ranks,
            run.links,
            self.core.messages_run,
            self.core.messages,
            self.core.memory.div_ceil(1 << 20),
            self.seconds(),
        )
    }
}

/// Say what a run will cost, before it is made.
///
/// Args:
///     topology: The network; rank r runs on chip r.
///     schedule: What the ranks do.
///     size: As for `run`, as the others are.
///     itemsize: Bytes an element.
///     model: "loggp", "flow" or "packet".
///     fold: Whether ranks and links that are alike are run once.
///
/// Raises:
///     ArgumentError: A size or an option that is out of range or can't be read.
///     ScheduleError: The schedule is malformed at this size.
///
/// Examples:
///     >>> from trncomm import _core
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(1000, bandwidth="64GB/s", latency="500ns")
///     >>> schedule = tc.build(ring, "all_reduce", "ring")
///     >>> estimate = _core.estimate(ring, schedule, "1000KiB", model="flow")
///     >>> (estimate.ranks_run, estimate.messages_run, estimate.messages)
///     (1, 1998, 1998000)
#[pyfunction]
#[pyo3(signature = (topology, schedule, size, *, itemsize=None, model="packet", fold=true))]
#[pyo3(text_signature = "(topology, schedule, size, *, itemsize=1, model='packet', fold=True)")]
pub fn estimate(
    py: Python<'_>,
    topology: &Bound<'_, Topology>,
    schedule: &Bound<'_, Schedule>,
    size: &Bound<'_, PyAny>,
    itemsize: Option<&Bound<'_, PyAny>>,
    model: &str,
    fold: bool,
) -> PyResult<Estimate> {
    let size = ARGUMENT.size("size", size)?;
    let element = itemsize.map_or(Ok(1), |bytes| ARGUMENT.number("itemsize", bytes))?;
    let model = Model::from_name(model).map_err(|error| of_simulation(&error))?;
    let (network, program) = (Arc::clone(&topology.get().core), Arc::clone(&schedule.get().core));
    let options = Options::from(model).with_fold(fold);
    let core = detached(py, None, move |control| {
        engine::estimate(&network, &program, size, element, options, control)
    })?;
    Ok(Estimate { core })
}

/// What a run may cost: as told, or all memory that is free and any time.
pub fn limits(memory: Option<&Bound<'_, PyAny>>, time: Option<&Bound<'_, PyAny>>) -> PyResult<Limits> {
    let memory = memory
        .map(|size| ARGUMENT.size("memory_limit", size).map(trncomm_core::units::Bytes::get))
        .transpose()?;
    let time = time.map(|span| ARGUMENT.time("time_limit", span)).transpose()?;
    Ok(Limits {
        memory: memory.or_else(free_memory),
        time: time.map(|span| Duration::from_nanos(span.picoseconds() / 1000)),
    })
}

/// The bytes that can be had without swapping, where the system says so.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
