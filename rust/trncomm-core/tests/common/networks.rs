//! Random topologies of up to twelve ranks.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::topology::{Endpoint, LinkInput, LinkSpec, PacketFormat, Topology, Touches};
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

/// The rate of a chip's memory, from well below that of a link to well above, and how often bytes touch it.
pub fn memory() -> impl Strategy<Value = (u64, Touches)> {
    let rate = prop_oneof![
        2 => Just(1_000_000_000_000),
        1 => Just(500_000_000_000),
        1 => Just(4_000_000_000_000),
        1 => 1_000_000_000..4_000_000_000_000_u64,
    ];
    let touches = prop_oneof![
        2 => Just(Touches::ONE_EACH),
        2 => (0..4_u32, 0..4_u32, 0..4_u32).prop_map(|(read, write, reduce)| Touches { read, write, reduce }),
    ];
    (rate, touches)
}

/// The topology with such a memory besides the endpoint costs that it has.
pub fn with_memory(topology: Topology, (rate, touches): (u64, Touches)) -> Topology {
    let rate = Bandwidth::new(rate).expect("above zero");
    let endpoint = topology.endpoint().with_memory(rate, touches);
    topology.with_endpoint(endpoint)
}
