"""Topologies from NetworkX graphs, and graphs from topologies; what `Topology.from_networkx` and `to_networkx` call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trncomm import _core
from trncomm.errors import TopologyError

if TYPE_CHECKING:
    from networkx import Graph, MultiDiGraph

__all__ = ["from_networkx", "to_networkx"]


def from_networkx(graph: Graph[Any], bandwidth: int | str | None, latency: int | str | None) -> _core.Topology:
    """See `Topology.from_networkx`.

    Examples:
        >>> import networkx, trncomm as tc
        >>> tc.Topology.from_networkx(networkx.petersen_graph(), bandwidth="64GB/s", latency="500ns")
        <Topology custom [10]: 10 ranks, 10 nodes, 30 links>
    """
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise TopologyError(f"graph must be a NetworkX graph, got {graph!r}")
    ranks = [node for node, is_switch in graph.nodes(data="switch") if not is_switch]
    switches = [node for node, is_switch in graph.nodes(data="switch") if is_switch]
    numbers = {node: number for number, node in enumerate([*ranks, *switches])}
    rows: list[tuple[int, int, Any, Any, str]] = []
    order: list[object] = []
    for source, destination, data in graph.edges(data=True):
        speed, span = data.get("bandwidth", bandwidth), data.get("latency", latency)
        for name, value in (("bandwidth", speed), ("latency", span)):
            if value is None:
                raise TopologyError(
                    f"the edge from {source!r} to {destination!r} has no {name}, and none is given for all"
                )
        tier = str(data.get("tier", "link"))
        rows.append((numbers[source], numbers[destination], speed, span, tier))
        order.append(data.get("link"))
        if not graph.is_directed():
            rows.append((numbers[destination], numbers[source], speed, span, tier))
    # Edges of a graph come by their nodes; those that were links know their place.
    if len(order) == len(rows) and all(isinstance(place, int) for place in order):
        rows = [rows[index] for index in sorted(range(len(rows)), key=lambda index: order[index])]  # type: ignore[arg-type,return-value]
    return _core.Topology.from_links(len(ranks), rows, switches=len(switches))


def to_networkx(topology: _core.Topology) -> MultiDiGraph[int]:
    """See `Topology.to_networkx`."""
    try:
        from networkx import MultiDiGraph  # noqa: PLC0415 -- an optional package
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "NetworkX is not installed: pip install 'trncomm[networkx]'", name="networkx"
        ) from None
    graph: MultiDiGraph[int] = MultiDiGraph(name=topology.name)
    graph.add_nodes_from(range(topology.ranks), switch=False)
    graph.add_nodes_from(range(topology.ranks, topology.nodes), switch=True)
    columns = (
        topology.link_source.tolist(),
        topology.link_destination.tolist(),
        topology.link_whole_bandwidth.tolist(),
        topology.link_latency_ps.tolist(),
        topology.link_tier.tolist(),
    )
    for link, (source, destination, bandwidth, latency, tier) in enumerate(zip(*columns, strict=True)):
        label = topology.tiers[tier]
        graph.add_edge(source, destination, link, link=link, bandwidth=bandwidth, latency=latency, tier=label)
    return graph
