"""Machines of other makers and textbook networks, to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trncomm import _core
from trncomm.errors import TopologyError
from trncomm.machines.figures import Figure, Machine, count, counts, quantity, rate
from trncomm.machines.settings import settings

if TYPE_CHECKING:
    from trncomm.machines.figures import Values

__all__ = ["MACHINES"]

_LIKE_TRN3: Final = Figure("launch", 1300, "ns", "assumed", "as a Trainium DMA's, so that networks are what differs")
_TPU: Final = "Jouppi et al., TPU v4, ISCA 2023"
_NVIDIA: Final = "NVIDIA, GB200 NVL72 data sheet"
_INSIDE: Final = "not public; the simplest is taken"
_TEXTBOOK: Final = "a textbook network; the simplest is taken"
_RATE: Final = Figure("bandwidth", 50, "GB/s", "assumed", "a port of 400 Gb/s")
_LATENCY: Final = Figure("latency", 250, "ns", "assumed", "a switch with its wires")


def _torus(values: Values) -> _core.Topology:
    shape = counts("shape", values["shape"])
    return _core.Topology.torus(shape, bandwidth=rate(values, "bandwidth"), latency=quantity(values, "latency"))


def _planes(values: Values) -> _core.Topology:
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


def _dragonfly(values: Values) -> _core.Topology:
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


def _fat_tree(values: Values) -> _core.Topology:
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


MACHINES: Final = (
    Machine(
        name="tpu-v4-pod",
        summary="chips in a 3D torus, as in a TPU v4 pod: 512 of them",
        profiles={
            "default": (
                Figure("shape", (8, 8, 8), "", "published", f"{_TPU}: tori of 4 by 4 by 4 blocks, up to 4,096 chips"),
                Figure("bandwidth", 50, "GB/s", "published", f"{_TPU}, table 4: 6 links of 50 GB/s a chip"),
                Figure("latency", 200, "ns", "assumed", "not public; as a hop on a Trainium torus"),
                *settings(_LIKE_TRN3, fabric=_INSIDE),
            )
        },
        construct=_torus,
    ),
    Machine(
        name="nvlink-72",
        summary="72 chips under one level of NVLink switches, as in a GB200 NVL72",
        profiles={
            "default": (
                Figure("ranks", 72, "", "published", f"{_NVIDIA}: 72 GPUs in one NVLink domain"),
                Figure("planes", 18, "", "published", f"{_NVIDIA}: 18 NVLinks a GPU, one to each switch chip"),
                Figure("bandwidth", 50, "GB/s", "derived", f"{_NVIDIA}: 1.8 TB/s a GPU, both ways of 18 links"),
                Figure("latency", 250, "ns", "assumed", "not public; as for a Trainium switch"),
                *settings(
                    _LIKE_TRN3,
                    Figure("policy", "spray", "", "assumed", "messages use all 18 links of a chip"),
                    fabric=_INSIDE,
                ),
            )
        },
        construct=_planes,
    ),
    Machine(
        name="dragonfly",
        summary="groups of routers, every two groups joined: 72 chips in 9 groups of 4 routers",
        profiles={
            "default": (
                Figure("chips", 2, "", "assumed", "chips a router; balanced as Kim et al., ISCA 2008, section 3.1"),
                Figure("routers", 4, "", "assumed", "routers a group, all joined; twice the chips a router"),
                Figure("global_links", 2, "", "assumed", "cables of a router to other groups; as its chips"),
                _RATE,
                _LATENCY,
                *settings(_LIKE_TRN3, fabric=_TEXTBOOK),
            )
        },
        construct=_dragonfly,
    ),
    Machine(
        name="fat-tree",
        summary="three levels of equal switches without oversubscription: 128 chips on switches of 8 ports",
        profiles={
            "default": (
                Figure("ports", 8, "", "assumed", "ports a switch; ports³/4 chips (Al-Fares et al., SIGCOMM 2008)"),
                _RATE,
                _LATENCY,
                *settings(
                    _LIKE_TRN3,
                    Figure("policy", "spray", "", "assumed", "so that the network is as good as without blocking"),
                    fabric=_TEXTBOOK,
                ),
            )
        },
        construct=_fat_tree,
    ),
)
