"""Several algorithms for one collective, at several sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trncomm import _core, quantities
from trncomm.errors import AlgorithmError, ArgumentError
from trncomm.simulation import reducing_in
from trncomm.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np

    from trncomm.quantities import Dtype, Size
    from trncomm.simulation import Model, Progress

__all__ = ["DEFAULT_MODEL", "Plan", "compare", "plan"]

DEFAULT_MODEL: Final[Model] = "flow"
"""The network model of a comparison that names none: all links and memories contend in it, at little more than the cost
of "loggp", which overrates algorithms whose messages meet in the middle of the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The runs of a comparison: schedules built and proved, nothing simulated yet."""

    topology: _core.Topology
    """Where they run."""
    collective: str
    """What they do."""
    schedules: tuple[_core.Schedule, ...]
    """One for each algorithm."""
    skipped: Mapping[str, str]
    """The algorithms that can't serve this topology, and why."""
    sizes: tuple[int, ...]
    """The sizes, in bytes."""
    dtype: Dtype
    """The element type."""
    model: Model
    """The network model."""

    def results(self, *, progress: Progress | None = None) -> Iterator[_core.Result]:
        """Run them, size by size, and yield each result as it comes."""
        runs = [(size, schedule) for size in self.sizes for schedule in self.schedules]
        for done, (size, schedule) in enumerate(runs):
            share = None if progress is None else _share(progress, done=done, runs=len(runs))
            if share is not None:
                share(0.0, 0)
            yield _core.run(
                self.topology, schedule, size, itemsize=self.dtype.itemsize, model=self.model, progress=share
            )
        if progress is not None:
            progress(1.0, 0)

    def table(self, results: Sequence[_core.Result]) -> Table:
        """Arrange results of this plan, all of them or the first few, as a table."""
        return Table.from_results(
            results,
            collective=self.collective,
            topology=self.topology,
            dtype=self.dtype,
            model=self.model,
            skipped=self.skipped,
        )


def plan(
    topology: _core.Topology,
    collective: str,
    sizes: Sequence[Size],
    *,
    algorithms: Sequence[str] | None = None,
    model: Model = DEFAULT_MODEL,
    dtype: str | np.dtype | Dtype = "uint8",
    reduce_dtype: str | np.dtype | Dtype | None = None,
    root: int = 0,
    faults: Iterable[_core.Fault] = (),
    verify: bool = True,
) -> Plan:
    """Build and prove the schedules of a comparison; the arguments are those of `compare`."""
    if not sizes:
        raise ArgumentError("sizes must name at least one size, got none")
    topology = topology.with_faults(faults)
    element = quantities.dtype(dtype)
    size_bytes = tuple(element.whole(size) for size in sizes)
    topology = reducing_in(topology, element, reduce_dtype)
    names = [known.name for known in _core.algorithms(collective)] if algorithms is None else algorithms
    schedules: list[_core.Schedule] = []
    skipped: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            schedules.append(_core.build(topology, collective, name, root=root))
        except AlgorithmError as error:
            # One that the caller asked for by name must serve; one of all that are known may not fit.
            if algorithms is not None:
                raise
            skipped[name] = str(error)
    if not schedules:
        # What is wrong with the request, and not with an algorithm for it, is said once.
        if len({*skipped.values()}) == 1:
            raise AlgorithmError(next(iter(skipped.values())))
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items()) or "none is known"
        raise AlgorithmError(f"no algorithm for {collective} serves {topology.name}; {reasons}")
    if verify:
        for schedule in schedules:
            _core.verify(schedule)
    return Plan(
        topology=topology,
        collective=schedules[0].collective,
        schedules=tuple(schedules),
        skipped=skipped,
        sizes=size_bytes,
        dtype=element,
        model=model,
    )


def compare(
    topology: _core.Topology,
    collective: str,
    sizes: Sequence[Size],
    *,
    algorithms: Sequence[str] | None = None,
    model: Model = DEFAULT_MODEL,
    dtype: str | np.dtype | Dtype = "uint8",
    reduce_dtype: str | np.dtype | Dtype | None = None,
    root: int = 0,
    faults: Iterable[_core.Fault] = (),
    verify: bool = True,
    progress: Progress | None = None,
) -> Table:
    """Simulate a collective by several algorithms at several sizes.

    Args:
        topology: The network.
        collective: Its name, such as "all_reduce".
        sizes: Message sizes, as `sizes` makes them.
        algorithms: Their names; all that can serve the topology if not given.
        model: The network model; `simulate` has packets unless told otherwise, a comparison has fluids, in seconds.
        dtype: The element type.
        reduce_dtype: The element type that values are added in, if not that.
        root: The root of a collective that has one.
        faults: What is wrong with the network, as `trncomm.faults` makes it.
        verify: Whether to prove each schedule first, once for all sizes.
        progress: Called with the share of all runs that is done.

    Raises:
        TopologyError: A fault on something that isn't there, or ranks that no path joins any more.
        AlgorithmError: An unknown name, or an algorithm asked for by name that can't serve the topology.
        ScheduleError: A schedule failed its proof.
        SimulationError: A run couldn't end.
        ArgumentError: A size, dtype, or option that can't be read.

    Examples:
        >>> import trncomm as tc
        >>> ring = tc.Topology.ring(8, bandwidth="64GB/s", latency="500ns")
        >>> table = tc.compare(ring, "all_reduce", tc.sizes("1KiB", "1MiB", factor=32), algorithms=["ring"])
        >>> table.size_bytes.tolist()
        [1024, 32768, 1048576]
    """
    planned = plan(
        topology,
        collective,
        sizes,
        algorithms=algorithms,
        model=model,
        dtype=dtype,
        reduce_dtype=reduce_dtype,
        root=root,
        faults=faults,
        verify=verify,
    )
    return planned.table(list(planned.results(progress=progress)))


def _share(progress: Progress, *, done: int, runs: int) -> Progress:
    """Turn one run's progress into that of all runs."""

    def report(fraction: float, time_ps: int) -> None:
        progress((done + fraction) / runs, time_ps)

    return report
