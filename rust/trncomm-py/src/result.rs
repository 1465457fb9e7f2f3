//! Runs of a schedule, and what they came to.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use trncomm_core::bounds::Bound as TimeBound;
use trncomm_core::engine::Model;
use trncomm_core::result::{Busiest, SimulationResult};
use trncomm_core::topology;
use trncomm_core::units::{Bytes, Time};

use crate::column::column;
use crate::convert::ARGUMENT;
use crate::detached::detached;
use crate::errors::of_simulation;
use crate::schedule::Schedule;
use crate::topology::Topology;

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
    /// Events that the network model handled.
    #[pyo3(get)]
    events: u64,
    /// Messages sent.
    #[pyo3(get)]
    messages: u64,
    /// Packets times the links that each crossed; messages, where the model has no packets.
    #[pyo3(get)]
    packet_hops: u64,
    description: String,
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

    fn __str__(&self) -> &str {
        &self.description
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
///     progress: Called a few times a second with the share done and the simulated time in picoseconds.
///
/// Raises:
///     ArgumentError: A size or an option that is out of range or can't be read, or a size that isn't a whole number of
///         elements.
///     ScheduleError: The schedule is malformed at this size.
///     SimulationError: The run couldn't end.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> schedule = tc.build(ring, "all_reduce", "ring")
///     >>> [tc.run(ring, schedule, size).time_ps for size in ("64KiB", "128KiB")]
///     [4536000, 6072000]
#[pyfunction]
#[pyo3(signature = (topology, schedule, size, *, itemsize=None, model="packet", progress=None))]
#[pyo3(text_signature = "(topology, schedule, size, *, itemsize=1, model='packet', progress=None)")]
pub fn run(
    py: Python<'_>,
    topology: &Topology,
    schedule: &Schedule,
    size: &Bound<'_, PyAny>,
    itemsize: Option<&Bound<'_, PyAny>>,
    model: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let size = ARGUMENT.size("size", size)?;
    let element = itemsize.map_or(Ok(1), |bytes| ARGUMENT.number("itemsize", bytes))?;
    let model = Model::from_name(model).map_err(|error| of_simulation(&error))?;
    let (network, program) = (Arc::clone(&topology.core), Arc::clone(&schedule.core));
    let (result, bound) = detached(py, progress.map(Bound::as_unbound), move |control| {
        let result = SimulationResult::of(&network, &program, size, element, model, control)?;
        let bound = result.bound(&network)?;
        Ok((result, bound))
    })?;
    Ok(convert(py, topology, result, bound))
}

/// Copies the figures and hands the columns' memory over to arrays.
fn convert(py: Python<'_>, topology: &Topology, result: SimulationResult, bound: Option<TimeBound>) -> RunResult {
    let description = describe(topology, &result, bound.as_ref());
    let (collective, model) = (result.goal().collective.name(), result.model().name());
    let (algorithm, ranks) = (result.algorithm().to_owned(), result.ranks());
    let (size_bytes, time_ps) = (result.size().get(), result.time().picoseconds());
    let (algbw, busbw) = (result.algorithm_bandwidth(), result.bus_bandwidth());
    let wire_efficiency = result.wire_efficiency();
    let busiest_link = result.busiest().map(|busiest| busiest.link.get());
    let outcome = result.into_outcome();
    RunResult {
        collective,
        algorithm,
        model,
        topology_name: topology.name.clone(),
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
        events: outcome.traffic.events,
        messages: outcome.messages,
        packet_hops: outcome.traffic.packet_hops,
        // A time is 64 bits of picoseconds, so the map works in place.
        finish_ps: column(py, outcome.finish.into_iter().map(Time::picoseconds).collect()),
        sent_bytes: column(py, outcome.sent),
        link_bytes: column(py, outcome.traffic.link_bytes),
        link_busy_ps: column(py, outcome.traffic.link_busy),
        description,
    }
}

/// A screen of text.
fn describe(topology: &Topology, result: &SimulationResult, bound: Option<&TimeBound>) -> String {
    let collective = result.goal().collective;
    let (size, algorithm, name) = (result.size(), result.algorithm(), &topology.name);
    let (ranks, model) = (result.ranks(), result.model());
    let (numerator, denominator) = collective.bus_factor(ranks);
    let first = result.finish().iter().min().copied().unwrap_or_default();
    let busiest = result.busiest().map_or("none".to_owned(), |busiest| {
        describe_link(&topology.core, busiest, result)
    });
    let (messages, hops, events) = (result.messages(), result.packet_hops(), result.events());
    [
        format!("{collective} of {size} by {algorithm} on {name}: {ranks} ranks, model {model}"),
        format!(
            "  time      {} (first rank done after {})",
            brief(result.time()),
            brief(first)
        ),
        format!(
            "  algbw     {:.3} GB/s (size / time)",
            result.algorithm_bandwidth() / 1e9
        ),
        format!(
            "  busbw     {} (algbw × {numerator}/{denominator})",
            rate(result.bus_bandwidth())
        ),
        format!(
            "  bound     {}",
            bound.map_or("none known".to_owned(), |bound| describe_bound(bound, result))
        ),
        format!("  busiest   {busiest}"),
        format!("  counters  {messages} messages, {hops} packet-hops, {events} events"),
    ]
    .join("\n")
}

/// What no schedule can beat, and how far above it the result is.
fn describe_bound(bound: &TimeBound, result: &SimulationResult) -> String {
    let distance = if bound.time == Time::ZERO {
        String::new()
    } else {
        format!(
            "; the time is {:.2} times that",
            result.time().seconds() / bound.time.seconds()
        )
    };
    format!(
        "{} ({}: {}){distance}",
        brief(bound.time),
        bound.kind.name(),
        bound.explanation
    )
}

/// Which link was busiest, and how busy.
fn describe_link(topology: &topology::Topology, busiest: Busiest, result: &SimulationResult) -> String {
    let link = busiest.link;
    let node = |id| {
        let kind = if topology.is_chip(id) { "chip" } else { "switch" };
        format!("{kind} {id}")
    };
    format!(
        "link {link} ({}, {} to {}), sending {:.1} % of the time",
        topology.tiers()[usize::from(topology.tier(link))],
        node(topology.source(link)),
        node(topology.destination(link)),
        100.0 * result.wire_efficiency()
    )
}

/// A time for people, to three decimals of its unit.
#[allow(clippy::cast_precision_loss)]
fn brief(time: Time) -> String {
    let picoseconds = time.picoseconds() as f64;
    match time.picoseconds() {
        0 => "0 s".to_owned(),
        1..1_000_000 => format!("{:.3} ns", picoseconds / 1e3),
        1_000_000..1_000_000_000 => format!("{:.3} µs", picoseconds / 1e6),
        1_000_000_000..1_000_000_000_000 => format!("{:.3} ms", picoseconds / 1e9),
        _ => format!("{:.3} s", picoseconds / 1e12),
    }
}

/// A rate for people, in decimal units.
fn rate(bytes_per_second: f64) -> String {
    let (scale, unit) = match bytes_per_second {
        rate if rate < 1e6 => (1e3, "kB/s"),
        rate if rate < 1e9 => (1e6, "MB/s"),
        rate if rate < 1e12 => (1e9, "GB/s"),
        _ => (1e12, "TB/s"),
    };
    format!("{:.3} {unit}", bytes_per_second / scale)
}
