//! The rules of the full packet model, one event at a time: explicit buffers, queues, credits and turns.
//!
//! A *station* is what a packet occupies: a link, or the memory of a chip. Every station has buffers at its end, one a
//! virtual channel. An instant is a row of rounds: all that happens is collected, then stations choose; what that
//! brings about at the same instant is the next round. What enters at the instant comes after all of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use trncomm_core::engine::{Advance, Due, MessageId, Network, Packet, Traffic};
use trncomm_core::error::SimulationError;
use trncomm_core::ids::{LinkId, NodeId, RankId};
use trncomm_core::topology::{Arbitration, Forwarding, Policy, Queueing, Topology};
use trncomm_core::units::{Bytes, Time};

use crate::common::serialization;

/// A message. They are numbered in the order of posting; a number is never used again.
struct Letter {
    id: MessageId,
    source: RankId,
    destination: RankId,
    /// The fixed route: stations and how often each byte counts there.
    route: Vec<Stop>,
    way_back: u64,
    packets: u64,
    /// The bytes on the wire of the last packet.
    last: u64,
    /// Packets that have not set out.
    unsent: BTreeSet<u64>,
    in_flight: u64,
    /// The highest number of a packet that started on its last station.
    highest: u64,
    home: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stop {
    station: usize,
    touches: u64,
}

/// A packet under way, and the station that it is on.
#[derive(Clone, Copy)]
struct Parcel {
    letter: usize,
    number: u64,
    wire: u64,
    hop: usize,
    stop: Stop,
    channel: usize,
}

/// A packet in a buffer.
#[derive(Clone, Copy)]
struct Waiter {
    parcel: usize,
    wants: Stop,
    channel: usize,
    came: u64,
    /// When it could first be chosen.
    stamp: Option<u64>,
    /// Where it stands among those of one stamp: packets without bytes last, then by ties.
    place: (bool, u32),
    slot: usize,
    leaving: bool,
}

/// What starts at a node.
#[derive(Clone)]
enum Start {
    /// These packets of a letter.
    Some(usize, VecDeque<u64>),
    /// Whatever packets of a letter are left.
    Any(usize),
    Touch(u64, u32),
}

impl Start {
    fn letter(&self) -> Option<usize> {
        match *self {
            Self::Some(letter, _) | Self::Any(letter) => Some(letter),
            Self::Touch(..) => None,
        }
    }
}

struct Station {
    rate: u64,
    latency: u64,
    /// When it has sent what it sends.
    free: u64,
    /// The room left in the buffers at its end; none where there is no limit.
    room: Option<Vec<u64>>,
    buffers: Vec<VecDeque<Waiter>>,
    own: VecDeque<(u64, Start)>,
    /// The slot that went last, and the number of slots.
    turn: usize,
    slots: usize,
    held_since: Option<u64>,
}

/// One of the packets that a station may take.
#[derive(Clone, Copy)]
struct Head {
    stamp: u64,
    is_own: bool,
    place: (bool, u32),
    channel: usize,
    slot: usize,
    wire: u64,
    /// The buffer that it is in: station and channel, and the place there.
    buffer: Option<(usize, usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Enter(usize),
    /// A station has sent a packet.
    Free(usize),
    /// A packet has left the buffer of a station and channel.
    Left(usize, usize, usize),
    /// A packet comes to a node that passes it on.
    Came(usize),
    /// A packet comes to the end of its way.
    Home(usize),
    /// Room for bytes comes back to a station and channel.
    Credit(usize, usize, u64),
    /// The sender of a letter hears that bytes have arrived.
    Heard(usize, u64),
    Woken(u32),
}

pub struct Plain<'t> {
    topology: &'t Topology,
    now: u64,
    heap: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    made: u64,
    stamp: u64,
    stations: Vec<Station>,
    letters: Vec<Letter>,
    parcels: Vec<Parcel>,
    /// What waits for word from the other end.
    parked: Vec<(usize, u64, Start)>,
    /// Turns that each node has taken among its links.
    spread: BTreeMap<NodeId, u64>,
    /// Stations to which something has happened.
    news: BTreeSet<usize>,
    level: Vec<u64>,
    buffer_level: Vec<u64>,
    traffic: Traffic,
}

impl<'t> Plain<'t> {
    pub fn new(topology: &'t Topology) -> Self {
        let links = topology.links();
        let fabric = topology.fabric();
        let channels = usize::from(fabric.virtual_channels());
        let slots = |node: NodeId| topology.ports(node) * channels + 1;
        let link = |id: LinkId| Station {
            rate: topology.bandwidth(id).bytes_per_second(),
            latency: topology.latency(id).picoseconds(),
            free: 0,
            room: fabric.buffer().map(|buffer| vec![buffer.get(); channels]),
            buffers: vec![VecDeque::new(); channels],
            own: VecDeque::new(),
            // The first turn is that of the port after the link's own.
            turn: (topology.output_port(id) as usize + 1) * channels - 1,
            slots: slots(topology.source(id)),
            held_since: None,
        };
        let mut stations: Vec<Station> = (0..links).map(|index| link(LinkId::new(index))).collect();
        if let Some(rate) = topology.endpoint().memory() {
            stations.extend((0..topology.ranks()).map(|rank| Station {
                rate: rate.bytes_per_second(),
                latency: 0,
                free: 0,
                room: None,
                buffers: vec![VecDeque::new()],
                own: VecDeque::new(),
                turn: slots(NodeId::new(rank)) - 1,
                slots: slots(NodeId::new(rank)),
                held_since: None,
            }));
        }
        let count = stations.len();
        Self {
            topology,
            now: 0,
            heap: BinaryHeap::new(),
            made: 0,
            stamp: 0,
            stations,
            letters: Vec::new(),
            parcels: Vec::new(),
            parked: Vec::new(),
            spread: BTreeMap::new(),
            news: BTreeSet::new(),
            level: vec![0; count],
            buffer_level: vec![0; count],
            traffic: Traffic {
                link_bytes: vec![0; count],
                link_busy: vec![0; count],
                link_wait: vec![0; count],
                link_longest_wait: vec![0; count],
                link_held: vec![0; count],
                queue_peak: vec![0; count],
                queue_area: vec![0; count],
                buffer_peak: vec![0; count],
                ..Traffic::default()
            },
        }
    }

    fn plan(&mut self, time: u64, happening: Happening) {
        self.heap.push(Reverse((time, self.made, happening)));
        self.made += 1;
    }

    fn link(&self, station: usize) -> Option<LinkId> {
        (station < self.topology.links()).then(|| LinkId::new(station))
    }

    /// The node at the end of a station.
    fn end(&self, station: usize) -> NodeId {
        match self.link(station) {
            Some(link) => self.topology.destination(link),
            None => NodeId::new(station - self.topology.links()),
        }
    }

    fn is_fixed(&self) -> bool {
        matches!(self.topology.fabric().policy(), Policy::Fixed | Policy::FlowHash { .. })
    }

    fn span(&self, stop: Stop, wire: u64) -> u64 {
        serialization(wire * stop.touches, self.stations[stop.station].rate)
    }

    fn wire(&self, letter: usize, number: u64) -> u64 {
        let format = self.topology.packet_format();
        if number + 1 == self.letters[letter].packets {
            self.letters[letter].last
        } else {
            format.payload().get() + format.header().get()
        }
    }

    fn memory(&self, rank: RankId, touches: u32) -> Option<Stop> {
        self.topology.endpoint().memory()?;
        (touches > 0).then_some(Stop {
            station: self.topology.links() + rank.index(),
            touches: u64::from(touches),
        })
    }

    /// The links from one rank to another where all packets take the same ones.
    fn path(&self, from: RankId, to: RankId) -> Result<Vec<LinkId>, SimulationError> {
        let mut path = Vec::new();
        self.topology.route(from, to, &mut path)?;
        if !matches!(self.topology.fabric().policy(), Policy::FlowHash { .. }) {
            return Ok(path);
        }
        // Which way a hash picks is arbitrary: a message on the model without limits shows it.
        let mut probe = Packet::new(self.topology)?;
        probe.post(Time::ZERO, 0, from, to, Bytes::new(1))?;
        let carried = probe.traffic().link_bytes;
        let (mut path, mut at) = (Vec::new(), NodeId::from(from.get()));
        while at.get() != to.get() {
            let mut links = self.topology.out_links(at).iter();
            let link = *links.find(|link| carried[link.index()] > 0).expect("a way on");
            path.push(link);
            at = self.topology.destination(link);
        }
        Ok(path)
    }

    fn enter(&mut self, letter: usize) {
        let first = self.letters[letter].route[0].station;
        let all: VecDeque<u64> = (0..self.letters[letter].packets).collect();
        if self.is_fixed() || self.link(first).is_none() {
            self.queue_own(first, Start::Some(letter, all));
            return;
        }
        let (source, destination) = (self.letters[letter].source, self.letters[letter].destination);
        let node = NodeId::from(source.get());
        let mut links = Vec::new();
        self.topology.next_links(node, destination, &mut links);
        if self.topology.fabric().policy() == Policy::Adaptive {
            for link in links {
                self.queue_own(link.index(), Start::Any(letter));
            }
            return;
        }
        let mut shares = vec![VecDeque::new(); links.len()];
        for number in all {
            shares[self.take_turn(node, links.len())].push_back(number);
        }
        for (link, share) in links.iter().zip(shares) {
            if !share.is_empty() {
                self.queue_own(link.index(), Start::Some(letter, share));
            }
        }
    }

    /// Which of so many links is next for what leaves a node.
    fn take_turn(&mut self, node: NodeId, links: usize) -> usize {
        if links == 1 {
            return 0;
        }
        let turn = self.spread.entry(node).or_default();
        let taken = *turn % links as u64;
        *turn += 1;
        usize::try_from(taken).expect("a link")
    }

    fn queue_own(&mut self, station: usize, start: Start) {
        self.stamp += 1;
        self.stations[station].own.push_back((self.stamp, start));
        self.news.insert(station);
    }

    /// The first of what starts at a station. Letters without room in their window step aside.
    fn own_head(&mut self, station: usize) -> Option<Head> {
        loop {
            let (stamp, start) = self.stations[station].own.front()?.clone();
            let (number, letter) = match &start {
                Start::Some(letter, numbers) => (numbers[0], *letter),
                Start::Any(letter) => (*self.letters[*letter].unsent.first().expect("left"), *letter),
                Start::Touch(..) => {
                    return Some(Head {
                        stamp,
                        is_own: true,
                        place: (false, 0),
                        channel: 0,
                        slot: self.stations[station].slots - 1,
                        wire: 0,
                        buffer: None,
                    });
                }
            };
            let wire = self.wire(letter, number);
            let in_flight = self.letters[letter].in_flight;
            if let Some(window) = self.topology.endpoint().window()
                && in_flight > 0
                && in_flight + wire > window.get()
            {
                self.stations[station].own.pop_front();
                self.parked.push((station, stamp, start));
                continue;
            }
            return Some(Head {
                stamp,
                is_own: true,
                place: (false, 0),
                channel: self.channel(None, station),
                slot: self.stations[station].slots - 1,
                wire,
                buffer: None,
            });
        }
    }

    fn channel(&self, before: Option<(usize, usize)>, station: usize) -> usize {
        let Some(link) = self.link(station) else { return 0 };
        if self.topology.fabric().virtual_channels() == 1 {
            return 0;
        }
        let before = before.and_then(|(station, channel)| {
            let channel = u8::try_from(channel).expect("a channel");
            self.link(station).map(|link| (link, channel))
        });
        self.topology.channel(before, link).into()
    }

    /// The packets in transit that a station may take.
    fn transit_heads(&self, station: usize) -> Vec<Head> {
        let mut heads = Vec::new();
        for (input, other) in self.stations.iter().enumerate() {
            for (channel, buffer) in other.buffers.iter().enumerate() {
                for (place, waiter) in buffer.iter().enumerate() {
                    if waiter.leaving || waiter.wants.station != station {
                        continue;
                    }
                    let Some(stamp) = waiter.stamp else { continue };
                    heads.push(Head {
                        stamp,
                        is_own: false,
                        place: waiter.place,
                        channel: waiter.channel,
                        slot: waiter.slot,
                        wire: self.parcels[waiter.parcel].wire,
                        buffer: Some((input, channel, place)),
                    });
                }
            }
        }
        heads
    }

    /// Lets a station choose, if it is idle.
    fn choose(&mut self, station: usize) {
        if self.stations[station].free > self.now {
            return;
        }
        let own = self.own_head(station);
        let mut heads = self.transit_heads(station);
        heads.extend(own);
        let Station {
            ref room, turn, slots, ..
        } = self.stations[station];
        let fits = |head: &Head| room.as_ref().is_none_or(|room| head.wire <= room[head.channel]);
        let chosen = match self.topology.fabric().arbitration() {
            Arbitration::FirstCome => {
                let came = |head: &Head| (head.stamp, head.is_own, head.place, head.slot, head.buffer);
                heads.sort_by_key(came);
                let mut seen = BTreeSet::new();
                // Each channel is a queue: what isn't first in it has to wait.
                let firsts = heads.iter().filter(|head| seen.insert(head.channel));
                let mut firsts: Vec<Head> = firsts.copied().filter(fits).collect();
                firsts.sort_by_key(|head| (head.stamp, head.is_own, head.place, head.channel));
                firsts.first().copied()
            }
            Arbitration::RoundRobin => {
                heads.sort_by_key(|head| ((head.slot + slots - turn - 1) % slots, head.stamp, head.buffer));
                let mut seen = BTreeSet::new();
                let firsts = heads.iter().filter(|head| seen.insert(head.slot));
                firsts.copied().find(fits)
            }
        };
        if chosen.is_none() && !heads.is_empty() {
            self.stations[station].held_since.get_or_insert(self.now);
            return;
        }
        if let Some(since) = self.stations[station].held_since.take() {
            self.traffic.link_held[station] += self.now - since;
        }
        if let Some(head) = chosen {
            self.stations[station].turn = head.slot;
            match head.buffer {
                Some(buffer) => self.start_transit(buffer),
                None => self.start_own(station, head.channel),
            }
        }
    }

    fn start_own(&mut self, station: usize, channel: usize) {
        let own = &mut self.stations[station].own;
        let letter = match &mut own.front_mut().expect("found before").1 {
            &mut Start::Touch(bytes, token) => {
                own.pop_front();
                let end = self.now + serialization(bytes, self.stations[station].rate);
                self.stations[station].free = end;
                self.plan(end, Happening::Free(station));
                self.plan(end, Happening::Woken(token));
                return;
            }
            Start::Some(letter, _) | Start::Any(letter) => *letter,
        };
        let (number, is_over) = match &mut own.front_mut().expect("found before").1 {
            Start::Some(_, numbers) => {
                let number = numbers.pop_front().expect("found before");
                (number, numbers.is_empty())
            }
            _ => (*self.letters[letter].unsent.first().expect("found before"), false),
        };
        if is_over {
            own.pop_front();
        }
        self.letters[letter].unsent.remove(&number);
        if self.letters[letter].unsent.is_empty() {
            self.forget(letter);
        }
        let wire = self.wire(letter, number);
        self.letters[letter].in_flight += wire;
        let route = &self.letters[letter].route;
        let stop = if route[0].station == station {
            route[0]
        } else {
            Stop { station, touches: 1 }
        };
        self.parcels.push(Parcel {
            letter,
            number,
            wire,
            hop: 0,
            stop,
            channel,
        });
        self.send(self.parcels.len() - 1);
    }

    /// Nothing is left of a letter: stations that could have sent some of it need not.
    fn forget(&mut self, letter: usize) {
        self.parked.retain(|(_, _, start)| start.letter() != Some(letter));
        for (index, station) in self.stations.iter_mut().enumerate() {
            let before = station.own.len();
            station.own.retain(|(_, start)| start.letter() != Some(letter));
            if station.own.len() < before {
                self.news.insert(index);
            }
        }
    }

    fn start_transit(&mut self, (input, channel, place): (usize, usize, usize)) {
        let waiter = &mut self.stations[input].buffers[channel][place];
        waiter.leaving = true;
        let waiter = *waiter;
        let parcel = &mut self.parcels[waiter.parcel];
        (parcel.stop, parcel.channel) = (waiter.wants, waiter.channel);
        parcel.hop += 1;
        let (wire, station) = (parcel.wire, waiter.wants.station);
        let wait = self.now - waiter.came;
        self.level[station] -= wire;
        self.buffer_level[input] -= wire;
        self.traffic.link_wait[station] += u128::from(wait);
        self.traffic.queue_area[station] += u128::from(wait) * u128::from(wire);
        self.traffic.link_longest_wait[station] = self.traffic.link_longest_wait[station].max(wait);
        let end = self.now + self.span(waiter.wants, wire);
        self.plan(end, Happening::Left(input, channel, waiter.parcel));
        self.send(waiter.parcel);
    }

    /// Puts a packet onto the station that it has.
    fn send(&mut self, id: usize) {
        let parcel = self.parcels[id];
        let station = parcel.stop.station;
        let span = self.span(parcel.stop, parcel.wire);
        let end = self.now + span;
        self.stations[station].free = end;
        self.plan(end, Happening::Free(station));
        if let Some(room) = &mut self.stations[station].room {
            room[parcel.channel] -= parcel.wire;
        }
        self.traffic.link_bytes[station] += parcel.wire;
        self.traffic.link_busy[station] += span;
        self.traffic.packet_hops += u64::from(self.link(station).is_some());
        let latency = self.stations[station].latency;
        if self.is_last_stop(&parcel) {
            let letter = &mut self.letters[parcel.letter];
            self.traffic.reordered += u64::from(parcel.number < letter.highest);
            letter.highest = letter.highest.max(parcel.number);
            self.plan(end + latency, Happening::Home(id));
            return;
        }
        let early = match self.topology.fabric().forwarding() {
            Forwarding::StoreAndForward => 0,
            Forwarding::CutThrough => {
                let nexts = self.next_stops(&parcel);
                let spans = nexts.iter().map(|&next| self.span(next, parcel.wire));
                let head = serialization(
                    self.topology.packet_format().header().get(),
                    self.stations[station].rate,
                );
                spans.min().expect("a way on").min(span.saturating_sub(head.max(1)))
            }
        };
        self.plan(end - early + latency, Happening::Came(id));
    }

    fn is_last_stop(&self, parcel: &Parcel) -> bool {
        let letter = &self.letters[parcel.letter];
        let last = letter.route[letter.route.len() - 1];
        if self.is_fixed() || self.link(last.station).is_none() {
            return parcel.stop == last;
        }
        self.end(parcel.stop.station).get() == letter.destination.get()
    }

    /// Where a packet may go after the station that it is on.
    fn next_stops(&self, parcel: &Parcel) -> Vec<Stop> {
        let letter = &self.letters[parcel.letter];
        if self.is_fixed() {
            return vec![letter.route[parcel.hop + 1]];
        }
        let node = self.end(parcel.stop.station);
        if node.get() == letter.destination.get() {
            return vec![letter.route[letter.route.len() - 1]];
        }
        let mut links = Vec::new();
        self.topology.next_links(node, letter.destination, &mut links);
        let stop = |link: LinkId| Stop {
            station: link.index(),
            touches: 1,
        };
        links.into_iter().map(stop).collect()
    }

    /// A packet has come to a node that passes it on: it picks what it wants and waits for it.
    fn come(&mut self, id: usize) {
        let parcel = self.parcels[id];
        let (input, node) = (parcel.stop.station, self.end(parcel.stop.station));
        let choices = self.next_stops(&parcel);
        let wants = match self.topology.fabric().policy() {
            Policy::Fixed | Policy::FlowHash { .. } => choices[0],
            Policy::Spray => choices[self.take_turn(node, choices.len())],
            Policy::Adaptive => {
                let load = |stop: &&Stop| (self.level[stop.station], self.stations[stop.station].free.max(self.now));
                *choices.iter().min_by_key(load).expect("a way on")
            }
        };
        let own_slot = self.stations[wants.station].slots - 1;
        let channels = usize::from(self.topology.fabric().virtual_channels());
        let (tie, slot) = match (self.link(input), self.link(wants.station)) {
            (Some(from), to) => {
                let port = self.topology.input_port(from);
                let tie = to.map_or(port, |to| self.topology.tie(from, to));
                (tie, port as usize * channels + parcel.channel)
            }
            (None, _) => (u32::MAX, own_slot),
        };
        let waits_in_line = self.topology.fabric().queueing() == Queueing::Input && self.link(input).is_some();
        let buffer = &self.stations[input].buffers[parcel.channel];
        let is_next = !waits_in_line || buffer.is_empty();
        let waiter = Waiter {
            parcel: id,
            wants,
            channel: self.channel(Some((input, parcel.channel)), wants.station),
            came: self.now,
            stamp: is_next.then_some(self.stamp),
            place: (parcel.wire == 0, tie),
            slot,
            leaving: false,
        };
        self.stations[input].buffers[parcel.channel].push_back(waiter);
        self.level[wants.station] += parcel.wire;
        self.buffer_level[input] += parcel.wire;
        self.traffic.queue_peak[wants.station] = self.traffic.queue_peak[wants.station].max(self.level[wants.station]);
        self.traffic.buffer_peak[input] = self.traffic.buffer_peak[input].max(self.buffer_level[input]);
        if is_next {
            self.news.insert(wants.station);
        }
    }

    /// A packet has left a buffer, the one behind it is next, and the room comes back.
    fn leave(&mut self, input: usize, channel: usize, parcel: usize) {
        let buffer = &mut self.stations[input].buffers[channel];
        let place = buffer.iter().position(|waiter| waiter.parcel == parcel);
        buffer.remove(place.expect("it was there"));
        if let Some(first) = buffer.front_mut()
            && first.stamp.is_none()
        {
            first.stamp = Some(self.stamp);
            self.news.insert(first.wants.station);
        }
        self.give_back(input, channel, self.parcels[parcel].wire);
    }

    fn give_back(&mut self, station: usize, channel: usize, bytes: u64) {
        if self.stations[station].room.is_some() {
            let back = self.now + self.stations[station].latency;
            self.plan(back, Happening::Credit(station, channel, bytes));
        }
    }

    fn go_home(&mut self, id: usize, due: &mut Vec<Due>) {
        let parcel = self.parcels[id];
        let letter = &mut self.letters[parcel.letter];
        letter.home += 1;
        if letter.home == letter.packets {
            due.push(Due::Delivered(letter.id));
        } else {
            let heard = self.now + letter.way_back;
            self.plan(heard, Happening::Heard(parcel.letter, parcel.wire));
        }
        self.give_back(parcel.stop.station, parcel.channel, parcel.wire);
    }

    /// All that happens at this instant and isn't an entry; false if nothing does.
    fn round(&mut self, entering: &mut Vec<usize>, due: &mut Vec<Due>) -> bool {
        self.stamp += 1;
        let (mut coming, mut heard, mut happened) = (Vec::new(), BTreeSet::new(), false);
        while let Some(&Reverse((time, order, happening))) = self.heap.peek()
            && time == self.now
        {
            self.heap.pop();
            happened = true;
            match happening {
                Happening::Enter(letter) => entering.push(letter),
                Happening::Free(station) => {
                    self.news.insert(station);
                }
                Happening::Left(station, channel, parcel) => self.leave(station, channel, parcel),
                Happening::Came(parcel) => coming.push((order, parcel)),
                Happening::Home(parcel) => self.go_home(parcel, due),
                Happening::Credit(station, channel, bytes) => {
                    self.stations[station].room.as_mut().expect("a limit")[channel] += bytes;
                    self.news.insert(station);
                }
                Happening::Heard(letter, bytes) => {
                    self.letters[letter].in_flight -= bytes;
                    heard.insert(letter);
                }
                Happening::Woken(token) => due.push(Due::Woken(token)),
            }
        }
        // By input port of their node; what comes out of its memory last; what came by one link as it was sent.
        coming.sort_by_key(|&(order, parcel)| {
            let link = self.link(self.parcels[parcel].stop.station);
            (link.map_or(u32::MAX, |link| self.topology.input_port(link)), order)
        });
        for (_, parcel) in coming {
            self.come(parcel);
        }
        let parked = std::mem::take(&mut self.parked);
        let goes_on = |entry: &(usize, u64, Start)| entry.2.letter().is_some_and(|letter| heard.contains(&letter));
        let (mut resumed, parked): (Vec<_>, Vec<_>) = parked.into_iter().partition(goes_on);
        self.parked = parked;
        resumed.sort_by_key(|&(station, stamp, _)| (station, stamp));
        for (station, _, start) in resumed {
            self.queue_own(station, start);
        }
        self.choose_all();
        happened
    }

    fn choose_all(&mut self) {
        while !self.news.is_empty() {
            for station in std::mem::take(&mut self.news) {
                self.choose(station);
            }
        }
    }
}

impl Network for Plain<'_> {
    fn post(
        &mut self,
        at: Time,
        message: MessageId,
        source: RankId,
        destination: RankId,
        bytes: Bytes,
    ) -> Result<(), SimulationError> {
        let format = self.topology.packet_format();
        let touches = self.topology.endpoint().touches();
        let path = self.path(source, destination)?;
        let links = path.iter().map(|link| Stop {
            station: link.index(),
            touches: 1,
        });
        let (read, write) = (
            self.memory(source, touches.read),
            self.memory(destination, touches.write),
        );
        let (mut packets, mut last) = (1, bytes.get());
        while last > format.payload().get() {
            packets += 1;
            last -= format.payload().get();
        }
        self.letters.push(Letter {
            id: message,
            source,
            destination,
            route: read.into_iter().chain(links).chain(write).collect(),
            way_back: path.iter().map(|&link| self.topology.latency(link).picoseconds()).sum(),
            packets,
            last: last + format.header().get(),
            unsent: (0..packets).collect(),
            in_flight: 0,
            highest: 0,
            home: 0,
        });
        let letter = self.letters.len() - 1;
        if at.picoseconds() > self.now {
            self.plan(at.picoseconds(), Happening::Enter(letter));
        } else {
            self.enter(letter);
            self.choose_all();
        }
        Ok(())
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.plan(at.picoseconds(), Happening::Woken(token));
    }

    fn touch(&mut self, rank: RankId, bytes: Bytes, token: u32) -> Result<(), SimulationError> {
        self.queue_own(self.topology.links() + rank.index(), Start::Touch(bytes.get(), token));
        self.choose_all();
        Ok(())
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        while let Some(&Reverse((time, ..))) = self.heap.peek() {
            self.now = time;
            let mut entering = Vec::new();
            while self.round(&mut entering, due) {}
            for letter in entering {
                self.enter(letter);
            }
            self.choose_all();
            if !due.is_empty() {
                return Advance::Due(Time::from_picoseconds(time));
            }
        }
        Advance::Idle
    }

    fn traffic(&self) -> Traffic {
        let links = self.topology.links();
        let mut traffic = self.traffic.clone();
        for column in [
            &mut traffic.link_bytes,
            &mut traffic.link_busy,
            &mut traffic.link_longest_wait,
            &mut traffic.link_held,
            &mut traffic.queue_peak,
            &mut traffic.buffer_peak,
        ] {
            column.truncate(links);
        }
        traffic.link_wait.truncate(links);
        traffic.queue_area.truncate(links);
        traffic
    }

    fn stuck(&self) -> Option<String> {
        let holds_some =
            |station: &Station| !station.own.is_empty() || station.buffers.iter().any(|buffer| !buffer.is_empty());
        self.stations.iter().any(holds_some).then(|| "packets wait".to_owned())
    }
}
