//! Topologies: a constructor for each shape, and their columns.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyString, PyTuple};
use trncomm_core::ids::{LinkId, NodeId};
use trncomm_core::topology::{self, Endpoint, LinkInput, LinkSpec, PacketFormat};
use trncomm_core::units::{Bandwidth, Time};

use crate::column::column;
use crate::convert::TOPOLOGY;
use crate::errors::of_topology;

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

    /// The same network with other costs at the chips that send and receive.
    ///
    /// Args:
    ///     launch: What a message costs its sender before its first byte.
    ///     completion: What it costs its receiver after its last byte.
    ///     reduction_bandwidth: The rate at which received bytes are reduced; no time if not given.
    ///     copy_bandwidth: The rate at which a chip copies within its memory; no time if not given.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[pyo3(signature = (*, launch=None, completion=None, reduction_bandwidth=None, copy_bandwidth=None))]
    #[pyo3(text_signature = "($self, *, launch=0, completion=0, reduction_bandwidth=None, copy_bandwidth=None)")]
    fn with_endpoint(
        &self,
        launch: Option<Any>,
        completion: Option<Any>,
        reduction_bandwidth: Option<Any>,
        copy_bandwidth: Option<Any>,
    ) -> PyResult<Self> {
        let mut endpoint = Endpoint::free();
        if let Some(launch) = launch {
            endpoint = endpoint.with_launch(TOPOLOGY.time("launch", launch)?);
        }
        if let Some(completion) = completion {
            endpoint = endpoint.with_completion(TOPOLOGY.time("completion", completion)?);
        }
        if let Some(rate) = reduction_bandwidth {
            endpoint = endpoint.with_reduction(TOPOLOGY.bandwidth("reduction_bandwidth", rate)?);
        }
        if let Some(rate) = copy_bandwidth {
            endpoint = endpoint.with_copy(TOPOLOGY.bandwidth("copy_bandwidth", rate)?);
        }
        let core = topology::Topology::clone(&self.core).with_endpoint(endpoint);
        Ok(Self::named(Arc::new(core), self.name.clone()))
    }

    /// The same network with another format of packets.
    ///
    /// Args:
    ///     payload: The most bytes of a message in one packet.
    ///     header: The bytes that each packet adds on the wire.
    ///
    /// Raises:
    ///     TopologyError: A value that is out of range or can't be read.
    #[pyo3(signature = (*, payload, header))]
    fn with_packets(&self, payload: Any, header: Any) -> PyResult<Self> {
        let format = PacketFormat::new(TOPOLOGY.size("payload", payload)?, TOPOLOGY.size("header", header)?)
            .map_err(|error| of_topology(&error))?;
        let core = topology::Topology::clone(&self.core).with_packet_format(format);
        Ok(Self::named(Arc::new(core), self.name.clone()))
    }

    /// The same network under another name.
    ///
    /// Args:
    ///     name: What tables and results call it.
    fn with_name(&self, name: String) -> Self {
        Self::named(Arc::clone(&self.core), name)
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

    /// What tables and results call it.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The number of chips.
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
        let core = &self.core;
        let mut lines = vec![format!(
            "{}: {} ranks {:?}, {} switches, {} directed links",
            self.name,
            core.ranks(),
            core.shape(),
            core.nodes() - core.ranks(),
            core.links()
        )];
        for (index, label) in core.tiers().iter().enumerate() {
            lines.push(tier_line(core, index, label));
        }
        let endpoint = core.endpoint();
        let rate = |rate: Option<Bandwidth>| rate.map_or("not charged".to_owned(), |rate| rate.to_string());
        lines.push(format!(
            "  a message costs {} to launch and {} to complete; reduction {}, local copy {}",
            endpoint.launch(),
            endpoint.completion(),
            rate(endpoint.reduction()),
            rate(endpoint.copy())
        ));
        let packets = core.packet_format();
        lines.push(format!(
            "  packets of {} with a header of {}",
            packets.payload(),
            packets.header()
        ));
        lines.join("\n")
    }
}

/// How many links a tier has, and their rates and latencies.
fn tier_line(core: &topology::Topology, index: usize, label: &str) -> String {
    let of_tier = || (0..core.links()).filter(|&link| usize::from(core.link_tiers()[link]) == index);
    let range = |least: String, most: String| {
        if least == most {
            least
        } else {
            format!("{least} to {most}")
        }
    };
    let rates = || of_tier().map(|link| core.bandwidths()[link]);
    let spans = || of_tier().map(|link| core.latencies()[link]);
    match (rates().min(), rates().max(), spans().min(), spans().max()) {
        (Some(slowest), Some(fastest), Some(nearest), Some(farthest)) => format!(
            "  {label}: {} links of {} and {}",
            of_tier().count(),
            range(slowest.to_string(), fastest.to_string()),
            range(nearest.to_string(), farthest.to_string())
        ),
        _ => format!("  {label}: no links"),
    }
}

fn link(bandwidth_name: &str, bandwidth: Any, latency_name: &str, latency: Any) -> PyResult<LinkSpec> {
    Ok(LinkSpec {
        bandwidth: TOPOLOGY.bandwidth(bandwidth_name, bandwidth)?,
        latency: TOPOLOGY.time(latency_name, latency)?,
    })
}

fn extents(shape: Any) -> PyResult<Vec<usize>> {
    shape
        .try_iter()?
        .map(|extent| TOPOLOGY.count("shape", &extent?))
        .collect()
}

/// One link for each dimension, from a value for all or from a sequence.
fn links_by_dimension(dimensions: usize, bandwidth: Any, latency: Any) -> PyResult<Vec<LinkSpec>> {
    let bandwidths = spread("bandwidth", bandwidth, dimensions)?;
    let latencies = spread("latency", latency, dimensions)?;
    bandwidths
        .iter()
        .zip(&latencies)
        .map(|(bandwidth, latency)| link("bandwidth", bandwidth, "latency", latency))
        .collect()
}

fn spread<'py>(name: &str, value: Any<'_, 'py>, dimensions: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let is_one = value.is_instance_of::<PyString>() || value.is_instance_of::<PyInt>() || value.try_iter().is_err();
    if is_one {
        return Ok(vec![value.clone(); dimensions]);
    }
    let values = value.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    if values.len() == dimensions {
        Ok(values)
    } else {
        Err(TOPOLOGY.raise(
            name,
            format!(
                "expected one value, or one for each of {dimensions} dimensions, got {}",
                values.len()
            ),
        ))
    }
}

fn link_input(index: usize, row: Any) -> PyResult<LinkInput> {
    let fields = row.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let (source, destination, bandwidth, latency, tier) = match fields.as_slice() {
        [source, destination, bandwidth, latency] => (source, destination, bandwidth, latency, None),
        [source, destination, bandwidth, latency, tier] => (source, destination, bandwidth, latency, Some(tier)),
        _ => {
            let got = fields.len();
            return Err(TOPOLOGY.raise(
                &format!("link {index}"),
                format!("expected (source, destination, bandwidth, latency) and perhaps a tier, got {got} values"),
            ));
        }
    };
    let name = |field: &str| format!("{field} of link {index}");
    Ok(LinkInput {
        source: TOPOLOGY.number(&name("source"), source)?,
        destination: TOPOLOGY.number(&name("destination"), destination)?,
        bandwidth: TOPOLOGY.bandwidth(&name("bandwidth"), bandwidth)?.bytes_per_second(),
        latency: TOPOLOGY.time(&name("latency"), latency)?.picoseconds(),
        tier: tier.map_or(Ok("link".to_owned()), PyAnyMethods::extract)?,
    })
}
