//! Links that get bits wrong, and send packets again.
//!
//! A packet of b bits comes through with probability (1 − e)^b, where e is the link's bit error rate. A packet that
//! doesn't is sent again after its end has reached the other side and the news of it has come back: one serialisation
//! and two latencies later. The link sends nothing else meanwhile, so packets stay in order. Whether an attempt
//! succeeds is drawn from the number of the link and that of the attempt, so that runs repeat. The attempt that could
//! only be the last of so many failures with a probability below 2⁻⁶⁴ succeeds, so that times have a limit.

use crate::error::SimulationError;
use crate::ids::LinkId;
use crate::random::split_mix;
use crate::topology::Topology;
use crate::units::{Bytes, Time};

/// The most probable failure of a full packet that is simulated: beyond it a link hardly passes anything.
const MOST: f64 = 0.99;

/// The links that err.
#[derive(Debug)]
pub(super) struct Retries {
    /// Empty where no link errs.
    links: Vec<Erring>,
}

#[derive(Clone, Copy, Debug)]
struct Erring {
    /// The logarithm of the probability that a bit comes through.
    log: f64,
    /// How many attempts were made.
    attempts: u64,
    /// The most for one packet.
    most: u64,
}

impl Retries {
    /// An error where a link gets nearly every full packet, of `whole` bytes, wrong.
    pub(super) fn new(topology: &Topology, whole: Bytes) -> Result<Self, SimulationError> {
        let ids = || (0..topology.links()).map(LinkId::new);
        if ids().all(|link| topology.bit_error_rate(link) <= 0.0) {
            return Ok(Self { links: Vec::new() });
        }
        let erring = |link: LinkId| {
            let rate = topology.bit_error_rate(link);
            let log = (-rate).ln_1p();
            let failure = failure(log, whole.get());
            if failure > MOST {
                return Err(SimulationError::Option {
                    option: "bit error rate",
                    expected: format!("one at which a packet of {whole} fails at most {MOST} of the time"),
                    value: format!("{rate} on link {link}"),
                });
            }
            Ok(Erring {
                log,
                attempts: 0,
                most: most_attempts(failure),
            })
        };
        Ok(Self {
            links: ids().map(erring).collect::<Result<_, _>>()?,
        })
    }

    /// The most attempts that a packet can need on a resource.
    pub(super) fn most_attempts(&self, resource: usize) -> u64 {
        self.links.get(resource).map_or(1, |erring| erring.most)
    }

    /// How long the attempts that fail take before one succeeds.
    pub(super) fn delay(&mut self, resource: usize, span: Time, latency: Time, bytes: u64) -> Time {
        let Some(erring) = self.links.get_mut(resource) else {
            return Time::ZERO;
        };
        let failure = failure(erring.log, bytes);
        let mut delay = Time::ZERO;
        for _ in 1..erring.most {
            erring.attempts += 1;
            if uniform(resource as u64, erring.attempts) >= failure {
                break;
            }
            delay += span + latency + latency;
        }
        delay
    }
}

/// The least number of attempts that all fail with a probability below 2⁻⁶⁴, and one more.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few thousand, as `MOST` is below 1
fn most_attempts(failure: f64) -> u64 {
    if failure <= 0.0 {
        return 1;
    }
    2 + (-64.0 / failure.log2()) as u64
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
