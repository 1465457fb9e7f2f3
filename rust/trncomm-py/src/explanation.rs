//! Why a run took as long as it did.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trncomm_core::engine::{Cause, Link, Model, Work};
use trncomm_core::result::{Explanation as Core, Part};
use trncomm_core::units::{Bytes, Time};
use trncomm_core::{schedule, topology};

use crate::column::column;
use crate::detached::detached;
use crate::text::brief;

/// What was run: enough to run it inputs.
pub struct Inputs {
    pub topology: Arc<topology::Topology>,
    pub schedule: Arc<schedule::Schedule>,
    pub size: Bytes,
    pub element: u64,
    pub model: Model,
}

/// The critical path of a run: the messages and the work that, one after the other, took all of its time.
///
/// Each step begins when the one before ends; the last one ends with the run. Nothing off the path could have ended the
/// run sooner. `print(explanation)` shows what the time went into.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> why = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring", model="flow").explain()
///     >>> why.parts["propagation"], why.parts["serialisation"]
///     (3000000, 24576000)
///     >>> why.source.tolist()
///     [3, 0, 1, 2, 3, 0]
#[pyclass(frozen, module = "trncomm")]
pub struct Explanation {
    core: Core,
    /// From the start until the last rank has finished, in picoseconds.
    #[pyo3(get)]
    time_ps: u64,
    /// When each step began, in picoseconds.
    #[pyo3(get)]
    begin_ps: Py<PyArray1<u64>>,
    /// When each step ended.
    #[pyo3(get)]
    end_ps: Py<PyArray1<u64>>,
    /// The rank that sent each message, or did the work.
    #[pyo3(get)]
    source: Py<PyArray1<u32>>,
    /// The rank that each message went to; for work the same as `source`.
    #[pyo3(get)]
    destination: Py<PyArray1<u32>>,
    /// The bytes of each message; 0 for work.
    #[pyo3(get)]
    bytes: Py<PyArray1<u64>>,
    /// How long the receiver had waited for each message when it came, in picoseconds; 0 for work.
    #[pyo3(get)]
    waited_ps: Py<PyArray1<u64>>,
    description: String,
}

impl Explanation {
    /// Runs again, and keeps what caused what.
    pub fn of(py: Python<'_>, inputs: Inputs, header: &str, footer: &str) -> PyResult<Self> {
        let core = detached(py, None, move |control| {
            Core::of(
                &inputs.topology,
                &inputs.schedule,
                inputs.size,
                inputs.element,
                inputs.model,
                control,
            )
        })?;
        let columns = |value: fn(&Link) -> u64| column(py, core.chain().iter().map(value).collect());
        let ranks = |value: fn(&Link) -> u32| column(py, core.chain().iter().map(value).collect());
        Ok(Self {
            time_ps: core.time().picoseconds(),
            begin_ps: columns(|link| link.begin.picoseconds()),
            end_ps: columns(|link| link.end.picoseconds()),
            source: ranks(|link| ends(link).0),
            destination: ranks(|link| ends(link).1),
            bytes: columns(|link| ends(link).2),
            waited_ps: columns(|link| link.waited.picoseconds()),
            description: format!("{header}\n{}\n{footer}", describe(&core)),
            core,
        })
    }
}

#[pymethods]
impl Explanation {
    /// What the time went into: picoseconds by part; together they are `time_ps`.
    ///
    /// "late start", "launch", "serialisation" (on the slowest link of a message's route), "forwarding" (packets on its
    /// other links), "propagation" (latencies), "contention" (more than the message takes by itself: links shared
    /// with others, or waits for room), "completion", "reduction", "copy" and "compute".
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (part, time) in Part::ALL.into_iter().zip(self.core.total()) {
            found.set_item(part.name(), time.picoseconds())?;
        }
        Ok(found)
    }

    /// What the time of each step went into, as a column of picoseconds for one part.
    ///
    /// Args:
    ///     part: One of the names in `parts`.
    ///
    /// Raises:
    ///     KeyError: No such part.
    fn part_ps(&self, py: Python<'_>, part: &str) -> PyResult<Py<PyArray1<u64>>> {
        let known = Part::ALL.into_iter().find(|known| known.name() == part);
        let known = known.ok_or_else(|| PyKeyError::new_err(format!("{part:?} is not one of the parts")))?;
        let parts = self.core.parts().iter();
        Ok(column(
            py,
            parts.map(|parts| parts[known as usize].picoseconds()).collect(),
        ))
    }

    /// What each step was: "message", "reduction", "copy" or "compute".
    #[getter]
    fn kind(&self) -> Vec<&'static str> {
        self.core.chain().iter().map(kind).collect()
    }

    fn __len__(&self) -> usize {
        self.core.chain().len()
    }

    fn __str__(&self) -> &str {
        &self.description
    }

    fn __repr__(&self) -> String {
        format!(
            "<Explanation: {} in {} steps>",
            brief(self.core.time()),
            self.core.chain().len()
        )
    }
}

fn kind(link: &Link) -> &'static str {
    match link.cause {
        Cause::Message { .. } => "message",
        Cause::Work { work, .. } => match work {
            Work::Reduction => "reduction",
            Work::Copy => "copy",
            Work::Compute => "compute",
        },
    }
}

/// The source, the destination and the bytes.
fn ends(link: &Link) -> (u32, u32, u64) {
    match link.cause {
        Cause::Message {
            source,
            destination,
            bytes,
            ..
        } => (source, destination, bytes),
        Cause::Work { rank, .. } => (rank, rank, 0),
    }
}

/// How many ranks of the path are named.
const NAMED: usize = 8;

fn describe(core: &Core) -> String {
    let mut lines = vec![format!(
        "  critical path  {} messages and {} other steps: ranks {}",
        core.chain().iter().filter(|link| kind(link) == "message").count(),
        core.chain().iter().filter(|link| kind(link) != "message").count(),
        way(core)
    )];
    let mut parts: Vec<(Part, Time)> = Part::ALL.into_iter().zip(core.total()).collect();
    parts.retain(|&(_, time)| time > Time::ZERO);
    // Of parts that are as long, in the order in which a message meets them.
    parts.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
    for (part, time) in parts {
        let share = 100.0 * time.seconds() / core.time().seconds();
        lines.push(format!(
            "  {:<15}{:>12}  {share:>5.1} %  {}",
            part.name(),
            brief(time),
            meaning(part, core)
        ));
    }
    lines.extend(longest_step(core));
    lines.extend(longest_wait(core));
    lines.join("\n")
}

/// The first ranks of the path.
fn way(core: &Core) -> String {
    let mut ranks: Vec<u32> = Vec::new();
    for link in core.chain() {
        let (from, to, _) = ends(link);
        for rank in [from, to] {
            if ranks.last() != Some(&rank) {
                ranks.push(rank);
            }
        }
    }
    let named: Vec<String> = ranks.iter().take(NAMED).map(ToString::to_string).collect();
    let more = ranks.len().saturating_sub(NAMED);
    match (named.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => named.join(" → "),
        (false, more) => format!("{} → … ({more} more)", named.join(" → ")),
    }
}

fn longest_step(core: &Core) -> Option<String> {
    let link = core.chain().iter().rev().max_by_key(|link| link.end - link.begin)?;
    let (from, to, bytes) = ends(link);
    let span = brief(link.end - link.begin);
    Some(match link.cause {
        Cause::Message { .. } => format!(
            "  longest step   {span}: {} from rank {from} to rank {to}",
            Bytes::new(bytes)
        ),
        Cause::Work { .. } => format!("  longest step   {span}: {} at rank {from}", kind(link)),
    })
}

fn longest_wait(core: &Core) -> Option<String> {
    let link = core.chain().iter().rev().max_by_key(|link| link.waited)?;
    let (from, to, _) = ends(link);
    (link.waited > Time::ZERO).then(|| format!("  longest wait   {}: rank {to} for rank {from}", brief(link.waited)))
}

/// What a part means for whoever wants it shorter.
fn meaning(part: Part, core: &Core) -> String {
    let text = match part {
        Part::Late => {
            let late = core.chain().first().map(|link| ends(link).0);
            return late.map_or_else(String::new, |rank| format!("before rank {rank} began"));
        }
        Part::Launch => "a cost of each message: fewer, larger messages in a row",
        Part::Serialisation => "bytes on the slowest link of each route: fewer bytes, more links at once",
        Part::Forwarding => "a packet on each further link: shorter routes, smaller packets",
        Part::Propagation => "latency of the links: fewer steps, shorter routes",
        Part::Contention => "links shared with other messages, or no room behind them: other routes, orders or places",
        Part::Completion => "a cost of each message at its destination",
        Part::Reduction => "adding up what has arrived",
        Part::Copy => "moving data within a chip",
        Part::Compute => "work of the ranks themselves",
    };
    text.to_owned()
}
