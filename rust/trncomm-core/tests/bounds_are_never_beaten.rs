//! No run beats a bound: every algorithm, on topologies of every shape, at sizes that don't divide.

use std::collections::BTreeMap;

use trncomm_core::algorithm;
use trncomm_core::bounds::tightest;
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Control, Model, simulate};
use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::schedule::Schedule;
use trncomm_core::topology::{Endpoint, Fault, LinkSpec, PacketFormat, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

fn spec(bandwidth: u64, latency: u64) -> LinkSpec {
    LinkSpec {
        bandwidth: Bandwidth::new(bandwidth).expect("not zero"),
        latency: Time::from_picoseconds(latency),
    }
}

fn topologies() -> Vec<Topology> {
    // Rates that divide no packet, so that every serialisation is rounded.
    let (fast, slow) = (spec(7_000_000_011, 1300), spec(999_999_937, 2100));
    [
        Topology::ring(2, fast),
        Topology::ring(5, slow),
        Topology::ring(8, fast),
        Topology::mesh(&[3, 4], &[fast, slow]),
        Topology::torus(&[4, 4], &[fast]),
        Topology::torus(&[2, 3, 3], &[slow, fast, fast]),
        Topology::fully_connected(6, slow),
        Topology::switch(7, 1, fast),
        Topology::switch(8, 3, slow),
        Topology::leaf_spine(3, 4, 2, fast, slow),
        Topology::ultraserver(2, 3, 2, fast, fast, slow),
        Topology::ultraserver(3, 2, 2, slow, fast, slow),
    ]
    .into_iter()
    .map(|topology| topology.expect("a valid shape"))
    .flat_map(|topology| [with_faults(&topology), Some(topology)])
    .flatten()
    .collect()
}

/// The topology with a link to rank 0 down and the others slowed, unevenly; nothing where no other way is left.
fn with_faults(topology: &Topology) -> Option<Topology> {
    let down = topology.in_links(NodeId::new(0))[0];
    let links = (0..topology.links()).map(LinkId::new).filter(|&link| link != down);
    let faults: Vec<Fault> = links
        .map(|link| Fault::LinkSlow {
            link,
            numerator: 1 + link.get() % 3,
            denominator: 3,
        })
        .chain([Fault::LinkDown(down)])
        .collect();
    topology.with_faults(&faults).ok()
}

fn schedules(topology: &Topology) -> Vec<(&'static str, Schedule)> {
    let mut schedules = Vec::new();
    for collective in Collective::ALL {
        let root = RankId::new(if collective.has_root() { topology.ranks() / 2 } else { 0 });
        for algorithm in algorithm::algorithms(collective) {
            // An algorithm may not serve this shape or number of ranks.
            let built = algorithm::build(topology, collective, algorithm.name, root, BTreeMap::new());
            schedules.extend(built.into_iter().map(|schedule| (algorithm.name, schedule)));
        }
    }
    schedules
}

#[test]
fn no_algorithm_beats_a_bound() {
    let endpoint = Endpoint::free()
        .with_launch(Time::from_picoseconds(700))
        .with_completion(Time::from_picoseconds(301));
    // Small packets, so that messages of some kilobytes fill links as large ones do.
    let format = PacketFormat::new(Bytes::new(64), Bytes::ZERO).expect("a packet");
    let (mut compared, mut met) = (0, 0);
    for topology in topologies() {
        let topology = topology.with_endpoint(endpoint).with_packet_format(format);
        let ranks = topology.ranks() as u64;
        let sizes = [
            (0, 1),
            (1, 1),
            (ranks - 1, 1),
            (ranks + 1, 1),
            (4 * (100 * ranks + 3), 4),
        ];
        for (name, schedule) in schedules(&topology) {
            for (size, element) in sizes {
                for model in Model::ALL {
                    let size = Bytes::new(size);
                    let outcome = simulate(&topology, &schedule, size, element, model, &mut |_| Control::Continue)
                        .expect("a schedule that ends");
                    let time = outcome.finish.into_iter().max().expect("ranks");
                    let bound =
                        tightest(&topology, schedule.goal(), size, element, model.into()).expect("a valid goal");
                    assert!(
                        time >= bound.time,
                        "{name} {} of {size} on {} {:?} took {time:?} by {model}, below {bound:?}",
                        schedule.goal().collective,
                        topology.name(),
                        topology.shape(),
                    );
                    compared += 1;
                    let excess = time.saturating_sub(bound.time);
                    met += u32::from(bound.time > Time::ZERO && excess < Time::from_picoseconds(100));
                }
            }
        }
    }
    assert!(compared > 1000, "{compared}");
    // Were bounds far too low, the test would hold for nothing: some runs meet theirs but for the rounding of packets.
    assert!(met > 100, "{met} of {compared}");
}
