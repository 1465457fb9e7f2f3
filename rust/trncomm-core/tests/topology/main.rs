//! Topologies: every route is a path, every refusal names its value, ties respect rotations.

mod channels;
mod endpoint;
mod faults;
mod refusals;
mod routes;
mod sets;
mod ties;

use std::collections::VecDeque;

use trncomm_core::error::TopologyError;
use trncomm_core::ids::{LinkId, NodeId};
use trncomm_core::topology::{ClusterLinks, FabricLinks, Leaves, LinkInput, LinkSpec, Topology};
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
    for (pods, each, racks, servers, chips) in [
        (1, 1, 2, 2, 2),
        (1, 3, 2, 1, 2),
        (3, 1, 1, 2, 2),
        (2, 2, 2, 2, 2),
        (3, 2, 3, 1, 2),
        (2, 3, 1, 1, 1),
    ] {
        let links = ClusterLinks {
            server: link,
            rack: link,
            between: link,
            leaf: link,
            spine: link,
            core: link,
        };
        shapes.push(Topology::ultracluster(pods, each, (racks, servers, chips), links));
    }
    shapes.extend(with_cores());
    shapes
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("all of these can be built")
}

/// Two racks of two servers of two chips, in clusters.
fn of_ultraservers(pods: usize, each: usize, leaves: Leaves) -> Result<Topology, TopologyError> {
    let link = spec(64, 500);
    let server = Topology::ultraserver(2, 2, 2, link, link, link)?;
    Topology::cluster(server, pods, each, leaves, fabric(link))
}

fn fabric(link: LinkSpec) -> FabricLinks {
    FabricLinks {
        leaf: link,
        spine: link,
        core: link,
    }
}

/// Several cores on each chip of a shape of each kind.
fn with_cores() -> Vec<Result<Topology, TopologyError>> {
    let (link, core) = (spec(64, 500), spec(300, 0));
    let shapes = [
        Topology::ring(5, link),
        Topology::mesh(&[2, 3], &[link]),
        Topology::torus(&[4, 4], &[link]),
        Topology::fully_connected(3, link),
        Topology::switch(4, 2, link),
        Topology::leaf_spine(2, 3, 2, link, link),
        Topology::ultraserver(2, 3, 2, link, link, link),
        of_ultraservers(2, 1, Leaves::Racks(2)),
    ];
    let several = shapes.into_iter().zip([2, 3, 4, 2, 8, 3, 4, 2]);
    several
        .map(|(shape, cores)| shape.and_then(|shape| shape.with_cores(cores, core)))
        .collect()
}

/// Clusters whose routes within a server stay there though a leaf joins chips that are further apart.
fn joined_twice() -> Vec<Topology> {
    let link = spec(64, 500);
    let torus = |extents: &[usize]| Topology::torus(extents, &[link]).expect("a torus");
    let cluster = |extents, pods, each, leaves| Topology::cluster(torus(extents), pods, each, leaves, fabric(link));
    [
        cluster(&[4, 4], 2, 2, Leaves::Racks(1)),
        cluster(&[5, 2], 1, 3, Leaves::Racks(5)),
        cluster(&[4, 4], 2, 2, Leaves::Rails(4)),
        cluster(&[3, 4], 3, 1, Leaves::Rails(2)),
        of_ultraservers(2, 2, Leaves::Rails(2)),
        of_ultraservers(1, 3, Leaves::Rails(4)),
    ]
    .into_iter()
    .collect::<Result<_, _>>()
    .expect("all of these can be built")
}

/// The same links as a list, which is routed by breadth-first search.
fn as_list(topology: &Topology) -> Topology {
    let links: Vec<LinkInput> = (0..topology.links())
        .map(LinkId::new)
        .map(|link| LinkInput {
            source: u64::from(topology.source(link).get()),
            destination: u64::from(topology.destination(link).get()),
            bandwidth: topology.bandwidth(link).bytes_per_second(),
            latency: topology.latency(link).picoseconds(),
            tier: topology.tiers()[usize::from(topology.tier(link))].clone(),
        })
        .collect();
    Topology::from_links(topology.ranks(), topology.nodes() - topology.ranks(), &links).expect("it was connected")
}

/// How many of the links that `is_up` lets pass lie between each node and a rank at least.
fn hops_to(topology: &Topology, to: usize, is_up: impl Fn(LinkId) -> bool) -> Vec<Option<u32>> {
    let mut hops = vec![None; topology.nodes()];
    hops[to] = Some(0);
    let mut open = VecDeque::from([(NodeId::new(to), 0)]);
    while let Some((node, distance)) = open.pop_front() {
        for &link in topology.in_links(node).iter().filter(|&&link| is_up(link)) {
            let source = topology.source(link);
            if hops[source.index()].is_none() {
                hops[source.index()] = Some(distance + 1);
                open.push_back((source, distance + 1));
            }
        }
    }
    hops
}
