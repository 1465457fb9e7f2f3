"""What a topology has set besides its links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import pytest

import trncomm as tc
from trncomm.simulation import Model

MODELS: tuple[Model, ...] = get_args(Model)
RATE, SPAN = "64GB/s", "500ns"

# For each property of an endpoint: a value to set, its getter, what that gives then, and what it gives unset.
ENDPOINT = [
    ("launch", "1us", "launch_ps", 1_000_000, 0),
    ("completion", "2us", "completion_ps", 2_000_000, 0),
    ("reduction_bandwidth", "1GB/s", "reduction_bandwidth", 10**9, None),
    ("copy_bandwidth", "2GB/s", "copy_bandwidth", 2 * 10**9, None),
    ("queues", 16, "queues", 16, None),
    ("memory_bandwidth", "4.9TB/s", "memory_bandwidth", 4_900_000_000_000, None),
    ("touches", (1, 2, 3), "touches", (1, 2, 3), (1, 1, 1)),
    ("window", "64KiB", "window_bytes", 65_536, None),
    ("jitter", "3us", "jitter_ps", 3_000_000, 0),
    ("seed", 7, "seed", 7, 0),
]

FABRIC = [
    ("buffer", "64KiB", "buffer_bytes", 65_536, None),
    ("virtual_channels", 2, "virtual_channels", 2, 1),
    ("arbitration", "round-robin", "arbitration", "round-robin", "first-come"),
    ("queueing", "input", "queueing", "input", "virtual-output"),
    ("forwarding", "cut-through", "forwarding", "cut-through", "store-and-forward"),
    ("policy", "flow-hash", "policy", "flow-hash", "fixed"),
    ("seed", 7, "seed", 7, 0),
]

PACKETS = [("payload", "8KiB", "payload_bytes", 8192, 4096), ("header", 32, "header_bytes", 32, 0)]

SETTINGS = [
    *[pytest.param("with_endpoint", "endpoint", ENDPOINT, row, id=f"endpoint-{row[0]}") for row in ENDPOINT],
    *[pytest.param("with_fabric", "fabric", FABRIC, row, id=f"fabric-{row[0]}") for row in FABRIC],
    *[pytest.param("with_packets", "packets", PACKETS, row, id=f"packets-{row[0]}") for row in PACKETS],
]


@pytest.fixture
def bare() -> tc.Topology:
    return tc.Topology.ring(4, bandwidth=RATE, latency=SPAN)


@pytest.mark.parametrize(("change", "view", "rows", "row"), SETTINGS)
def test_a_change_keeps_what_it_doesnt_name(
    bare: tc.Topology, change: str, view: str, rows: list[tuple[str, object, str, object, object]], row: tuple[str, ...]
) -> None:
    """All are set at once; then one of them is set back."""
    full = getattr(bare, change)(**{name: value for name, value, *_ in rows})
    assert {getter: getattr(getattr(full, view), getter) for _, _, getter, _, _ in rows} == {
        getter: given for _, _, getter, given, _ in rows
    }
    less = getattr(full, change)(**{row[0]: None})
    for name, _, getter, given, unset in rows:
        gone = name == row[0] or (row[0], name) in {("memory_bandwidth", "touches"), ("policy", "seed")}
        assert getattr(getattr(less, view), getter) == (unset if gone else given), name


@pytest.mark.parametrize("change", ["with_endpoint", "with_fabric", "with_packets"])
def test_a_change_of_nothing_is_the_same_topology(bare: tc.Topology, change: str) -> None:
    same = getattr(bare, change)()
    assert str(same) == str(bare)
    assert (same.name, same.links) == (bare.name, bare.links)


def test_dots_keep_a_setting(bare: tc.Topology) -> None:
    charged = bare.with_endpoint(launch="1us")
    assert charged.with_endpoint(launch=..., queues=2).endpoint.launch_ps == 1_000_000


def test_settings_keep_each_other_and_faults(bare: tc.Topology) -> None:
    topology = (
        bare.with_faults([tc.late(1, by=5)])
        .with_endpoint(launch=1)
        .with_packets(header=2)
        .with_fabric(buffer="8KiB")
        .with_name("four")
    )
    assert (topology.endpoint.launch_ps, topology.packets.header_bytes, topology.fabric.buffer_bytes) == (1, 2, 8192)
    assert topology.faults == (tc.late(1, by=5),)
    assert topology.name == "four"


def test_a_topology_prints_its_settings(bare: tc.Topology) -> None:
    text = str(
        bare.with_endpoint(queues=16, memory_bandwidth="4.9TB/s", window="1MiB", jitter="1us", seed=3).with_fabric(
            buffer="64KiB", policy="flow-hash", seed=9
        )
    )
    for words in (
        "16 queues",
        "memory 4.9 TB/s, touched 1 + 1 + 1 times",
        "window 1 MiB",
        "jitter up to 1 µs (seed 3)",
        "buffer 64 KiB, 1 virtual channel, first-come",
        "flow-hash (seed 9)",
    ):
        assert words in text


BAD: list[tuple[Callable[[tc.Topology], object], str]] = [
    (lambda t: t.with_endpoint(queues=0), "queues must be from 1 to 4294967295, got 0"),
    (lambda t: t.with_endpoint(queues=-1), "queues .* got -1"),
    (lambda t: t.with_endpoint(memory_bandwidth=0), "memory_bandwidth.* got 0"),
    (lambda t: t.with_endpoint(touches=(1, 1, 1)), "touches: expected a memory_bandwidth with it"),
    (lambda t: t.with_endpoint(memory_bandwidth=1, touches=(1, 1)), r"touches must be three .* got \(1, 1\)"),  # type: ignore[arg-type]
    (lambda t: t.with_endpoint(memory_bandwidth=1, touches=(1, 1, 2**32)), "touches must be .* got"),
    (lambda t: t.with_endpoint(window="big"), "window.*big"),
    (lambda t: t.with_endpoint(jitter=-1), "jitter .* got -1"),
    (lambda t: t.with_endpoint(seed=2**64), "seed .* got 18446744073709551616"),
    (lambda t: t.with_packets(payload=0), "payload .* got 0"),
    (lambda t: t.with_fabric(buffer=-1), "buffer .* got -1"),
    (lambda t: t.with_fabric(virtual_channels=0), "virtual_channels must be from 1 to 255, got 0"),
    (lambda t: t.with_fabric(virtual_channels=256), "virtual_channels must be from 1 to 255, got 256"),
    (lambda t: t.with_fabric(arbitration="robin"), '"first-come", "round-robin", got "robin"'),  # type: ignore[arg-type]
    (lambda t: t.with_fabric(policy="ecmp"), 'policy must be one of "fixed", "flow-hash", "spray", "adaptive"'),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_a_bad_setting_is_refused_by_its_value(
    bare: tc.Topology, make: Callable[[tc.Topology], object], message: str
) -> None:
    with pytest.raises(tc.TopologyError, match=message) as raised:
        make(bare)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("model", MODELS)
def test_a_single_queue_sends_one_message_at_a_time(model: Model) -> None:
    """Each of a rank's 3 messages crosses its link before the next is launched; without a limit they overlap."""
    star = tc.Topology.fully_connected(4, bandwidth=RATE, latency=SPAN)
    free = tc.simulate(star, "all_gather", 4, algorithm="direct", model=model)
    bound = tc.simulate(star.with_endpoint(queues=1), "all_gather", 4, algorithm="direct", model=model)
    assert bound.time_ps >= 3 * 500_000
    assert free.time_ps < bound.time_ps


@pytest.mark.parametrize("model", MODELS)
def test_jitter_is_a_function_of_its_seed(bare: tc.Topology, model: Model) -> None:
    def time_ps(seed: int) -> int:
        shaken = bare.with_endpoint(jitter="10us", seed=seed)
        return tc.simulate(shaken, "all_reduce", "1MiB", algorithm="ring", model=model).time_ps

    assert time_ps(1) == time_ps(1)
    assert time_ps(1) != time_ps(2)


@pytest.mark.parametrize("model", MODELS)
def test_a_slow_memory_bounds_a_ring(bare: tc.Topology, model: Model) -> None:
    """Each of 3 steps reads and writes a quarter of 4 MiB at every chip, 2 MiB in all, at 1 GB/s."""
    slow = bare.with_endpoint(memory_bandwidth="1GB/s")
    result = tc.simulate(slow, "all_gather", "4MiB", algorithm="ring", model=model)
    assert result.time_ps >= 3 * 2 * 2**20 * 1000


def test_spraying_puts_packets_out_of_order_and_fixed_routes_do_not() -> None:
    """Over planes of different rates packets of a message overtake one another."""
    planes = tc.Topology.switch(8, planes=3, bandwidth=RATE, latency=SPAN)
    planes = planes.with_faults([tc.link_slow(0, "1/3")])

    def reordered(policy: Literal["fixed", "spray"]) -> int:
        steered = planes.with_fabric(policy=policy, buffer="64KiB")
        return tc.simulate(steered, "all_to_all", "1000001", algorithm="direct").reordered_packets

    assert reordered("fixed") == 0
    assert reordered("spray") > 0


COUNTED = {
    "link_wait_ps": np.float64,
    "link_longest_wait_ps": np.uint64,
    "link_held_ps": np.uint64,
    "queue_peak_bytes": np.uint64,
    "queue_mean_bytes": np.float64,
    "buffer_peak_bytes": np.uint64,
}


@pytest.fixture
def star() -> tc.Topology:
    return tc.Topology.switch(8, bandwidth=RATE, latency=SPAN)


def test_queues_are_counted_where_buffers_are_limited(star: tc.Topology) -> None:
    result = tc.simulate(star.with_fabric(buffer="64KiB"), "all_to_all", "8MiB", algorithm="direct")
    for name, dtype in COUNTED.items():
        column = getattr(result, name)
        assert column is getattr(result, name)
        assert (column.dtype, len(column)) == (dtype, star.links), name
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    assert result.buffer_peak_bytes is not None
    assert result.buffer_peak_bytes.max() <= 65_536
    assert result.queue_peak_bytes is not None
    assert result.queue_mean_bytes is not None
    assert (result.queue_mean_bytes <= result.queue_peak_bytes).all()
    assert result.link_wait_ps is not None
    assert result.link_longest_wait_ps is not None
    assert (result.link_longest_wait_ps <= result.link_wait_ps).all()


@pytest.mark.parametrize("model", ["loggp", "flow"])
def test_other_models_count_no_queues(star: tc.Topology, model: Model) -> None:
    result = tc.simulate(star.with_fabric(buffer="64KiB"), "all_to_all", "1MiB", algorithm="direct", model=model)
    assert [getattr(result, name) for name in COUNTED] == [None] * len(COUNTED)


def test_an_incast_fills_a_queue_and_holds_up_senders(star: tc.Topology) -> None:
    """Seven links at full rate feed one: its queue fills what buffers there are, and then senders stand still."""
    small = star.with_fabric(buffer="16KiB")
    result = tc.simulate(small, "gather", "8MiB", algorithm="linear")
    to_root = int(np.flatnonzero(star.link_destination == 0)[0])
    assert result.queue_peak_bytes is not None
    assert result.link_held_ps is not None
    assert int(result.queue_peak_bytes.argmax()) == to_root
    assert 16 * 1024 < result.queue_peak_bytes[to_root] <= 7 * 16 * 1024
    assert result.link_held_ps[star.link_destination == 8].max() > 0
    text = str(result)
    for word in ("waiting", "queue", "no room", "latency"):
        assert word in text


def test_latencies_are_those_of_messages(ring: tc.Topology) -> None:
    """In a ring each message passes one link alone, in one packet."""
    latency = tc.simulate(ring, "all_gather", "8MiB", algorithm="ring").latency
    assert latency is not None
    single = 500_000 + 2**20 * 10**12 // 64_000_000_000
    assert latency.messages == 7 * 8
    assert {latency.min_ps, latency.mean_ps, latency.max_ps, latency.percentile(50), latency.percentile(100)} == {
        single
    }


@pytest.mark.parametrize("model", MODELS)
def test_percentiles_ascend_and_overstate_by_less_than_a_128th(star: tc.Topology, model: Model) -> None:
    latency = tc.simulate(star, "all_to_all", "8MiB", algorithm="direct", model=model).latency
    assert latency is not None
    values = [latency.percentile(percent) for percent in range(101)]
    assert values == sorted(values)
    assert latency.min_ps <= values[0] < latency.min_ps * (1 + 1 / 128)
    assert values[100] == latency.max_ps
    assert latency.min_ps <= latency.mean_ps <= latency.max_ps


def test_a_percentile_beyond_a_hundred_is_refused(ring: tc.Topology) -> None:
    latency = tc.simulate(ring, "all_gather", 8, algorithm="ring").latency
    assert latency is not None
    for percent in (101, -1, 100.5, -0.1, float("nan")):
        with pytest.raises(tc.ArgumentError, match=r"percent .* got"):
            latency.percentile(percent)


def test_percentiles_may_have_places_after_the_point(star: tc.Topology) -> None:
    latency = tc.simulate(star, "all_to_all", "8MiB", algorithm="direct").latency
    assert latency is not None
    assert latency.percentile(50.0) == latency.percentile(50)
    assert latency.percentile(99) <= latency.percentile(99.9) <= latency.percentile(100)


def test_without_messages_there_is_no_latency() -> None:
    alone = tc.Topology.ring(1, bandwidth=RATE, latency=SPAN)
    assert tc.simulate(alone, "all_reduce", 8, algorithm="ring").latency is None
