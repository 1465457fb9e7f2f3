//! Bounds against values known for a topology: closed forms, and optima published by others.

use trncomm_core::bounds::{Bound, BoundKind, Contention, tightest};
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::topology::{LinkInput, LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

const GB: u64 = 1_000_000_000;

fn link(gigabytes_per_second: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(gigabytes_per_second * GB).expect("not zero"),
        latency: Time::ZERO,
    }
}

fn torus(dimensions: &[usize]) -> Topology {
    Topology::torus(dimensions, &[link(1)]).expect("a torus")
}

fn trn3() -> Topology {
    Topology::ultraserver(2, 18, 4, link(256), link(320), link(128)).expect("an UltraServer")
}

fn best(topology: &Topology, collective: Collective, size: u64) -> Bound {
    tightest(
        topology,
        Goal::out_of_place(collective),
        Bytes::new(size),
        1,
        Contention::Links,
    )
    .expect("a bound")
}

/// Asserts that the tightest bound for `blocks` bytes a rank is `numerator / denominator` nanoseconds for each such byte.
fn assert_per_block(topology: &Topology, collective: Collective, (numerator, denominator): (u64, u64)) {
    let block = 1000 * denominator;
    let bound = best(topology, collective, block * topology.ranks() as u64);
    let expected = 1000 * numerator * 1000;
    assert_eq!(
        bound.time.picoseconds(),
        expected,
        "{} of {:?}: {bound:?}",
        collective,
        topology.shape()
    );
}

#[test]
fn all_gather_on_a_torus_is_bound_by_the_links_of_a_chip() {
    // (N − 1) / 2D blocks over unit links.
    for (dimensions, value) in [
        (&[4, 4][..], (15, 4)),
        (&[8, 8], (63, 4)),
        (&[4, 4, 4], (21, 2)),
        (&[3, 3, 3], (13, 3)),
        (&[3, 4, 5], (59, 6)),
        (&[12, 12], (143, 4)),
        (&[4, 4, 9], (143, 6)),
        (&[2, 2, 2], (7, 3)),
    ] {
        let torus = torus(dimensions);
        assert_per_block(&torus, Collective::AllGather, value);
        assert_per_block(&torus, Collective::ReduceScatter, value);
        assert_per_block(&torus, Collective::AllReduce, (2 * value.0, value.1));
    }
}

#[test]
fn all_to_all_on_a_torus_is_bound_by_half_the_mean_distance_of_a_dimension() {
    // The optimum of the linear program: (M/b) · h/2, with h the mean distance on a ring: k/4 if k is even, (k² − 1)/4k if
    // odd; 1/2 · M/b for extent 2, which has one link each way. As fractions of M/b:
    for (dimensions, (numerator, denominator)) in [
        (&[4][..], (1, 2)),
        (&[5], (3, 5)),
        (&[8], (1, 1)),
        (&[3, 3], (1, 3)),
        (&[4, 4], (1, 2)),
        (&[3, 4], (1, 2)),
        (&[3, 3, 3], (1, 3)),
        (&[2, 2, 2], (1, 2)),
        (&[4, 3, 2], (1, 2)),
    ] {
        let torus = torus(dimensions);
        let ranks = torus.ranks() as u64;
        assert_per_block(&torus, Collective::AllToAll, (numerator * ranks, denominator));
    }
}

#[test]
fn an_ultraserver_is_bound_by_a_chip_except_for_all_to_all_by_the_rack() {
    let trn3 = trn3();
    // 13/64 ns a byte: 143 blocks into 704 GB/s.
    assert_per_block(&trn3, Collective::AllGather, (13, 64));
    assert_per_block(&trn3, Collective::ReduceScatter, (13, 64));
    assert_per_block(&trn3, Collective::AllReduce, (13, 32));
    assert_per_block(&trn3, Collective::Broadcast, (144, 704));
    assert_per_block(&trn3, Collective::Reduce, (144, 704));
    // 72 · 72 blocks over 72 links of 128 GB/s.
    assert_per_block(&trn3, Collective::AllToAll, (144, 256));
    assert_eq!(best(&trn3, Collective::AllToAll, 1 << 20).kind, BoundKind::Cut);
    assert_eq!(best(&trn3, Collective::AllGather, 1 << 20).kind, BoundKind::Ejection);
}

/// Links in both directions of pairs of nodes, with a rate in MB/s.
fn cables(pairs: impl IntoIterator<Item = (usize, usize, u64)>, tier: &str) -> Vec<LinkInput> {
    let both = pairs.into_iter().flat_map(|(a, b, rate)| [(a, b, rate), (b, a, rate)]);
    both.map(|(from, to, rate)| one_way(from, to, rate, tier)).collect()
}

fn one_way(from: usize, to: usize, megabytes_per_second: u64, tier: &str) -> LinkInput {
    LinkInput {
        source: from as u64,
        destination: to as u64,
        bandwidth: megabytes_per_second * GB / 1000,
        latency: 0,
        tier: tier.to_owned(),
    }
}

/// The `NVLink` cables of a DGX-1 (NDv2): pairs with two and with one.
fn dgx1(first: usize, rate: u64) -> Vec<(usize, usize, u64)> {
    const DOUBLE: [(usize, usize); 8] = [(0, 1), (0, 4), (1, 3), (2, 3), (2, 6), (4, 5), (5, 7), (6, 7)];
    const SINGLE: [(usize, usize); 8] = [(0, 2), (0, 3), (1, 2), (1, 5), (3, 7), (4, 6), (4, 7), (5, 6)];
    let double = DOUBLE.iter().map(|(a, b)| (first + a, first + b, 2 * rate));
    let single = SINGLE.iter().map(|(a, b)| (first + a, first + b, rate));
    double.chain(single).collect()
}

#[test]
fn a_dgx_1_gathers_seven_blocks_over_six_links() {
    let topology = Topology::from_links(8, 0, &cables(dgx1(0, 1000), "link")).expect("a DGX-1");
    assert_per_block(&topology, Collective::AllGather, (7, 6));
    assert_per_block(&topology, Collective::ReduceScatter, (7, 6));
    assert_per_block(&topology, Collective::AllReduce, (14, 6));
}

/// `boxes` of eight A100 under an `NVSwitch` each, with a NIC each that leads to one of two switches.
fn a100(boxes: usize) -> Topology {
    let gpus = 8 * boxes;
    let (nvswitch, nic, fabric) = (gpus, gpus + boxes, gpus + boxes + gpus);
    let mut links = cables((0..gpus).map(|gpu| (gpu, nvswitch + gpu / 8, 300_000)), "link");
    if boxes > 1 {
        links.extend(cables((0..gpus).map(|gpu| (gpu, nic + gpu, 25_000)), "link"));
        links.extend(cables(
            (0..gpus).map(|gpu| (nic + gpu, fabric + gpu % 2, 25_000)),
            "link",
        ));
    }
    let switches = if boxes > 1 { boxes + gpus + 2 } else { 1 };
    Topology::from_links(gpus, switches, &links).expect("boxes of A100")
}

#[test]
fn a100_boxes_meet_the_optimum_of_forest_coll() {
    for (boxes, value) in [(1, (7, 300)), (2, (3, 65)), (4, (3, 25))] {
        let topology = a100(boxes);
        assert_per_block(&topology, Collective::AllGather, value);
        assert_per_block(&topology, Collective::ReduceScatter, value);
        assert_per_block(&topology, Collective::AllReduce, (2 * value.0, value.1));
    }
}

/// `boxes` of sixteen MI250 dies joined by xGMI links, each with a link to a switch.
fn mi250(boxes: usize) -> Topology {
    // Half a box: the two halves are alike. The numbers count xGMI links.
    const HALF: [(usize, usize, u64); 11] = [
        (0, 1, 4),
        (2, 3, 4),
        (4, 5, 4),
        (6, 7, 4),
        (0, 4, 2),
        (3, 7, 2),
        (1, 5, 1),
        (2, 6, 1),
        (4, 6, 1),
        (5, 6, 1),
        (5, 7, 1),
    ];
    const BETWEEN: [(usize, usize, u64); 6] = [(0, 8, 1), (1, 9, 1), (1, 10, 1), (2, 9, 1), (2, 10, 1), (3, 11, 1)];
    let dies = 16 * boxes;
    let mut links = Vec::new();
    for first in (0..dies).step_by(16) {
        let halves = [first, first + 8]
            .into_iter()
            .flat_map(|base| HALF.map(|(a, b, count)| (base + a, base + b, count)));
        let between = BETWEEN.iter().map(|(a, b, count)| (first + a, first + b, *count));
        links.extend(cables(
            halves.chain(between).map(|(a, b, count)| (a, b, count * 50_000)),
            "link",
        ));
    }
    if boxes > 1 {
        links.extend(cables((0..dies).map(|die| (die, dies, 16_000)), "link"));
    }
    Topology::from_links(dies, usize::from(boxes > 1), &links).expect("boxes of MI250")
}

#[test]
fn mi250_boxes_meet_the_optimum_of_forest_coll() {
    for (boxes, value) in [(1, (7, 150)), (2, (15, 166)), (4, (3, 16))] {
        let topology = mi250(boxes);
        assert_per_block(&topology, Collective::AllGather, value);
        assert_per_block(&topology, Collective::ReduceScatter, value);
        assert_per_block(&topology, Collective::AllReduce, (2 * value.0, value.1));
    }
}

#[test]
fn two_ndv2_are_bound_by_the_link_between_them() {
    let boxes = dgx1(0, 25_000).into_iter().chain(dgx1(8, 25_000));
    let mut links = cables(boxes, "link");
    links.extend([one_way(1, 8, 12_500, "link"), one_way(9, 0, 12_500, "link")]);
    let topology = Topology::from_links(16, 0, &links).expect("two NDv2");
    assert_per_block(&topology, Collective::AllGather, (16, 25));
    assert_per_block(&topology, Collective::ReduceScatter, (16, 25));
    assert_per_block(&topology, Collective::AllReduce, (32, 25));
}

#[test]
fn two_dgx_2_are_bound_by_a_gpu_and_for_all_to_all_by_the_links_between_them() {
    let mut links = cables((0..32).map(|gpu| (gpu, 32 + gpu / 16, 125_000)), "NVSwitch");
    for odd in (1..16).step_by(2) {
        links.push(one_way(odd, 16 + odd - 1, 12_500, "IB"));
        links.push(one_way(16 + odd, odd - 1, 12_500, "IB"));
    }
    let topology = Topology::from_links(32, 2, &links).expect("two DGX-2");
    assert_per_block(&topology, Collective::AllGather, (31, 125));
    // 2 · 31 buffers of 32 blocks out of 32 · 125 + 16 · 12.5 GB/s: less than twice the all-gather.
    assert_per_block(&topology, Collective::AllReduce, (2 * 31 * 32, 4200));
    assert_per_block(&topology, Collective::AllToAll, (16 * 16, 100));
}
