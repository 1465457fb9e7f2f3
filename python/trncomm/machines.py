"""Machines as published: every figure with its source, and each of them open to change.

A preset is a topology built from a table of figures. A figure is *published* by the maker, *derived* from published
figures by arithmetic, or *assumed* where nothing is public; `figures` shows the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from trncomm import _core
from trncomm.errors import TopologyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trncomm.quantities import Duration, Rate, Size

__all__ = ["Figure", "Label", "Machine", "Profile", "build", "figures", "machine", "names", "trn3_ultraserver"]

Label: TypeAlias = Literal["published", "derived", "assumed"]
"""How well a figure is known."""

Profile: TypeAlias = Literal["link-table", "lane-count"]
"""Which of the sources that disagree about Trainium3's links a preset follows."""

_Value: TypeAlias = int | str | tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One property of a machine, in the unit of its source."""

    name: str
    """The keyword that changes it."""
    value: int | str | tuple[int, int, int] | None
    """The number, the numbers or the choice; None for a cost or a limit that the preset leaves out."""
    unit: str
    """The unit of `value`; empty for a count or a choice."""
    label: Label
    """How well it is known."""
    source: str
    """Where it is from, or why it was chosen."""

    def __str__(self) -> str:
        """The value with its unit."""
        if self.value is None:
            return "left out"
        text = ",".join(map(str, self.value)) if isinstance(self.value, tuple) else str(self.value)
        return f"{text} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that can be built by name."""

    name: str
    """The name on the command line."""
    summary: str
    """What it is, in a sentence."""
    profiles: Mapping[Profile, tuple[Figure, ...]]
    """Its figures, by the source that they follow; the first is the default."""
    construct: Callable[[str, Mapping[str, _Value]], _core.Topology]
    """Builds it from its name and the figures' values."""


def names() -> tuple[str, ...]:
    """List the machines that can be built by name.

    Examples:
        >>> names()
        ('trn3-ultraserver',)
    """
    return tuple(_MACHINES)


def machine(name: str) -> Machine:
    """The machine of that name; underscores count as hyphens.

    Raises:
        TopologyError: No such machine.
    """
    found = _MACHINES.get(name.lower().replace("_", "-"))
    if found is None:
        raise TopologyError(f"unknown machine {name!r}; {_hint(name, names())}")
    return found


def figures(name: str, *, profile: Profile | None = None) -> tuple[Figure, ...]:
    """List every figure that a machine is built from, with its source.

    Examples:
        >>> for figure in figures("trn3-ultraserver")[3:5]:
        ...     print(figure.name, figure, figure.label, sep=" | ")
        server_bandwidth | 256 GB/s | published
        server_latency | 125 ns | assumed

    Raises:
        TopologyError: No such machine or profile.
    """
    profiles = machine(name).profiles
    if profile is None:
        return next(iter(profiles.values()))
    if profile not in profiles:
        raise TopologyError(f"unknown profile {profile!r} of {name}; {_hint(profile, tuple(profiles))}")
    return profiles[profile]


def build(
    name: str,
    *,
    profile: Profile | None = None,
    overrides: Mapping[str, int | str | tuple[int, int, int]] | None = None,
) -> _core.Topology:
    """Build a machine by name, with some of its figures changed.

    Args:
        name: One of `names()`.
        profile: Whose figures to follow; the machine's first profile if not given.
        overrides: New values by the figure's name.

    Raises:
        TopologyError: No such machine, profile or figure, or a value that can't be built.
        ArgumentError: A rate, duration or size that can't be read.

    Examples:
        >>> build("trn3-ultraserver", overrides={"servers": 4}).ranks
        32
    """
    known = figures(name, profile=profile)
    values: dict[str, _Value] = {
        figure.name: figure.value if figure.value is None or not figure.unit else f"{figure.value}{figure.unit}"
        for figure in known
    }
    for key, value in (overrides or {}).items():
        if key not in values:
            raise TopologyError(f"{name} has no figure {key!r}; {_hint(key, tuple(values))}")
        values[key] = value
    found = machine(name)
    return found.construct(found.name, values)


def trn3_ultraserver(
    *,
    profile: Profile = "link-table",
    racks: int | None = None,
    servers: int | None = None,
    chips: int | None = None,
    server_bandwidth: Rate | None = None,
    server_latency: Duration | None = None,
    rack_bandwidth: Rate | None = None,
    rack_latency: Duration | None = None,
    between_bandwidth: Rate | None = None,
    between_latency: Duration | None = None,
    launch: Duration | None = None,
    completion: Duration | None = None,
    reduction_bandwidth: Rate | None = None,
    copy_bandwidth: Rate | None = None,
    queues: int | None = None,
    memory_bandwidth: Rate | None = None,
    touches: tuple[int, int, int] | None = None,
    window: Size | None = None,
    jitter: Duration | None = None,
    payload: Size | None = None,
    header: Size | None = None,
    buffer: Size | None = None,
    virtual_channels: int | None = None,
    arbitration: Literal["first-come", "round-robin"] | None = None,
    queueing: Literal["virtual-output", "input"] | None = None,
    forwarding: Literal["store-and-forward", "cut-through"] | None = None,
    policy: Literal["fixed", "flow-hash", "spray", "adaptive"] | None = None,
    seed: int | None = None,
) -> _core.Topology:
    """Build the Trn3 Gen2 UltraServer: 144 chips in 36 servers and 2 racks.

    Each chip reaches the chips of its server over one switch, the other chips of its rack over another, and the
    chip in its own position in the other rack by direct links. What is not given is as `figures("trn3-ultraserver")`
    lists it. Bandwidths are of one chip, each way.

    Args:
        profile: "link-table" follows the maker's table of links, "lane-count" a third party's count of lanes.
        racks: Racks.
        servers: Servers a rack.
        chips: Chips a server.
        server_bandwidth: From a chip to its server's switch.
        server_latency: Of that link; a path within a server passes two.
        rack_bandwidth: From a chip to its rack's switch.
        rack_latency: Of that link; a path within a rack passes two.
        between_bandwidth: From a chip to the chip in its position in another rack.
        between_latency: Of that link.
        launch: What a message costs its sender before its first byte.
        completion: What a message costs its receiver after its last byte.
        reduction_bandwidth: The rate at which received bytes are reduced; not charged if not given.
        copy_bandwidth: The rate at which a chip copies within its memory; not charged if not given.
        queues: The most messages of a chip under way at once; any number if not given.
        memory_bandwidth: The rate of a chip's memory, reads and writes together; "4.9TB/s" is published. Left out if
            not given, as links bind first: all of a chip's links busy both ways, every byte received being added, touch
            it at 2.1 TB/s (3.5 with "lane-count").
        touches: How often a byte touches that memory: read to send, written on receipt, more where it is reduced.
        window: The most bytes of a message that are sent and not yet delivered; any number if not given.
        jitter: The longest that chance adds to a launch; none if not given.
        payload: The most bytes of a message in a packet.
        header: What each packet adds on the wire.
        buffer: The bytes that fit the end of each link; unlimited if not given.
        virtual_channels: How many each link has.
        arbitration: Which packet goes first; see `Topology.with_fabric` for this and the next three.
        queueing: What a packet waits behind.
        forwarding: When a switch begins to send a packet on.
        policy: Which of several links that are as good a packet takes.
        seed: What the draws of jitter and the hash of "flow-hash" begin with.

    Raises:
        TopologyError: A value that can't be built, such as a bandwidth of zero.
        ArgumentError: A rate, duration or size that can't be read.

    Examples:
        >>> import trncomm as tc
        >>> topology = tc.machines.trn3_ultraserver()
        >>> topology.ranks, topology.shape
        (144, (2, 18, 4))
    """
    given: dict[str, _Value] = {
        "racks": racks,
        "servers": servers,
        "chips": chips,
        "server_bandwidth": server_bandwidth,
        "server_latency": server_latency,
        "rack_bandwidth": rack_bandwidth,
        "rack_latency": rack_latency,
        "between_bandwidth": between_bandwidth,
        "between_latency": between_latency,
        "launch": launch,
        "completion": completion,
        "reduction_bandwidth": reduction_bandwidth,
        "copy_bandwidth": copy_bandwidth,
        "queues": queues,
        "memory_bandwidth": memory_bandwidth,
        "touches": touches,
        "window": window,
        "jitter": jitter,
        "payload": payload,
        "header": header,
        "buffer": buffer,
        "virtual_channels": virtual_channels,
        "arbitration": arbitration,
        "queueing": queueing,
        "forwarding": forwarding,
        "policy": policy,
        "seed": seed,
    }
    overrides = {name: value for name, value in given.items() if value is not None}
    return build("trn3-ultraserver", profile=profile, overrides=overrides)


def _construct_ultraserver(name: str, values: Mapping[str, _Value]) -> _core.Topology:
    def quantity(figure: str) -> int | str:
        value = _optional(figure, values[figure])
        if value is None:
            raise TopologyError(f"{figure} must be given")
        return value

    topology = _core.Topology.ultraserver(
        _count("racks", values["racks"]),
        _count("servers", values["servers"]),
        _count("chips", values["chips"]),
        server_bandwidth=quantity("server_bandwidth"),
        server_latency=quantity("server_latency"),
        rack_bandwidth=quantity("rack_bandwidth"),
        rack_latency=quantity("rack_latency"),
        between_bandwidth=quantity("between_bandwidth"),
        between_latency=quantity("between_latency"),
    )
    return _dressed(topology, values).with_name(name)


def _dressed(topology: _core.Topology, values: Mapping[str, _Value]) -> _core.Topology:
    """The topology with the costs at its chips, its packets and its fabric."""
    memory = _optional("memory_bandwidth", values["memory_bandwidth"])
    queues = values["queues"]
    return (
        topology.with_endpoint(
            launch=_optional("launch", values["launch"]),
            completion=_optional("completion", values["completion"]),
            reduction_bandwidth=_optional("reduction_bandwidth", values["reduction_bandwidth"]),
            copy_bandwidth=_optional("copy_bandwidth", values["copy_bandwidth"]),
            queues=None if queues is None else _count("queues", queues),
            memory_bandwidth=memory,
            # Touches mean nothing without a memory.
            touches=None if memory is None else _touches(values["touches"]),
            window=_optional("window", values["window"]),
            jitter=_optional("jitter", values["jitter"]),
            seed=_count("seed", values["seed"]),
        )
        .with_packets(payload=_optional("payload", values["payload"]), header=_optional("header", values["header"]))
        .with_fabric(
            buffer=_optional("buffer", values["buffer"]),
            virtual_channels=_count("virtual_channels", values["virtual_channels"]),
            # A choice that doesn't exist is refused by name there.
            arbitration=cast("Literal['first-come', 'round-robin']", values["arbitration"]),
            queueing=cast("Literal['virtual-output', 'input']", values["queueing"]),
            forwarding=cast("Literal['store-and-forward', 'cut-through']", values["forwarding"]),
            policy=cast("Literal['fixed', 'flow-hash', 'spray', 'adaptive']", values["policy"]),
            seed=_count("seed", values["seed"]),
        )
    )


def _optional(name: str, value: _Value) -> int | str | None:
    """A quantity, or None where it is left out."""
    if isinstance(value, tuple):
        raise TopologyError(f"{name} must be one quantity, got {value!r}")
    return value


def _touches(value: _Value) -> tuple[int, int, int]:
    """Three counts, which the command line gives as text with commas."""
    counts = value.split(",") if isinstance(value, str) else value
    if not isinstance(counts, list | tuple) or len(counts) != 3:
        raise TopologyError(f"touches must be three whole numbers, (read, write, reduce), got {value!r}")
    read, write, reduce = (_count("touches", count) for count in counts)
    return read, write, reduce


def _count(name: str, value: _Value) -> int:
    """A count, which the command line gives as text."""
    try:
        return int(value if isinstance(value, int | str) else "")
    except ValueError:
        raise TopologyError(f"{name} must be a whole number, got {value!r}") from None


def _hint(wanted: str, choices: tuple[str, ...]) -> str:
    near = get_close_matches(wanted, choices, n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(choices)}"


_ARCH: Final = "AWS Neuron SDK documentation, trn3-arch.rst"
_ONE_WAY: Final = (
    "{arch}: {links} PCIe Gen6 x8 links a chip. Such a link carries 64 GB/s each way, so this is each way although the "
    "page says bidirectional; the page's 2,048 GiB/s and trainium3.rst's 2.56 TB/s a chip don't follow from its links"
)
_LANES: Final = "{lanes} lanes of 8 GB/s each way; lanes as counted by SemiAnalysis (December 2025), not by the maker"
_HOP: Final = (
    "no latency of NeuronSwitch-v1 is public; two links make 250 ns, a PCIe switch (105 to 115 ns) with its wires"
)

_SWITCH: Final = "nothing of NeuronSwitch-v1's inside is public; the simplest is taken"


def _trn3_figures(server: Figure, rack: Figure, between: Figure) -> tuple[Figure, ...]:
    return (
        Figure("racks", 2, "", "published", _ARCH),
        Figure("servers", 18, "", "published", f"{_ARCH}: 36 servers, 18 a rack"),
        Figure("chips", 4, "", "published", _ARCH),
        server,
        Figure("server_latency", 125, "ns", "assumed", _HOP),
        rack,
        Figure("rack_latency", 125, "ns", "assumed", _HOP),
        between,
        Figure("between_latency", 125, "ns", "assumed", "as the other links; no switch is passed"),
        Figure(
            "launch",
            1300,
            "ns",
            "published",
            "nki-dma-bandwidth-guide.rst: about 1.3 µs fixed cost a DMA transfer, from descriptor to semaphore",
        ),
        Figure("completion", 0, "ns", "assumed", "the semaphore's cost is in the launch figure"),
        Figure(
            "reduction_bandwidth",
            None,
            "GB/s",
            "published",
            "trainium3_arch.rst: the DMA engines accumulate at their full rate, so reducing adds no time to receiving",
        ),
        Figure("copy_bandwidth", None, "GB/s", "assumed", "local copies are far faster than links"),
        Figure(
            "queues",
            None,
            "",
            "derived",
            "trainium3_arch.rst, compute-comm-overlap.rst: 128 DMA engines of 16 queues, 2,048 a chip; left out unless "
            "set, as few collectives have as many messages under way",
        ),
        Figure(
            "memory_bandwidth",
            None,
            "TB/s",
            "published",
            f"{_ARCH}: 4.9 TB/s a chip (trainium3_arch.rst: 4.7), reads and writes together; left out unless set, as "
            "links bind first",
        ),
        Figure(
            "touches",
            (1, 1, 1),
            "",
            "published",
            "intranode-collective-comm.rst: 1 read and 1 write for a copy, 2 reads and 1 write for a reduction; only "
            "with memory_bandwidth",
        ),
        Figure("window", None, "B", "assumed", "no limit to what a NeuronLink transfer has in flight is public"),
        Figure("jitter", None, "ns", "assumed", "launches are taken to be alike; no spread is public"),
        Figure(
            "payload", 4096, "B", "assumed", "the switch's packet is not public; 4 KiB is the DMA's own default unit"
        ),
        Figure("header", 0, "B", "assumed", "bandwidths are taken as payload rates"),
        Figure("buffer", None, "B", "assumed", _SWITCH),
        Figure("virtual_channels", 1, "", "assumed", f"{_SWITCH}; the routes close no circle, so that 1 is enough"),
        Figure("arbitration", "first-come", "", "assumed", _SWITCH),
        Figure("queueing", "virtual-output", "", "assumed", _SWITCH),
        Figure("forwarding", "store-and-forward", "", "assumed", _SWITCH),
        Figure(
            "policy",
            "fixed",
            "",
            "derived",
            "trn3-arch.rst: switches route by address, and data and its semaphore take the same path",
        ),
        Figure("seed", 0, "", "assumed", "of jitter and of the policy flow-hash; means nothing without them"),
    )


_MACHINES: Final[Mapping[str, Machine]] = {
    machine.name: machine
    for machine in (
        Machine(
            name="trn3-ultraserver",
            summary="Trn3 Gen2 UltraServer: 144 Trainium3 chips, 2 racks of 18 servers of 4 chips",
            profiles={
                "link-table": _trn3_figures(
                    Figure("server_bandwidth", 256, "GB/s", "published", _ONE_WAY.format(arch=_ARCH, links=4)),
                    Figure("rack_bandwidth", 320, "GB/s", "published", _ONE_WAY.format(arch=_ARCH, links=5)),
                    Figure("between_bandwidth", 128, "GB/s", "published", _ONE_WAY.format(arch=_ARCH, links=2)),
                ),
                "lane-count": _trn3_figures(
                    Figure("server_bandwidth", 512, "GB/s", "derived", _LANES.format(lanes=64)),
                    Figure("rack_bandwidth", 512, "GB/s", "derived", _LANES.format(lanes="64 active (of 80)")),
                    Figure("between_bandwidth", 128, "GB/s", "derived", _LANES.format(lanes=16)),
                ),
            },
            construct=_construct_ultraserver,
        ),
    )
}
