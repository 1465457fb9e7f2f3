//! The Python binding: convert, call once, convert back.

// What documents a class or a function is a Python docstring, with Python's markup.
#![allow(clippy::doc_markdown, clippy::doc_link_with_quotes)]

mod column;
mod convert;
mod detached;
mod errors;
mod estimate;
mod explanation;
mod fault;
mod latency;
mod nodes;
mod result;
mod schedule;
mod settings;
mod text;
mod topology;

use pyo3::prelude::*;

use convert::ARGUMENT;

/// How the core was compiled: "release" or "debug".
///
/// Timings of a debug build mean nothing; the benchmarks refuse one.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

/// A size in bytes.
///
/// Args:
///     text: A number of bytes, or a text such as "64MiB" or "8M"; suffixes are powers of 1024.
///
/// Raises:
///     ArgumentError: It doesn't read as a size.
///
/// Examples:
///     >>> from trncomm import _core
///     >>> _core.parse_size("1.5K")
///     1536
#[pyfunction]
fn parse_size(text: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(ARGUMENT.size("size", text)?.get())
}

/// A rate in bytes a second.
///
/// Args:
///     text: A number of bytes a second, or a text such as "256GB/s" or "400Gbps".
///
/// Raises:
///     ArgumentError: It doesn't read as a rate, or is zero.
///
/// Examples:
///     >>> from trncomm import _core
///     >>> _core.parse_bandwidth("400Gbps")
///     50000000000
#[pyfunction]
fn parse_bandwidth(text: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(ARGUMENT.bandwidth("bandwidth", text)?.bytes_per_second())
}

/// A duration in picoseconds.
///
/// Args:
///     text: A number of picoseconds, or a text such as "1.3us".
///
/// Raises:
///     ArgumentError: It doesn't read as a duration.
///
/// Examples:
///     >>> from trncomm import _core
///     >>> _core.parse_duration("1.3us")
///     1300000
#[pyfunction]
fn parse_duration(text: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(ARGUMENT.time("duration", text)?.picoseconds())
}

/// The Rust core of trncomm; its classes and functions are public as those of `trncomm`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::estimate::{Estimate, estimate};
    #[pymodule_export]
    use super::explanation::Explanation;
    #[pymodule_export]
    use super::fault::{Fault, late, link_down, link_errors, link_slow, node_down, slow};
    #[pymodule_export]
    use super::latency::Latency;
    #[pymodule_export]
    use super::result::{RunResult, run};
    #[pymodule_export]
    use super::schedule::{AlgorithmInfo, ParameterInfo, Proof, Schedule, algorithms, build, verify};
    #[pymodule_export]
    use super::settings::{Endpoint, Fabric, PacketFormat};
    #[pymodule_export]
    use super::topology::Topology;
    #[pymodule_export]
    use super::{build_profile, parse_bandwidth, parse_duration, parse_size};
}
