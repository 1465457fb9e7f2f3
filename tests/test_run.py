from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trncomm as tc
from trncomm.simulation import Model

BANDWIDTH = 64_000_000_000
LATENCY_PS = 500_000
MODELS: tuple[Model, ...] = get_args(Model)


def serialization_ps(size: int) -> int:
    return -(-size * 10**12 // BANDWIDTH)


@pytest.mark.parametrize("model", MODELS)
@given(ranks=st.integers(1, 24), chunk=st.integers(0, 1 << 30))
def test_a_ring_takes_its_closed_form(model: Model, ranks: int, chunk: int) -> None:
    """2 (N - 1) steps of L + ceil(S / N / B), where N divides S."""
    ring = tc.Topology.ring(ranks, bandwidth=BANDWIDTH, latency=LATENCY_PS).with_packets(payload="1TiB", header=0)
    result = tc.simulate(ring, "all_reduce", chunk * ranks, algorithm="ring", model=model)
    assert result.time_ps == 2 * (ranks - 1) * (LATENCY_PS + serialization_ps(chunk))


@pytest.mark.parametrize("size", [0, 1, 3, 7, 9, 1001, 65_537])
def test_an_uneven_size_loses_no_byte(ring: tc.Topology, size: int) -> None:
    """Chunks differ by at most one byte; each of the 8 travels 7 links in either half of the all-reduce."""
    result = tc.simulate(ring, "all_reduce", size, algorithm="ring")
    assert result.link_bytes.sum() == 2 * 7 * size
    assert result.sent_bytes.sum() == 2 * 7 * size
    steps = 2 * 7
    least = steps * (LATENCY_PS + serialization_ps(size // 8))
    most = steps * (LATENCY_PS + serialization_ps(math.ceil(size / 8)))
    assert least <= result.time_ps <= most


@pytest.mark.parametrize("model", MODELS)
def test_the_same_input_gives_the_same_result(ultraserver: tc.Topology, model: Model) -> None:
    first, second = (tc.simulate(ultraserver, "all_to_all", "1MiB", algorithm="direct", model=model) for _ in range(2))
    assert first.time_ps == second.time_ps
    np.testing.assert_array_equal(first.finish_ps, second.finish_ps)
    np.testing.assert_array_equal(first.link_busy_ps, second.link_busy_ps)


def test_columns_are_read_only_and_not_copied(ring: tc.Topology) -> None:
    result = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring")
    lengths = {"finish_ps": 8, "sent_bytes": 8, "link_bytes": 16, "link_busy_ps": 16}
    for name, length in lengths.items():
        column = getattr(result, name)
        assert column is getattr(result, name)
        assert (column.dtype, len(column)) == (np.uint64, length)
        assert not column.flags.owndata, "the memory is the core's"
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            column.flags.writeable = True


def test_a_result_is_consistent(ultraserver: tc.Topology) -> None:
    result = tc.simulate(ultraserver, "all_reduce", "16MiB", algorithm="ring", model="packet")
    assert result.time_ps == result.finish_ps.max()
    assert result.algbw == pytest.approx(2**24 / (result.time_ps * 1e-12))
    assert result.busbw == pytest.approx(result.algbw * 2 * 143 / 144)
    assert result.link_busy_ps.max() / result.time_ps == pytest.approx(result.wire_efficiency)
    assert result.link_busy_ps[result.busiest_link] == result.link_busy_ps.max()
    assert result.messages == 2 * 143 * 144
    # No link carries more than its rate allows in the time that it was sending.
    carried = result.link_busy_ps * 1e-12 * ultraserver.link_bandwidth
    assert (result.link_bytes <= carried * (1 + 1e-9)).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("algorithm", ["ring", "direct", "one_shot", "hierarchical"])
def test_no_run_beats_its_bound(ultraserver: tc.Topology, model: Model, algorithm: str) -> None:
    result = tc.simulate(ultraserver, "all_reduce", "1MiB", algorithm=algorithm, model=model)
    assert result.bound_ps is not None
    assert 0 < result.bound_ps <= result.time_ps
    assert result.bound_name
    assert result.bound_explanation


def test_a_result_prints_its_main_figures(ring: tc.Topology) -> None:
    text = str(tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring"))
    for word in ("all_reduce", "1 MiB", "ring", "time", "algbw", "busbw", "bound", "busiest"):
        assert word in text


@pytest.mark.parametrize(
    ("size", "keywords", "message"),
    [
        (10, {"dtype": "fp32"}, "size must be a whole number of elements of 4 bytes, got 10"),
        (2**64, {}, str(2**64)),
        (2**63, {}, "2\\^62 ps"),
        (-1, {}, "size .* got -1"),
        ("1Q", {}, "1Q"),
        (8, {"model": "pakcet"}, "pakcet"),
    ],
)
def test_a_bad_option_is_refused_by_its_value(
    ring: tc.Topology, size: int | str, keywords: dict[str, str], message: str
) -> None:
    with pytest.raises(tc.ArgumentError, match=message) as raised:
        tc.simulate(ring, "all_reduce", size, algorithm="ring", **keywords)  # type: ignore[arg-type]
    assert isinstance(raised.value, ValueError)


def test_a_schedule_of_more_ranks_than_the_topology_is_refused(ring: tc.Topology, ultraserver: tc.Topology) -> None:
    with pytest.raises(tc.ArgumentError, match="144 ranks, the topology 8"):
        tc.run(ring, tc.build(ultraserver, "all_reduce", "ring"), 8)


def long_run(topology: tc.Topology, *, progress: object = None) -> tc.Result:
    """Half a minute of work or more: 100 million packet-hops and over."""
    return tc.simulate(
        topology,
        "all_reduce",
        "8GiB",
        algorithm="ring",
        model="packet",
        leap=False,
        progress=progress,  # type: ignore[arg-type]
    )


@pytest.fixture
def _interrupts() -> Iterator[None]:
    """Interrupts raise, also where what starts the tests has told them to ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interrupts")
def test_ctrl_c_ends_a_long_run(ultraserver: tc.Topology) -> None:
    """The signal comes from another thread, which can send it only if the engine has let go of the interpreter."""
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        long_run(ultraserver)
    interrupt.join()


def test_the_interpreter_runs_on_during_a_run(ultraserver: tc.Topology) -> None:
    """With a switch interval of a minute, another thread gets a turn only where this one lets go by itself."""
    ticks = 0
    ended = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not ended.is_set():
            ticks += 1
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        other.start()
        before = ticks
        tc.simulate(ultraserver, "all_reduce", "16MiB", algorithm="ring", model="packet")
        after = ticks
    finally:
        sys.setswitchinterval(interval)
        ended.set()
        other.join()
    assert after > before


def test_progress_is_reported_and_can_stop_a_run(ultraserver: tc.Topology) -> None:
    seen: list[tuple[float, int]] = []

    class EnoughError(Exception):
        pass

    def report(share: float, time_ps: int) -> None:
        seen.append((share, time_ps))
        if len(seen) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        long_run(ultraserver, progress=report)
    assert seen == sorted(seen)
    assert all(0 <= share <= 1 for share, _ in seen)
