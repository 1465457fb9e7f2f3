//! Every named shape, as a user would build it, and what may be dressed upon it.

use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::ids::{LinkId, RankId};
use trncomm_core::topology::{
    ClusterLinks, Endpoint, Fabric, FabricLinks, Fault, Forwarding, Leaves, Policy, Topology, Touches,
};
use trncomm_core::units::Time;

use super::networks::{link, packet_format, with_memory};

pub fn cluster_links() -> ClusterLinks {
    ClusterLinks {
        server: link(100_000_000_000, 500),
        rack: link(37_000_000_000, 1234),
        between: link(50_000_000_000, 700),
        leaf: link(25_000_000_000, 6500),
        spine: link(20_000_000_000, 300),
        core: link(25_000_000_000, 310),
    }
}

pub fn fabric_links() -> FabricLinks {
    let ClusterLinks { leaf, spine, core, .. } = cluster_links();
    FabricLinks { leaf, spine, core }
}

/// Every named shape, small, of links that are alike or alike by tier.
pub fn shapes() -> impl Strategy<Value = Topology> {
    let a = || link(100_000_000_000, 500);
    let b = || link(37_000_000_000, 1234);
    prop_oneof![
        (1..13_usize).prop_map(move |n| Topology::ring(n, a()).expect("a ring")),
        (1..6_usize, 1..6_usize).prop_map(move |(x, y)| Topology::torus(&[x, y], &[a(), b()]).expect("a torus")),
        (1..5_usize, 1..4_usize).prop_map(move |(x, y)| Topology::mesh(&[x, y], &[a(), b()]).expect("a mesh")),
        (1..10_usize).prop_map(move |n| Topology::fully_connected(n, a()).expect("a full mesh")),
        (1..13_usize, 1..4_usize).prop_map(move |(n, planes)| Topology::switch(n, planes, a()).expect("a switch")),
        (1..5_usize, 1..5_usize, 1..5_usize).prop_map(move |(leaves, each, spines)| Topology::leaf_spine(
            leaves,
            each,
            spines,
            a(),
            b()
        )
        .expect("leaves")),
        (1..3_usize, 1..4_usize, 1..4_usize).prop_map(move |(racks, servers, chips)| {
            Topology::ultraserver(racks, servers, chips, a(), b(), link(50_000_000_000, 700)).expect("racks")
        }),
        (1..4_usize, 1..4_usize, 1..3_usize, 1..3_usize).prop_map(move |(pods, each, racks, chips)| {
            Topology::ultracluster(pods, each, (racks, 1, chips), cluster_links()).expect("pods")
        }),
        (1..3_usize, 1..3_usize, 1..4_usize, any::<bool>()).prop_map(move |(pods, each, extent, on_rails)| {
            let torus = Topology::torus(&[extent, 2], &[a(), b()]).expect("a torus");
            let leaves = if on_rails { Leaves::Rails(2) } else { Leaves::Racks(1) };
            Topology::cluster(torus, pods, each, leaves, fabric_links()).expect("pods of tori")
        }),
        (1..3_usize, 1..5_usize, 1..4_usize).prop_map(move |(x, y, cores)| {
            let torus = Topology::torus(&[x, y], &[a(), b()]).expect("a torus");
            torus.with_cores(cores, link(300_000_000_000, 20)).expect("cores")
        }),
    ]
}

/// The same with costs at the chips, policies and faults, each absent as a rule.
pub fn networks() -> impl Strategy<Value = Topology> {
    let costs = (any::<bool>(), any::<bool>(), prop::option::weighted(0.2, 1..=3_u32));
    let fabric = prop_oneof![
        4 => Just(Fabric::default()),
        1 => Just(Fabric::default().with_forwarding(Forwarding::CutThrough)),
        1 => Just(Fabric::default().with_policy(Policy::Spray)),
        1 => Just(Fabric::default().with_policy(Policy::FlowHash { seed: 1 })),
    ];
    let memory = prop::option::weighted(0.2, (Just(90_000_000_000_u64), Just(Touches::ONE_EACH)));
    let fault = prop::option::weighted(0.2, (any::<Index>(), 0..3_u8));
    (shapes(), costs, fabric, memory, fault, 1..3000_u64, 0..40_u64).prop_map(
        |(topology, (launches, completes, queues), fabric, memory, fault, payload, header)| {
            let mut endpoint = Endpoint::free();
            if launches {
                endpoint = endpoint.with_launch(Time::from_picoseconds(1_300));
            }
            if completes {
                endpoint = endpoint.with_completion(Time::from_picoseconds(77));
            }
            if let Some(queues) = queues {
                endpoint = endpoint.with_queues(queues.try_into().expect("above zero"));
            }
            let dressed = topology
                .with_endpoint(endpoint)
                .with_fabric(fabric)
                .with_packet_format(packet_format(payload, header));
            let dressed = memory.map_or(dressed.clone(), |memory| with_memory(dressed, memory));
            let Some((place, kind)) = fault else { return dressed };
            let rank = RankId::new(place.index(dressed.ranks()));
            let fault = match kind {
                0 if dressed.links() > 0 => Fault::LinkDown(LinkId::new(place.index(dressed.links()))),
                1 => Fault::Slow {
                    rank,
                    numerator: 3,
                    denominator: 2,
                },
                _ => Fault::Late {
                    rank,
                    by: Time::from_picoseconds(999),
                },
            };
            dressed.with_faults(&[fault]).unwrap_or(dressed)
        },
    )
}
