//! Random topologies of up to twelve ranks.

use std::num::{NonZeroU8, NonZeroU32};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{
    Arbitration, Endpoint, Fabric, Fault, Forwarding, LinkInput, LinkSpec, PacketFormat, Policy, Queueing, Topology,
    Touches,
};
use trncomm_core::units::{Bandwidth, Bytes, Time};

/// A link of `bandwidth` bytes/s and `latency` picoseconds.
pub fn link(bandwidth: u64, latency: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(bandwidth).expect("above zero"),
        latency: Time::from_picoseconds(latency),
    }
}

/// A format of packets of `payload` bytes and `header` more.
pub fn packet_format(payload: u64, header: u64) -> PacketFormat {
    PacketFormat::new(Bytes::new(payload), Bytes::new(header)).expect("a packet that fits")
}

/// Rates and latencies that often meet at one instant (a byte takes 1, 2 or 10 ps), and some that never do.
fn spec() -> impl Strategy<Value = LinkSpec> {
    let rate = prop_oneof![
        4 => Just(1_000_000_000_000),
        2 => Just(500_000_000_000),
        2 => Just(100_000_000_000),
        1 => Just(999_999_999_989),
        1 => 1_000_000_000..2_000_000_000_000_u64,
    ];
    let latency = prop_oneof![3 => Just(0), 3 => Just(1000), 1 => Just(1), 1 => Just(10), 1 => 0..5000_u64];
    (rate, latency).prop_map(|(rate, latency)| link(rate, latency))
}

/// A topology of any kind with links of its own, and free endpoints.
pub fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![3 => named(), 1 => custom()]
}

fn named() -> impl Strategy<Value = Topology> {
    let extents = || {
        prop_oneof![
            vec(1..=12_usize, 1),
            vec(1..=3_usize, 2),
            vec(1..=2_usize, 3),
            vec(1..=2_usize, 2)
        ]
    };
    let shape = prop_oneof![
        (1..=12_usize).prop_map(Shape::Ring),
        extents().prop_map(Shape::Mesh),
        extents().prop_map(Shape::Torus),
        (1..=8_usize).prop_map(Shape::FullyConnected),
        (1..=12_usize, 1..=3_usize).prop_map(|(ranks, planes)| Shape::Switch(ranks, planes)),
        (1..=4_usize, 1..=3_usize, 1..=3_usize)
            .prop_map(|(leaves, each, spines)| Shape::LeafSpine(leaves, each, spines)),
        (1..=3_usize, 1..=2_usize, 1..=2_usize)
            .prop_map(|(racks, servers, chips)| Shape::UltraServer(racks, servers, chips)),
    ];
    let specs = prop_oneof![spec().prop_map(|spec| [spec; 3]), [spec(), spec(), spec()]];
    (shape, specs).prop_map(|(shape, specs)| shape.build(specs))
}

#[derive(Clone, Debug)]
enum Shape {
    Ring(usize),
    Mesh(Vec<usize>),
    Torus(Vec<usize>),
    FullyConnected(usize),
    Switch(usize, usize),
    LeafSpine(usize, usize, usize),
    UltraServer(usize, usize, usize),
}

impl Shape {
    fn build(self, [a, b, c]: [LinkSpec; 3]) -> Topology {
        let built = match self {
            Self::Ring(ranks) => Topology::ring(ranks, a),
            Self::Mesh(extents) => Topology::mesh(&extents, &[a, b, c][..extents.len()]),
            Self::Torus(extents) => Topology::torus(&extents, &[a, b, c][..extents.len()]),
            Self::FullyConnected(ranks) => Topology::fully_connected(ranks, a),
            Self::Switch(ranks, planes) => Topology::switch(ranks, planes, a),
            Self::LeafSpine(leaves, each, spines) => Topology::leaf_spine(leaves, each, spines, a, b),
            Self::UltraServer(racks, servers, chips) => Topology::ultraserver(racks, servers, chips, a, b, c),
        };
        built.expect("a small shape")
    }
}

/// A tree of cables and some links more, with parallel ones and ones that lead one way only.
pub fn custom() -> impl Strategy<Value = Topology> {
    let cable = (any::<Index>(), any::<Index>(), any::<Index>());
    let extra = (any::<Index>(), any::<Index>(), any::<Index>());
    (1..=7_usize, 0..=4_usize).prop_flat_map(move |(ranks, switches)| {
        let cables = vec(cable.clone(), ranks + switches - 1);
        (vec(spec(), 1..=3), cables, vec(extra.clone(), 0..10)).prop_map(move |(specs, cables, extras)| {
            let input = |source: usize, destination: usize, choice: Index| {
                let spec = choice.get(&specs);
                LinkInput {
                    source: source as u64,
                    destination: destination as u64,
                    bandwidth: spec.bandwidth.bytes_per_second(),
                    latency: spec.latency.picoseconds(),
                    tier: "link".to_owned(),
                }
            };
            let tree = (1..).zip(&cables).flat_map(|(node, &(parent, up, down))| {
                let parent = parent.index(node);
                [input(node, parent, up), input(parent, node, down)]
            });
            let nodes = ranks + switches;
            let more = extras.iter().filter_map(|&(from, to, choice)| {
                let (from, to) = (from.index(nodes), to.index(nodes));
                (from != to).then(|| input(from, to, choice))
            });
            let links: Vec<LinkInput> = tree.chain(more).collect();
            Topology::from_links(ranks, switches, &links).expect("a tree joins all")
        })
    })
}

/// The topology with random endpoint costs, each of which may be nothing.
pub fn settings(topology: impl Strategy<Value = Topology>) -> impl Strategy<Value = Topology> {
    let cost = || prop_oneof![2 => Just(0), 1 => Just(1000), 1 => 0..3000_u64].prop_map(Time::from_picoseconds);
    let rate = || {
        prop_oneof![
            2 => Just(None),
            1 => Just(Some(500_000_000_000)),
            1 => (1_000_000_000..2_000_000_000_000_u64).prop_map(Some),
        ]
    };
    (topology, cost(), cost(), rate(), rate()).prop_map(|(topology, launch, completion, reduction, copy)| {
        let mut endpoint = Endpoint::free().with_launch(launch).with_completion(completion);
        let bandwidth = |rate| Bandwidth::new(rate).expect("above zero");
        if let Some(rate) = reduction {
            endpoint = endpoint.with_reduction(bandwidth(rate));
        }
        if let Some(rate) = copy {
            endpoint = endpoint.with_copy(bandwidth(rate));
        }
        topology.with_endpoint(endpoint)
    })
}

/// The topology with a memory, queues, a window and jitter, each of which may be absent.
pub fn more_settings(topology: impl Strategy<Value = Topology>) -> impl Strategy<Value = Topology> {
    let memory = (any::<bool>(), 0..=2_u32, 0..=2_u32, 0..=2_u32).prop_map(|(fast, read, write, reduce)| {
        let rate = if fast { 1_000_000_000_000 } else { 300_000_000_007 };
        (rate, Touches { read, write, reduce })
    });
    let queues = 1..=3_u32;
    let window = prop_oneof![Just(1_u64), 1..3000_u64, 1..(1_u64 << 36)];
    let jitter = (1..2000_u64, any::<u64>());
    (
        topology,
        prop::option::weighted(0.3, memory),
        prop::option::weighted(0.3, queues),
        prop::option::weighted(0.3, window),
        prop::option::weighted(0.2, jitter),
    )
        .prop_map(|(topology, memory, queues, window, jitter)| {
            let mut endpoint = *topology.endpoint();
            if let Some((rate, touches)) = memory {
                endpoint = endpoint.with_memory(Bandwidth::new(rate).expect("above zero"), touches);
            }
            if let Some(queues) = queues {
                endpoint = endpoint.with_queues(NonZeroU32::new(queues).expect("above zero"));
            }
            if let Some(window) = window {
                endpoint = endpoint.with_window(Bytes::new(window));
            }
            if let Some((most, seed)) = jitter {
                endpoint = endpoint.with_jitter(Time::from_picoseconds(most), seed);
            }
            topology.with_endpoint(endpoint)
        })
}

/// A fabric of any kind; a buffer holds one packet of the size given, and may hold some more.
pub fn fabric(packet: u64) -> impl Strategy<Value = Fabric> {
    let more = prop_oneof![
        3 => Just(0),
        2 => 0..=packet,
        2 => (1..=4_u64).prop_map(move |packets| packets * packet),
        1 => Just(u64::MAX - packet),
    ];
    let arbitration = prop_oneof![Just(Arbitration::FirstCome), Just(Arbitration::RoundRobin)];
    let queueing = prop_oneof![Just(Queueing::VirtualOutput), Just(Queueing::Input)];
    let forwarding = prop_oneof![Just(Forwarding::StoreAndForward), Just(Forwarding::CutThrough)];
    let policy = prop_oneof![
        3 => Just(Policy::Fixed),
        1 => any::<u64>().prop_map(|seed| Policy::FlowHash { seed }),
        2 => Just(Policy::Spray),
        2 => Just(Policy::Adaptive),
    ];
    let buffer = prop::option::weighted(0.8, more.prop_map(move |more| packet.max(1).saturating_add(more)));
    (buffer, 1..=3_u8, arbitration, queueing, forwarding, policy).prop_map(
        |(buffer, channels, arbitration, queueing, forwarding, policy)| {
            let fabric = Fabric::default()
                .with_virtual_channels(NonZeroU8::new(channels).expect("above zero"))
                .with_arbitration(arbitration)
                .with_queueing(queueing)
                .with_forwarding(forwarding)
                .with_policy(policy);
            buffer.map_or(fabric, |buffer| fabric.with_buffer(Bytes::new(buffer)))
        },
    )
}

/// A view of the topology with some faults; those that would part ranks, or are the second of their kind, are left out.
pub fn with_some_faults(topology: Topology, choices: &[(u8, Index, u32)]) -> Topology {
    let mut view = topology;
    for &(kind, which, amount) in choices {
        let rank = RankId::new(which.index(view.ranks()));
        let fault = match kind % 5 {
            0 | 1 if view.links() > 0 => {
                let link = LinkId::new(which.index(view.links()));
                if kind % 5 == 0 {
                    Fault::LinkDown(link)
                } else {
                    Fault::LinkSlow {
                        link,
                        numerator: 1 + amount % 7,
                        denominator: 8,
                    }
                }
            }
            2 => Fault::NodeDown(NodeId::new(which.index(view.nodes()))),
            3 => Fault::Slow {
                rank,
                numerator: 8 + amount % 9,
                denominator: 8,
            },
            _ => Fault::Late {
                rank,
                by: Time::from_picoseconds(u64::from(amount) % 4000),
            },
        };
        view = view.with_faults(&[fault]).unwrap_or(view);
    }
    view
}
