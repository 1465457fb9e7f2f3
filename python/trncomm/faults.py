"""Faults as arguments: links and switches that are down, slow or unreliable, ranks that are late or slow.

Each function describes one fault; `Topology.with_faults`, `simulate` and `compare` take any number of them. A topology
never changes: faults make a new view of it, whose nodes and links keep their numbers.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from trncomm._core import Fault, late, link_down, link_errors, link_slow, node_down, slow
from trncomm.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fault", "late", "link_down", "link_errors", "link_slow", "node_down", "parse", "slow"]


def parse(text: str) -> Fault:
    """Read a fault from a text, as `--fault` takes it.

    A link is its number or SOURCE-DESTINATION, all links from one node to another; ":both" after it adds those of the
    other direction. A node is its number or its name ("switch 144").

    Args:
        text: One of "link-down:LINK", "link-slow:LINK:FRACTION", "link-errors:LINK:RATE", "node-down:NODE",
            "late:RANK:TIME" and "slow:RANK:TIMES".

    Raises:
        ArgumentError: Another form.
        TopologyError: A value that is out of range.

    Examples:
        >>> parse("link-down:3")
        link_down(3)
        >>> parse("link-slow:0-144:both:1/2")
        link_slow((0, 144), '1/2', both=True)
        >>> parse("late:5:200us")
        late(5, by='200 µs')
    """
    kind, *fields = (field.strip() for field in text.split(":"))
    if kind not in _KINDS:
        near = get_close_matches(kind, _KINDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(_KINDS)}"
        raise ArgumentError(f"unknown fault {kind!r} in {text!r}; {hint}")
    names, make = _KINDS[kind]
    both = names[0] == "LINK" and fields[1:2] == ["both"]
    if both:
        del fields[1]
    if len(fields) != len(names) or not all(fields):
        raise ArgumentError(f"fault must be {':'.join([kind, *names])}, got {text!r}")
    try:
        return make(fields, both)
    except _FieldError as error:
        raise ArgumentError(f"{error.expected}, got {error.field!r} in {text!r}") from None


class _FieldError(Exception):
    """A field of a fault's text that can't be read."""

    def __init__(self, expected: str, field: str) -> None:
        super().__init__(expected, field)
        self.expected = expected
        self.field = field


def _number(name: str, field: str) -> int:
    if not field.isdecimal():
        raise _FieldError(f"{name} must be a whole number", field)
    return int(field)


def _rate(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        raise _FieldError("bit error rate must be a number", field) from None


def _node(field: str) -> int | str:
    return int(field) if field.isdecimal() else field


def _link(field: str) -> int | tuple[int | str, int | str]:
    source, dash, destination = field.partition("-")
    return (_node(source.strip()), _node(destination.strip())) if dash else _number("link", field)


_KINDS: Final[dict[str, tuple[tuple[str, ...], Callable[[list[str], bool], Fault]]]] = {
    "link-down": (("LINK",), lambda fields, both: link_down(_link(fields[0]), both=both)),
    "link-slow": (("LINK", "FRACTION"), lambda fields, both: link_slow(_link(fields[0]), fields[1], both=both)),
    "link-errors": (
        ("LINK", "RATE"),
        lambda fields, both: link_errors(_link(fields[0]), _rate(fields[1]), both=both),
    ),
    "node-down": (("NODE",), lambda fields, _: node_down(_node(fields[0]))),
    "late": (("RANK", "TIME"), lambda fields, _: late(_number("rank", fields[0]), by=fields[1])),
    "slow": (("RANK", "TIMES"), lambda fields, _: slow(_number("rank", fields[0]), times=fields[1])),
}
