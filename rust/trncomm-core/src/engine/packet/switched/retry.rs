//! Links that get bits wrong, and send packets again.
//!
//! A packet of b bits comes through with probability (1 − e)^b, where e is the link's bit error rate. A packet that
//! doesn't is sent again after its end has reached the other side and the news of it has come back: one serialisation
//! and two latencies later. The link sends nothing else meanwhile, so packets stay in order. Whether an attempt
//! succeeds is drawn from the number of the link and that of the attempt, so that runs repeat.

use crate::error::SimulationError;
use crate::random::split_mix;
use crate::topology::Topology;
use crate::units::{Bytes, Time};

/// The most probable failure of a full packet that is simulated: beyond it a link hardly passes anything.
const MOST: f64 = 0.99;

/// The links that err.
#[derive(Debug)]
pub(super) struct Retries {
    /// By link: the logarithm of the probability that a bit comes through, and how many attempts were made. Empty where
    /// no link errs.
    links: Vec<(f64, u64)>,
}

impl Retries {
    /// An error where a link gets nearly every full packet, of `whole` bytes, wrong.
    pub(super) fn new(topology: &Topology, whole: Bytes) -> Result<Self, SimulationError> {
        let ids = || (0..topology.links()).map(crate::ids::LinkId::new);
        if ids().all(|link| topology.bit_error_rate(link) <= 0.0) {
            return Ok(Self { links: Vec::new() });
        }
        let links: Vec<(f64, u64)> = ids()
            .map(|link| ((-topology.bit_error_rate(link)).ln_1p(), 0))
            .collect();
        for (link, &(log, _)) in links.iter().enumerate() {
            if failure(log, whole.get()) > MOST {
                return Err(SimulationError::Option {
                    option: "bit error rate",
                    expected: format!("one at which a packet of {whole} fails at most {MOST} of the time"),
                    value: format!(
                        "{} on link {link}",
                        topology.bit_error_rate(crate::ids::LinkId::new(link))
                    ),
                });
            }
        }
        Ok(Self { links })
    }

    /// How long the attempts that fail take before one succeeds.
    pub(super) fn delay(&mut self, resource: usize, span: Time, latency: Time, bytes: u64) -> Time {
        let Some((log, attempts)) = self.links.get_mut(resource) else {
            return Time::ZERO;
        };
        let failure = failure(*log, bytes);
        let mut delay = Time::ZERO;
        loop {
            *attempts += 1;
            if uniform(resource as u64, *attempts) >= failure {
                return delay;
            }
            delay += span + latency + latency;
        }
    }
}

/// The probability that a packet of so many bytes comes out wrong.
#[allow(clippy::cast_precision_loss)] // packets are far below 2^52 bytes
fn failure(log: f64, bytes: u64) -> f64 {
    -(log * 8.0 * bytes as f64).exp_m1()
}

/// A number from 0 to below 1 for an attempt of a link.
#[allow(clippy::cast_precision_loss)] // 53 bits
fn uniform(link: u64, attempt: u64) -> f64 {
    (split_mix(split_mix(link) ^ attempt) >> 11) as f64 / (1u64 << 53) as f64
}
