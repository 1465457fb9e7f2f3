//! What a resource takes next, and the room ahead of it.

use super::{READY, Switched, index, key};
use crate::engine::network::MessageId;
use crate::engine::packet::waiting::Choice;
use crate::engine::queue::Queue;
use crate::units::Time;

/// How many packets are started ahead of their time by one event, which bounds the records kept for them.
const AHEAD: u32 = 16;

impl Switched<'_> {
    /// Room for `bytes` comes back to a resource, one latency after `left`.
    pub(super) fn give_back(&mut self, resource: usize, channel: u8, bytes: u64, left: Time) {
        if !self.limited {
            return;
        }
        let at = left + self.outputs[resource].latency;
        let credits = &mut self.credits[resource];
        if credits.back().is_none_or(|&(last, ..)| last <= at) {
            credits.push_back((at, channel, bytes));
        } else {
            let place = credits.partition_point(|&(time, ..)| time <= at);
            credits.insert(place, (at, channel, bytes));
        }
        if self.outputs[resource].held_since.is_some() {
            self.ask(resource, at);
        }
    }

    /// Has a resource choose again at `at`, unless it will before.
    pub(super) fn ask(&mut self, resource: usize, at: Time) {
        let output = &mut self.outputs[resource];
        if output.ready.is_none_or(|ready| at < ready) {
            output.ready = Some(at);
            self.queue.push(key(at, READY, index(resource)));
        }
    }

    pub(super) fn fits(&self, output: usize, message: MessageId, last: bool, channel: u8) -> bool {
        self.size(message, last) <= self.room[output * self.channels + usize::from(channel)]
    }

    /// Lets a resource take packets until it is busy or none can go.
    pub(super) fn choose(&mut self, output: usize) {
        if self.outputs[output].is_own_alone {
            return self.run_ahead(output);
        }
        // A packet without bytes leaves it free for the next one.
        while self.outputs[output].free <= self.now {
            if !self.take_next(output) {
                return self.hold(output);
            }
            self.let_go(output);
        }
        if self.outputs[output].has_more() {
            self.ask(output, self.outputs[output].free);
        }
    }

    /// Starts what waits for a resource that nothing else can claim, at the times at which it will be free and have
    /// room ahead: one event for several packets.
    ///
    /// What starts there goes in the order in which it was posted. Room that comes back takes the latency of the link
    /// to be known of, so all that comes back within one latency from now is known already.
    fn run_ahead(&mut self, output: usize) {
        let present = self.now;
        let known = present + self.outputs[output].latency;
        for _ in 0..AHEAD {
            if self.outputs[output].own.is_empty() {
                break;
            }
            let free = self.outputs[output].free.max(present);
            self.now = free;
            while !self.take_next(output) {
                let credit = self.credits[output].front().map(|&(at, ..)| at);
                if let Some(at) = credit
                    && at <= known
                {
                    self.now = at;
                    continue;
                }
                self.now = present;
                self.outputs[output].held_since.get_or_insert(free);
                if let Some(at) = credit {
                    self.ask(output, at.max(free));
                }
                return;
            }
            let since = self.outputs[output].held_since.take().unwrap_or(free);
            self.gauges.held(output, self.now - since);
        }
        self.now = present;
        if self.outputs[output].has_more() {
            self.ask(output, self.outputs[output].free);
        }
    }

    /// Starts the next packet that has room ahead; false if none has.
    fn take_next(&mut self, output: usize) -> bool {
        while let Some(&(at, channel, bytes)) = self.credits[output].front()
            && at <= self.now
        {
            self.credits[output].pop_front();
            self.room[output * self.channels + usize::from(channel)] += bytes;
        }
        let own = self.next_own(output);
        let choice = if self.outputs[output].waiting == 0 {
            own.filter(|own| own.is_ready).map(|_| Choice::Own)
        } else {
            self.waiting.choose(output, own, |waiting| {
                let packet = &self.packets[waiting.packet as usize];
                self.fits(output, packet.message, packet.last, waiting.channel)
            })
        };
        match choice {
            None => return false,
            Some(Choice::Own) => {
                self.waiting.took_own(output, self.outputs[output].own_slot);
                self.start_own(output);
            }
            Some(Choice::Transit(waiting)) => {
                self.waiting.take(output, &waiting);
                self.outputs[output].waiting -= 1;
                self.start(output, waiting.packet);
            }
        }
        true
    }

    /// A resource is no longer held up.
    fn let_go(&mut self, output: usize) {
        if let Some(since) = self.outputs[output].held_since.take() {
            self.gauges.held(output, self.now - since);
        }
    }

    /// Nothing can go: if something waits, that is for lack of room.
    fn hold(&mut self, output: usize) {
        if !self.outputs[output].has_more() {
            return self.let_go(output);
        }
        self.outputs[output].held_since.get_or_insert(self.now);
        if let Some(&(at, ..)) = self.credits[output].front() {
            self.ask(output, at);
        }
    }
}
