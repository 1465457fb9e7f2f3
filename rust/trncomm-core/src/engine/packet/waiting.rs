//! The packets that wait at a node for each of its outputs, and which of them goes first.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::topology::Arbitration;

/// A packet's number in the pool.
pub(super) type PacketId = u32;

/// What stands first in a queue, as far as the choice among queues needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub packet: PacketId,
    /// The lower, the earlier it came here; those that came at once share one.
    pub stamp: u64,
    /// Its place among those.
    pub tie: u32,
    /// Its input and virtual channel as one number: the slot that takes turns.
    pub slot: u32,
    /// The virtual channel that it will use.
    pub channel: u8,
}

/// What would go next of that which starts at the node itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnHead {
    pub stamp: u64,
    pub channel: u8,
    /// The slot that takes turns.
    pub slot: u32,
    /// Whether there is room for it ahead.
    pub is_ready: bool,
}

/// What goes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// What starts at the node.
    Own,
    /// What passes through it.
    Transit(Waiting),
}

/// The most queue heads that are kept in a plain table; above it they are kept by key.
const DENSE: usize = 1 << 20;

/// The queues of all outputs.
#[derive(Debug)]
pub(super) enum Queues {
    /// One queue for each output and virtual channel, in the order of arrival.
    FirstCome {
        channels: usize,
        queues: Vec<VecDeque<Waiting>>,
    },
    /// One queue for each output and slot.
    RoundRobin {
        outputs: Vec<Turns>,
        heads: Heads,
        /// What is known of each packet that waits, by its number. A packet waits in one queue at a time, so the queues
        /// are chains through this table, which stays as small as the pool of packets and in the processor's cache.
        chain: Vec<Chained>,
    },
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chained {
    waiting: Waiting,
    /// The packet behind it, unless it is the last.
    behind: PacketId,
}

/// A queue that isn't empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    first: PacketId,
    last: PacketId,
}

/// Whose turn it is at an output.
#[derive(Debug)]
pub(super) struct Turns {
    /// Where the output's heads begin in a dense table.
    start: usize,
    /// One bit a slot with something in its queue.
    occupied: Vec<u64>,
    /// The slot that went last.
    last: u32,
}

/// The queue of each output and slot.
#[derive(Debug)]
pub(super) enum Heads {
    Dense(Vec<Option<Line>>),
    Sparse(FxHashMap<(u32, u32), Line>),
}

impl Heads {
    /// Those of a queue that isn't empty.
    fn line(&self, output: usize, turns: &Turns, slot: u32) -> Line {
        let line = match self {
            Self::Dense(table) => table[turns.start + slot as usize],
            Self::Sparse(map) => map.get(&(index(output), slot)).copied(),
        };
        line.expect("an occupied slot holds a packet")
    }

    fn set(&mut self, output: usize, turns: &Turns, slot: u32, line: Line) {
        match self {
            Self::Dense(table) => table[turns.start + slot as usize] = Some(line),
            Self::Sparse(map) => {
                map.insert((index(output), slot), line);
            }
        }
    }

    fn clear(&mut self, output: usize, turns: &Turns, slot: u32) {
        match self {
            Self::Dense(table) => table[turns.start + slot as usize] = None,
            Self::Sparse(map) => {
                map.remove(&(index(output), slot));
            }
        }
    }
}

impl Queues {
    /// Empty queues for outputs with so many slots each, whose turns start after the slot given.
    pub(super) fn new(arbitration: Arbitration, channels: usize, outputs: &[(u32, u32)]) -> Self {
        match arbitration {
            Arbitration::FirstCome => Self::FirstCome {
                channels,
                queues: vec![VecDeque::new(); outputs.len() * channels],
            },
            Arbitration::RoundRobin => {
                let mut total = 0;
                let turns = outputs
                    .iter()
                    .map(|&(slots, own)| {
                        let start = total;
                        total += slots as usize;
                        let occupied = vec![0; slots.div_ceil(64) as usize];
                        Turns {
                            start,
                            occupied,
                            last: own,
                        }
                    })
                    .collect();
                let heads = if total <= DENSE {
                    Heads::Dense(vec![None; total])
                } else {
                    Heads::Sparse(FxHashMap::default())
                };
                Self::RoundRobin {
                    outputs: turns,
                    heads,
                    chain: Vec::new(),
                }
            }
        }
    }

    /// Adds a packet. Those of one stamp must be added in the order of their ties.
    pub(super) fn push(&mut self, output: usize, waiting: Waiting) {
        match self {
            Self::FirstCome { channels, queues } => {
                queues[output * *channels + usize::from(waiting.channel)].push_back(waiting);
            }
            Self::RoundRobin { outputs, heads, chain } => {
                let (turns, slot, packet) = (&mut outputs[output], waiting.slot, waiting.packet);
                let chained = Chained {
                    waiting,
                    behind: packet,
                };
                if chain.len() <= packet as usize {
                    chain.resize(packet as usize + 1, chained);
                }
                chain[packet as usize] = chained;
                let first = if turns.is_occupied(slot) {
                    let Line { first, last } = heads.line(output, turns, slot);
                    chain[last as usize].behind = packet;
                    first
                } else {
                    turns.occupied[slot as usize / 64] |= 1 << (slot % 64);
                    packet
                };
                heads.set(output, turns, slot, Line { first, last: packet });
            }
        }
    }

    /// What goes next: the packets in transit for which `ready` holds and what starts at the node compete.
    pub(super) fn choose(
        &self,
        output: usize,
        own: Option<OwnHead>,
        ready: impl Fn(&Waiting) -> bool,
    ) -> Option<Choice> {
        match self {
            Self::FirstCome { channels, queues } => {
                // The first of each channel. What comes after it waits even if there is room for that alone.
                let first = |(queue, channel): (&VecDeque<Waiting>, u8)| {
                    let own = own.filter(|own| own.channel == channel);
                    match (queue.front(), own) {
                        (Some(front), own) if own.is_none_or(|own| front.stamp <= own.stamp) => {
                            ready(front).then_some((front.stamp, false, front.tie, Choice::Transit(*front)))
                        }
                        (_, Some(own)) => own.is_ready.then_some((own.stamp, true, 0, Choice::Own)),
                        (_, None) => None,
                    }
                };
                let queues = &queues[output * channels..][..*channels];
                queues
                    .iter()
                    .zip(0..)
                    .filter_map(first)
                    .min_by_key(|&(stamp, is_own, tie, _)| (stamp, is_own, tie))
                    .map(|(.., choice)| choice)
            }
            Self::RoundRobin { outputs, heads, chain } => {
                let turns = &outputs[output];
                let own = own.filter(|own| own.is_ready);
                match (turns.next_ready(output, heads, chain, ready), own) {
                    (Some(transit), Some(own)) if turns.distance(own.slot) < turns.distance(transit.slot) => {
                        Some(Choice::Own)
                    }
                    (Some(transit), _) => Some(Choice::Transit(transit)),
                    (None, own) => own.map(|_| Choice::Own),
                }
            }
        }
    }

    /// Takes out a packet that [`Self::choose`] gave, which ends the turn of its slot.
    pub(super) fn take(&mut self, output: usize, waiting: &Waiting) {
        match self {
            Self::FirstCome { channels, queues } => {
                queues[output * *channels + usize::from(waiting.channel)].pop_front();
            }
            Self::RoundRobin { outputs, heads, chain } => {
                let (turns, slot) = (&mut outputs[output], waiting.slot);
                let Line { first, last } = heads.line(output, turns, slot);
                if first == last {
                    heads.clear(output, turns, slot);
                    turns.occupied[slot as usize / 64] &= !(1 << (slot % 64));
                } else {
                    let first = chain[first as usize].behind;
                    heads.set(output, turns, slot, Line { first, last });
                }
                turns.last = slot;
            }
        }
    }

    /// Every packet that waits, with its output.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, Waiting)> {
        let mut found: Vec<(usize, Waiting)> = match self {
            Self::FirstCome { channels, queues } => {
                let of = |(at, queue): (usize, &VecDeque<Waiting>)| {
                    queue
                        .iter()
                        .map(|&waiting| (at / channels, waiting))
                        .collect::<Vec<_>>()
                };
                queues.iter().enumerate().flat_map(of).collect()
            }
            Self::RoundRobin { outputs, heads, chain } => {
                let of = |(output, turns): (usize, &Turns)| {
                    let slots = (0..turns.slots()).filter(|&slot| turns.is_occupied(slot));
                    let mut found = Vec::new();
                    for slot in slots {
                        let Line { mut first, last } = heads.line(output, turns, slot);
                        found.push((output, chain[first as usize].waiting));
                        while first != last {
                            first = chain[first as usize].behind;
                            found.push((output, chain[first as usize].waiting));
                        }
                    }
                    found
                };
                outputs.iter().enumerate().flat_map(of).collect()
            }
        };
        found.sort_unstable_by_key(|(output, waiting)| (*output, waiting.stamp, waiting.tie, waiting.packet));
        found.into_iter()
    }

    /// Ends the turn of a slot whose packet isn't kept here: one that starts at the node.
    pub(super) fn took_own(&mut self, output: usize, slot: u32) {
        if let Self::RoundRobin { outputs, .. } = self {
            outputs[output].last = slot;
        }
    }
}

impl Turns {
    fn slots(&self) -> u32 {
        index(self.occupied.len() * 64)
    }

    fn is_occupied(&self, slot: u32) -> bool {
        self.occupied[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Steps from the slot that went last to this one, from 1 to the number of slots.
    fn distance(&self, slot: u32) -> u32 {
        let slots = self.slots();
        (slot + slots - self.last - 1) % slots + 1
    }

    /// The first packet, in turn, that stands first in its queue and for which `ready` holds.
    fn next_ready(
        &self,
        output: usize,
        heads: &Heads,
        chain: &[Chained],
        ready: impl Fn(&Waiting) -> bool,
    ) -> Option<Waiting> {
        let mut slot = self.next(self.last)?;
        loop {
            let front = &chain[heads.line(output, self, slot).first as usize].waiting;
            if ready(front) {
                return Some(*front);
            }
            let following = self.next(slot)?;
            if self.distance(following) <= self.distance(slot) {
                return None;
            }
            slot = following;
        }
    }

    /// The first occupied slot after one, in turn; that one itself last.
    fn next(&self, after: u32) -> Option<u32> {
        let words = self.occupied.len();
        let from = (after as usize + 1) % (words * 64);
        let head = self.occupied[from / 64] >> (from % 64);
        if head != 0 {
            return Some(index(from) + head.trailing_zeros());
        }
        (1..=words)
            .map(|step| (from / 64 + step) % words)
            .find(|&word| self.occupied[word] != 0)
            .map(|word| index(word * 64) + self.occupied[word].trailing_zeros())
    }
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("slots and outputs stay below 2^32")
}
