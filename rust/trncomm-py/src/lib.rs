//! The Python binding: convert, call once, convert back.

use pyo3::prelude::*;

/// How the core was compiled: "release" or "debug".
///
/// Timings of a debug build mean nothing; the benchmarks refuse one.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

/// The Rust core of trncomm.
#[pymodule(name = "_core")]
mod core_module {
    #[pymodule_export]
    use super::build_profile;
}
