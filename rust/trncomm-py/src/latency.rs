//! How long messages took.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::types::PyFloat;
use trncomm_core::engine::Histogram;
use trncomm_core::units::Time;

use crate::convert::ARGUMENT;
use crate::text::brief;

/// How long messages took, from posting to delivery.
///
/// The launch overhead counts, waiting for one of the sender's queues doesn't. Least, greatest and mean are exact; a
/// percentile is never too low, and too high by less than 1/128 (0.8 %).
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns").with_packets(payload="1MiB")
///     >>> latency = tc.simulate(ring, "all_gather", "256KiB", algorithm="ring").latency
///     >>> latency.messages, latency.min_ps, latency.max_ps, latency.percentile(99)
///     (12, 1524000, 1524000, 1524000)
#[pyclass(frozen, module = "trncomm")]
pub struct Latency {
    core: Histogram,
    /// The shortest, in picoseconds.
    #[pyo3(get)]
    min_ps: u64,
    /// The longest, in picoseconds.
    #[pyo3(get)]
    max_ps: u64,
    /// The mean, rounded down to a picosecond.
    #[pyo3(get)]
    mean_ps: u64,
}

impl Latency {
    /// None where no message was counted.
    pub fn new(core: Histogram) -> Option<Self> {
        let (least, most, mean) = (core.least()?, core.most()?, core.mean()?);
        Some(Self {
            core,
            min_ps: least.picoseconds(),
            max_ps: most.picoseconds(),
            mean_ps: mean.picoseconds(),
        })
    }
}

fn beyond(percent: impl Display) -> PyErr {
    ARGUMENT.raise("percent", format!("percent must be from 0 to 100, got {percent}"))
}

#[pymethods]
impl Latency {
    /// How many messages were counted.
    #[getter]
    fn messages(&self) -> u64 {
        self.core.count()
    }

    /// The least time, in picoseconds, that so many messages in a hundred don't pass.
    ///
    /// Never too low, and too high by less than 1/128 (0.8 %); exact below 128 ps and at 100.
    ///
    /// Args:
    ///     percent: A number from 0 to 100, taken to four places after the point: 50 is the median, 99.9 what one
    ///         message in a thousand passes.
    ///
    /// Raises:
    ///     ArgumentError: Any other number.
    fn percentile(&self, percent: &Bound<'_, PyAny>) -> PyResult<u64> {
        let found = if let Ok(number) = percent.cast::<PyFloat>() {
            let number = number.value();
            if !(0.0..=100.0).contains(&number) {
                return Err(beyond(number));
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to a million
            let parts = (number * 10_000.0).round() as u64;
            self.core.per_million(parts)
        } else {
            let number = ARGUMENT.number("percent", percent)?;
            if number > 100 {
                return Err(beyond(number));
            }
            self.core.percentile(number)
        };
        let found = found.expect("some message was counted");
        Ok(found.picoseconds())
    }

    fn __repr__(&self) -> String {
        let time = |picoseconds| brief(Time::from_picoseconds(picoseconds));
        format!(
            "<Latency of {} messages: {} to {}, mean {}>",
            self.core.count(),
            time(self.min_ps),
            time(self.max_ps),
            time(self.mean_ps)
        )
    }
}
