//! Which resources a packet takes, one after the other.

use super::{Switched, index};
use crate::engine::network::MessageId;
use crate::engine::packet::OWN_PLACE;
use crate::engine::resources::Hop;
use crate::error::SimulationError;
use crate::ids::{LinkId, NodeId, RankId};
use crate::topology::{Fabric, Policy, Topology};
use crate::units::Time;

/// A resource on a packet's way, and where the packet stands among others that want it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub hop: Hop,
    pub channel: u8,
    /// The place of the resource before at this one.
    pub tie: u32,
    /// The slot of the resource before at this one.
    pub slot: u32,
}

const BLANK: Step = Step {
    hop: Hop {
        resource: 0,
        touches: 1,
    },
    channel: 0,
    tie: 0,
    slot: 0,
};

/// The ways of the messages under way, and what a policy remembers.
#[derive(Debug)]
pub(super) struct Steering {
    policy: Policy,
    /// The fixed route of each message, `stride` steps each.
    steps: Vec<Step>,
    lengths: Vec<u32>,
    stride: usize,
    route: Vec<Hop>,
    /// How many packets each node has spread over its links.
    spread: Vec<u64>,
    links: Vec<LinkId>,
    reordered: u64,
}

impl Steering {
    pub(super) fn new(topology: &Topology, fabric: Fabric) -> Self {
        Self {
            policy: fabric.policy(),
            steps: Vec::new(),
            lengths: Vec::new(),
            stride: 1,
            route: Vec::new(),
            spread: vec![0; topology.nodes()],
            links: Vec::new(),
            reordered: 0,
        }
    }

    /// Whether all packets of a message take the same way.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self.policy, Policy::Fixed | Policy::FlowHash { .. })
    }

    pub(super) fn policy(&self) -> Policy {
        self.policy
    }

    /// The length of a message's route.
    pub(super) fn hops(&self, message: MessageId) -> u32 {
        self.lengths[message as usize]
    }

    /// A step of a message's route.
    pub(super) fn step(&self, message: MessageId, hop: u32) -> Step {
        self.steps[message as usize * self.stride + hop as usize]
    }

    pub(super) fn reordered(&self) -> u64 {
        self.reordered
    }

    pub(super) fn count_reordered(&mut self) {
        self.reordered += 1;
    }

    /// The number of the first of so many packets that a node spreads over its links.
    pub(super) fn take_turns(&mut self, node: NodeId, packets: u64) -> u64 {
        let turn = self.spread[node.index()];
        self.spread[node.index()] = turn.wrapping_add(packets);
        turn
    }

    fn reserve(&mut self, message: MessageId, length: usize) {
        let messages = self.lengths.len().max(message as usize + 1);
        if length > self.stride {
            let mut steps = vec![BLANK; messages * length];
            for (old, new) in self.steps.chunks_exact(self.stride).zip(steps.chunks_exact_mut(length)) {
                new[..old.len()].copy_from_slice(old);
            }
            (self.steps, self.stride) = (steps, length);
        }
        self.steps.resize(messages * self.stride, BLANK);
        self.lengths.resize(messages, 0);
    }
}

impl Switched<'_> {
    /// Lays out a message's fixed route.
    pub(super) fn plan(
        &mut self,
        message: MessageId,
        source: RankId,
        destination: RankId,
    ) -> Result<(), SimulationError> {
        let mut route = std::mem::take(&mut self.steering.route);
        self.resources.route(source, destination, &mut route)?;
        self.steering.reserve(message, route.len());
        self.steering.lengths[message as usize] = index(route.len());
        let mut before = None;
        for (hop, &at) in route.iter().enumerate() {
            let step = self.step_after(before, at);
            self.steering.steps[message as usize * self.steering.stride + hop] = step;
            before = Some(step);
        }
        self.steering.route = route;
        Ok(())
    }

    /// The step of a packet that sets out on `hop`.
    pub(super) fn step_onto(&self, hop: Hop) -> Step {
        self.step_after(None, hop)
    }

    /// Where packets that come to a node at one instant stand when they pick their links: by input port, what comes out
    /// of the node's memory last.
    pub(super) fn place_at_node(&self, resource: u32) -> u32 {
        let link = self.resources.link(resource as usize);
        link.map_or(OWN_PLACE, |link| self.resources.topology().input_port(link))
    }

    /// The step onto `hop` from the one before.
    fn step_after(&self, before: Option<Step>, hop: Hop) -> Step {
        let topology = self.resources.topology();
        let link = self.resources.link(hop.resource as usize);
        let input = before.and_then(|before| {
            let link = self.resources.link(before.hop.resource as usize)?;
            Some((link, before.channel))
        });
        let tie = match (input, link) {
            (Some((input, _)), Some(output)) => topology.tie(input, output),
            (Some((input, _)), None) => topology.input_port(input),
            (None, _) => OWN_PLACE,
        };
        let slot = match input {
            Some((input, channel)) => index(topology.input_port(input) as usize * self.channels) + u32::from(channel),
            // What comes from the sender's memory stands for the node's own messages.
            None => self.outputs[hop.resource as usize].own_slot,
        };
        let channel = match link {
            Some(link) if self.channels > 1 => topology.channel(input, link),
            _ => 0,
        };
        Step {
            hop,
            channel,
            tie,
            slot,
        }
    }

    /// Whether a packet is on the last resource of its way.
    pub(super) fn is_end(&self, message: MessageId, hop: u32, here: Step) -> bool {
        if self.steering.is_fixed() {
            return hop + 1 == self.steering.hops(message);
        }
        let last = self.steering.step(message, self.steering.hops(message) - 1);
        match self.resources.link(here.hop.resource as usize) {
            // The memory of the receiver, if there is one, comes last.
            None => here.hop.resource == last.hop.resource && hop > 0,
            Some(link) => {
                let end = self.resources.topology().destination(link);
                let home = self.messages[message as usize].destination;
                end.get() == home.get() && self.resources.link(last.hop.resource as usize).is_some()
            }
        }
    }

    /// What a packet takes after a resource.
    pub(super) fn next_step(&mut self, message: MessageId, hop: u32, here: Step) -> Step {
        if self.steering.is_fixed() {
            return self.steering.step(message, hop + 1);
        }
        let topology = self.resources.topology();
        let sending = self.messages[message as usize];
        let node = match self.resources.link(here.hop.resource as usize) {
            Some(link) => topology.destination(link),
            None => NodeId::from(sending.source.get()),
        };
        if node.get() == sending.destination.get() {
            let memory = self.steering.step(message, self.steering.hops(message) - 1);
            return self.step_after(Some(here), memory.hop);
        }
        let link = self.pick(node, sending.destination);
        let hop = Hop {
            resource: link.get(),
            touches: 1,
        };
        self.step_after(Some(here), hop)
    }

    /// The link that a policy picks for the next packet at a node.
    pub(super) fn pick(&mut self, node: NodeId, destination: RankId) -> LinkId {
        let mut links = std::mem::take(&mut self.steering.links);
        self.resources.topology().next_links(node, destination, &mut links);
        let picked = if self.steering.policy() == Policy::Adaptive {
            links.iter().copied().min_by_key(|link| {
                let free = self.outputs[link.index()].free.max(self.now);
                (self.gauges.waiting(link.index()), free)
            })
        } else {
            let turn = if links.len() > 1 {
                self.steering.take_turns(node, 1)
            } else {
                0
            };
            let number = usize::try_from(turn % links.len() as u64).expect("below the number of links");
            links.get(number).copied()
        };
        self.steering.links = links;
        picked.expect("a node that a packet comes to leads on to its destination")
    }

    /// The shortest time that a packet can occupy what it takes after a resource.
    pub(super) fn shortest_next(&self, message: MessageId, hop: u32, here: Step, last: bool) -> Time {
        if self.steering.is_fixed() {
            return self.span(message, self.steering.step(message, hop + 1), last);
        }
        let topology = self.resources.topology();
        let sending = self.messages[message as usize];
        let node = match self.resources.link(here.hop.resource as usize) {
            Some(link) => topology.destination(link),
            None => NodeId::from(sending.source.get()),
        };
        if node.get() == sending.destination.get() {
            let memory = self.steering.step(message, self.steering.hops(message) - 1);
            return self.span(message, memory, last);
        }
        let mut links = Vec::new();
        topology.next_links(node, sending.destination, &mut links);
        let span = |link: &LinkId| {
            let hop = Hop {
                resource: link.get(),
                touches: 1,
            };
            self.span(message, Step { hop, ..BLANK }, last)
        };
        links.iter().map(span).min().unwrap_or(Time::ZERO)
    }
}
