//! Cases that can be worked out by hand. Links carry 1 GB/s: a thousand picoseconds a byte.

use trncomm_core::engine::{Advance, Due, Flow, FlowOptions, Network};
use trncomm_core::topology::{Endpoint, Fabric, LinkInput, PacketFormat, Policy, Topology, Touches};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use crate::{Post, deliveries, link};

fn post(source: u32, destination: u32, bytes: u64) -> Post {
    Post {
        at: 0,
        source,
        destination,
        bytes,
    }
}

fn flow(topology: &Topology) -> Flow<'_> {
    Flow::new(topology, FlowOptions::default())
}

/// A line of chips whose links upwards have these bandwidths, in GB/s, without latency.
fn line(bandwidths: &[u64]) -> Topology {
    let cables: Vec<LinkInput> = (0..)
        .zip(bandwidths)
        .flat_map(|(chip, gigabytes)| {
            [(chip, chip + 1), (chip + 1, chip)].map(|(source, destination)| LinkInput {
                source,
                destination,
                bandwidth: gigabytes * 1_000_000_000,
                latency: 0,
                tier: "line".to_owned(),
            })
        })
        .collect();
    Topology::from_links(bandwidths.len() + 1, 0, &cables).expect("a line")
}

#[test]
fn a_message_alone_takes_its_serialization_and_the_latency_of_its_route() {
    let topology = Topology::switch(4, 1, link(3, 7)).expect("a shape");
    // 1000 bytes at 3 GB/s: 333,333.3 ps, rounded up; two links of 7 ns.
    assert_eq!(
        deliveries(&mut flow(&topology), &[post(0, 1, 1000)]),
        [333_334 + 14_000]
    );
}

#[test]
fn an_empty_message_takes_the_latency_alone() {
    let topology = Topology::switch(4, 1, link(3, 7)).expect("a shape");
    let posts = [post(0, 1, 0), Post { at: 5, ..post(2, 3, 0) }];
    assert_eq!(deliveries(&mut flow(&topology), &posts), [14_000, 14_005]);
}

#[test]
fn on_the_parking_lot_the_long_flow_gets_half_of_every_link() {
    let topology = line(&[1, 1, 1]);
    // The long one drains 500 bytes by 1 ms of bytes, when the short ones end, and its other 500 alone.
    let posts = [post(0, 3, 1000), post(0, 1, 500), post(1, 2, 500), post(2, 3, 500)];
    let times = deliveries(&mut flow(&topology), &posts);
    assert_eq!(times, [1_500_000, 1_000_000, 1_000_000, 1_000_000]);
}

#[test]
fn on_the_uneven_parking_lot_what_the_long_flow_leaves_goes_to_the_short_ones() {
    let topology = line(&[1, 4]);
    // Links 0→1 of 1 GB/s and 1→2 of 4 GB/s: the long flow and one more share the first, 0.5 each; the other gets 3.5.
    let posts = [post(0, 2, 1000), post(0, 1, 1000), post(1, 2, 7000)];
    assert_eq!(deliveries(&mut flow(&topology), &posts), [2_000_000; 3]);
}

#[test]
fn two_flows_share_the_link_in_the_middle() {
    let topology = Topology::leaf_spine(2, 2, 1, link(1, 0), link(1, 0)).expect("a shape");
    assert_eq!(
        deliveries(&mut flow(&topology), &[post(0, 2, 1000), post(1, 3, 1000)]),
        [2_000_000; 2]
    );
}

#[test]
fn the_bottleneck_moves_when_a_flow_ends() {
    // a: 0→2 over both links; b: 0→1 on the slow one; c: 1→2 on the fast one. At first the slow link (1 GB/s) holds a
    // and b to 0.5, and c gets 1.5 of 2. b ends at 1000 ns; then the fast link holds a and c to 1 each, the slow one
    // as well. a has 500 left, which takes 500 ns. c has 1500 of 3000 left, gets 1 for 500 ns, then 2 for the last 1000.
    let topology = line(&[1, 2]);
    let posts = [post(0, 2, 1000), post(0, 1, 500), post(1, 2, 3000)];
    assert_eq!(
        deliveries(&mut flow(&topology), &posts),
        [1_500_000, 1_000_000, 2_000_000]
    );
}

#[test]
fn a_late_flow_takes_its_share_from_when_it_enters() {
    let topology = line(&[1, 1]);
    // 500 of the first are served when the second enters; both have 500 left at half the rate.
    let late = Post {
        at: 500_000,
        ..post(1, 2, 500)
    };
    assert_eq!(
        deliveries(&mut flow(&topology), &[post(0, 2, 1000), late]),
        [1_500_000; 2]
    );
}

#[test]
fn messages_of_one_pair_are_served_in_the_order_of_entering() {
    let topology = Topology::switch(4, 1, link(1, 7)).expect("a shape");
    // The empty one waits for those before it, and takes no time by itself.
    let posts = [post(0, 1, 300), post(0, 1, 100), post(0, 1, 0), post(0, 1, 200)];
    assert_eq!(
        deliveries(&mut flow(&topology), &posts),
        [314_000, 414_000, 414_000, 614_000]
    );
    // What enters later waits, though it was posted first.
    let late = Post {
        at: 1000,
        ..post(0, 1, 300)
    };
    assert_eq!(
        deliveries(&mut flow(&topology), &[late, post(0, 1, 100)]),
        [414_000, 114_000]
    );
}

#[test]
fn a_pair_with_a_line_has_the_share_of_one_message() {
    let topology = Topology::switch(4, 1, link(1, 0)).expect("a shape");
    // Two pairs share rank 2's link: 400 of each by 800 ns; rank 0's other 600 take 600 ns more.
    let mut posts = vec![post(0, 2, 100); 10];
    posts.push(post(1, 2, 400));
    let times = deliveries(&mut flow(&topology), &posts);
    let together = (1..=4).map(|piece| piece * 200_000);
    let alone = (1..=6).map(|piece| 800_000 + piece * 100_000);
    assert_eq!(times, together.chain(alone).chain([800_000]).collect::<Vec<u64>>());
}

#[test]
fn an_incast_takes_the_time_of_all_bytes_on_the_last_link() {
    for senders in 2..=143 {
        let topology = Topology::switch(144, 1, link(7, 500)).expect("a shape");
        let posts: Vec<Post> = (1..=senders).map(|sender| post(sender, 0, 100_003)).collect();
        let drained = (u64::from(senders) * 100_003 * 1000).div_ceil(7);
        assert_eq!(
            deliveries(&mut flow(&topology), &posts),
            vec![drained + 1_000_000; posts.len()]
        );
    }
}

#[test]
fn an_all_to_all_at_once_takes_the_time_of_all_blocks_on_a_link() {
    let topology = Topology::switch(100, 1, link(3, 500)).expect("a shape");
    let pairs = (0..100).flat_map(|i| (0..100).filter(move |&j| j != i).map(move |j| (i, j)));
    let posts: Vec<Post> = pairs.map(|(i, j)| post(i, j, 10_000)).collect();
    // 99 blocks of 10,000 bytes at 3 GB/s, and two links.
    assert_eq!(
        deliveries(&mut flow(&topology), &posts),
        vec![330_000_000 + 1_000_000; 9900]
    );
}

#[test]
fn a_cap_holds_a_message_back_and_leaves_the_rest_to_others() {
    let topology = Topology::leaf_spine(2, 2, 1, link(1, 0), link(1, 0)).expect("a shape");
    let cap = Bandwidth::new(250_000_000).expect("above zero");
    let mut capped = Flow::new(&topology, FlowOptions::default().with_cap(cap));
    // Three over the middle link at 1/4 GB/s each don't fill it.
    let posts = [post(0, 2, 1000), post(1, 3, 1000), post(0, 3, 500)];
    assert_eq!(deliveries(&mut capped, &posts), [4_000_000, 4_000_000, 2_000_000]);
}

#[test]
fn shares_by_the_round_trip_are_as_one_over_the_latency() {
    // 0→1→2→3 with 100 ns each; the last link is shared by routes of one, two and three links: 6, 3 and 2 parts of 11.
    let ring = Topology::ring(8, link(11, 100)).expect("a shape");
    let posts = [post(2, 3, 6000), post(1, 3, 3000), post(0, 3, 2000)];
    let mut weighted = Flow::new(&ring, FlowOptions::default().with_round_trip_weights());
    // All drain after 1 µs.
    assert_eq!(deliveries(&mut weighted, &posts), [1_100_000, 1_200_000, 1_300_000]);
    // By messages, a third each: 2000 of each by 545,455 ps; then the two others have half.
    let plain = deliveries(&mut flow(&ring), &posts);
    assert_eq!(plain[2], 545_455 + 300_000);
}

#[test]
fn a_window_allows_its_size_for_every_round_trip() {
    let topology = Topology::switch(4, 1, link(1, 500)).expect("a shape");
    let options = FlowOptions::default()
        .with_window(Bytes::new(1000))
        .expect("above zero");
    // 1000 bytes every 2 µs: 0.5 GB/s.
    assert_eq!(
        deliveries(&mut Flow::new(&topology, options), &[post(0, 1, 1000)]),
        [2_000_000 + 1_000_000]
    );
    assert!(FlowOptions::default().with_window(Bytes::ZERO).is_err());
}

#[test]
fn a_message_that_can_not_drain_in_time_is_refused() {
    let topology = line(&[1]);
    let mut network = flow(&topology);
    let refused = network.post(Time::ZERO, 0, 0.into(), 1.into(), Bytes::new(u64::MAX));
    assert!(refused.is_err());
    let stranger = network.post(Time::ZERO, 0, 0.into(), 9.into(), Bytes::new(1));
    assert!(stranger.is_err());
}

#[test]
fn links_carry_each_byte_once_and_are_busy_while_they_have_messages() {
    let topology = line(&[1, 1]);
    let mut network = flow(&topology);
    let late = Post {
        at: 5_000_000,
        ..post(1, 2, 100)
    };
    deliveries(&mut network, &[post(0, 2, 1000), post(0, 1, 500), late]);
    let traffic = network.traffic();
    // Links in the order 0→1, 1→0, 1→2, 2→1.
    assert_eq!(traffic.link_bytes, [1500, 0, 1100, 0]);
    assert_eq!(traffic.link_busy, [1_500_000, 0, 1_600_000, 0]);
    assert_eq!(traffic.packet_hops, 4);
}

fn with_memory(topology: Topology, gigabytes: u64, touches: Touches) -> Topology {
    let rate = Bandwidth::new(gigabytes * 1_000_000_000).expect("above zero");
    topology.with_endpoint(Endpoint::free().with_memory(rate, touches))
}

#[test]
fn a_memory_serves_a_message_once_for_each_touch() {
    let switch = Topology::switch(4, 1, link(10, 0)).expect("a shape");
    let touches = Touches {
        read: 2,
        write: 5,
        reduce: 0,
    };
    let topology = with_memory(switch, 10, touches);
    // The receiver's memory gives 10 / 5 = 2 GB/s.
    assert_eq!(deliveries(&mut flow(&topology), &[post(0, 1, 1000)]), [500_000]);
    // Rank 1 reads twice while it writes five times, at one rate: 10 / 7 GB/s each, until both end.
    let both = [post(0, 1, 1000), post(1, 2, 1000)];
    assert_eq!(deliveries(&mut flow(&topology), &both), [700_000, 700_000]);
}

#[test]
fn what_passes_a_memory_shares_it_with_messages() {
    let switch = Topology::switch(4, 1, link(10, 0)).expect("a shape");
    let topology = with_memory(switch, 10, Touches::ONE_EACH);
    let mut network = flow(&topology);
    let bytes = Bytes::new(1000);
    network
        .post(Time::ZERO, 0, 0.into(), 1.into(), bytes)
        .expect("ranks of the switch");
    network.touch(1.into(), bytes, 7).expect("a memory");
    let mut due = Vec::new();
    // Half of 10 GB/s each.
    assert_eq!(network.advance(&mut due), Advance::Due(Time::from_picoseconds(200_000)));
    assert_eq!(due, [Due::Delivered(0), Due::Woken(7)]);
}

#[test]
fn spread_messages_use_all_planes() {
    for policy in [Policy::Spray, Policy::Adaptive] {
        let fabric = Fabric::default().with_policy(policy);
        let planes = Topology::switch(4, 3, link(1, 7)).expect("a shape").with_fabric(fabric);
        // Three planes of 1 GB/s, and two links of 7 ns.
        assert_eq!(
            deliveries(&mut flow(&planes), &[post(0, 1, 3000)]),
            [1_000_000 + 14_000]
        );
        let clos = Topology::leaf_spine(2, 2, 2, link(4, 0), link(1, 0))
            .expect("a shape")
            .with_fabric(fabric);
        // Two ways of 1 GB/s between leaves for two messages, while a third has the rest of its sender's 4 GB/s.
        let posts = [post(0, 2, 1000), post(1, 3, 1000), post(0, 1, 3000)];
        assert_eq!(deliveries(&mut flow(&clos), &posts), [1_000_000, 1_000_000, 1_000_000]);
    }
}

#[test]
fn a_link_carries_its_part_of_what_is_spread() {
    let fabric = Fabric::default().with_policy(Policy::Spray);
    let planes = Topology::switch(2, 3, link(1, 7)).expect("a shape").with_fabric(fabric);
    let mut network = flow(&planes);
    deliveries(&mut network, &[post(0, 1, 3000), post(1, 0, 600)]);
    let traffic = network.traffic();
    // Rank 0's links up and down come in pairs, plane by plane, then rank 1's.
    let bytes = [1000, 200, 1000, 200, 1000, 200, 200, 1000, 200, 1000, 200, 1000];
    assert_eq!(traffic.link_bytes, bytes);
    assert_eq!(traffic.packet_hops, 4);
}

#[test]
fn the_endpoints_window_caps_a_message() {
    let endpoint = Endpoint::free().with_window(Bytes::new(1000));
    let topology = Topology::switch(4, 1, link(1, 500))
        .expect("a shape")
        .with_packet_format(PacketFormat::new(Bytes::new(100), Bytes::ZERO).expect("a packet that fits"))
        .with_endpoint(endpoint);
    let mut network = Flow::new(&topology, FlowOptions::of(&topology));
    // 1000 bytes every 2 µs: 0.5 GB/s.
    assert_eq!(deliveries(&mut network, &[post(0, 1, 1000)]), [2_000_000 + 1_000_000]);
}
