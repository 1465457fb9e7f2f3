//! Links that err, are slow or down; switches and planes that are down.

use trncomm_core::engine::Switched;
use trncomm_core::error::{SimulationError, TopologyError};
use trncomm_core::ids::{LinkId, NodeId};
use trncomm_core::topology::{Fabric, Fault, Policy, Topology};
use trncomm_core::units::Bytes;

use crate::drive::{Post, Run, deliver, post, spec, with};

const PACKET: u64 = 1000;
const LATENCY: u64 = 300;

fn pair() -> Topology {
    with(
        &Topology::ring(2, spec(LATENCY)).expect("a pair"),
        PACKET,
        Fabric::default(),
    )
}

fn erring(topology: &Topology, link: usize, bit_error_rate: f64) -> Topology {
    let fault = Fault::LinkErrors {
        link: LinkId::new(link),
        bit_error_rate,
    };
    topology.with_faults(&[fault]).expect("a view")
}

/// How often packets were sent again in a run over one link: each time takes a serialisation and two latencies.
fn retries(clean: &Run, erring: &Run) -> u64 {
    let more = erring.time() - clean.time();
    let once = PACKET + 2 * LATENCY;
    assert_eq!(more % once, 0, "{more} ps are no whole number of retries");
    more / once
}

#[test]
fn packets_sent_again_take_a_packet_and_two_latencies_each() {
    let posts = [post(0, 0, 1, 1000 * PACKET)];
    let clean = deliver(&pair(), &posts);
    // A packet fails with 1 − (1 − 1/20000)^8000 = 33 %, so that a thousand need about 492 more, give or take 27 (σ).
    let again = retries(&clean, &deliver(&erring(&pair(), 0, 1.0 / 20_000.0), &posts));
    assert!((492 - 5 * 27..492 + 5 * 27).contains(&again), "{again} retries");
    // Of the other direction nothing is lost.
    assert_eq!(retries(&clean, &deliver(&erring(&pair(), 1, 0.000_05), &posts)), 0);
    // Once in 125 million bits isn't once in 8 million.
    let rare = retries(&clean, &deliver(&erring(&pair(), 0, 8e-9), &posts));
    assert!(rare <= 3, "{rare} retries");
}

#[test]
fn packets_sent_again_stay_in_order_and_count_once() {
    let posts: Vec<Post> = (1..40).map(|count| post(count, 0, 1, count * 100)).collect();
    let (clean, erring) = (deliver(&pair(), &posts), deliver(&erring(&pair(), 0, 5e-5), &posts));
    assert!(erring.time() > clean.time());
    assert_eq!(erring.order, clean.order);
    assert_eq!(erring.traffic.link_bytes, clean.traffic.link_bytes);
    assert_eq!(erring.traffic.reordered, 0);
}

#[test]
fn errors_repeat() {
    let posts = [post(0, 0, 1, 300 * PACKET), post(0, 1, 0, 300 * PACKET)];
    let topology = erring(&erring(&pair(), 0, 3e-5), 1, 3e-5);
    let run = deliver(&topology, &posts);
    assert_eq!(run, deliver(&topology, &posts));
    assert_ne!(run.delivered[0], run.delivered[1], "links draw for themselves");
}

#[test]
fn errors_hold_back_credits_too() {
    let fabric = Fabric::default().with_buffer(Bytes::new(PACKET));
    let switch = with(
        &Topology::switch(3, 1, spec(LATENCY)).expect("a switch"),
        PACKET,
        fabric,
    );
    let posts = [post(0, 0, 2, 200 * PACKET), post(0, 1, 2, 200 * PACKET)];
    // The link down to rank 2.
    let (clean, erring) = (deliver(&switch, &posts), deliver(&erring(&switch, 5, 3e-5), &posts));
    assert!(erring.traffic.link_held[0] > clean.traffic.link_held[0]);
}

#[test]
fn a_link_that_passes_hardly_anything_is_refused() {
    let topology = erring(&pair(), 0, 0.01);
    let error = Switched::new(&topology).expect_err("a packet of 8000 bits never passes");
    assert!(
        matches!(
            &error,
            SimulationError::Option {
                option: "bit error rate",
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("on link 0"), "{error}");
}

#[test]
fn a_link_down_is_gone_round() {
    let fabric = Fabric::default().with_buffer(Bytes::new(4 * PACKET));
    let ring = with(&Topology::ring(5, spec(LATENCY)).expect("a ring"), PACKET, fabric);
    let hops = |count: u64| count * (PACKET + LATENCY);
    assert_eq!(deliver(&ring, &[post(0, 0, 1, PACKET)]).time(), hops(1));
    let broken = ring
        .with_faults(&[Fault::LinkDown(LinkId::new(0))])
        .expect("another way");
    let run = deliver(&broken, &[post(0, 0, 1, PACKET)]);
    assert_eq!(run.time(), hops(4));
    assert_eq!(run.traffic.link_bytes[0], 0);
}

#[test]
fn a_link_down_without_another_way_is_an_error_that_names_the_pair() {
    let line = Topology::mesh(&[3], &[spec(LATENCY)]).expect("a line");
    let last = (0..line.links())
        .map(LinkId::new)
        .find(|&link| line.source(link).get() == 1 && line.destination(link).get() == 2)
        .expect("neighbours");
    let error = line
        .with_faults(&[Fault::LinkDown(last)])
        .expect_err("rank 2 is cut off");
    assert!(
        matches!(error, TopologyError::Disconnected { from: 0, to: 2 }),
        "{error}"
    );
    assert_eq!(error.to_string(), "there is no path from rank 0 to rank 2");
}

#[test]
fn a_slow_link_takes_longer_by_its_fraction() {
    let slow = Fault::LinkSlow {
        link: LinkId::new(0),
        numerator: 1,
        denominator: 4,
    };
    let topology = pair().with_faults(&[slow]).expect("a view");
    let run = deliver(&topology, &[post(0, 0, 1, 10 * PACKET), post(0, 1, 0, 10 * PACKET)]);
    assert_eq!(run.delivered, [40 * PACKET + LATENCY, 10 * PACKET + LATENCY]);
}

#[test]
fn without_a_plane_the_others_carry_its_share() {
    let planes = Topology::switch(4, 3, spec(LATENCY)).expect("a switch");
    // Plane p is node 4 + p.
    let down = planes
        .with_faults(&[Fault::NodeDown(NodeId::new(5))])
        .expect("two are left");
    for policy in [Policy::Spray, Policy::Adaptive] {
        let run = |topology: &Topology| {
            let topology = with(topology, PACKET, Fabric::default().with_policy(policy));
            deliver(&topology, &[post(0, 0, 1, 12 * PACKET)])
        };
        let end = LATENCY + PACKET + LATENCY;
        assert_eq!(run(&planes).time(), 4 * PACKET + end);
        let left = run(&down);
        assert_eq!(left.time(), 6 * PACKET + end);
        assert_eq!(left.traffic.link_bytes[2], 0);
    }
}

#[test]
fn without_a_spine_the_others_carry_its_share() {
    let leaves = Topology::leaf_spine(2, 2, 2, spec(LATENCY), spec(LATENCY)).expect("leaves");
    let down = leaves
        .with_faults(&[Fault::NodeDown(NodeId::new(6))])
        .expect("one is left");
    let fabric = Fabric::default()
        .with_buffer(Bytes::new(4 * PACKET))
        .with_policy(Policy::Spray);
    let posts = [post(0, 0, 2, 20 * PACKET), post(0, 1, 3, 20 * PACKET)];
    let whole = deliver(&with(&leaves, PACKET, fabric), &posts);
    let half = deliver(&with(&down, PACKET, fabric), &posts);
    let end = LATENCY + 3 * (PACKET + LATENCY);
    assert_eq!(whole.time(), 20 * PACKET + end);
    assert_eq!(half.time(), 40 * PACKET + end);
}
