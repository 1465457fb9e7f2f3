//! What several tests share: random topologies, traffic and settings, and runs of them.
#![allow(dead_code)] // every test is a crate of its own, and none uses all of this

pub mod networks;
pub mod shapes;
pub mod symmetry;
pub mod traffic;

use std::collections::BTreeMap;
use std::fmt;

use proptest::test_runner::{Config, RngSeed};
use trncomm_core::algorithm;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Control, Network, Outcome, Untracked, run};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::{LinkId, RankId};
use trncomm_core::schedule::{Code, Layout, Schedule};
use trncomm_core::topology::Topology;
use trncomm_core::units::{Bytes, Time};

/// So many cases, the same ones on every run. `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make more and others.
pub fn cases(count: u32) -> Config {
    let mut config = Config {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = count;
    }
    if matches!(config.rng_seed, RngSeed::Random) {
        config.rng_seed = RngSeed::Fixed(0);
    }
    config
}

/// What a run came to, as far as it doesn't depend on how a model works inside.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    pub finish: Vec<Time>,
    pub messages: u64,
    pub sent: Vec<u64>,
    pub unreceived: Option<(u32, u32, u32)>,
    pub link_bytes: Vec<u64>,
    pub link_busy: Vec<u64>,
    pub packet_hops: u64,
}

impl From<Outcome<Untracked>> for Report {
    fn from(outcome: Outcome<Untracked>) -> Self {
        Self {
            finish: outcome.finish,
            messages: outcome.messages,
            sent: outcome.sent,
            unreceived: outcome.unreceived,
            link_bytes: outcome.traffic.link_bytes,
            link_busy: outcome.traffic.link_busy,
            packet_hops: outcome.traffic.packet_hops,
        }
    }
}

impl Report {
    /// From the start to the end of the last rank.
    pub fn time(&self) -> Time {
        self.finish.iter().copied().max().unwrap_or_default()
    }
}

/// Runs a schedule with a buffer of `size` bytes on a network over `topology`, with its late and slow ranks.
pub fn outcome_on<N: Network>(
    topology: &Topology,
    schedule: &Schedule,
    size: u64,
    element: u64,
    network: N,
) -> Result<Outcome<Untracked>, SimulationError> {
    let layout = Layout::new(Bytes::new(size), element, schedule.chunks())?;
    let code = Code::new(schedule, layout)?;
    run(&code, topology, network, Untracked, &mut |_| Control::Continue)
}

/// The same, as a report.
pub fn run_on<N: Network>(
    topology: &Topology,
    schedule: &Schedule,
    size: u64,
    element: u64,
    network: N,
) -> Result<Report, SimulationError> {
    outcome_on(topology, schedule, size, element, network).map(Report::from)
}

/// The schedule of a collective by one of the algorithms that build it.
pub fn build(topology: &Topology, collective: Collective, name: &str, root: u32) -> Schedule {
    algorithm::build(topology, collective, name, RankId::from(root), BTreeMap::new())
        .unwrap_or_else(|error| panic!("{collective} by {name} over {} ranks: {error}", topology.ranks()))
}

/// `ceil(bytes · 10¹² / rate)`, as the design defines a serialisation.
pub fn serialization(bytes: u64, rate: u64) -> u64 {
    let picoseconds = (u128::from(bytes) * 1_000_000_000_000).div_ceil(u128::from(rate));
    u64::try_from(picoseconds).expect("tests keep to times that fit")
}

/// A topology in few enough words to be read when a test fails.
pub fn describe(topology: &Topology, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{} {:?}", topology.name(), topology.shape())?;
    writeln!(f, "{:?}, {:?}", topology.endpoint(), topology.packet_format())?;
    writeln!(f, "{:?}, faults {:?}", topology.fabric(), topology.faults())?;
    for link in (0..topology.links()).map(LinkId::new) {
        let (from, to) = (topology.source(link), topology.destination(link));
        let (bandwidth, latency) = (topology.bandwidth(link), topology.latency(link));
        writeln!(f, "link {link}: {from} -> {to}, {bandwidth}, {latency}")?;
    }
    Ok(())
}
