//! Who waits behind whom, and whose turn it is.

use trncomm_core::topology::{Arbitration, Fabric, Queueing, Topology};
use trncomm_core::units::Bytes;

use crate::drive::{Post, Run, deliver, post, spec, with};

const PACKET: u64 = 1000;
const LATENCY: u64 = 300;

fn switch(ranks: usize, fabric: Fabric) -> Topology {
    with(
        &Topology::switch(ranks, 1, spec(LATENCY)).expect("a switch"),
        PACKET,
        fabric,
    )
}

/// Ranks 1, 2 and 3 send a packet each to rank 4, rank 0 a moment later one to rank 4 and then one to rank 5.
fn behind_a_crowd(queueing: Queueing) -> Run {
    let topology = switch(
        6,
        Fabric::default()
            .with_queueing(queueing)
            .with_buffer(Bytes::new(2 * PACKET)),
    );
    deliver(
        &topology,
        &[
            post(0, 1, 4, PACKET),
            post(0, 2, 4, PACKET),
            post(0, 3, 4, PACKET),
            post(1, 0, 4, PACKET),
            post(1, 0, 5, PACKET),
        ],
    )
}

#[test]
fn with_input_queues_a_packet_waits_behind_one_that_waits_for_another_output() {
    let run = behind_a_crowd(Queueing::Input);
    // The link to rank 4 is busy with four packets from the moment on at which the first have come.
    let first_has_left = LATENCY + PACKET + 4 * PACKET;
    assert_eq!(run.delivered[3], first_has_left + LATENCY);
    assert_eq!(run.delivered[4], first_has_left + PACKET + LATENCY);
}

#[test]
fn with_virtual_output_queues_it_does_not() {
    let run = behind_a_crowd(Queueing::VirtualOutput);
    assert_eq!(run.delivered[3], LATENCY + PACKET + 4 * PACKET + LATENCY);
    // It came a packet's time behind the other of its sender, which entered at 1.
    assert_eq!(run.delivered[4], 1 + 2 * PACKET + LATENCY + PACKET + LATENCY);
}

#[test]
fn a_packet_waits_from_when_it_came_also_where_it_waits_in_line() {
    let run = behind_a_crowd(Queueing::Input);
    // Out of the switch, the link to rank 5 is the last one but none of its own plane.
    let to_rank_5 = 2 * 5 + 1;
    let came = 1 + 2 * PACKET + LATENCY;
    assert_eq!(run.traffic.link_longest_wait[to_rank_5], LATENCY + 5 * PACKET - came);
    let area = u128::from(run.traffic.link_longest_wait[to_rank_5]) * u128::from(PACKET);
    assert_eq!(run.traffic.queue_area[to_rank_5], area);
}

/// Every other rank sends so many packets to rank 0 at once.
fn incast(senders: usize, packets: u64) -> Vec<Post> {
    (1..=senders).map(|from| post(0, from, 0, packets * PACKET)).collect()
}

#[test]
fn an_incast_takes_the_bytes_over_the_rate_and_the_start() {
    for arbitration in [Arbitration::FirstCome, Arbitration::RoundRobin] {
        // A buffer holds what the link brings while the switch serves the other sender and the credit comes back.
        let fabric = Fabric::default()
            .with_buffer(Bytes::new(4 * PACKET))
            .with_arbitration(arbitration);
        let topology = switch(144, fabric);
        for senders in 2..=143 {
            let run = deliver(&topology, &incast(senders, 7));
            let start = PACKET + 2 * LATENCY;
            assert_eq!(run.time(), start + senders as u64 * 7 * PACKET, "{senders} senders");
        }
    }
}

#[test]
fn an_incast_fills_no_buffer_past_its_size_and_holds_its_senders() {
    let size = 3 * PACKET;
    let topology = switch(10, Fabric::default().with_buffer(Bytes::new(size)));
    let run = deliver(&topology, &incast(9, 20));
    for rank in 1..10 {
        let up = 2 * rank;
        assert!(run.traffic.buffer_peak[up] <= size);
        assert!(
            run.traffic.link_held[up] > 0,
            "the link up from rank {rank} stood still"
        );
    }
    // Without a limit all of them pile up.
    let unlimited = deliver(&switch(10, Fabric::default()), &incast(9, 20));
    assert!(unlimited.traffic.buffer_peak[2] > 15 * PACKET);
    assert_eq!(unlimited.time(), run.time());
}

#[test]
fn a_link_with_a_buffer_of_one_packet_sends_one_a_credit_loop() {
    // Out at 0, in at P + L, on and gone at 2 P + L, the credit back at 2 P + 2 L.
    let topology = switch(2, Fabric::default().with_buffer(Bytes::new(PACKET)));
    for packets in 1..10 {
        let run = deliver(&topology, &[post(0, 0, 1, packets * PACKET)]);
        let last_starts = (packets - 1) * 2 * (PACKET + LATENCY);
        assert_eq!(run.time(), last_starts + 2 * (PACKET + LATENCY));
        assert_eq!(run.traffic.link_held[0], (packets - 1) * (PACKET + 2 * LATENCY));
    }
}

#[test]
fn turns_share_an_output_alike_and_begin_after_its_own_index() {
    let senders = [0, 1, 3, 5];
    let packets = 9;
    let fabric = Fabric::default()
        .with_buffer(Bytes::new(4 * PACKET))
        .with_arbitration(Arbitration::RoundRobin);
    let posts: Vec<Post> = senders.iter().map(|&from| post(0, from, 2, packets * PACKET)).collect();
    let run = deliver(&switch(6, fabric), &posts);
    // From port 2 on: 3, 5, 0, 1.
    let mut expected = vec![0; 4];
    for (turn, sender) in [2, 3, 0, 1].into_iter().enumerate() {
        let before = (packets - 1) * 4 + turn as u64;
        expected[sender] = PACKET + LATENCY + (before + 1) * PACKET + LATENCY;
    }
    assert_eq!(run.delivered, expected);
}

#[test]
fn first_come_favours_whoever_came_in_numbers() {
    // Ranks 0 and 1 both send ten packets; those of rank 0 are all there when those of rank 1 begin to come, as they could not
    // leave: rank 3 had the output.
    let posts = [
        post(0, 3, 2, 12 * PACKET),
        post(1, 0, 2, 10 * PACKET),
        post(10 * PACKET, 1, 2, 10 * PACKET),
    ];
    let ends = |arbitration| {
        let run = deliver(&switch(4, Fabric::default().with_arbitration(arbitration)), &posts);
        (run.delivered[1], run.delivered[2])
    };
    let (early, late) = ends(Arbitration::FirstCome);
    let (early_in_turn, late_in_turn) = ends(Arbitration::RoundRobin);
    assert_eq!(
        late.max(early),
        late_in_turn.max(early_in_turn),
        "the output never rests"
    );
    assert!(early < early_in_turn, "{early} {early_in_turn}");
}
