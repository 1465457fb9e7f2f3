//! Quantities from text: `"64MiB"`, `"1.2TB/s"`, `"500ns"`.
//!
//! Decimals are exact: a text is read as an integer over a power of ten, never as a float, and one that doesn't come to
//! a whole number of base units is an error.

use super::{Bandwidth, Bytes, PICOSECONDS_PER_SECOND, Time};
use crate::error::UnitError;

const SIZES: &str = "a number with an optional suffix B, K, M, G or T (also KB or KiB; all count in 1024s), such as \
                     \"8\", \"64KiB\" or \"1.5G\"";
const BANDWIDTHS: &str = "a number with B/s, kB/s, MB/s, GB/s or TB/s (1000s), KiB/s, MiB/s, GiB/s or TiB/s (1024s), or \
                          bps, kbps, Mbps, Gbps or Tbps (also Gb/s; bits), such as \"256GB/s\" or \"400Gbps\"";
const DURATIONS: &str = "a number with ps, ns, us, µs, ms or s, such as \"500ns\" or \"1.5us\"";

/// Reads a size: `8`, `8B`, `8k`, `8KB`, `8KiB`, and so on to `T`, in any case.
///
/// Every suffix counts in 1024s, as in nccl-tests and nccom-test. Decimals are read where they come to whole bytes;
/// spaces may stand around number and suffix, and `_` between digits.
pub fn parse_size(text: &str) -> Result<Bytes, UnitError> {
    let quantity = Quantity {
        text,
        name: "size",
        unit: "bytes",
        expected: SIZES,
    };
    let (number, suffix) = quantity.split()?;
    let suffix = suffix.to_ascii_lowercase();
    let power = match suffix
        .strip_suffix("ib")
        .or(suffix.strip_suffix('b'))
        .unwrap_or(&suffix)
    {
        // "ib" names no multiple.
        "" if suffix != "ib" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(quantity.unreadable()),
    };
    quantity.scale(number, 1 << (10 * power), 1).map(Bytes::new)
}

/// Reads a rate of one direction: `GB/s` is 10⁹ bytes/s, `GiB/s` 2³⁰ bytes/s, `Gbps` and `Gb/s` 10⁹ bits/s.
///
/// Also with k, M and T in place of G, or without. A number without a unit is an error, as it has meant each of these;
/// so is zero, and a rate that doesn't come to whole bytes a second.
pub fn parse_bandwidth(text: &str) -> Result<Bandwidth, UnitError> {
    let quantity = Quantity {
        text,
        name: "bandwidth",
        unit: "bytes/s",
        expected: BANDWIDTHS,
    };
    let (number, suffix) = quantity.split()?;
    let (multiple, base, bits): (&str, u64, u64) = if let Some(multiple) = suffix.strip_suffix("iB/s") {
        (multiple, 1024, 1)
    } else if let Some(multiple) = suffix.strip_suffix("B/s") {
        (multiple, 1000, 1)
    } else if let Some(multiple) = suffix.strip_suffix("bps").or(suffix.strip_suffix("b/s")) {
        (multiple, 1000, 8)
    } else {
        return Err(quantity.unreadable());
    };
    let power = match multiple {
        "" if base == 1000 => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err(quantity.unreadable()),
    };
    Bandwidth::new(quantity.scale(number, base.pow(power), bits)?)
}

/// Reads a duration: `ps`, `ns`, `us` or `µs`, `ms`, `s`.
///
/// A number without a unit is an error, and so is one that doesn't come to whole picoseconds.
pub fn parse_time(text: &str) -> Result<Time, UnitError> {
    let quantity = Quantity {
        text,
        name: "duration",
        unit: "picoseconds",
        expected: DURATIONS,
    };
    let (number, suffix) = quantity.split()?;
    let picoseconds = match suffix {
        "ps" => 1,
        "ns" => 1_000,
        // The micro sign and the Greek letter look the same.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000_000,
        "ms" => 1_000_000_000,
        "s" => PICOSECONDS_PER_SECOND,
        _ => return Err(quantity.unreadable()),
    };
    quantity.scale(number, picoseconds, 1).map(Time::from_picoseconds)
}

/// A text on its way to a number of base units.
#[derive(Clone, Copy)]
struct Quantity<'a> {
    text: &'a str,
    name: &'static str,
    /// The base unit, in the plural.
    unit: &'static str,
    expected: &'static str,
}

/// `digits` / 10^`places`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    places: u32,
}

impl<'a> Quantity<'a> {
    /// The number and the suffix behind it.
    fn split(self) -> Result<(Decimal, &'a str), UnitError> {
        let text = self.text.trim();
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        Ok((self.decimal(number)?, suffix.trim_start()))
    }

    fn decimal(self, number: &str) -> Result<Decimal, UnitError> {
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (number, None),
        };
        let well_formed = |part: &str| {
            part.split('_')
                .all(|run| !run.is_empty() && run.bytes().all(|b| b.is_ascii_digit()))
        };
        if !well_formed(whole) || !fraction.is_none_or(well_formed) {
            return Err(self.unreadable());
        }
        // Zeros at the end of a fraction say nothing, and would pass the range of 10^places.
        let fraction = fraction.unwrap_or_default().trim_end_matches(['0', '_']);
        let mut decimal = Decimal { digits: 0, places: 0 };
        for digit in whole.bytes().filter(u8::is_ascii_digit) {
            decimal.digits = self.append(decimal.digits, digit)?;
        }
        for digit in fraction.bytes().filter(u8::is_ascii_digit) {
            decimal.digits = self.append(decimal.digits, digit)?;
            decimal.places += 1;
        }
        Ok(decimal)
    }

    fn append(self, digits: u128, digit: u8) -> Result<u128, UnitError> {
        digits
            .checked_mul(10)
            .and_then(|digits| digits.checked_add(u128::from(digit - b'0')))
            .ok_or_else(|| self.out_of_range())
    }

    /// `number` · `multiplier` / `divisor`, where that is whole and below 2⁶⁴.
    fn scale(self, number: Decimal, multiplier: u64, divisor: u64) -> Result<u64, UnitError> {
        let numerator = number.digits.checked_mul(u128::from(multiplier));
        let denominator = 10_u128
            .checked_pow(number.places)
            .and_then(|power| power.checked_mul(u128::from(divisor)));
        let (Some(numerator), Some(denominator)) = (numerator, denominator) else {
            return Err(self.out_of_range());
        };
        if !numerator.is_multiple_of(denominator) {
            return Err(UnitError::Fractional {
                text: self.text.to_owned(),
                unit: self.unit,
            });
        }
        u64::try_from(numerator / denominator).map_err(|_| self.out_of_range())
    }

    fn unreadable(self) -> UnitError {
        UnitError::Unreadable {
            text: self.text.to_owned(),
            quantity: self.name,
            expected: self.expected,
        }
    }

    fn out_of_range(self) -> UnitError {
        UnitError::OutOfRange {
            text: self.text.to_owned(),
            unit: self.unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_bandwidth, parse_size, parse_time};
    use crate::units::{Bandwidth, Bytes, Time};

    #[test]
    fn every_spelling_of_a_size_counts_in_1024s() {
        for (text, bytes) in [
            ("0", 0),
            ("8", 8),
            ("8B", 8),
            ("8k", 8 << 10),
            ("8K", 8 << 10),
            ("8KB", 8 << 10),
            ("8kb", 8 << 10),
            ("8KiB", 8 << 10),
            ("8M", 8 << 20),
            ("8MiB", 8 << 20),
            ("1gb", 1 << 30),
            ("2T", 2 << 40),
            ("1.5G", 3 << 29),
            ("0.5k", 512),
            (" 64 MiB ", 64 << 20),
            ("1_000_000", 1_000_000),
            ("1.0000000000000000000000000000000000000000000000B", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(Bytes::new(bytes)), "{text}");
        }
    }

    #[test]
    fn rates_tell_bits_from_bytes_and_1000_from_1024() {
        for (text, rate) in [
            ("400Gbps", 50_000_000_000),
            ("400 Gb/s", 50_000_000_000),
            ("8bps", 1),
            ("1kbps", 125),
            ("256GB/s", 256_000_000_000),
            ("1.2TB/s", 1_200_000_000_000),
            ("7 B/s", 7),
            ("3kB/s", 3_000),
            ("3 KB/s", 3_000),
            ("2MB/s", 2_000_000),
            ("1KiB/s", 1 << 10),
            ("2GiB/s", 2 << 30),
            ("0.1GB/s", 100_000_000),
        ] {
            assert_eq!(parse_bandwidth(text), Bandwidth::new(rate), "{text}");
        }
    }

    #[test]
    fn durations_read_in_every_unit() {
        for (text, picoseconds) in [
            ("7ps", 7),
            ("500ns", 500_000),
            ("1.5us", 1_500_000),
            ("1.5 \u{b5}s", 1_500_000),
            ("1.5\u{3bc}s", 1_500_000),
            ("2ms", 2_000_000_000),
            ("3s", 3_000_000_000_000),
            ("0.000000000001s", 1),
            ("1.10000000000000000000000000000000000000000000ns", 1_100),
        ] {
            assert_eq!(parse_time(text), Ok(Time::from_picoseconds(picoseconds)), "{text}");
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        for value in [
            1,
            999,
            1_000,
            1_550,
            1_550_000,
            123_456_789,
            250_000_000_000,
            1_200_000_000_000,
        ] {
            let time = Time::from_picoseconds(value);
            assert_eq!(parse_time(&time.to_string()), Ok(time));
            let rate = Bandwidth::new(value).expect("not zero");
            assert_eq!(parse_bandwidth(&rate.to_string()), Ok(rate));
        }
        for value in [0, 1, 1_023, 1 << 10, 3 << 20, 5 << 30, 7 << 40, u64::MAX] {
            let size = Bytes::new(value);
            assert_eq!(parse_size(&size.to_string()), Ok(size));
        }
    }

    #[test]
    fn texts_that_are_no_quantity_are_refused_by_name() {
        let malformed = [
            "",
            " ",
            ".",
            "1.",
            ".5",
            "1..5",
            "1.2.3",
            "_1",
            "1_",
            "1__0",
            "1 0",
            "1._5",
            "-5",
            "+5",
            "nan",
            "inf",
            "NaN",
            "-inf",
            "1e3",
            "0x10",
            "8Q",
            "8iB",
            "8 M B",
            "\u{661}",
            "5 furlongs",
        ];
        for text in malformed {
            for with_unit in [text.to_owned(), format!("{text}zz")] {
                for error in [
                    parse_size(&with_unit).expect_err("malformed").to_string(),
                    parse_bandwidth(&format!("{with_unit}GB/s"))
                        .expect_err("malformed")
                        .to_string(),
                    parse_time(&format!("{with_unit}ns"))
                        .expect_err("malformed")
                        .to_string(),
                ] {
                    assert!(
                        error.starts_with("can't read \"") && error.contains("; expected a number"),
                        "{error}"
                    );
                }
            }
        }
        assert!(
            parse_time("-5ns")
                .expect_err("negative")
                .to_string()
                .contains("\"-5ns\" as a duration")
        );
    }

    #[test]
    fn numbers_without_a_unit_are_neither_rates_nor_durations() {
        assert!(parse_bandwidth("50").is_err());
        assert!(parse_time("50").is_err());
        // Lower-case g and b leave open what was meant.
        assert!(parse_bandwidth("50gb/s").is_err());
        assert!(parse_bandwidth("50iB/s").is_err());
        assert!(parse_bandwidth("50Gibps").is_err());
    }

    #[test]
    fn fractions_of_a_base_unit_are_refused() {
        assert_eq!(
            parse_size("1.5B").expect_err("half a byte").to_string(),
            "\"1.5B\" doesn't come to a whole number of bytes"
        );
        assert_eq!(
            parse_bandwidth("1bps").expect_err("an eighth of a byte").to_string(),
            "\"1bps\" doesn't come to a whole number of bytes/s"
        );
        assert_eq!(
            parse_time("0.5ps").expect_err("half a picosecond").to_string(),
            "\"0.5ps\" doesn't come to a whole number of picoseconds"
        );
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        for text in ["18446744073709551616", "16777216T", &"9".repeat(39), &"9".repeat(1000)] {
            assert!(
                parse_size(text).expect_err("too large").to_string().contains("2^64"),
                "{text}"
            );
        }
        assert!(parse_time("18446745s").is_err());
        assert!(parse_bandwidth(&format!("0.{}1TB/s", "0".repeat(60))).is_err());
    }

    #[test]
    fn no_rate_is_zero() {
        assert_eq!(
            parse_bandwidth("0 GB/s").expect_err("zero").to_string(),
            "bandwidth must be above 0 bytes/s, got 0"
        );
    }
}
