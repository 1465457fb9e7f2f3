//! How long messages took, in bounded memory.

use crate::units::Time;

/// Each power of two is divided into so many parts.
const PARTS: u64 = 128;

/// A count of times by size: exact below 128 ps, within 1/128 above.
///
/// Least, greatest and sum are exact. A quantile is the upper end of the part that it falls into, but at most the
/// greatest: never too low, and too high by less than 1/128 (0.8 %).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    least: Option<Time>,
    most: Time,
}

impl Histogram {
    /// Counts a time.
    pub(super) fn add(&mut self, time: Time) {
        let part = part(time.picoseconds());
        if part >= self.counts.len() {
            self.counts.resize(part + 1, 0);
        }
        self.counts[part] += 1;
        self.count += 1;
        self.sum += u128::from(time.picoseconds());
        self.least = Some(self.least.map_or(time, |least| least.min(time)));
        self.most = self.most.max(time);
    }

    /// The same with every time counted so many times.
    pub(super) fn repeated(mut self, times: u64) -> Self {
        self.counts.iter_mut().for_each(|count| *count *= times);
        self.count *= times;
        self.sum *= u128::from(times);
        self
    }

    /// Counts all that was added since `before` so many more times.
    pub(super) fn grow(&mut self, before: &Self, times: u64) {
        for (part, count) in self.counts.iter_mut().enumerate() {
            let growth = *count - before.counts.get(part).copied().unwrap_or(0);
            *count += growth * times;
        }
        self.count += (self.count - before.count) * times;
        self.sum += (self.sum - before.sum) * u128::from(times);
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The least.
    pub fn least(&self) -> Option<Time> {
        self.least
    }

    /// The greatest.
    pub fn most(&self) -> Option<Time> {
        self.least.map(|_| self.most)
    }

    /// The mean, rounded down to a picosecond.
    pub fn mean(&self) -> Option<Time> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        Some(Time::from_picoseconds(
            u64::try_from(mean).expect("a mean of 64-bit times"),
        ))
    }

    /// The least time that at least `percent` in a hundred don't pass, rounded up by less than 1/128.
    pub fn percentile(&self, percent: u64) -> Option<Time> {
        self.per_million(percent.saturating_mul(10_000))
    }

    /// The least time that at least `parts` in a million don't pass, rounded up by less than 1/128.
    pub fn per_million(&self, parts: u64) -> Option<Time> {
        const MILLION: u64 = 1_000_000;
        let wanted = (u128::from(self.count) * u128::from(parts.min(MILLION)))
            .div_ceil(MILLION.into())
            .max(1);
        let mut seen = 0;
        let part = self.counts.iter().position(|&count| {
            seen += u128::from(count);
            seen >= wanted
        })?;
        Some(Time::from_picoseconds(upper_end(part)).min(self.most))
    }
}

/// The part that a time falls into.
fn part(picoseconds: u64) -> usize {
    let scale = picoseconds.max(1).ilog2().saturating_sub(PARTS.ilog2());
    usize::try_from(u64::from(scale) * PARTS + (picoseconds >> scale)).expect("below 2^14")
}

/// The greatest time of a part.
fn upper_end(part: usize) -> u64 {
    let part = part as u64;
    if part < 2 * PARTS {
        return part;
    }
    let scale = part / PARTS - 1;
    let first = (part - scale * PARTS) << scale;
    first + ((1 << scale) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_within_its_part() {
        for shift in 0..64 {
            for offset in [0u64, 1, 3, 77] {
                let time = (1u64 << shift).saturating_add(offset << shift.max(7) >> 7);
                let end = upper_end(part(time));
                assert!(end >= time, "{time} {end}");
                assert!(end - time <= time / 128, "{time} {end}");
            }
        }
    }

    #[test]
    fn percentiles_are_never_too_low_and_too_high_by_less_than_a_128th() {
        let mut histogram = Histogram::default();
        let times: Vec<u64> = (0..1000).map(|index: u64| index * index * 977 + 5).collect();
        for &time in &times {
            histogram.add(Time::from_picoseconds(time));
        }
        for percent in 1..=100u64 {
            let exact = times[usize::try_from(percent * 10).expect("small") - 1];
            let found = histogram.percentile(percent).expect("some").picoseconds();
            assert!(
                found >= exact && found - exact <= exact / 128,
                "{percent}: {found} {exact}"
            );
        }
        assert_eq!(histogram.most(), Some(Time::from_picoseconds(times[999])));
        assert_eq!(histogram.least(), Some(Time::from_picoseconds(5)));
    }

    #[test]
    fn parts_in_a_million_tell_the_slowest_of_a_thousand_from_the_rest() {
        let mut histogram = Histogram::default();
        for time in std::iter::repeat_n(1, 999).chain([100]) {
            histogram.add(Time::from_picoseconds(time));
        }
        let found = |parts| histogram.per_million(parts).map(Time::picoseconds);
        assert_eq!((found(999_000), found(999_001)), (Some(1), Some(100)));
        assert_eq!(found(990_000), histogram.percentile(99).map(Time::picoseconds));
    }

    #[test]
    fn an_empty_histogram_has_no_percentiles() {
        let histogram = Histogram::default();
        assert_eq!(
            (histogram.mean(), histogram.percentile(50), histogram.most()),
            (None, None, None)
        );
    }
}
