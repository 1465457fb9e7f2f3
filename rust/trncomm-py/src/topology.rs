//! Topologies: a constructor for each shape, and their columns.

mod arguments;
mod describe;

use std::num::NonZeroU8;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use trncomm_core::ids::{LinkId, NodeId};
use trncomm_core::topology::{self, Leaves, LinkInput, LinkSpec, Touches};
use trncomm_core::units::{Bandwidth, Time};

use crate::column::column;
use crate::convert::TOPOLOGY;
use crate::errors::of_topology;
use crate::fault::Fault;
use crate::nodes::{self, NodeRef};
use crate::settings::{self, Endpoint, Fabric, PacketFormat, Setting};
use arguments::{Spec, extents, link, link_input, links_by_dimension, pair};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Column<T> = PyOnceLock<Py<PyArray1<T>>>;

/// Chips, switches, and the directed links between them.
///
/// Immutable. Chips come first: rank r is node r, switches follow. A bandwidth is of one direction, in bytes a second
/// or as text ("256GB/s"); a latency is in picoseconds or text ("125ns") and covers the wire and the receiver's pipeline.
/// `str(topology)` describes it.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> tc.Topology.torus((4, 4), bandwidth="128GB/s", latency="200ns")
///     <Topology torus [4, 4]: 16 ranks, 16 nodes, 64 links>
#[pyclass(frozen, module = "trncomm")]
pub struct Topology {
    pub core: Arc<topology::Topology>,
    pub name: String,
    sources: Column<u32>,
    destinations: Column<u32>,
    bandwidths: Column<u64>,
    latencies: Column<u64>,
    tiers: Column<u8>,
}

impl Topology {
    fn new(core: Result<topology::Topology, trncomm_core::error::TopologyError>) -> PyResult<Self> {
        let core = core.map_err(|error| of_topology(&error))?;
        let name = core.name().to_owned();
        Ok(Self::named(Arc::new(core), name))
    }

    fn named(core: Arc<topology::Topology>, name: String) -> Self {
        Self {
            core,
            name,
            sources: PyOnceLock::new(),
            destinations: PyOnceLock::new(),
            bandwidths: PyOnceLock::new(),
            latencies: PyOnceLock::new(),
            tiers: PyOnceLock::new(),
        }
    }

    /// One that differs in a setting.
    fn changed(&self, change: impl FnOnce(topology::Topology) -> topology::Topology) -> Self {
        let core = change(topology::Topology::clone(&self.core));
        Self::named(Arc::new(core), self.name.clone())
    }
}

#[pymethods]
impl Topology {
    /// Chips in a circle, with a link each way between neighbours.
    ///
    /// Routes go the short way, and up where both ways are as long.
    ///
    /// Args:
    ///     ranks: How many chips.
    ///     bandwidth: Of each link.
    ///     latency: Of each link.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[staticmethod]
    #[pyo3(signature = (ranks, *, bandwidth, latency))]
    fn ring(ranks: Any, bandwidth: Any, latency: Any) -> PyResult<Self> {
        let spec = link("bandwidth", bandwidth, "latency", latency)?;
        Self::new(topology::Topology::ring(TOPOLOGY.count("ranks", ranks)?, spec))
    }

    /// Chips on a grid without wrap-around, with a link each way between neighbours.
    ///
    /// Routes correct the first dimension first.
    ///
    /// Args:
    ///     shape: The extents, the last one counting fastest.
    ///     bandwidth: Of each link, or of those along each dimension.
    ///     latency: Of each link, or of those along each dimension.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[staticmethod]
    #[pyo3(signature = (shape, *, bandwidth, latency))]
    fn mesh(shape: Any, bandwidth: Any, latency: Any) -> PyResult<Self> {
        let extents = extents(shape)?;
        let links = links_by_dimension(extents.len(), bandwidth, latency)?;
        Self::new(topology::Topology::mesh(&extents, &links))
    }

    /// Chips on a grid that wraps around in every dimension.
    ///
    /// Routes correct the first dimension first, going the short way round, and up where both ways are as long.
    ///
    /// Args:
    ///     shape: The extents, the last one counting fastest.
    ///     bandwidth: Of each link, or of those along each dimension.
    ///     latency: Of each link, or of those along each dimension.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[staticmethod]
    #[pyo3(signature = (shape, *, bandwidth, latency))]
    fn torus(shape: Any, bandwidth: Any, latency: Any) -> PyResult<Self> {
        let extents = extents(shape)?;
        let links = links_by_dimension(extents.len(), bandwidth, latency)?;
        Self::new(topology::Topology::torus(&extents, &links))
    }

    /// Chips with a link each way between any two.
    ///
    /// Args:
    ///     ranks: How many chips.
    ///     bandwidth: Of each link.
    ///     latency: Of each link.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[staticmethod]
    #[pyo3(signature = (ranks, *, bandwidth, latency))]
    fn fully_connected(ranks: Any, bandwidth: Any, latency: Any) -> PyResult<Self> {
        let spec = link("bandwidth", bandwidth, "latency", latency)?;
        Self::new(topology::Topology::fully_connected(
            TOPOLOGY.count("ranks", ranks)?,
            spec,
        ))
    }

    /// Chips under one switch, or under several side by side.
    ///
    /// Args:
    ///     ranks: How many chips.
    ///     planes: How many switches; each chip has a link each way to each of them.
    ///     bandwidth: Of each link.
    ///     latency: Of each link; a message passes two.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[staticmethod]
    #[pyo3(signature = (ranks, *, planes=None, bandwidth, latency))]
    #[pyo3(text_signature = "(ranks, *, planes=1, bandwidth, latency)")]
    fn switch(ranks: Any, planes: Option<Any>, bandwidth: Any, latency: Any) -> PyResult<Self> {
        let spec = link("bandwidth", bandwidth, "latency", latency)?;
        let planes = planes.map_or(Ok(1), |planes| TOPOLOGY.count("planes", planes))?;
        Self::new(topology::Topology::switch(
            TOPOLOGY.count("ranks", ranks)?,
            planes,
            spec,
        ))
    }

    /// Chips under leaf switches, each of which has a link each way to every spine switch.
    ///
    /// Traffic to rank d under another leaf takes spine d modulo the number of spines.
    ///
    /// Args:
    ///     leaves: How many leaf switches.
    ///     ranks_per_leaf: How many chips under each.
    ///     spines: How many spine switches.
    ///     bandwidth: Between chip and leaf.
    ///     latency: Between chip and leaf.
    ///     uplink_bandwidth: Between leaf and spine; as `bandwidth` if not given.
    ///     uplink_latency: Between leaf and spine; as `latency` if not given.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[staticmethod]
    #[pyo3(signature = (
        leaves, ranks_per_leaf, spines, *, bandwidth, latency, uplink_bandwidth=None, uplink_latency=None
    ))]
    fn leaf_spine(
        leaves: Any,
        ranks_per_leaf: Any,
        spines: Any,
        bandwidth: Any,
        latency: Any,
        uplink_bandwidth: Option<Any>,
        uplink_latency: Option<Any>,
    ) -> PyResult<Self> {
        let down = link("bandwidth", bandwidth, "latency", latency)?;
        let up = LinkSpec {
            bandwidth: uplink_bandwidth
                .map_or(Ok(down.bandwidth), |rate| TOPOLOGY.bandwidth("uplink_bandwidth", rate))?,
            latency: uplink_latency.map_or(Ok(down.latency), |span| TOPOLOGY.time("uplink_latency", span))?,
        };
        Self::new(topology::Topology::leaf_spine(
            TOPOLOGY.count("leaves", leaves)?,
            TOPOLOGY.count("ranks_per_leaf", ranks_per_leaf)?,
            TOPOLOGY.count("spines", spines)?,
            down,
            up,
        ))
    }

    /// The shape of a Trn3 UltraServer: a switch a server, a switch a rack, and direct links between racks.
    ///
    /// `trncomm.machines.trn3_ultraserver` fills in the published figures.
    ///
    /// Args:
    ///     racks: How many racks; chips in the same place of any two are joined directly.
    ///     servers: Servers in each rack.
    ///     chips: Chips in each server.
    ///     server_bandwidth: Between a chip and its server's switch.
    ///     server_latency: Between a chip and its server's switch.
    ///     rack_bandwidth: Between a chip and its rack's switch.
    ///     rack_latency: Between a chip and its rack's switch.
    ///     between_bandwidth: Between chips of different racks.
    ///     between_latency: Between chips of different racks.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[staticmethod]
    #[pyo3(signature = (
        racks, servers, chips, *, server_bandwidth, server_latency, rack_bandwidth, rack_latency, between_bandwidth,
        between_latency
    ))]
    #[allow(clippy::too_many_arguments)] // three kinds of links, by keyword
    fn ultraserver(
        racks: Any,
        servers: Any,
        chips: Any,
        server_bandwidth: Any,
        server_latency: Any,
        rack_bandwidth: Any,
        rack_latency: Any,
        between_bandwidth: Any,
        between_latency: Any,
    ) -> PyResult<Self> {
        Self::new(topology::Topology::ultraserver(
            TOPOLOGY.count("racks", racks)?,
            TOPOLOGY.count("servers", servers)?,
            TOPOLOGY.count("chips", chips)?,
            link("server_bandwidth", server_bandwidth, "server_latency", server_latency)?,
            link("rack_bandwidth", rack_bandwidth, "rack_latency", rack_latency)?,
            link(
                "between_bandwidth",
                between_bandwidth,
                "between_latency",
                between_latency,
            )?,
        ))
    }

    /// UltraServers in pods, on a network of leaves, spines and cores.
    ///
    /// `trncomm.machines.trn3_ultracluster` fills in the published figures. The leaf of a rack is joined to the spines of its
    /// pod, as many as a rack has chips; a spine to as many cores as a pod has racks.
    ///
    /// Args:
    ///     pods: How many pods.
    ///     ultraservers: UltraServers in each pod.
    ///     racks: Racks in each UltraServer.
    ///     servers: Servers in each rack.
    ///     chips: Chips in each server.
    ///     server: Bandwidth and latency between a chip and its server's switch.
    ///     rack: Between a chip and its rack's switch.
    ///     between: Between chips of different racks of an UltraServer.
    ///     leaf: Between a chip and the leaf of its rack.
    ///     spine: Between a leaf and each spine of its pod.
    ///     core: Between a spine and each of its cores.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> near, far = ("100GB/s", "125ns"), ("25GB/s", "6us")
    ///     >>> tc.Topology.ultracluster(
    ///     ...     2, 2, 2, 3, 4, server=near, rack=near, between=near, leaf=far, spine=far, core=far
    ///     ... )
    ///     <Topology ultracluster [2, 2, 2, 3, 4]: 96 ranks, 260 nodes, 1056 links>
    #[staticmethod]
    #[pyo3(signature = (pods, ultraservers, racks, servers, chips, *, server, rack, between, leaf, spine, core))]
    #[allow(clippy::too_many_arguments)] // six kinds of links, by keyword
    fn ultracluster(
        pods: Any,
        ultraservers: Any,
        racks: Any,
        servers: Any,
        chips: Any,
        server: Spec<'_>,
        rack: Spec<'_>,
        between: Spec<'_>,
        leaf: Spec<'_>,
        spine: Spec<'_>,
        core: Spec<'_>,
    ) -> PyResult<Self> {
        let inside = (
            TOPOLOGY.count("racks", racks)?,
            TOPOLOGY.count("servers", servers)?,
            TOPOLOGY.count("chips", chips)?,
        );
        Self::new(topology::Topology::ultracluster(
            TOPOLOGY.count("pods", pods)?,
            TOPOLOGY.count("ultraservers", ultraservers)?,
            inside,
            topology::ClusterLinks {
                server: pair(server)?,
                rack: pair(rack)?,
                between: pair(between)?,
                leaf: pair(leaf)?,
                spine: pair(spine)?,
                core: pair(core)?,
            },
        ))
    }

    /// Servers that are alike in pods, on a network of leaves, spines and cores.
    ///
    /// Chips, costs, packets and fabric are the server's. Every chip has one more link each way, to its leaf; a pod has as
    /// many spines as a leaf has chips, a spine as many cores as a pod has leaves. Routes within a server are its own; others
    /// go up to the spine and the core in the destination's place, and down.
    ///
    /// Args:
    ///     server: A ring, torus, fully connected, switch or ultraserver of one rank a chip without faults.
    ///     pods: How many pods.
    ///     servers: Servers in each pod.
    ///     racks: The racks into which a server is cut, each with a leaf of its own; 1 unless set.
    ///     rails: Instead of racks: the leaves of a pod, chip c of each of its servers being below leaf c modulo rails.
    ///     leaf: Bandwidth and latency between a chip and its leaf.
    ///     spine: Between a leaf and each spine of its pod.
    ///     core: Between a spine and each of its cores.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read, another server, racks and rails together.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> far = ("25GB/s", "6us")
    ///     >>> tc.Topology.cluster(tc.machines.trn2(), 2, 4, leaf=far, spine=far, core=far)
    ///     <Topology ultracluster [2, 4, 4, 4]: 128 ranks, 232 nodes, 1280 links>
    #[staticmethod]
    #[pyo3(signature = (server, pods, servers, *, racks=None, rails=None, leaf, spine, core))]
    #[allow(clippy::too_many_arguments)] // three kinds of links, by keyword
    fn cluster(
        server: &Self,
        pods: Any,
        servers: Any,
        racks: Option<Any>,
        rails: Option<Any>,
        leaf: Spec<'_>,
        spine: Spec<'_>,
        core: Spec<'_>,
    ) -> PyResult<Self> {
        let leaves = match (racks, rails) {
            (None, None) => Leaves::Racks(1),
            (Some(racks), None) => Leaves::Racks(TOPOLOGY.count("racks", racks)?),
            (None, Some(rails)) => Leaves::Rails(TOPOLOGY.count("rails", rails)?),
            (Some(_), Some(_)) => return Err(TOPOLOGY.raise("racks", "expected racks or rails, got both")),
        };
        Self::new(topology::Topology::cluster(
            topology::Topology::clone(&server.core),
            TOPOLOGY.count("pods", pods)?,
            TOPOLOGY.count("servers", servers)?,
            leaves,
            topology::FabricLinks {
                leaf: pair(leaf)?,
                spine: pair(spine)?,
                core: pair(core)?,
            },
        ))
    }

    /// Any network, link by link.
    ///
    /// Routes have the fewest links, through chips and switches alike.
    ///
    /// Args:
    ///     ranks: How many chips; they are nodes 0 to `ranks` - 1.
    ///     links: For each directed link its source, destination, bandwidth, latency and, if wanted, a label of its tier.
    ///     switches: How many switches; they are the nodes after the chips.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read, a node that isn't there, a link from a node to
    ///         itself, ranks without a path.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> both_ways = [(0, 1, "64GB/s", "100ns"), (1, 0, "64GB/s", "100ns")]
    ///     >>> tc.Topology.from_links(2, both_ways).route(0, 1)
    ///     [0]
    #[staticmethod]
    #[pyo3(signature = (ranks, links, *, switches=None))]
    #[pyo3(text_signature = "(ranks, links, *, switches=0)")]
    fn from_links(ranks: Any, links: Any, switches: Option<Any>) -> PyResult<Self> {
        let switches = switches.map_or(Ok(0), |switches| TOPOLOGY.count("switches", switches))?;
        let links = links
            .try_iter()?
            .enumerate()
            .map(|(index, row)| link_input(index, &row?))
            .collect::<PyResult<Vec<LinkInput>>>()?;
        Self::new(topology::Topology::from_links(
            TOPOLOGY.count("ranks", ranks)?,
            switches,
            &links,
        ))
    }

    /// The same network with several ranks on each chip: its cores, which share the chip's ports.
    ///
    /// Rank r is a core of chip r // `ranks_per_chip`, and has a link each way to it: cores of one chip are two such links
    /// apart, and what cores send to other chips passes the chip's links. Costs at the ends, memory among them, are
    /// those of a rank: where cores divide a chip's memory, set a rank's share of its rate.
    ///
    /// Args:
    ///     ranks_per_chip: How many; with 1 the network stays as it is.
    ///     bandwidth: Between a core and its chip, each way.
    ///     latency: Of that link.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read, a network that has faults or cores already.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> torus = tc.Topology.torus((4, 4), bandwidth="128GB/s", latency="200ns")
    ///     >>> torus.with_cores(4, bandwidth="736GB/s", latency=0).shape
    ///     (4, 4, 4)
    #[pyo3(signature = (ranks_per_chip, *, bandwidth, latency))]
    fn with_cores(&self, ranks_per_chip: Any, bandwidth: Any, latency: Any) -> PyResult<Self> {
        let per_chip = TOPOLOGY.count("ranks_per_chip", ranks_per_chip)?;
        let spec = link("bandwidth", bandwidth, "latency", latency)?;
        let core = topology::Topology::clone(&self.core).with_cores(per_chip, spec);
        Self::new(core).map(|cores| cores.with_name(self.name.clone()))
    }

    /// The same network with other costs at the chips that send and receive.
    ///
    /// What is not given stays as it is; None takes a cost or a limit away. All hold in every network model but the
    /// window, which loggp looks past and flow takes for a highest rate: the window for every round trip.
    ///
    /// Args:
    ///     launch: What a message costs its sender before its first byte.
    ///     completion: What it costs its receiver after its last byte.
    ///     reduction_bandwidth: The rate at which received bytes are reduced.
    ///     copy_bandwidth: The rate at which a chip copies within its memory.
    ///     queues: The most messages of a rank that are under way at once, as by its DMA queues.
    ///     memory_bandwidth: The rate of a chip's memory (HBM), reads and writes together; every message passes it at
    ///         both ends.
    ///     touches: How often a byte touches memory, (read to send, write on receipt, more where it is reduced);
    ///         (1, 1, 1) unless set.
    ///     window: The most bytes of a message that are sent and not yet delivered.
    ///     jitter: The longest that chance adds to a launch, drawn anew for every message.
    ///     seed: What the draws of jitter begin with; 0 unless set.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read; touches without a memory.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
    ///     >>> charged = ring.with_endpoint(launch="1.3us", memory_bandwidth="4.9TB/s")
    ///     >>> charged.with_endpoint(memory_bandwidth=None).endpoint
    ///     <Endpoint: launch 1.3 µs, completion 0 ps>
    #[pyo3(signature = (
        *, launch=Setting::Kept, completion=Setting::Kept, reduction_bandwidth=Setting::Kept,
        copy_bandwidth=Setting::Kept, queues=Setting::Kept, memory_bandwidth=Setting::Kept, touches=Setting::Kept,
        window=Setting::Kept, jitter=Setting::Kept, seed=Setting::Kept
    ))]
    #[allow(clippy::too_many_arguments)] // one for each property, by keyword
    fn with_endpoint(
        &self,
        launch: Setting<'_>,
        completion: Setting<'_>,
        reduction_bandwidth: Setting<'_>,
        copy_bandwidth: Setting<'_>,
        queues: Setting<'_>,
        memory_bandwidth: Setting<'_>,
        touches: Setting<'_>,
        window: Setting<'_>,
        jitter: Setting<'_>,
        seed: Setting<'_>,
    ) -> PyResult<Self> {
        let was = self.core.endpoint();
        let time = |name| move |value: Any| TOPOLOGY.time(name, value);
        let rate = |name| move |value: Any| TOPOLOGY.bandwidth(name, value);
        let names_touches = matches!(touches, Setting::Given(_));

        let launch = launch.over(was.launch(), Time::ZERO, time("launch"))?;
        let completion = completion.over(was.completion(), Time::ZERO, time("completion"))?;
        let jitter = jitter.over(was.most_jitter(), Time::ZERO, time("jitter"))?;
        let seed = seed.over(was.seed(), 0, |value| TOPOLOGY.number("seed", value))?;
        let mut endpoint = topology::Endpoint::free()
            .with_launch(launch)
            .with_completion(completion)
            .with_jitter(jitter, seed);
        if let Some(rate) = reduction_bandwidth.over_option(was.reduction(), rate("reduction_bandwidth"))? {
            endpoint = endpoint.with_reduction(rate);
        }
        if let Some(rate) = copy_bandwidth.over_option(was.copy(), rate("copy_bandwidth"))? {
            endpoint = endpoint.with_copy(rate);
        }
        if let Some(queues) = queues.over_option(was.queues(), settings::queues)? {
            endpoint = endpoint.with_queues(queues);
        }
        let touches = touches.over(was.touches(), Touches::ONE_EACH, settings::touches)?;
        match memory_bandwidth.over_option(was.memory(), rate("memory_bandwidth"))? {
            Some(rate) => endpoint = endpoint.with_memory(rate, touches),
            None if names_touches => {
                return Err(TOPOLOGY.raise("touches", "expected a memory_bandwidth with it, got none"));
            }
            None => {}
        }
        if let Some(window) = window.over_option(was.window(), |value| TOPOLOGY.size("window", value))? {
            endpoint = endpoint.with_window(window);
        }
        Ok(self.changed(|core| core.with_endpoint(endpoint)))
    }

    /// The same network with another format of packets.
    ///
    /// What is not given stays as it is; None sets it back to what it is unless set.
    ///
    /// Args:
    ///     payload: The most bytes of a message in one packet; 4096 unless set.
    ///     header: The bytes that each packet adds on the wire; 0 unless set.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[pyo3(signature = (*, payload=Setting::Kept, header=Setting::Kept))]
    fn with_packets(&self, payload: Setting<'_>, header: Setting<'_>) -> PyResult<Self> {
        let (was, unset) = (self.core.packet_format(), topology::PacketFormat::default());
        let format = topology::PacketFormat::new(
            payload.over(was.payload(), unset.payload(), |value| TOPOLOGY.size("payload", value))?,
            header.over(was.header(), unset.header(), |value| TOPOLOGY.size("header", value))?,
        )
        .map_err(|error| of_topology(&error))?;
        Ok(self.changed(|core| core.with_packet_format(format)))
    }

    /// The same network whose nodes hold, order and steer packets in another way; for the packet model alone.
    ///
    /// What is not given stays as it is; None sets it back to what it is unless set.
    ///
    /// Args:
    ///     buffer: The bytes that fit the end of every link, for each virtual channel: a packet leaves only if there is
    ///         room for all of it. Unlimited unless set.
    ///     virtual_channels: How many each link has, 1 unless set; packets of different ones don't wait for one
    ///         another's buffers. A ring or torus needs 2 to be free of deadlock.
    ///     arbitration: Which of the packets that wait for a link goes first: the one that came first ("first-come",
    ///         unless set), or that of the next input in turn ("round-robin").
    ///     queueing: What a packet waits behind: those for the same output ("virtual-output", unless set), or all
    ///         that came by the same input ("input").
    ///     forwarding: When a node begins to send a packet on: when all of it has come in ("store-and-forward", unless
    ///         set), or when its header has ("cut-through").
    ///     policy: Which of several links that are as good a packet takes: that of the fixed route ("fixed", unless
    ///         set), the one that a hash of its message picks ("flow-hash"), each in turn ("spray"), or the one with
    ///         the shortest queue ("adaptive").
    ///     seed: What the hash of "flow-hash" begins with, 0 unless set; other policies have none.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> star = tc.Topology.switch(8, bandwidth="64GB/s", latency="500ns")
    ///     >>> star.with_fabric(buffer="64KiB", arbitration="round-robin").fabric
    ///     <Fabric: buffer 64 KiB, 1 virtual channel, round-robin, virtual-output, store-and-forward, fixed>
    #[pyo3(signature = (
        *, buffer=Setting::Kept, virtual_channels=Setting::Kept, arbitration=Setting::Kept, queueing=Setting::Kept,
        forwarding=Setting::Kept, policy=Setting::Kept, seed=Setting::Kept
    ))]
    #[allow(clippy::too_many_arguments)] // one for each property, by keyword
    fn with_fabric(
        &self,
        buffer: Setting<'_>,
        virtual_channels: Setting<'_>,
        arbitration: Setting<'_>,
        queueing: Setting<'_>,
        forwarding: Setting<'_>,
        policy: Setting<'_>,
        seed: Setting<'_>,
    ) -> PyResult<Self> {
        let (was, unset) = (*self.core.fabric(), topology::Fabric::default());
        let channels = NonZeroU8::new(was.virtual_channels()).expect("a fabric has at least 1");
        let seed = seed.over(settings::seed_of(was.policy()), 0, |value| {
            TOPOLOGY.number("seed", value)
        })?;
        let mut fabric = unset
            .with_virtual_channels(virtual_channels.over(channels, NonZeroU8::MIN, settings::virtual_channels)?)
            .with_arbitration(arbitration.over(was.arbitration(), unset.arbitration(), settings::arbitration)?)
            .with_queueing(queueing.over(was.queueing(), unset.queueing(), settings::queueing)?)
            .with_forwarding(forwarding.over(was.forwarding(), unset.forwarding(), settings::forwarding)?)
            .with_policy(settings::seeded(
                policy.over(was.policy(), unset.policy(), settings::policy)?,
                seed,
            ));
        if let Some(buffer) = buffer.over_option(was.buffer(), |value| TOPOLOGY.size("buffer", value))? {
            fabric = fabric.with_buffer(buffer);
        }
        Ok(self.changed(|core| core.with_fabric(fabric)))
    }

    /// The same network with faults, besides those that it has.
    ///
    /// Nodes and links keep their numbers, so that results compare column by column.
    ///
    /// Args:
    ///     faults: What is wrong, as made by `link_down`, `link_slow`, `link_errors`, `node_down`, `late` and `slow`.
    ///
    /// Raises:
    ///     TopologyError: A link, node or rank that isn't there, a value out of range, a chip that is to be down, a second
    ///         fault of one kind on one link or rank, or two ranks that no path joins any more.
    ///
    /// Examples:
    ///     >>> import trncomm as tc
    ///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
    ///     >>> ring.with_faults([tc.link_down((0, 1), both=True), tc.late(2, by="1us")]).faults
    ///     (link_down(0), link_down(1), late(2, by='1 µs'))
    fn with_faults(&self, faults: Any) -> PyResult<Self> {
        let mut found = Vec::new();
        for fault in faults.try_iter()? {
            found.extend(fault?.cast::<Fault>()?.get().on(&self.core)?);
        }
        let core = self.core.with_faults(&found).map_err(|error| of_topology(&error))?;
        Ok(Self::named(Arc::new(core), self.name.clone()))
    }

    /// The same network under another name.
    ///
    /// Args:
    ///     name: What tables and results call it.
    fn with_name(&self, name: String) -> Self {
        Self::named(Arc::clone(&self.core), name)
    }

    /// Write it to a machine file, which `trncomm.machines.read` reads back as it is.
    ///
    /// Args:
    ///     path: The file, YAML; one that exists is replaced.
    ///
    /// Raises:
    ///     OSError: It can't be written.
    #[allow(clippy::needless_pass_by_value)] // as pyo3 hands it over
    fn write(slf: Bound<'_, Self>, path: Any) -> PyResult<()> {
        let files = slf.py().import("trncomm.machines")?;
        files.call_method1("write", (&slf, path)).map(drop)
    }

    /// The network of a NetworkX graph.
    ///
    /// Args:
    ///     graph: Nodes are ranks in the graph's order, but for those with a true attribute "switch". An edge's attributes
    ///         "bandwidth" and "latency" are those of its link, or of both links of an undirected edge; "tier" labels it.
    ///     bandwidth: For edges without one.
    ///     latency: For edges without one.
    ///
    /// Raises:
    ///     TopologyError: No ranks, an edge without a rate or a latency, values out of range, ranks without a path.
    #[staticmethod]
    #[pyo3(signature = (graph, *, bandwidth=None, latency=None))]
    fn from_networkx<'py>(
        graph: Any<'_, 'py>,
        bandwidth: Option<Any<'_, 'py>>,
        latency: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let graphs = graph.py().import("trncomm.machines.graphs")?;
        graphs.call_method1("from_networkx", (graph, bandwidth, latency))
    }

    /// The network as a `networkx.MultiDiGraph`, which `from_networkx` reads back.
    ///
    /// Nodes are numbers, those of switches with the attribute "switch"; edges are links with their number as key, and
    /// "bandwidth" in bytes a second, "latency" in picoseconds and "tier".
    ///
    /// Raises:
    ///     ModuleNotFoundError: NetworkX isn't installed.
    #[allow(clippy::needless_pass_by_value)] // as pyo3 hands it over
    fn to_networkx(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let graphs = slf.py().import("trncomm.machines.graphs")?;
        graphs.call_method1("to_networkx", (&slf,))
    }

    /// The links that traffic from one rank to another passes, in order.
    ///
    /// Args:
    ///     source: The rank that sends.
    ///     destination: The rank that receives.
    ///
    /// Raises:
    ///     TopologyError: No such rank.
    fn route(&self, source: Any, destination: Any) -> PyResult<Vec<u32>> {
        let mut path = Vec::new();
        self.core
            .route(
                TOPOLOGY.rank("source", source)?,
                TOPOLOGY.rank("destination", destination)?,
                &mut path,
            )
            .map_err(|error| of_topology(&error))?;
        Ok(path.into_iter().map(LinkId::get).collect())
    }

    /// What people call a node: "chip 5" or "switch 144".
    ///
    /// Args:
    ///     node: Its number, or that name itself.
    ///
    /// Raises:
    ///     TopologyError: No such node.
    fn node_name(&self, node: Any) -> PyResult<String> {
        let node = NodeRef::read("node", node)?.of(&self.core)?;
        Ok(nodes::node_name(&self.core, node))
    }

    /// What a message costs at the chips that send and receive it.
    #[getter]
    fn endpoint(&self) -> Endpoint {
        Endpoint {
            core: *self.core.endpoint(),
        }
    }

    /// How a message is cut into packets.
    #[getter]
    fn packets(&self) -> PacketFormat {
        PacketFormat {
            core: self.core.packet_format(),
        }
    }

    /// How nodes hold, order and steer packets.
    #[getter]
    fn fabric(&self) -> Fabric {
        Fabric {
            core: *self.core.fabric(),
        }
    }

    /// What is wrong with it, in the order given; links that were named by their ends come by their numbers.
    #[getter]
    fn faults<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(
            py,
            self.core.faults().iter().copied().map(Fault::from).collect::<Vec<_>>(),
        )
    }

    /// What tables and results call it.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The shape that it was built as: the name of the constructor, "ultracluster" for all clusters, "custom" for links.
    #[getter]
    fn family(&self) -> &'static str {
        self.core.family().name()
    }

    /// How many ranks run on each chip.
    #[getter]
    fn ranks_per_chip(&self) -> usize {
        self.core.ranks_per_chip()
    }

    /// What a cluster is made of; None for other shapes.
    #[getter]
    fn server(&self) -> Option<Self> {
        let (server, _) = self.core.server()?;
        Some(Self::named(Arc::new(server.clone()), server.name().to_owned()))
    }

    /// The racks into which each server of a cluster is cut; None on rails, and for other shapes.
    #[getter]
    fn racks(&self) -> Option<usize> {
        match self.core.server()? {
            (_, Leaves::Racks(racks)) => Some(racks),
            (_, Leaves::Rails(_)) => None,
        }
    }

    /// The rails of a cluster's pod; None without, and for other shapes.
    #[getter]
    fn rails(&self) -> Option<usize> {
        match self.core.server()? {
            (_, Leaves::Rails(rails)) => Some(rails),
            (_, Leaves::Racks(_)) => None,
        }
    }

    /// The number of ranks: chips, or their cores where each has several.
    #[getter]
    fn ranks(&self) -> usize {
        self.core.ranks()
    }

    /// The number of chips and switches.
    #[getter]
    fn nodes(&self) -> usize {
        self.core.nodes()
    }

    /// The number of directed links.
    #[getter]
    fn links(&self) -> usize {
        self.core.links()
    }

    /// The logical extents of the ranks, the last one counting fastest.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.shape())
    }

    /// The labels of the tiers that links belong to.
    #[getter]
    fn tiers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.tiers())
    }

    /// The node that each link leaves.
    #[getter]
    fn link_source(&self, py: Python<'_>) -> Py<PyArray1<u32>> {
        let make = || column(py, self.core.sources().iter().copied().map(NodeId::get).collect());
        self.sources.get_or_init(py, make).clone_ref(py)
    }

    /// The node that each link reaches.
    #[getter]
    fn link_destination(&self, py: Python<'_>) -> Py<PyArray1<u32>> {
        let make = || column(py, self.core.destinations().iter().copied().map(NodeId::get).collect());
        self.destinations.get_or_init(py, make).clone_ref(py)
    }

    /// The rate of each link, in bytes a second.
    #[getter]
    fn link_bandwidth(&self, py: Python<'_>) -> Py<PyArray1<u64>> {
        let rates = self.core.bandwidths().iter().copied();
        let make = || column(py, rates.map(Bandwidth::bytes_per_second).collect());
        self.bandwidths.get_or_init(py, make).clone_ref(py)
    }

    /// The rate that each link would have without faults, in bytes a second.
    #[getter]
    fn link_whole_bandwidth<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let rates = (0..self.core.links()).map(|link| self.core.whole_bandwidth(LinkId::new(link)));
        column(py, rates.map(Bandwidth::bytes_per_second).collect()).into_bound(py)
    }

    /// The latency of each link, in picoseconds.
    #[getter]
    fn link_latency_ps(&self, py: Python<'_>) -> Py<PyArray1<u64>> {
        let make = || {
            column(
                py,
                self.core.latencies().iter().copied().map(Time::picoseconds).collect(),
            )
        };
        self.latencies.get_or_init(py, make).clone_ref(py)
    }

    /// The tier of each link, an index into `tiers`.
    #[getter]
    fn link_tier(&self, py: Python<'_>) -> Py<PyArray1<u8>> {
        let make = || column(py, self.core.link_tiers().to_vec());
        self.tiers.get_or_init(py, make).clone_ref(py)
    }

    fn __repr__(&self) -> String {
        let core = &self.core;
        let (shape, ranks, nodes, links) = (core.shape(), core.ranks(), core.nodes(), core.links());
        format!(
            "<Topology {} {shape:?}: {ranks} ranks, {nodes} nodes, {links} links>",
            self.name
        )
    }

    fn __str__(&self) -> String {
        describe::describe(&self.core, &self.name)
    }
}
