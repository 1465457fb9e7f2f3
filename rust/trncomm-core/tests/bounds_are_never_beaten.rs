//! No run beats a bound: every algorithm, on topologies of every shape, at sizes that don't divide.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use trncomm_core::algorithm;
use trncomm_core::bounds::{Contention, tightest};
use trncomm_core::collective::Collective;
use trncomm_core::engine::{Advance, Control, Due, MessageId, Network, Traffic, Untracked, run};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::RankId;
use trncomm_core::schedule::{Code, Layout};
use trncomm_core::topology::{Endpoint, LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

/// The payload of a packet.
const PACKET: u64 = 64;

/// A network whose links send one packet at a time, packets in the order in which their messages were posted.
///
/// Messages are small trains of packets that are stored and forwarded, so its times are those of a network that could
/// be built; that it is a greedy one only makes them longer.
struct Trains<'t> {
    topology: &'t Topology,
    free: Vec<Time>,
    events: BinaryHeap<Reverse<(Time, bool, u32)>>,
}

impl Network for Trains<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let mut path = Vec::new();
        self.topology.route(source, destination, &mut path)?;
        let mut end = at;
        for packet in 0..bytes.get().div_ceil(PACKET).max(1) {
            let payload = Bytes::new((bytes.get() - packet * PACKET).min(PACKET));
            end = at;
            for &link in &path {
                let free = &mut self.free[link.index()];
                *free = end.max(*free) + self.topology.bandwidth(link).serialization(payload);
                end = *free + self.topology.latency(link);
            }
        }
        self.events.push(Reverse((end, false, message)));
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.events.push(Reverse((at, true, token)));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        let Some(&Reverse((now, _, _))) = self.events.peek() else {
            return Advance::Idle;
        };
        while let Some(&Reverse((time, is_wake, id))) = self.events.peek()
            && time == now
        {
            self.events.pop();
            due.push(if is_wake { Due::Woken(id) } else { Due::Delivered(id) });
        }
        Advance::Due(now)
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}

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
    .collect()
}

#[test]
fn no_algorithm_beats_a_bound() {
    let (mut compared, mut met) = (0, 0);
    for topology in topologies() {
        let launch = Time::from_picoseconds(700);
        let endpoint = Endpoint::free()
            .with_launch(launch)
            .with_completion(Time::from_picoseconds(301));
        let topology = topology.with_endpoint(endpoint);
        let ranks = topology.ranks() as u64;
        for collective in Collective::ALL {
            for algorithm in algorithm::algorithms(collective) {
                let root = RankId::new(if collective.has_root() { topology.ranks() / 2 } else { 0 });
                let schedule = algorithm::build(&topology, collective, algorithm.name, root, BTreeMap::new())
                    .expect("these algorithms serve any number of ranks");
                for (size, element) in [
                    (0, 1),
                    (1, 1),
                    (ranks - 1, 1),
                    (ranks + 1, 1),
                    (4 * (100 * ranks + 3), 4),
                ] {
                    let size = Bytes::new(size);
                    let layout = Layout::new(size, element, schedule.chunks()).expect("whole elements");
                    let code = Code::new(&schedule, layout).expect("a valid schedule");
                    let network = Trains {
                        topology: &topology,
                        free: vec![Time::ZERO; topology.links()],
                        events: BinaryHeap::new(),
                    };
                    let outcome = run(&code, topology.endpoint(), network, Untracked, &mut |_| {
                        Control::Continue
                    })
                    .expect("a schedule that ends");
                    let time = outcome.finish.into_iter().max().expect("ranks");
                    let bound =
                        tightest(&topology, schedule.goal(), size, element, Contention::Links).expect("a valid goal");
                    assert!(
                        time >= bound.time,
                        "{} {collective} of {size} on {} {:?} took {time:?}, below {bound:?}",
                        algorithm.name,
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
    assert!(compared > 500, "{compared}");
    // Were bounds far too low, the test would hold for nothing: some runs meet theirs but for the rounding of packets.
    assert!(met > 50, "{met} of {compared}");
}
