//! The packet model agrees, to the picosecond, with a slow simulator that is plain enough to be read as the rules.

mod common;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use common::traffic::{Job, collective_job, traffic_job};
use common::{cases, run_on, serialization};
use proptest::prelude::*;
use trncomm_core::engine::{Advance, Due, MessageId, Network, Packet, Traffic};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::{LinkId, RankId};
use trncomm_core::topology::Topology;
use trncomm_core::units::{Bytes, Time};

/// A packet, on its way or in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Parcel {
    message: MessageId,
    /// Its bytes with the header.
    wire: u64,
    is_last: bool,
    /// The position in its route of the link that it waits for or is on.
    hop: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A message enters the network at its source.
    Entered(MessageId),
    /// A link has sent the last byte of a packet.
    Sent(usize),
    /// A packet has come to the end of its link.
    Arrived(Parcel),
    Woken(u32),
}

struct Message {
    route: Vec<LinkId>,
    bytes: u64,
}

/// The rules of the packet model, one event each: every packet waits in a queue at every link of its route.
struct PlainPackets<'t> {
    topology: &'t Topology,
    now: u64,
    /// By time, then in the order in which they were made.
    heap: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    made: u64,
    messages: BTreeMap<MessageId, Message>,
    queues: Vec<VecDeque<Parcel>>,
    sending: Vec<bool>,
    traffic: Traffic,
}

impl<'t> PlainPackets<'t> {
    fn new(topology: &'t Topology) -> Self {
        Self {
            topology,
            now: 0,
            heap: BinaryHeap::new(),
            made: 0,
            messages: BTreeMap::new(),
            queues: vec![VecDeque::new(); topology.links()],
            sending: vec![false; topology.links()],
            traffic: Traffic {
                link_bytes: vec![0; topology.links()],
                link_busy: vec![0; topology.links()],
                ..Traffic::default()
            },
        }
    }

    fn plan(&mut self, time: u64, happening: Happening) {
        self.heap.push(Reverse((time, self.made, happening)));
        self.made += 1;
    }

    /// Takes the next thing that happens at this very instant.
    fn take_at(&mut self, instant: u64) -> Option<Happening> {
        let &Reverse((time, _, happening)) = self.heap.peek()?;
        (time == instant).then(|| {
            self.heap.pop();
            happening
        })
    }

    /// Cuts a message into packets, which queue for the first link.
    fn enter(&mut self, id: MessageId) {
        let format = self.topology.packet_format();
        let message = &self.messages[&id];
        let queue = &mut self.queues[message.route[0].index()];
        let mut left = message.bytes;
        loop {
            let payload = left.min(format.payload().get());
            left -= payload;
            queue.push_back(Parcel {
                message: id,
                wire: payload + format.header().get(),
                is_last: left == 0,
                hop: 0,
            });
            if left == 0 {
                break;
            }
        }
    }

    /// Lets every link that is idle send the packet that waits for it first.
    fn start_idle_links(&mut self) {
        for link in 0..self.queues.len() {
            if self.sending[link] {
                continue;
            }
            if let Some(parcel) = self.queues[link].pop_front() {
                let id = LinkId::new(link);
                let span = serialization(parcel.wire, self.topology.bandwidth(id).bytes_per_second());
                let latency = self.topology.latency(id).picoseconds();
                self.sending[link] = true;
                self.traffic.link_bytes[link] += parcel.wire;
                self.traffic.link_busy[link] += span;
                self.traffic.packet_hops += 1;
                self.plan(self.now + span, Happening::Sent(link));
                self.plan(self.now + span + latency, Happening::Arrived(parcel));
            }
        }
    }

    /// All that happens at the present instant, but for messages that enter, which come after; those are returned.
    fn settle(&mut self, due: &mut Vec<Due>) -> Vec<MessageId> {
        let mut entering = Vec::new();
        loop {
            let mut arrivals = Vec::new();
            let mut happened = false;
            while let Some(happening) = self.take_at(self.now) {
                happened = true;
                match happening {
                    Happening::Entered(id) => entering.push(id),
                    Happening::Sent(link) => self.sending[link] = false,
                    Happening::Woken(token) => due.push(Due::Woken(token)),
                    Happening::Arrived(parcel) => {
                        let route = &self.messages[&parcel.message].route;
                        if let Some(&next) = route.get(parcel.hop + 1) {
                            let tie = self.topology.tie(route[parcel.hop], next);
                            arrivals.push((next, tie, parcel));
                        } else if parcel.is_last {
                            due.push(Due::Delivered(parcel.message));
                        }
                    }
                }
            }
            if !happened {
                return entering;
            }
            // Packets without bytes come last. The sort is stable: packets of one link stay in the order in which it
            // sent them.
            arrivals.sort_by_key(|&(next, tie, parcel)| (next, parcel.wire == 0, tie));
            for (next, _, parcel) in arrivals {
                self.queues[next.index()].push_back(Parcel {
                    hop: parcel.hop + 1,
                    ..parcel
                });
            }
            self.start_idle_links();
        }
    }
}

impl Network for PlainPackets<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let mut route = Vec::new();
        self.topology.route(source, destination, &mut route)?;
        let bytes = bytes.get();
        self.messages.insert(message, Message { route, bytes });
        self.plan(at.picoseconds(), Happening::Entered(message));
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.plan(at.picoseconds(), Happening::Woken(token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        while let Some(&Reverse((time, _, _))) = self.heap.peek() {
            self.now = time;
            for id in self.settle(due) {
                self.enter(id);
            }
            self.start_idle_links();
            if !due.is_empty() {
                return Advance::Due(Time::from_picoseconds(time));
            }
        }
        Advance::Idle
    }

    fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }
}

fn check(job: &Job) -> Result<(), TestCaseError> {
    let Job {
        topology,
        schedule,
        size,
        element,
    } = job;
    let expected = run_on(topology, schedule, *size, *element, PlainPackets::new(topology));
    let packets = || Packet::new(topology).expect("rates that fit");
    for network in [packets(), packets().with_trains()] {
        let got = run_on(topology, schedule, *size, *element, network);
        prop_assert_eq!(&got, &expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn collectives_take_the_times_of_the_plain_simulator(job in collective_job()) {
        check(&job)?;
    }

    #[test]
    fn traffic_of_any_kind_takes_the_times_of_the_plain_simulator(job in traffic_job()) {
        check(&job)?;
    }
}
