"""The figures that every machine has: costs at its chips, its packets, and how its switches treat them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, cast

from trncomm import _core
from trncomm.errors import TopologyError
from trncomm.machines.figures import Figure, count, counts, optional, quantity

if TYPE_CHECKING:
    from trncomm.machines.figures import Value, Values
    from trncomm.quantities import Duration, Rate, Size

__all__ = ["Settings", "dress", "settings"]


class Settings(TypedDict, total=False):
    """Keywords of every machine; what isn't given is as `figures(name)` lists it."""

    link_efficiency: int
    """The share of a link's rate that messages get, in percent."""
    launch: Duration
    """What a message costs its sender before its first byte."""
    completion: Duration
    """What a message costs its receiver after its last byte."""
    reduction_bandwidth: Rate
    """The rate at which received bytes are reduced; not charged if left out."""
    copy_bandwidth: Rate
    """The rate at which a chip copies within its memory; not charged if left out."""
    queues: int
    """The most messages of a chip under way at once; any number if left out."""
    memory_bandwidth: Rate
    """The rate of a chip's memory, reads and writes together; not charged if left out."""
    touches: tuple[int, int, int]
    """How often a byte touches that memory: read to send, written on receipt, more where it is reduced."""
    window: Size
    """The most bytes of a message that are sent and not yet delivered; any number if left out."""
    jitter: Duration
    """The longest that chance adds to a launch; none if left out."""
    payload: Size
    """The most bytes of a message in a packet."""
    header: Size
    """What each packet adds on the wire."""
    buffer: Size
    """The bytes that fit the end of each link; unlimited if left out."""
    virtual_channels: int
    """How many each link has."""
    arbitration: Literal["first-come", "round-robin"]
    """Which packet goes first; see `Topology.with_fabric` for this and the next three."""
    queueing: Literal["virtual-output", "input"]
    """What a packet waits behind."""
    forwarding: Literal["store-and-forward", "cut-through"]
    """When a switch begins to send a packet on."""
    policy: Literal["fixed", "flow-hash", "spray", "adaptive"]
    """Which of several links that are as good a packet takes."""
    seed: int
    """What the draws of jitter and the hash of "flow-hash" begin with."""


def settings(*changed: Figure, fabric: str) -> tuple[Figure, ...]:
    """The figures of every machine, with some of them as this machine has them.

    Args:
        changed: Figures that take the place of those of the same name.
        fabric: Why the figures of the fabric were chosen.
    """
    plain = (
        Figure("link_efficiency", 100, "%", "assumed", "bandwidths are taken as what messages get"),
        Figure("launch", 0, "ns", "assumed", "no figure is public"),
        Figure("completion", 0, "ns", "assumed", "the semaphore's cost is in the launch figure"),
        Figure("reduction_bandwidth", None, "GB/s", "assumed", "reducing is taken to keep up with receiving"),
        Figure("copy_bandwidth", None, "GB/s", "assumed", "local copies are far faster than links"),
        Figure("queues", None, "", "assumed", "few collectives have more messages under way than a chip has queues"),
        Figure("memory_bandwidth", None, "TB/s", "assumed", "links bind first"),
        Figure("touches", (1, 1, 1), "", "assumed", "one read, one write, a read more to reduce"),
        Figure("window", None, "B", "assumed", "no limit to what a transfer has in flight is public"),
        Figure("jitter", None, "ns", "assumed", "launches are taken to be alike; no spread is public"),
        Figure("payload", 4096, "B", "assumed", "the packet of the links is not public"),
        Figure("header", 0, "B", "assumed", "bandwidths are taken as payload rates"),
        Figure("buffer", None, "B", "assumed", fabric),
        Figure("virtual_channels", 1, "", "assumed", fabric),
        Figure("arbitration", "first-come", "", "assumed", fabric),
        Figure("queueing", "virtual-output", "", "assumed", fabric),
        Figure("forwarding", "store-and-forward", "", "assumed", fabric),
        Figure("policy", "fixed", "", "assumed", fabric),
        Figure("seed", 0, "", "assumed", "of jitter and of the policy flow-hash; means nothing without them"),
    )
    instead = {figure.name: figure for figure in changed}
    if unknown := instead.keys() - {figure.name for figure in plain}:
        raise KeyError(f"not figures of every machine: {sorted(unknown)}")
    return tuple(instead.get(figure.name, figure) for figure in plain)


def dress(topology: _core.Topology, values: Values) -> _core.Topology:
    """The topology with the ranks of its chips, the costs at them, its packets and its fabric."""
    cores = count("ranks_per_chip", values.get("ranks_per_chip", 1))
    if "ranks_per_chip" in values:
        topology = topology.with_cores(
            cores, bandwidth=quantity(values, "core_bandwidth"), latency=quantity(values, "core_latency")
        )
    memory = _share(values, "memory_bandwidth", cores)
    queues = values["queues"]
    return (
        topology.with_endpoint(
            launch=optional("launch", values["launch"]),
            completion=optional("completion", values["completion"]),
            reduction_bandwidth=_share(values, "reduction_bandwidth", cores),
            copy_bandwidth=_share(values, "copy_bandwidth", cores),
            queues=None if queues is None else max(count("queues", queues) // cores, min(1, count("queues", queues))),
            memory_bandwidth=memory,
            # Touches mean nothing without a memory.
            touches=None if memory is None else _touches(values["touches"]),
            window=optional("window", values["window"]),
            jitter=optional("jitter", values["jitter"]),
            seed=count("seed", values["seed"]),
        )
        .with_packets(payload=optional("payload", values["payload"]), header=optional("header", values["header"]))
        .with_fabric(
            buffer=optional("buffer", values["buffer"]),
            virtual_channels=count("virtual_channels", values["virtual_channels"]),
            # A choice that doesn't exist is refused by name there.
            arbitration=cast("Literal['first-come', 'round-robin']", values["arbitration"]),
            queueing=cast("Literal['virtual-output', 'input']", values["queueing"]),
            forwarding=cast("Literal['store-and-forward', 'cut-through']", values["forwarding"]),
            policy=cast("Literal['fixed', 'flow-hash', 'spray', 'adaptive']", values["policy"]),
            seed=count("seed", values["seed"]),
        )
    )


def _share(values: Values, name: str, cores: int) -> int | str | None:
    """What one of a chip's ranks has of a rate of the chip, None where that is left out."""
    whole = optional(name, values[name])
    return whole if whole is None or cores == 1 else max(_core.parse_bandwidth(whole) // cores, 1)


def _touches(value: Value) -> tuple[int, int, int]:
    found = counts("touches", value)
    if len(found) != 3:
        raise TopologyError(f"touches must be three whole numbers, (read, write, reduce), got {value!r}")
    read, write, reduce = found
    return read, write, reduce
