//! What limits a message besides links and memories.

use super::service::{rate_of, window_rate};
use crate::error::SimulationError;
use crate::topology::Topology;
use crate::units::{Bandwidth, Bytes, PICOSECONDS_PER_SECOND, Time};

/// What limits a message besides the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOptions {
    cap: Option<Bandwidth>,
    window: Option<Bytes>,
}

impl FlowOptions {
    /// What the topology's endpoint asks for: its window, or a full packet where that is larger.
    pub fn of(topology: &Topology) -> Self {
        let format = topology.packet_format();
        let packet = Bytes::new(format.payload().get() + format.header().get());
        Self {
            cap: None,
            window: topology.endpoint().window().map(|window| window.max(packet)),
        }
    }

    /// With a highest rate of each message.
    #[must_use]
    pub const fn with_cap(self, cap: Bandwidth) -> Self {
        Self { cap: Some(cap), ..self }
    }

    /// With at most `window` bytes of each message under way: a highest rate of `window` over the round trip, twice the
    /// latency of the route, and not below 1 byte a second. An error where the window is zero.
    pub fn with_window(self, window: Bytes) -> Result<Self, SimulationError> {
        if window == Bytes::ZERO {
            return Err(SimulationError::Option {
                option: "window",
                expected: "above 0 bytes".to_owned(),
                value: window.to_string(),
            });
        }
        Ok(Self {
            window: Some(window),
            ..self
        })
    }

    /// The highest rate of a message over a route of `latency`, in bytes a second.
    pub(super) fn cap_over(self, latency: Time) -> f64 {
        let fixed = self.cap.map(|cap| rate_of(cap.bytes_per_second()));
        let window = self.window.filter(|_| latency > Time::ZERO);
        let by_window = window.map(|window| window_rate(window.get(), latency + latency).max(1.0));
        fixed.unwrap_or(f64::INFINITY).min(by_window.unwrap_or(f64::INFINITY))
    }

    /// A rate that any message over `topology` has when it is alone, memories apart, in bytes a second.
    pub(super) fn least_rate(self, topology: &Topology) -> u64 {
        let rates = topology.bandwidths().iter().chain(&self.cap);
        let slowest = rates.map(|rate| rate.bytes_per_second()).min().unwrap_or(u64::MAX);
        let Some(window) = self.window else { return slowest };
        let round_trip = 2 * u128::from(longest_latency(topology));
        let per_trip = u128::from(window.get()) * u128::from(PICOSECONDS_PER_SECOND);
        let by_window = per_trip.checked_div(round_trip).unwrap_or(u128::MAX);
        slowest.min(u64::try_from(by_window).unwrap_or(u64::MAX).max(1))
    }
}

/// What no route's latency passes, in picoseconds: a route passes no node twice.
pub(super) fn longest_latency(topology: &Topology) -> u64 {
    let latencies = topology.latencies().iter().map(|latency| latency.picoseconds());
    let longest = latencies.max().unwrap_or(0);
    longest.saturating_mul(u64::try_from(topology.nodes()).unwrap_or(u64::MAX))
}
