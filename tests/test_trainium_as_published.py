"""What is published of Trainium's collectives, on the presets as they are; docs/worth.md has the misses."""

from __future__ import annotations

import pytest

import trncomm as tc

ALGORITHMS = ("mesh", "rdh", "kangaring", "ring", "multi_ring")


@pytest.mark.parametrize(("size", "measured_us"), [(1 << 10, 9.1), (64 << 10, 12.5)])
def test_small_all_reduces_of_trn1_are_within_15_percent(size: int, measured_us: float) -> None:
    machine = tc.machines.trn1(ranks_per_chip=2)
    best = min(
        tc.simulate(machine, "all_reduce", size, algorithm=name, dtype="fp32", model="flow", verify=False).time_ps
        for name in ALGORITHMS
    )
    assert best / 1e6 == pytest.approx(measured_us, rel=0.15)


def test_a_step_of_a_ring_takes_one_to_two_microseconds() -> None:
    result = tc.simulate(tc.machines.trn2(), "all_gather", 16, algorithm="multi_ring", model="flow")
    assert 1e6 <= result.time_ps / 15 <= 2e6


def test_a_message_between_servers_takes_about_15_microseconds() -> None:
    servers = tc.machines.trn2_ultracluster(instances=2)
    result = tc.simulate(servers, "broadcast", 8, algorithm="linear", model="flow", verify=False)
    assert result.time_ps == pytest.approx(15e6, rel=0.15)


def test_mesh_before_rdh_before_kangaring_where_messages_are_small() -> None:
    machine = tc.machines.trn2(ranks_per_chip=4)
    times = [
        tc.simulate(machine, "all_reduce", "64KiB", algorithm=name, model="flow", verify=False).time_ps
        for name in ("mesh", "rdh", "kangaring")
    ]
    assert times == sorted(times)
