"""Networks as plain data, as machine files hold them: named shapes by their figures, others link by link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trncomm import _core
from trncomm.errors import TopologyError
from trncomm.machines.documents import Lines, Numbers
from trncomm.machines.figures import known_keys, mapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from trncomm.machines.documents import Data

__all__ = ["describe", "duration", "network", "rate", "size"]

_NO_LINK: Final[dict[str, Data]] = {"bandwidth": "1B/s", "latency": "0ps"}
"""In the place of links that a shape doesn't have at its extents."""


def rate(bytes_per_second: int) -> str:
    """A rate as a text that reads back as it."""
    return _exact(bytes_per_second, ((10**9, "GB/s"), (10**6, "MB/s"), (1, "B/s")))


def duration(picoseconds: int) -> str:
    """A duration as a text that reads back as it."""
    return _exact(picoseconds, ((10**6, "us"), (10**3, "ns"), (1, "ps")))


def size(count: int) -> str:
    """A size as a text that reads back as it."""
    return _exact(count, ((2**20, "MiB"), (2**10, "KiB"), (1, "B")))


def _exact(value: int, units: tuple[tuple[int, str], ...]) -> str:
    scale, unit = next((scale, unit) for scale, unit in units if value % scale == 0 and (value or scale == 1))
    return f"{value // scale}{unit}"


class _Tiers:
    """The link of each tier: on a named shape all of a tier are alike but for faults."""

    def __init__(self, topology: _core.Topology) -> None:
        numbers, links = np.unique(topology.link_tier, return_index=True)
        self._first = {topology.tiers[number]: int(link) for number, link in zip(numbers, links, strict=True)}
        self._tiers = topology.tiers
        self._rates, self._latencies = topology.link_whole_bandwidth, topology.link_latency_ps

    def __getitem__(self, tier: str | int) -> dict[str, Data]:
        """The link of the tier of that label or place."""
        label = tier if isinstance(tier, str) else self._tiers[tier] if tier < len(self._tiers) else ""
        link = self._first.get(label)
        if link is None:
            return dict(_NO_LINK)
        return {"bandwidth": rate(int(self._rates[link])), "latency": duration(int(self._latencies[link]))}


def describe(topology: _core.Topology) -> dict[str, Data]:
    """The network of a topology as data, without the cores of its chips."""
    cores = topology.ranks_per_chip
    tiers = _Tiers(topology)
    shape = topology.shape[:-1] if cores > 1 else topology.shape
    family = topology.family
    if family == "custom":
        return _describe_links(topology)
    counts = dict(zip(_SHAPES[family].counts, shape, strict=False))
    found: dict[str, Data] = {"shape": family}
    if family in {"mesh", "torus"}:
        found |= {"extents": Numbers(shape), "links": [tiers[number] for number in range(len(shape))]}
    elif family == "ultracluster":
        server = topology.server
        assert server is not None, "a cluster is made of servers"
        leaves: dict[str, Data] = {"racks": topology.racks} if topology.rails is None else {"rails": topology.rails}
        found |= {**counts, **leaves, "server": describe(server)}
        found |= {name: tiers[name] for name in ("leaf", "spine", "core")}
    else:
        switches = topology.nodes - topology.ranks - (topology.ranks // cores if cores > 1 else 0)
        found |= counts
        if family == "switch":
            found["planes"] = switches
        if family == "leaf_spine":
            found["spines"] = switches - shape[0]
        found |= {name: tiers[number] for number, name in enumerate(_SHAPES[family].links)}
    return found


def _describe_links(topology: _core.Topology) -> dict[str, Data]:
    """The links of a list; those of cores, which come last, are left out."""
    cores = topology.ranks_per_chip
    skipped = topology.ranks if cores > 1 else 0
    chips = topology.ranks // cores
    kept = topology.links - 2 * topology.ranks if cores > 1 else topology.links
    rates = {value: rate(value) for value in np.unique(topology.link_whole_bandwidth).tolist()}
    latencies = {value: duration(value) for value in np.unique(topology.link_latency_ps).tolist()}
    rows = list(
        zip(
            (topology.link_source[:kept] - skipped).tolist(),
            (topology.link_destination[:kept] - skipped).tolist(),
            [rates[value] for value in topology.link_whole_bandwidth[:kept].tolist()],
            [latencies[value] for value in topology.link_latency_ps[:kept].tolist()],
            [topology.tiers[tier] for tier in topology.link_tier[:kept].tolist()],
            strict=True,
        )
    )
    # A label is the rest of its line, so that it may have blanks within but no ends of lines.
    is_plain = all(tier and tier == " ".join(tier.split(" ")).strip() and tier.isprintable() for tier in topology.tiers)
    links: Data = (
        Lines("".join(f"{a} {b} {speed} {latency} {tier}\n" for a, b, speed, latency, tier in rows))
        if is_plain
        else [Numbers(row) for row in rows]
    )
    return {"shape": "custom", "ranks": chips, "switches": topology.nodes - skipped - chips, "links": links}


def network(data: Data, where: str) -> _core.Topology:
    """The topology that data describes; errors begin with `where` it is."""
    given = mapping(data, where)
    shape = given.get("shape")
    if shape not in _SHAPES:
        known_keys({str(shape): None}, tuple(_SHAPES), f"{where}.shape")
    kind = _SHAPES[str(shape)]
    known_keys(given, ("shape", *kind.keys), where)
    missing = [key for key in kind.needed if given.get(key) is None]
    if missing:
        raise TopologyError(f"{where}: a {shape} needs {', '.join(missing)}")
    return kind.build(given, where)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a shape is described."""

    counts: tuple[str, ...]
    """What its extents are called."""
    links: tuple[str, ...]
    """The keys of its kinds of links, in the order of its tiers."""
    build: Callable[[dict[str, Data], str], _core.Topology]
    more: tuple[str, ...] = ()
    """Other keys."""
    optional: tuple[str, ...] = ()
    """Other keys that may be left out."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The keys without which there is no such network."""
        return (*self.counts, *self.more, *self.links)

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys."""
        return (*self.needed, *self.optional)


def _link(given: dict[str, Data], key: str, where: str) -> dict[str, int | str]:
    """The rate and the latency of a kind of links."""
    found = mapping(given[key], f"{where}.{key}")
    known_keys(found, ("bandwidth", "latency"), f"{where}.{key}")
    return {name: _quantity(found.get(name), f"{where}.{key}.{name}") for name in ("bandwidth", "latency")}


def _pair(given: dict[str, Data], key: str, where: str) -> tuple[int | str, int | str]:
    found = _link(given, key, where)
    return found["bandwidth"], found["latency"]


def _quantity(value: Data, where: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TopologyError(f"{where} must be a whole number or a text with a unit, got {value!r}")
    return value


def _count(given: dict[str, Data], key: str, where: str) -> int:
    value = given[key]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TopologyError(f"{where}.{key} must be a whole number, got {value!r}")
    return value


def _items(given: dict[str, Data], key: str, where: str) -> list[Data]:
    value = given[key]
    if not isinstance(value, list):
        raise TopologyError(f"{where}.{key} must be a list, got {value!r}")
    return value


def _grid(build: Callable[..., _core.Topology]) -> Callable[[dict[str, Data], str], _core.Topology]:
    def construct(given: dict[str, Data], where: str) -> _core.Topology:
        extents = _items(given, "extents", where)
        counts = [_count({"extents": extent}, "extents", where) for extent in extents]
        if isinstance(given["links"], dict):
            links = [_link(given, "links", where)] * len(counts)
        else:
            each = _items(given, "links", where)
            links = [_link({f"links[{n}]": spec}, f"links[{n}]", where) for n, spec in enumerate(each)]
        if len(links) != len(counts):
            raise TopologyError(
                f"{where}.links must have one entry for each of {len(counts)} extents, got {len(links)}"
            )
        return build(
            counts, bandwidth=[link["bandwidth"] for link in links], latency=[link["latency"] for link in links]
        )

    return construct


def _simple(build: Callable[..., _core.Topology], *counts: str) -> Callable[[dict[str, Data], str], _core.Topology]:
    def construct(given: dict[str, Data], where: str) -> _core.Topology:
        return build(**{name: _count(given, name, where) for name in counts}, **_link(given, "link", where))

    return construct


def _leaf_spine(given: dict[str, Data], where: str) -> _core.Topology:
    down, up = _link(given, "leaf", where), _link(given, "spine", where)
    return _core.Topology.leaf_spine(
        *(_count(given, name, where) for name in ("leaves", "ranks_per_leaf", "spines")),
        bandwidth=down["bandwidth"],
        latency=down["latency"],
        uplink_bandwidth=up["bandwidth"],
        uplink_latency=up["latency"],
    )


def _ultraserver(given: dict[str, Data], where: str) -> _core.Topology:
    kinds = {kind: _link(given, kind, where) for kind in ("server", "rack", "between")}
    links = {f"{kind}_{name}": value for kind, link in kinds.items() for name, value in link.items()}
    build: Callable[..., _core.Topology] = _core.Topology.ultraserver
    return build(*(_count(given, name, where) for name in ("racks", "servers", "chips")), **links)


def _cluster(given: dict[str, Data], where: str) -> _core.Topology:
    racks, rails = (None if given.get(key) is None else _count(given, key, where) for key in ("racks", "rails"))
    server = network(given["server"], f"{where}.server")
    return _core.Topology.cluster(
        server,
        _count(given, "pods", where),
        _count(given, "servers", where),
        racks=racks,
        rails=rails,
        leaf=_pair(given, "leaf", where),
        spine=_pair(given, "spine", where),
        core=_pair(given, "core", where),
    )


def _custom(given: dict[str, Data], where: str) -> _core.Topology:
    links = given["links"]
    rows: list[tuple[int, int, int | str, int | str, str]] = []
    if isinstance(links, str):
        for number, line in enumerate(links.splitlines(), start=1):
            if line.strip():
                rows.append(_row(line.split(maxsplit=4), f"{where}.links, line {number}"))
    else:
        for number, row in enumerate(_items(given, "links", where)):
            rows.append(_row(row, f"{where}.links[{number}]"))
    switches = 0 if given.get("switches") is None else _count(given, "switches", where)
    return _core.Topology.from_links(_count(given, "ranks", where), rows, switches=switches)


def _row(fields: Data | list[str], where: str) -> tuple[int, int, int | str, int | str, str]:
    if not isinstance(fields, list) or len(fields) not in {4, 5}:
        raise TopologyError(f"{where} must be SOURCE DESTINATION BANDWIDTH LATENCY and perhaps a TIER, got {fields!r}")
    ends = []
    for name, value in zip(("source", "destination"), fields[:2], strict=True):
        text = str(value)
        if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 20):
            raise TopologyError(f"{where}: the {name} must be the number of a node, got {value!r}")
        ends.append(int(text))
    tier = fields[4] if len(fields) == 5 else "link"
    if not isinstance(tier, str):
        raise TopologyError(f"{where}: the tier must be a text, got {tier!r}")
    return ends[0], ends[1], _quantity(fields[2], where), _quantity(fields[3], where), tier


_SHAPES: Final[dict[str, _Shape]] = {
    "ring": _Shape(("ranks",), ("link",), _simple(_core.Topology.ring, "ranks")),
    "mesh": _Shape((), ("links",), _grid(_core.Topology.mesh), more=("extents",)),
    "torus": _Shape((), ("links",), _grid(_core.Topology.torus), more=("extents",)),
    "fully_connected": _Shape(("ranks",), ("link",), _simple(_core.Topology.fully_connected, "ranks")),
    "switch": _Shape(("ranks",), ("link",), _simple(_core.Topology.switch, "ranks", "planes"), more=("planes",)),
    "leaf_spine": _Shape(("leaves", "ranks_per_leaf"), ("leaf", "spine"), _leaf_spine, more=("spines",)),
    "ultraserver": _Shape(("racks", "servers", "chips"), ("server", "rack", "between"), _ultraserver),
    "ultracluster": _Shape(
        ("pods", "servers"), ("leaf", "spine", "core"), _cluster, more=("server",), optional=("racks", "rails")
    ),
    "custom": _Shape(("ranks",), (), _custom, more=("links",), optional=("switches",)),
}
