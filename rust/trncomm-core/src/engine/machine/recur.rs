//! The rank machine's part in leaps: what of its state steers, and what counts. See [`leap`](crate::engine::leap).

use super::{Machine, Status};
use crate::engine::leap::{Leap, Look, Moment};
use crate::engine::memory::Memory;
use crate::engine::network::{MessageId, Network};
use crate::engine::recurrence::{Counters, Shape, later};
use crate::schedule::{Code, Loops, MAX_DEPTH};

/// No leap ends later than this: the checks that keep a run within the range of time are those of the run itself.
const LATEST: u64 = 1 << 61;

/// The watch for states that come back, and what it has to know of the programs.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) leap: Leap,
    /// The loops of each stream of each program.
    loops: Vec<Vec<Loops>>,
}

impl Watch {
    pub(super) fn over(code: &Code<'_>) -> Self {
        let loops = |streams: &Vec<_>| streams.iter().map(Loops::of).collect();
        Self {
            leap: Leap::default(),
            loops: code.programs().iter().map(loops).collect(),
        }
    }
}

impl<N: Network, M: Memory> Machine<'_, N, M> {
    /// Looks whether the present state has been there before, and leaps if so.
    pub(super) fn look_back(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        if !watch.leap.is_marked() {
            return;
        }
        let work = self.done + self.network.events();
        let under_way = self.messages.len() - self.free.len();
        let Some(look) = watch.leap.beat(self.now, under_way, work) else {
            return;
        };
        let Some(mut watch) = self.watch.take() else { return };
        let moment = self.moment(&watch);
        match look {
            Look::Keep => watch.leap.keep(moment),
            Look::Compare(beat) => {
                if let Some((earlier, present)) = watch.leap.compare(beat, moment)
                    && self.leap_from(earlier, &present, &mut watch).is_none()
                {
                    watch.leap.rest(work);
                }
            }
        }
        self.watch = Some(watch);
    }

    fn moment(&mut self, watch: &Watch) -> Moment {
        let mut shape = self.shape();
        self.describe(watch, &mut shape);
        self.network.describe(&mut shape);
        let mut counters = Counters::remember();
        self.count(&mut counters);
        let vars = self.streams.iter().map(|stream| stream.vars).collect();
        Moment::new(
            self.now,
            shape.into_words(),
            counters,
            self.latencies.clone(),
            vars,
            self.done,
        )
    }

    /// Adds as many of the periods since an earlier moment as end no counter that steers; none if not even one.
    fn leap_from(&mut self, earlier: Moment, present: &Moment, watch: &mut Watch) -> Option<()> {
        let period = self.now - earlier.now;
        let room = LATEST
            .saturating_sub(self.now.picoseconds())
            .checked_div(period.picoseconds());
        let passes = self.passes_left(&earlier.vars, watch)?;
        let mut counters = Counters::measure(earlier.counters, passes.min(room?));
        self.count(&mut counters);
        let times = counters.times();
        if times == 0 {
            return None;
        }
        let completed: Vec<u64> = self.streams.iter().map(|stream| stream.completed).collect();
        let mut counters = Counters::grow(counters, times, period);
        self.count(&mut counters);
        for stream in 0..self.streams.len() {
            if let Status::Waiting(on, count) = self.streams[stream].status {
                let grown = self.streams[on as usize].completed - completed[on as usize];
                self.streams[stream].status = Status::Waiting(on, count + grown);
            }
        }
        self.latencies.grow(&earlier.latencies, times);
        for (stream, before) in self.streams.iter_mut().zip(&earlier.vars) {
            for (var, before) in stream.vars.iter_mut().zip(before) {
                *var = var.wrapping_add(var.wrapping_sub(*before).wrapping_mul(times));
            }
        }
        let by = later(period, times);
        for message in self.messages.iter_mut().flatten() {
            message.posted += by;
        }
        self.network.put_off(by);
        self.now += by;
        watch.leap.leapt(by, (present.done - earlier.done) * times, self.now);
        Some(())
    }

    /// How many more times all streams can do as many passes of their loops as since an earlier moment without leaving one;
    /// none where what they did can't be repeated.
    fn passes_left(&self, earlier: &[[u64; MAX_DEPTH]], watch: &Watch) -> Option<u64> {
        let mut least = u64::MAX;
        for (number, (stream, before)) in (0..).zip(self.streams.iter().zip(earlier)) {
            if stream.status == Status::Ended {
                continue;
            }
            let mut around = self.loops(watch, number).around(stream.position as usize);
            let Some(moved) = around.find(|inside| stream.vars[inside.depth] != before[inside.depth]) else {
                continue;
            };
            let (now, before) = (stream.vars[moved.depth], before[moved.depth]);
            // A loop that began anew, or one whose inner loop stands elsewhere, did something that isn't a pass.
            if now < before || around.any(|inside| stream.vars[inside.depth] != earlier[number as usize][inside.depth])
            {
                return None;
            }
            least = least.min((moved.times - 1 - now) / (now - before));
        }
        Some(least)
    }

    fn loops<'w>(&self, watch: &'w Watch, stream: u32) -> &'w Loops {
        let rank = self.streams[stream as usize].rank;
        let program = self.code.schedule().program_of(self.name(rank));
        &watch.loops[program][(stream - self.first[rank as usize]) as usize]
    }

    /// Names the messages under way by the order in which they were sent.
    fn shape(&self) -> Shape {
        let mut sent: Vec<(u64, MessageId)> = (0..)
            .zip(&self.messages)
            .filter_map(|(id, message)| Some((message.as_ref()?.serial, id)))
            .collect();
        sent.sort_unstable();
        let mut names = vec![u32::MAX; self.messages.len()];
        for (name, &(_, id)) in (0..).zip(&sent) {
            names[id as usize] = name;
        }
        let mut carried = vec![true; self.messages.len()];
        for dispatch in &self.dispatch {
            for &id in dispatch.backlog.iter().chain(&dispatch.completing) {
                carried[id as usize] = false;
            }
        }
        for (_, waiting) in self.mailbox.sorted() {
            for id in waiting {
                carried[id as usize] = false;
            }
        }
        let carried = sent.into_iter().map(|(_, id)| id).filter(|&id| carried[id as usize]);
        Shape::new(self.now, names, carried.collect())
    }

    fn describe(&self, watch: &Watch, shape: &mut Shape) {
        for (number, stream) in (0..).zip(&self.streams) {
            shape.word(stream.position);
            shape.word(u8::from(stream.watched));
            match stream.status {
                Status::Ready => shape.word(0u8),
                Status::Receiving(from) => {
                    shape.word(1u8);
                    shape.word(from);
                }
                Status::Busy(times) => {
                    shape.word(2u8);
                    shape.word(times);
                }
                Status::Waiting(on, count) => {
                    shape.word(3u8);
                    shape.word(on);
                    shape.word(count - self.streams[on as usize].completed);
                }
                Status::Ended => shape.word(4u8),
            }
            self.describe_loops(watch, number, shape);
        }
        for (dispatch, &open) in self.dispatch.iter().zip(&self.open) {
            shape.word(open);
            shape.word(dispatch.under_way);
            shape.messages(&dispatch.backlog);
            shape.messages(&dispatch.completing);
        }
        let mut messages: Vec<_> = (0..)
            .zip(&self.messages)
            .filter_map(|(id, message)| Some((shape.name(id), message.as_ref()?)))
            .collect();
        messages.sort_unstable_by_key(|&(name, _)| name);
        for (_, message) in messages {
            shape.words([
                message.source,
                message.sender,
                message.destination,
                message.receiver,
                message.channel,
            ]);
            shape.word(message.bytes.get());
            shape.moment(message.posted);
        }
        for ((destination, source, channel), waiting) in self.mailbox.sorted() {
            shape.words([destination, source, channel]);
            shape.messages(&waiting);
        }
    }

    /// Writes the variables of the loops around a stream's place that steer, and how far ahead of the streams that it
    /// will wait for it is.
    fn describe_loops(&self, watch: &Watch, number: u32, shape: &mut Shape) {
        let stream = &self.streams[number as usize];
        let (code, mut site, position) = self.at(number);
        let mut outermost = None;
        let mut inside = [false; MAX_DEPTH];
        for around in self.loops(watch, number).around(position) {
            outermost = outermost.or(Some(around));
            inside[around.depth] = true;
            if around.steers {
                shape.word(stream.vars[around.depth]);
            }
        }
        let Some(outermost) = outermost else { return };
        for (var, inside) in site.vars.iter_mut().zip(inside) {
            *var = if inside { *var } else { 0 };
        }
        for &wait in &outermost.waits {
            let (on, count) = code.wait_at(wait, &site).expect("a step that waits");
            let on = self.first[stream.rank as usize] as usize + on;
            shape.word(count.wrapping_sub_unsigned(self.streams[on].completed).cast_unsigned());
        }
    }

    fn count(&mut self, counters: &mut Counters) {
        for stream in &mut self.streams {
            counters.count(&mut stream.completed);
        }
        for dispatch in &mut self.dispatch {
            counters.count(&mut dispatch.count);
        }
        self.sent.iter_mut().for_each(|bytes| counters.count(bytes));
        self.finish.iter_mut().for_each(|finish| counters.instant(finish));
        counters.count(&mut self.done);
        counters.count(&mut self.delivered);
        self.budget.count(counters);
        self.network.count(counters);
    }
}
