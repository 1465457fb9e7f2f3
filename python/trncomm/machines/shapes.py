"""What builds the links of machines from their figures, a function for each shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trncomm import _core
from trncomm.errors import TopologyError
from trncomm.machines.figures import count, counts, quantity, rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from trncomm.machines.figures import Values

__all__ = ["cluster", "dragonfly", "fat_tree", "planes", "torus", "torus_of_instances", "ultraserver"]


def torus(values: Values) -> _core.Topology:
    """A torus of links that are alike."""
    shape = counts("shape", values["shape"])
    return _core.Topology.torus(shape, bandwidth=rate(values, "bandwidth"), latency=quantity(values, "latency"))


def torus_of_instances(values: Values) -> _core.Topology:
    """Instances that are tori, equal places of them joined in rings by links of their own."""
    shape = counts("shape", values["shape"])
    instances = count("instances", values["instances"])
    inside, between = rate(values, "bandwidth"), rate(values, "between_bandwidth")
    latencies = [quantity(values, "between_latency"), *[quantity(values, "latency")] * len(shape)]
    return _core.Topology.torus([instances, *shape], bandwidth=[between, *[inside] * len(shape)], latency=latencies)


def ultraserver(values: Values) -> _core.Topology:
    """Racks of servers of chips, a switch for each server and each rack."""
    return _core.Topology.ultraserver(
        count("racks", values["racks"]),
        count("servers", values["servers"]),
        count("chips", values["chips"]),
        server_bandwidth=rate(values, "server_bandwidth"),
        server_latency=quantity(values, "server_latency"),
        rack_bandwidth=rate(values, "rack_bandwidth"),
        rack_latency=quantity(values, "rack_latency"),
        between_bandwidth=rate(values, "between_bandwidth"),
        between_latency=quantity(values, "between_latency"),
    )


def cluster(of: Callable[[Values], _core.Topology], number: str) -> Callable[[Values], _core.Topology]:
    """What builds pods of servers, on a network of leaves, spines and cores.

    Args:
        of: Builds a server from the same figures.
        number: The figure that says how many servers there are.
    """

    def construct(values: Values) -> _core.Topology:
        servers = count(number, values[number])
        if servers < 1:
            raise TopologyError(f"{number} must be at least 1, got {servers}")
        told = values["pod"]
        each = max(d for d in range(1, 17) if servers % d == 0) if told is None else count("pod", told)
        if each < 1 or servers % each:
            raise TopologyError(f"pod must be a number that divides {servers} {number}, got {each}")
        oversubscription = count("oversubscription", values["oversubscription"])
        if oversubscription < 1:
            raise TopologyError(f"oversubscription must be at least 1, got {oversubscription}")
        speed = _core.parse_bandwidth(rate(values, "fabric_bandwidth"))
        upper = max(speed // oversubscription, 1), quantity(values, "switch_latency")
        rails = values["rails"]
        return _core.Topology.cluster(
            of(values),
            servers // each,
            each,
            # Machines of switches have a leaf a rack; tori have no racks.
            racks=count("racks", values.get("racks", 1)) if rails is None else None,
            rails=None if rails is None else count("rails", rails),
            leaf=(speed, quantity(values, "fabric_latency")),
            spine=upper,
            core=upper,
        )

    return construct


def planes(values: Values) -> _core.Topology:
    """Chips under one level of switches, each joined to all of them."""
    return _core.Topology.switch(
        count("ranks", values["ranks"]),
        planes=count("planes", values["planes"]),
        bandwidth=rate(values, "bandwidth"),
        latency=quantity(values, "latency"),
    )


def _cables(ranks: int, switches: int, pairs: list[tuple[int, int, str]], values: Values) -> _core.Topology:
    """A network of cables that are alike, each a link each way."""
    speed, latency = rate(values, "bandwidth"), quantity(values, "latency")
    ways = [(a, b, speed, latency, tier) for one, other, tier in pairs for a, b in ((one, other), (other, one))]
    return _core.Topology.from_links(ranks, ways, switches=switches)


def dragonfly(values: Values) -> _core.Topology:
    """Groups of routers that are all joined, every two groups by one cable (Kim et al., ISCA 2008, section 3)."""
    chips, routers, cables = (count(name, values[name]) for name in ("chips", "routers", "global_links"))
    for name, value in (("chips", chips), ("routers", routers), ("global_links", cables)):
        if value < 1:
            raise TopologyError(f"{name} must be at least 1, got {value}")
    groups = routers * cables + 1
    ranks = groups * routers * chips

    def router(group: int, number: int) -> int:
        return ranks + group * routers + number

    pairs = [(rank, ranks + rank // chips, "router") for rank in range(ranks)]
    for group in range(groups):
        pairs += [
            (router(group, one), router(group, other), "group")
            for one in range(routers)
            for other in range(one + 1, routers)
        ]
        # The port towards the group d further is d - 1, and each router has `cables` of them.
        for ahead in range(1, groups - group):
            there = group + ahead
            back = groups - ahead
            pairs.append((router(group, (ahead - 1) // cables), router(there, (back - 1) // cables), "global"))
    return _cables(ranks, groups * routers, pairs, values)


def fat_tree(values: Values) -> _core.Topology:
    """Three levels of switches of `ports` ports each (Al-Fares et al., SIGCOMM 2008, section 3)."""
    ports = count("ports", values["ports"])
    if ports < 2 or ports % 2:
        raise TopologyError(f"ports must be even and at least 2, got {ports}")
    half = ports // 2
    ranks = ports * half * half
    edges = ranks
    middle = edges + ports * half
    core = middle + ports * half
    pairs = [(rank, edges + rank // half, "edge") for rank in range(ranks)]
    for pod in range(ports):
        for one in range(half):
            pairs += [(edges + pod * half + one, middle + pod * half + other, "pod") for other in range(half)]
            pairs += [(middle + pod * half + one, core + one * half + other, "core") for other in range(half)]
    return _cables(ranks, 2 * ports * half + half * half, pairs, values)
