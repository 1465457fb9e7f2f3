//! What can go wrong, one enum a stage. A message names the value and what was expected.

use thiserror::Error;

use crate::units::{Bandwidth, Bytes};

/// A quantity that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnitError {
    /// A rate of zero.
    #[error("bandwidth must be above 0 bytes/s, got 0")]
    ZeroBandwidth,
    /// A transfer that takes longer than a time can hold.
    #[error("{bytes} at {bandwidth} take over 2^64 ps (213 days), the longest time that can be simulated")]
    TimeOverflow {
        /// The size of the transfer.
        bytes: Bytes,
        /// The rate of the transfer.
        bandwidth: Bandwidth,
    },
    /// A duration that a factor makes too long.
    #[error("a duration passes 2^64 ps (213 days), the longest that can be simulated")]
    DurationOverflow,
    /// A text that doesn't read as the quantity.
    #[error("can't read {text:?} as a {quantity}; expected {expected}")]
    Unreadable {
        /// What was given.
        text: String,
        /// What it should have been: "size", "bandwidth", "duration".
        quantity: &'static str,
        /// The forms that are read.
        expected: &'static str,
    },
    /// A text that reads as a part of a base unit.
    #[error("{text:?} doesn't come to a whole number of {unit}")]
    Fractional {
        /// What was given.
        text: String,
        /// The base unit: "bytes", "bytes/s", "picoseconds".
        unit: &'static str,
    },
    /// A text that reads as more than can be counted, in size or in decimal places.
    #[error("{text:?} is out of range: expected less than 2^64 {unit}, and no more than 38 digits")]
    OutOfRange {
        /// What was given.
        text: String,
        /// The base unit: "bytes", "bytes/s", "picoseconds".
        unit: &'static str,
    },
}

/// A topology that can't be built, or a part of one that doesn't exist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A quantity of a link.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// An argument outside its range.
    #[error("{argument} must be {expected}, got {value}")]
    Argument {
        /// The argument's name.
        argument: &'static str,
        /// What is allowed.
        expected: String,
        /// What was given.
        value: String,
    },
    /// A link to or from a node that isn't there.
    #[error("link {link} names node {node}, but there are {nodes} nodes (0 to {})", nodes.saturating_sub(1))]
    UnknownNode {
        /// Position of the link in the list.
        link: usize,
        /// The node it names.
        node: u64,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A link from a node to itself.
    #[error("link {link} joins node {node} to itself")]
    SelfLoop {
        /// Position of the link in the list.
        link: usize,
        /// The node.
        node: u32,
    },
    /// Ranks without a path between them.
    #[error("there is no path from rank {from} to rank {to}")]
    Disconnected {
        /// The rank that can't send.
        from: u32,
        /// The rank that can't be reached.
        to: u32,
    },
    /// More nodes or links than ids.
    #[error("{what} would number {count}, more than the {limit} that a topology can hold")]
    TooLarge {
        /// "nodes" or "links".
        what: &'static str,
        /// How many there would be.
        count: u128,
        /// How many there may be.
        limit: u64,
    },
}

/// A collective or an algorithm that can't be built as asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AlgorithmError {
    /// A name that isn't known.
    #[error("unknown {kind} {name:?}; {hint}")]
    Unknown {
        /// "collective", "algorithm", "parameter".
        kind: &'static str,
        /// What was given.
        name: String,
        /// The nearest right spelling, or the choices.
        hint: String,
    },
    /// An algorithm that can't serve the request.
    #[error("{algorithm} can't build {collective} over {ranks} ranks: {reason}")]
    NotApplicable {
        /// The algorithm.
        algorithm: &'static str,
        /// The collective.
        collective: &'static str,
        /// The number of ranks.
        ranks: usize,
        /// Which counts or shapes work, and what fits instead.
        reason: String,
    },
    /// A parameter outside its range.
    #[error("{parameter} must be {expected}, got {value}")]
    Parameter {
        /// The parameter's name.
        parameter: String,
        /// What is allowed.
        expected: String,
        /// What was given.
        value: String,
    },
    /// The schedule that came out is malformed.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

/// A schedule that is malformed or doesn't do what its collective promises.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A program that can't be run at all.
    #[error("rank {rank}, stream {stream}: {reason}")]
    Malformed {
        /// The rank.
        rank: u32,
        /// Its stream.
        stream: usize,
        /// What is wrong.
        reason: String,
    },
    /// A table of the schedule that doesn't fit its shape.
    #[error("{0}")]
    Shape(String),
    /// Ranks that wait for ever.
    #[error("deadlock: {waiting} of {ranks} ranks wait for ever; {first}")]
    Deadlock {
        /// How many ranks wait.
        waiting: usize,
        /// How many ranks there are.
        ranks: usize,
        /// What the first of them waits for.
        first: String,
    },
    /// A message that nobody takes.
    #[error("rank {destination} never receives a message that rank {source_rank} sends it on channel {channel}")]
    Unreceived {
        /// The sender.
        source_rank: u32,
        /// The rank it is sent to.
        destination: u32,
        /// The channel.
        channel: u32,
    },
    /// A chunk that lacks what some rank contributes.
    #[error(
        "rank {rank} ends without the contribution of {} in output[{chunk}]",
        ranks_text(missing)
    )]
    Missing {
        /// The rank that ends with the wrong chunk.
        rank: u32,
        /// The chunk.
        chunk: u64,
        /// The ranks whose contribution is missing.
        missing: Vec<u32>,
    },
    /// A chunk into which some rank's contribution went more than once.
    #[error(
        "rank {rank} ends with the contribution of {} more than once in output[{chunk}]",
        ranks_text(doubled)
    )]
    Doubled {
        /// The rank that ends with the wrong chunk.
        rank: u32,
        /// The chunk.
        chunk: u64,
        /// The ranks whose contribution is doubled.
        doubled: Vec<u32>,
    },
    /// A chunk that holds something else than it should.
    #[error("rank {rank} ends with the wrong content in output[{chunk}]: {detail}")]
    Wrong {
        /// The rank that ends with the wrong chunk.
        rank: u32,
        /// The chunk.
        chunk: u64,
        /// What is there and what should be.
        detail: String,
    },
    /// A chunk that is written while a message posted from it may still be leaving.
    #[error(
        "rank {rank} writes {buffer}[{chunk}] in instruction {instruction} of stream {stream}, but nothing says that \
         the message it posted from there in instruction {posted} of stream {posted_by} has been received by then"
    )]
    Overwritten {
        /// The rank.
        rank: u32,
        /// "input", "output", "scratch".
        buffer: &'static str,
        /// The chunk.
        chunk: u64,
        /// The stream of the rank that writes.
        stream: u32,
        /// Which of its instructions writes, from 0; each pass of a loop counts anew.
        instruction: u64,
        /// The stream of the rank that posted the message.
        posted_by: u32,
        /// Which of its instructions posted it.
        posted: u64,
    },
    /// A barrier that a rank can leave before all have arrived.
    #[error("rank {rank} can leave the barrier without having heard of {}", ranks_text(unheard))]
    Unsynchronized {
        /// The rank.
        rank: u32,
        /// The ranks that may not have arrived.
        unheard: Vec<u32>,
    },
    /// A schedule too large for the proof asked for.
    #[error("too large to prove by running it whole: {what} {count}, at most {limit}")]
    TooLarge {
        /// "messages" or "chunks over all ranks".
        what: &'static str,
        /// How many there are.
        count: u128,
        /// How many are proved.
        limit: u64,
    },
}

/// A run that can't start or can't end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// A quantity out of range.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// The schedule can't run.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The topology can't carry a message.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// An option outside its range.
    #[error("{option} must be {expected}, got {value}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// What is allowed.
        expected: String,
        /// What was given.
        value: String,
    },
    /// More ranks than the topology has.
    #[error("the schedule has {schedule} ranks, the topology {topology}")]
    Ranks {
        /// Ranks of the schedule.
        schedule: usize,
        /// Ranks of the topology.
        topology: usize,
    },
    /// Delays or sizes that add up to more than the engine's numbers hold.
    #[error(
        "the run's {what} add up to more than {limit}, past which times and sizes don't fit 64 bits; \
         expected a smaller size or faster links"
    )]
    TooLong {
        /// "delays" or "bytes".
        what: &'static str,
        /// The limit, with its unit.
        limit: &'static str,
    },
    /// A run that would cost more than it may.
    #[error(
        "not run: with {ranks} ranks to run, {messages} messages would take about {memory} and up to {time}, more than \
         {limit}; {instead}"
    )]
    TooLarge {
        /// Ranks that would be run.
        ranks: usize,
        /// Messages that would be run.
        messages: u64,
        /// Memory that they would take.
        memory: String,
        /// Time on a processor that they would take, leaps apart.
        time: String,
        /// What there is.
        limit: String,
        /// What could be done instead.
        instead: String,
    },
    /// Ranks wait for messages that nobody will send.
    #[error("deadlock at {time_ps} ps: {waiting} of {ranks} ranks wait; {first}")]
    Deadlock {
        /// When the last event happened.
        time_ps: u64,
        /// How many ranks wait.
        waiting: usize,
        /// How many ranks there are.
        ranks: usize,
        /// What the first of them waits for.
        first: String,
    },
    /// A run was quicker than anything can be: an error in the simulator.
    #[error(
        "internal error: {run} takes {time_ps} ps, less than the bound of {bound_ps} ps ({bound}); please report it \
         with what was run"
    )]
    BelowBound {
        /// What was run: collective, size, algorithm, topology, model.
        run: String,
        /// How long it took.
        time_ps: u64,
        /// The bound.
        bound_ps: u64,
        /// What the bound follows from.
        bound: String,
    },
    /// A message took a link of which the fold knows nothing. The run is made again without; nobody else sees this.
    #[error("internal error: a message left the fold")]
    Unfoldable,
    /// The caller asked to stop.
    #[error("interrupted after {events} events, at {time_ps} ps of simulated time")]
    Interrupted {
        /// Events so far.
        events: u64,
        /// The simulated time reached.
        time_ps: u64,
    },
}

/// `rank 3`, or `ranks 3, 4, 5, …`.
fn ranks_text(ranks: &[u32]) -> String {
    let listed: Vec<String> = ranks.iter().take(8).map(ToString::to_string).collect();
    let more = if ranks.len() > 8 {
        format!(" and {} more", ranks.len() - 8)
    } else {
        String::new()
    };
    let plural = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{plural} {}{more}", listed.join(", "))
}

/// Names the nearest of `choices` to `wanted`, or lists them all.
pub(crate) fn hint<'a>(wanted: &str, choices: impl Iterator<Item = &'a str>) -> String {
    let choices: Vec<&str> = choices.collect();
    let nearest = choices
        .iter()
        .map(|choice| (edit_distance(wanted, choice), choice))
        .min();
    match nearest {
        Some((distance, choice)) if distance <= wanted.len().div_ceil(3) => format!("did you mean {choice:?}?"),
        _ => format!("choose from {}", choices.join(", ")),
    }
}

/// The number of single-character edits between two names (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
