//! Bounds against values known for a topology: closed forms, and optima published by others.

use trncomm_core::bounds::{Bound, BoundKind, Contention, tightest};
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::topology::{LinkSpec, Topology};
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
