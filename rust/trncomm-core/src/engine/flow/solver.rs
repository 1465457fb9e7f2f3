//! Progressive filling of one connected component at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::classes::{Classes, NONE};
use super::links::Links;
use super::paths::Use;
use super::service::{Rate, TOLERANCE, rate_of};
use crate::units::Time;

/// A component that was solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Component {
    /// Its first class; the others follow by [`super::classes::Class::next`].
    pub(super) leader: u32,
    /// The leader's stamp: what is planned for the component is off once the leader has another.
    pub(super) stamp: u32,
    /// When the first of its messages will have drained.
    pub(super) finish: Time,
}

/// The working space of the solver, kept from one solve to the next.
#[derive(Debug, Default)]
pub(super) struct Solver {
    solve: u32,
    links: Vec<u32>,
    classes: Vec<u32>,
    /// Links by a lower bound of their level, as the bits of a positive double, which are ordered as it is.
    levels: BinaryHeap<Reverse<(u64, u32)>>,
    /// Classes by their cap for each share, highest first, where there are caps.
    caps: Vec<(u64, u32)>,
    round: Vec<u32>,
    touched: Vec<u32>,
    /// Links and classes looked at, in all.
    pub(super) work: u64,
}

impl Solver {
    /// Solves the rates of all components with a link that changed, and hands each to `solved`.
    pub(super) fn solve(
        &mut self,
        links: &mut Links,
        classes: &mut Classes,
        now: Time,
        mut solved: impl FnMut(Component),
    ) {
        self.begin(links, classes);
        let mut dirty = std::mem::take(&mut links.dirty);
        for seed in dirty.drain(..) {
            if links.all[seed as usize].reached == self.solve {
                continue;
            }
            if self.lone(seed, links, classes, now, &mut solved) {
                self.work += 1;
                continue;
            }
            self.reach(seed, links, classes);
            if let &[leader, ..] = &self.classes[..] {
                let finish = self.fill(links, classes, now);
                let stamp = classes.all[leader as usize].stamp;
                solved(Component { leader, stamp, finish });
            }
            self.work += (self.links.len() + self.classes.len()) as u64;
        }
        links.dirty = dirty;
        classes.free_ended();
    }

    fn begin(&mut self, links: &mut Links, classes: &mut Classes) {
        // Each solve uses two numbers; 0 is that of nothing yet.
        if self.solve >= u32::MAX - 3 {
            self.solve = 0;
            links.all.iter_mut().for_each(|link| link.reached = 0);
            classes.all.iter_mut().for_each(|class| class.reached = 0);
        }
        self.solve += 2;
    }

    /// Gives a class that is alone on its path the rate that it has there; says whether the class that crosses the link
    /// `seed` is.
    fn lone(
        &mut self,
        seed: u32,
        links: &mut Links,
        classes: &mut Classes,
        now: Time,
        solved: &mut impl FnMut(Component),
    ) -> bool {
        let link = &mut links.all[seed as usize];
        link.refresh(|class| !classes.all[class as usize].is_active);
        let &[leader] = &link.users[..] else { return false };
        let path = classes.path(leader);
        if !links.is_lone(path) {
            return false;
        }
        links.mark_solved(path, self.solve);
        if let Some((finish, stamp)) = classes.set_lone_rate(leader, now) {
            solved(Component { leader, stamp, finish });
        }
        true
    }

    /// Collects the links and classes that are joined to the link `seed`, and chains the classes.
    fn reach(&mut self, seed: u32, links: &mut Links, classes: &mut Classes) {
        self.links.clear();
        self.classes.clear();
        self.links.push(seed);
        links.all[seed as usize].reached = self.solve;
        let mut at = 0;
        while let Some(&id) = self.links.get(at) {
            at += 1;
            let link = &mut links.all[id as usize];
            link.refresh(|class| !classes.all[class as usize].is_active);
            // Borrowed out so that other links can be reached meanwhile.
            let users = std::mem::take(&mut link.users);
            for &user in &users {
                let class = &mut classes.all[user as usize];
                if class.reached == self.solve {
                    continue;
                }
                class.reached = self.solve;
                self.classes.push(user);
                for hop in classes.path(user) {
                    let other = &mut links.all[hop.index()];
                    if other.reached != self.solve {
                        other.reached = self.solve;
                        self.links.push(hop.resource);
                    }
                }
            }
            links.all[id as usize].users = users;
        }
        self.chain(classes);
    }

    /// Chains the classes that were reached, in the order of their slots where they are many: walking them that way is
    /// several times faster.
    fn chain(&mut self, classes: &mut Classes) {
        if self.classes.len() > classes.all.len() / 4 {
            let solve = self.solve;
            self.classes.clear();
            let reached = (0..).zip(&classes.all).filter(|(_, class)| class.reached == solve);
            self.classes.extend(reached.map(|(id, _)| id));
        }
        let mut next = NONE;
        for &id in self.classes.iter().rev() {
            classes.forget_plan(id);
            classes.all[id as usize].next = std::mem::replace(&mut next, id);
        }
    }

    /// Raises the rate of all messages together; those on a link that is full, or at their cap, stay where they are
    /// while the others go on. Returns when the first message will have drained.
    ///
    /// Everything is computed from the number of messages that got each rate on a link, in the order of the rates, so
    /// that neither the order of links and classes nor what happened before leaves a trace in the result.
    fn fill(&mut self, links: &mut Links, classes: &mut Classes, now: Time) -> Time {
        self.levels.clear();
        for &id in &self.links {
            let link = &mut links.all[id as usize];
            link.left = link.capacity;
            link.waiting = link.weight;
            if link.waiting > 0 {
                self.levels
                    .push(Reverse((level(link.left, link.waiting).to_bits(), id)));
            }
        }
        self.caps.clear();
        let capped = if classes.are_capped { &self.classes[..] } else { &[] };
        for &class in capped {
            let cap = classes.cap(class) / f64::from(classes.all[class as usize].priority);
            if cap.is_finite() {
                self.caps.push((cap.to_bits(), class));
            }
        }
        self.caps.sort_unstable_by_key(|&(cap, _)| Reverse(cap));

        let mut finish = None;
        while let Some(rate) = self.next_round(links, classes) {
            self.settle_round(rate, links, classes, now, &mut finish);
            while let Some(&(cap, class)) = self.caps.last()
                && f64::from_bits(cap) <= rate.value * (1.0 + TOLERANCE)
            {
                self.caps.pop();
                self.settle(class, rate, links, classes, now, &mut finish);
            }
            for id in self.touched.drain(..) {
                let link = &mut links.all[id as usize];
                link.left -= rate.value * rate_of(link.served);
                link.waiting -= link.served;
                link.served = 0;
            }
        }
        finish.expect("a component has a class")
    }

    /// The lowest level of all links, or cap of all messages; `round` becomes the links that have it.
    fn next_round(&mut self, links: &Links, classes: &Classes) -> Option<Rate> {
        self.round.clear();
        let mut rate: Option<Rate> = None;
        // A level never falls while others get their share, so a bound from before is a bound still, and one entry
        // a link is enough: it is put back when it turns out too low.
        while let Some(&Reverse((bound, id))) = self.levels.peek() {
            let most = rate.map_or(f64::INFINITY, |rate| rate.value * (1.0 + TOLERANCE));
            if f64::from_bits(bound) > most {
                break;
            }
            self.levels.pop();
            let link = &links.all[id as usize];
            if link.waiting == 0 {
                continue;
            }
            let level = level(link.left, link.waiting).max(f64::from_bits(bound));
            if level.to_bits() != bound && level > most.min(self.least_bound()) {
                self.levels.push(Reverse((level.to_bits(), id)));
                continue;
            }
            let untouched = link.waiting == link.weight;
            let share = untouched.then_some((link.bandwidth, link.waiting));
            match &mut rate {
                None => rate = Some(Rate::new(level, share)),
                // Of several ways to write one level, take the exact one with the slowest link.
                Some(rate) if rate.value.to_bits() == level.to_bits() => {
                    rate.share = match (rate.share, share) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (a, b) => a.or(b),
                    };
                }
                Some(_) => {}
            }
            self.round.push(id);
        }
        while let Some(&(cap, class)) = self.caps.last() {
            if classes.all[class as usize].reached != self.solve {
                self.caps.pop();
                continue;
            }
            let cap = f64::from_bits(cap);
            if rate.is_none_or(|rate| cap < rate.value * (1.0 - TOLERANCE)) {
                // The links wait for a later round.
                for id in self.round.drain(..) {
                    let link = &links.all[id as usize];
                    let level = level(link.left, link.waiting).max(cap);
                    self.levels.push(Reverse((level.to_bits(), id)));
                }
                rate = Some(capped(cap));
            }
            break;
        }
        rate
    }

    fn least_bound(&self) -> f64 {
        self.levels
            .peek()
            .map_or(f64::INFINITY, |Reverse((bound, _))| f64::from_bits(*bound))
    }

    /// Gives `rate` to all that wait on the links of the round.
    fn settle_round(
        &mut self,
        rate: Rate,
        links: &mut Links,
        classes: &mut Classes,
        now: Time,
        finish: &mut Option<Time>,
    ) {
        let round = std::mem::take(&mut self.round);
        let users: usize = round.iter().map(|&id| links.all[id as usize].users.len()).sum();
        if users < self.classes.len() {
            for &id in &round {
                let users = std::mem::take(&mut links.all[id as usize].users);
                for &class in &users {
                    self.settle(class, rate, links, classes, now, finish);
                }
                links.all[id as usize].users = users;
            }
        } else {
            // To go through all classes in their order is no more work, and easier on the caches.
            for &id in &round {
                links.all[id as usize].full = true;
            }
            let all = std::mem::take(&mut self.classes);
            for &class in &all {
                if classes.path(class).iter().any(|hop| links.all[hop.index()].full) {
                    self.settle(class, rate, links, classes, now, finish);
                }
            }
            self.classes = all;
            for &id in &round {
                links.all[id as usize].full = false;
            }
        }
        self.round = round;
    }

    fn settle(
        &mut self,
        class: u32,
        rate: Rate,
        links: &mut Links,
        classes: &mut Classes,
        now: Time,
        finish: &mut Option<Time>,
    ) {
        let entry = &mut classes.all[class as usize];
        if entry.reached != self.solve {
            return;
        }
        entry.reached = self.solve + 1;
        let priority = entry.priority;
        for hop in classes.path(class) {
            let link = &mut links.all[hop.index()];
            if link.served == 0 {
                self.touched.push(hop.resource);
            }
            link.served += u64::from(hop.weight) * u64::from(priority);
        }
        let drained = classes.set_rate(class, rate.times(priority), now);
        *finish = Some(finish.map_or(drained, |finish| finish.min(drained)));
    }
}

/// The rate of a message that is alone on `path`, at most `cap`.
pub(super) fn lone_rate(path: &[Use], cap: f64, links: &Links) -> Rate {
    let (bandwidth, weight) = links.slowest(path);
    let capacity = rate_of(bandwidth) * f64::from(links.whole);
    let rate = Rate::new(level(capacity, weight), Some((bandwidth, weight)));
    if rate.value <= cap { rate } else { capped(cap) }
}

/// What a message that uses a link once gets for each of its shares, of what is left of it for `waiting`.
fn level(left: f64, waiting: u64) -> f64 {
    left / rate_of(waiting)
}

fn capped(cap: f64) -> Rate {
    Rate::new(cap, None)
}
