//! The rank machine: runs the programs of all ranks against a network.
//!
//! It posts messages and is told of deliveries; it knows nothing of links, collectives or algorithms. All that
//! happens at an instant is collected before any stream goes on, and streams go on in the order of their numbers
//! within the rank, so that what a rank posts at an instant doesn't depend on how ranks are numbered.

mod dispatch;
mod mailbox;
mod recur;

use dispatch::{Dispatch, Order};
use mailbox::Mailbox;
use recur::Watch;

use super::budget::Budget;
use super::costs::Costs;
use super::histogram::Histogram;
use super::leap::Leapt;
use super::memory::Memory;
use super::network::{Advance, Due, MessageId, Network, Traffic};
use crate::error::{ScheduleError, SimulationError};
use crate::ids::RankId;
use crate::quotient::Fold;
use crate::schedule::{Code, Combine, MAX_DEPTH, Place, Site, Step, StreamCode};
use crate::units::{Bytes, Time};

/// What a token stands for, in its upper two bits: the end of what keeps a stream busy, the end of a completion
/// overhead at a rank, or the moment when a rank begins.
const STREAM: u32 = 0;
const COMPLETION: u32 = 1;
const BEGIN: u32 = 2;
/// After how much work the control is asked whether to go on, counted in steps of programs: a fraction of a second.
const ASK_AFTER: u32 = 1 << 17;
/// What an instant counts for, since a network may handle a million events before something is due.
const WORK_OF_AN_INSTANT: u32 = ASK_AFTER / 8;
/// More streams than these would not fit a token.
const STREAMS: u32 = 1 << 30;

fn token(kind: u32, number: u32) -> u32 {
    (kind << 30) | number
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Instructions completed.
    pub done: u64,
    /// Instructions in all.
    pub total: u64,
    /// The simulated time reached.
    pub time: Time,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It does.
    Continue,
    /// It ends with [`SimulationError::Interrupted`].
    Stop,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome<M> {
    /// When each rank had ended its program and every message it sent was delivered.
    pub finish: Vec<Time>,
    /// How many messages were delivered.
    pub messages: u64,
    /// How many bytes each rank sent.
    pub sent: Vec<u64>,
    /// From posting to delivery, over all messages; launch overhead included, waiting for one of the rank's queues not.
    pub latencies: Histogram,
    /// The first message that nobody received, if any: (source, destination, channel).
    pub unreceived: Option<(u32, u32, u32)>,
    /// What the network carried.
    pub traffic: Traffic,
    /// The buffers at the end.
    pub memory: M,
    /// How many ranks and links were run, of those that there are.
    pub run: Run,
    /// What was counted instead of run.
    pub leapt: Leapt,
}

/// How much of a system was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Ranks.
    pub ranks: usize,
    /// Links.
    pub links: usize,
}

impl<M> Outcome<M> {
    /// The outcome for all that the representatives of a fold stand for. The events are those that were handled.
    pub(super) fn unfolded(self, fold: &Fold) -> Self {
        let order = fold.order();
        let Traffic {
            link_bytes,
            link_busy,
            packet_hops,
            ..
        } = self.traffic;
        Self {
            finish: fold.all_ranks(&self.finish),
            messages: self.messages * order,
            sent: fold.all_ranks(&self.sent),
            latencies: self.latencies.repeated(order),
            traffic: Traffic {
                link_bytes: fold.all_links(&link_bytes),
                link_busy: fold.all_links(&link_busy),
                packet_hops: packet_hops * order,
                ..self.traffic
            },
            run: Run {
                ranks: fold.ranks(),
                links: fold.links(),
            },
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ready,
    /// Waits for a message from this rank on the stream's channel.
    Receiving(u32),
    /// Is busy until woken so many times.
    Busy(u8),
    /// Waits for another stream (its global number) to complete so many instructions.
    Waiting(u32, u64),
    Ended,
}

#[derive(Debug)]
struct StreamState {
    /// Its rank's place among those that are run.
    rank: u32,
    position: u32,
    status: Status,
    watched: bool,
    completed: u64,
    vars: [u64; MAX_DEPTH],
    /// Under a fold: the receiver that was sent to last, and what it was carried to. It is the same one as a rule.
    carried: Option<(u32, (u32, u32))>,
}

#[derive(Debug)]
struct Message<P> {
    /// The sender's place among the ranks that are run.
    source: u32,
    /// The rank that it comes from, as its receiver names it.
    sender: u32,
    /// The receiver's place among the ranks that are run.
    destination: u32,
    /// The rank that it is addressed to, as its sender names it.
    receiver: u32,
    channel: u32,
    bytes: Bytes,
    /// When the network was given it.
    posted: Time,
    /// Its place in the order in which messages were sent.
    serial: u64,
    payload: P,
}

impl<P> Message<P> {
    /// (destination, sender, channel).
    fn key(&self) -> (u32, u32, u32) {
        (self.destination, self.sender, self.channel)
    }
}

/// The state of all ranks during a run.
#[derive(Debug)]
pub struct Machine<'c, N, M: Memory> {
    code: &'c Code<'c>,
    costs: Costs<'c>,
    /// Who stands for whom, if not every rank is run.
    fold: Option<&'c Fold>,
    /// The ranks that are run.
    names: Vec<u32>,
    network: N,
    memory: M,
    now: Time,
    /// Stream numbers of rank r are `first[r]..first[r + 1]`.
    first: Vec<u32>,
    streams: Vec<StreamState>,
    open: Vec<u32>,
    finish: Vec<Time>,
    sent: Vec<u64>,
    messages: Vec<Option<Message<M::Payload>>>,
    free: Vec<MessageId>,
    dispatch: Vec<Dispatch>,
    /// Where messages can overtake one another.
    order: Option<Order>,
    ready: Vec<MessageId>,
    latencies: Histogram,
    mailbox: Mailbox,
    /// Streams that got what they waited for at this instant, with the message.
    matched: Vec<(u32, MessageId)>,
    runnable: Vec<u32>,
    budget: Budget,
    /// The work since the control was last asked.
    unasked: u32,
    done: u64,
    /// Instructions in all.
    total: u64,
    delivered: u64,
    /// Messages sent so far.
    serial: u64,
    /// Whether, and with what, one looks for states that come back.
    watch: Option<Watch>,
}

/// What spares a run work and changes nothing of what it comes to, its count of events apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shortcuts<'c> {
    /// Who stands for whom: the ranks and links that are alike are run once. The network has to be one of the
    /// representatives, and the columns of the outcome are theirs.
    pub fold: Option<&'c Fold>,
    /// Whether what repeats is run once, where the network model can tell.
    pub leap: bool,
}

/// Runs `code` on `network` with the endpoint costs given, every rank and every event, asking `control` now and then
/// whether to go on.
pub fn run<'c, N: Network, M: Memory>(
    code: &'c Code<'c>,
    costs: impl Into<Costs<'c>>,
    network: N,
    memory: M,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Outcome<M>, SimulationError> {
    run_with(code, costs, network, memory, Shortcuts::default(), control)
}

/// The same with shortcuts.
pub fn run_with<'c, N: Network, M: Memory>(
    code: &'c Code<'c>,
    costs: impl Into<Costs<'c>>,
    network: N,
    memory: M,
    shortcuts: Shortcuts<'c>,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Outcome<M>, SimulationError> {
    let mut machine = Machine::new(code, costs.into(), shortcuts, network, memory)?;
    machine.run(control)?;
    Ok(machine.outcome())
}

impl<'c, N: Network, M: Memory> Machine<'c, N, M> {
    fn new(
        code: &'c Code<'c>,
        costs: Costs<'c>,
        Shortcuts { fold, leap }: Shortcuts<'c>,
        network: N,
        memory: M,
    ) -> Result<Self, SimulationError> {
        let ranks = fold.map_or(code.schedule().ranks(), Fold::ranks);
        let name = |place: usize| fold.map_or(RankId::new(place), |fold| fold.rank(place)).get();
        let names: Vec<u32> = (0..ranks).map(name).collect();
        let mut first = Vec::with_capacity(ranks + 1);
        let mut streams = Vec::new();
        let mut open = Vec::with_capacity(ranks);
        first.push(0);
        for rank in 0..u32::try_from(ranks).expect("a shape's ranks fit 32 bits") {
            let count = code.streams(names[rank as usize]).len();
            streams.extend((0..count).map(|_| StreamState {
                rank,
                position: 0,
                status: Status::Ready,
                watched: false,
                completed: 0,
                vars: [0; MAX_DEPTH],
                carried: None,
            }));
            open.push(u32::try_from(count).unwrap_or(u32::MAX));
            let total = u32::try_from(streams.len()).ok().filter(|&total| total < STREAMS);
            first.push(
                total.ok_or_else(|| ScheduleError::Shape(format!("the ranks have over {STREAMS} streams together")))?,
            );
        }
        let order = (!network.keeps_order() || !costs.launches_in_order()).then(Order::default);
        let watch = (leap && M::FORGETS && order.is_none() && network.recurs()).then(|| Watch::over(code));
        Ok(Self {
            code,
            costs,
            fold,
            names,
            order,
            watch,
            serial: 0,
            network,
            memory,
            now: Time::ZERO,
            matched: Vec::new(),
            runnable: Vec::new(),
            first,
            streams,
            open,
            finish: vec![Time::ZERO; ranks],
            sent: vec![0; ranks],
            messages: Vec::new(),
            free: Vec::new(),
            dispatch: (0..ranks).map(|_| Dispatch::default()).collect(),
            ready: Vec::new(),
            latencies: Histogram::default(),
            mailbox: Mailbox::default(),
            budget: Budget::default(),
            unasked: 0,
            done: 0,
            total: code.instructions() / fold.map_or(1, Fold::order),
            delivered: 0,
        })
    }

    fn run(&mut self, control: &mut dyn FnMut(Progress) -> Control) -> Result<(), SimulationError> {
        let mut due = Vec::new();
        let mut running = Vec::new();
        self.begin()?;
        loop {
            while !self.runnable.is_empty() {
                std::mem::swap(&mut running, &mut self.runnable);
                running.sort_unstable();
                running.dedup();
                for stream in running.drain(..) {
                    self.go_on(stream, control)?;
                }
            }
            if self.watch.is_some() {
                self.look_back();
            }
            due.clear();
            match self.network.advance(&mut due) {
                Advance::Due(time) => {
                    self.now = time;
                    for event in &due {
                        self.take(*event)?;
                    }
                    self.absorb_matched()?;
                    self.work(WORK_OF_AN_INSTANT, control)?;
                }
                Advance::Paused(time) => {
                    self.now = time;
                    self.work(ASK_AFTER, control)?;
                }
                Advance::Idle => break,
            }
        }
        self.check_ended()
    }

    /// Lets every rank begin, late ones when their time comes.
    fn begin(&mut self) -> Result<(), SimulationError> {
        for rank in 0..u32::try_from(self.open.len()).expect("a shape's ranks fit 32 bits") {
            let late = self.costs.late(self.name(rank));
            if late == Time::ZERO {
                self.begin_rank(rank);
            } else {
                self.budget.delay(late)?;
                self.network.wake(late, token(BEGIN, rank));
            }
        }
        Ok(())
    }

    /// The rank at this place among those that are run.
    fn name(&self, place: u32) -> u32 {
        self.names[place as usize]
    }

    fn begin_rank(&mut self, rank: u32) {
        for stream in self.first[rank as usize]..self.first[rank as usize + 1] {
            self.memory.starts(stream, self.now);
            self.runnable.push(stream);
        }
    }

    /// Counts work that has been done, and asks whether to go on when it has come to enough.
    fn work(&mut self, amount: u32, control: &mut dyn FnMut(Progress) -> Control) -> Result<(), SimulationError> {
        self.unasked += amount;
        if self.unasked < ASK_AFTER {
            return Ok(());
        }
        self.unasked = 0;
        self.ask(control)
    }

    /// Reports how far the run has come, and ends it if so told.
    fn ask(&self, control: &mut dyn FnMut(Progress) -> Control) -> Result<(), SimulationError> {
        let progress = Progress {
            done: self.done,
            total: self.total,
            time: self.now,
        };
        match control(progress) {
            Control::Continue => Ok(()),
            Control::Stop => Err(SimulationError::Interrupted {
                events: self.network.events(),
                time_ps: self.now.picoseconds(),
            }),
        }
    }

    fn take(&mut self, event: Due) -> Result<(), SimulationError> {
        match event {
            Due::Delivered(id) => self.delivered(id),
            Due::Woken(woken) => {
                let number = woken & (STREAMS - 1);
                match woken >> 30 {
                    STREAM => self.woken(number),
                    COMPLETION => {
                        let id = self.dispatch[number as usize].completing.pop_front();
                        self.arrived(id.expect("one token a message"));
                    }
                    _ => self.begin_rank(number),
                }
                Ok(())
            }
        }
    }

    fn woken(&mut self, stream: u32) {
        let state = &mut self.streams[stream as usize];
        match state.status {
            Status::Busy(left) if left > 1 => state.status = Status::Busy(left - 1),
            _ => {
                self.memory.woken(stream, self.streams[stream as usize].rank, self.now);
                self.complete(stream);
                self.runnable.push(stream);
            }
        }
    }

    /// The network has brought a message to its destination.
    fn delivered(&mut self, id: MessageId) -> Result<(), SimulationError> {
        let message = self.messages[id as usize]
            .as_ref()
            .expect("a delivered message is under way");
        let (source, key) = (message.source, message.key());
        self.latencies.add(self.now - message.posted);
        self.memory.delivered(&message.payload, self.now);
        if let Some(watch) = &mut self.watch {
            watch.leap.hear(key.0, message.posted, self.now);
        }
        self.finish[source as usize] = self.now;
        self.release(source)?;
        let Some(order) = &mut self.order else {
            return self.in_order(id);
        };
        let mut ready = std::mem::take(&mut self.ready);
        order.arrived(key, id, &mut ready);
        for id in ready.drain(..) {
            self.in_order(id)?;
        }
        self.ready = ready;
        Ok(())
    }

    /// A message has been brought, and all that were posted before it on its channel.
    fn in_order(&mut self, id: MessageId) -> Result<(), SimulationError> {
        let destination = self.message(id).destination;
        let completion = self.costs.completion(self.name(destination))?;
        if completion == Time::ZERO {
            self.arrived(id);
            return Ok(());
        }
        self.dispatch[destination as usize].completing.push_back(id);
        self.network.wake(self.now + completion, token(COMPLETION, destination));
        Ok(())
    }

    fn message(&self, id: MessageId) -> &Message<M::Payload> {
        self.messages[id as usize]
            .as_ref()
            .expect("a delivered message is under way")
    }

    /// A message is complete at its destination: finds the stream that waits for it, or keeps it.
    fn arrived(&mut self, id: MessageId) {
        let message = self.message(id);
        let (sender, destination, channel) = (message.sender, message.destination, message.channel);
        let key = message.key();
        self.delivered += 1;
        let codes = self.code.streams(self.name(destination));
        let first = self.first[destination as usize];
        for (code, stream) in codes.iter().zip(first..) {
            let status = &mut self.streams[stream as usize].status;
            if code.channel == channel && *status == Status::Receiving(sender) {
                *status = Status::Ready;
                self.matched.push((stream, id));
                return;
            }
        }
        self.mailbox.put(key, id);
    }

    /// Gives the messages of this instant to the streams that waited for them, in the order of the streams: a rank's memory
    /// serves them in that order, which must not depend on how messages are numbered.
    fn absorb_matched(&mut self) -> Result<(), SimulationError> {
        let mut matched = std::mem::take(&mut self.matched);
        matched.sort_unstable();
        for (stream, id) in matched.drain(..) {
            self.absorb(stream, id)?;
            self.runnable.push(stream);
        }
        self.matched = matched;
        Ok(())
    }

    /// Gives a message to the receive instruction at which the stream stands.
    fn absorb(&mut self, stream: u32, id: MessageId) -> Result<(), SimulationError> {
        let message = self.messages[id as usize]
            .take()
            .expect("a delivered message is under way");
        self.free.push(id);
        let (code, site, index) = self.at(stream);
        let Step::Receive { chunks, combine, .. } = &code.steps[index] else {
            unreachable!("a stream takes messages at receive instructions only");
        };
        self.announce(stream);
        self.memory
            .receive(&site, chunks, *combine, message.payload)
            .map_err(|reason| self.malformed(stream, format!("{reason}, from rank {}", message.sender)))?;
        match combine {
            Combine::Copy => {
                self.complete(stream);
                Ok(())
            }
            Combine::Reduce => {
                let span = self.costs.reduction(site.rank, message.bytes)?;
                self.keep_busy(stream, span, self.costs.reduction_touches(message.bytes))
            }
        }
    }

    /// Keeps a stream busy for a span, and until so many bytes have passed the memory of its rank.
    fn keep_busy(&mut self, stream: u32, span: Option<Time>, touched: Option<Bytes>) -> Result<(), SimulationError> {
        let rank = self.name(self.streams[stream as usize].rank);
        let state = &mut self.streams[stream as usize];
        state.status = Status::Busy(u8::from(span.is_some()) + u8::from(touched.is_some()));
        if let Some(span) = span {
            self.budget.delay(span)?;
            self.network.wake(self.now + span, token(STREAM, stream));
        }
        if let Some(bytes) = touched {
            self.network.touch(RankId::from(rank), bytes, token(STREAM, stream))?;
        }
        if span.is_none() && touched.is_none() {
            self.complete(stream);
        }
        Ok(())
    }

    /// Counts the instruction at which the stream stands and moves past it.
    fn complete(&mut self, stream: u32) {
        let state = &mut self.streams[stream as usize];
        state.position += 1;
        state.completed += 1;
        state.status = Status::Ready;
        self.done += 1;
        if state.watched {
            self.wake_watchers(stream);
        }
    }

    fn wake_watchers(&mut self, watched: u32) {
        let StreamState { rank, completed, .. } = self.streams[watched as usize];
        for watcher in self.first[rank as usize]..self.first[rank as usize + 1] {
            if let Status::Waiting(on, count) = self.streams[watcher as usize].status
                && on == watched
                && count <= completed
            {
                self.waited(watcher, on, count);
                self.runnable.push(watcher);
            }
        }
    }

    /// Ends a stream's wait for another of its rank.
    fn waited(&mut self, stream: u32, on: u32, count: u64) {
        self.announce(stream);
        self.memory.waited(on, count);
        self.complete(stream);
    }

    /// Tells the memory which instruction speaks next.
    fn announce(&mut self, stream: u32) {
        let instruction = self.streams[stream as usize].completed;
        self.memory.begins(stream, instruction, self.now);
    }

    /// Where a stream stands: its code, the site for its expressions, and the index of its step.
    fn at(&self, stream: u32) -> (&'c StreamCode<'c>, Site<'c>, usize) {
        let state = &self.streams[stream as usize];
        let number = (stream - self.first[state.rank as usize]) as usize;
        let site = Site {
            shape: self.code.schedule().shape(),
            rank: self.name(state.rank),
            vars: state.vars,
        };
        (&self.code.streams(site.rank)[number], site, state.position as usize)
    }

    /// Runs a stream until it waits, is busy, or ends.
    fn go_on(&mut self, stream: u32, control: &mut dyn FnMut(Progress) -> Control) -> Result<(), SimulationError> {
        while self.streams[stream as usize].status == Status::Ready {
            self.work(1, control)?;
            let (code, mut site, index) = self.at(stream);
            let Some(step) = code.steps.get(index) else {
                self.end(stream);
                return Ok(());
            };
            match step {
                Step::Send { to, chunks } => {
                    let receiver = self.peer(stream, to, &site)?;
                    let bytes = chunks
                        .bytes(&site, self.code.layout())
                        .map_err(|reason| self.malformed(stream, reason))?;
                    self.announce(stream);
                    let payload = self
                        .memory
                        .send(&site, chunks)
                        .map_err(|reason| self.malformed(stream, reason))?;
                    let channel = code.channel;
                    let state = &mut self.streams[stream as usize];
                    let source = state.rank;
                    let (destination, sender) = match (self.fold, state.carried) {
                        (None, _) => (receiver, site.rank),
                        (Some(_), Some((known, carried))) if known == receiver => carried,
                        (Some(fold), _) => {
                            let carried = fold.carry(site.rank, receiver);
                            state.carried = Some((receiver, carried));
                            carried
                        }
                    };
                    self.send(Message {
                        source,
                        sender,
                        destination,
                        receiver,
                        channel,
                        bytes,
                        posted: self.now,
                        serial: self.serial,
                        payload,
                    })?;
                    self.complete(stream);
                }
                Step::Receive { from, .. } => {
                    let source = self.peer(stream, from, &site)?;
                    let here = self.streams[stream as usize].rank;
                    match self.mailbox.take((here, source, code.channel)) {
                        Some(id) => self.absorb(stream, id)?,
                        None => self.streams[stream as usize].status = Status::Receiving(source),
                    }
                }
                Step::Copy { from, to, combine } => {
                    self.announce(stream);
                    self.memory
                        .copy(&site, from, to, *combine)
                        .map_err(|reason| self.malformed(stream, reason))?;
                    let bytes = from
                        .bytes(&site, self.code.layout())
                        .map_err(|reason| self.malformed(stream, reason))?;
                    let span = self.costs.copy(site.rank, bytes)?;
                    self.keep_busy(stream, span, self.costs.copy_touches(bytes))?;
                }
                Step::Wait { stream: other, count } => {
                    let rank = self.streams[stream as usize].rank;
                    let other = self.first[rank as usize] + u32::try_from(*other).expect("checked when built");
                    let count = u64::try_from(count.value(&site)).unwrap_or(0);
                    if self.streams[other as usize].completed >= count {
                        self.waited(stream, other, count);
                    } else {
                        self.streams[other as usize].watched = true;
                        self.streams[stream as usize].status = Status::Waiting(other, count);
                    }
                }
                Step::Compute { time } => {
                    let span = self.costs.slowed(site.rank, *time)?;
                    self.announce(stream);
                    self.keep_busy(stream, Some(span), None)?;
                }
                Step::Enter { depth, times, exit } => {
                    let state = &mut self.streams[stream as usize];
                    state.vars[*depth] = 0;
                    state.position = if *times == 0 {
                        position(*exit)
                    } else {
                        state.position + 1
                    };
                }
                Step::Again { depth, times, start } => {
                    site.vars[*depth] += 1;
                    let goes_on = site.vars[*depth] < *times;
                    let state = &mut self.streams[stream as usize];
                    state.vars = site.vars;
                    state.position = if goes_on { position(*start) } else { state.position + 1 };
                    if let Some(watch) = &mut self.watch {
                        watch.leap.passed(stream, goes_on);
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives a message to the network, or to the rank's backlog while all of its queues are taken.
    fn send(&mut self, message: Message<M::Payload>) -> Result<(), SimulationError> {
        let (source, bytes, key) = (message.source, message.bytes, message.key());
        self.budget.bytes(bytes)?;
        self.budget.delay(self.costs.completion(message.receiver)?)?;
        self.serial += 1;
        self.sent[source as usize] += bytes.get();
        let id = if let Some(id) = self.free.pop() {
            self.messages[id as usize] = Some(message);
            id
        } else {
            let id = u32::try_from(self.messages.len()).map_err(|_| SimulationError::Option {
                option: "messages under way at once",
                expected: "at most 2^32".to_owned(),
                value: self.messages.len().to_string(),
            })?;
            self.messages.push(Some(message));
            id
        };
        if let Some(order) = &mut self.order {
            order.posted(key, id);
        }
        let dispatch = &mut self.dispatch[source as usize];
        if dispatch.under_way < self.costs.queues() {
            self.post(id)
        } else {
            dispatch.backlog.push_back(id);
            Ok(())
        }
    }

    fn post(&mut self, id: MessageId) -> Result<(), SimulationError> {
        let message = self.messages[id as usize]
            .as_mut()
            .expect("a message that is posted is under way");
        message.posted = self.now;
        let (source, receiver, bytes) = (message.source, message.receiver, message.bytes);
        let dispatch = &mut self.dispatch[source as usize];
        let source = self.names[source as usize];
        let launch = self.costs.launch(source, dispatch.count)?;
        dispatch.count += 1;
        dispatch.under_way += 1;
        self.budget.delay(launch)?;
        let at = self.now + launch;
        self.memory
            .posted(&message.payload, launch, receiver, bytes.get(), self.now);
        self.network
            .post(at, id, RankId::from(source), RankId::from(receiver), bytes)
    }

    /// A message of a rank has been delivered: its queue takes the next one.
    fn release(&mut self, rank: u32) -> Result<(), SimulationError> {
        let dispatch = &mut self.dispatch[rank as usize];
        dispatch.under_way -= 1;
        match dispatch.backlog.pop_front() {
            Some(next) => self.post(next),
            None => Ok(()),
        }
    }

    fn end(&mut self, stream: u32) {
        let state = &mut self.streams[stream as usize];
        state.status = Status::Ended;
        let rank = state.rank as usize;
        self.memory.ended(stream, self.now);
        self.open[rank] -= 1;
        if self.open[rank] == 0 {
            self.finish[rank] = self.finish[rank].max(self.now);
        }
    }

    fn peer(&self, stream: u32, place: &Place, site: &Site<'_>) -> Result<u32, SimulationError> {
        let ranks = self.code.schedule().ranks();
        let peer = u32::try_from(place.find(site))
            .ok()
            .filter(|&peer| (peer as usize) < ranks);
        match peer {
            Some(peer) if peer != site.rank => Ok(peer),
            _ => {
                let named = peer.map_or_else(|| place.to_string(), |_| "itself".to_owned());
                Err(self.malformed(
                    stream,
                    format!("names {named} as its peer; expected another of {ranks} ranks"),
                ))
            }
        }
    }

    fn malformed(&self, stream: u32, reason: String) -> SimulationError {
        let place = self.streams[stream as usize].rank;
        let stream = (stream - self.first[place as usize]) as usize;
        let rank = self.name(place);
        SimulationError::Schedule(ScheduleError::Malformed { rank, stream, reason })
    }

    fn check_ended(&self) -> Result<(), SimulationError> {
        let waits = |state: &&StreamState| state.status != Status::Ended;
        let stuck = self.network.stuck();
        let first = self.streams.iter().position(|state| waits(&state));
        let first = match (first, stuck) {
            (None, None) => return Ok(()),
            (None, Some(stuck)) => stuck,
            (Some(first), None) => self.describe_wait(first),
            (Some(first), Some(stuck)) => format!("{}; {stuck}", self.describe_wait(first)),
        };
        let mut ranks: Vec<u32> = self.streams.iter().filter(waits).map(|state| state.rank).collect();
        ranks.dedup();
        let alike = self
            .fold
            .map_or(1, |fold| usize::try_from(fold.order()).unwrap_or(usize::MAX));
        Err(SimulationError::Deadlock {
            time_ps: self.now.picoseconds(),
            waiting: ranks.len() * alike,
            ranks: self.code.schedule().ranks(),
            first,
        })
    }

    fn describe_wait(&self, stream: usize) -> String {
        let state = &self.streams[stream];
        let number = stream - self.first[state.rank as usize] as usize;
        let rank = self.name(state.rank);
        let channel = self.code.streams(rank)[number].channel;
        let on = match state.status {
            Status::Receiving(from) => format!("a message from rank {from} on channel {channel}"),
            Status::Waiting(other, count) => format!(
                "stream {} to complete {count} instructions (it has completed {})",
                other - self.first[state.rank as usize],
                self.streams[other as usize].completed
            ),
            Status::Ready | Status::Busy(_) | Status::Ended => "nothing".to_owned(),
        };
        format!(
            "rank {rank}, stream {number}, after {} instructions, waits for {on}",
            state.completed
        )
    }

    fn outcome(self) -> Outcome<M> {
        let traffic = self.network.traffic();
        Outcome {
            run: Run {
                ranks: self.finish.len(),
                links: traffic.link_bytes.len(),
            },
            finish: self.finish,
            messages: self.delivered,
            sent: self.sent,
            latencies: self.latencies,
            unreceived: self
                .mailbox
                .first()
                .map(|(destination, source, channel)| (source, self.names[destination as usize], channel)),
            traffic,
            memory: self.memory,
            leapt: self.watch.map_or(Leapt::default(), |watch| watch.leap.leapt),
        }
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index).expect("a program has fewer than 2^32 steps")
}
