"""Machines as published: every figure with its source, and each of them open to change.

A preset is a topology built from a table of figures. A figure is *published* by the maker, *derived* from published
figures by arithmetic, or *assumed* where nothing is public; `figures` shows the table, and every figure is a keyword.
Any topology can be written to a machine file, and read back as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from trncomm.machines.astra_sim import read_astra_sim
from trncomm.machines.figures import Figure, Label, Machine, Profile
from trncomm.machines.files import build, is_file, read, write
from trncomm.machines.groups import GroupCheck, check_group
from trncomm.machines.registry import figures, machine, names
from trncomm.machines.settings import Settings

if TYPE_CHECKING:
    from trncomm._core import Topology
    from trncomm.quantities import Duration, Rate

__all__ = [
    "Figure",
    "GroupCheck",
    "Label",
    "Machine",
    "Profile",
    "Settings",
    "build",
    "check_group",
    "dragonfly",
    "fat_tree",
    "figures",
    "is_file",
    "machine",
    "names",
    "nvlink_72",
    "rainier",
    "read",
    "read_astra_sim",
    "tpu_v4_pod",
    "trn1",
    "trn1_ultracluster",
    "trn1n",
    "trn1n_ultracluster",
    "trn2",
    "trn2_ultracluster",
    "trn2_ultraserver",
    "trn2_ultraserver_cluster",
    "trn3_ultracluster",
    "trn3_ultracluster_gen1",
    "trn3_ultraserver",
    "trn3_ultraserver_gen1",
    "ultracluster",
    "write",
]


class _Network(Settings, total=False):
    """Keywords of a machine whose links are alike."""

    bandwidth: Rate
    """Of a link, each way."""
    latency: Duration
    """Of a link and what receives from it."""


class _Torus(_Network, total=False):
    """Keywords of a torus."""

    shape: tuple[int, ...]
    """Chips along each dimension, the last one counting fastest."""


class _Cores(Settings, total=False):
    """Keywords of machines whose chips can run several ranks."""

    ranks_per_chip: int
    """Ranks of a chip, logical cores of Neuron; what is a chip's is shared among them."""
    core_bandwidth: Rate
    """From a rank to its chip, each way; means nothing with 1 rank a chip."""
    core_latency: Duration
    """Of that link; a path between ranks of one chip passes two."""


class _Fabric(Settings, total=False):
    """Keywords of a network between servers."""

    pod: int
    """Servers below one set of spines."""
    rails: int
    """Leaves of a pod, each for chips in equal places of its servers; a leaf a rack if left out."""
    fabric_bandwidth: Rate
    """From a chip to its leaf."""
    fabric_latency: Duration
    """Of that link; a path passes two."""
    switch_latency: Duration
    """Of a link between leaf and spine, or spine and core."""
    oversubscription: int
    """How many times less rate the links above leaves have than those below."""


class _Instance(_Torus, _Cores, total=False):
    """Keywords of an instance that is a torus."""


class _InstanceCluster(_Instance, _Fabric, total=False):
    """Keywords of many instances that are tori."""

    instances: int
    """How many."""


class _TorusOfInstances(_Instance, total=False):
    """Keywords of instances that are tori, joined by rings."""

    instances: int
    """How many."""
    between_bandwidth: Rate
    """Of a link between instances, each way."""
    between_latency: Duration
    """Of that link."""


class _UltraServer(_Cores, total=False):
    """Keywords of a switched UltraServer; bandwidths are of one chip, each way."""

    racks: int
    """Racks."""
    servers: int
    """Servers a rack."""
    chips: int
    """Chips a server."""
    server_bandwidth: Rate
    """From a chip to its server's switch."""
    server_latency: Duration
    """Of that link; a path within a server passes two."""
    rack_bandwidth: Rate
    """From a chip to its rack's switch."""
    rack_latency: Duration
    """Of that link; a path within a rack passes two."""
    between_bandwidth: Rate
    """From a chip to the chip in its position in another rack."""
    between_latency: Duration
    """Of that link."""


class _UltraCluster(_UltraServer, _Fabric, total=False):
    """Keywords of many switched UltraServers."""

    ultraservers: int
    """How many."""


class _ToriCluster(_TorusOfInstances, _Fabric, total=False):
    """Keywords of many UltraServers that are tori."""

    ultraservers: int
    """How many."""


class _Planes(_Network, total=False):
    """Keywords of chips under one level of switches."""

    ranks: int
    """Chips."""
    planes: int
    """Switches, and links of a chip."""


class _Dragonfly(_Network, total=False):
    """Keywords of a dragonfly."""

    chips: int
    """Chips a router."""
    routers: int
    """Routers a group."""
    global_links: int
    """Cables of a router to other groups."""


class _FatTree(_Network, total=False):
    """Keywords of a fat tree."""

    ports: int
    """Ports a switch."""


def trn1(**changed: Unpack[_Instance]) -> Topology:
    """Build trn1.32xlarge: 16 Trainium1 chips on a 4 by 4 torus.

    What is not given is as `figures("trn1")` lists it; so with all machines.

    Raises:
        TopologyError: A value that can't be built, such as a bandwidth of zero.
        ArgumentError: A rate, duration or size that can't be read.

    Examples:
        >>> import trncomm as tc
        >>> tc.machines.trn1().shape
        (4, 4)
    """
    return build("trn1", overrides=changed)


def trn1n(**changed: Unpack[_Instance]) -> Topology:
    """Build trn1n.32xlarge: as `trn1`, with links of twice the rate."""
    return build("trn1n", overrides=changed)


def trn2(**changed: Unpack[_Instance]) -> Topology:
    """Build trn2.48xlarge: 16 Trainium2 chips on a 4 by 4 torus.

    A chip's memory is part of it: it binds large reductions before the links do.
    """
    return build("trn2", overrides=changed)


def trn2_ultraserver(**changed: Unpack[_TorusOfInstances]) -> Topology:
    """Build the Trn2 UltraServer: four instances of 16 chips, equal places joined in rings of slower links.

    Examples:
        >>> import trncomm as tc
        >>> tc.machines.trn2_ultraserver().shape
        (4, 4, 4)
    """
    return build("trn2-ultraserver", overrides=changed)


def trn1_ultracluster(**changed: Unpack[_InstanceCluster]) -> Topology:
    """Build trn1 instances on a network of leaves, spines and cores: 1,875 of them unless set, 30,000 chips."""
    return build("trn1-ultracluster", overrides=changed)


def trn1n_ultracluster(**changed: Unpack[_InstanceCluster]) -> Topology:
    """Build trn1n instances on a network of leaves, spines and cores: as `trn1_ultracluster`, with twice the rates."""
    return build("trn1n-ultracluster", overrides=changed)


def trn2_ultracluster(**changed: Unpack[_InstanceCluster]) -> Topology:
    """Build trn2 instances on a network of leaves, spines and cores: 1,024 of them unless set, 16,384 chips.

    Examples:
        >>> import trncomm as tc
        >>> tc.machines.trn2_ultracluster(instances=32, ranks_per_chip=4).shape
        (2, 16, 4, 4, 4)
    """
    return build("trn2-ultracluster", overrides=changed)


def trn2_ultraserver_cluster(**changed: Unpack[_ToriCluster]) -> Topology:
    """Build Trn2 UltraServers on a network of leaves, spines and cores: 256 of them unless set, 16,384 chips."""
    return build("trn2-ultraserver-cluster", overrides=changed)


def rainier(**changed: Unpack[_ToriCluster]) -> Topology:
    """Build a cluster as large as Project Rainier: 7,812 Trn2 UltraServers, about 500,000 Trainium2 chips.

    Takes 300 MB. Flow and loggp run what all chips do alike as one of them.

    Examples:
        >>> import trncomm as tc
        >>> tc.machines.rainier(ultraservers=24).shape
        (2, 12, 4, 4, 4)
    """
    return build("rainier", overrides=changed)


def trn3_ultraserver(*, profile: Profile = "link-table", **changed: Unpack[_UltraServer]) -> Topology:
    """Build the Trn3 Gen2 UltraServer: 144 chips in 36 servers and 2 racks.

    Each chip reaches the chips of its server over one switch, the other chips of its rack over another, and the
    chip in its own position in the other rack by direct links.

    Args:
        profile: "link-table" follows the maker's table of links, "lane-count" a third party's count of lanes.
        **changed: Figures by name.

    Raises:
        TopologyError: A value that can't be built, such as a bandwidth of zero.
        ArgumentError: A rate, duration or size that can't be read.

    Examples:
        >>> import trncomm as tc
        >>> topology = tc.machines.trn3_ultraserver()
        >>> topology.ranks, topology.shape
        (144, (2, 18, 4))
    """
    return build("trn3-ultraserver", profile=profile, overrides=changed)


def trn3_ultraserver_gen1(*, profile: Profile = "link-table", **changed: Unpack[_UltraServer]) -> Topology:
    """Build the Trn3 Gen1 UltraServer: 64 chips in 2 racks of 16 pairs.

    Its links are not published by level, so that both profiles are assumed; a pair's direct links are taken as a switch
    of two ports.
    """
    return build("trn3-ultraserver-gen1", profile=profile, overrides=changed)


def trn3_ultracluster(*, profile: Profile = "link-table", **changed: Unpack[_UltraCluster]) -> Topology:
    """Build Trn3 Gen2 UltraServers on a network of leaves, spines and cores: 700 of them unless set, 100,800 chips.

    Examples:
        >>> import trncomm as tc
        >>> tc.machines.trn3_ultracluster(ultraservers=20).shape
        (2, 10, 2, 18, 4)
    """
    return build("trn3-ultracluster", profile=profile, overrides=changed)


def trn3_ultracluster_gen1(*, profile: Profile = "link-table", **changed: Unpack[_UltraCluster]) -> Topology:
    """Build Trn3 Gen1 UltraServers on a network of leaves, spines and cores: 1,568 of them unless set."""
    return build("trn3-ultracluster-gen1", profile=profile, overrides=changed)


ultracluster = trn3_ultracluster
"""The reference system."""


def tpu_v4_pod(**changed: Unpack[_Torus]) -> Topology:
    """Build a 3D torus as in a TPU v4 pod, to compare with."""
    return build("tpu-v4-pod", overrides=changed)


def nvlink_72(**changed: Unpack[_Planes]) -> Topology:
    """Build a domain of 72 chips under 18 planes of switches, as in a GB200 NVL72, to compare with."""
    return build("nvlink-72", overrides=changed)


def dragonfly(**changed: Unpack[_Dragonfly]) -> Topology:
    """Build a dragonfly, to compare with (Kim et al., ISCA 2008).

    `routers` times `global_links` groups and one more, every two of them joined by one cable.

    Examples:
        >>> import trncomm as tc
        >>> tc.machines.dragonfly(chips=1, routers=2, global_links=1).ranks
        6
    """
    return build("dragonfly", overrides=changed)


def fat_tree(**changed: Unpack[_FatTree]) -> Topology:
    """Build a fat tree of equal switches in three levels, to compare with (Al-Fares et al., SIGCOMM 2008)."""
    return build("fat-tree", overrides=changed)
