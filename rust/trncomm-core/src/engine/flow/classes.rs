//! Classes: the messages that share a path, served alike.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::service::{Rate, Served, drain_time, is_drained, shared_time};
use crate::engine::network::MessageId;
use crate::ids::{LinkId, RankId};
use crate::units::Time;

/// The end of a chain of classes.
pub(super) const NONE: u32 = u32::MAX;

/// The fewest places of the table of known pairs.
const LEAST_KNOWN: usize = 1 << 10;

/// A message on its way. Ordered by when it ends, then by when it was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    /// It has been served once its class has been served this much.
    until: Served,
    /// Its place in the order of posting.
    pub(super) order: u64,
    pub(super) message: MessageId,
    pub(super) bytes: u64,
}

/// What filling looks at.
#[derive(Clone, Debug)]
pub(super) struct Class {
    path: u32,
    hops: u32,
    /// How many messages there are.
    pub(super) count: u32,
    /// The solve that last reached the class, one more once it has its rate.
    pub(super) reached: u32,
    /// The next class of the same component.
    pub(super) next: u32,
    /// How often the class was solved or ended: what was planned for an earlier stamp is off.
    pub(super) stamp: u32,
    /// The rate of each message, in bytes a second.
    rate: f64,
    /// When the first message to end has drained; nothing where that isn't known yet.
    finish: Option<Time>,
}

/// The rest.
#[derive(Debug)]
struct Detail {
    source: u32,
    destination: u32,
    latency: Time,
    /// The highest rate of a message, in bytes a second.
    cap: f64,
    served: Served,
    /// When `served` was right.
    since: Time,
    first: Member,
    /// Boxed, as most classes have one message.
    #[allow(clippy::box_collection)] // a heap by itself takes 16 bytes more, in every class
    others: Option<Box<BinaryHeap<Reverse<Member>>>>,
    /// Whether the links of its path list it.
    attached: bool,
    /// Whether it is in the queue of slots to use again.
    queued: bool,
}

/// All classes. A slot is used again after its class has ended, the longest unused first.
#[derive(Debug)]
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    details: Vec<Detail>,
    /// Paths, each in a block of a power of two.
    paths: Vec<LinkId>,
    /// Unused blocks, by the power of their size.
    blocks: Vec<Vec<u32>>,
    free: VecDeque<u32>,
    /// The class of a pair of ranks at the place that the pair hashes to. A pair may push out another, which then
    /// gets a second class; that costs time and changes no result, since classes of one path are served alike.
    known: Vec<u32>,
    /// Classes with messages.
    pub(super) active: usize,
    /// Classes that ended since the rates were last solved.
    ended: Vec<u32>,
    memo: (u64, u64, u32, Time),
}

impl Classes {
    pub(super) fn new() -> Self {
        Self {
            all: Vec::new(),
            details: Vec::new(),
            paths: Vec::new(),
            blocks: Vec::new(),
            free: VecDeque::new(),
            known: vec![NONE; LEAST_KNOWN],
            active: 0,
            ended: Vec::new(),
            memo: (0, 1, 1, Time::ZERO),
        }
    }

    /// The class from one rank to another, with messages or without, if it is known.
    pub(super) fn find(&self, source: RankId, destination: RankId) -> Option<u32> {
        let class = self.known[self.place(source.get(), destination.get())];
        let detail = self.details.get(class as usize)?;
        (detail.source == source.get() && detail.destination == destination.get()).then_some(class)
    }

    fn place(&self, source: u32, destination: u32) -> usize {
        // Fibonacci hashing of the source (the high bits of a product with 2^64 over the golden ratio) keeps sources
        // apart; destinations next to each other are next to each other in the table, as they are often posted.
        let bits = self.known.len().trailing_zeros();
        let hash = u64::from(source).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits);
        let hash = usize::try_from(hash).expect("a place of a table in memory");
        (hash + destination as usize) & (self.known.len() - 1)
    }

    /// A new class without messages.
    pub(super) fn add(&mut self, source: RankId, destination: RankId, path: &[LinkId], latency: Time, cap: f64) -> u32 {
        if self.all.len() * 2 >= self.known.len() {
            self.grow();
        }
        let detail = Detail {
            source: source.get(),
            destination: destination.get(),
            latency,
            cap,
            served: Served::default(),
            since: Time::ZERO,
            first: Member {
                until: Served::default(),
                order: 0,
                message: 0,
                bytes: 0,
            },
            others: None,
            attached: false,
            queued: false,
        };
        let slot = self.unused();
        let id = slot.unwrap_or_else(|| u32::try_from(self.all.len()).expect("fewer classes than messages"));
        let stamp = slot.map_or(0, |slot| self.all[slot as usize].stamp);
        if let Some(slot) = slot {
            let old = &self.all[slot as usize];
            self.blocks[power(old.hops)].push(old.path);
        }
        let class = Class {
            path: self.store(path),
            hops: u32::try_from(path.len()).expect("a path has fewer links than the topology"),
            count: 0,
            reached: 0,
            next: NONE,
            stamp,
            rate: 0.0,
            finish: None,
        };
        if slot.is_some() {
            self.all[id as usize] = class;
            self.details[id as usize] = detail;
        } else {
            self.all.push(class);
            self.details.push(detail);
        }
        let place = self.place(source.get(), destination.get());
        self.known[place] = id;
        id
    }

    fn unused(&mut self) -> Option<u32> {
        while let Some(slot) = self.free.pop_front() {
            self.details[slot as usize].queued = false;
            // A class that was queued may have been found, and have messages again.
            if !self.details[slot as usize].attached {
                return Some(slot);
            }
        }
        None
    }

    fn grow(&mut self) {
        self.known = vec![NONE; self.known.len() * 2];
        for (id, detail) in (0..).zip(&self.details) {
            let place = self.place(detail.source, detail.destination);
            self.known[place] = id;
        }
    }

    fn store(&mut self, path: &[LinkId]) -> u32 {
        let hops = u32::try_from(path.len()).expect("a path has fewer links than the topology");
        let power = power(hops);
        if self.blocks.len() <= power {
            self.blocks.resize_with(power + 1, Vec::new);
        }
        if let Some(block) = self.blocks[power].pop() {
            self.paths[block as usize..][..path.len()].copy_from_slice(path);
            return block;
        }
        let block = u32::try_from(self.paths.len()).expect("paths under way have fewer than 2^32 links");
        self.paths.extend_from_slice(path);
        self.paths.resize(block as usize + (1 << power), LinkId::from(0));
        block
    }

    pub(super) fn path(&self, class: u32) -> &[LinkId] {
        let Class { path, hops, .. } = self.all[class as usize];
        &self.paths[path as usize..][..hops as usize]
    }

    pub(super) fn latency(&self, class: u32) -> Time {
        self.details[class as usize].latency
    }

    pub(super) fn cap(&self, class: u32) -> f64 {
        self.details[class as usize].cap
    }

    /// Adds a message; says whether the links of the path don't list the class yet, and have to from now on.
    pub(super) fn join(&mut self, id: u32, message: MessageId, bytes: u64, order: u64, now: Time) -> bool {
        let (class, detail) = (&mut self.all[id as usize], &mut self.details[id as usize]);
        if class.count == 0 {
            detail.served = Served::default();
            class.rate = 0.0;
        } else {
            detail.served = detail.served.after(class.rate, now - detail.since);
        }
        detail.since = now;
        let member = Member {
            until: detail.served.plus(bytes),
            order,
            message,
            bytes,
        };
        class.count += 1;
        if class.count == 1 {
            self.active += 1;
            detail.first = member;
            class.finish = None;
        } else if member < detail.first {
            let later = std::mem::replace(&mut detail.first, member);
            detail.others.get_or_insert_default().push(Reverse(later));
            class.finish = None;
        } else {
            detail.others.get_or_insert_default().push(Reverse(member));
        }
        !std::mem::replace(&mut detail.attached, true)
    }

    /// Gives every message of a class its rate; returns when the first of them will have drained.
    pub(super) fn set_rate(&mut self, id: u32, rate: Rate, now: Time) -> Time {
        let (class, detail) = (&mut self.all[id as usize], &mut self.details[id as usize]);
        if class.rate.to_bits() == rate.value.to_bits()
            && let Some(finish) = class.finish
        {
            return finish;
        }
        if detail.since < now {
            detail.served = detail.served.after(class.rate, now - detail.since);
            detail.since = now;
        }
        class.rate = rate.value;
        let first = &detail.first;
        let exact = rate.share.and_then(|(bandwidth, count)| {
            let bytes = first.until.whole_left(detail.served)?;
            let (known_bytes, known_bandwidth, known_count, time) = self.memo;
            if (bytes, bandwidth, count) == (known_bytes, known_bandwidth, known_count) {
                return Some(time);
            }
            let time = shared_time(bytes, bandwidth, count)?;
            self.memo = (bytes, bandwidth, count, time);
            Some(time)
        });
        let drain = exact
            .filter(|&time| time > Time::ZERO)
            .unwrap_or_else(|| drain_time(first.until.left(detail.served), first.bytes, rate));
        let finish = now + drain;
        class.finish = Some(finish);
        finish
    }

    /// Takes the messages that have drained at `now` out of the class.
    pub(super) fn take_drained(&mut self, id: u32, now: Time, drained: &mut Vec<Member>) {
        let (class, detail) = (&mut self.all[id as usize], &mut self.details[id as usize]);
        if class.finish != Some(now) {
            return;
        }
        class.finish = None;
        if class.count > 1 {
            detail.served = detail.served.after(class.rate, now - detail.since);
            detail.since = now;
        }
        loop {
            drained.push(detail.first);
            class.count -= 1;
            let Some(Reverse(next)) = detail.others.as_mut().and_then(|others| others.pop()) else {
                break;
            };
            detail.first = next;
            if !is_drained(next.until.left(detail.served), next.bytes) {
                break;
            }
        }
        if class.count == 0 {
            class.stamp = class.stamp.wrapping_add(1);
            self.active -= 1;
        }
    }

    /// A class without messages is to be freed once the links of its path list it no more.
    pub(super) fn free_later(&mut self, id: u32) {
        self.ended.push(id);
    }

    /// Frees the slot of a class without messages that no link lists.
    pub(super) fn free_now(&mut self, id: u32) {
        let detail = &mut self.details[id as usize];
        detail.attached = false;
        if !std::mem::replace(&mut detail.queued, true) {
            self.free.push_back(id);
        }
    }

    /// Every message as (order of posting, message, rate).
    pub(super) fn members(&self) -> impl Iterator<Item = (u64, MessageId, f64)> {
        let active = self.all.iter().zip(&self.details).filter(|(class, _)| class.count > 0);
        active.flat_map(|(class, detail)| {
            let others = detail
                .others
                .iter()
                .flat_map(|others| others.iter())
                .map(|Reverse(member)| member);
            std::iter::once(&detail.first)
                .chain(others)
                .map(|member| (member.order, member.message, class.rate))
        })
    }

    /// Frees the slots of the classes that ended and are empty still; the links of their paths list them no more.
    pub(super) fn free_ended(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        for id in ended.drain(..) {
            if self.all[id as usize].count == 0 {
                self.free_now(id);
            }
        }
        self.ended = ended;
    }
}

fn power(hops: u32) -> usize {
    hops.next_power_of_two().trailing_zeros() as usize
}
