//! What limits a message besides links and memories.

use super::paths::PARTS;
use super::service::{rate_of, window_rate};
use crate::error::SimulationError;
use crate::topology::Topology;
use crate::units::{Bandwidth, Bytes, PICOSECONDS_PER_SECOND, Time};

/// What limits a message besides the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOptions {
    cap: Option<Bandwidth>,
    window: Option<Bytes>,
    by_round_trip: bool,
}

impl FlowOptions {
    /// What the topology's endpoint asks for: its window, or a full packet where that is larger.
    pub fn of(topology: &Topology) -> Self {
        let format = topology.packet_format();
        let packet = Bytes::new(format.payload().get() + format.header().get());
        Self {
            cap: None,
            window: topology.endpoint().window().map(|window| window.max(packet)),
            by_round_trip: false,
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

    /// With shares in inverse proportion to the latencies of routes, as `SimGrid` has them (Velho and Legrand, "Accuracy
    /// study and improvement of network simulation in the `SimGrid` framework", 2009) since windows of TCP do so.
    ///
    /// Messages over a link then have rates as 1 over the latency of their routes, where nothing else holds them back.
    /// Weights are whole parts of 1/720,720: exact for routes of up to 16 links of one latency, to 10⁻⁵ for those up to 10
    /// times as long as the quickest link.
    #[must_use]
    pub const fn with_round_trip_weights(self) -> Self {
        Self {
            by_round_trip: true,
            ..self
        }
    }

    /// The weight of a message over a route of `latency`, where the quickest link that takes time takes `quickest`.
    pub(super) fn priority(self, latency: Time, quickest: Time) -> u32 {
        if !self.by_round_trip || latency <= quickest {
            return if self.by_round_trip { PARTS } else { 1 };
        }
        let (latency, quickest) = (u128::from(latency.picoseconds()), u128::from(quickest.picoseconds()));
        let parts = (u128::from(PARTS) * quickest + latency / 2) / latency;
        u32::try_from(parts.max(1)).expect("at most the whole")
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

/// The least latency of a link that takes time; zero where none does.
pub(super) fn quickest_latency(topology: &Topology) -> Time {
    let timed = topology.latencies().iter().filter(|&&latency| latency > Time::ZERO);
    timed.min().copied().unwrap_or_default()
}

/// What no route's latency passes, in picoseconds: a route passes no node twice.
pub(super) fn longest_latency(topology: &Topology) -> u64 {
    let latencies = topology.latencies().iter().map(|latency| latency.picoseconds());
    let longest = latencies.max().unwrap_or(0);
    longest.saturating_mul(u64::try_from(topology.nodes()).unwrap_or(u64::MAX))
}
