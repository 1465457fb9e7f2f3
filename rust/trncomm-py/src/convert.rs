//! Arguments: counts, and quantities that are numbers in base units or texts with a unit.

use std::fmt::Display;

use pyo3::PyErr;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};
use trncomm_core::error::UnitError;
use trncomm_core::ids::RankId;
use trncomm_core::units::{Bandwidth, Bytes, Time, parse_bandwidth, parse_size, parse_time};

use crate::errors::{AlgorithmError, ArgumentError, TopologyError};

/// Reads arguments, and raises one class of errors for those that can't be read.
///
/// An error names the argument, and the value that it got.
#[derive(Clone, Copy)]
pub struct Reader(fn(String) -> PyErr);

/// Reads what describes a topology.
pub const TOPOLOGY: Reader = Reader(TopologyError::new_err);

/// Reads what an algorithm is told.
pub const ALGORITHM: Reader = Reader(AlgorithmError::new_err);

/// Reads everything else.
pub const ARGUMENT: Reader = Reader(ArgumentError::new_err);

impl Reader {
    /// A size: bytes, or a text such as "64MiB".
    pub fn size(self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
        self.quantity(name, value, parse_size, |bytes| Ok(Bytes::new(bytes)))
    }

    /// A rate: bytes a second, or a text such as "256GB/s".
    pub fn bandwidth(self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Bandwidth> {
        self.quantity(name, value, parse_bandwidth, Bandwidth::new)
    }

    /// A duration: picoseconds, or a text such as "500ns".
    pub fn time(self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Time> {
        self.quantity(name, value, parse_time, |ps| Ok(Time::from_picoseconds(ps)))
    }

    /// A count of things.
    pub fn count(self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.whole(name, value, "a whole number")
    }

    /// A number without a unit.
    pub fn number(self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.whole(name, value, "a whole number")
    }

    /// The number of a rank.
    pub fn rank(self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<RankId> {
        self.whole::<u32>(name, value, "the number of a rank").map(RankId::from)
    }

    fn quantity<T>(
        self,
        name: &str,
        value: &Bound<'_, PyAny>,
        parse: fn(&str) -> Result<T, UnitError>,
        new: fn(u64) -> Result<T, UnitError>,
    ) -> PyResult<T> {
        let read = if let Ok(text) = value.cast::<PyString>() {
            parse(text.to_cow()?.as_ref())
        } else {
            new(self.whole(name, value, "a whole number or a text with a unit")?)
        };
        read.map_err(|error| self.raise(name, error))
    }

    /// An integer in the range of `T`, of any type that Python takes for an index.
    fn whole<'py, T>(self, name: &str, value: &Bound<'py, PyAny>, expected: &str) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        value.extract::<T>().map_err(|error| {
            let py = value.py();
            let refusal = match value.repr() {
                Ok(repr) => format!("{name} must be {expected}, got {repr}"),
                Err(error) => return error,
            };
            if error.is_instance_of::<PyOverflowError>(py) {
                self.raise(name, format!("{refusal}, which is out of range"))
            } else if value.is_instance_of::<PyFloat>() {
                // NaN and its like are bad values of a numeric type, not bad types.
                self.raise(name, refusal)
            } else {
                PyTypeError::new_err(refusal)
            }
        })
    }

    /// The exception for a problem with an argument, which it names unless the problem does.
    pub fn raise(self, name: &str, problem: impl Display) -> PyErr {
        let problem = problem.to_string();
        (self.0)(if problem.contains(name) {
            problem
        } else {
            format!("{name}: {problem}")
        })
    }
}
