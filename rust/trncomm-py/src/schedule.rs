//! Algorithms, and the schedules that they build.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyMappingMethods, PySequence, PyTuple};
use trncomm_core::algorithm::{Kind, Value};
use trncomm_core::collective::Collective;
use trncomm_core::proof::Method;
use trncomm_core::{algorithm, proof, schedule};

use crate::convert::ALGORITHM;
use crate::detached::detached;
use crate::errors::{of_algorithm, of_simulation};
use crate::topology::Topology;

/// What every rank does, in order: a small program that all ranks run, without sizes or times.
///
/// `str(schedule)` lists the program. `build` makes one; it serves every message size.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> schedule = tc.build(ring, "all_gather", "ring")
///     >>> print(schedule)
///     ring all_gather: 4 ranks [4], 4 chunks
///     every rank r:
///       stream 0 (channel 0):
///         for i in 0..3:
///           send output[...] to ...
///           receive output[...] from ...
#[pyclass(frozen, module = "trncomm")]
pub struct Schedule {
    pub core: Arc<schedule::Schedule>,
}

#[pymethods]
impl Schedule {
    /// The algorithm that built it.
    #[getter]
    fn algorithm(&self) -> &str {
        self.core.name()
    }

    /// The collective that it claims to perform.
    #[getter]
    fn collective(&self) -> &'static str {
        self.core.goal().collective.name()
    }

    /// The number of ranks.
    #[getter]
    fn ranks(&self) -> usize {
        self.core.ranks()
    }

    /// The number of chunks that a buffer is cut into; they differ by at most one element.
    #[getter]
    fn chunks(&self) -> u64 {
        self.core.chunks()
    }

    /// The memory that it takes, in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.core.footprint()
    }

    /// List the messages by step: (step, source, destination, chunks), in that order.
    ///
    /// The step of a message is the longest chain of messages that had to arrive before it was sent, from 0.
    ///
    /// Raises:
    ///     ScheduleError: More than 2**22 instructions, or ranks that wait for ever.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> ring = tc.Topology.ring(3, bandwidth="64GB/s", latency="500ns")
    ///     >>> tc.build(ring, "all_gather", "ring").steps()[:3]
    ///     [(0, 0, 1, 1), (0, 1, 2, 1), (0, 2, 0, 1)]
    fn steps(&self) -> PyResult<Vec<(u32, u32, u32, u64)>> {
        let found = proof::steps(&self.core).map_err(|error| of_simulation(&error.into()))?;
        Ok(found
            .into_iter()
            .map(|message| (message.step, message.source, message.destination, message.chunks))
            .collect())
    }

    fn __str__(&self) -> String {
        self.core.to_string()
    }

    fn __repr__(&self) -> String {
        let (name, collective) = (self.core.name(), self.core.goal().collective);
        let (ranks, chunks) = (self.core.ranks(), self.core.chunks());
        format!("<Schedule {name} {collective}: {ranks} ranks, {chunks} chunks>")
    }
}

/// An algorithm that can build a collective.
#[pyclass(frozen, module = "trncomm")]
pub struct AlgorithmInfo {
    core: &'static algorithm::Algorithm,
}

#[pymethods]
impl AlgorithmInfo {
    /// The name, in snake case.
    #[getter]
    fn name(&self) -> &'static str {
        self.core.name
    }

    /// One line: what it does and what it costs.
    #[getter]
    fn summary(&self) -> &'static str {
        self.core.summary
    }

    /// Where it comes from.
    #[getter]
    fn source(&self) -> &'static str {
        self.core.source
    }

    /// Which numbers of ranks work.
    #[getter]
    fn ranks(&self) -> &'static str {
        self.core.ranks
    }

    /// What can be set, by name.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for core in self.core.parameters {
            found.set_item(core.name, ParameterInfo { core })?;
        }
        Ok(found)
    }

    fn __repr__(&self) -> String {
        format!("<AlgorithmInfo {}: {}>", self.core.name, self.core.summary)
    }
}

/// What an algorithm can be told: `str` gives its meaning, its range and its default in a line.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> chain = next(known for known in tc.algorithms("broadcast") if known.name == "chain")
///     >>> pieces = chain.parameters["pieces"]
///     >>> pieces.kind, pieces.default, pieces.range
///     ('count', 16, (1, 65536))
#[pyclass(frozen, module = "trncomm")]
pub struct ParameterInfo {
    core: &'static algorithm::Parameter,
}

#[pymethods]
impl ParameterInfo {
    /// The name.
    #[getter]
    fn name(&self) -> &'static str {
        self.core.name
    }

    /// One line: what it sets.
    #[getter]
    fn summary(&self) -> &'static str {
        self.core.summary
    }

    /// "count" for a whole number, "counts" for several, "choice" for one of some names, "algorithm" for the name of
    /// an algorithm.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.core.kind {
            Kind::Count { .. } => "count",
            Kind::Counts => "counts",
            Kind::Choice(_) => "choice",
            Kind::Algorithm { .. } => "algorithm",
        }
    }

    /// What it is where nothing is said.
    #[getter]
    fn default<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.core.kind {
            Kind::Count { default, .. } => default.into_bound_py_any(py),
            Kind::Counts => Ok(PyTuple::empty(py).into_any()),
            Kind::Choice(names) => names[0].into_bound_py_any(py),
            Kind::Algorithm { default } => default.into_bound_py_any(py),
        }
    }

    /// The least and the most of a whole number, or the names to choose from; None where it depends on the ranks.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match self.core.kind {
            Kind::Count { least, most, .. } => PyTuple::new(py, [least, most]).map(Some),
            Kind::Choice(names) => PyTuple::new(py, names).map(Some),
            Kind::Counts | Kind::Algorithm { .. } => Ok(None),
        }
    }

    fn __str__(&self) -> String {
        let range = match self.core.kind {
            Kind::Count { default, least, most } => format!("from {least} to {most}, default {default}"),
            Kind::Counts => "whole numbers, default none".to_owned(),
            Kind::Choice(names) => format!("one of {}, default {}", names.join(", "), names[0]),
            Kind::Algorithm { default } => format!("an algorithm, default {default}"),
        };
        format!("{} ({range})", self.core.summary)
    }

    fn __repr__(&self) -> String {
        format!("<ParameterInfo {}: {}>", self.core.name, self.__str__())
    }
}

/// What was proved of a schedule.
#[pyclass(frozen, module = "trncomm")]
pub struct Proof {
    core: proof::Proof,
}

#[pymethods]
impl Proof {
    /// The messages that were sent and received.
    #[getter]
    fn messages(&self) -> u64 {
        self.core.messages
    }

    /// The chunks whose content at the end was checked.
    #[getter]
    fn chunks_checked(&self) -> u64 {
        self.core.chunks
    }

    /// "exact" by sets of contributions, "fingerprint" by sums of random weights, or "symmetric" by sets of
    /// contributions of the first rank, with a comparison that all others do as it does.
    #[getter]
    fn method(&self) -> &'static str {
        match self.core.method {
            Method::Exact => "exact",
            Method::Fingerprint => "fingerprint",
            Method::Symmetric => "symmetric",
        }
    }

    /// An upper bound on the probability that a wrong schedule passes; of those that treat at least half of their ranks
    /// in another way than the first, where the proof is symmetric.
    #[getter]
    fn miss_probability(&self) -> f64 {
        self.core.miss_probability
    }

    fn __repr__(&self) -> String {
        format!(
            "<Proof {}: {} messages, {} chunks checked>",
            self.method(),
            self.core.messages,
            self.core.chunks
        )
    }
}

/// The algorithms that can build a collective.
///
/// Args:
///     collective: Its name, such as "all_reduce".
///
/// Raises:
///     AlgorithmError: No such collective.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> "ring" in [known.name for known in tc.algorithms("all_reduce")]
///     True
#[pyfunction]
pub fn algorithms(collective: &str) -> PyResult<Vec<AlgorithmInfo>> {
    let collective = Collective::from_name(collective).map_err(|error| of_algorithm(&error))?;
    Ok(algorithm::algorithms(collective)
        .map(|core| AlgorithmInfo { core })
        .collect())
}

/// Build a schedule.
///
/// Args:
///     topology: Whose ranks take part.
///     collective: What it is to do, such as "all_reduce".
///     algorithm: How; `algorithms(collective)` lists the names.
///     root: The root of a collective that has one.
///     parameters: Parameters of the algorithm by name: whole numbers, lists of them, or names.
///
/// Raises:
///     AlgorithmError: An unknown name, or an algorithm that can't serve this topology.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> tc.build(ring, "all_reduce", "ring")
///     <Schedule ring all_reduce: 4 ranks, 4 chunks>
#[pyfunction]
#[pyo3(signature = (topology, collective, algorithm, *, root=None, parameters=None))]
#[pyo3(text_signature = "(topology, collective, algorithm, *, root=0, parameters=None)")]
pub fn build(
    topology: &Topology,
    collective: &str,
    algorithm: &str,
    root: Option<&Bound<'_, PyAny>>,
    parameters: Option<&Bound<'_, PyMapping>>,
) -> PyResult<Schedule> {
    let collective = Collective::from_name(collective).map_err(|error| of_algorithm(&error))?;
    let root = root.map_or(Ok(0.into()), |root| ALGORITHM.rank("root", root))?;
    let mut given = BTreeMap::new();
    for item in parameters
        .map(PyMappingMethods::items)
        .transpose()?
        .into_iter()
        .flatten()
    {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        let value = parameter_value(&name, &value)?;
        given.insert(name, value);
    }
    algorithm::build(&topology.core, collective, algorithm, root, given)
        .map(|core| Schedule { core: Arc::new(core) })
        .map_err(|error| of_algorithm(&error))
}

/// A name, a whole number, or several.
fn parameter_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(text) = value.extract::<String>() {
        Ok(Value::Choice(text))
    } else if let Ok(items) = value.cast::<PySequence>() {
        let numbers = items.try_iter()?.map(|item| ALGORITHM.number(name, &item?));
        numbers.collect::<PyResult<Vec<u64>>>().map(Value::Counts)
    } else {
        ALGORITHM.number(name, value).map(Value::Count)
    }
}

/// Prove that a schedule does what its collective promises, for every message size.
///
/// It is run on symbolic data over a network without time, and what every rank ends with is compared with the promise.
///
/// Args:
///     schedule: What `build` made.
///
/// Raises:
///     ScheduleError: A contribution that is missing or doubled, a deadlock, a message that nobody receives; with the
///         ranks and chunks. Also a schedule too large to be run whole.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> tc.verify(tc.build(ring, "all_reduce", "ring"))
///     <Proof exact: 24 messages, 16 chunks checked>
#[pyfunction]
pub fn verify(py: Python<'_>, schedule: &Schedule) -> PyResult<Proof> {
    let core = Arc::clone(&schedule.core);
    let core = detached(py, None, move |control| proof::verify(&core, control))?;
    Ok(Proof { core })
}
