//! Classes: the messages of a pair of ranks, served one after the other over their path.

use std::collections::VecDeque;

use super::pairs::Pairs;
use super::paths::{Extent, Use};
use super::service::{Rate, Served, drain_time, shared_time};
use crate::engine::network::MessageId;
use crate::engine::recurrence::Shape;
use crate::ids::RankId;
use crate::units::Time;

/// The end of a chain of classes.
pub(super) const NONE: u32 = u32::MAX;

/// A message of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Its place in the order of entering.
    pub(super) order: u64,
    pub(super) message: MessageId,
    pub(super) bytes: u64,
}

/// What a message finds that enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// Another message of its class, for whose end it waits.
    Waits,
    /// A class that had none. Where it `is_new`, the links of the path don't list it yet, and have to from now on.
    Starts { is_new: bool },
}

/// What a class gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The rate when it is alone on its path.
    pub(super) lone: Rate,
    /// The highest rate, in bytes a second.
    pub(super) cap: f64,
    /// How many shares it has of a link.
    pub(super) priority: u32,
}

/// What filling looks at.
#[derive(Clone, Debug)]
pub(super) struct Class {
    path: u32,
    hops: u32,
    /// How many shares a message has.
    pub(super) priority: u32,
    /// Whether one of its messages is being served.
    pub(super) is_active: bool,
    /// The solve that last reached the class, one more once it has its rate.
    pub(super) reached: u32,
    /// The next class of the same component.
    pub(super) next: u32,
    /// How often the class was solved or ended: what was planned for an earlier stamp is off.
    pub(super) stamp: u32,
    /// In bytes a second.
    rate: f64,
    /// When the message has drained; nothing where that isn't known yet.
    finish: Option<Time>,
    /// When what is planned for the class comes up, for its present stamp: at `finish`, or before, to be put off then.
    planned: Option<Time>,
}

/// The rest.
#[derive(Debug)]
struct Detail {
    source: u32,
    destination: u32,
    extent: Extent,
    /// The highest rate, in bytes a second.
    cap: f64,
    /// The rate that the class has when it is alone on its path.
    lone: Rate,
    rate: Rate,
    /// What the present message has been served.
    served: Served,
    /// When `served` was right.
    since: Time,
    present: Member,
    /// The messages that wait. Boxed, as most classes have one message at a time.
    #[allow(clippy::box_collection)] // a queue by itself takes 24 bytes more, in every class
    line: Option<Box<VecDeque<Member>>>,
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
    paths: Vec<Use>,
    /// Unused blocks, by the power of their size.
    blocks: Vec<Vec<u32>>,
    free: VecDeque<u32>,
    /// INVARIANT: each class has a pair of its own, so that the messages of a pair stand in one line.
    pairs: Pairs,
    /// Classes with messages.
    pub(super) active: usize,
    /// Whether any class ever had a cap.
    pub(super) are_capped: bool,
    /// Classes that ended since the rates were last solved.
    ended: Vec<u32>,
    memo: (u64, u64, u64, Time),
    /// The weight of what serves every byte once.
    whole: u32,
}

impl Classes {
    pub(super) fn new(whole: u32) -> Self {
        Self {
            all: Vec::new(),
            details: Vec::new(),
            paths: Vec::new(),
            blocks: Vec::new(),
            free: VecDeque::new(),
            pairs: Pairs::default(),
            active: 0,
            are_capped: false,
            ended: Vec::new(),
            memo: (0, 1, 1, Time::ZERO),
            whole,
        }
    }

    /// The class from one rank to another, with messages or without, if there is one.
    pub(super) fn find(&self, source: RankId, destination: RankId) -> Option<u32> {
        self.pairs.find(source.get(), destination.get())
    }

    /// A new class without messages, of a pair that has none.
    pub(super) fn add(
        &mut self,
        (source, destination): (RankId, RankId),
        path: &[Use],
        extent: Extent,
        Limits { lone, cap, priority }: Limits,
    ) -> u32 {
        self.are_capped |= cap.is_finite();
        let detail = Detail {
            source: source.get(),
            destination: destination.get(),
            extent,
            cap,
            lone,
            rate: lone,
            served: Served::default(),
            since: Time::ZERO,
            present: Member {
                order: 0,
                message: 0,
                bytes: 0,
            },
            line: None,
            attached: false,
            queued: false,
        };
        let slot = self.unused();
        let stamp = slot.map_or(0, |slot| self.all[slot as usize].stamp);
        if let Some(slot) = slot {
            let (old, detail) = (&self.all[slot as usize], &self.details[slot as usize]);
            self.blocks[power(old.hops)].push(old.path);
            self.pairs.remove(detail.source, detail.destination);
        }
        let class = Class {
            path: self.store(path),
            hops: u32::try_from(path.len()).expect("a path has fewer links than the topology"),
            priority,
            is_active: false,
            reached: 0,
            next: NONE,
            stamp,
            rate: 0.0,
            finish: None,
            planned: None,
        };
        let id = if let Some(slot) = slot {
            self.all[slot as usize] = class;
            self.details[slot as usize] = detail;
            slot
        } else {
            self.all.push(class);
            self.details.push(detail);
            u32::try_from(self.all.len() - 1).expect("fewer classes than messages")
        };
        self.pairs.insert(source.get(), destination.get(), id);
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

    fn store(&mut self, path: &[Use]) -> u32 {
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
        self.paths
            .resize(block as usize + (1 << power), Use { resource: 0, weight: 0 });
        block
    }

    pub(super) fn path(&self, class: u32) -> &[Use] {
        let Class { path, hops, .. } = self.all[class as usize];
        &self.paths[path as usize..][..hops as usize]
    }

    pub(super) fn extent(&self, class: u32) -> Extent {
        self.details[class as usize].extent
    }

    /// Whether the class stands for bytes that pass a memory and go nowhere.
    pub(super) fn is_touch(&self, class: u32) -> bool {
        let detail = &self.details[class as usize];
        detail.source == detail.destination
    }

    pub(super) fn cap(&self, class: u32) -> f64 {
        self.details[class as usize].cap
    }

    /// Adds a message to the end of the line.
    pub(super) fn join(&mut self, id: u32, member: Member, now: Time) -> Joined {
        let (class, detail) = (&mut self.all[id as usize], &mut self.details[id as usize]);
        if class.is_active {
            detail.line.get_or_insert_default().push_back(member);
            return Joined::Waits;
        }
        class.is_active = true;
        class.rate = 0.0;
        class.finish = None;
        self.active += 1;
        detail.present = member;
        detail.served = Served::default();
        detail.since = now;
        Joined::Starts {
            is_new: !std::mem::replace(&mut detail.attached, true),
        }
    }

    /// Gives a class its rate; returns when its message will have drained.
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
        detail.rate = rate;
        self.plan_finish(id, now)
    }

    /// Finds out when the present message of a class, `now` served what it says, will have drained.
    fn plan_finish(&mut self, id: u32, now: Time) -> Time {
        let (class, detail) = (&mut self.all[id as usize], &mut self.details[id as usize]);
        let (rate, bytes) = (detail.rate, detail.present.bytes);
        let exact = rate.share.and_then(|(bandwidth, weight)| {
            let bytes = detail.served.whole_left(bytes)?;
            let (known_bytes, known_bandwidth, known_weight, time) = self.memo;
            if (bytes, bandwidth, weight) == (known_bytes, known_bandwidth, known_weight) {
                return Some(time);
            }
            let time = shared_time(bytes, bandwidth, weight, self.whole)?;
            self.memo = (bytes, bandwidth, weight, time);
            Some(time)
        });
        let drain = exact
            .filter(|&time| time > Time::ZERO)
            .unwrap_or_else(|| drain_time(detail.served.left(bytes), bytes, rate));
        let finish = now + drain;
        class.finish = Some(finish);
        finish
    }

    /// Gives a class that is a component by itself its rate; returns what is to be planned for it, the instant and the
    /// stamp, unless what is planned comes up in time.
    pub(super) fn set_lone_rate(&mut self, id: u32, now: Time) -> Option<(Time, u32)> {
        let lone = self.details[id as usize].lone;
        let finish = self.set_rate(id, lone, now);
        let class = &mut self.all[id as usize];
        class.next = NONE;
        if class.planned.is_some_and(|planned| planned <= finish) {
            return None;
        }
        class.planned = Some(finish);
        class.stamp = class.stamp.wrapping_add(1);
        Some((finish, class.stamp))
    }

    /// What was planned for a class has come up at `now`. Where it was too early, returns when to look again.
    pub(super) fn come_up(&mut self, id: u32, now: Time) -> Option<Time> {
        let class = &mut self.all[id as usize];
        let again = class.finish.filter(|&finish| class.next == NONE && finish > now);
        class.planned = again;
        again
    }

    /// The class is part of a component for which something else is planned.
    pub(super) fn forget_plan(&mut self, id: u32) {
        let class = &mut self.all[id as usize];
        class.planned = None;
        class.stamp = class.stamp.wrapping_add(1);
    }

    /// When the first message of a component, in which no rate has changed, will have drained.
    pub(super) fn plan_again(&mut self, leader: u32) -> Time {
        let mut first = None;
        let mut at = leader;
        while at != NONE {
            let class = &self.all[at as usize];
            first = match (first, class.finish) {
                (Some(first), Some(finish)) => Some(std::cmp::min::<Time>(first, finish)),
                (known, None) | (None, known) => known,
            };
            at = class.next;
        }
        let first = first.expect("a class that goes on drains");
        let class = &mut self.all[leader as usize];
        class.planned = (class.next == NONE).then_some(first);
        first
    }

    /// The message of a class that has drained at `now`, if it has.
    pub(super) fn drained(&mut self, id: u32, now: Time) -> Option<Member> {
        let class = &mut self.all[id as usize];
        if class.finish != Some(now) {
            return None;
        }
        class.finish = None;
        Some(self.details[id as usize].present)
    }

    /// Takes the next message of the line, for which the rate of the class stays as it is; nothing where none waits. Then
    /// the class has ended.
    pub(super) fn move_up(&mut self, id: u32, now: Time) -> Option<Member> {
        let (class, detail) = (&mut self.all[id as usize], &mut self.details[id as usize]);
        let Some(next) = detail.line.as_mut().and_then(|line| line.pop_front()) else {
            class.is_active = false;
            class.planned = None;
            class.stamp = class.stamp.wrapping_add(1);
            self.active -= 1;
            return None;
        };
        detail.present = next;
        detail.served = Served::default();
        detail.since = now;
        if next.bytes > 0 {
            self.plan_finish(id, now);
        }
        Some(next)
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

    /// Every message that is being served as (order of entering, message, rate).
    pub(super) fn served(&self) -> impl Iterator<Item = (u64, MessageId, f64)> {
        let active = self.all.iter().zip(&self.details).filter(|(class, _)| class.is_active);
        active.map(|(class, detail)| (detail.present.order, detail.present.message, class.rate))
    }

    /// The classes with messages, by their pairs.
    fn by_pairs(&self) -> Vec<((u32, u32), u32)> {
        let pair = |id: u32| {
            let detail = &self.details[id as usize];
            ((detail.source, detail.destination), id)
        };
        let active = (0..).zip(&self.all).filter(|(_, class)| class.is_active);
        let mut classes: Vec<_> = active.map(|(id, _)| pair(id)).collect();
        classes.sort_unstable();
        classes
    }

    /// Writes all that steers; `entered` is how many messages have entered.
    pub(super) fn describe(&self, entered: u64, shape: &mut Shape) {
        for ((source, destination), id) in self.by_pairs() {
            let (class, detail) = (&self.all[id as usize], &self.details[id as usize]);
            shape.word(source);
            shape.word(destination);
            shape.word(class.rate.to_bits());
            shape.moment_if_any(class.finish);
            shape.moment_if_any(class.planned);
            shape.words(detail.served.words());
            shape.moment(detail.since);
            let line = detail.line.iter().flat_map(|line| line.iter());
            shape.index(line.clone().count());
            for member in std::iter::once(&detail.present).chain(line) {
                shape.word(member.bytes);
                shape.word(entered - member.order);
                if source == destination {
                    shape.word(member.message);
                } else {
                    shape.message(member.message);
                }
            }
        }
    }

    /// Writes which classes a component has, by their pairs.
    pub(super) fn describe_component(&self, leader: u32, shape: &mut Shape) {
        let mut pairs = Vec::new();
        let mut at = leader;
        while at != NONE {
            let detail = &self.details[at as usize];
            pairs.push((detail.source, detail.destination));
            at = self.all[at as usize].next;
        }
        pairs.sort_unstable();
        shape.index(pairs.len());
        for (source, destination) in pairs {
            shape.word(source);
            shape.word(destination);
        }
    }

    /// Moves all that is planned later by so much.
    pub(super) fn put_off(&mut self, by: Time) {
        for class in &mut self.all {
            class.finish = class.finish.map(|finish| finish + by);
            class.planned = class.planned.map(|planned| planned + by);
        }
        self.details.iter_mut().for_each(|detail| detail.since += by);
    }

    /// Frees the slots of the classes that ended and are empty still; the links of their paths list them no more.
    pub(super) fn free_ended(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        for id in ended.drain(..) {
            if !self.all[id as usize].is_active {
                self.free_now(id);
            }
        }
        self.ended = ended;
    }
}

fn power(hops: u32) -> usize {
    hops.next_power_of_two().trailing_zeros() as usize
}
