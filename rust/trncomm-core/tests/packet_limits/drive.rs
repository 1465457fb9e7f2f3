//! Messages given straight to a network, without a schedule, and networks that are audited.

use std::collections::BTreeMap;

use trncomm_core::engine::{Advance, Due, MessageId, Network, Switched, Traffic};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{Fabric, LinkSpec, Topology};
use trncomm_core::units::{Bytes, Time};

use crate::common::networks::{link, packet_format};

/// A byte a picosecond.
pub const RATE: u64 = 1_000_000_000_000;

pub fn spec(latency: u64) -> LinkSpec {
    link(RATE, latency)
}

/// The topology with packets of so many bytes without headers, and a fabric.
pub fn with(topology: &Topology, packet: u64, fabric: Fabric) -> Topology {
    topology
        .clone()
        .with_packet_format(packet_format(packet, 0))
        .with_fabric(fabric)
}

/// A message that enters at a time.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    pub at: u64,
    pub from: usize,
    pub to: usize,
    pub bytes: u64,
}

pub fn post(at: u64, from: usize, to: usize, bytes: u64) -> Post {
    Post { at, from, to, bytes }
}

/// What became of messages.
#[derive(Debug, PartialEq)]
pub struct Run {
    /// When each was delivered, in the order of the posts.
    pub delivered: Vec<u64>,
    /// The posts in the order of delivery.
    pub order: Vec<usize>,
    pub traffic: Traffic,
}

impl Run {
    pub fn time(&self) -> u64 {
        self.delivered.iter().copied().max().unwrap_or(0)
    }
}

/// Delivers all messages, or tells what the network is stuck on. Either way the books are balanced.
pub fn try_deliver(topology: &Topology, posts: &[Post]) -> Result<Run, String> {
    let mut network = Audited::new(topology).expect("settings that fit");
    for (id, post) in (0..).zip(posts) {
        let (from, to) = (RankId::new(post.from), RankId::new(post.to));
        network
            .post(Time::from_picoseconds(post.at), id, from, to, Bytes::new(post.bytes))
            .expect("small messages");
    }
    let mut delivered = BTreeMap::new();
    let mut order = Vec::new();
    let mut due = Vec::new();
    loop {
        match network.advance(&mut due) {
            Advance::Idle => break,
            Advance::Paused(_) => {}
            Advance::Due(time) => {
                for event in due.drain(..) {
                    let Due::Delivered(id) = event else {
                        panic!("nothing was to be woken")
                    };
                    delivered.insert(id, time.picoseconds());
                    order.push(id as usize);
                }
            }
        }
    }
    if let Some(stuck) = network.stuck() {
        return Err(stuck);
    }
    assert_eq!(delivered.len(), posts.len(), "an idle network has delivered all");
    let traffic = network.traffic();
    check_balance(topology, posts, &traffic);
    Ok(Run {
        delivered: delivered.into_values().collect(),
        order,
        traffic,
    })
}

/// Delivers all messages.
pub fn deliver(topology: &Topology, posts: &[Post]) -> Run {
    try_deliver(topology, posts).unwrap_or_else(|stuck| panic!("{stuck}"))
}

/// The bytes of a message with the headers of its packets.
pub fn wire(topology: &Topology, bytes: u64) -> u64 {
    let format = topology.packet_format();
    bytes + bytes.div_ceil(format.payload().get()).max(1) * format.header().get()
}

/// What comes into a node goes out of it, but for what starts and ends there.
fn check_balance(topology: &Topology, posts: &[Post], traffic: &Traffic) {
    let messages = posts.iter().map(|post| (post.from, post.to, post.bytes));
    check_nodes(topology, messages, traffic).unwrap_or_else(|error| panic!("{error}"));
}

/// The same for messages as (from, to, bytes).
pub fn check_nodes(
    topology: &Topology,
    messages: impl IntoIterator<Item = (usize, usize, u64)>,
    traffic: &Traffic,
) -> Result<(), String> {
    let (mut starts, mut ends) = (vec![0; topology.nodes()], vec![0; topology.nodes()]);
    for (from, to, bytes) in messages {
        starts[from] += wire(topology, bytes);
        ends[to] += wire(topology, bytes);
    }
    let sum = |links: &[LinkId]| -> u64 { links.iter().map(|link| traffic.link_bytes[link.index()]).sum() };
    for node in (0..topology.nodes()).map(NodeId::new) {
        let (came, left) = (sum(topology.in_links(node)), sum(topology.out_links(node)));
        if came + starts[node.index()] != left + ends[node.index()] {
            return Err(format!(
                "{came} bytes came to node {node} and {} started there; {left} left and {} ended there",
                starts[node.index()],
                ends[node.index()]
            ));
        }
    }
    Ok(())
}

/// A network that shows, whenever it is idle, that nothing was lost in it: all has come out and all credits are back, or it
/// is stuck and says so.
pub struct Audited<'t>(Switched<'t>);

impl<'t> Audited<'t> {
    pub fn new(topology: &'t Topology) -> Result<Self, SimulationError> {
        Switched::new(topology).map(Self)
    }
}

impl Network for Audited<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        self.0.post(at, message, source, destination, bytes)
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.0.wake(at, token);
    }

    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        self.0.touch(rank, bytes, token)
    }

    fn keeps_order(&self) -> bool {
        self.0.keeps_order()
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        let advance = self.0.advance(due);
        if advance == Advance::Idle {
            assert_eq!(self.0.is_drained(), self.0.stuck().is_none(), "{:?}", self.0.stuck());
        }
        advance
    }

    fn traffic(&self) -> Traffic {
        self.0.traffic()
    }

    fn stuck(&self) -> Option<String> {
        self.0.stuck()
    }
}
