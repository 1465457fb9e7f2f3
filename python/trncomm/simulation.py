"""The short way from a collective to its time: build, verify, run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from trncomm import _core, choice, quantities
from trncomm.choice import Candidate, Choice
from trncomm.errors import AlgorithmError, ArgumentError, NoEffectWarning, SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np

    from trncomm.quantities import Dtype, Duration, Size

__all__ = ["Model", "Parameter", "Progress", "estimate", "reducing_in", "simulate"]

Model: TypeAlias = Literal["loggp", "flow", "packet"]
"""What contends: a rank's own ports alone ("loggp"); or every link on the way, shared like a fluid ("flow") or packet
by packet ("packet")."""

Parameter: TypeAlias = "int | str | Sequence[int]"
"""What an algorithm can be told: a number, a name, or numbers in a row."""

Progress: TypeAlias = "Callable[[float, int], None]"
"""Called now and then with the share done, from 0 to 1, and the simulated time in picoseconds."""
_MOVES_ONLY: Final = {"all_gather", "all_to_all", "broadcast", "gather", "scatter", "barrier", "send_recv", "permute"}


def simulate(
    topology: _core.Topology,
    collective: str,
    size: Size,
    *,
    algorithm: str | Sequence[str],
    op: str | None = None,
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
    memory_limit: Size | None = None,
    time_limit: Duration | None = None,
    progress: Progress | None = None,
) -> _core.Result:
    """Simulate one collective and say how long it takes.

    Short for `build`, `verify` and `run`, on `topology.with_faults(faults)`.

    Args:
        topology: The network.
        collective: Its name, such as "all_reduce"; the names of nccom-test, JAX and MPI are read too.
        size: The larger of a rank's input and output, in bytes: for an all-gather the gathered output,
            for a reduce-scatter the whole input.
        algorithm: Its name; `algorithms(collective)` lists them. "auto" follows Neuron's published rules on Trainium
            presets; "best" runs all that serve and takes the fastest, a list of names those. `Result.choice` then says
            what was taken, and why.
        op: What a reduction does, "sum", "avg", "min" or "max": read and checked, the time is the same.
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
        memory_limit: Refuse a run that is estimated to take more; all memory that is free if not given.
        time_limit: Refuse a run that is estimated to take longer on a processor, leaps apart; no limit if not given.
        progress: Called a few times a second on long runs.

    Raises:
        TopologyError: A fault on something that isn't there, or ranks that no path joins any more.
        AlgorithmError: An unknown name, or an algorithm that can't serve this topology.
        ScheduleError: The schedule failed its proof.
        SimulationError: The run couldn't end, or would cost more than it may.
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

        The fastest of all that serve:

        >>> best = tc.simulate(ring, "all_reduce", "1MiB", algorithm="best")
        >>> best.algorithm, best.choice.candidates[0].time_ps == best.time_ps
        ('swing_torus', True)
    """
    topology = topology.with_faults(faults)
    _check_reduction(collective, op)
    element = quantities.dtype(dtype)
    runner = _Runner(
        topology=topology,
        reducing=reducing_in(topology, element, reduce_dtype),
        collective=collective,
        size_bytes=element.whole(size),
        element=element,
        root=root,
        pad=pad,
        fold=fold,
        leap=leap,
        memory_limit=memory_limit,
        time_limit=time_limit,
        progress=progress,
    )
    if isinstance(algorithm, str) and algorithm.lower() not in {"auto", "best"}:
        schedule = runner.build(algorithm, parameters)
        if verify:
            _core.verify(schedule)
        return runner.run(schedule, model)
    if parameters:
        raise AlgorithmError(f"parameters belong to an algorithm, but algorithm={algorithm!r} names none")
    if algorithm == "auto":
        return _by_rule(runner, model, verify=verify)
    names = [known.name for known in _core.algorithms(collective)] if isinstance(algorithm, str) else list(algorithm)
    return _best(runner, names, model, verify=verify)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    """What all candidates for one simulation share."""

    topology: _core.Topology
    reducing: _core.Topology
    collective: str
    size_bytes: int
    element: Dtype
    root: int
    pad: bool
    fold: bool
    leap: bool
    memory_limit: Size | None
    time_limit: Duration | None
    progress: Progress | None

    def build(self, algorithm: str, parameters: Mapping[str, Parameter] | None = None) -> _core.Schedule:
        return _core.build(self.topology, self.collective, algorithm, root=self.root, parameters=parameters)

    def run(self, schedule: _core.Schedule, model: Model) -> _core.Result:
        return _core.run(
            self.reducing,
            schedule,
            _whole(self.size_bytes, self.element, schedule, pad=self.pad),
            itemsize=self.element.itemsize,
            model=model,
            fold=self.fold,
            leap=self.leap,
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
            progress=self.progress,
        )


def _by_rule(runner: _Runner, model: Model, *, verify: bool) -> _core.Result:
    """Take what Neuron's rule names first and the topology can have."""
    rule = choice.rule(runner.topology, runner.collective, runner.size_bytes)
    passed: list[Candidate] = []
    for name, parameters, meaning in rule.wishes:
        try:
            schedule = runner.build(name, parameters)
        except AlgorithmError as error:
            passed.append(Candidate(name, None, str(error)))
            continue
        if verify:
            _core.verify(schedule)
        result = runner.run(schedule, model)
        skipped = "".join(f"; {other.algorithm} can't serve" for other in passed)
        reason = f"{rule.reason}{skipped}; {name}: {meaning}"
        taken = Candidate(name, result.time_ps, meaning)
        result.remember(Choice("auto", name, reason, (*passed, taken)))
        return result
    raise AlgorithmError("; ".join(candidate.note for candidate in passed))


def _best(runner: _Runner, names: list[str], model: Model, *, verify: bool) -> _core.Result:
    """Run the candidates and take the fastest; of those that take equally long, the first named."""
    passed: list[Candidate] = []
    tried: list[tuple[int, str, _core.Result]] = []
    for name in dict.fromkeys(names):
        try:
            result = runner.run(runner.build(name), model)
        except (AlgorithmError, SimulationError) as error:
            passed.append(Candidate(name, None, str(error)))
        else:
            tried.append((result.time_ps, result.algorithm, result))
    if not tried:
        reasons = "; ".join(f"{candidate.algorithm}: {candidate.note}" for candidate in passed) or "none is known"
        raise AlgorithmError(f"no algorithm for {runner.collective} serves {runner.topology.name}; {reasons}")
    tried.sort(key=lambda trial: trial[0])
    _, name, result = tried[0]
    if verify:
        _core.verify(result.schedule)
    second = f", before {tried[1][1]} by {tried[1][0] - tried[0][0]:,} ps" if len(tried) > 1 else ""
    reason = f"the fastest of {len(tried)} that were run and {len(passed)} that were not{second}"
    ranking = tuple(Candidate(name, time_ps) for time_ps, name, _ in tried)
    result.remember(Choice("best", name, reason, (*ranking, *passed)))
    return result


def _check_reduction(collective: str, op: str | None) -> None:
    """Refuse a reduction that isn't known, or where nothing is reduced."""
    if op is None:
        return
    name = choice.reduction(op)
    if collective.lower().replace("-", "_") in _MOVES_ONLY:
        raise ArgumentError(f"op={name!r} has no meaning for {collective}, which reduces nothing")


def estimate(
    topology: _core.Topology,
    collective: str,
    size: Size,
    *,
    algorithm: str,
    model: Model = "packet",
    dtype: str | np.dtype | Dtype = "uint8",
    root: int = 0,
    parameters: Mapping[str, Parameter] | None = None,
    faults: Iterable[_core.Fault] = (),
    pad: bool = False,
    fold: bool = True,
) -> _core.Estimate:
    """Say what `simulate` will cost, before it is run: messages, memory and time.

    The symmetry is searched for as in the run, which takes a second for 100,000 chips. What leaps save isn't known
    before.

    Args:
        topology: The network.
        collective: Its name.
        size: The larger of a rank's input and output.
        algorithm: Its name.
        model: The network model.
        dtype: The element type.
        root: The root of a collective that has one.
        parameters: Parameters of the algorithm.
        faults: What is wrong with the network.
        pad: Whether the size is rounded up to equal chunks.
        fold: Whether ranks and links that are alike are run once.

    Raises:
        TopologyError: A fault on something that isn't there, or ranks that no path joins any more.
        AlgorithmError: An unknown name, or an algorithm that can't serve this topology.
        ArgumentError: A size, dtype, or option that can't be read.

    Examples:
        >>> import trncomm as tc
        >>> cluster = tc.machines.ultracluster(ultraservers=70)
        >>> tc.estimate(cluster, "all_to_all", "8MiB", algorithm="direct", model="flow", pad=True)
        <Estimate: 1 ranks and 11 links to run, 10079 of 101596320 messages, about 8 MiB, up to 0.005 s>
    """
    topology = topology.with_faults(faults)
    schedule = _core.build(topology, collective, algorithm, root=root, parameters=parameters)
    element = quantities.dtype(dtype)
    whole = _whole(size, element, schedule, pad=pad)
    return _core.estimate(topology, schedule, whole, itemsize=element.itemsize, model=model, fold=fold)


def _whole(size: Size, element: Dtype, schedule: _core.Schedule, *, pad: bool) -> int:
    """The size in bytes, rounded up to whole elements, and to equal chunks if padded."""
    unit = element.itemsize * schedule.chunks if pad else 1
    return -(-element.whole(size) // unit) * unit


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
