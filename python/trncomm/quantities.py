"""Message sizes and element types, as benchmarks of collectives name them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from trncomm import _core
from trncomm.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Dtype", "dtype", "sizes"]

Size: TypeAlias = int | str
"""A number of bytes, or a text such as "64MiB" or "8M"; suffixes are powers of 1024."""

Rate: TypeAlias = int | str
"""A number of bytes a second in one direction, or a text such as "256GB/s" or "400Gbps"."""

Duration: TypeAlias = int | str
"""A number of picoseconds, or a text such as "125ns"."""


def sizes(minimum: Size, maximum: Size, *, factor: int = 2, step: Size | None = None) -> tuple[int, ...]:
    """List message sizes from `minimum` to at most `maximum`, as nccom-test's -b, -e, -f and -i do.

    Args:
        minimum: The first size.
        maximum: No size is above it; it is listed only if the steps meet it.
        factor: What each size is multiplied by to get the next; at least 2.
        step: What is added instead, if given; `factor` is then not used.

    Returns:
        The sizes in bytes, ascending.

    Raises:
        ArgumentError: A size that can't be read, an empty range, or steps that lead nowhere.

    Examples:
        >>> import trncomm as tc
        >>> tc.sizes("1KiB", "8KiB")
        (1024, 2048, 4096, 8192)
        >>> tc.sizes("1KiB", "1MiB", factor=32)
        (1024, 32768, 1048576)
        >>> tc.sizes(0, 100, step=40)
        (0, 40, 80)
    """
    first, last = _core.parse_size(minimum), _core.parse_size(maximum)
    if first > last:
        raise ArgumentError(f"minimum must be at most maximum ({last} bytes), got {first} bytes")
    if step is not None:
        stride = _core.parse_size(step)
        if stride == 0:
            raise ArgumentError("step must be at least 1 byte, got 0")
        return tuple(range(first, last + 1, stride))
    if factor < 2:
        raise ArgumentError(f"factor must be at least 2, got {factor}")
    if first == 0:
        raise ArgumentError("minimum must be at least 1 byte where sizes grow by a factor, got 0; give a step instead")
    listed = []
    while first <= last:
        listed.append(first)
        first *= factor
    return tuple(listed)


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type: what matters to the cost of a collective is its width alone."""

    name: str
    """The name, spelled as Neuron spells it."""
    itemsize: int
    """Bytes an element, or a block of them where elements share a scale."""
    block: int = 1
    """Elements that share a scale."""

    def whole(self, size: Size) -> int:
        """A size in bytes, rounded up to whole blocks where elements share a scale: a block can't travel in part.

        Examples:
            >>> dtype("mxfp8").whole("1KiB")
            1056
            >>> dtype("bf16").whole("1KiB")
            1024
        """
        found = _core.parse_size(size)
        return found if self.block == 1 else -(-found // self.itemsize) * self.itemsize


_DTYPES = {
    known.name: known
    for known in (
        Dtype("uint8", 1),
        Dtype("int8", 1),
        Dtype("fp8", 1),
        Dtype("uint16", 2),
        Dtype("int16", 2),
        Dtype("fp16", 2),
        Dtype("bf16", 2),
        Dtype("uint32", 4),
        Dtype("int32", 4),
        Dtype("fp32", 4),
        Dtype("uint64", 8),
        Dtype("int64", 8),
        Dtype("fp64", 8),
        # Blocks of 32 elements with a scale of 8 bits (OCP Microscaling Formats, v1.0, section 5.1).
        Dtype("mxfp8", 33, 32),
        Dtype("mxfp4", 17, 32),
    )
}

_ALIASES = {
    "fp8e4": "fp8",
    "float8_e4m3": "fp8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
}


def dtype(name: str | np.dtype | Dtype) -> Dtype:
    """The element type of that name, as Neuron, NumPy, PyTorch or JAX spells it.

    Args:
        name: A name such as "bf16", "bfloat16" or "torch.bfloat16"; a NumPy dtype; or what this function returned.

    Raises:
        ArgumentError: No such type.

    Examples:
        >>> dtype("torch.bfloat16")
        Dtype(name='bf16', itemsize=2, block=1)
    """
    if isinstance(name, Dtype):
        return name
    wanted = str(name).lower().removeprefix("torch.").removeprefix("jnp.")
    known = _DTYPES.get(_ALIASES.get(wanted, wanted))
    if known is None:
        near = get_close_matches(wanted, [*_DTYPES, *_ALIASES], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(_DTYPES)}"
        raise ArgumentError(f"unknown dtype {name!r}; {hint}")
    return known
