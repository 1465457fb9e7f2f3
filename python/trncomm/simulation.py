"""The short way from a collective to its time: build, verify, run."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias

from trncomm import _core, quantities
from trncomm.errors import NoEffectWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np

    from trncomm.quantities import Dtype, Size

__all__ = ["Model", "Parameter", "Progress", "reducing_in", "simulate"]

Model: TypeAlias = Literal["loggp", "flow", "packet"]
"""What contends: a rank's own ports alone ("loggp"); or every link on the way, shared like a fluid ("flow") or packet
by packet ("packet")."""

Parameter: TypeAlias = "int | str | Sequence[int]"
"""What an algorithm can be told: a number, a name, or numbers in a row."""

Progress: TypeAlias = "Callable[[float, int], None]"
"""Called now and then with the share done, from 0 to 1, and the simulated time in picoseconds."""


def simulate(
    topology: _core.Topology,
    collective: str,
    size: Size,
    *,
    algorithm: str,
    model: Model = "packet",
    dtype: str | np.dtype | Dtype = "uint8",
    reduce_dtype: str | np.dtype | Dtype | None = None,
    root: int = 0,
    parameters: Mapping[str, Parameter] | None = None,
    faults: Iterable[_core.Fault] = (),
    verify: bool = True,
    pad: bool = False,
    fold: bool = True,
    leap: bool = True,
    progress: Progress | None = None,
) -> _core.Result:
    """Simulate one collective and say how long it takes.

    Short for `build`, `verify` and `run`, on `topology.with_faults(faults)`.

    Args:
        topology: The network.
        collective: Its name, such as "all_reduce"; the names of nccom-test, JAX and MPI are read too.
        size: The larger of a rank's input and output, in bytes: for an all-gather the gathered output,
            for a reduce-scatter the whole input.
        algorithm: Its name; `algorithms(collective)` lists them.
        model: The network model.
        dtype: The element type. Chunks differ by at most one element. "mxfp8" and "mxfp4" travel in blocks of 32
            elements with a scale, 33 and 17 bytes, and a size is rounded up to whole blocks.
        reduce_dtype: The element type that values are added in, if wider or narrower than what travels: a chip's
            reduction rate counts its bytes.
        root: The root of a collective that has one.
        parameters: Parameters of the algorithm.
        faults: What is wrong with the network, as `trncomm.faults` makes it.
        verify: Whether to prove first that the schedule does what the collective promises.
        pad: Whether the size is rounded up to equal chunks, by less than one element a chunk; `Result.size_bytes` is
            then what was simulated. Where chunks differ, ranks do too and can't be folded.
        fold: Whether ranks and links that are alike are run once; the result is the same.
        leap: Whether what repeats is run once and counted; the result is the same.
        progress: Called a few times a second on long runs.

    Raises:
        TopologyError: A fault on something that isn't there, or ranks that no path joins any more.
        AlgorithmError: An unknown name, or an algorithm that can't serve this topology.
        ScheduleError: The schedule failed its proof.
        SimulationError: The run couldn't end.
        ArgumentError: A size, dtype, or option that can't be read.

    Examples:
        A ring of four chips moves a chunk of 256 KiB in each of its six steps:

        >>> import trncomm as tc
        >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
        >>> result = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring")
        >>> result.time_ps == 6 * (500_000 + 4_096_000)
        True

        With a cable down, traffic between its ends goes the long way round:

        >>> cut = tc.simulate(
        ...     ring, "all_reduce", "1MiB", algorithm="ring", faults=[tc.link_down((0, 1), both=True)]
        ... )
        >>> cut.time_ps > result.time_ps
        True
    """
    topology = topology.with_faults(faults)
    schedule = _core.build(topology, collective, algorithm, root=root, parameters=parameters)
    if verify:
        _core.verify(schedule)
    element = quantities.dtype(dtype)
    unit = element.itemsize * schedule.chunks if pad else 1
    return _core.run(
        reducing_in(topology, element, reduce_dtype),
        schedule,
        -(-element.whole(size) // unit) * unit,
        itemsize=element.itemsize,
        model=model,
        fold=fold,
        leap=leap,
        progress=progress,
    )


def reducing_in(topology: _core.Topology, wire: Dtype, reduce_dtype: str | np.dtype | Dtype | None) -> _core.Topology:
    """The topology whose chips add values of another type than travels, at their rate in bytes of that type."""
    if reduce_dtype is None:
        return topology
    added = quantities.dtype(reduce_dtype)
    rate = topology.endpoint.reduction_bandwidth
    if rate is None:
        message = f"reduce_dtype={added.name!r} has no effect: {topology.name} charges no time for reducing"
        warnings.warn(message, NoEffectWarning, stacklevel=3)
        return topology
    # Bytes that travel, a second: those of as many elements.
    slowed = rate * wire.itemsize * added.block // (added.itemsize * wire.block)
    return topology.with_endpoint(reduction_bandwidth=max(slowed, 1))
