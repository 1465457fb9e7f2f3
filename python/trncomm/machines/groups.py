"""Which groups of ranks Neuron allows, by its documentation and its libraries, and the nearest one that it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trncomm.errors import TopologyError
from trncomm.machines.figures import hint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trncomm import _core

__all__ = ["GroupCheck", "check_group"]


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """Whether a group of ranks is one that Neuron allows."""

    allowed: bool
    """Whether no rule that is public forbids it."""
    ranks: tuple[int, ...]
    """The group."""
    rule: str
    """The rule that it breaks, or what was looked at."""
    source: str
    """Where the rule is from."""
    nearest: tuple[int, ...]
    """The group itself if it is allowed; else one that is and differs as little, empty if there is none."""

    def __str__(self) -> str:
        """The answer in a sentence."""
        if self.allowed:
            return f"a group of {len(self.ranks)} ranks is allowed: {self.rule} ({self.source})"
        near = f"; the nearest has {_brief(self.nearest)}" if self.nearest else ""
        return f"a group of {len(self.ranks)} ranks is not allowed: {self.rule} ({self.source}){near}"


def _brief(ranks: tuple[int, ...]) -> str:
    if ranks == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else f"rank {ranks[0]}"
    return "ranks " + ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")


@dataclass(frozen=True, slots=True)
class _Place:
    """The ranks of a machine, as rules look at them."""

    generation: str
    ranks: int
    per_chip: int
    node: int
    """Ranks of an instance."""


@dataclass(frozen=True, slots=True)
class _Broken:
    """A rule that a group breaks."""

    rule: str
    source: str
    nearest: Sequence[int]


_RULES_OF_ALL: Final = "intranode- and internode-collective-comm.rst"
_COUNTS: Final[dict[tuple[str, int], tuple[tuple[int, ...], str]]] = {
    ("trn1", 2): ((1, 2, 4, 8, 16), "Neuron runtime: 1, 2, 8, 16 or multiples of 32 ranks, 4 since SDK 2.21"),
    ("trn2", 4): (
        (1, 4, 8, 16, 32, 64),
        "neuronx-distributed, parallel_state.py: 4, 16, 32 or 64 with two cores a rank; 8 since SDK 2.24",
    ),
    ("trn2", 8): (
        (1, 4, 8, 32, 64, 128),
        "neuronx-distributed, parallel_state.py: 4, 8, 32, 64 or 128 with one core a rank",
    ),
}
"""Group sizes within an instance by generation and ranks a chip, and where they are from."""

_CHIPS_OF_INSTANCE: Final = {"trn1": 16, "trn2": 16, "trn3": 4, "trn3-gen1": 16}
_RANKS_OF_CHIP: Final = {"trn1": (1, 2), "trn2": (1, 4, 8), "trn3": (1, 4, 8), "trn3-gen1": (1, 4, 8)}
_MOST_OF_KANGARING: Final = 256


def check_group(
    machine: _core.Topology, ranks: int | Sequence[int], *, collective: str | None = None, algorithm: str | None = None
) -> GroupCheck:
    """Say whether Neuron allows a group of ranks on a Trainium machine, by which rule, and what is nearest.

    Args:
        machine: A Trainium preset, with `ranks_per_chip` as on the machine: 4 on Trn2 and Trn3 unless told otherwise.
        ranks: The group, or how many ranks it has, from 0 on.
        collective: Rules of this one besides: all_gather_v, all_to_all_v or permute.
        algorithm: Rules of this one besides: kangaring.

    Raises:
        TopologyError: The machine is no Trainium preset, or a rank isn't there.

    Examples:
        >>> import trncomm as tc
        >>> print(tc.machines.check_group(tc.machines.trn2(ranks_per_chip=4), 24))
        a group of 24 ranks is not allowed: the ranks of an instance that work together must be 1, 4, 8, 16, 32, 64
        (neuronx-distributed, parallel_state.py: 4, 16, 32 or 64 with two cores a rank; 8 since SDK 2.24); the nearest
        has ranks 0 to 15
    """
    place = _place(machine)
    group = tuple(range(ranks)) if isinstance(ranks, int) else tuple(ranks)
    if not group:
        raise TopologyError("a group must have at least 1 rank")
    for rank in group:
        if not 0 <= rank < place.ranks:
            raise TopologyError(f"rank must be from 0 to {place.ranks - 1}, got {rank}")
    for rule in _rules(machine, collective, algorithm):
        if broken := rule(place, group):
            nearest = tuple(rank for rank in broken.nearest if rank < place.ranks)
            return GroupCheck(allowed=False, ranks=group, rule=broken.rule, source=broken.source, nearest=nearest)
    return GroupCheck(allowed=True, ranks=group, rule="no public rule forbids it", source=_RULES_OF_ALL, nearest=group)


def _place(machine: _core.Topology) -> _Place:
    name, per_chip = machine.name, machine.ranks_per_chip
    generation = "trn2" if name.startswith(("trn2", "rainier")) else name[:4]
    if name.startswith("trn3") and name.endswith("gen1"):
        generation = "trn3-gen1"
    if generation not in _CHIPS_OF_INSTANCE:
        raise TopologyError(f"rules are known of Trainium presets, such as 'trn2', and not of {name!r}")
    known = _RANKS_OF_CHIP[generation]
    if per_chip not in known:
        raise TopologyError(
            f"Neuron makes {' or '.join(map(str, known))} ranks of a chip of {name} (nccom-test.rst), got {per_chip}; "
            f"the nearest is {_nearest(per_chip, known)}"
        )
    return _Place(generation, machine.ranks, per_chip, _CHIPS_OF_INSTANCE[generation] * per_chip)


def _nearest(value: int, choices: Sequence[int]) -> int:
    """The choice that differs least, the smaller of two."""
    return min(choices, key=lambda choice: (abs(choice - value), choice))


def _rules(
    machine: _core.Topology, collective: str | None, algorithm: str | None
) -> list[Callable[[_Place, tuple[int, ...]], _Broken | None]]:
    rules: list[Callable[[_Place, tuple[int, ...]], _Broken | None]] = [_names_each_rank_once]
    of_collectives = {
        "all_gather_v": _is_one_chip,
        "all_to_all_v": _suits_all_to_all_v,
        "permute": lambda _, group: _is_ring_of_neighbours(machine, group),
    }
    if collective in of_collectives:
        return [*rules, of_collectives[collective]]
    if collective is not None and collective.endswith("_v"):
        raise TopologyError(f"no rules are known of {collective!r}; {hint(collective, tuple(of_collectives))}")
    rules += [_is_alike_on_all_instances, _has_a_size_of_the_instance]
    if algorithm == "kangaring":
        rules.append(_suits_kangaring)
    return rules


def _names_each_rank_once(_place: _Place, group: tuple[int, ...]) -> _Broken | None:
    once = tuple(dict.fromkeys(group))
    if len(once) == len(group):
        return None
    return _Broken("a group names each rank once", _RULES_OF_ALL, once)


def _is_alike_on_all_instances(place: _Place, group: tuple[int, ...]) -> _Broken | None:
    by_instance: dict[int, set[int]] = {}
    for rank in group:
        by_instance.setdefault(rank // place.node, set()).add(rank % place.node)
    local = max(by_instance.values(), key=lambda ranks: (len(ranks), sorted(ranks)))
    if all(ranks == local for ranks in by_instance.values()):
        return None
    nearest = sorted(instance * place.node + rank for instance in by_instance for rank in local)
    rule = "a group has the same ranks of every instance that it is on"
    return _Broken(rule, "internode-collective-comm.rst: groups must be symmetric", nearest)


def _has_a_size_of_the_instance(place: _Place, group: tuple[int, ...]) -> _Broken | None:
    known = _COUNTS.get((place.generation, place.per_chip))
    if known is None:
        return None
    counts, source = known
    first = group[0] // place.node
    local = sorted(rank % place.node for rank in group if rank // place.node == first)
    if len(local) in counts or len(local) == place.node:
        return None
    size = _nearest(len(local), (*counts, place.node))
    kept = (local + [rank for rank in range(place.node) if rank not in set(local)])[:size]
    instances = sorted({rank // place.node for rank in group})
    nearest = [instance * place.node + rank for instance in instances for rank in sorted(kept)]
    names = ", ".join(map(str, sorted({*counts, place.node})))
    return _Broken(f"the ranks of an instance that work together must be {names}", source, nearest)


def _chips(place: _Place, group: tuple[int, ...]) -> list[int]:
    return sorted({rank // place.per_chip for rank in group})


def _all_of(place: _Place, chips: Sequence[int]) -> list[int]:
    return [chip * place.per_chip + core for chip in chips for core in range(place.per_chip)]


def _suits_kangaring(place: _Place, group: tuple[int, ...]) -> _Broken | None:
    source = "intranode-collective-comm.rst and nec.h"
    whole = _all_of(place, _chips(place, group))
    if sorted(group) != whole:
        return _Broken("KangaRing takes all ranks of a chip or none", source, whole)
    if len(group) > _MOST_OF_KANGARING:
        kept = whole[:_MOST_OF_KANGARING]
        return _Broken(f"KangaRing takes at most {_MOST_OF_KANGARING} ranks", source, kept)
    return None


def _is_one_chip(place: _Place, group: tuple[int, ...]) -> _Broken | None:
    whole = _all_of(place, _chips(place, group)[:1])
    if place.per_chip == 4 and sorted(group) == whole:
        return None
    rule = "all_gather_v takes the 4 ranks of one chip, two cores each"
    return _Broken(rule, "nccom-test.rst", whole if place.per_chip == 4 else ())


def _suits_all_to_all_v(place: _Place, group: tuple[int, ...]) -> _Broken | None:
    if not place.generation.startswith("trn3"):
        local = group[0] % place.node
        if all(rank % place.node == local for rank in group):
            return None
        instances = sorted({rank // place.node for rank in group})
        rule = "all_to_all_v without NeuronSwitch takes ranks in the same place of instances"
        return _Broken(rule, "nccom-test.rst", [instance * place.node + local for instance in instances])
    chips = _chips(place, group)
    run = range(chips[0], max(chips[-1], chips[0] + 1) + 1)
    whole = _all_of(place, run)
    if place.per_chip == 4 and list(group) == whole:
        return None
    rule = "all_to_all_v takes all 4 ranks of two or more chips in a row, in order, two cores each"
    return _Broken(rule, "nccom-test.rst", whole if place.per_chip == 4 else ())


def _is_ring_of_neighbours(machine: _core.Topology, group: tuple[int, ...]) -> _Broken | None:
    # Within a chip two links of its own, and one more to a neighbour.
    inner = 0 if machine.ranks_per_chip == 1 else 2
    for one, other in zip(group, (*group[1:], group[0]), strict=True):
        links = len(machine.route(one, other))
        if links > inner + 1:
            apart = f"{one} and {other} are {links - inner} links apart"
            return _Broken(f"permute goes round a ring of ranks joined directly, and {apart}", "collectives.rst", ())
    return None
