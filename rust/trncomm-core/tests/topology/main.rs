//! Topologies: every route is a path, every refusal names its value, ties respect rotations.

mod endpoint;
mod refusals;
mod routes;
mod ties;

use trncomm_core::topology::{LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Time};

/// A link of that many GB/s and nanoseconds.
fn spec(gigabytes: u64, nanoseconds: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(gigabytes * 1_000_000_000).expect("not zero"),
        latency: Time::from_picoseconds(nanoseconds * 1_000),
    }
}

/// Every named shape at sizes that are even, odd, and as small as they come.
fn every_shape() -> Vec<Topology> {
    let link = spec(64, 500);
    let mut shapes = Vec::new();
    for ranks in [1, 2, 3, 4, 5, 8] {
        shapes.push(Topology::ring(ranks, link));
        shapes.push(Topology::fully_connected(ranks, link));
        for planes in [1, 2, 3] {
            shapes.push(Topology::switch(ranks, planes, link));
        }
        for spines in [1, 2, 5] {
            shapes.push(Topology::leaf_spine(ranks, 3, spines, link, link));
            shapes.push(Topology::leaf_spine(3, ranks, spines, link, link));
        }
    }
    for dimensions in [
        &[1][..],
        &[2],
        &[4, 4],
        &[1, 5],
        &[5, 1, 2],
        &[1, 2, 3, 4],
        &[4, 3, 2, 1],
        &[2, 2, 2, 2],
        &[1, 1],
    ] {
        shapes.push(Topology::mesh(dimensions, &[link]));
        shapes.push(Topology::torus(dimensions, &[link]));
    }
    for [racks, servers, chips] in [
        [1, 1, 1],
        [2, 18, 4],
        [1, 3, 2],
        [3, 2, 2],
        [4, 1, 3],
        [2, 3, 1],
        [5, 1, 1],
    ] {
        shapes.push(Topology::ultraserver(racks, servers, chips, link, link, link));
    }
    shapes
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("all of these can be built")
}
