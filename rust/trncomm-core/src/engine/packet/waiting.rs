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
    RoundRobin { outputs: Vec<Turns>, heads: Heads },
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
    Dense(Vec<VecDeque<Waiting>>),
    Sparse(FxHashMap<(u32, u32), VecDeque<Waiting>>),
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
                    Heads::Dense(vec![VecDeque::new(); total])
                } else {
                    Heads::Sparse(FxHashMap::default())
                };
                Self::RoundRobin { outputs: turns, heads }
            }
        }
    }

    /// Adds a packet. Those of one stamp must be added in the order of their ties.
    pub(super) fn push(&mut self, output: usize, waiting: Waiting) {
        match self {
            Self::FirstCome { channels, queues } => {
                queues[output * *channels + usize::from(waiting.channel)].push_back(waiting);
            }
            Self::RoundRobin { outputs, heads } => {
                let turns = &mut outputs[output];
                turns.occupied[waiting.slot as usize / 64] |= 1 << (waiting.slot % 64);
                match heads {
                    Heads::Dense(table) => table[turns.start + waiting.slot as usize].push_back(waiting),
                    Heads::Sparse(map) => map.entry((index(output), waiting.slot)).or_default().push_back(waiting),
                }
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
            Self::RoundRobin { outputs, heads } => {
                let turns = &outputs[output];
                let own = own.filter(|own| own.is_ready);
                match (turns.next_ready(output, heads, ready), own) {
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
            Self::RoundRobin { outputs, heads } => {
                let turns = &mut outputs[output];
                let emptied = match heads {
                    Heads::Dense(table) => {
                        let queue = &mut table[turns.start + waiting.slot as usize];
                        queue.pop_front();
                        queue.is_empty()
                    }
                    Heads::Sparse(map) => {
                        let key = (index(output), waiting.slot);
                        let queue = map.get_mut(&key).expect("an occupied slot holds a packet");
                        queue.pop_front();
                        let empty = queue.is_empty();
                        if empty {
                            map.remove(&key);
                        }
                        empty
                    }
                };
                if emptied {
                    turns.occupied[waiting.slot as usize / 64] &= !(1 << (waiting.slot % 64));
                }
                turns.last = waiting.slot;
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
            Self::RoundRobin { outputs, heads } => match heads {
                Heads::Dense(table) => (0..outputs.len())
                    .flat_map(|output| {
                        let start = outputs[output].start;
                        let end = outputs.get(output + 1).map_or(table.len(), |next| next.start);
                        table[start..end]
                            .iter()
                            .flatten()
                            .map(move |&waiting| (output, waiting))
                    })
                    .collect(),
                Heads::Sparse(map) => map
                    .iter()
                    .flat_map(|(&(output, _), queue)| queue.iter().map(move |&waiting| (output as usize, waiting)))
                    .collect(),
            },
        };
        // A map has no order of its own.
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

    /// Steps from the slot that went last to this one, from 1 to the number of slots.
    fn distance(&self, slot: u32) -> u32 {
        let slots = self.slots();
        (slot + slots - self.last - 1) % slots + 1
    }

    /// The first packet, in turn, that stands first in its queue and for which `ready` holds.
    fn next_ready(&self, output: usize, heads: &Heads, ready: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        let mut slot = self.next(self.last)?;
        loop {
            let front = match heads {
                Heads::Dense(table) => table[self.start + slot as usize].front(),
                Heads::Sparse(map) => map.get(&(index(output), slot)).and_then(VecDeque::front),
            };
            let front = front.expect("an occupied slot holds a packet");
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
