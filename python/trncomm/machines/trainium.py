"""Trainium instances and UltraServers, each figure with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trncomm.machines import shapes
from trncomm.machines.figures import Figure, Machine
from trncomm.machines.settings import settings

if TYPE_CHECKING:
    from trncomm.machines.figures import Profile

__all__ = [
    "ARCH",
    "GEN1_PROFILES",
    "GEN2_PROFILES",
    "HOP_OF_A_TORUS",
    "MACHINES",
    "TRN2_BANDWIDTH",
    "TRN2_SETTINGS",
    "TRN2_SHAPE",
    "TRN2_ULTRASERVER",
    "trn1",
]

_DMA: Final = Figure(
    "launch",
    1300,
    "ns",
    "published",
    "nki-dma-bandwidth-guide.rst: about 1.3 µs fixed cost a DMA transfer, from descriptor to semaphore",
)
_TOUCHES: Final = Figure(
    "touches",
    (1, 1, 1),
    "",
    "published",
    "intranode-collective-comm.rst: 1 read and 1 write for a copy, 2 reads and 1 write for a reduction; only with "
    "memory_bandwidth",
)
_WINDOW: Final = Figure(
    "window", None, "B", "assumed", "no limit to what a NeuronLink transfer has in flight is public"
)
_PACKET: Final = Figure(
    "payload", 4096, "B", "assumed", "the links' packet is not public; 4 KiB is the DMA's own default unit"
)
HOP_OF_A_TORUS: Final = Figure(
    "latency",
    200,
    "ns",
    "assumed",
    "not public; about one PCIe forward (105 to 115 ns) with its wires. With the launch, a ring's step costs 1.5 µs, "
    "within the 1 to 2 µs that intranode-collective-comm.rst gives",
)
_FORWARDS: Final = "how chips pass packets on is not public; the simplest is taken"


def _cores(cores: int, engines: int, rate: int) -> tuple[Figure, ...]:
    """The ranks of a chip, and how they are joined to it."""
    return (
        Figure(
            "ranks_per_chip",
            1,
            "",
            "assumed",
            "collectives among chips. Neuron runs a rank on every 1 or 2 of a chip's "
            f"{cores} NeuronCores (NEURON_LOGICAL_NC_CONFIG; nccom-test.rst)",
        ),
        Figure(
            "core_bandwidth",
            cores * rate,
            "GB/s",
            "derived",
            f"nki-dma-bandwidth-guide.rst: {engines} DMA engines a core, {rate} GB/s together; what a chip's {cores} "
            "cores move at most, as engines of idle cores serve others. Means nothing with 1 rank a chip",
        ),
        Figure(
            "core_latency",
            0,
            "ns",
            "assumed",
            "a transfer within a chip crosses no link; what it costs is in the launch",
        ),
    )


_OF_TRN1: Final = _cores(2, 16, 272)
_OF_TRN2: Final = _cores(8, 16, 368)
_OF_TRN3: Final = _cores(8, 16, 528)


def trn1(bandwidth: int, published: int) -> tuple[Figure, ...]:
    """The figures of an instance whose links have that many GB/s each way, and whose chips the published sum."""
    return (
        Figure("shape", (4, 4), "", "published", "AWS Neuron SDK documentation, trn1-arch.rst: 16 chips, 2D torus"),
        Figure(
            "bandwidth",
            bandwidth,
            "GB/s",
            "derived",
            f"trn1-arch.rst: {published} GB/s a chip, taken as the sum of both directions over 4 neighbours, each way",
        ),
        HOP_OF_A_TORUS,
        *_OF_TRN1,
        *settings(
            _DMA,
            _PACKET,
            _TOUCHES,
            Figure(
                "link_efficiency",
                100,
                "%",
                "assumed",
                "an all-reduce of 2 GiB over 32 ranks of trn1.32xlarge (nccom-test, third party) reaches 67 % of the "
                "links' rate; links alone or memory too may be the reason, so that rates are as published unless set",
            ),
            Figure(
                "reduction_bandwidth",
                None,
                "GB/s",
                "assumed",
                "trainium3_arch.rst: before Trainium3 the DMA reduced at half its rate, some 500 GB/s, more than links",
            ),
            Figure("memory_bandwidth", 820, "GB/s", "published", "trainium.rst: 820 GiB/s; the NKI pages say 820 GB/s"),
            _WINDOW,
            fabric=_FORWARDS,
        ),
    )


TRN2_SETTINGS: Final = (
    *_OF_TRN2,
    *settings(
        _DMA,
        _PACKET,
        _TOUCHES,
        Figure(
            "reduction_bandwidth",
            None,
            "GB/s",
            "assumed",
            "trainium3_arch.rst: before Trainium3 the DMA reduced at half its rate, about 1.7 TB/s, more than links",
        ),
        Figure(
            "memory_bandwidth", 2900, "GB/s", "published", "trn2-arch.rst: 2.9 TB/s a chip; the NKI pages say 3 TB/s"
        ),
        _WINDOW,
        fabric=_FORWARDS,
    ),
)
TRN2_SHAPE: Final = Figure("shape", (4, 4), "", "published", "trn2-arch.rst: 16 chips an instance, 4 by 4 2D torus")
TRN2_BANDWIDTH: Final = Figure(
    "bandwidth",
    128,
    "GB/s",
    "derived",
    "trn2-arch.rst: 1,024 GB/s a chip within an instance; 4 neighbours, both directions counted",
)

ARCH: Final = "AWS Neuron SDK documentation, trn3-arch.rst"
_ONE_WAY: Final = (
    "{arch}: {links} PCIe Gen6 x8 links a chip. Such a link carries 64 GB/s each way, so this is each way although the "
    "page says bidirectional; the page's 2,048 GiB/s and trainium3.rst's 2.56 TB/s a chip don't follow from its links"
)
_LANES: Final = "{lanes} lanes of 8 GB/s each way; lanes as counted by SemiAnalysis (December 2025), not by the maker"
_HOP: Final = (
    "no latency of NeuronSwitch-v1 is public; two links make 250 ns, a PCIe switch (105 to 115 ns) with its wires"
)
_SWITCH: Final = "nothing of NeuronSwitch-v1's inside is public; the simplest is taken"
_TRN3_SETTINGS: Final = settings(
    _DMA,
    _PACKET,
    _TOUCHES,
    _WINDOW,
    Figure(
        "reduction_bandwidth",
        None,
        "GB/s",
        "published",
        "trainium3_arch.rst: the DMA engines accumulate at their full rate, so reducing adds no time to receiving",
    ),
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
        f"{ARCH}: 4.9 TB/s a chip (trainium3_arch.rst: 4.7), reads and writes together; left out unless set, as "
        "links bind first: all of a chip's links busy both ways, every byte received being added, touch it at 2.1 "
        "TB/s (3.5 with the lane count)",
    ),
    Figure("virtual_channels", 1, "", "assumed", f"{_SWITCH}; the routes close no circle, so that 1 is enough"),
    Figure(
        "policy",
        "fixed",
        "",
        "derived",
        "trn3-arch.rst: switches route by address, and data and its semaphore take the same path",
    ),
    fabric=_SWITCH,
)


def _trn3(counts_: tuple[Figure, ...], server: Figure, rack: Figure, between: Figure) -> tuple[Figure, ...]:
    return (
        *counts_,
        server,
        Figure("server_latency", 125, "ns", "assumed", _HOP),
        rack,
        Figure("rack_latency", 125, "ns", "assumed", _HOP),
        between,
        Figure("between_latency", 125, "ns", "assumed", "as the other links; no switch is passed"),
        *_OF_TRN3,
        *_TRN3_SETTINGS,
    )


_GEN2: Final = (
    Figure("racks", 2, "", "published", ARCH),
    Figure("servers", 18, "", "published", f"{ARCH}: 36 servers, 18 a rack"),
    Figure("chips", 4, "", "published", ARCH),
)
_GEN1: Final = (
    Figure("racks", 2, "", "derived", f"{ARCH}: 4 servers of 16 chips, two behind each switch"),
    Figure("servers", 16, "", "derived", "SemiAnalysis (December 2025): 16 trays a rack; the maker draws no trays"),
    Figure("chips", 2, "", "derived", "SemiAnalysis (December 2025): 2 chips a tray"),
)
_GEN1_LINKS: Final = "no link counts of Gen1 are published by level; as Gen2's"


TRN2_ULTRASERVER: Final = (
    Figure("instances", 4, "", "published", "trn2-arch.rst: 4 instances; equal coordinates form rings"),
    TRN2_SHAPE,
    TRN2_BANDWIDTH,
    HOP_OF_A_TORUS,
    Figure(
        "between_bandwidth",
        64,
        "GB/s",
        "derived",
        "trn2-arch.rst: 256 GB/s a chip between instances; 2 neighbours, both directions counted",
    ),
    Figure("between_latency", 200, "ns", "assumed", "as within an instance; cables are longer"),
    *TRN2_SETTINGS,
)


GEN2_PROFILES: Final[dict[Profile, tuple[Figure, ...]]] = {
    "link-table": _trn3(
        _GEN2,
        Figure("server_bandwidth", 256, "GB/s", "published", _ONE_WAY.format(arch=ARCH, links=4)),
        Figure("rack_bandwidth", 320, "GB/s", "published", _ONE_WAY.format(arch=ARCH, links=5)),
        Figure("between_bandwidth", 128, "GB/s", "published", _ONE_WAY.format(arch=ARCH, links=2)),
    ),
    "lane-count": _trn3(
        _GEN2,
        Figure("server_bandwidth", 512, "GB/s", "derived", _LANES.format(lanes=64)),
        Figure("rack_bandwidth", 512, "GB/s", "derived", _LANES.format(lanes="64 active (of 80)")),
        Figure("between_bandwidth", 128, "GB/s", "derived", _LANES.format(lanes=16)),
    ),
}

GEN1_PROFILES: Final[dict[Profile, tuple[Figure, ...]]] = {
    "link-table": _trn3(
        _GEN1,
        Figure("server_bandwidth", 256, "GB/s", "assumed", _GEN1_LINKS),
        Figure("rack_bandwidth", 320, "GB/s", "assumed", _GEN1_LINKS),
        Figure("between_bandwidth", 128, "GB/s", "assumed", _GEN1_LINKS),
    ),
    "lane-count": _trn3(
        _GEN1,
        Figure("server_bandwidth", 512, "GB/s", "assumed", f"{_GEN1_LINKS}; {_LANES.format(lanes=64)}"),
        Figure("rack_bandwidth", 512, "GB/s", "assumed", f"{_GEN1_LINKS}; {_LANES.format(lanes='64 active')}"),
        Figure("between_bandwidth", 128, "GB/s", "assumed", f"{_GEN1_LINKS}; {_LANES.format(lanes=16)}"),
    ),
}

MACHINES: Final = (
    Machine(
        name="trn1",
        summary="trn1.32xlarge: 16 Trainium1 chips, a 4 by 4 torus",
        cores=2,
        profiles={"default": trn1(48, 384)},
        construct=shapes.torus,
    ),
    Machine(
        name="trn1n",
        summary="trn1n.32xlarge: 16 Trainium1 chips, a 4 by 4 torus of twice the rate",
        cores=2,
        profiles={"default": trn1(96, 768)},
        construct=shapes.torus,
    ),
    Machine(
        name="trn2",
        summary="trn2.48xlarge: 16 Trainium2 chips, a 4 by 4 torus",
        cores=8,
        profiles={"default": (TRN2_SHAPE, TRN2_BANDWIDTH, HOP_OF_A_TORUS, *TRN2_SETTINGS)},
        construct=shapes.torus,
    ),
    Machine(
        name="trn2-ultraserver",
        summary="Trn2 UltraServer: 64 Trainium2 chips, 4 instances joined as a 4 by 4 by 4 torus",
        cores=8,
        profiles={
            "default": TRN2_ULTRASERVER,
        },
        construct=shapes.torus_of_instances,
    ),
    Machine(
        name="trn3-ultraserver-gen1",
        summary="Trn3 Gen1 UltraServer: 64 Trainium3 chips, 2 racks of 16 pairs",
        cores=8,
        profiles=GEN1_PROFILES,
        construct=shapes.ultraserver,
    ),
    Machine(
        name="trn3-ultraserver",
        summary="Trn3 Gen2 UltraServer: 144 Trainium3 chips, 2 racks of 18 servers of 4 chips",
        cores=8,
        profiles=GEN2_PROFILES,
        construct=shapes.ultraserver,
    ),
)
