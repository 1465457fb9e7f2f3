"""Figures of a machine that are assumed, fitted to what was measured."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from trncomm import machines
from trncomm._core import parse_bandwidth, parse_duration, parse_size
from trncomm.errors import ArgumentError
from trncomm.machines.figures import Figure, hint
from trncomm.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from trncomm._core import Topology
    from trncomm.quantities import Size
    from trncomm.simulation import Model

__all__ = ["Calibration", "Measurement", "Residual", "calibrate"]

_DURATIONS: Final = frozenset({"ns", "us", "ms", "s", "ps"})
_REACH: Final = math.log(1000)
_DEFAULT: Final = ("launch", "latency", "bandwidth")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one collective took on a real machine.

    Attributes:
        collective: Its name.
        algorithm: The algorithm that ran.
        size: The larger of a rank's input and output, in bytes or as text.
        time_us: Microseconds.
    """

    collective: str
    algorithm: str
    size: Size
    time_us: float

    def __post_init__(self) -> None:
        """Refuse times that no run can take."""
        if not (math.isfinite(self.time_us) and self.time_us > 0):
            raise ArgumentError(f"a measured time must be a positive number of microseconds, got {self.time_us!r}")


@dataclass(frozen=True, slots=True)
class Residual:
    """A measurement beside what the fitted machine takes.

    Attributes:
        measurement: What was measured.
        simulated_us: What the fitted machine takes, in microseconds.
        held_out: Whether the fit didn't see it.
    """

    measurement: Measurement
    simulated_us: float
    held_out: bool

    @property
    def error(self) -> float:
        """How far the simulated time is off, as a share of the measured one."""
        return self.simulated_us / self.measurement.time_us - 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """A machine fitted to measurements, and how well it fits.

    Attributes:
        machine: The fitted machine; its name says what it was calibrated from.
        figures: What was fitted, with the source "calibrated from …".
        residuals: All measurements, in the order given.
    """

    machine: Topology
    figures: tuple[Figure, ...]
    residuals: tuple[Residual, ...]

    @property
    def fit_error(self) -> float:
        """The root mean square of the errors of the measurements that were fitted to."""
        return _spread([residual.error for residual in self.residuals if not residual.held_out])

    @property
    def held_out_error(self) -> float | None:
        """The same of those that were held out; nothing if none were."""
        errors = [residual.error for residual in self.residuals if residual.held_out]
        return _spread(errors) if errors else None


def calibrate(
    machine: str,
    measurements: Iterable[Measurement],
    *,
    fit: Sequence[str] = _DEFAULT,
    model: Model = "flow",
    held_out: int = 5,
    source: str = "measurements",
) -> Calibration:
    """Fit figures of a machine to measured times.

    Minimises the squares of the logarithms of simulated over measured time, so that short and long runs count alike.
    A figure stays between a thousandth and a thousand times what the machine has.

    Args:
        machine: The name of a machine, as `machines.names()` lists them.
        measurements: What was measured, each with the algorithm that ran.
        fit: The figures to fit, durations and rates, such as "launch", "latency", "bandwidth" and "completion". The
            efficiency of links is their fitted bandwidth over the published one: times show only that product.
        model: The network model.
        held_out: Every how many measurements one is kept from the fit, to test it; 0 for none.
        source: Where the measurements are from, for the source of the fitted figures.

    Raises:
        ArgumentError: Fewer measurements to fit to than figures, a figure that isn't there or isn't a duration or
            a rate, or SciPy isn't installed.
        TopologyError: No such machine.
    """
    rows = tuple(measurements)
    if held_out < 0 or held_out == 1:
        raise ArgumentError(f"held_out must be 0, or 2 or more, got {held_out}: with 1 nothing is left to fit to")
    is_held = [held_out > 0 and number % held_out == held_out - 1 for number in range(len(rows))]
    fitted = [row for row, held in zip(rows, is_held, strict=True) if not held]
    starts = [_start(machine, name) for name in fit]
    if not fit or len(set(fit)) != len(fit):
        raise ArgumentError(f"fit must name figures, each once, got {list(fit)!r}")
    if len(fitted) < len(fit):
        raise ArgumentError(f"{len(fitted)} measurements can't tell {len(fit)} figures; give more, or fit fewer")
    base = [math.log(value) for value, _, _ in starts]

    def build(logarithms: Sequence[float]) -> Topology:
        changed = {
            name: read(math.exp(value)) for name, value, (_, read, _) in zip(fit, logarithms, starts, strict=True)
        }
        return machines.build(machine, overrides=changed)

    def errors(logarithms: Sequence[float]) -> list[float]:
        topology = build(logarithms)
        return [math.log(_simulated(topology, row, model) / row.time_us) for row in fitted]

    # Steps are relative to logarithms of base units, some 10 to 30: far above what whole picoseconds round away.
    lower, upper = ([value + sign * _REACH for value in base] for sign in (-1, 1))
    found = _least_squares()(errors, base, bounds=(lower, upper), diff_step=1e-4, xtol=1e-12)
    logarithms = [float(value) for value in found.x]
    topology = build(logarithms)
    origin = f"calibrated from {source}: {len(fitted)} times of {machine}"
    return Calibration(
        machine=topology.with_name(f"{topology.name}, calibrated from {source}"),
        figures=tuple(
            Figure(name, round(math.exp(value)), unit, "derived", origin)
            for name, value, (_, _, unit) in zip(fit, logarithms, starts, strict=True)
        ),
        residuals=tuple(
            Residual(row, _simulated(topology, row, model), held) for row, held in zip(rows, is_held, strict=True)
        ),
    )


def _start(machine: str, name: str) -> tuple[float, Callable[[float], int], str]:
    """A figure's value in base units, how to give such a value to a machine, and the unit."""
    known = {figure.name: figure for figure in machines.figures(machine)}
    if name not in known:
        raise ArgumentError(f"{machine} has no figure {name!r}; {hint(name, tuple(known))}")
    figure = known[name]
    text = f"{figure.value}{figure.unit}"
    if isinstance(figure.value, int) and figure.unit in _DURATIONS:
        # From nothing no factor leads anywhere: a nanosecond is where such a figure starts.
        return float(parse_duration(text) or 1000), lambda value: max(round(value), 1), "ps"
    if isinstance(figure.value, int) and figure.unit.endswith("B/s"):
        return float(parse_bandwidth(text)), lambda value: max(round(value), 1), "B/s"
    raise ArgumentError(f"{name} of {machine} is {figure}, no duration or rate that could be fitted")


def _simulated(topology: Topology, row: Measurement, model: Model) -> float:
    size = parse_size(row.size)
    result = simulate(topology, row.collective, size, algorithm=row.algorithm, model=model, verify=False)
    return max(result.time_ps, 1) / 1e6


def _spread(errors: Sequence[float]) -> float:
    return math.sqrt(sum(error * error for error in errors) / len(errors))


def _least_squares() -> Callable[..., Any]:
    try:
        optimize = importlib.import_module("scipy.optimize")
    except ImportError:
        raise ArgumentError("calibrate needs SciPy: pip install 'trncomm[calibration]'") from None
    found: Callable[..., Any] = optimize.least_squares
    return found
