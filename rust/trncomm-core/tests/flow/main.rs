//! The flow model: textbook cases by hand, random cases against the plain solver, published cases, and its speed.

// Sizes and times of these cases are far below what a double or 32 bits hold; rates are compared as they are.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp
)]

mod plain;
mod published;
mod random;
mod speed;
mod textbook;

use trncomm_core::engine::{Advance, Due, Network};
use trncomm_core::ids::RankId;
use trncomm_core::topology::LinkSpec;
use trncomm_core::units::{Bandwidth, Bytes, Time};

/// A link of `gigabytes` · 10⁹ bytes/s and `nanoseconds`.
fn link(gigabytes: u64, nanoseconds: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(gigabytes * 1_000_000_000).expect("above zero"),
        latency: Time::from_picoseconds(nanoseconds * 1000),
    }
}

/// A message to post at a time in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Post {
    at: u64,
    source: u32,
    destination: u32,
    bytes: u64,
}

/// Posts all, runs to the end, and gives the delivery of each in picoseconds.
fn deliveries(network: &mut impl Network, posts: &[Post]) -> Vec<u64> {
    for (message, post) in (0..).zip(posts) {
        let at = Time::from_picoseconds(post.at);
        let (source, destination) = (RankId::from(post.source), RankId::from(post.destination));
        network
            .post(at, message, source, destination, Bytes::new(post.bytes))
            .expect("ranks of the topology");
    }
    let mut times = vec![None; posts.len()];
    let mut due = Vec::new();
    loop {
        match network.advance(&mut due) {
            Advance::Due(time) => {
                for event in due.drain(..) {
                    let Due::Delivered(message) = event else {
                        panic!("nothing was to be woken")
                    };
                    let before = times[message as usize].replace(time.picoseconds());
                    assert_eq!(before, None, "a message is delivered once");
                }
            }
            Advance::Paused(_) => {}
            Advance::Idle => break,
        }
    }
    times
        .into_iter()
        .map(|time| time.expect("every message is delivered"))
        .collect()
}
