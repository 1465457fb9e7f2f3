//! Proofs of schedules in which all ranks do the same, from what the first rank does alone.
//!
//! Where every rank runs one program, and moving all ranks along an axis of their grid moves what they send and where
//! they keep it along (see [`Translation`]), ranks are in the same state at every step, but for that move. So a message
//! that the first rank receives from the rank s away is the one that it sends itself to the rank −s away, moved by s;
//! running the first rank alone, with its own sends as its receives, runs all. Contributions are kept exactly, as sets
//! of ranks.
//!
//! That the program moves along is compared at every step on the corners of the grid and on ranks drawn at random, not
//! on all ranks. Chunks and peers are sums and remainders of coordinates, where one that is wrong is wrong for most
//! ranks: a program that treats half of them or more in another way passes the draw with a chance of 2^−[`SAMPLED`].

use std::collections::{HashMap, VecDeque};

use super::boxes::{Fault, Held};
use super::translation::{SAMPLED, Translation, Walk, list};
use super::{Method, Promise, Proof, brings, promise};
use crate::collective::Collective;
use crate::engine::{Control, Progress};
use crate::error::{ScheduleError, SimulationError};
use crate::schedule::{Buffer, ChunkRef, Code, Combine, MAX_DEPTH, Site, Step};
use crate::units::Time;

/// The most chunks of a rank, and instructions of it.
const MOST: u64 = 1 << 24;
/// So many steps, each of a few chunks to a thousand, go by between two questions whether to go on.
const ASKED_EVERY: u64 = 1 << 12;

/// Proves the schedule from its first rank, or gives none where its ranks aren't all alike.
///
/// Nor where what some chunk holds is too scattered to be followed. `control` is asked now and then.
pub(super) fn prove(
    code: &Code<'_>,
    control: &mut dyn FnMut(Progress) -> Control,
) -> Result<Option<Proof>, SimulationError> {
    let schedule = code.schedule();
    let scratch = schedule.capacity(Buffer::Scratch);
    let ranks = schedule.ranks() as u64;
    let size = (2 * u128::from(schedule.chunks()) + u128::from(scratch)).max((code.instructions() / ranks).into());
    // What a barrier promises is of the order of events, which is not kept here; a root is alone in what it does.
    let collective = schedule.goal().collective;
    let served = collective != Collective::Barrier && !collective.has_root();
    if !served || schedule.programs().len() != 1 || size > MOST.into() {
        return Ok(None);
    }
    let extents = schedule.shape().extents();
    let mut asked = 0;
    let mut go_on = || {
        asked += 1;
        // How far it is isn't known: what comes to be compared depends on what holds.
        let progress = Progress {
            done: 0,
            total: asked,
            time: Time::ZERO,
        };
        if asked % ASKED_EVERY == 0 && control(progress) == Control::Stop {
            return Err(SimulationError::Interrupted {
                events: asked,
                time_ps: 0,
            });
        }
        Ok(())
    };
    let mut found = None;
    for candidate in Translation::candidates(extents, schedule.chunks()) {
        if candidate.holds(code, &mut go_on)? {
            found = Some(candidate);
            break;
        }
    }
    let Some(translation) = found else {
        return Ok(None);
    };
    let mut first = FirstRank::new(code, &translation);
    match first.run(&mut go_on) {
        Err(_) if first.scattered => return Ok(None),
        ended => ended?,
    }
    let chunks = first.check()?;
    Ok(Some(Proof {
        method: Method::Symmetric,
        messages: first.messages * ranks,
        chunks: chunks * ranks,
        ordered: false,
        miss_probability: (-f64::from(SAMPLED)).exp2(),
    }))
}

/// A message as it was sent: by which step, with which loop variables, and what was in its chunks.
struct Message<'a, 's> {
    chunks: &'a ChunkRef<'s>,
    vars: [u64; MAX_DEPTH],
    content: Vec<(u64, Held)>,
}

struct FirstRank<'a, 's> {
    code: &'a Code<'s>,
    translation: &'a Translation,
    cells: HashMap<(u8, u64), Held>,
    /// Messages under way, by the rank that they went to and their channel.
    sent: HashMap<(u32, u32), VecDeque<Message<'a, 's>>>,
    messages: u64,
    /// Whether it stopped because of what can't be followed, and not because of what is wrong.
    scattered: bool,
}

impl<'a, 's> FirstRank<'a, 's> {
    fn new(code: &'a Code<'s>, translation: &'a Translation) -> Self {
        let schedule = code.schedule();
        let home = if schedule.goal().in_place {
            Buffer::Output
        } else {
            Buffer::Input
        };
        let origin = vec![0; translation.extents.len()];
        let brought = (0..schedule.chunks()).filter(|&chunk| brings(schedule, 0, chunk));
        let cells = brought.map(|chunk| ((area(home), chunk), Held::brought(&origin, chunk)));
        Self {
            code,
            translation,
            cells: cells.collect(),
            sent: HashMap::new(),
            messages: 0,
            scattered: false,
        }
    }

    /// Runs all streams until they end.
    fn run(&mut self, go_on: &mut dyn FnMut() -> Result<(), SimulationError>) -> Result<(), SimulationError> {
        let streams = self.code.streams(0);
        let mut walks: Vec<_> = streams.iter().map(Walk::new).collect();
        let mut next: Vec<_> = walks.iter_mut().map(Walk::next).collect();
        let mut done = vec![0; streams.len()];
        loop {
            let mut moved = false;
            for stream in 0..streams.len() {
                while let Some((step, vars)) = next[stream] {
                    go_on()?;
                    if !self.step(step, vars, stream, &done)? {
                        break;
                    }
                    moved = true;
                    done[stream] += 1;
                    next[stream] = walks[stream].next();
                }
            }
            if next.iter().all(Option::is_none) {
                break;
            }
            if !moved {
                let ranks = self.code.schedule().ranks();
                let stream = next.iter().position(Option::is_some).expect("one hasn't ended");
                let first = format!("rank 0 in instruction {} of stream {stream}", done[stream]);
                return Err(ScheduleError::Deadlock {
                    waiting: ranks,
                    ranks,
                    first,
                }
                .into());
            }
        }
        match self
            .sent
            .iter()
            .filter(|(_, queue)| !queue.is_empty())
            .map(|(key, _)| *key)
            .min()
        {
            Some((destination, channel)) => Err(ScheduleError::Unreceived {
                source_rank: 0,
                destination,
                channel,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// Does a step, if it needn't wait.
    fn step(
        &mut self,
        step: &'a Step<'s>,
        vars: [u64; MAX_DEPTH],
        stream: usize,
        done: &[i64],
    ) -> Result<bool, ScheduleError> {
        let channel = self.code.streams(0)[stream].channel;
        let refuse = |reason: String| ScheduleError::Malformed {
            rank: 0,
            stream,
            reason,
        };
        let site = self.site(0, vars);
        match step {
            Step::Send { to, chunks } => {
                let to = u32::try_from(to.find(&site)).expect("compared with other ranks' peers");
                let content = self.read(chunks, &site).map_err(refuse)?;
                let message = Message { chunks, vars, content };
                self.sent.entry((to, channel)).or_default().push_back(message);
                self.messages += 1;
            }
            Step::Receive { from, chunks, combine } => {
                let from = u32::try_from(from.find(&site)).expect("compared with other ranks' peers");
                let by = self.translation.coordinates(from);
                let to = self.translation.rank(&self.translation.inverse(&by));
                let queue = self.sent.get_mut(&(to, channel));
                let Some(message) = queue.and_then(VecDeque::pop_front) else {
                    return Ok(false);
                };
                let values = self.arrive(message, from, &by).map_err(refuse)?;
                self.write(chunks, &site, values, *combine).map_err(refuse)?;
            }
            Step::Copy { from, to, combine } => {
                let content = self.read(from, &site).map_err(refuse)?;
                let values = content.into_iter().map(|(_, held)| held).collect();
                self.write(to, &site, values, *combine).map_err(refuse)?;
            }
            Step::Wait { stream: other, count } => return Ok(done[*other] >= count.value(&site)),
            Step::Compute { .. } | Step::Enter { .. } | Step::Again { .. } => {}
        }
        Ok(true)
    }

    fn site(&self, rank: u32, vars: [u64; MAX_DEPTH]) -> Site<'s> {
        Site {
            shape: self.code.schedule().shape(),
            rank,
            vars,
        }
    }

    /// What a message from the rank `from` holds, in its order: what the first rank sent, moved by `by`.
    fn arrive(&self, message: Message<'a, 's>, from: u32, by: &[u32]) -> Result<Vec<Held>, String> {
        let (translation, buffer) = (self.translation, message.chunks.chunks().buffer());
        let mut theirs = Vec::new();
        list(message.chunks, &self.site(from, message.vars), &mut theirs)?;
        let back = translation.inverse(by);
        let as_ours = theirs.iter().map(|&chunk| translation.chunk(buffer, chunk, &back));
        let moved = |held: &Held| held.moved(by, &translation.extents, |chunk| translation.label(chunk, by));
        let mut content = message.content;
        if as_ours.clone().ne(content.iter().map(|(chunk, _)| *chunk)) {
            // The same set in another order.
            let known: HashMap<u64, Held> = content.into_iter().collect();
            content = as_ours
                .map(|chunk| known.get(&chunk).map(|held| (chunk, held.clone())))
                .collect::<Option<_>>()
                .ok_or_else(|| format!("rank {from} doesn't send what stands for {}", message.chunks.chunks()))?;
        }
        Ok(content.iter().map(|(_, held)| moved(held)).collect())
    }

    fn read(&self, chunks: &ChunkRef<'s>, site: &Site<'_>) -> Result<Vec<(u64, Held)>, String> {
        let mut cells = Vec::new();
        list(chunks, site, &mut cells)?;
        let buffer = area(chunks.chunks().buffer());
        cells
            .into_iter()
            .map(|chunk| self.cells.get(&(buffer, chunk)).map(|held| (chunk, held.clone())))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("reads {} before anything is in it", chunks.chunks()))
    }

    fn write(
        &mut self,
        chunks: &ChunkRef<'s>,
        site: &Site<'_>,
        values: Vec<Held>,
        combine: Combine,
    ) -> Result<(), String> {
        let mut cells = Vec::new();
        list(chunks, site, &mut cells)?;
        if cells.len() != values.len() {
            return Err(format!(
                "{} chunks arrive where {} are expected at {}",
                values.len(),
                cells.len(),
                chunks.chunks()
            ));
        }
        let buffer = area(chunks.chunks().buffer());
        for (chunk, value) in cells.into_iter().zip(values) {
            if combine == Combine::Copy {
                self.cells.insert((buffer, chunk), value);
                continue;
            }
            let held = self
                .cells
                .get_mut(&(buffer, chunk))
                .ok_or_else(|| format!("reduces into a chunk before anything is in it at {}", chunks.chunks()))?;
            if held.add(&value, &self.translation.extents).is_err() {
                self.scattered = true;
                return Err(format!(
                    "what {} holds is too scattered to be followed",
                    chunks.chunks()
                ));
            }
        }
        Ok(())
    }

    /// Compares the first rank's end with the promise; returns how many chunks that speaks of.
    fn check(&self) -> Result<u64, ScheduleError> {
        let schedule = self.code.schedule();
        let translation = self.translation;
        let mut checked = 0;
        for chunk in 0..schedule.chunks() {
            let Some(promise) = promise(schedule, 0, chunk) else {
                continue;
            };
            let wrong = |detail: String| ScheduleError::Wrong { rank: 0, chunk, detail };
            let held = self.cells.get(&(area(Buffer::Output), chunk));
            let held = held.ok_or_else(|| wrong(format!("it holds nothing, but should hold {}", promise.text())))?;
            let verdict = match promise {
                Promise::Sum(index) => held.check(index, None, &translation.extents),
                Promise::From(rank, index) => {
                    held.check(index, Some(&translation.coordinates(rank)), &translation.extents)
                }
            };
            verdict.map_err(|fault| {
                let found = match fault {
                    Fault::Stray(other) => format!("something of chunk {other}"),
                    Fault::Doubled => "some contribution more than once".to_owned(),
                    Fault::Only(ranks) => format!("the contributions of {ranks} ranks"),
                    Fault::Scattered => "more than can be followed".to_owned(),
                };
                wrong(format!("it holds {found}, but should hold {}", promise.text()))
            })?;
            checked += 1;
        }
        Ok(checked)
    }
}

/// A number for a buffer.
fn area(buffer: Buffer) -> u8 {
    match buffer {
        Buffer::Input => 0,
        Buffer::Output => 1,
        Buffer::Scratch => 2,
    }
}
