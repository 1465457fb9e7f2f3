//! How long a message can take at most, so that a run that could pass the end of time is refused before it begins.

use super::retry::Retries;
use super::{Output, Switched};
use crate::units::Time;

/// A time that no run comes to.
const NEVER: Time = Time::from_picoseconds(u64::MAX);

/// What a packet can come to on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worst {
    full: Time,
    latency: Time,
    attempts: u64,
}

impl Worst {
    /// That of these links, which are all.
    pub(super) fn of(links: &[Output], retries: &Retries) -> Self {
        Self {
            full: links.iter().map(|link| link.full).max().unwrap_or_default(),
            latency: links.iter().map(|link| link.latency).max().unwrap_or_default(),
            attempts: (0..links.len())
                .map(|link| retries.most_attempts(link))
                .max()
                .unwrap_or(1),
        }
    }
}

impl Switched<'_> {
    /// The most that a message of so many packets, which occupy a resource for `busy` in all, adds to a run by it.
    pub(super) fn most_delay(&self, resource: usize, packets: u64, busy: Time) -> Time {
        let output = &self.outputs[resource];
        let (busy, latency, attempts) = if self.steering.is_fixed() || self.resources.link(resource).is_none() {
            (busy, output.latency, self.retries.most_attempts(resource))
        } else {
            // Which links it takes is not known yet.
            let worst = self.worst;
            let full = worst.full.checked_mul(packets).unwrap_or(NEVER);
            (full, worst.latency, worst.attempts)
        };
        // Where links wait for credits or acknowledgements, nothing else may run while each packet's is on its way.
        let trips = match u128::from(self.limited) + u128::from(self.window.is_some()) {
            0 => 1,
            waits => (1 + waits) * u128::from(packets),
        };
        let (busy, latency) = (u128::from(busy.picoseconds()), u128::from(latency.picoseconds()));
        let failed = busy.saturating_add(latency.saturating_mul(2 * u128::from(packets)));
        let delay = latency
            .saturating_mul(trips)
            .saturating_add(busy)
            .saturating_add(failed.saturating_mul(u128::from(attempts - 1)));
        u64::try_from(delay).map_or(NEVER, Time::from_picoseconds)
    }
}
