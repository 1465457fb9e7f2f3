//! The flow model: textbook cases by hand, random cases against the plain solver, published cases, and its speed.

mod speed;

use trncomm_core::topology::LinkSpec;
use trncomm_core::units::{Bandwidth, Time};

/// A link of `gigabytes` · 10⁹ bytes/s and `nanoseconds`.
fn link(gigabytes: u64, nanoseconds: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(gigabytes * 1_000_000_000).expect("above zero"),
        latency: Time::from_picoseconds(nanoseconds * 1000),
    }
}
