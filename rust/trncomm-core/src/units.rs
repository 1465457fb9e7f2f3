//! Quantities: time in integer picoseconds, sizes in bytes, rates in bytes a second.
//!
//! Arithmetic that mixes units lives here and nowhere else. Overflow is an error where a user can cause it
//! (`checked_*`, constructors) and a panic where it would mean a broken invariant.

mod parse;

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub};

pub use parse::{parse_bandwidth, parse_size, parse_time};

use crate::error::UnitError;

/// Picoseconds in a second.
pub const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point in simulated time, or a span of it, in integer picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of a simulation.
    pub const ZERO: Self = Self(0);

    /// A time of `picoseconds`.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// The time in picoseconds.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// The time in seconds, rounded to the nearest double.
    #[allow(clippy::cast_precision_loss)] // for display and rates only, never for an event
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// The sum, or nothing where it passes 2⁶⁴ − 1 ps.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// This span `count` times, or nothing where it passes 2⁶⁴ − 1 ps.
    pub fn checked_mul(self, count: u64) -> Option<Self> {
        self.0.checked_mul(count).map(Self)
    }

    /// This span less `other`, zero where `other` is longer.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Time {
    type Output = Self;

    // INVARIANT: the engine's `Budget` refuses delays that could come to 2^64 ps together, so this doesn't overflow.
    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("simulated time stays below 2^64 ps"))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a later time less an earlier one"))
    }
}

/// Prints with the largest unit that leaves a number of at least one: `1.55 µs`.
impl fmt::Display for Time {
    #[allow(clippy::cast_precision_loss)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let picoseconds = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => (picoseconds, "ps"),
            1_000..1_000_000 => (picoseconds / 1e3, "ns"),
            1_000_000..1_000_000_000 => (picoseconds / 1e6, "µs"),
            1_000_000_000..PICOSECONDS_PER_SECOND => (picoseconds / 1e9, "ms"),
            _ => (picoseconds / 1e12, "s"),
        };
        write!(f, "{value} {unit}")
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// A size of `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Bytes {
    /// The sum, 2⁶⁴ − 1 if it is more.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("sizes stay below 2^64 bytes"))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Prints with IEC units where they divide the size: `8 MiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 != 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        write!(f, "{} B", self.0)
    }
}

/// A rate in bytes a second, of one direction. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(NonZeroU64);

impl Bandwidth {
    /// A rate of `bytes_per_second`; zero is an error.
    pub fn new(bytes_per_second: u64) -> Result<Self, UnitError> {
        NonZeroU64::new(bytes_per_second)
            .map(Self)
            .ok_or(UnitError::ZeroBandwidth)
    }

    /// The rate in bytes a second.
    pub const fn bytes_per_second(self) -> u64 {
        self.0.get()
    }

    /// `numerator` / `denominator` of this rate, rounded down; an error where that is below 1 byte/s.
    ///
    /// # Panics
    /// If `numerator` passes `denominator`.
    pub fn fraction(self, numerator: u32, denominator: u32) -> Result<Self, UnitError> {
        assert!(numerator <= denominator, "a fraction of a rate is at most all of it");
        if numerator == 0 {
            return Err(UnitError::ZeroBandwidth);
        }
        let scaled = u128::from(self.0.get()) * u128::from(numerator) / u128::from(denominator);
        Self::new(u64::try_from(scaled).expect("it is at most the whole rate"))
    }

    /// How long `bytes` take at this rate: `ceil(bytes · 10¹² / rate)` picoseconds, computed in 128 bits.
    ///
    /// An error where the time passes 2⁶⁴ − 1 ps (213 days).
    pub fn checked_serialization(self, bytes: Bytes) -> Result<Time, UnitError> {
        // Most messages are small enough for 64 bits, where a division is several times faster.
        if let Some(scaled) = bytes.0.checked_mul(PICOSECONDS_PER_SECOND) {
            return Ok(Time(scaled.div_ceil(self.0.get())));
        }
        let scaled = u128::from(bytes.0) * u128::from(PICOSECONDS_PER_SECOND);
        let picoseconds = scaled.div_ceil(u128::from(self.0.get()));
        u64::try_from(picoseconds)
            .map(Time)
            .map_err(|_| UnitError::TimeOverflow { bytes, bandwidth: self })
    }

    /// As [`Self::checked_serialization`], for sizes that were checked before.
    pub fn serialization(self, bytes: Bytes) -> Time {
        self.checked_serialization(bytes)
            .expect("the largest message was checked before the run")
    }
}

/// Prints in decimal units, as rates are quoted: `256 GB/s`.
impl fmt::Display for Bandwidth {
    #[allow(clippy::cast_precision_loss)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0.get();
        let (scale, unit) = match rate {
            0..1_000 => (1.0, "B/s"),
            1_000..1_000_000 => (1e3, "kB/s"),
            1_000_000..1_000_000_000 => (1e6, "MB/s"),
            1_000_000_000..1_000_000_000_000 => (1e9, "GB/s"),
            _ => (1e12, "TB/s"),
        };
        write!(f, "{} {unit}", rate as f64 / scale)
    }
}
