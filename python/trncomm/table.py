"""A comparison of algorithms as columns, and as the table that people read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trncomm._core import Result, Topology
    from trncomm.quantities import Dtype
    from trncomm.simulation import Model

__all__ = ["Table"]

_T = TypeVar("_T", bound=np.generic)

_PICOSECONDS_PER_MICROSECOND = 1_000_000
_BYTES_PER_GIGABYTE = 1_000_000_000


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Table:
    """The times of several algorithms at several sizes: one row a run, every column a read-only array.

    It prints as nccom-test prints, with the algorithms side by side and the fastest of each size marked.
    Bandwidths are decimal: a GB is 10⁹ bytes.
    """

    collective: str
    """What was run."""
    topology: str
    """The topology's name."""
    ranks: int
    """How many ranks took part."""
    dtype: str
    """The element type."""
    model: str
    """The network model."""
    algorithm: NDArray[np.str_]
    """The algorithm of each run."""
    size_bytes: NDArray[np.uint64]
    """The larger of a rank's input and output."""
    count: NDArray[np.uint64]
    """The elements in that size."""
    time_ps: NDArray[np.uint64]
    """From the start to the last rank's end, exactly, in picoseconds."""
    time_us: NDArray[np.float64]
    """The same, in microseconds."""
    algbw_GBps: NDArray[np.float64]
    """Size over time."""
    busbw_GBps: NDArray[np.float64]
    """Algorithm bandwidth times the bus factor of nccl-tests and nccom-test."""
    bound_us: NDArray[np.float64]
    """A time that no algorithm can beat on the topology in this model."""
    best: NDArray[np.bool_]
    """Whether no algorithm was faster at that size."""
    skipped: Mapping[str, str]
    """The algorithms that can't serve this topology, and why."""

    @classmethod
    def from_results(
        cls,
        results: Sequence[Result],
        *,
        collective: str,
        topology: Topology,
        dtype: Dtype,
        model: Model,
        skipped: Mapping[str, str],
    ) -> Self:
        """Make a table of runs of one collective on one topology."""
        size_bytes = np.array([result.size_bytes for result in results], dtype=np.uint64)
        time_ps = np.array([result.time_ps for result in results], dtype=np.uint64)
        algbw = np.array([result.algbw for result in results], dtype=np.float64)
        busbw = np.array([result.busbw for result in results], dtype=np.float64)
        bound_ps = np.array([result.bound_ps or 0 for result in results], dtype=np.uint64)
        return cls(
            collective=collective,
            topology=topology.name,
            ranks=topology.ranks,
            dtype=dtype.name,
            model=model,
            algorithm=_freeze(np.array([result.algorithm for result in results], dtype=np.str_)),
            size_bytes=_freeze(size_bytes),
            count=_freeze(size_bytes // np.uint64(dtype.itemsize) * np.uint64(dtype.block)),
            time_ps=_freeze(time_ps),
            time_us=_freeze(time_ps / _PICOSECONDS_PER_MICROSECOND),
            algbw_GBps=_freeze(algbw / _BYTES_PER_GIGABYTE),
            busbw_GBps=_freeze(busbw / _BYTES_PER_GIGABYTE),
            bound_us=_freeze(bound_ps / _PICOSECONDS_PER_MICROSECOND),
            best=_freeze(_fastest(size_bytes, time_ps)),
            skipped=skipped,
        )

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.size_bytes)

    def __repr__(self) -> str:
        """One line: what was compared."""
        algorithms = ", ".join(dict.fromkeys(self.algorithm.tolist()))
        return f"<Table of {self.collective} on {self.topology} ({self.ranks} ranks): {len(self)} runs of {algorithms}>"

    def __str__(self) -> str:
        """The table that people read; in several parts where there are many algorithms."""
        title = f"{self.collective} on {self.topology}: {self.ranks} ranks, {self.dtype}, model {self.model}"
        notes = ["time(us) by algorithm, * the fastest, whose bandwidths are given; GB = 10^9 bytes"]
        if len(self):
            notes.append(f"Avg bus bandwidth: {self.busbw_GBps[self._first_best()].mean():.4f} GB/s")
        notes += [f"left out: {reason}" for reason in self.skipped.values()]
        sizes, times, fastest = self._sizes(), self._times(), self._fastest()
        parts = [_align([*sizes, *times, *fastest])]
        if max(map(len, parts[0])) > _MOST_WIDTH:
            least = _Column(["time(us)"], [_short(time) for time in self.time_us[self._first_best()]])
            parts = [_align([*sizes, least, *fastest]), *_in_parts(sizes[0], times)]
        return "\n".join([title, "", *(line for part in parts for line in [*part, ""]), *notes])

    def _repr_html_(self) -> str:
        columns = [*self._sizes(), *self._times(), *self._fastest()]
        headers = ["\n".join(column.header) for column in columns]
        rows = list(zip(*(column.cells for column in columns), strict=True))
        body: str = tabulate(rows, headers, tablefmt="html", disable_numparse=True)
        return body

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Every column by name, without a copy, for `pandas.DataFrame` and the like.

        What is the same in every run comes as a column too.
        """
        same = {"collective": self.collective, "topology": self.topology, "ranks": self.ranks}
        same |= {"dtype": self.dtype, "model": self.model}
        return {
            **{name: np.broadcast_to(np.array(value), len(self)) for name, value in same.items()},
            "algorithm": self.algorithm,
            "size_bytes": self.size_bytes,
            "count": self.count,
            "time_ps": self.time_ps,
            "time_us": self.time_us,
            "algbw_GBps": self.algbw_GBps,
            "busbw_GBps": self.busbw_GBps,
            "bound_us": self.bound_us,
            "best": self.best,
        }

    def to_json(self) -> str:
        """The runs in the report format of nccom-test, with the algorithm and the exact time beside its keys."""
        results = [
            {
                "size(B)": int(self.size_bytes[row]),
                "count(elems)": int(self.count[row]),
                "type": self.dtype,
                "algorithm": str(self.algorithm[row]),
                "time:avg(us)": float(self.time_us[row]),
                "algbw(GB/s)": float(self.algbw_GBps[row]),
                "busbw(GB/s)": float(self.busbw_GBps[row]),
                "time(ps)": int(self.time_ps[row]),
            }
            for row in range(len(self))
        ]
        report = {
            "collective": self.collective,
            "topology": self.topology,
            "ranks": self.ranks,
            "model": self.model,
            "skipped": dict(self.skipped),
            "results": results,
        }
        return json.dumps(report, indent=2)

    def _first_best(self) -> NDArray[np.intp]:
        """The first of the fastest runs at each size, in the order of the sizes."""
        rows = np.flatnonzero(self.best)
        _, first = np.unique(self.size_bytes[rows], return_index=True)
        return rows[first]

    def _sizes(self) -> list[_Column]:
        """What was moved: a row a size, as in the columns below."""
        rows = self._first_best()
        return [
            _Column(["size(B)"], [str(size) for size in self.size_bytes[rows]]),
            _Column(["count(elems)"], [str(count) for count in self.count[rows]]),
            _Column(["type"], [self.dtype] * len(rows)),
        ]

    def _times(self) -> list[_Column]:
        """A column of times for each algorithm."""
        columns = []
        for algorithm in dict.fromkeys(self.algorithm.tolist()):
            cells = []
            for size in self.size_bytes[self._first_best()]:
                run = np.flatnonzero((self.size_bytes == size) & (self.algorithm == algorithm))
                cells.append("".join(("*" if self.best[row] else "") + _short(self.time_us[row]) for row in run[:1]))
            columns.append(_Column(algorithm.split("_"), cells))
        return columns

    def _fastest(self) -> list[_Column]:
        """What the fastest algorithm of each size came to."""
        rows = self._first_best()
        return [
            _Column(["bound(us)"], [_short(bound) for bound in self.bound_us[rows]]),
            _Column(["algbw(GB/s)"], [_rate(rate) for rate in self.algbw_GBps[rows]]),
            _Column(["busbw(GB/s)"], [_rate(rate) for rate in self.busbw_GBps[rows]]),
            _Column(["algorithm"], self.algorithm[rows].tolist()),
        ]


@dataclass(frozen=True)
class _Column:
    """Texts of a column, under a header of several lines."""

    header: list[str]
    cells: list[str]

    @property
    def width(self) -> int:
        return max(map(len, [*self.header, *self.cells]))


_MOST_WIDTH = 120
"""Characters a line, beyond which a table is cut into parts."""
_GAP = "  "


def _align(columns: Sequence[_Column]) -> list[str]:
    """Lines of right-aligned columns."""
    height = max(len(column.header) for column in columns)
    padded = [
        [text.rjust(column.width) for text in [*[""] * (height - len(column.header)), *column.header, *column.cells]]
        for column in columns
    ]
    return [_GAP.join(line).rstrip() for line in zip(*padded, strict=True)]


def _in_parts(first: _Column, columns: Sequence[_Column]) -> list[list[str]]:
    """The columns as several tables, none too wide, each of which begins with the first column."""
    parts: list[list[_Column]] = [[first]]
    width = first.width
    for column in columns:
        if width + len(_GAP) + column.width > _MOST_WIDTH:
            parts.append([first])
            width = first.width
        parts[-1].append(column)
        width += len(_GAP) + column.width
    return [_align(part) for part in parts]


def _short(number: float) -> str:
    """Four digits or more, so that wide tables stay readable; the columns hold the exact times."""
    return f"{number:.{2 if number < 100 else 1 if number < 1000 else 0}f}"


def _rate(number: float) -> str:
    """Two decimals, as nccom-test gives them, and more where they would all be zeros."""
    return f"{number:.{2 if number >= 1 or number == 0 else 4}f}"


def _freeze(column: NDArray[_T]) -> NDArray[_T]:
    column.flags.writeable = False
    return column


def _fastest(size_bytes: NDArray[np.uint64], time_ps: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each run is as fast as any of its size."""
    distinct, group = np.unique(size_bytes, return_inverse=True)
    least = np.full(len(distinct), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, group, time_ps)
    fastest: NDArray[np.bool_] = time_ps == least[group]
    return fastest
