"""How an algorithm is chosen where none is named: by Neuron's published rules, or by trying."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from math import prod
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from trncomm import _core
from trncomm.errors import AlgorithmError, ArgumentError
from trncomm.machines import clusters, trainium

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Candidate", "Choice", "reduction", "rule"]

_MESH_BELOW: Final = 1 << 20
"""Bytes from which Neuron leaves mesh for RDH (Neuron runtime documentation, intranode-collective-comm)."""
_RDH_UP_TO: Final = 56 << 20
"""Bytes above which Neuron leaves RDH for KangaRing (same page)."""

_REDUCTIONS: Final = {
    "sum": "sum",
    "add": "sum",
    "avg": "avg",
    "average": "avg",
    "mean": "avg",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An algorithm that could have been taken."""

    algorithm: str
    """Its name."""
    time_ps: int | None
    """What it took, in picoseconds; None where it wasn't run to its end."""
    note: str = ""
    """Why it wasn't run, or wasn't taken without a run."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which algorithm was taken, and why."""

    asked: Literal["auto", "best"]
    """What was asked for."""
    algorithm: str
    """What was taken."""
    reason: str
    """Why, in a sentence."""
    candidates: tuple[Candidate, ...]
    """What there was to choose from: the fastest first where they were tried, else in the order of the rule."""

    def __str__(self) -> str:
        """What was taken, and why."""
        return f"{self.algorithm} ({self.asked}): {self.reason}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule says, before it is known whether the algorithms serve."""

    reason: str
    """The rule that applies."""
    wishes: tuple[Wish, ...]
    """The first that serves is taken."""


Wish: TypeAlias = "tuple[str, Mapping[str, str | Sequence[int]], str]"
"""An algorithm, its parameters, and what it stands for."""

_FALLBACK: Final[Wish] = ("ring", {}, "the ring, which Neuron falls back to")
Band: TypeAlias = Literal["small", "medium", "large"]
"""Sizes that a rule treats alike."""


def reduction(name: str) -> str:
    """The reduction of that name: sum, avg, min or max, as other libraries spell them too.

    Examples:
        >>> reduction("average")
        'avg'

    Raises:
        ArgumentError: No such reduction.
    """
    wanted = name.lower()
    found = _REDUCTIONS.get(wanted)
    if found is None:
        near = get_close_matches(wanted, _REDUCTIONS, n=1)
        choices = ", ".join(dict.fromkeys(_REDUCTIONS.values()))
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {choices}"
        raise ArgumentError(f"unknown reduction {name!r}; {hint}")
    return found


def rule(topology: _core.Topology, collective: str, size_bytes: int) -> Rule:
    """What Neuron's rules say of a collective of so many bytes on a Trainium preset.

    Within a scale-up domain Neuron publishes ranges of sizes: mesh, recursive doubling and halving (RDH), KangaRing,
    with the ring for what these don't fit. With one rank a chip its mesh is the direct exchange, and in the place of
    KangaRing, which needs several, stands a ring on every cycle that a torus has. Between machines it takes a
    hierarchy, for which it publishes the order of algorithms but no sizes: those within a domain are taken.

    Raises:
        AlgorithmError: Not a Trainium preset.
    """
    alone, clustered = ({machine.name for machine in group.MACHINES} for group in (trainium, clusters))
    if topology.name not in alone | clustered:
        known_names = ", ".join(sorted(alone | clustered))
        raise AlgorithmError(
            f"algorithm='auto' follows rules for Trainium machines ({known_names}), not for {topology.name!r}; "
            f"name an algorithm, or let 'best' try them"
        )
    if collective not in {"all_reduce", "reduce_scatter", "all_gather"}:
        first: tuple[Wish, ...] = tuple(
            (known.name, {}, "the first listed that serves") for known in _core.algorithms(collective)
        )
        return Rule(f"Neuron publishes no sizes for {collective}", first)
    band: Band
    if size_bytes < _MESH_BELOW:
        band, text = "small", "below 1 MiB Neuron takes mesh"
    elif size_bytes <= _RDH_UP_TO:
        band, text = "medium", "from 1 to 56 MiB Neuron takes RDH, for powers of two"
    else:
        band, text = "large", "above 56 MiB Neuron takes KangaRing"
    if topology.name in alone:
        return Rule(text, (*_within(band, topology), _FALLBACK))
    # The first two extents of a cluster count machines.
    domain = prod(topology.shape[2:])
    outside = topology.ranks // domain
    binary = outside & (outside - 1) == 0
    outer = "direct" if band == "small" else "recursive_halving_doubling" if binary else "ring"
    inner = "direct" if band == "small" else "ring"
    hierarchy: Wish = (
        "hierarchical",
        {"levels": (domain,), "inner": inner, "outer": outer},
        f"{inner} inside each, {outer} across",
    )
    return Rule(f"{text}; several machines make it a hierarchy, whose sizes aren't published", (hierarchy, _FALLBACK))


def _within(band: Band, topology: _core.Topology) -> tuple[Wish, ...]:
    """What Neuron takes within a machine, by its own names."""
    chip = {"levels": (topology.ranks_per_chip,)}
    several = topology.ranks_per_chip > 1
    match band:
        case "small":
            return (("mesh", chip, "mesh") if several else ("direct", {}, "mesh with one rank a chip"),)
        case "medium":
            return (("rdh", {}, "RDH"),)
        case "large" if several:
            return (("kangaring", chip, "KangaRing"),)
        case "large" if {"x", "y"} <= set(topology.tiers):
            return (("multi_ring", {}, "with one rank a chip, rings on the cycles of the torus"),)
        case _:
            return ()
