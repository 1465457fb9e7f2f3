//! What a run will cost, before it is made.

use std::time::Duration;

use super::machine::Run;
use super::model::Model;
use super::packet::{Packet, cut};
use crate::error::SimulationError;
use crate::ids::RankId;
use crate::quotient::Fold;
use crate::schedule::Code;
use crate::topology::Topology;
use crate::units::Bytes;

/// What a run will cost, leaps apart: they make it cheaper, by how much isn't known before.
///
/// Messages are counted, all else is estimated: packet-hops from the routes of some messages, memory from what may be
/// under way at once, time from what an event took where it was measured. Memory and time are right within a factor of
/// about three as a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// How many ranks and links will be run.
    pub run: Run,
    /// Messages, of all ranks.
    pub messages: u64,
    /// Messages that will be run.
    pub messages_run: u64,
    /// Packets that will be run, times the links that each crosses; messages, where the model has no packets.
    pub packet_hops_run: u64,
    /// Bytes of memory, that of the topology and the schedule apart.
    pub memory: u64,
    /// Time on a processor.
    pub time: Duration,
}

/// What a run may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Time on a processor.
    pub time: Option<Duration>,
}

/// How many routes are looked at.
const ROUTES: usize = 64;

/// Nanoseconds, and bytes under way, for a message, a packet-hop, and a link.
struct Prices {
    message_ns: u64,
    packet_hop_ns: u64,
    message_bytes: u64,
    link_bytes: u64,
}

/// Measured at 144 to 100,800 ranks on one core; see docs/speed.md and docs/scale.md.
fn prices(topology: &Topology, model: Model) -> Prices {
    let (message_ns, packet_hop_ns, message_bytes, link_bytes) = match model {
        Model::LogGp => (400, 0, 200, 100),
        Model::Flow => (450, 0, 350, 200),
        Model::Packet if Packet::serves(topology) => (350, 30, 300, 150),
        Model::Packet => (350, 250, 400, 500),
    };
    Prices {
        message_ns,
        packet_hop_ns,
        message_bytes,
        link_bytes,
    }
}

impl Estimate {
    /// That of a run of every rank, or of the representatives.
    pub(super) fn of(topology: &Topology, code: &Code<'_>, model: Model, fold: Option<&Fold>) -> Self {
        let ranks = fold.map_or(code.schedule().ranks(), Fold::ranks);
        let links = fold.map_or(topology.links(), Fold::links);
        let name = |place: usize| fold.map_or(RankId::new(place), |fold| fold.rank(place)).get();
        let census = code.census((0..ranks).map(name));
        let packets = match model {
            Model::Packet => {
                let mean = Bytes::new(census.bytes.checked_div(census.messages).unwrap_or(0));
                census.messages.saturating_mul(cut(topology.packet_format(), mean).0)
            }
            Model::LogGp | Model::Flow => census.messages,
        };
        let packet_hops_run = packets.saturating_mul(mean_hops(topology, code, ranks, name));
        let prices = prices(topology, model);
        let nanoseconds = (census.messages.saturating_mul(prices.message_ns))
            .saturating_add(packet_hops_run.saturating_mul(prices.packet_hop_ns));
        let columns = 40 * (topology.links() + topology.ranks()) as u64;
        let memory = [
            (census.streams, 300),
            (census.at_once, prices.message_bytes),
            (links as u64, prices.link_bytes),
            (columns, 1),
        ];
        Self {
            run: Run { ranks, links },
            messages: census.messages.saturating_mul(fold.map_or(1, Fold::order)),
            messages_run: census.messages,
            packet_hops_run,
            memory: memory
                .into_iter()
                .fold(0, |sum, (count, each)| count.saturating_mul(each).saturating_add(sum)),
            time: Duration::from_nanos(nanoseconds),
        }
    }

    /// An error where it is more than may be; `instead` says what could be done.
    pub(super) fn check(&self, limits: Limits, instead: impl FnOnce() -> String) -> Result<(), SimulationError> {
        let over_memory = limits.memory.filter(|&most| self.memory > most);
        let over_time = limits.time.filter(|&most| self.time > most);
        let limit = match (over_memory, over_time) {
            (Some(most), _) => format!("{} of memory", in_mebibytes(most)),
            (None, Some(most)) => in_words(most),
            (None, None) => return Ok(()),
        };
        Err(SimulationError::TooLarge {
            ranks: self.run.ranks,
            messages: self.messages_run,
            memory: in_mebibytes(self.memory),
            time: in_words(self.time),
            limit,
            instead: instead(),
        })
    }
}

/// The mean length of some routes, rounded up.
fn mean_hops(topology: &Topology, code: &Code<'_>, ranks: usize, name: impl Fn(usize) -> u32) -> u64 {
    let step = ranks.div_ceil(ROUTES).max(1);
    let (mut hops, mut routes) = (0, 0);
    let mut path = Vec::new();
    for rank in (0..ranks).step_by(step).map(name) {
        let peer = code.first_peer(rank).and_then(|peer| u32::try_from(peer).ok());
        let Some(peer) = peer.filter(|&peer| (peer as usize) < topology.ranks()) else {
            continue;
        };
        if topology
            .route(RankId::from(rank), RankId::from(peer), &mut path)
            .is_ok()
        {
            hops += path.len() as u64;
            routes += 1;
        }
    }
    hops.div_ceil(routes.max(1)).max(1)
}

fn in_mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 600 => format!("{seconds} s"),
        seconds if seconds < 36_000 => format!("{} minutes", seconds / 60),
        seconds if seconds < 864_000 => format!("{} hours", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
