//! Random schedules: collectives by any algorithm, and traffic that follows none.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::algorithm::{self, Algorithm};
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::schedule::{Buffer, Chunks, Combine, Expr, Instruction, Place, Program, Schedule, Shape, Stream};
use trncomm_core::topology::Topology;
use trncomm_core::units::Time;

use super::networks::{fabric, more_settings, packet_format, settings, topology, with_some_faults};
use super::{build, describe};

/// Something to simulate: a schedule on a topology, with a size.
#[derive(Clone)]
pub struct Job {
    pub topology: Topology,
    pub schedule: Schedule,
    pub size: u64,
    pub element: u64,
}

/// Short enough to be read when a test fails.
impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} bytes, elements of {}", self.size, self.element)?;
        describe(&self.topology, f)?;
        write!(f, "{}", self.schedule)
    }
}

/// The number of chunks of a buffer of [`Traffic`].
pub const CHUNKS: u64 = 8;

/// One thing that is done by a stream of a rank; a message by streams of the same number at both ends.
#[derive(Clone, Debug)]
pub enum Act {
    Message {
        from: u32,
        to: u32,
        stream: usize,
        /// The chunks, first and count.
        chunks: (u64, u64),
        reduce: bool,
        /// Whether the receiver first does all else that it has to do.
        late: bool,
    },
    Compute {
        rank: u32,
        stream: usize,
        time: u64,
    },
    Copy {
        rank: u32,
        stream: usize,
        chunk: u64,
    },
    /// A stream waits for what another of the rank has been given to do before.
    Wait {
        rank: u32,
        stream: usize,
        on: usize,
    },
}

/// Acts that every stream does in the order in which they are listed.
///
/// Where each stream of a rank has a channel of its own this never deadlocks: of all acts that are left the first one
/// can be done. Streams that share a channel may take each other's messages, and wait for ever.
#[derive(Clone, Debug)]
pub struct Traffic {
    pub ranks: u32,
    /// The channel of every stream of a rank.
    pub channels: Vec<u32>,
    pub acts: Vec<Act>,
}

impl Traffic {
    /// The same with the ranks renamed.
    pub fn renamed(&self, name: impl Fn(u32) -> u32) -> Self {
        let mut renamed = self.clone();
        for act in &mut renamed.acts {
            match act {
                Act::Message { from, to, .. } => (*from, *to) = (name(*from), name(*to)),
                Act::Compute { rank, .. } | Act::Copy { rank, .. } | Act::Wait { rank, .. } => *rank = name(*rank),
            }
        }
        renamed
    }

    /// The messages: from, to, and their chunks, first and count.
    pub fn messages(&self) -> impl Iterator<Item = (u32, u32, (u64, u64))> {
        self.acts.iter().filter_map(|act| match *act {
            Act::Message { from, to, chunks, .. } => Some((from, to, chunks)),
            _ => None,
        })
    }

    /// A program for each rank, which names its peers by number.
    pub fn schedule(&self) -> Schedule {
        let streams = self.channels.len();
        let mut bodies = vec![vec![Vec::new(); streams]; self.ranks as usize];
        let mut late_receives = bodies.clone();
        for act in &self.acts {
            match *act {
                Act::Message {
                    from,
                    to,
                    stream,
                    chunks: (first, count),
                    reduce,
                    late,
                } => {
                    let chunks = || Chunks::range(Buffer::Output, index(first), index(count));
                    bodies[from as usize][stream].push(Instruction::send(Place::rank(to as usize), chunks()));
                    let combine = if reduce { Combine::Reduce } else { Combine::Copy };
                    let from = Place::rank(from as usize);
                    let receives = if late { &mut late_receives } else { &mut bodies };
                    receives[to as usize][stream].push(Instruction::Receive {
                        from,
                        chunks: chunks(),
                        combine,
                    });
                }
                Act::Compute { rank, stream, time } => bodies[rank as usize][stream].push(Instruction::Compute {
                    time: Time::from_picoseconds(time),
                }),
                Act::Copy { rank, stream, chunk } => bodies[rank as usize][stream].push(Instruction::copy(
                    Chunks::one(Buffer::Input, index(chunk)),
                    Chunks::one(Buffer::Output, index(chunk)),
                )),
                Act::Wait { rank, stream, on } => {
                    let count = Expr::from(bodies[rank as usize][on].len());
                    bodies[rank as usize][stream].push(Instruction::Wait { stream: on, count });
                }
            }
        }
        for (bodies, late) in bodies.iter_mut().flatten().zip(late_receives.into_iter().flatten()) {
            bodies.extend(late);
        }
        let shape = Shape::new(&[self.ranks as usize]).expect("a line");
        let goal = Goal::in_place(Collective::Custom);
        Schedule::by_rank("traffic", goal, shape, CHUNKS, 0, |rank| Program {
            streams: (self.channels.iter().zip(&bodies[rank as usize]))
                .map(|(&channel, body)| Stream {
                    channel,
                    body: body.clone(),
                })
                .collect(),
        })
        .expect("well formed")
    }
}

fn index(chunk: u64) -> usize {
    usize::try_from(chunk).expect("few chunks")
}

/// An act of a rank of so many, in a stream of so many; a message of a rank to itself is none.
fn act(ranks: u32, streams: usize) -> impl Strategy<Value = Option<Act>> {
    let (rank, stream, chunk) = (move || 0..ranks, move || 0..streams, || 0..CHUNKS);
    let message = (rank(), rank(), stream(), chunk(), chunk(), any::<bool>(), any::<bool>()).prop_map(
        |(from, to, stream, first, more, reduce, late)| {
            (from != to).then_some(Act::Message {
                from,
                to,
                stream,
                chunks: (first, 1 + more % (CHUNKS - first)),
                reduce,
                late,
            })
        },
    );
    let time = prop_oneof![Just(0), Just(1000), 0..4000_u64];
    let compute = (rank(), stream(), time).prop_map(|(rank, stream, time)| Some(Act::Compute { rank, stream, time }));
    let copy = (rank(), stream(), chunk()).prop_map(|(rank, stream, chunk)| Some(Act::Copy { rank, stream, chunk }));
    let wait = (rank(), stream(), stream())
        .prop_map(|(rank, stream, on)| (stream != on).then_some(Act::Wait { rank, stream, on }));
    prop_oneof![12 => message, 2 => compute, 1 => copy, 1 => wait]
}

/// Random traffic among so many ranks, which always ends: any messages, rounds of permutations, or everyone to one.
pub fn traffic(ranks: usize) -> impl Strategy<Value = Traffic> {
    (1..=3_usize).prop_flat_map(move |streams| traffic_on(ranks, (0..).take(streams).collect()))
}

/// The same, with streams that may share a channel, and so may deadlock.
pub fn traffic_on_shared_channels(ranks: usize) -> impl Strategy<Value = Traffic> {
    prop::collection::vec(0..3_u32, 1..4).prop_flat_map(move |channels| traffic_on(ranks, channels))
}

/// Random traffic over streams on these channels.
fn traffic_on(ranks: usize, channels: Vec<u32>) -> impl Strategy<Value = Traffic> {
    let ranks = u32::try_from(ranks).expect("few ranks");
    let message = move |from: u32, to: u32, stream: usize, first: u64, late: bool| {
        (from % ranks != to % ranks).then_some(Act::Message {
            from: from % ranks,
            to: to % ranks,
            stream,
            chunks: (first, 1),
            reduce: first.is_multiple_of(2),
            late,
        })
    };
    let streams = channels.len();
    let any_acts = vec(act(ranks, streams), 0..40);
    let order: Vec<u32> = (0..ranks).collect();
    let permutations =
        vec((Just(order).prop_shuffle(), 0..streams, 0..CHUNKS, any::<bool>()), 1..5).prop_map(move |rounds| {
            let round = |(to, stream, chunk, late): &(Vec<u32>, usize, u64, bool)| -> Vec<Option<Act>> {
                let pairs = (0..ranks).zip(to.iter());
                pairs
                    .map(|(from, &to)| message(from, to, *stream, *chunk, *late))
                    .collect()
            };
            rounds.iter().flat_map(round).collect::<Vec<_>>()
        });
    let incast = (
        any::<Index>(),
        vec((0..ranks, 0..streams, 0..CHUNKS, any::<bool>()), 0..40),
    )
        .prop_map(move |(to, senders)| {
            let to = u32::try_from(to.index(ranks as usize)).expect("a rank");
            let send = |(from, stream, chunk, late)| message(from, to, stream, chunk, late);
            senders.into_iter().map(send).collect::<Vec<_>>()
        });
    let acts = prop_oneof![3 => any_acts, 1 => permutations, 1 => incast];
    acts.prop_map(move |acts| Traffic {
        ranks,
        channels: channels.clone(),
        acts: acts.into_iter().flatten().collect(),
    })
}

/// Sizes of a buffer in elements: none, about one a rank, any, and very many.
fn elements(ranks: usize) -> impl Strategy<Value = u64> {
    let ranks = ranks as u64;
    prop_oneof![
        1 => Just(0),
        1 => Just(1),
        2 => ranks - 1..=ranks + 1,
        3 => 0..2000_u64,
        2 => (0..10_u64).prop_map(move |each| each * 100 * ranks),
        1 => (1 << 30)..(1_u64 << 36),
    ]
}

/// A size with an element, and the topology with packets that cut a buffer of that size into at most 20 or so.
fn sized(topology: Topology) -> impl Strategy<Value = (Topology, u64, u64)> {
    let ranks = topology.ranks();
    let element = prop_oneof![Just(1_u64), Just(2), Just(4)];
    let header = prop_oneof![2 => Just(0_u64), 1 => Just(16), 1 => 0..100_u64];
    (elements(ranks), element, 1..20_u64, 0..10_u64, header).prop_map(
        move |(elements, element, pieces, more, header)| {
            let size = elements * element;
            let payload = (size / pieces + more).max(1);
            let topology = topology.clone().with_packet_format(packet_format(payload, header));
            (topology, size, element)
        },
    )
}

/// The algorithms for a collective over any number of ranks; others may refuse the number that came up.
pub fn fitting(collective: Collective) -> impl Iterator<Item = &'static str> {
    let any = |algorithm: &&Algorithm| algorithm.ranks.starts_with("any");
    algorithm::algorithms(collective)
        .filter(any)
        .map(|algorithm| algorithm.name)
}

/// A collective by an algorithm, any of them, over a topology with settings, any of them.
pub fn collective_job() -> impl Strategy<Value = Job> {
    collective_job_over(settings(topology()))
}

/// The same over topologies of one's own.
pub fn collective_job_over(topology: impl Strategy<Value = Topology>) -> impl Strategy<Value = Job> {
    topology
        .prop_flat_map(|topology| (sized(topology), any::<Index>(), any::<Index>()))
        .prop_map(|((topology, size, element), choice, root)| {
            let pairs: Vec<(Collective, &str)> = Collective::ALL
                .into_iter()
                .flat_map(|collective| fitting(collective).map(move |name| (collective, name)))
                .collect();
            let (collective, name) = *choice.get(&pairs);
            let root = if collective.has_root() {
                root.index(topology.ranks())
            } else {
                0
            };
            let schedule = build(&topology, collective, name, u32::try_from(root).expect("a rank"));
            Job {
                topology,
                schedule,
                size,
                element,
            }
        })
}

/// Traffic that follows no algorithm and may deadlock, over a topology with settings, any of them.
pub fn traffic_job() -> impl Strategy<Value = Job> {
    traffic_job_over(settings(topology()))
}

/// The same over topologies of one's own.
pub fn traffic_job_over(topology: impl Strategy<Value = Topology>) -> impl Strategy<Value = Job> {
    topology
        .prop_flat_map(|topology| {
            let ranks = topology.ranks();
            (sized(topology), traffic_on_shared_channels(ranks))
        })
        .prop_map(|((topology, size, element), traffic)| Job {
            schedule: traffic.schedule(),
            topology,
            size,
            element,
        })
}

/// The job over a network that may have any limits, policies, endpoint costs and faults but links that err.
pub fn in_full(job: impl Strategy<Value = Job>) -> impl Strategy<Value = Job> {
    let faults = prop_oneof![2 => vec((any::<u8>(), any::<Index>(), any::<u32>()), 0..1),
        1 => vec((any::<u8>(), any::<Index>(), any::<u32>()), 1..4)];
    (job, faults).prop_flat_map(|(job, faults)| {
        let format = job.topology.packet_format();
        let packet = format.payload().get() + format.header().get();
        let view = with_some_faults(job.topology.clone(), &faults);
        (Just(job), more_settings(Just(view)), fabric(packet)).prop_map(|(job, view, fabric)| Job {
            topology: view.with_fabric(fabric),
            ..job
        })
    })
}
