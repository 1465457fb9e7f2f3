//! What can't be built is refused before anything is allocated, with an error that names the value.

use trncomm_core::error::TopologyError;
use trncomm_core::ids::{LinkId, RankId};
use trncomm_core::topology::{Fault, Leaves, LinkInput, PacketFormat, Topology};
use trncomm_core::units::Bytes;

use super::{fabric, spec};

fn message(result: Result<Topology, TopologyError>) -> String {
    result.expect_err("this can't be built").to_string()
}

fn link(source: u64, destination: u64) -> LinkInput {
    LinkInput {
        source,
        destination,
        bandwidth: 1,
        latency: 0,
        tier: "link".to_owned(),
    }
}

#[test]
fn zero_extents_are_refused_by_name() {
    let any = spec(64, 500);
    for (result, argument) in [
        (Topology::ring(0, any), "ranks"),
        (Topology::fully_connected(0, any), "ranks"),
        (Topology::switch(0, 1, any), "ranks"),
        (Topology::switch(1, 0, any), "planes"),
        (Topology::leaf_spine(0, 1, 1, any, any), "leaves"),
        (Topology::leaf_spine(1, 0, 1, any, any), "ranks_per_leaf"),
        (Topology::leaf_spine(1, 1, 0, any, any), "spines"),
        (Topology::ultraserver(0, 1, 1, any, any, any), "racks"),
        (Topology::ultraserver(1, 0, 1, any, any, any), "servers"),
        (Topology::ultraserver(1, 1, 0, any, any, any), "chips"),
        (Topology::from_links(0, 1, &[]), "ranks"),
    ] {
        assert_eq!(message(result), format!("{argument} must be at least 1, got 0"));
    }
}

#[test]
fn dimensions_that_make_no_grid_are_refused() {
    let any = spec(64, 500);
    assert_eq!(
        message(Topology::torus(&[4, 0], &[any])),
        "dimensions must be at least 1 in every dimension, got [4, 0]"
    );
    assert_eq!(
        message(Topology::mesh(&[], &[any])),
        "dimensions must be 1 to 32 extents, got 0"
    );
    assert_eq!(
        message(Topology::mesh(&[1; 33], &[any])),
        "dimensions must be 1 to 32 extents, got 33"
    );
    assert_eq!(
        message(Topology::torus(&[4, 4, 4], &[any, any])),
        "specs must be one entry for all dimensions or one for each of 3, got 2 entries"
    );
    assert_eq!(
        message(Topology::torus(&[4, 4], &[])),
        "specs must be one entry for all dimensions or one for each of 2, got 0 entries"
    );
}

#[test]
fn sizes_beyond_the_limits_are_refused_with_their_count() {
    let any = spec(64, 500);
    let most = usize::MAX;
    for (result, what) in [
        (
            Topology::torus(&[100_000, 100_000, 100_000], &[any]),
            "nodes would number 1000000000000000",
        ),
        (
            Topology::mesh(&[most, most, most], &[any]),
            "nodes would number 3402823669209384634",
        ),
        (Topology::ring(most, any), "nodes would number 18446744073709551615"),
        (
            Topology::fully_connected(1_000_000, any),
            "links would number 999999000000",
        ),
        (Topology::fully_connected(most, any), "nodes would number"),
        (
            Topology::switch(1 << 19, 1, any),
            "ports of one node would number 524288",
        ),
        (
            Topology::switch(1 << 17, 1 << 17, any),
            "links would number 34359738368",
        ),
        (Topology::switch(most, most, any), "nodes would number"),
        (Topology::leaf_spine(most, most, most, any, any), "nodes would number"),
        (
            Topology::leaf_spine(1 << 12, 1, 1 << 13, any, any),
            "links would number",
        ),
        (
            Topology::ultraserver(most, most, most, any, any, any),
            "nodes would number",
        ),
        (Topology::ultraserver(10_000, 1, 1, any, any, any), "links would number"),
        (
            Topology::ultraserver(1, 1 << 10, 1 << 9, any, any, any),
            "ports of one node",
        ),
        (Topology::from_links(most, most, &[]), "nodes would number"),
        (
            Topology::from_links(1 << 16, 0, &[]),
            "entries of the route table would number 4294967296",
        ),
    ] {
        let message = message(result);
        assert!(message.starts_with(what), "{message}");
    }
}

#[test]
fn links_that_name_no_node_are_refused() {
    assert_eq!(
        message(Topology::from_links(2, 1, &[link(0, 1), link(1, 3)])),
        "link 1 names node 3, but there are 3 nodes (0 to 2)"
    );
    assert!(message(Topology::from_links(2, 0, &[link(u64::MAX, 0)])).contains("names node 18446744073709551615"));
}

#[test]
fn links_from_a_node_to_itself_are_refused() {
    assert_eq!(
        message(Topology::from_links(2, 0, &[link(0, 1), link(1, 1)])),
        "link 1 joins node 1 to itself"
    );
}

#[test]
fn links_without_bandwidth_are_refused() {
    let dead = LinkInput {
        bandwidth: 0,
        ..link(1, 0)
    };
    assert_eq!(
        message(Topology::from_links(2, 0, &[link(0, 1), dead])),
        "bandwidth must be above 0 bytes/s, got 0 for link 1"
    );
}

#[test]
fn ranks_without_a_path_are_refused_in_either_direction() {
    assert_eq!(
        message(Topology::from_links(3, 0, &[link(0, 1), link(1, 0)])),
        "there is no path from rank 2 to rank 0"
    );
    assert_eq!(
        message(Topology::from_links(2, 0, &[link(0, 1)])),
        "there is no path from rank 1 to rank 0"
    );
    assert_eq!(
        message(Topology::from_links(2, 5, &[])),
        "there is no path from rank 1 to rank 0"
    );
}

#[test]
fn more_tiers_than_a_link_can_name_are_refused() {
    let tiers = |count: u64| -> Vec<LinkInput> {
        (0..count)
            .map(|index| LinkInput {
                tier: index.to_string(),
                ..link(index % 2, (index + 1) % 2)
            })
            .collect()
    };
    assert!(message(Topology::from_links(2, 0, &tiers(257))).starts_with("tiers would number 257"));
    let full = Topology::from_links(2, 0, &tiers(256)).expect("as many as fit");
    assert_eq!(full.tiers().len(), 256);
}

#[test]
fn routes_of_ranks_that_are_not_there_are_refused() {
    // A switch is a node, but not a rank.
    let topology = Topology::switch(4, 1, spec(64, 500)).expect("a switch");
    let mut path = Vec::new();
    let error = topology
        .route(RankId::new(0), RankId::new(4), &mut path)
        .expect_err("no such rank");
    assert_eq!(error.to_string(), "rank must be below 4, the number of ranks, got 4");
}

#[test]
fn packets_without_payload_or_beyond_a_size_are_refused() {
    let empty = PacketFormat::new(Bytes::ZERO, Bytes::ZERO).expect_err("no payload");
    assert_eq!(empty.to_string(), "payload must be above 0 bytes, got 0 B");
    assert!(PacketFormat::new(Bytes::new(u64::MAX), Bytes::new(1)).is_err());
    assert_eq!(PacketFormat::default().payload(), Bytes::new(4096));
}

#[test]
fn servers_and_leaves_that_make_no_cluster_are_refused_by_name() {
    let link = spec(64, 500);
    let torus = || Topology::torus(&[4, 4], &[link]).expect("a torus");
    let cluster = |server, leaves| message(Topology::cluster(server, 2, 2, leaves, fabric(link)));
    let is_down = torus()
        .with_faults(&[Fault::LinkDown(LinkId::new(0))])
        .expect("a torus");
    assert!(cluster(is_down, Leaves::Racks(1)).contains("got torus with faults"));
    let cores = torus().with_cores(2, link).expect("cores");
    assert!(cluster(cores, Leaves::Racks(1)).contains("of one rank a chip"));
    let mesh = Topology::mesh(&[4, 4], &[link]).expect("a mesh");
    assert!(cluster(mesh, Leaves::Racks(1)).contains("got mesh of 16 ranks"));
    assert!(cluster(torus(), Leaves::Racks(3)).starts_with("racks must be a divisor of the 16 chips"));
    assert!(cluster(torus(), Leaves::Racks(0)).starts_with("racks must be a divisor"));
    assert!(cluster(torus(), Leaves::Rails(32)).starts_with("rails must be a divisor"));
    let many = Topology::cluster(torus(), usize::MAX, usize::MAX, Leaves::Racks(1), fabric(link));
    assert!(message(many).contains("nodes"));
}

#[test]
fn cores_are_refused_on_what_has_cores_or_faults() {
    let link = spec(64, 500);
    let ring = || Topology::ring(4, link).expect("a ring");
    assert_eq!(
        message(ring().with_cores(0, link)),
        "ranks_per_chip must be at least 1, got 0"
    );
    let cores = ring().with_cores(2, link).expect("cores");
    assert!(message(cores.with_cores(2, link)).contains("a network of one rank a chip"));
    let is_down = ring().with_faults(&[Fault::LinkDown(LinkId::new(0))]).expect("a ring");
    assert!(message(is_down.with_cores(2, link)).contains("without faults"));
    assert!(message(ring().with_cores(usize::MAX, link)).contains("nodes"));
}
