"""What a machine is described by: figures, each with its unit, how well it is known, and where it is from."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import shorten
from typing import TYPE_CHECKING, Literal, TypeAlias

from trncomm import _core
from trncomm.errors import TopologyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trncomm.machines.documents import Data

__all__ = [
    "Figure",
    "Label",
    "Machine",
    "Profile",
    "Value",
    "Values",
    "count",
    "counts",
    "hint",
    "known_keys",
    "mapping",
    "optional",
    "quantity",
    "rate",
]

Label: TypeAlias = Literal["published", "derived", "assumed"]
"""How well a figure is known: said by the maker, worked out from that, or chosen where nothing is public."""

Profile: TypeAlias = Literal["link-table", "lane-count", "default"]
"""Which of several sources that disagree a preset follows."""

Value: TypeAlias = "int | str | tuple[int, ...] | None"
"""A number in the unit of its source, a choice, numbers in a row, or None for what the preset leaves out."""

Values: TypeAlias = "Mapping[str, Value]"
"""The figures of a machine by name, quantities as text with their unit."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One property of a machine, in the unit of its source."""

    name: str
    """The keyword that changes it."""
    value: Value
    """The number, the numbers or the choice; None for a cost or a limit that the preset leaves out."""
    unit: str
    """The unit of `value`; empty for a count or a choice."""
    label: Label
    """How well it is known."""
    source: str
    """Where it is from, or why it was chosen."""

    def __str__(self) -> str:
        """The value with its unit."""
        if self.value is None:
            return "left out"
        text = ",".join(map(str, self.value)) if isinstance(self.value, tuple) else str(self.value)
        return f"{text} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that can be built by name."""

    name: str
    """The name on the command line."""
    summary: str
    """What it is, in a sentence."""
    profiles: Mapping[Profile, tuple[Figure, ...]]
    """Its figures, by the source that they follow; the first is the default."""
    construct: Callable[[Values], _core.Topology]
    """Builds its links from the figures' values; costs at the chips, packets and fabric are added to them."""
    cores: int = 1
    """Cores of a chip: the most ranks that it can run."""

    def check_ranks(self, values: Values) -> None:
        """Refuse ranks a chip that its cores can't be divided into."""
        allowed = [ranks for ranks in (1, 2, 4, 8) if ranks <= self.cores]
        ranks = count("ranks_per_chip", values.get("ranks_per_chip", 1))
        if ranks not in allowed:
            nearest = min(allowed, key=lambda each: abs(each - ranks))
            raise TopologyError(
                f"ranks_per_chip of {self.name} must be {', '.join(map(str, allowed))}, as its {self.cores} cores are "
                f"divided evenly, got {ranks}; the nearest is {nearest}"
            )


def hint(wanted: str, choices: Sequence[str]) -> str:
    """What to try instead of a name that there isn't."""
    near = get_close_matches(wanted, choices, n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(choices)}"


def known_keys(given: Mapping[str, object], known: Sequence[str], where: str) -> None:
    """Refuse a key that isn't known, and name the nearest."""
    for key in given:
        if key not in known:
            raise TopologyError(f"{where}: unknown {key[:80]!r}; {hint(key[:80], known)}")


def mapping(value: Data, where: str) -> dict[str, Data]:
    """The keys and values of a part of a file."""
    if not isinstance(value, dict):
        raise TopologyError(f"{where} must be keys with values, got {shorten(repr(value), 80)}")
    return value


def count(name: str, value: Value) -> int:
    """A count, which the command line gives as text."""
    try:
        return int(value if isinstance(value, int | str) else "")
    except ValueError:
        raise TopologyError(f"{name} must be a whole number, got {value!r}") from None


def counts(name: str, value: Value) -> tuple[int, ...]:
    """Counts, which the command line gives as text with commas."""
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, list | tuple):
        raise TopologyError(f"{name} must be whole numbers, such as 4,4, got {value!r}")
    return tuple(count(name, each) for each in several)


def optional(name: str, value: Value) -> int | str | None:
    """A quantity, or None where it is left out."""
    if isinstance(value, tuple):
        raise TopologyError(f"{name} must be one quantity, got {value!r}")
    return value


def quantity(values: Values, name: str) -> int | str:
    """A quantity that can't be left out."""
    value = optional(name, values[name])
    if value is None:
        raise TopologyError(f"{name} must be given")
    return value


def rate(values: Values, name: str) -> int | str:
    """A link's rate, by the share of it that messages get."""
    share = str(values["link_efficiency"]).removesuffix("%")
    try:
        percent = int(share)
    except ValueError:
        raise TopologyError(f"link_efficiency must be a whole percentage, such as 67, got {share!r}") from None
    if not 1 <= percent <= 100:
        raise TopologyError(f"link_efficiency must be from 1 to 100 percent, got {percent}")
    whole = quantity(values, name)
    return whole if percent == 100 else _core.parse_bandwidth(whole) * percent // 100
