"""Machines as published: every figure with its source, and each of them open to change.

A preset is a topology built from a table of figures. A figure is *published* by the maker, *derived* from published
figures by arithmetic, or *assumed* where nothing is public; `figures` shows the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

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

_Value: TypeAlias = int | str | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a machine, in the unit of its source."""

    name: str
    """The keyword that changes it."""
    value: int | None
    """The number, or None where the cost is not charged."""
    unit: str
    """The unit of `value`; empty for a count."""
    label: Label
    """How well it is known."""
    source: str
    """Where it is from, or why it was chosen."""

    def __str__(self) -> str:
        """The number with its unit."""
        return "not charged" if self.value is None else f"{self.value} {self.unit}".rstrip()


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
    name: str, *, profile: Profile | None = None, overrides: Mapping[str, int | str] | None = None
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
    payload: Size | None = None,
    header: Size | None = None,
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
        payload: The most bytes of a message in a packet.
        header: What each packet adds on the wire.

    Raises:
        TopologyError: A value that can't be built, such as a bandwidth of zero.
        ArgumentError: A rate, duration or size that can't be read.

    Examples:
        >>> import trncomm as tc
        >>> topology = tc.machines.trn3_ultraserver()
        >>> topology.ranks, topology.shape
        (144, (2, 18, 4))
    """
    given: dict[str, int | str | None] = {
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
        "payload": payload,
        "header": header,
    }
    overrides = {name: value for name, value in given.items() if value is not None}
    return build("trn3-ultraserver", profile=profile, overrides=overrides)


def _construct_ultraserver(name: str, values: Mapping[str, _Value]) -> _core.Topology:
    def quantity(figure: str) -> int | str:
        value = values[figure]
        if value is None:
            raise TopologyError(f"{figure} must be given")
        return value

    return (
        _core.Topology.ultraserver(
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
        .with_endpoint(
            launch=quantity("launch"),
            completion=quantity("completion"),
            reduction_bandwidth=values["reduction_bandwidth"],
            copy_bandwidth=values["copy_bandwidth"],
        )
        .with_packets(payload=quantity("payload"), header=quantity("header"))
        .with_name(name)
    )


def _count(name: str, value: _Value) -> int:
    """A count, which the command line gives as text."""
    try:
        return int(value if value is not None else "")
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
            "payload", 4096, "B", "assumed", "the switch's packet is not public; 4 KiB is the DMA's own default unit"
        ),
        Figure("header", 0, "B", "assumed", "bandwidths are taken as payload rates"),
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
