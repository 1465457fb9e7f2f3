//! The messages of a schedule by step: how many messages one after the other each has to wait for.

use std::collections::{HashMap, VecDeque};

use super::refuse_above;
use super::translation::{Walk, list};
use crate::error::ScheduleError;
use crate::schedule::{Code, Layout, Schedule, Site, Step};
use crate::units::Bytes;

/// The most instructions of all ranks.
const MOST: u64 = 1 << 22;

/// A message of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepMessage {
    /// The longest chain of messages that had to arrive before it was sent, from 0.
    pub step: u32,
    /// Who sends it.
    pub source: u32,
    /// Who receives it.
    pub destination: u32,
    /// How many chunks it carries.
    pub chunks: u64,
}

/// A stream under way: its rank, how many instructions it has done, and the step that it has reached.
struct Under<'a, 's> {
    rank: u32,
    channel: u32,
    walk: Walk<'a, 's>,
    next: Option<(&'a Step<'s>, [u64; crate::schedule::MAX_DEPTH])>,
    done: i64,
    step: u32,
}

/// All messages of a schedule, by step, source, destination and size.
///
/// An error where a rank's program can't be run, where ranks wait for ever, or with more than 2²² instructions.
pub fn steps(schedule: &Schedule) -> Result<Vec<StepMessage>, ScheduleError> {
    let layout = Layout::new(Bytes::new(schedule.chunks()), 1, schedule.chunks())?;
    let code = Code::new(schedule, layout)?;
    refuse_above("instructions", code.instructions().into(), MOST)?;
    let ranks = u32::try_from(schedule.ranks()).expect("a shape's ranks fit 32 bits");
    let mut streams: Vec<Vec<Under<'_, '_>>> = Vec::new();
    for rank in 0..ranks {
        let of_rank = code.streams(rank).iter().map(|stream| {
            let mut walk = Walk::new(stream);
            Under {
                rank,
                channel: stream.channel,
                next: walk.next(),
                walk,
                done: 0,
                step: 0,
            }
        });
        streams.push(of_rank.collect());
    }
    let mut found = Vec::new();
    let mut sent: HashMap<(u32, u32, u32), VecDeque<u32>> = HashMap::new();
    let mut chunks_of = Vec::new();
    loop {
        let mut moved = false;
        for of_rank in &mut streams {
            for number in 0..of_rank.len() {
                while let Some((step, vars)) = of_rank[number].next {
                    let (rank, channel) = (of_rank[number].rank, of_rank[number].channel);
                    let site = Site {
                        shape: schedule.shape(),
                        rank,
                        vars,
                    };
                    let malformed = |reason: String| ScheduleError::Malformed {
                        rank,
                        stream: number,
                        reason,
                    };
                    let peer = |place: &crate::schedule::Place| {
                        let peer = u32::try_from(place.find(&site)).ok().filter(|&peer| peer < ranks);
                        peer.ok_or_else(|| malformed(format!("{place} is no rank")))
                    };
                    match step {
                        Step::Send { to, chunks } => {
                            let destination = peer(to)?;
                            list(chunks, &site, &mut chunks_of).map_err(malformed)?;
                            let step = of_rank[number].step;
                            sent.entry((rank, destination, channel)).or_default().push_back(step);
                            found.push(StepMessage {
                                step,
                                source: rank,
                                destination,
                                chunks: chunks_of.len() as u64,
                            });
                        }
                        Step::Receive { from, .. } => {
                            let queue = sent.get_mut(&(peer(from)?, rank, channel));
                            let Some(step) = queue.and_then(VecDeque::pop_front) else {
                                break;
                            };
                            of_rank[number].step = of_rank[number].step.max(step + 1);
                        }
                        Step::Wait { stream, count } => {
                            if of_rank[*stream].done < count.value(&site) {
                                break;
                            }
                            // As far as the other stream may have come since, which is as late as it can be.
                            of_rank[number].step = of_rank[number].step.max(of_rank[*stream].step);
                        }
                        Step::Copy { .. } | Step::Compute { .. } | Step::Enter { .. } | Step::Again { .. } => {}
                    }
                    let stream = &mut of_rank[number];
                    stream.done += 1;
                    stream.next = stream.walk.next();
                    moved = true;
                }
            }
        }
        let waiting = streams
            .iter()
            .filter(|streams| streams.iter().any(|stream| stream.next.is_some()))
            .count();
        if waiting == 0 {
            break;
        }
        if !moved {
            let first = streams.iter().flatten().find(|stream| stream.next.is_some());
            let first = first.map_or_else(String::new, |stream| {
                format!("rank {} in instruction {}", stream.rank, stream.done)
            });
            return Err(ScheduleError::Deadlock {
                waiting,
                ranks: schedule.ranks(),
                first,
            });
        }
    }
    found.sort_unstable();
    Ok(found)
}
