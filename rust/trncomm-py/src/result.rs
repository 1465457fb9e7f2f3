//! Runs of a schedule, and what they came to.

mod description;

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use trncomm_core::bounds::Bound as TimeBound;
use trncomm_core::engine::{Model, Options};
use trncomm_core::result::SimulationResult;
use trncomm_core::units::{Bytes, Time};

use description::{NO_BOUND, describe, describe_bound, describe_loads};

use crate::column::column;
use crate::convert::ARGUMENT;
use crate::detached::detached;
use crate::errors::of_simulation;
use crate::estimate::limits;
use crate::explanation::{Explanation, Inputs};
use crate::latency::Latency;
use crate::schedule::Schedule;
use crate::text::{brief, rate};
use crate::topology::Topology;

/// A read-only array, where the model counts such a thing.
type Column<T> = Option<Py<PyArray1<T>>>;

/// What a simulated collective took.
///
/// Immutable; columns are read-only arrays. `print(result)` shows the main figures.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> result = tc.simulate(ring, "all_gather", "256KiB", algorithm="ring")
///     >>> result.time_ps
///     4572000
///     >>> int(result.link_bytes.sum())
///     786432
#[pyclass(name = "Result", frozen, module = "trncomm")]
pub struct RunResult {
    /// What was done.
    #[pyo3(get)]
    collective: &'static str,
    /// How.
    #[pyo3(get)]
    algorithm: String,
    /// The network model.
    #[pyo3(get)]
    model: &'static str,
    /// The topology's name.
    #[pyo3(get)]
    topology_name: String,
    /// How many ranks took part.
    #[pyo3(get)]
    ranks: usize,
    /// The larger of a rank's input and output, in bytes.
    #[pyo3(get)]
    size_bytes: u64,
    /// From the start until the last rank has finished, in picoseconds.
    #[pyo3(get)]
    time_ps: u64,
    /// Algorithm bandwidth: size over time, in bytes a second.
    #[pyo3(get)]
    algbw: f64,
    /// Bus bandwidth: algorithm bandwidth times the factor of nccl-tests and nccom-test, in bytes a second.
    #[pyo3(get)]
    busbw: f64,
    /// The share of the time, from 0 to 1, that the busiest link was sending.
    #[pyo3(get)]
    wire_efficiency: f64,
    /// The link that was sending for the longest, the first of several; None without links.
    #[pyo3(get)]
    busiest_link: Option<u32>,
    /// A time that no schedule of this collective can beat on the topology, in picoseconds; None where none is known.
    #[pyo3(get)]
    bound_ps: Option<u64>,
    /// What the bound follows from, such as "latency" or "cut".
    #[pyo3(get)]
    bound_name: Option<&'static str>,
    /// The bound's formula with its numbers.
    #[pyo3(get)]
    bound_explanation: Option<String>,
    /// When each rank had ended its program and all that it sent was delivered, in picoseconds.
    #[pyo3(get)]
    finish_ps: Py<PyArray1<u64>>,
    /// The bytes that each rank sent.
    #[pyo3(get)]
    sent_bytes: Py<PyArray1<u64>>,
    /// The bytes that each directed link carried, headers included.
    #[pyo3(get)]
    link_bytes: Py<PyArray1<u64>>,
    /// How long each directed link was sending, in picoseconds.
    #[pyo3(get)]
    link_busy_ps: Py<PyArray1<u64>>,
    /// Picoseconds that packets waited at a node for each directed link, summed over packets, to the nearest double.
    ///
    /// This column and the five after it are None where nothing was counted: in other models than "packet", and in that
    /// one where queues without limits serve first come first served by fixed routes, for which it takes a faster path.
    /// To have them counted all the same, set a buffer that never fills.
    #[pyo3(get)]
    link_wait_ps: Column<f64>,
    /// Picoseconds that the packet that waited longest waited at a node for each directed link; None as above.
    #[pyo3(get)]
    link_longest_wait_ps: Column<u64>,
    /// Picoseconds that each directed link stood still for lack of room behind it; None as above.
    #[pyo3(get)]
    link_held_ps: Column<u64>,
    /// The most bytes of packets in transit that ever waited for each directed link; None as above.
    #[pyo3(get)]
    queue_peak_bytes: Column<u64>,
    /// The bytes of packets in transit that waited for each directed link, on average over `time_ps`; None as above.
    #[pyo3(get)]
    queue_mean_bytes: Column<f64>,
    /// The most bytes that ever waited in the buffer at each directed link's end; None as above.
    #[pyo3(get)]
    buffer_peak_bytes: Column<u64>,
    /// Packets that started on their last link after one that was sent later; 0 where nothing was counted.
    #[pyo3(get)]
    reordered_packets: u64,
    /// How long messages took; None where none was sent.
    #[pyo3(get)]
    latency: Option<Py<Latency>>,
    /// Events that the network model handled.
    #[pyo3(get)]
    events: u64,
    /// Messages sent.
    #[pyo3(get)]
    messages: u64,
    /// Packets times the links that each crossed; messages, where the model has no packets.
    #[pyo3(get)]
    packet_hops: u64,
    /// Ranks that were run, each for all that are alike.
    #[pyo3(get)]
    ranks_run: usize,
    /// Links that were run, each for all that are alike.
    #[pyo3(get)]
    links_run: usize,
    /// How often the run leapt: what repeats was run once and counted.
    #[pyo3(get)]
    leaps: u64,
    /// The simulated time that was counted instead of run, in picoseconds.
    #[pyo3(get)]
    leapt_ps: u64,
    /// What it was simulated on, faults included.
    #[pyo3(get)]
    topology: Py<Topology>,
    /// What was simulated.
    #[pyo3(get)]
    schedule: Py<Schedule>,
    element: u64,
    description: String,
    choice: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl RunResult {
    fn __repr__(&self) -> String {
        format!(
            "<Result {} {} of {} on {}: {}, busbw {}>",
            self.algorithm,
            self.collective,
            Bytes::new(self.size_bytes),
            self.topology_name,
            brief(Time::from_picoseconds(self.time_ps)),
            rate(self.busbw)
        )
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let chosen = self.choice.get(py).map(|choice| choice.bind(py).str()).transpose()?;
        Ok(match chosen {
            Some(chosen) => format!("{}\n  chosen    {chosen}", self.description),
            None => self.description.clone(),
        })
    }

    /// Why this algorithm was taken, where `simulate` chose it; None where it was named.
    #[getter]
    fn choice(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.choice.get(py).map(|choice| choice.clone_ref(py))
    }

    /// Keep why the algorithm was taken; once, by `simulate`.
    fn remember(&self, py: Python<'_>, choice: Py<PyAny>) {
        // A second choice isn't one.
        let _ = self.choice.set(py, choice);
    }

    /// Say what it costs in energy and money; nothing unless asked for, as no figure is the maker's.
    ///
    /// Args:
    ///     energy: True for assumed picojoules a bit, or some by tier and for "memory".
    ///     price: True for an assumed price, or US dollars for a chip and an hour.
    ///
    /// Raises:
    ///     ArgumentError: A tier that the topology hasn't, a figure below zero.
    #[pyo3(signature = (*, energy=None, price=None))]
    #[pyo3(text_signature = "($self, *, energy=False, price=False)")]
    fn account<'py>(
        slf: &Bound<'py, Self>,
        energy: Option<Bound<'py, PyAny>>,
        price: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let accounting = slf.py().import("trncomm.accounting")?;
        let asked = PyDict::new(slf.py());
        for (name, value) in [("energy", energy), ("price", price)] {
            if let Some(value) = value {
                asked.set_item(name, value)?;
            }
        }
        accounting.call_method("account", (slf,), Some(&asked))
    }

    /// Say why it took as long as it did.
    ///
    /// Runs once more, keeping what caused what: 64 bytes a message.
    ///
    /// Raises:
    ///     SimulationError: More than 2**26 messages.
    fn explain(&self, py: Python<'_>) -> PyResult<Explanation> {
        let topology = &self.topology.get().core;
        let inputs = Inputs {
            topology: Arc::clone(topology),
            schedule: Arc::clone(&self.schedule.get().core),
            size: Bytes::new(self.size_bytes),
            element: self.element,
            model: Model::from_name(self.model).expect("the name of a model"),
        };
        let time = Time::from_picoseconds(self.time_ps);
        let header = self.description.lines().next().unwrap_or_default();
        let busy = self.link_busy_ps.bind(py).readonly();
        let loads = describe_loads(topology, busy.as_slice()?, time);
        let bound = match (self.bound_ps, self.bound_name, &self.bound_explanation) {
            (Some(bound), Some(name), Some(explanation)) => {
                describe_bound(Time::from_picoseconds(bound), name, explanation, time)
            }
            _ => NO_BOUND.to_owned(),
        };
        let header = format!("{header}\n  time           {}", brief(time));
        Explanation::of(py, inputs, &header, &format!("{loads}\n  bound          {bound}"))
    }
}

/// Simulate a schedule.
///
/// Args:
///     topology: The network; rank r runs on chip r.
///     schedule: What the ranks do.
///     size: The larger of a rank's input and output, in bytes or as text ("64MiB").
///     itemsize: Bytes an element; chunks differ by at most one element.
///     model: "loggp", where only a rank's own ports contend; "flow", where messages share links like fluids; or
///         "packet", where packets contend for links.
///     fold: Whether ranks and links that are alike are run once, for the "flow" and the "packet" model. The result is the
///         same, byte for byte, but for `events`.
///     leap: Whether what repeats, such as the passes of a loop, is run once and counted, for the same models. The result
///         is the same, but for `events`.
///     memory_limit: Refuse a run that is estimated to take more, in bytes or as text; all that is free if not given.
///     time_limit: Refuse a run that is estimated to take longer on a processor, leaps apart: picoseconds, or text such
///         as "3600s". No limit if not given.
///     progress: Called a few times a second with the share done and the simulated time in picoseconds.
///
/// Raises:
///     ArgumentError: A size or an option that is out of range or can't be read, or a size that isn't a whole number of
///         elements.
///     ScheduleError: The schedule is malformed at this size.
///     SimulationError: The run couldn't end, or would cost more than it may.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> schedule = tc.build(ring, "all_reduce", "ring")
///     >>> [tc.run(ring, schedule, size).time_ps for size in ("64KiB", "128KiB")]
///     [4536000, 6072000]
#[pyfunction]
#[pyo3(signature = (topology, schedule, size, *, itemsize=None, model="packet", fold=true, leap=true, memory_limit=None, time_limit=None, progress=None))]
#[allow(clippy::too_many_arguments)] // keywords of Python's
#[pyo3(
    text_signature = "(topology, schedule, size, *, itemsize=1, model='packet', fold=True, leap=True, memory_limit=None, \
                      time_limit=None, progress=None)"
)]
pub fn run(
    py: Python<'_>,
    topology: &Bound<'_, Topology>,
    schedule: &Bound<'_, Schedule>,
    size: &Bound<'_, PyAny>,
    itemsize: Option<&Bound<'_, PyAny>>,
    model: &str,
    fold: bool,
    leap: bool,
    memory_limit: Option<&Bound<'_, PyAny>>,
    time_limit: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let size = ARGUMENT.size("size", size)?;
    let element = itemsize.map_or(Ok(1), |bytes| ARGUMENT.number("itemsize", bytes))?;
    let model = Model::from_name(model).map_err(|error| of_simulation(&error))?;
    let limits = limits(memory_limit, time_limit)?;
    let (network, program) = (Arc::clone(&topology.get().core), Arc::clone(&schedule.get().core));
    let (result, bound) = detached(py, progress.map(Bound::as_unbound), move |control| {
        let options = Options::from(model).with_fold(fold).with_leap(leap).with_limits(limits);
        let result = SimulationResult::of(&network, &program, size, element, options, control)?;
        let bound = result.bound(&network)?;
        Ok((result, bound))
    })?;
    convert(py, topology, schedule, result, bound)
}

/// Copies the figures and hands the columns' memory over to arrays.
fn convert(
    py: Python<'_>,
    topology: &Bound<'_, Topology>,
    schedule: &Bound<'_, Schedule>,
    result: SimulationResult,
    bound: Option<TimeBound>,
) -> PyResult<RunResult> {
    let description = describe(topology.get(), &result, bound.as_ref());
    let (collective, model) = (result.goal().collective.name(), result.model().name());
    let (algorithm, ranks) = (result.algorithm().to_owned(), result.ranks());
    let (size_bytes, element) = (result.size().get(), result.element());
    let time_ps = result.time().picoseconds();
    let (algbw, busbw) = (result.algorithm_bandwidth(), result.bus_bandwidth());
    let wire_efficiency = result.wire_efficiency();
    let busiest_link = result.busiest().map(|busiest| busiest.link.get());
    let outcome = result.into_outcome();
    let traffic = outcome.traffic;
    let latency = Latency::new(outcome.latencies).map(|latency| Py::new(py, latency));
    Ok(RunResult {
        collective,
        algorithm,
        model,
        topology_name: topology.get().name.clone(),
        ranks,
        size_bytes,
        time_ps,
        algbw,
        busbw,
        wire_efficiency,
        busiest_link,
        bound_ps: bound.as_ref().map(|bound| bound.time.picoseconds()),
        bound_name: bound.as_ref().map(|bound| bound.kind.name()),
        bound_explanation: bound.map(|bound| bound.explanation),
        events: traffic.events,
        messages: outcome.messages,
        packet_hops: traffic.packet_hops,
        ranks_run: outcome.run.ranks,
        links_run: outcome.run.links,
        leaps: outcome.leapt.leaps,
        leapt_ps: outcome.leapt.time.picoseconds(),
        // A time is 64 bits of picoseconds, so the map works in place.
        finish_ps: column(py, outcome.finish.into_iter().map(Time::picoseconds).collect()),
        sent_bytes: column(py, outcome.sent),
        link_bytes: column(py, traffic.link_bytes),
        link_busy_ps: column(py, traffic.link_busy),
        link_wait_ps: counted(py, traffic.link_wait.into_iter().map(nearest).collect()),
        link_longest_wait_ps: counted(py, traffic.link_longest_wait),
        link_held_ps: counted(py, traffic.link_held),
        queue_peak_bytes: counted(py, traffic.queue_peak),
        queue_mean_bytes: counted(
            py,
            traffic.queue_area.into_iter().map(|area| mean(area, time_ps)).collect(),
        ),
        buffer_peak_bytes: counted(py, traffic.buffer_peak),
        reordered_packets: traffic.reordered,
        latency: latency.transpose()?,
        topology: topology.clone().unbind(),
        schedule: schedule.clone().unbind(),
        element,
        description,
        choice: PyOnceLock::new(),
    })
}

/// A column, or none where the model doesn't count.
fn counted<T: Element>(py: Python<'_>, values: Vec<T>) -> Column<T> {
    (!values.is_empty()).then(|| column(py, values))
}

/// A sum as a double.
#[allow(clippy::cast_precision_loss)] // for people; the engine adds whole numbers
fn nearest(sum: u128) -> f64 {
    sum as f64
}

/// What an area comes to over a time; 0 where that is 0.
fn mean(area: u128, time_ps: u64) -> f64 {
    if time_ps == 0 {
        0.0
    } else {
        nearest(area) / nearest(time_ps.into())
    }
}
