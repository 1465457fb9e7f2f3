"""Plain data from YAML, read so that no file takes long or much memory, and written so that it reads back the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

import yaml

from trncomm.errors import TopologyError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Data", "Lines", "Numbers", "dump", "load"]

Data: TypeAlias = "bool | int | float | str | list[Data] | dict[str, Data] | None"
"""What a document holds."""

_MOST_BYTES: Final = 64 * 2**20
_MOST_VALUES: Final = 400_000
_MOST_LEVELS: Final = 32
# Longer than any quantity; Python refuses to read whole numbers of more than 4,300 digits.
_MOST_DIGITS: Final = 400

_WHOLE: Final = re.compile(r"[-+]?[0-9]+(_[0-9]+)*")
_DECIMAL: Final = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")
_NAMED: Final[dict[str, bool | None]] = {"": None, "~": None, "null": None, "true": True, "false": False}

Events: TypeAlias = "Iterator[yaml.Event]"


class Lines(str):
    """A text of several lines, which is written as a block."""

    __slots__ = ()


class Numbers(list["Data"]):
    """Values that are written in one line."""

    __slots__ = ()


def load(path: Path) -> Data:
    """The data of a YAML file.

    Aliases, tags, keys that are not text, and keys given twice are refused, and so are files of more than 64 MiB,
    400,000 values or 32 levels.

    Raises:
        OSError: The file can't be read.
        TopologyError: It isn't YAML, or what is refused.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise TopologyError(f"{path}: a machine file has at most {_MOST_BYTES // 2**20} MiB")
    try:
        text = path.read_text(encoding="utf-8")
        # The scanner in C reads a megabyte in a tenth of a second, the one in Python in several.
        events: Events = iter(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        return _Reader(events).document()
    except UnicodeDecodeError as error:
        raise TopologyError(f"{path}: not a text in UTF-8: {error.reason} at byte {error.start}") from None
    except yaml.YAMLError as error:
        raise TopologyError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from None


class _Reader:
    """Builds data from events, and counts them."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._values = 0

    def document(self) -> Data:
        found: list[Data] = []
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                if found:
                    raise TopologyError(f"line {_line(event)}: expected one document, got a second")
                found.append(self._value(event, 1))
        return found[0] if found else None

    def _value(self, event: yaml.Event, level: int) -> Data:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise TopologyError(f"line {_line(event)}: more than {_MOST_VALUES:,} values")
        if level > _MOST_LEVELS:
            raise TopologyError(f"line {_line(event)}: more than {_MOST_LEVELS} levels, one within another")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise TopologyError(f"line {_line(event)}: anchors and aliases are not read; write the value out")
        if getattr(event, "tag", None) not in {None, "!"}:
            raise TopologyError(f"line {_line(event)}: tags such as {event.tag!r} are not read")  # type: ignore[attr-defined]
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(level)
        return self._mapping(level)

    def _sequence(self, level: int) -> list[Data]:
        items: list[Data] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, level + 1))
        return items

    def _mapping(self, level: int) -> dict[str, Data]:
        items: dict[str, Data] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                raise TopologyError(f"line {_line(event)}: a key must be a text")
            key = event.value
            if key in items:
                raise TopologyError(f"line {_line(event)}: {key!r} is given twice")
            items[key] = self._value(next(self._events), level + 1)
        return items


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0


def _scalar(event: yaml.ScalarEvent) -> bool | int | float | str | None:
    text: str = event.value
    is_plain, _ = event.implicit
    if not is_plain:
        return text
    if text.lower() in _NAMED:
        return _NAMED[text.lower()]
    if len(text) > _MOST_DIGITS:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


# The one in C writes the links of a large list in a hundredth of the time.
_Writer: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Writer):  # type: ignore[misc,valid-type] # one of two
    """Writes `Lines` as blocks and `Numbers` in one line."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 -- every value is written out
        return True


_Dumper.add_representer(
    Lines, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")
)
_Dumper.add_representer(
    Numbers,
    lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True),
)


def dump(data: Data, path: Path) -> None:
    """Write data to a YAML file, keys in their order.

    Raises:
        OSError: It can't be written.
    """
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=110)
    path.write_text(text, encoding="utf-8")
