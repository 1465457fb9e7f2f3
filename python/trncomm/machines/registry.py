"""Machines by name: what there is, the figures of each, and a build with some of them changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trncomm.errors import TopologyError
from trncomm.machines import clusters, others, trainium
from trncomm.machines.figures import hint
from trncomm.machines.settings import dress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trncomm import _core
    from trncomm.machines.figures import Figure, Machine, Profile, Value

__all__ = ["build_preset", "figures", "machine", "names"]

_MACHINES: Final[Mapping[str, Machine]] = {
    machine.name: machine for machine in (*trainium.MACHINES, *clusters.MACHINES, *others.MACHINES)
}


def names() -> tuple[str, ...]:
    """List the machines that can be built by name.

    Examples:
        >>> names()[:3]
        ('trn1', 'trn1n', 'trn2')
    """
    return tuple(_MACHINES)


def machine(name: str) -> Machine:
    """The machine of that name; underscores count as hyphens.

    Raises:
        TopologyError: No such machine.
    """
    found = _MACHINES.get(name.lower().replace("_", "-"))
    if found is None:
        raise TopologyError(f"unknown machine {name!r}; {hint(name, names())}")
    return found


def figures(name: str, *, profile: Profile | None = None) -> tuple[Figure, ...]:
    """List every figure that a machine is built from, with its source.

    Examples:
        >>> for figure in figures("trn3-ultraserver")[3:5]:
        ...     print(figure.name, figure, figure.label, sep=" | ")
        server_bandwidth | 256 GB/s | published
        server_latency | 125 ns | assumed

    Raises:
        TopologyError: No such machine or profile.
    """
    profiles = machine(name).profiles
    if profile is None:
        return next(iter(profiles.values()))
    if profile not in profiles:
        raise TopologyError(f"unknown profile {profile!r} of {name}; {hint(profile, tuple(profiles))}")
    return profiles[profile]


def build_preset(
    name: str, *, profile: Profile | None = None, overrides: Mapping[str, object] | None = None
) -> _core.Topology:
    """Build a machine of `names()`, with some of its figures changed.

    Args:
        name: One of `names()`.
        profile: Whose figures to follow; the machine's first profile if not given.
        overrides: New values by the figure's name: numbers, texts with a unit, tuples of numbers, or None to leave the
            figure out.

    Raises:
        TopologyError: No such machine, profile or figure, or a value that can't be built.
        ArgumentError: A rate, duration or size that can't be read.

    Examples:
        >>> build_preset("trn3-ultraserver", overrides={"servers": 4}).ranks
        32
    """
    values: dict[str, Value] = {
        figure.name: f"{figure.value}{figure.unit}" if figure.value is not None and figure.unit else figure.value
        for figure in figures(name, profile=profile)
    }
    for key, value in (overrides or {}).items():
        if key not in values:
            raise TopologyError(f"{name} has no figure {key!r}; {hint(key, tuple(values))}")
        if not (value is None or isinstance(value, int | str | tuple)):
            raise TopologyError(f"{key} must be a number, a text or numbers in a tuple, got {value!r}")
        values[key] = value
    found = machine(name)
    found.check_ranks(values)
    return dress(found.construct(values), values).with_name(found.name)
