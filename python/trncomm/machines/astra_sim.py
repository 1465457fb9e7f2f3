"""Network files of ASTRA-sim's analytical backends."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trncomm import _core
from trncomm.errors import TopologyError
from trncomm.machines.documents import load
from trncomm.machines.figures import hint, known_keys, mapping

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from trncomm.machines.documents import Data

__all__ = ["read_astra_sim"]

_KEYS: Final = ("topology", "npus_count", "bandwidth", "latency")
_KINDS: Final = ("Ring", "FullyConnected", "Switch")
_GIB: Final = 2**30
_MOST_LINKS: Final = 2**20


def read_astra_sim(path: str | os.PathLike[str]) -> _core.Topology:
    r"""Read the network file of ASTRA-sim's analytical backends.

    The first dimension of the file is the nearest: the last extent here. A bandwidth is of one link and direction, and
    what the file calls a GB/s is 2**30 bytes a second, as ASTRA-sim takes it. Rings make a ring or a torus, one
    dimension alone its named shape, and a mixture a list of links, with a switch for each line of a `Switch`.
    A switch is passed over two links, each with the latency of its dimension.

    Raises:
        OSError: It can't be read.
        TopologyError: It isn't such a file, or describes what can't be built.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "network.yml"
        >>> text = "topology: [Ring, Ring]\nnpus_count: [4, 2]\nbandwidth: [50.0, 25.0]\nlatency: [500.0, 2000.0]"
        >>> written = path.write_text(text)
        >>> read_astra_sim(path).shape
        (2, 4)
    """
    try:
        given = mapping(load(Path(path)), "a network file of ASTRA-sim")
        known_keys(given, _KEYS, "the file")
        dimensions = _dimensions(given)
        return _build(dimensions).with_name(Path(path).stem)
    except TopologyError as error:
        text = str(error)
        raise TopologyError(text if text.startswith(f"{path}:") else f"{path}: {text}") from None


class _Dimension:
    """One dimension: how its chips are joined, how many there are, and by what links."""

    def __init__(self, kind: Data, npus: Data, bandwidth: Data, latency: Data) -> None:
        if kind not in _KINDS:
            raise TopologyError(f"unknown topology {kind!r}; {hint(str(kind), _KINDS)}")
        if isinstance(npus, bool) or not isinstance(npus, int) or npus < 1:
            raise TopologyError(f"npus_count must be whole numbers of at least 1, got {npus!r}")
        self.kind, self.extent = str(kind), npus
        self.bandwidth = int(_decimal("bandwidth", bandwidth, least=Fraction(1, _GIB)) * _GIB)
        self.latency = int(_decimal("latency", latency, least=Fraction(0)) * 1000)

    def links(self) -> int:
        """Links of one line."""
        if self.kind == "Switch":
            return 2 * self.extent
        return self.extent * (self.extent - 1) if self.kind == "FullyConnected" else 2 * self.extent

    def cables(self, line: list[int]) -> Iterator[tuple[int, int]]:
        """The two ends of each cable of a line of chips without a switch."""
        if self.kind == "FullyConnected":
            yield from ((one, other) for place, one in enumerate(line) for other in line[place + 1 :])
            return
        yield from pairwise(line)
        if self.extent > 2:
            yield line[-1], line[0]


def _decimal(name: str, value: Data, *, least: Fraction) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise TopologyError(f"{name} must be numbers below 1e15, got {value!r}")
    number = Fraction(str(value))
    if number < least:
        raise TopologyError(f"{name} must be {'above 0' if least else 'at least 0'}, got {value!r}")
    return number


def _dimensions(given: dict[str, Data]) -> list[_Dimension]:
    columns: list[list[Data]] = []
    for key in _KEYS:
        column = given.get(key)
        if not isinstance(column, list) or not column:
            raise TopologyError(f"{key} must be a list with an entry for each dimension, got {column!r}")
        columns.append(column)
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{key} {len(column)}" for key, column in zip(_KEYS, columns, strict=True))
        raise TopologyError(f"all lists must have an entry for each dimension, got {counts}")
    return [_Dimension(*entries) for entries in zip(*columns, strict=True)]


def _build(dimensions: list[_Dimension]) -> _core.Topology:
    kinds = {dimension.kind for dimension in dimensions}
    if kinds == {"Ring"}:
        outermost = dimensions[::-1]
        return _core.Topology.torus(
            [dimension.extent for dimension in outermost],
            bandwidth=[dimension.bandwidth for dimension in outermost],
            latency=[dimension.latency for dimension in outermost],
        )
    if len(dimensions) == 1:
        only = dimensions[0]
        shape = _core.Topology.switch if only.kind == "Switch" else _core.Topology.fully_connected
        return shape(only.extent, bandwidth=only.bandwidth, latency=only.latency)
    return _mixture(dimensions)


def _mixture(dimensions: list[_Dimension]) -> _core.Topology:
    ranks = prod(dimension.extent for dimension in dimensions)
    links = sum(ranks // dimension.extent * dimension.links() for dimension in dimensions)
    if links > _MOST_LINKS:
        raise TopologyError(f"a mixture of dimensions has at most {_MOST_LINKS:,} links, this one {links:,}")
    rows: list[tuple[int, int, int, int, str]] = []
    switches, stride = 0, 1
    for number, dimension in enumerate(dimensions):
        tier = f"{dimension.kind} {number}"
        for first in (rank for rank in range(ranks) if rank // stride % dimension.extent == 0):
            line = [first + place * stride for place in range(dimension.extent)]
            if dimension.kind == "Switch":
                cables: Iterator[tuple[int, int]] = iter([(chip, ranks + switches) for chip in line])
                switches += 1
            else:
                cables = dimension.cables(line)
            for one, other in cables:
                rows += [
                    (one, other, dimension.bandwidth, dimension.latency, tier),
                    (other, one, dimension.bandwidth, dimension.latency, tier),
                ]
        stride *= dimension.extent
    return _core.Topology.from_links(ranks, rows, switches=switches)
