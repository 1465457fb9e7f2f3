"""Trainium instances and UltraServers in clusters: the network between them, each figure with its source."""

from __future__ import annotations

from typing import Final

from trncomm.machines import shapes
from trncomm.machines.figures import Figure, Machine
from trncomm.machines.trainium import (
    ARCH,
    GEN1_PROFILES,
    GEN2_PROFILES,
    HOP_OF_A_TORUS,
    TRN2_BANDWIDTH,
    TRN2_SETTINGS,
    TRN2_SHAPE,
    TRN2_ULTRASERVER,
    trn1,
)

__all__ = ["MACHINES"]


def _fabric(number: Figure, bandwidth: Figure) -> tuple[Figure, ...]:
    """The network between servers."""
    return (
        number,
        Figure(
            "pod",
            None,
            "",
            "assumed",
            f"{number.name} below one set of spines; not public. Unless set, the most up to 16 that fill all pods",
        ),
        Figure(
            "rails",
            None,
            "",
            "assumed",
            "leaves of a pod, chips in equal places of all its servers sharing one; left out unless set: SemiAnalysis "
            "(December 2024) describes switches at the top of racks and no rails",
        ),
        bandwidth,
        Figure(
            "fabric_latency",
            6500,
            "ns",
            "assumed",
            "with the launch and two switches in a pod, 15 µs from memory to memory, as collectives.rst gives for the "
            "least packet on Trn2",
        ),
        Figure("switch_latency", 350, "ns", "assumed", "not public; a switch of such a network with its wires"),
        Figure(
            "oversubscription",
            1,
            "",
            "derived",
            "trn1-arch.rst: a non-blocking network; how many times less rate the links above leaves have than those "
            "below",
        ),
    )


def _efa(gigabytes: str, source: str) -> Figure:
    return Figure("fabric_bandwidth", gigabytes, "GB/s", "derived", f"{source}; links above leaves are alike")


_EFA_OF_TRN2: Final = _efa("25", "trn2-arch.rst: EFA of 3,200 Gb/s an instance of 16 chips, 200 Gb/s a chip")
MACHINES: Final = (
    Machine(
        name="trn1-ultracluster",
        summary="trn1.32xlarge instances on an EFA network of leaves, spines and cores: 1,875 of them, 30,000 chips",
        cores=2,
        profiles={
            "default": (
                *_fabric(
                    Figure(
                        "instances",
                        1875,
                        "",
                        "published",
                        "trn1-arch.rst, as of its first release: over 30,000 chips; now over 100,000",
                    ),
                    _efa(
                        "6.25",
                        "trn1-arch.rst: EFA of 800 Gb/s an instance, 50 Gb/s a chip, though two chips share a card of "
                        "100 Gb/s",
                    ),
                ),
                *trn1(48, 384),
            )
        },
        construct=shapes.cluster(shapes.torus, "instances"),
    ),
    Machine(
        name="trn1n-ultracluster",
        summary="trn1n.32xlarge instances on an EFA network of leaves, spines and cores: 1,875 of them, 30,000 chips",
        cores=2,
        profiles={
            "default": (
                *_fabric(
                    Figure("instances", 1875, "", "assumed", "as many as of trn1"),
                    _efa("12.5", "trn1-arch.rst: EFA of 1,600 Gb/s an instance of 16 chips, 100 Gb/s a chip"),
                ),
                *trn1(96, 768),
            )
        },
        construct=shapes.cluster(shapes.torus, "instances"),
    ),
    Machine(
        name="trn2-ultracluster",
        summary="trn2.48xlarge instances on an EFA network of leaves, spines and cores: 1,024 of them, 16,384 chips",
        cores=8,
        profiles={
            "default": (
                *_fabric(Figure("instances", 1024, "", "assumed", "no size is public"), _EFA_OF_TRN2),
                TRN2_SHAPE,
                TRN2_BANDWIDTH,
                HOP_OF_A_TORUS,
                *TRN2_SETTINGS,
            )
        },
        construct=shapes.cluster(shapes.torus, "instances"),
    ),
    Machine(
        name="trn2-ultraserver-cluster",
        summary="Trn2 UltraServers on an EFA network of leaves, spines and cores: 256 of them, 16,384 chips",
        cores=8,
        profiles={
            "default": (
                *_fabric(Figure("ultraservers", 256, "", "assumed", "no size is public"), _EFA_OF_TRN2),
                *TRN2_ULTRASERVER,
            )
        },
        construct=shapes.cluster(shapes.torus_of_instances, "ultraservers"),
    ),
    Machine(
        name="rainier",
        summary="Project Rainier: 7,812 Trn2 UltraServers on an EFA network, about 500,000 Trainium2 chips",
        cores=8,
        profiles={
            "default": (
                *_fabric(
                    Figure(
                        "ultraservers",
                        7812,
                        "",
                        "derived",
                        "press, 2025: nearly 500,000 Trainium2 chips; 64 an UltraServer, 499,968 in all",
                    ),
                    _EFA_OF_TRN2,
                ),
                *TRN2_ULTRASERVER,
            )
        },
        construct=shapes.cluster(shapes.torus_of_instances, "ultraservers"),
    ),
    Machine(
        name="trn3-ultracluster-gen1",
        summary="Trn3 Gen1 UltraServers on an EFA network of leaves, spines and cores: 1,568 of them, 100,352 chips",
        cores=8,
        profiles={
            profile: (
                *_fabric(
                    Figure("ultraservers", 1568, "", "assumed", "100,352 chips, about as many as of Gen2"),
                    _efa("25", f"{ARCH}: EFA of 12,800 Gb/s an UltraServer of 64 chips, 200 Gb/s a chip"),
                ),
                *figures,
            )
            for profile, figures in GEN1_PROFILES.items()
        },
        construct=shapes.cluster(shapes.ultraserver, "ultraservers"),
    ),
    Machine(
        name="trn3-ultracluster",
        summary="Trn3 Gen2 UltraServers on an EFA network of leaves, spines and cores: 700 of them, 100,800 chips",
        cores=8,
        profiles={
            profile: (
                *_fabric(
                    Figure(
                        "ultraservers",
                        700,
                        "",
                        "assumed",
                        "100,800 chips; UltraCluster 3.0 is to have hundreds of thousands",
                    ),
                    _efa("25", f"{ARCH}: EFA of 28,800 Gb/s an UltraServer of 144 chips, 200 Gb/s a chip"),
                ),
                *figures,
            )
            for profile, figures in GEN2_PROFILES.items()
        },
        construct=shapes.cluster(shapes.ultraserver, "ultraservers"),
    ),
)
