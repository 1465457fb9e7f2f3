//! Topologies that look the same from every rank.

use std::fmt;

use proptest::prelude::*;
use trncomm_core::topology::{LinkSpec, Topology};

use super::describe;
use super::networks::{link, settings};

/// A topology that stays the same when the coordinates of its ranks are rotated along any of `extents`, ties included
/// but for chips under a leaf.
#[derive(Clone)]
pub struct Symmetric {
    pub topology: Topology,
    pub extents: Vec<usize>,
}

impl fmt::Debug for Symmetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(&self.topology, f)
    }
}

/// A symmetric topology of any kind, with endpoint costs.
pub fn symmetric() -> impl Strategy<Value = Symmetric> {
    let latency = prop_oneof![Just(0), Just(1000), 0..3000_u64];
    let spec = (prop_oneof![Just(1_000_000_000_000), Just(500_000_000_000_u64)], latency)
        .prop_map(|(rate, latency)| link(rate, latency));
    let specs = prop_oneof![
        spec.clone().prop_map(|spec| [spec; 3]),
        [spec.clone(), spec.clone(), spec]
    ];
    let kind = prop_oneof![
        (2..=12_usize).prop_map(|ranks| (0, vec![ranks])),
        (2..=4_usize, 2..=3_usize).prop_map(|(a, b)| (1, vec![a, b])),
        (2..=3_usize, 2..=2_usize, 2..=3_usize).prop_map(|(a, b, c)| (1, vec![a, b, c])),
        (2..=8_usize).prop_map(|ranks| (2, vec![ranks])),
        (2..=12_usize).prop_map(|ranks| (3, vec![ranks])),
        (2..=3_usize, 2..=3_usize).prop_map(|(leaves, each)| (4, vec![leaves, each])),
        (1..=3_usize, 1..=2_usize, 1..=2_usize).prop_map(|(racks, servers, chips)| (5, vec![racks, servers, chips])),
    ];
    let topology = |kind: usize, extents: &[usize], [a, b, c]: [LinkSpec; 3]| match kind {
        0 => Topology::ring(extents[0], a),
        1 => Topology::torus(extents, &[a, b, c][..extents.len()]),
        2 => Topology::fully_connected(extents[0], a),
        3 => Topology::switch(extents[0], 1, a),
        4 => Topology::leaf_spine(extents[0], extents[1], 1, a, b),
        _ => Topology::ultraserver(extents[0], extents[1], extents[2], a, b, c),
    };
    let built = (kind, specs).prop_map(move |((kind, extents), specs)| Symmetric {
        topology: topology(kind, &extents, specs).expect("a small shape"),
        extents,
    });
    built.prop_flat_map(|symmetric| {
        settings(Just(symmetric.topology.clone())).prop_map(move |topology| Symmetric {
            topology,
            extents: symmetric.extents.clone(),
        })
    })
}

/// The rank whose coordinates are so many steps further, the last one counting fastest.
pub fn rotate(rank: usize, extents: &[usize], steps: [usize; 3]) -> usize {
    let mut rest = rank;
    let (mut rotated, mut stride) = (0, 1);
    for (&extent, step) in extents.iter().rev().zip(steps) {
        rotated += (rest + step) % extent * stride;
        rest /= extent;
        stride *= extent;
    }
    rotated
}
