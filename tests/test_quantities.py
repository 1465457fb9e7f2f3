from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trncomm as tc
from trncomm import _core, quantities


@given(st.integers(0, 2**64 - 1))
def test_a_number_is_in_base_units_already(number: int) -> None:
    assert _core.parse_size(number) == number
    assert _core.parse_duration(number) == number
    assert _core.parse_size(f"{number}B") == number
    assert _core.parse_duration(f"{number}ps") == number


@pytest.mark.parametrize("text", ["8k", "8K", "8KB", "8KiB", "8 KiB", "8192"])
def test_byte_suffixes_count_in_1024s(text: str) -> None:
    assert _core.parse_size(text) == 8192


def test_numpy_integers_are_numbers() -> None:
    assert _core.parse_size(int(np.uint64(5))) == _core.parse_size(np.int32(5))  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["", "8Q", "-1", -1, 2**64, float("nan"), 1.5])
def test_a_bad_size_is_refused_by_its_value(bad: str | int) -> None:
    with pytest.raises(tc.ArgumentError) as raised:
        _core.parse_size(bad)
    assert str(bad) in str(raised.value)


@pytest.mark.parametrize("bad", [0, "0GB/s", "256", "256 GB", -5])
def test_a_bad_bandwidth_is_refused(bad: str | int) -> None:
    with pytest.raises(tc.ArgumentError, match="bandwidth"):
        _core.parse_bandwidth(bad)


def test_something_else_than_a_quantity_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"size must be .* got None"):
        _core.parse_size(None)  # type: ignore[arg-type]


@given(st.integers(1, 1 << 40), st.integers(1, 1 << 40), st.integers(2, 9))
def test_sizes_grow_by_the_factor_and_stop_at_the_maximum(first: int, second: int, factor: int) -> None:
    minimum, maximum = min(first, second), max(first, second)
    listed = tc.sizes(minimum, maximum, factor=factor)
    assert listed[0] == minimum
    assert all(after == before * factor for before, after in itertools.pairwise(listed))
    assert listed[-1] <= maximum < listed[-1] * factor


@pytest.mark.parametrize(
    ("arguments", "keywords", "named"),
    [
        (("2K", "1K"), {}, "minimum"),
        (("1K", "2K"), {"factor": 1}, "factor"),
        (("1K", "2K"), {"step": 0}, "step"),
        ((0, "2K"), {}, "step"),
    ],
)
def test_sizes_that_lead_nowhere_are_refused(
    arguments: tuple[int | str, int | str], keywords: dict[str, int], named: str
) -> None:
    with pytest.raises(tc.ArgumentError, match=named):
        tc.sizes(*arguments, **keywords)


@pytest.mark.parametrize("name", ["bf16", "bfloat16", "torch.bfloat16", "BF16"])
def test_a_dtype_has_one_meaning_under_every_name(name: str) -> None:
    assert quantities.dtype(name) == quantities.Dtype("bf16", 2)


def test_numpy_dtypes_are_dtypes() -> None:
    for known in (np.float32, np.int8, np.uint64, np.float16):
        assert quantities.dtype(np.dtype(known)).itemsize == np.dtype(known).itemsize


def test_an_unknown_dtype_names_the_nearest() -> None:
    with pytest.raises(tc.ArgumentError, match="bf16"):
        quantities.dtype("bf61")


def test_microscaled_types_travel_in_whole_blocks_with_their_scales() -> None:
    ring = tc.Topology.ring(4, bandwidth="1GB/s", latency=0)
    result = tc.simulate(ring, "all_gather", "1KiB", algorithm="ring", dtype="mxfp4", model="loggp")
    # 61 blocks of 17 bytes hold 1,024 bytes of them.
    assert result.size_bytes == 61 * 17
    assert result.link_bytes.sum() == 3 * 61 * 17


@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"])
def test_every_collective_cuts_between_elements_of_the_type_that_is_chosen(collective: str) -> None:
    """Five elements on two ranks: one has three of them and the other two, so links carry whole elements."""
    pair = tc.Topology.ring(2, bandwidth="1GB/s", latency=0)
    algorithm = "binomial" if collective == "broadcast" else "ring" if collective != "all_to_all" else "direct"
    for name, block in {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "mxfp8": 33, "mxfp4": 17}.items():
        result = tc.simulate(pair, collective, 5 * block, algorithm=algorithm, dtype=name, model="loggp")
        assert result.size_bytes == 5 * block, name
        assert result.link_bytes.sum() > 0
        assert not (result.link_bytes % block).any(), name


def test_a_table_counts_elements_and_not_blocks() -> None:
    ring = tc.Topology.ring(2, bandwidth="1GB/s", latency=0)
    table = tc.compare(ring, "all_gather", [33 * 4], algorithms=["ring"], dtype="mxfp8")
    assert table.count.tolist() == [128]


def test_reducing_in_a_wider_type_takes_longer_by_its_width() -> None:
    ring = tc.Topology.ring(2, bandwidth="100GB/s", latency=0).with_endpoint(reduction_bandwidth="10GB/s")
    times = {
        name: tc.simulate(
            ring, "reduce_scatter", 80_000, algorithm="ring", dtype="bf16", reduce_dtype=name, model="loggp"
        ).time_ps
        for name in (None, "bf16", "fp32")
    }
    sending, adding = 400_000, 4_000_000
    assert times == {None: sending + adding, "bf16": sending + adding, "fp32": sending + 2 * adding}


def test_a_type_to_reduce_in_warns_where_reducing_is_free() -> None:
    ring = tc.Topology.ring(2, bandwidth="1GB/s", latency=0)
    with pytest.warns(tc.NoEffectWarning, match="reduce_dtype='fp32' has no effect"):
        tc.simulate(ring, "all_reduce", 64, algorithm="ring", dtype="bf16", reduce_dtype="fp32")
