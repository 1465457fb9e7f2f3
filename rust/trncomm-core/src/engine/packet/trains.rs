//! Trains: packets that follow one another undisturbed, moved together.
//!
//! The packets of a message come to each link of their route evenly spaced, or in a few stretches that are, and first-in
//! first-out service keeps that: where the link is free they leave as they come, or as far apart as they take to be sent,
//! whichever is longer; where it is busy they leave back to back until it has caught up. So all packets of a message pass a
//! link in a few steps of arithmetic ([`Run::serve`]), exact to the picosecond.
//!
//! That holds as long as no other packets come to the link in between. What starts at a link's own node comes all at
//! once: a message takes its first link for all of its packets when it enters, and what passes a memory does too. So it is
//! enough that the packets that have come until then have been moved, and *runs* are moved no further than to the present
//! instant, when something happens to a link that they pass. When a message will have been delivered is found as if
//! nothing else happened, and once more at that instant, as it can only be later.
//!
//! Packets of other messages that come over another link would mix with them. So a link is for the messages of one pair
//! of ranks, a *line*, which follow one another on the same route. As soon as a message of another pair needs the link
//! on its way, the line is disbanded: its packets get events of their own, as all others.
//!
//! Where most lines are disbanded, as in exchanges of all with all at once, it isn't worth while to look for them: then
//! all are, and messages have no lines until what is under way has been delivered.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Packet;
use crate::engine::network::MessageId;
use crate::engine::queue::Queue;
use crate::engine::recurrence::Shape;
use crate::ids::RankId;
use crate::units::{Bytes, Time};

/// No line.
pub(super) const NONE: u32 = u32::MAX;
/// The line of a message that was posted while there were no trains.
const LOOSE: u32 = u32::MAX - 1;
/// So many lines are disbanded before one compares their number with those that weren't.
const TRIES: u64 = 64;
/// Trains are given up where so many lines are disbanded for each that isn't.
const LOSSES: u64 = 4;
/// Never, or not known yet.
pub(super) const NEVER: Time = Time::from_picoseconds(u64::MAX);

/// Packets of a message that come to a link evenly spaced; the last one of a message is a run by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// When the first of them comes.
    at: Time,
    gap: Time,
    count: u64,
    message: MessageId,
    is_last: bool,
}

impl Run {
    /// Serves those that have come by `until` on a port that is free from `free` on and takes `span` for each: how they
    /// leave, and what is left.
    fn serve(self, free: &mut Time, span: Time, until: Time) -> ([Option<Self>; 2], Option<Self>) {
        let [at, gap, span, until, busy] = [self.at, self.gap, span, until, *free].map(Time::picoseconds);
        if at > until {
            return ([None, None], Some(self));
        }
        let come = (until - at)
            .checked_div(gap)
            .map_or(self.count, |passed| self.count.min(passed + 1));
        let run = |at: u64, gap: u64, count: u64| Self {
            at: Time::from_picoseconds(at),
            gap: Time::from_picoseconds(gap),
            count,
            ..self
        };
        let rest = (come < self.count).then(|| run(at + come * gap, gap, self.count - come));
        // Those that find the port busy, or just free, leave back to back.
        let waiting = match (busy.checked_sub(at), gap.checked_sub(span)) {
            (None, _) if gap >= span => 0,
            (None, _) | (Some(_), None | Some(0)) => come,
            (Some(behind), Some(gain)) => come.min(behind / gain + 1),
        };
        let start = busy.max(at);
        let queued = (waiting > 0).then(|| run(start + span, span, waiting));
        let others = come - waiting;
        let passing = (others > 0).then(|| run(at + waiting * gap + span, gap, others));
        *free = Time::from_picoseconds(if others > 0 {
            at + (come - 1) * gap + span
        } else {
            start + waiting * span
        });
        ([queued, passing], rest)
    }

    fn later(self, by: Time) -> Self {
        Self {
            at: self.at + by,
            ..self
        }
    }

    /// This and a run that follows as one, where they are.
    fn joined(self, next: Self) -> Option<Self> {
        let follows = self.message == next.message
            && !self.is_last
            && !next.is_last
            && (next.count == 1 || next.gap == self.gap)
            && self.gap.checked_mul(self.count).map(|after| self.at + after) == Some(next.at);
        follows.then_some(Self {
            count: self.count + next.count,
            ..self
        })
    }
}

/// A link or memory on the way of a line.
#[derive(Clone, Copy, Debug)]
struct Stop {
    port: u32,
    touches: u32,
    /// The time of a full packet on it.
    full: Time,
}

/// The messages under way from one rank to another.
#[derive(Debug, Default)]
struct Line {
    pair: (u32, u32),
    is_train: bool,
    under_way: u32,
    stops: Vec<Stop>,
    /// What has left the stop before each stop, and hasn't been served there.
    waiting: Vec<VecDeque<Run>>,
    /// Those that have entered, if it is a train.
    messages: VecDeque<MessageId>,
}

/// All lines.
#[derive(Debug)]
pub(super) struct Trains {
    lines: Vec<Line>,
    unused: Vec<u32>,
    by_pair: FxHashMap<(u32, u32), u32>,
    /// How many lines pass each port on their way, first stops apart.
    users: Vec<u32>,
    /// The train that has a port to itself, and which of its stops that is.
    owners: Vec<(u32, u32)>,
    /// Lines that were or couldn't be trains, and those that stayed trains.
    lost: u64,
    kept: u64,
    /// Whether trains were given up for now, and how many messages are under way since.
    is_resting: bool,
    loose: u64,
}

impl Trains {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            lines: Vec::new(),
            unused: Vec::new(),
            by_pair: FxHashMap::default(),
            users: vec![0; ports],
            owners: vec![(NONE, 0); ports],
            lost: 0,
            kept: 0,
            is_resting: false,
            loose: 0,
        }
    }

    fn is_train(&self, line: u32) -> bool {
        line < LOOSE && self.lines[line as usize].is_train
    }

    /// A line of its own for a pair, without messages.
    fn add(&mut self) -> u32 {
        self.unused.pop().unwrap_or_else(|| {
            self.lines.push(Line::default());
            u32::try_from(self.lines.len() - 1).expect("fewer lines than messages")
        })
    }
}

impl<Q: Queue> Packet<'_, Q> {
    /// Counts a message over the route in `route` to the line of its pair.
    pub(super) fn board(&mut self, id: MessageId, source: RankId, destination: RankId, last: Bytes) -> u32 {
        let Some(trains) = &mut self.trains else { return NONE };
        if self.route.len() < 2 {
            return NONE;
        }
        if trains.is_resting {
            trains.loose += 1;
            return LOOSE;
        }
        let pair = (source.get(), destination.get());
        let (line, is_new) = match trains.by_pair.get(&pair) {
            Some(&line) => (line, false),
            None => (trains.add(), true),
        };
        trains.lines[line as usize].under_way += 1;
        // A message that brings no bytes at all takes no time anywhere, and has its own place among those of an instant.
        let is_plain = last > Bytes::ZERO;
        if is_new {
            self.open(id, line, pair, is_plain);
        } else if !is_plain {
            self.disband(line);
        }
        line
    }

    /// Takes the ports on the route in `route` for a new line; disbands it where others pass them, and those.
    fn open(&mut self, id: MessageId, line: u32, pair: (u32, u32), is_plain: bool) {
        let Some(trains) = &mut self.trains else { return };
        let mut stops = std::mem::take(&mut trains.lines[line as usize].stops);
        stops.clear();
        stops.extend((0..self.route.len()).map(|hop| {
            let hop = self.hop(id, hop);
            Stop {
                port: hop.resource,
                touches: hop.touches,
                full: self.span(hop, false, Bytes::ZERO),
            }
        }));
        let Some(trains) = &mut self.trains else { return };
        trains.by_pair.insert(pair, line);
        let mut others = Vec::new();
        let mut is_train = is_plain;
        for (number, stop) in (0..).zip(&stops).skip(1) {
            let port = stop.port as usize;
            trains.users[port] += 1;
            is_train &= trains.users[port] == 1;
            let owner = std::mem::replace(&mut trains.owners[port], (line, number)).0;
            if owner != NONE && owner != line {
                others.push(owner);
            }
        }
        let entry = &mut trains.lines[line as usize];
        entry.pair = pair;
        entry.is_train = is_train;
        if entry.waiting.len() < stops.len() {
            entry.waiting.resize_with(stops.len(), VecDeque::new);
        }
        entry.stops = stops;
        if !is_train {
            trains.lost += 1;
            self.disown(line);
        }
        for other in others {
            self.disband(other);
        }
        self.rest_if_vain();
    }

    /// Gives trains up for now where most were disbanded.
    fn rest_if_vain(&mut self) {
        let Some(trains) = &mut self.trains else { return };
        if trains.lost < TRIES || trains.lost < LOSSES * trains.kept {
            return;
        }
        trains.is_resting = true;
        let lines = u32::try_from(trains.lines.len()).expect("fewer lines than messages");
        for line in 0..lines {
            self.disband(line);
        }
        if let Some(trains) = &mut self.trains {
            (trains.lost, trains.kept) = (0, 0);
        }
    }

    /// The ports of a line are no longer its own.
    fn disown(&mut self, line: u32) {
        let Some(trains) = &mut self.trains else { return };
        for stop in trains.lines[line as usize].stops.iter().skip(1) {
            let owner = &mut trains.owners[stop.port as usize];
            if owner.0 == line {
                owner.0 = NONE;
            }
        }
    }

    /// Puts the packets of a message that enters now on their way, if its line is a train.
    pub(super) fn depart(&mut self, id: MessageId, start: Time) -> bool {
        let message = &self.messages[id as usize];
        let (line, packets) = (message.line, message.packets);
        let Some(trains) = self.trains.as_mut().filter(|trains| trains.is_train(line)) else {
            return false;
        };
        let entry = &mut trains.lines[line as usize];
        let first = entry.stops[0];
        let port = &self.ports[first.port as usize];
        let run = |at: Time, count, is_last| Run {
            at: at + port.latency,
            gap: first.full,
            count,
            message: id,
            is_last,
        };
        if packets > 1 {
            entry.waiting[1].push_back(run(start + first.full, packets - 1, false));
        }
        entry.waiting[1].push_back(run(port.free, 1, true));
        entry.messages.push_back(id);
        if entry.messages.len() == 1 {
            self.expect(line);
        }
        true
    }

    /// Moves the packets that have come to a port by now, if it is one of a train.
    pub(super) fn settle(&mut self, port: usize) {
        let Some(trains) = &self.trains else { return };
        let (line, stop) = trains.owners[port];
        if line != NONE {
            self.move_on(line, stop as usize);
        }
    }

    /// Moves the packets of a train that have come to its stops by now, up to one.
    fn move_on(&mut self, line: u32, to: usize) {
        let Some(trains) = &mut self.trains else { return };
        let mut entry = std::mem::take(&mut trains.lines[line as usize]);
        for number in 1..=to {
            while let Some(run) = entry.waiting[number].pop_front() {
                let (served, rest) = self.pass(entry.stops[number], run, self.now);
                for run in served.into_iter().flatten() {
                    if number + 1 < entry.stops.len() {
                        append(&mut entry.waiting[number + 1], run);
                    } else if run.is_last {
                        self.messages[run.message as usize].end = run.at;
                    }
                }
                if let Some(rest) = rest {
                    entry.waiting[number].push_front(rest);
                    break;
                }
            }
        }
        if let Some(trains) = &mut self.trains {
            trains.lines[line as usize] = entry;
        }
    }

    /// Serves what of a run has come to a stop, as it comes to the next.
    fn pass(&mut self, stop: Stop, run: Run, until: Time) -> ([Option<Run>; 2], Option<Run>) {
        let span = self.span_of(stop, run);
        let port = &mut self.ports[stop.port as usize];
        let (served, rest) = run.serve(&mut port.free, span, until);
        (served.map(|run| run.map(|run| run.later(port.latency))), rest)
    }

    fn span_of(&self, stop: Stop, run: Run) -> Time {
        if run.is_last {
            let bytes = self.messages[run.message as usize].last.get() * u64::from(stop.touches);
            self.ports[stop.port as usize]
                .bandwidth
                .serialization(Bytes::new(bytes))
        } else {
            stop.full
        }
    }

    /// Plans the delivery of a train's first message.
    fn expect(&mut self, line: u32) {
        let Some(trains) = &self.trains else { return };
        let entry = &trains.lines[line as usize];
        let Some(&id) = entry.messages.front() else { return };
        let known = self.messages[id as usize].end;
        let end = if known == NEVER {
            self.foreseen(entry, id)
        } else {
            known
        };
        self.deliver(end, id);
    }

    /// When a train's first message will have been delivered if nothing else happens.
    fn foreseen(&self, line: &Line, id: MessageId) -> Time {
        let mut coming: Vec<Run> = Vec::new();
        let mut end = NEVER;
        for (stop, waiting) in line.stops.iter().zip(&line.waiting).skip(1) {
            let port = &self.ports[stop.port as usize];
            let mut free = port.free;
            let mut leaving = Vec::with_capacity(coming.len() + 2);
            let waiting = waiting.iter().take_while(|run| run.message == id);
            for &run in waiting.chain(&coming) {
                let (served, _) = run.serve(&mut free, self.span_of(*stop, run), NEVER);
                leaving.extend(served.into_iter().flatten().map(|run| run.later(port.latency)));
            }
            end = free + port.latency;
            coming = leaving;
        }
        end
    }

    /// The delivery that was planned for a message has come up: says whether it is delivered now.
    pub(super) fn is_delivered(&mut self, id: MessageId) -> bool {
        let message = &self.messages[id as usize];
        let (due, line) = (message.due, message.line);
        if due != self.now {
            // Planned before the line was disbanded.
            return false;
        }
        let Some(trains) = &mut self.trains else { return true };
        if line >= LOOSE {
            if line == LOOSE {
                trains.loose -= 1;
                trains.is_resting = trains.loose > 0;
            }
            return true;
        }
        let is_train = trains.is_train(line);
        if is_train {
            let stops = trains.lines[line as usize].stops.len();
            self.move_on(line, stops - 1);
            if self.messages[id as usize].end != self.now {
                self.expect(line);
                return false;
            }
        }
        self.messages[id as usize].due = NEVER;
        let Some(trains) = &mut self.trains else { return true };
        let entry = &mut trains.lines[line as usize];
        entry.under_way -= 1;
        if is_train {
            entry.messages.pop_front();
        }
        if entry.under_way == 0 {
            self.close(line);
        } else if is_train {
            self.expect(line);
        }
        true
    }

    /// Gives up a line without messages.
    fn close(&mut self, line: u32) {
        self.disown(line);
        let Some(trains) = &mut self.trains else { return };
        let entry = &mut trains.lines[line as usize];
        if std::mem::take(&mut entry.is_train) {
            trains.kept += 1;
        }
        trains.by_pair.remove(&entry.pair);
        for stop in entry.stops.iter().skip(1) {
            trains.users[stop.port as usize] -= 1;
        }
        trains.unused.push(line);
    }

    /// Gives the packets of a train events of their own.
    fn disband(&mut self, line: u32) {
        let Some(trains) = &mut self.trains else { return };
        if !trains.is_train(line) {
            return;
        }
        let stops = trains.lines[line as usize].stops.len();
        self.move_on(line, stops - 1);
        self.disown(line);
        let Some(trains) = &mut self.trains else { return };
        trains.lost += 1;
        let entry = &mut trains.lines[line as usize];
        entry.is_train = false;
        let messages = std::mem::take(&mut entry.messages);
        let waiting: Vec<Vec<Run>> = entry.waiting.iter_mut().map(|runs| runs.drain(..).collect()).collect();
        for id in messages {
            let message = &mut self.messages[id as usize];
            let (due, end) = (message.due, message.end);
            if end == NEVER {
                message.due = NEVER;
            } else if due != end {
                self.deliver(end, id);
            }
        }
        self.start_apart(&waiting[1]);
        for (hop, runs) in waiting.iter().enumerate().skip(2) {
            for run in runs {
                let before = self.hop(run.message, hop - 1).index();
                for number in 0..run.count {
                    let at = run.at + run.gap.checked_mul(number).expect("within the time of the run");
                    let key = self.arrival(at, run.message, hop, run.is_last);
                    self.transit.push(&mut self.queue, before, key);
                }
            }
        }
    }

    /// Lets packets come to their second stop, one after the other, each message by itself.
    fn start_apart(&mut self, runs: &[Run]) {
        for same in runs.chunk_by(|a, b| a.message == b.message) {
            let next = same[0];
            let left: u64 = same.iter().map(|run| run.count).sum();
            let message = &mut self.messages[next.message as usize];
            message.behind = left - 1;
            message.is_chained = false;
            let key = self.arrival(next.at, next.message, 1, left == 1);
            let first = self.hop(next.message, 0).index();
            self.transit.push(&mut self.queue, first, key);
        }
    }

    /// Writes all that steers of the lines. Whether trains are given up for now changes the cost alone.
    pub(super) fn describe_trains(&mut self, shape: &mut Shape) {
        let Some(trains) = &self.trains else { return };
        let mut lines: Vec<_> = trains.by_pair.iter().map(|(&pair, &line)| (pair, line)).collect();
        lines.sort_unstable();
        for &(_, line) in &lines {
            let Some(trains) = &self.trains else { return };
            let entry = &trains.lines[line as usize];
            if entry.is_train {
                let last = entry.stops.len() - 1;
                self.move_on(line, last);
            }
        }
        let Some(trains) = &self.trains else { return };
        for ((source, destination), line) in lines {
            let entry = &trains.lines[line as usize];
            shape.words([source, destination, entry.under_way, u32::from(entry.is_train)]);
            shape.messages(&entry.messages);
            for &id in &entry.messages {
                let end = self.messages[id as usize].end;
                shape.moment_if_any((end != NEVER).then_some(end));
            }
            for runs in &entry.waiting[..entry.stops.len()] {
                shape.index(runs.len());
                for run in runs {
                    shape.moment(run.at);
                    shape.words([run.gap.picoseconds(), run.count, u64::from(run.is_last)]);
                    shape.message(run.message);
                }
            }
        }
    }

    /// Puts all trains off by so much.
    pub(super) fn put_off_trains(&mut self, by: Time) {
        for message in &mut self.messages {
            for instant in [&mut message.due, &mut message.end] {
                if *instant != NEVER {
                    *instant += by;
                }
            }
        }
        let Some(trains) = &mut self.trains else { return };
        let runs = trains.lines.iter_mut().flat_map(|line| &mut line.waiting).flatten();
        runs.for_each(|run| run.at += by);
    }
}

fn append(runs: &mut VecDeque<Run>, next: Run) {
    match runs.back_mut() {
        Some(back) if back.joined(next).is_some() => back.count += next.count,
        _ => runs.push_back(next),
    }
}
