//! Several ranks a chip: cores that share their chip's ports and talk to one another within it.

use super::ports::Group;
use super::routing::{Formula, Routing};
use super::wiring::{End, Size, Wiring, at_least_one};
use super::{LinkInput, LinkSpec, Topology};
use crate::error::TopologyError;
use crate::ids::{LinkId, NodeId, RankId};
use std::ops::Range;

/// The tier of the links between cores and chips.
const TIER: &str = "core-of-chip";

/// Routes of a named shape whose chips have several cores each.
#[derive(Clone, Debug)]
pub(super) struct Cores {
    network: Box<Formula>,
    per_chip: usize,
    chips: usize,
    /// The ports that each chip has on the network, before those to its cores.
    ports: Vec<u32>,
}

impl Cores {
    fn ranks(&self) -> usize {
        self.chips * self.per_chip
    }

    /// The node of the network that a node behind the cores is.
    fn within(&self, node: usize) -> NodeId {
        NodeId::new(node - self.ranks())
    }

    fn is_core(&self, node: usize) -> bool {
        node < self.ranks()
    }

    pub(super) fn port(&self, at: usize, to: usize) -> usize {
        if self.is_core(at) {
            return 0;
        }
        let (at, chip) = (self.within(at), to / self.per_chip);
        if at.index() == chip {
            // Chips of shapes that are alike everywhere share one entry.
            let before = self.ports[chip % self.ports.len()] as usize;
            before + to % self.per_chip
        } else {
            self.network.port(at, RankId::new(chip))
        }
    }

    pub(super) fn choices(&self, at: usize) -> Range<usize> {
        if self.is_core(at) {
            0..0
        } else {
            self.network.choices(self.within(at))
        }
    }

    pub(super) fn channels(&self) -> u8 {
        self.network.channels()
    }

    pub(super) fn crosses_dateline(&self, tier: usize, from: usize, to: usize) -> bool {
        let is_inside = !self.is_core(from) && !self.is_core(to);
        is_inside
            && self
                .network
                .crosses_dateline(tier, self.within(from).index(), self.within(to).index())
    }
}

impl Topology {
    /// The same network with several ranks on each chip: its cores, which share the chip's ports.
    ///
    /// Shape: that of the network, and `per_chip` within. Rank r is a core of chip r / `per_chip` (integer division); each has a link
    /// each way to its chip (tier `core-of-chip`), so that two cores of one chip are two such links apart, and all that
    /// cores send to other chips passes the chip's links. Cores are the first nodes, chips follow, then the switches.
    /// Costs at the ends, memory among them, are those of a rank: where the cores of a chip divide its memory, as the HBM
    /// stacks of a Trainium chip are divided among its cores, a rank has its share of the rate.
    ///
    /// With 1 rank a chip the network stays as it is. An error where it has faults or cores already.
    pub fn with_cores(self, per_chip: usize, link: LinkSpec) -> Result<Self, TopologyError> {
        at_least_one("ranks_per_chip", per_chip)?;
        if self.ranks_per_chip > 1 || !self.faults().is_empty() {
            return Err(TopologyError::Argument {
                argument: "ranks_per_chip",
                expected: "a network of one rank a chip without faults; add faults afterwards".to_owned(),
                value: per_chip.to_string(),
            });
        }
        if per_chip == 1 {
            return Ok(self);
        }
        let mut topology = match &self.routing {
            Routing::Formula(formula) => with_formula(&self, formula, per_chip, link)?,
            Routing::Table(_) => with_table(&self, per_chip, link)?,
        };
        topology.shape = [self.shape.as_slice(), &[per_chip]].concat();
        topology.ranks_per_chip = per_chip;
        topology.name = self.name;
        topology.endpoint = self.endpoint;
        topology.packet_format = self.packet_format;
        topology.fabric = self.fabric;
        topology.server = self.server;
        Ok(topology)
    }

    /// How many ranks run on each chip; 1 unless set by [`Self::with_cores`].
    pub fn ranks_per_chip(&self) -> usize {
        self.ranks_per_chip
    }

    /// The number of chips.
    pub fn chips(&self) -> usize {
        self.ranks / self.ranks_per_chip
    }
}

fn with_formula(
    network: &Topology,
    formula: &Formula,
    per_chip: usize,
    link: LinkSpec,
) -> Result<Topology, TopologyError> {
    let chips = network.ranks();
    let ranks = (chips as u128).saturating_mul(per_chip as u128);
    let most_ports = (0..network.nodes()).map(|node| network.ports(NodeId::new(node))).max();
    let mut wiring = Wiring::new(&Size {
        nodes: ranks.saturating_add(network.nodes() as u128),
        links: ranks.saturating_mul(2).saturating_add(network.links() as u128),
        ports: (most_ports.unwrap_or(0) as u128).saturating_add(per_chip as u128),
    })?;
    let ranks = chips * per_chip;
    wiring.add_nodes(ranks, &[Group::ONE]);
    // Nodes that shared a layout do so again.
    let mut layouts = vec![None; 2 * network.layouts.len()];
    for node in (0..network.nodes()).map(NodeId::new) {
        let is_chip = node.index() < chips;
        let key = 2 * network.node_layouts[node.index()] as usize + usize::from(is_chip);
        let more = is_chip.then(|| Group::cycle(per_chip));
        let layout = *layouts[key].get_or_insert_with(|| wiring.add_layout_with(network.layout(node), more));
        wiring.add_node(layout);
    }
    let tiers: Vec<u8> = network.tiers().iter().map(|label| wiring.add_tier(label)).collect();
    for number in (0..network.links()).map(LinkId::new) {
        let end = |node: NodeId, port: u32| End {
            node: ranks + node.index(),
            port: port as usize,
        };
        wiring.add_link(
            end(network.source(number), network.output_port(number)),
            end(network.destination(number), network.input_port(number)),
            LinkSpec {
                bandwidth: network.bandwidth(number),
                latency: network.latency(number),
            },
            tiers[usize::from(network.tier(number))],
        );
    }
    let tier = wiring.add_tier(TIER);
    let ports_of = |chip: usize| network.ports(NodeId::new(chip));
    for rank in 0..ranks {
        let chip = rank / per_chip;
        let core = End { node: rank, port: 0 };
        let of_chip = End {
            node: ranks + chip,
            port: ports_of(chip) + rank % per_chip,
        };
        wiring.add_cable(core, of_chip, link, tier);
    }
    let first = ports_of(0);
    let narrow = |ports: usize| u32::try_from(ports).expect("ports were counted");
    let are_alike = (1..chips).all(|chip| ports_of(chip) == first);
    let cores = Cores {
        network: Box::new(formula.clone()),
        per_chip,
        chips,
        ports: if are_alike {
            vec![narrow(first)]
        } else {
            (0..chips).map(|chip| narrow(ports_of(chip))).collect()
        },
    };
    Ok(wiring.finish(network.family(), vec![ranks], Formula::Cores(cores)))
}

fn with_table(network: &Topology, per_chip: usize, link: LinkSpec) -> Result<Topology, TopologyError> {
    let Some(ranks) = network.ranks().checked_mul(per_chip) else {
        return Err(TopologyError::TooLarge {
            what: "nodes",
            count: (network.ranks() as u128).saturating_mul(per_chip as u128),
            limit: u64::from(u32::MAX),
        });
    };
    let of_network = (0..network.links()).map(LinkId::new).map(|number| LinkInput {
        source: (ranks + network.source(number).index()) as u64,
        destination: (ranks + network.destination(number).index()) as u64,
        bandwidth: network.bandwidth(number).bytes_per_second(),
        latency: network.latency(number).picoseconds(),
        tier: network.tiers()[usize::from(network.tier(number))].clone(),
    });
    let of_cores = (0..ranks).flat_map(|rank| {
        let chip = ranks + rank / per_chip;
        [(rank, chip), (chip, rank)].map(|(source, destination)| LinkInput {
            source: source as u64,
            destination: destination as u64,
            bandwidth: link.bandwidth.bytes_per_second(),
            latency: link.latency.picoseconds(),
            tier: TIER.to_owned(),
        })
    });
    let links: Vec<LinkInput> = of_network.chain(of_cores).collect();
    Topology::from_links(ranks, network.nodes(), &links)
}
