"""Machines of other makers and textbook networks, to compare with."""

from __future__ import annotations

from typing import Final

from trncomm.machines import shapes
from trncomm.machines.figures import Figure, Machine
from trncomm.machines.settings import settings

__all__ = ["MACHINES"]

_LIKE_TRN3: Final = Figure("launch", 1300, "ns", "assumed", "as a Trainium DMA's, so that networks are what differs")
_TPU: Final = "Jouppi et al., TPU v4, ISCA 2023"
_NVIDIA: Final = "NVIDIA, GB200 NVL72 data sheet"
_INSIDE: Final = "not public; the simplest is taken"
_TEXTBOOK: Final = "a textbook network; the simplest is taken"
_RATE: Final = Figure("bandwidth", 50, "GB/s", "assumed", "a port of 400 Gb/s")
_LATENCY: Final = Figure("latency", 250, "ns", "assumed", "a switch with its wires")


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
        construct=shapes.torus,
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
        construct=shapes.planes,
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
        construct=shapes.dragonfly,
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
        construct=shapes.fat_tree,
    ),
)
