"""What can go wrong, one class a stage; the Rust core raises these too."""

from __future__ import annotations

__all__ = [
    "AlgorithmError",
    "ArgumentError",
    "NoEffectWarning",
    "ScheduleError",
    "SimulationError",
    "TopologyError",
    "TrncommError",
]


class TrncommError(Exception):
    """Any error of trncomm; those that mean a bad argument are `ValueError`s too."""


class ArgumentError(TrncommError, ValueError):
    """A size, rate, duration, or option that can't be read or is out of its range."""


class TopologyError(TrncommError, ValueError):
    """A topology that can't be built, or a part of one that doesn't exist."""


class AlgorithmError(TrncommError, ValueError):
    """A collective or an algorithm that isn't known, or can't be built as asked."""


class ScheduleError(TrncommError):
    """A schedule that is malformed or doesn't do what its collective promises."""


class SimulationError(TrncommError):
    """A run that can't start on this topology, or can't end."""


class NoEffectWarning(UserWarning):
    """An argument that changes nothing here."""
