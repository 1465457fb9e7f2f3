"""Machine files: a topology in YAML, with all that it costs and all that is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from trncomm import faults
from trncomm.errors import ArgumentError, TopologyError
from trncomm.machines import networks
from trncomm.machines.documents import Numbers, dump, load
from trncomm.machines.figures import known_keys, mapping
from trncomm.machines.registry import build_preset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trncomm import _core
    from trncomm.machines.documents import Data
    from trncomm.machines.figures import Profile

__all__ = ["build", "is_file", "read", "write"]

_VERSION: Final = 1
_OF_PRESETS: Final = ("machine", "profile", "figures")
_OF_NETWORKS: Final = ("network", "cores", "endpoint", "packets", "fabric")
_ENDPOINT: Final = (
    *("launch", "completion", "reduction_bandwidth", "copy_bandwidth", "queues", "memory_bandwidth", "touches"),
    *("window", "jitter", "seed"),
)
_PACKETS: Final = ("payload", "header")
_FABRIC: Final = ("buffer", "virtual_channels", "arbitration", "queueing", "forwarding", "policy", "seed")
_CORES: Final = ("ranks_per_chip", "bandwidth", "latency")


def is_file(name: str) -> bool:
    """Whether a machine's name is the path of a machine file: it ends as YAML does, or has a directory."""
    return name.endswith((".yaml", ".yml")) or "/" in name or os.sep in name


def build(
    name: str, *, profile: Profile | None = None, overrides: Mapping[str, object] | None = None
) -> _core.Topology:
    """Build a machine by name, or from its file, with some of its figures changed.

    Args:
        name: One of `names()`, or the path of a machine file: what ends in .yaml or .yml, or has a directory.
        profile: Whose figures to follow; the machine's first profile if not given. A file names its own.
        overrides: New values by the figure's name: numbers, texts with a unit, tuples of numbers, or None to leave the
            figure out.

    Raises:
        TopologyError: No such machine, file, profile or figure, or a value that can't be built.
        ArgumentError: A rate, duration or size that can't be read.

    Examples:
        >>> build("trn3-ultraserver", overrides={"servers": 4}).ranks
        32
    """
    if not is_file(name):
        return build_preset(name, profile=profile, overrides=overrides)
    if profile is not None:
        raise TopologyError(f"profile {profile!r} can't be chosen for {name}: a machine file names its own")
    try:
        return read(name, overrides=overrides)
    except OSError as error:
        raise TopologyError(f"{name}: {error.strerror or error}") from None


def write(topology: _core.Topology, path: str | os.PathLike[str]) -> None:
    """Write a topology to a machine file, which `read` reads back as it is.

    Raises:
        OSError: It can't be written.

    Examples:
        >>> import tempfile, trncomm as tc
        >>> path = Path(tempfile.mkdtemp()) / "pair.yaml"
        >>> tc.Topology.ring(2, bandwidth="64GB/s", latency="500ns").write(path)
        >>> print(path.read_text().partition("endpoint:")[0], end="")
        trncomm: 1
        name: ring
        network:
          shape: ring
          ranks: 2
          link:
            bandwidth: 64GB/s
            latency: 500ns
    """
    data: dict[str, Data] = {"trncomm": _VERSION, "name": topology.name, "network": networks.describe(topology)}
    if topology.ranks_per_chip > 1:
        data["cores"] = {
            "ranks_per_chip": topology.ranks_per_chip,
            # The links of cores are the last, and faults may slow them.
            "bandwidth": networks.rate(int(topology.link_whole_bandwidth[-1])),
            "latency": networks.duration(int(topology.link_latency_ps[-1])),
        }
    data |= {
        "endpoint": _endpoint(topology.endpoint),
        "packets": {
            "payload": networks.size(topology.packets.payload_bytes),
            "header": networks.size(topology.packets.header_bytes),
        },
        "fabric": _fabric(topology.fabric),
    }
    if topology.faults:
        data["faults"] = [fault.text for fault in topology.faults]
    dump(data, Path(path))


def read(path: str | os.PathLike[str], *, overrides: Mapping[str, object] | None = None) -> _core.Topology:
    r"""Read a machine file: what `Topology.write` wrote, or a preset with figures of one's own.

    Args:
        path: A YAML file. It has `trncomm: 1` and either `machine`, the name of a preset, with `profile` and
            `figures` to change; or `network`, with `cores`, `endpoint`, `packets` and `fabric`. Both may have a
            `name` and `faults`.
        overrides: Figures to change besides, where the file names a preset.

    Raises:
        OSError: It can't be read.
        TopologyError: It isn't a machine file, has a key that no such file has, or a value that can't be built.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "wide.yaml"
        >>> written = path.write_text("trncomm: 1\nmachine: trn3-ultraserver\nfigures: {rack_bandwidth: 640GB/s}")
        >>> read(path)
        <Topology trn3-ultraserver [2, 18, 4]: 144 ranks, 182 nodes, 720 links>
    """
    data = load(Path(path))
    try:
        return _topology(data, overrides or {})
    # The core names the argument and its value, but doesn't know of the file.
    except (TopologyError, ArgumentError, TypeError) as error:
        raise TopologyError(f"{path}: {error}") from None


def _topology(data: Data, overrides: Mapping[str, object]) -> _core.Topology:
    given = mapping(data, "a machine file")
    known_keys(given, ("trncomm", "name", *_OF_PRESETS, *_OF_NETWORKS, "faults"), "the file")
    if given.get("trncomm") != _VERSION:
        raise TopologyError(f"a machine file begins with 'trncomm: {_VERSION}', got {given.get('trncomm')!r}")
    kinds = [key for key in ("machine", "network") if key in given]
    if len(kinds) != 1:
        raise TopologyError(f"a machine file has either machine or network, got {' and '.join(kinds) or 'neither'}")
    others = _OF_NETWORKS if kinds == ["machine"] else _OF_PRESETS
    if unused := [key for key in others if key in given]:
        raise TopologyError(f"{unused[0]} means nothing in a file with {kinds[0]}")
    if kinds == ["machine"]:
        topology = _preset(given, overrides)
    else:
        if overrides:
            raise TopologyError(f"{next(iter(overrides))} can't be set: the file describes a network and no figures")
        topology = _network(given)
    if given.get("name") is not None:
        topology = topology.with_name(_text(given["name"], "name"))
    broken = given.get("faults") or []
    if not isinstance(broken, list):
        raise TopologyError(f"faults must be a list, got {broken!r}")
    return topology.with_faults([faults.parse(_text(fault, "faults")) for fault in broken]) if broken else topology


def _preset(given: dict[str, Data], overrides: Mapping[str, object]) -> _core.Topology:
    figures = mapping(given.get("figures") or {}, "figures")
    changed = {name: tuple(value) if isinstance(value, list) else value for name, value in figures.items()}
    profile = given.get("profile")
    return build_preset(
        _text(given["machine"], "machine"),
        # A profile that there isn't is refused by name there.
        profile=None if profile is None else cast("Profile", _text(profile, "profile")),
        overrides={**changed, **overrides},
    )


def _network(given: dict[str, Data]) -> _core.Topology:
    topology = networks.network(given["network"], "network")
    cores = _part(given, "cores", _CORES)
    if cores:
        if missing := [key for key in _CORES if key not in cores]:
            raise TopologyError(f"cores needs {', '.join(missing)}")
        topology = topology.with_cores(**cores)
    endpoint = _part(given, "endpoint", _ENDPOINT)
    if isinstance(endpoint.get("touches"), list):
        endpoint["touches"] = tuple(endpoint["touches"])
    # What a part doesn't name stays as it is unless set; values of a wrong kind are refused by name there.
    return (
        topology.with_endpoint(**endpoint)
        .with_packets(**_part(given, "packets", _PACKETS))
        .with_fabric(**_part(given, "fabric", _FABRIC))
    )


def _part(given: dict[str, Data], key: str, known: tuple[str, ...]) -> dict[str, Any]:
    """A part's keywords, whose values are checked where they are used."""
    part = mapping(given.get(key) or {}, key)
    known_keys(part, known, key)
    return dict(part)


def _text(value: Data, where: str) -> str:
    if not isinstance(value, str):
        raise TopologyError(f"{where} must be a text, got {value!r}")
    return value


def _endpoint(endpoint: _core.Endpoint) -> dict[str, Data]:
    """The costs that there are."""
    found: dict[str, Data] = {
        "launch": networks.duration(endpoint.launch_ps),
        "completion": networks.duration(endpoint.completion_ps),
        "reduction_bandwidth": _optional(networks.rate, endpoint.reduction_bandwidth),
        "copy_bandwidth": _optional(networks.rate, endpoint.copy_bandwidth),
        "queues": endpoint.queues,
        "memory_bandwidth": _optional(networks.rate, endpoint.memory_bandwidth),
        "touches": None if endpoint.memory_bandwidth is None else Numbers(endpoint.touches),
        "window": _optional(networks.size, endpoint.window_bytes),
        "jitter": networks.duration(endpoint.jitter_ps),
        "seed": endpoint.seed,
    }
    return {name: value for name, value in found.items() if value is not None}


def _fabric(fabric: _core.Fabric) -> dict[str, Data]:
    found: dict[str, Data] = {
        "buffer": _optional(networks.size, fabric.buffer_bytes),
        "virtual_channels": fabric.virtual_channels,
        "arbitration": fabric.arbitration,
        "queueing": fabric.queueing,
        "forwarding": fabric.forwarding,
        "policy": fabric.policy,
        "seed": fabric.seed,
    }
    return {name: value for name, value in found.items() if value is not None}


def _optional(text: Callable[[int], str], value: int | None) -> str | None:
    return None if value is None else text(value)
