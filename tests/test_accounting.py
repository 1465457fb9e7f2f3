"""An account adds up bytes and time at prices that are stated."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

import trncomm as tc

RING = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
RESULT = tc.simulate(RING, "all_gather", "4MiB", algorithm="ring", model="flow")


def test_nothing_is_accounted_for_unless_asked() -> None:
    account = RESULT.account()
    assert (account.items, account.joules, account.cost) == ((), None, None)
    assert "nothing was asked for" in str(account)


def test_energy_is_bytes_by_tier_times_picojoules_a_bit() -> None:
    """Each of 4 shares of 1 MiB crosses 3 links, and is read and written as often."""
    account = RESULT.account(energy={"link": 10, "memory": 2.5})
    assert [(item.tier, item.nbytes) for item in account.items] == [("link", 12 * 2**20), ("memory", 24 * 2**20)]
    assert account.joules is not None
    assert math.isclose(account.joules, 2**20 * 8e-12 * (12 * 10 + 24 * 2.5))
    assert all(item.label == "given" for item in account.items)


def test_tiers_of_a_cluster_are_told_apart_and_defaults_are_labelled() -> None:
    cluster = tc.machines.trn2_ultracluster(instances=2, ranks_per_chip=4)
    account = tc.simulate(cluster, "all_reduce", "1MiB", algorithm="ring", model="flow").account(energy=True)
    figures = {item.tier: item.pj_per_bit for item in account.items}
    assert figures["leaf"] > figures["x"] > figures["core-of-chip"]
    assert all(item.label == "assumed" and item.source for item in account.items)
    assert sum(item.nbytes for item in account.items if item.tier == "leaf") > 0


def test_cost_is_chips_times_hours_times_the_price() -> None:
    account = RESULT.account(price=3.6)
    assert account.cost is not None
    assert math.isclose(account.cost, 4 * RESULT.time_ps * 1e-12 * 3.6 / 3600)
    assert account.items == ()
    assumed = RESULT.account(price=True)
    assert (assumed.price_label, bool(assumed.price_source)) == ("assumed", True)


def test_ranks_of_one_chip_are_paid_once() -> None:
    cores = RING.with_cores(2, bandwidth="1TB/s", latency=0)
    result = tc.simulate(cores, "all_gather", "4MiB", algorithm="ring", model="flow")
    assert math.isclose(result.account().chip_seconds, 4 * result.time_ps * 1e-12)


@pytest.mark.parametrize(
    ("energy", "price", "message"),
    [
        ({"lnk": 1}, False, "did you mean 'link'"),
        ({"link": -1}, False, "energy of link must be a number of at least 0, got -1"),
        ({"link": math.nan}, False, "at least 0, got nan"),
        ({}, -1, "price must be a number of at least 0"),
        ({}, math.inf, "price must be a number of at least 0"),
    ],
)
def test_what_is_no_price_is_refused(energy: Mapping[str, float], price: float, message: str) -> None:
    with pytest.raises(tc.ArgumentError, match=message):
        RESULT.account(energy=energy, price=price)
