//! What a message takes by itself, part by part.

use super::packet::{cut, whole_span};
use super::resources::{Hop, Resources};
use super::{Model, resources};
use crate::error::SimulationError;
use crate::ids::RankId;
use crate::topology::{Forwarding, Topology};
use crate::units::{Bytes, Time};

/// The parts of a message's time in a network that does nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Journey {
    /// On the slowest of its links, or in the memory at either end where that is slower.
    pub serialisation: Time,
    /// On the other links, a packet each, where nodes wait for whole packets before they pass them on.
    pub forwarding: Time,
    /// The latencies of all links.
    pub propagation: Time,
}

/// Finds the parts of messages' times on a topology.
#[derive(Debug)]
pub struct Journeys<'t> {
    resources: Resources<'t>,
    model: Model,
    route: Vec<Hop>,
}

impl<'t> Journeys<'t> {
    /// Those in a network model.
    pub fn new(topology: &'t Topology, model: Model) -> Self {
        Self {
            resources: Resources::new(topology),
            model,
            route: Vec::new(),
        }
    }

    /// That of a message on the fixed or hashed route.
    pub fn of(&mut self, from: RankId, to: RankId, bytes: Bytes) -> Result<Journey, SimulationError> {
        let topology = self.resources.topology();
        self.resources.route(from, to, &mut self.route)?;
        let mut journey = Journey::default();
        let mut slowest = Time::ZERO;
        let mut packets_of_all = Time::ZERO;
        for &hop in &self.route {
            let (whole, packet) = self.spans(hop, bytes)?;
            journey.propagation += self.resources.latency(hop.resource as usize);
            packets_of_all += packet;
            if whole > journey.serialisation {
                (journey.serialisation, slowest) = (whole, packet);
            }
        }
        if self.model == Model::Packet && topology.fabric().forwarding() == Forwarding::StoreAndForward {
            journey.forwarding = packets_of_all - slowest;
        }
        Ok(journey)
    }

    /// How long a message occupies a hop, and how long one packet of it.
    fn spans(&self, hop: resources::Hop, bytes: Bytes) -> Result<(Time, Time), SimulationError> {
        if self.model != Model::Packet {
            return Ok((self.resources.span(hop, bytes)?, Time::ZERO));
        }
        let format = self.resources.topology().packet_format();
        let (packets, last) = cut(format, bytes);
        let full = self.resources.span(hop, format.payload() + format.header())?;
        let last = self.resources.span(hop, last)?;
        let whole = whole_span(full, packets, last)?;
        Ok((whole, if packets > 1 { full } else { last }))
    }
}
