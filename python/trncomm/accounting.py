"""What a collective costs in energy and money: an account of bytes by tier and of time, for prices that are stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from trncomm.errors import ArgumentError

if TYPE_CHECKING:
    from trncomm import _core

__all__ = ["Account", "Item", "account"]

_ELECTRICAL: Final = (
    5.0,
    "a link over copper with its two ends and the switch; 4 to 7 pJ a bit are usual",
)
_OPTICAL: Final = (20.0, "a link of pluggable optics with the switch; 15 to 20 pJ a bit are usual of modules alone")
_WITHIN: Final = (1.0, "wires within a chip; no figure is public")
_MEMORY: Final = (4.0, "HBM; 3.9 pJ a bit for HBM2 (O'Connor et al., Fine-Grained DRAM, MICRO 2017)")
_PRICE: Final = (1.34, "of trn1.32xlarge on demand, 21.50 USD an hour for 16 chips; others may cost more")

_KINDS: Final = {"leaf": _OPTICAL, "spine": _OPTICAL, "core": _OPTICAL, "core-of-chip": _WITHIN}
_MEMORY_NAME: Final = "memory"


@dataclass(frozen=True, slots=True)
class Item:
    """The energy of one tier of links, or of memory."""

    tier: str
    """The tier's label, or "memory"."""
    nbytes: int
    """What crossed its links, or touched memory."""
    pj_per_bit: float
    """Picojoules a bit."""
    label: Literal["assumed", "given"]
    """Whether that is a default or the caller's."""
    source: str
    """Why it was assumed; empty if it was given."""

    @property
    def joules(self) -> float:
        """The energy."""
        return self.nbytes * 8 * self.pj_per_bit * 1e-12


@dataclass(frozen=True, slots=True)
class Account:
    """Energy and cost of one run; what wasn't asked for is left out."""

    items: tuple[Item, ...]
    """Energy by tier; empty unless asked for."""
    chip_seconds: float
    """Chips times time."""
    price_per_chip_hour: float | None
    """US dollars for a chip and an hour; None unless asked for."""
    price_label: Literal["assumed", "given"] | None
    """Whether that is a default or the caller's."""
    price_source: str
    """Why it was assumed; empty if it was given."""

    @property
    def joules(self) -> float | None:
        """Energy in all; None unless asked for."""
        return sum(item.joules for item in self.items) if self.items else None

    @property
    def cost(self) -> float | None:
        """US dollars; None unless asked for."""
        return None if self.price_per_chip_hour is None else self.chip_seconds / 3600 * self.price_per_chip_hour

    def __str__(self) -> str:
        """A line for each tier, and one for the price."""
        lines = [
            f"{item.tier}: {item.nbytes} bytes at {item.pj_per_bit:g} pJ/bit ({_known(item.label, item.source)}): "
            f"{item.joules:.4g} J"
            for item in self.items
        ]
        if self.joules is not None:
            lines.append(f"energy: {self.joules:.4g} J")
        if self.cost is not None:
            price = f"{self.price_per_chip_hour:g} USD an hour ({_known(self.price_label, self.price_source)})"
            lines.append(f"cost: {self.chip_seconds:.4g} chip seconds at {price}: {self.cost:.4g} USD")
        return "\n".join(lines) or "nothing was asked for: energy=True or price=True takes assumed figures"


def _known(label: str | None, source: str) -> str:
    return f"{label}: {source}" if source else str(label)


def account(
    result: _core.Result, *, energy: bool | Mapping[str, float] = False, price: bool | float = False
) -> Account:
    """What a run costs in energy and money; what `Result.account` calls.

    Energy counts the bytes that crossed links, by tier, and what the chips read to send and wrote on receipt; what
    reductions read besides, compute and idle power are not in it.

    Args:
        result: The run.
        energy: Whether to account for energy, or picojoules a bit by tier, and for "memory", over assumed figures.
        price: Whether to account for money, or US dollars for a chip and an hour.

    Raises:
        ArgumentError: A tier that the topology hasn't, a figure below zero.

    Examples:
        >>> import trncomm as tc
        >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
        >>> result = tc.simulate(ring, "all_gather", "4MiB", algorithm="ring")
        >>> print(result.account(energy={"link": 10, "memory": 0}, price=2.0))
        link: 12582912 bytes at 10 pJ/bit (given): 0.001007 J
        memory: 25165824 bytes at 0 pJ/bit (given): 0 J
        energy: 0.001007 J
        cost: 0.0002026 chip seconds at 2 USD an hour (given): 1.126e-07 USD
    """
    topology = result.topology
    chips = topology.ranks // topology.ranks_per_chip
    known: Literal["assumed", "given"] | None = None
    dollars, source = None, ""
    if price is not False:
        dollars, source = _PRICE if price is True else (_figure("price", price), "")
        known = "assumed" if price is True else "given"
    return Account(
        items=_items(result, energy),
        chip_seconds=chips * result.time_ps * 1e-12,
        price_per_chip_hour=dollars,
        price_label=known,
        price_source=source,
    )


def _items(result: _core.Result, energy: bool | Mapping[str, float]) -> tuple[Item, ...]:  # noqa: FBT001 -- as asked
    if energy is False:
        return ()
    topology = result.topology
    moved = np.zeros(len(topology.tiers), dtype=np.uint64)
    np.add.at(moved, topology.link_tier, result.link_bytes)
    # A byte is read once to be sent, and written once on receipt.
    touched = 2 * int(result.sent_bytes.sum())
    amounts = {tier: int(nbytes) for tier, nbytes in zip(topology.tiers, moved, strict=True)} | {_MEMORY_NAME: touched}
    given = energy if isinstance(energy, Mapping) else {}
    for tier in given:
        if tier not in amounts:
            near = get_close_matches(tier, amounts, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(amounts)}"
            raise ArgumentError(f"unknown tier {tier!r} in energy; {hint}")
    return tuple(_item(tier, nbytes, given) for tier, nbytes in amounts.items())


def _item(tier: str, nbytes: int, given: Mapping[str, float]) -> Item:
    if tier in given:
        return Item(tier, nbytes, _figure(f"energy of {tier}", given[tier]), "given", "")
    figure, source = _MEMORY if tier == _MEMORY_NAME else _KINDS.get(tier, _ELECTRICAL)
    return Item(tier, nbytes, figure, "assumed", source)


def _figure(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise ArgumentError(f"{name} must be a number of at least 0, got {value!r}")
    return float(value)
