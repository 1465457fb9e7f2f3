//! Quantities for people, to three decimals.

use trncomm_core::units::Time;

/// A time for people, to three decimals of its unit.
#[allow(clippy::cast_precision_loss)]
pub fn brief(time: Time) -> String {
    let picoseconds = time.picoseconds() as f64;
    match time.picoseconds() {
        0 => "0 s".to_owned(),
        1..1_000_000 => format!("{:.3} ns", picoseconds / 1e3),
        1_000_000..1_000_000_000 => format!("{:.3} µs", picoseconds / 1e6),
        1_000_000_000..1_000_000_000_000 => format!("{:.3} ms", picoseconds / 1e9),
        _ => format!("{:.3} s", picoseconds / 1e12),
    }
}

/// A rate for people, in decimal units.
pub fn rate(bytes_per_second: f64) -> String {
    let (scale, unit) = match bytes_per_second {
        rate if rate < 1e6 => (1e3, "kB/s"),
        rate if rate < 1e9 => (1e6, "MB/s"),
        rate if rate < 1e12 => (1e9, "GB/s"),
        _ => (1e12, "TB/s"),
    };
    format!("{:.3} {unit}", bytes_per_second / scale)
}
