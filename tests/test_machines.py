from __future__ import annotations

import inspect

import numpy as np
import pytest

import trncomm as tc
from trncomm import machines


def test_the_ultraserver_has_the_published_links(ultraserver: tc.Topology) -> None:
    assert (ultraserver.ranks, ultraserver.shape) == (144, (2, 18, 4))
    from_chip = ultraserver.link_source == 77
    rates = {
        ultraserver.tiers[tier]: rate
        for tier, rate in zip(
            ultraserver.link_tier[from_chip], ultraserver.link_bandwidth[from_chip].tolist(), strict=True
        )
    }
    assert rates == {"server": 256 * 10**9, "rack": 320 * 10**9, "between-racks": 128 * 10**9}


def test_chips_in_the_same_place_of_two_racks_are_joined_directly(ultraserver: tc.Topology) -> None:
    assert len(ultraserver.route(5, 5 + 72)) == 1
    assert len(ultraserver.route(5, 6)) == 2


def test_every_figure_is_a_keyword_and_every_keyword_a_figure() -> None:
    keywords = set(inspect.signature(machines.trn3_ultraserver).parameters) - {"profile"}
    for profile in machines.machine("trn3-ultraserver").profiles:
        assert {figure.name for figure in machines.figures("trn3-ultraserver", profile=profile)} == keywords


@pytest.mark.parametrize("name", machines.names())
def test_every_figure_has_a_label_and_a_source(name: str) -> None:
    for figures in machines.machine(name).profiles.values():
        assert figures
        for figure in figures:
            assert figure.label in {"published", "derived", "assumed"}
            assert len(figure.source) > 10, figure.name


def test_a_figure_can_be_changed_by_keyword_and_by_name() -> None:
    by_keyword = tc.machines.trn3_ultraserver(servers=4, rack_bandwidth="1TB/s")
    by_name = machines.build("trn3-ultraserver", overrides={"servers": "4", "rack_bandwidth": 10**12})
    assert by_keyword.ranks == by_name.ranks == 32
    np.testing.assert_array_equal(by_keyword.link_bandwidth, by_name.link_bandwidth)
    assert by_keyword.link_bandwidth.max() == 10**12


def test_profiles_differ_where_the_sources_do() -> None:
    wide = tc.machines.trn3_ultraserver(profile="lane-count")
    assert set(wide.link_bandwidth.tolist()) == {512 * 10**9, 128 * 10**9}


@pytest.mark.parametrize(
    ("name", "profile", "overrides", "message"),
    [
        ("trn3-ultrasever", None, {}, "did you mean 'trn3-ultraserver'"),
        ("trn3-ultraserver", "link-tabel", {}, "did you mean 'link-table'"),
        ("trn3-ultraserver", None, {"rack_bandwith": 1}, "did you mean 'rack_bandwidth'"),
        ("trn3-ultraserver", None, {"racks": "two"}, "racks must be a whole number, got 'two'"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(
    name: str, profile: machines.Profile | None, overrides: dict[str, int | str], message: str
) -> None:
    with pytest.raises(tc.TopologyError, match=message):
        machines.build(name, profile=profile, overrides=overrides)
