//! What is measured of queues and buffers while packets move.

use crate::engine::network::Traffic;
use crate::units::Time;

/// Counters of every resource.
#[derive(Debug)]
pub(super) struct Gauges {
    bytes: Vec<u64>,
    busy: Vec<u64>,
    outputs: Vec<Gauge>,
    buffers: Vec<Level>,
    held: Vec<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gauge {
    level: Level,
    /// Bytes times the picoseconds that they waited.
    area: u128,
    longest_wait: Time,
    wait: u128,
}

/// Bytes that wait somewhere.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    now: u64,
    peak: u64,
}

impl Level {
    fn add(&mut self, bytes: u64) {
        self.now += bytes;
        self.peak = self.peak.max(self.now);
    }
}

impl Gauges {
    pub(super) fn new(resources: usize) -> Self {
        Self {
            bytes: vec![0; resources],
            busy: vec![0; resources],
            outputs: vec![Gauge::default(); resources],
            buffers: vec![Level::default(); resources],
            held: vec![Time::ZERO; resources],
        }
    }

    /// The bytes in transit that wait for a resource.
    pub(super) fn waiting(&self, output: usize) -> u64 {
        self.outputs[output].level.now
    }

    /// A packet that came by one resource waits for another.
    pub(super) fn queued(&mut self, from: usize, output: usize, bytes: u64) {
        self.buffers[from].add(bytes);
        self.outputs[output].level.add(bytes);
    }

    /// A packet that came by one resource at `since` starts on another.
    pub(super) fn started(&mut self, from: usize, output: usize, since: Time, at: Time, bytes: u64) {
        self.buffers[from].now -= bytes;
        let gauge = &mut self.outputs[output];
        let wait = at - since;
        gauge.level.now -= bytes;
        gauge.longest_wait = gauge.longest_wait.max(wait);
        gauge.wait += u128::from(wait.picoseconds());
        gauge.area += u128::from(bytes) * u128::from(wait.picoseconds());
    }

    /// A resource stood still for lack of room ahead.
    pub(super) fn held(&mut self, output: usize, span: Time) {
        self.held[output] += span;
    }

    /// A message of `bytes` on the wire will occupy a resource for `busy`.
    pub(super) fn carries(&mut self, resource: usize, bytes: u64, busy: Time) {
        self.bytes[resource] += bytes;
        self.busy[resource] += busy.picoseconds();
    }

    /// Whether nothing waits anywhere.
    pub(super) fn are_at_rest(&self) -> bool {
        let levels = self.outputs.iter().map(|gauge| gauge.level);
        levels.chain(self.buffers.iter().copied()).all(|level| level.now == 0)
    }

    /// The figures of the first `links` resources.
    pub(super) fn report(&self, links: usize) -> Traffic {
        let outputs = &self.outputs[..links];
        Traffic {
            link_bytes: self.bytes[..links].to_vec(),
            link_busy: self.busy[..links].to_vec(),
            link_wait: outputs.iter().map(|gauge| gauge.wait).collect(),
            link_longest_wait: outputs.iter().map(|gauge| gauge.longest_wait.picoseconds()).collect(),
            link_held: self.held[..links].iter().map(|span| span.picoseconds()).collect(),
            queue_peak: outputs.iter().map(|gauge| gauge.level.peak).collect(),
            queue_area: outputs.iter().map(|gauge| gauge.area).collect(),
            buffer_peak: self.buffers[..links].iter().map(|level| level.peak).collect(),
            ..Traffic::default()
        }
    }
}
