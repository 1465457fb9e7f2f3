//! Counters of bytes served, and the rounding of what is left into picoseconds.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
// This module is where rates (doubles) and times (integers) meet; each cast says below why it holds.

use crate::units::{PICOSECONDS_PER_SECOND, Time};

/// Relative differences below this are rounding: 2⁻⁴⁰.
///
/// Rates come from a few subtractions per round of filling, each good to 2⁻⁵³ of the link's rate.
pub(super) const TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

const PER_PICOSECOND: f64 = 1.0 / PICOSECONDS_PER_SECOND as f64;

/// A number of bytes that grows for long: whole bytes, and a fraction in [0, 1).
///
/// A double alone would lose the small amounts as the sum grows. Here each addition errs by 2⁻⁵³ of what is added, so
/// that what a message is served errs by that much of its own size, however often its rate changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Served {
    whole: u64,
    fraction: f64,
}

impl Served {
    /// This and what `rate` bytes a second bring in `span`.
    pub(super) fn after(self, rate: f64, span: Time) -> Self {
        // Spans between changes stay below 2^53 ps (2.5 hours) in all but absurd runs, and then err by 2⁻⁵³.
        let sum = rate * (span.picoseconds() as f64 * PER_PICOSECOND) + self.fraction;
        // Not below 0 and far below 2^63, so that cutting it off is the floor, and cheaper.
        let whole = sum as i64;
        Self {
            whole: self.whole + whole.cast_unsigned(),
            fraction: sum - whole as f64,
        }
    }

    /// The whole bytes, and the fraction as its bits.
    pub(super) fn words(self) -> [u64; 2] {
        [self.whole, self.fraction.to_bits()]
    }

    /// What is left of `bytes`; negative when that is past it.
    pub(super) fn left(self, bytes: u64) -> f64 {
        bytes.wrapping_sub(self.whole).cast_signed() as f64 - self.fraction
    }

    /// What is left of `bytes`, where it is known to the byte.
    pub(super) fn whole_left(self, bytes: u64) -> Option<u64> {
        (self.fraction == 0.0).then(|| bytes.saturating_sub(self.whole))
    }
}

/// The rate of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    /// In bytes a second.
    pub(super) value: f64,
    /// As a link's whole rate and the weight of the messages that share it, where it is just that.
    pub(super) share: Option<(u64, u64)>,
    /// The picoseconds that a byte takes.
    per_byte: f64,
}

impl Rate {
    pub(super) fn new(value: f64, share: Option<(u64, u64)>) -> Self {
        Self {
            value,
            share,
            per_byte: PICOSECONDS_PER_SECOND as f64 / value,
        }
    }

    /// The rate of a message that has so many shares.
    pub(super) fn times(self, shares: u32) -> Self {
        if shares == 1 {
            self
        } else {
            Self::new(self.value * f64::from(shares), None)
        }
    }
}

/// How long `left` of a message of `bytes` takes at `rate`, at least 1 ps: rounded up, so that it doesn't end early
/// by more than the rounding of its rate, 2⁻⁴⁰ of the time that the whole message would take.
pub(super) fn drain_time(left: f64, bytes: u64, rate: Rate) -> Time {
    // Below 2^63: the run's traffic was checked to drain in 2^62 ps on the slowest link.
    let picoseconds = (left - bytes as f64 * TOLERANCE) * rate.per_byte;
    let whole = picoseconds as i64;
    let rounded_up = whole + i64::from(picoseconds > whole as f64);
    Time::from_picoseconds(rounded_up.max(1).cast_unsigned())
}

/// How long `bytes` take at the part of `bandwidth` that is `whole` of `weight`: exact, rounded up to a picosecond.
pub(super) fn shared_time(bytes: u64, bandwidth: u64, weight: u64, whole: u32) -> Option<Time> {
    let work = u128::from(bytes)
        .checked_mul(u128::from(weight))?
        .checked_mul(u128::from(PICOSECONDS_PER_SECOND))?;
    let picoseconds = work.div_ceil(u128::from(bandwidth) * u128::from(whole));
    u64::try_from(picoseconds).ok().map(Time::from_picoseconds)
}

/// A rate, or a sum of weights, as a double: exact below 2⁵³.
pub(super) fn rate_of(whole: u64) -> f64 {
    whole as f64
}

/// The rate of `window` bytes for every round trip.
pub(super) fn window_rate(window: u64, round_trip: Time) -> f64 {
    window as f64 / (round_trip.picoseconds() as f64 * PER_PICOSECOND)
}
