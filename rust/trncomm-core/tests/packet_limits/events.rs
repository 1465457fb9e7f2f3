//! What runs cost, in counts that don't depend on the machine.

use trncomm_core::topology::{Arbitration, Fabric, Topology};
use trncomm_core::units::Bytes;

use crate::drive::{Post, deliver, post, spec, with};

const PACKET: u64 = 1000;
const PACKETS: u64 = 32;

/// The events and packet-hops of a run in which every rank of a switch sends to the next one.
fn shifted(ranks: usize, buffer: u64) -> (u64, u64) {
    let fabric = Fabric::default()
        .with_buffer(Bytes::new(buffer * PACKET))
        .with_arbitration(Arbitration::RoundRobin);
    let switch = Topology::switch(ranks, 1, spec(5 * PACKET)).expect("a switch");
    let posts: Vec<Post> = (0..ranks)
        .map(|rank| post(0, rank, (rank + 1) % ranks, PACKETS * PACKET))
        .collect();
    let traffic = deliver(&with(&switch, PACKET, fabric), &posts).traffic;
    assert_eq!(traffic.packet_hops, 2 * PACKETS * ranks as u64);
    (traffic.events, traffic.packet_hops)
}

#[test]
fn a_packet_over_a_switch_of_8192_ports_takes_as_many_events_as_over_one_of_144() {
    let (few, many) = (shifted(144, 16).0, shifted(8192, 16).0);
    // All ranks do the same, so the events are those of one rank as often as there are ranks.
    assert_eq!(few % 144, 0);
    assert_eq!(many, few / 144 * 8192);
}

#[test]
fn links_that_start_packets_ahead_take_less_than_an_event_a_packet_hop() {
    // One event at the switch for each packet, which is half of one a packet-hop, and few at the sender: also where the
    // buffer is smaller than what is under way in a loop of credits, of 1 + 5 + 1 + 5 packets.
    for buffer in [16, 8] {
        let (events, hops) = shifted(144, buffer);
        assert!(4 * events <= 3 * hops, "{events} events for {hops} packet-hops");
    }
}
