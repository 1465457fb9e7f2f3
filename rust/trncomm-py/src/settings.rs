//! What a topology has set besides its links: costs at chips, packets, and how nodes hold and steer them.

use std::num::{NonZeroU8, NonZeroU32};

use pyo3::prelude::*;
use pyo3::types::PyString;
use trncomm_core::topology::{self, Arbitration, Forwarding, Policy, Queueing, Touches};
use trncomm_core::units::{Bandwidth, Bytes, Time};

use crate::convert::TOPOLOGY;

/// An argument that changes a setting, or leaves it as it is.
pub enum Setting<'py> {
    /// Not given, or given as `...`.
    Kept,
    /// Given as None: what a topology has unless set.
    Unset,
    /// Given as something else.
    Given(Bound<'py, PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Setting<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let kept = object.py().Ellipsis();
        Ok(if object.is(&kept) {
            Self::Kept
        } else if object.is_none() {
            Self::Unset
        } else {
            Self::Given(object.to_owned())
        })
    }
}

impl<'py> Setting<'py> {
    /// The value from now on.
    pub fn over<T>(self, kept: T, unset: T, read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>) -> PyResult<T> {
        match self {
            Self::Kept => Ok(kept),
            Self::Unset => Ok(unset),
            Self::Given(value) => read(&value),
        }
    }

    /// The value from now on of a setting that may be absent.
    pub fn over_option<T>(
        self,
        kept: Option<T>,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        self.over(kept, None, |value| read(value).map(Some))
    }
}

/// What a message costs at the chips that send and receive it.
///
/// `Topology.with_endpoint` changes it. A rate or a limit that is None isn't modelled.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> ring.with_endpoint(launch="1.3us", queues=16).endpoint
///     <Endpoint: launch 1.3 µs, completion 0 ps, 16 queues>
#[pyclass(frozen, module = "trncomm")]
pub struct Endpoint {
    pub core: topology::Endpoint,
}

#[pymethods]
impl Endpoint {
    /// What a message costs its sender before its first byte, in picoseconds.
    #[getter]
    fn launch_ps(&self) -> u64 {
        self.core.launch().picoseconds()
    }

    /// What a message costs its receiver after its last byte, in picoseconds.
    #[getter]
    fn completion_ps(&self) -> u64 {
        self.core.completion().picoseconds()
    }

    /// The rate at which received bytes are reduced, in bytes a second.
    #[getter]
    fn reduction_bandwidth(&self) -> Option<u64> {
        self.core.reduction().map(Bandwidth::bytes_per_second)
    }

    /// The rate at which a chip copies within its memory, in bytes a second.
    #[getter]
    fn copy_bandwidth(&self) -> Option<u64> {
        self.core.copy().map(Bandwidth::bytes_per_second)
    }

    /// The most messages of a rank that are under way at once.
    #[getter]
    fn queues(&self) -> Option<u32> {
        self.core.queues().map(NonZeroU32::get)
    }

    /// The rate of a chip's memory, reads and writes together, in bytes a second.
    #[getter]
    fn memory_bandwidth(&self) -> Option<u64> {
        self.core.memory().map(Bandwidth::bytes_per_second)
    }

    /// How often a byte touches memory: read to send, written on receipt, and more where it is reduced.
    #[getter]
    fn touches(&self) -> (u32, u32, u32) {
        let Touches { read, write, reduce } = self.core.touches();
        (read, write, reduce)
    }

    /// The most bytes of a message that are sent and not yet delivered.
    #[getter]
    fn window_bytes(&self) -> Option<u64> {
        self.core.window().map(Bytes::get)
    }

    /// The longest that chance adds to a launch, in picoseconds.
    #[getter]
    fn jitter_ps(&self) -> u64 {
        self.core.most_jitter().picoseconds()
    }

    /// What the draws of jitter begin with.
    #[getter]
    fn seed(&self) -> u64 {
        self.core.seed()
    }

    fn __repr__(&self) -> String {
        let core = &self.core;
        let mut parts = vec![
            format!("launch {}", core.launch()),
            format!("completion {}", core.completion()),
        ];
        parts.extend(core.reduction().map(|rate| format!("reduction {rate}")));
        parts.extend(core.copy().map(|rate| format!("copy {rate}")));
        parts.extend(limits(core));
        format!("<Endpoint: {}>", parts.join(", "))
    }
}

/// The limits of an endpoint that are set, for people.
pub fn limits(endpoint: &topology::Endpoint) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(endpoint.queues().map(|queues| format!("{queues} queues")));
    if let Some(rate) = endpoint.memory() {
        let Touches { read, write, reduce } = endpoint.touches();
        parts.push(format!(
            "memory {rate}, touched {read} + {write} + {reduce} times (send, receive, reduce)"
        ));
    }
    parts.extend(endpoint.window().map(|window| format!("window {window}")));
    if endpoint.most_jitter() > Time::ZERO {
        let (most, seed) = (endpoint.most_jitter(), endpoint.seed());
        parts.push(format!("jitter up to {most} (seed {seed})"));
    }
    parts
}

/// The number of queues.
pub fn queues(value: &Bound<'_, PyAny>) -> PyResult<NonZeroU32> {
    let count = TOPOLOGY.number("queues", value)?;
    u32::try_from(count)
        .ok()
        .and_then(NonZeroU32::new)
        .ok_or_else(|| TOPOLOGY.raise("queues", format!("queues must be from 1 to {}, got {count}", u32::MAX)))
}

/// How often a byte touches memory, from three numbers.
pub fn touches(value: &Bound<'_, PyAny>) -> PyResult<Touches> {
    let refuse = || -> PyErr {
        let got = value
            .repr()
            .map_or_else(|_| "another".to_owned(), |repr| repr.to_string());
        TOPOLOGY.raise(
            "touches",
            format!("touches must be three whole numbers below 2^32, (read, write, reduce), got {got}"),
        )
    };
    let counts = value
        .try_iter()?
        .map(|count| u32::try_from(TOPOLOGY.number("touches", &count?)?).map_err(|_| refuse()))
        .collect::<PyResult<Vec<u32>>>()?;
    match counts[..] {
        [read, write, reduce] => Ok(Touches { read, write, reduce }),
        _ => Err(refuse()),
    }
}

/// How a message is cut into packets.
///
/// `Topology.with_packets` changes it.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns").packets
///     <PacketFormat: payload 4 KiB, header 0 B>
#[pyclass(frozen, module = "trncomm")]
pub struct PacketFormat {
    pub core: topology::PacketFormat,
}

#[pymethods]
impl PacketFormat {
    /// The most bytes of a message in one packet.
    #[getter]
    fn payload_bytes(&self) -> u64 {
        self.core.payload().get()
    }

    /// The bytes that each packet adds on the wire.
    #[getter]
    fn header_bytes(&self) -> u64 {
        self.core.header().get()
    }

    fn __repr__(&self) -> String {
        let (payload, header) = (self.core.payload(), self.core.header());
        format!("<PacketFormat: payload {payload}, header {header}>")
    }
}

/// How the nodes of a network hold, order and steer packets; only the packet model looks at it.
///
/// `Topology.with_fabric` changes it.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> ring.with_fabric(buffer="64KiB", virtual_channels=2).fabric
///     <Fabric: buffer 64 KiB, 2 virtual channels, first-come, virtual-output, store-and-forward, fixed>
#[pyclass(frozen, module = "trncomm")]
pub struct Fabric {
    pub core: topology::Fabric,
}

#[pymethods]
impl Fabric {
    /// The bytes that may wait at the end of a link, for each virtual channel; None where there is no limit.
    #[getter]
    fn buffer_bytes(&self) -> Option<u64> {
        self.core.buffer().map(Bytes::get)
    }

    /// The virtual channels of every link.
    #[getter]
    fn virtual_channels(&self) -> u8 {
        self.core.virtual_channels()
    }

    /// Which of the packets that wait for an output goes first.
    #[getter]
    fn arbitration(&self) -> &'static str {
        arbitration_name(self.core.arbitration())
    }

    /// What a packet waits behind.
    #[getter]
    fn queueing(&self) -> &'static str {
        queueing_name(self.core.queueing())
    }

    /// When a node begins to send a packet on.
    #[getter]
    fn forwarding(&self) -> &'static str {
        forwarding_name(self.core.forwarding())
    }

    /// Which of several links that are as good a packet takes.
    #[getter]
    fn policy(&self) -> &'static str {
        policy_name(self.core.policy())
    }

    /// What the hash of "flow-hash" begins with; 0 for policies without one.
    #[getter]
    fn seed(&self) -> u64 {
        seed_of(self.core.policy())
    }

    fn __repr__(&self) -> String {
        format!("<Fabric: {}>", describe(&self.core))
    }
}

/// All properties of a fabric, for people.
pub fn describe(fabric: &topology::Fabric) -> String {
    let buffer = fabric
        .buffer()
        .map_or("buffers unlimited".to_owned(), |buffer| format!("buffer {buffer}"));
    let channels = fabric.virtual_channels();
    let plural = if channels == 1 { "" } else { "s" };
    let seed = match fabric.policy() {
        Policy::FlowHash { seed } => format!(" (seed {seed})"),
        Policy::Fixed | Policy::Spray | Policy::Adaptive => String::new(),
    };
    format!(
        "{buffer}, {channels} virtual channel{plural}, {}, {}, {}, {}{seed}",
        arbitration_name(fabric.arbitration()),
        queueing_name(fabric.queueing()),
        forwarding_name(fabric.forwarding()),
        policy_name(fabric.policy())
    )
}

/// The number of virtual channels.
pub fn virtual_channels(value: &Bound<'_, PyAny>) -> PyResult<NonZeroU8> {
    let name = "virtual_channels";
    let count = TOPOLOGY.number(name, value)?;
    u8::try_from(count)
        .ok()
        .and_then(NonZeroU8::new)
        .ok_or_else(|| TOPOLOGY.raise(name, format!("{name} must be from 1 to {}, got {count}", u8::MAX)))
}

pub fn arbitration(value: &Bound<'_, PyAny>) -> PyResult<Arbitration> {
    let choices = [Arbitration::FirstCome, Arbitration::RoundRobin];
    choice("arbitration", value, &choices, arbitration_name)
}

pub fn queueing(value: &Bound<'_, PyAny>) -> PyResult<Queueing> {
    let choices = [Queueing::VirtualOutput, Queueing::Input];
    choice("queueing", value, &choices, queueing_name)
}

pub fn forwarding(value: &Bound<'_, PyAny>) -> PyResult<Forwarding> {
    let choices = [Forwarding::StoreAndForward, Forwarding::CutThrough];
    choice("forwarding", value, &choices, forwarding_name)
}

/// A policy by name, with a seed of 0 where it has one.
pub fn policy(value: &Bound<'_, PyAny>) -> PyResult<Policy> {
    let choices = [
        Policy::Fixed,
        Policy::FlowHash { seed: 0 },
        Policy::Spray,
        Policy::Adaptive,
    ];
    choice("policy", value, &choices, policy_name)
}

/// The seed of a policy; 0 where it has none.
pub fn seed_of(policy: Policy) -> u64 {
    match policy {
        Policy::FlowHash { seed } => seed,
        Policy::Fixed | Policy::Spray | Policy::Adaptive => 0,
    }
}

/// A policy with a seed, where it has one.
pub fn seeded(policy: Policy, seed: u64) -> Policy {
    match policy {
        Policy::FlowHash { .. } => Policy::FlowHash { seed },
        Policy::Fixed | Policy::Spray | Policy::Adaptive => policy,
    }
}

fn arbitration_name(arbitration: Arbitration) -> &'static str {
    match arbitration {
        Arbitration::FirstCome => "first-come",
        Arbitration::RoundRobin => "round-robin",
    }
}

fn queueing_name(queueing: Queueing) -> &'static str {
    match queueing {
        Queueing::VirtualOutput => "virtual-output",
        Queueing::Input => "input",
    }
}

fn forwarding_name(forwarding: Forwarding) -> &'static str {
    match forwarding {
        Forwarding::StoreAndForward => "store-and-forward",
        Forwarding::CutThrough => "cut-through",
    }
}

fn policy_name(policy: Policy) -> &'static str {
    match policy {
        Policy::Fixed => "fixed",
        Policy::FlowHash { .. } => "flow-hash",
        Policy::Spray => "spray",
        Policy::Adaptive => "adaptive",
    }
}

/// The one of `choices` that `value` names.
fn choice<T: Copy>(name: &str, value: &Bound<'_, PyAny>, choices: &[T], name_of: fn(T) -> &'static str) -> PyResult<T> {
    let text = value.cast::<PyString>()?.to_cow()?;
    choices
        .iter()
        .copied()
        .find(|&one| name_of(one) == text)
        .ok_or_else(|| {
            let names: Vec<String> = choices.iter().map(|&one| format!("{:?}", name_of(one))).collect();
            TOPOLOGY.raise(
                name,
                format!("{name} must be one of {}, got {text:?}", names.join(", ")),
            )
        })
}
