//! What ranks pay at their own end, for every network model alike.

use crate::error::UnitError;
use crate::ids::RankId;
use crate::topology::{Endpoint, Topology};
use crate::units::{Bytes, Time};

/// The endpoint costs of every rank: those of the machine, and what faults make of them.
#[derive(Clone, Copy, Debug)]
pub struct Costs<'t> {
    endpoint: &'t Endpoint,
    topology: Option<&'t Topology>,
}

impl<'t> From<&'t Endpoint> for Costs<'t> {
    /// The same costs for every rank.
    fn from(endpoint: &'t Endpoint) -> Self {
        Self {
            endpoint,
            topology: None,
        }
    }
}

impl<'t> From<&'t Topology> for Costs<'t> {
    /// The topology's endpoint costs, with its late and slow ranks.
    fn from(topology: &'t Topology) -> Self {
        Self {
            endpoint: topology.endpoint(),
            topology: (!topology.faults().is_empty()).then_some(topology),
        }
    }
}

impl Costs<'_> {
    /// When a rank begins.
    pub(super) fn late(&self, rank: u32) -> Time {
        self.topology
            .map_or(Time::ZERO, |topology| topology.late(RankId::from(rank)))
    }

    /// From posting a rank's message of this number to its entry into the network.
    pub(super) fn launch(&self, rank: u32, number: u64) -> Result<Time, UnitError> {
        let launch = self.slowed(rank, self.endpoint.launch())?;
        let jitter = self.endpoint.jitter(rank, number);
        launch.checked_add(jitter).ok_or(UnitError::DurationOverflow)
    }

    /// From the arrival of a message at a rank to its completion.
    pub(super) fn completion(&self, rank: u32) -> Result<Time, UnitError> {
        self.slowed(rank, self.endpoint.completion())
    }

    /// How long a rank takes to reduce, memory apart; none if no time.
    pub(super) fn reduction(&self, rank: u32, bytes: Bytes) -> Result<Option<Time>, UnitError> {
        let rate = self.endpoint.reduction();
        rate.map(|rate| self.slowed(rank, rate.checked_serialization(bytes)?))
            .transpose()
    }

    /// How long a rank takes to copy, memory apart; none if no time.
    pub(super) fn copy(&self, rank: u32, bytes: Bytes) -> Result<Option<Time>, UnitError> {
        let rate = self.endpoint.copy();
        rate.map(|rate| self.slowed(rank, rate.checked_serialization(bytes)?))
            .transpose()
    }

    /// How long a rank takes for what takes others `span`.
    pub(super) fn slowed(&self, rank: u32, span: Time) -> Result<Time, UnitError> {
        let Some(topology) = self.topology else {
            return Ok(span);
        };
        let (numerator, denominator) = topology.slowness(RankId::from(rank));
        let scaled = (u128::from(span.picoseconds()) * u128::from(numerator)).div_ceil(u128::from(denominator));
        u64::try_from(scaled)
            .map(Time::from_picoseconds)
            .map_err(|_| UnitError::DurationOverflow)
    }

    /// The most messages that a rank has under way at once.
    pub(super) fn queues(&self) -> u32 {
        self.endpoint.queues().map_or(u32::MAX, std::num::NonZeroU32::get)
    }

    /// The bytes that pass a rank's memory when it reduces what has arrived; none where memories take no time.
    pub(super) fn reduction_touches(&self, bytes: Bytes) -> Option<Bytes> {
        self.touched(bytes, self.endpoint.touches().reduce)
    }

    /// The bytes that pass a rank's memory when it copies.
    pub(super) fn copy_touches(&self, bytes: Bytes) -> Option<Bytes> {
        let touches = self.endpoint.touches();
        self.touched(bytes, touches.read.saturating_add(touches.write))
    }

    fn touched(&self, bytes: Bytes, touches: u32) -> Option<Bytes> {
        let passing = bytes.get().saturating_mul(touches.into());
        (self.endpoint.memory().is_some() && passing > 0).then_some(Bytes::new(passing))
    }

    /// Whether every message of a rank takes the same time to launch.
    pub(super) fn launches_in_order(&self) -> bool {
        self.endpoint.most_jitter() == Time::ZERO
    }
}
