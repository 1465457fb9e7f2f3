from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trncomm as tc
from trncomm import faults
from trncomm.simulation import Model

MODELS: tuple[Model, ...] = get_args(Model)
RATE, SPAN = "64GB/s", "500ns"
CUT = tc.link_down((0, 1), both=True)


@pytest.mark.parametrize("model", MODELS)
def test_no_faults_are_no_change(ring: tc.Topology, model: Model) -> None:
    bare = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring", model=model)
    same = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring", model=model, faults=[])
    assert bare.time_ps == same.time_ps
    np.testing.assert_array_equal(bare.finish_ps, same.finish_ps)


def test_faults_leave_the_healthy_topology_alone(ring: tc.Topology) -> None:
    before = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring")
    broken = ring.with_faults([CUT, tc.link_slow(4, "1/2"), tc.late(3, by="1ms")])
    after = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring")
    assert broken.faults
    assert ring.faults == ()
    assert (before.time_ps, str(before)) == (after.time_ps, str(after))
    np.testing.assert_array_equal(before.link_bytes, after.link_bytes)


@pytest.mark.parametrize("model", ["flow", "packet"])
def test_a_cut_ring_goes_the_long_way_round(ring: tc.Topology, model: Model) -> None:
    """A message over the cut takes 7 links instead of 1; nothing crosses the cut any more."""
    view = ring.with_faults([CUT])
    assert len(view.route(0, 1)) == 7
    healthy = tc.simulate(ring, "all_gather", "8MiB", algorithm="ring", model=model)
    result = tc.simulate(ring, "all_gather", "8MiB", algorithm="ring", model=model, faults=[CUT])
    down = (ring.link_source <= 1) & (ring.link_destination <= 1)
    assert down.sum() == 2
    assert healthy.link_bytes[down].sum() > 0
    assert result.link_bytes[down].sum() == 0
    assert result.link_bytes.sum() == healthy.link_bytes.sum() * (7 + 7) // 8
    # A message to the other side of the cut passes 6 links more than in the healthy ring, with a latency each.
    assert result.time_ps >= healthy.time_ps + 6 * 500_000


def test_ranks_that_are_cut_off_are_named() -> None:
    line = tc.Topology.mesh((4,), bandwidth=RATE, latency=SPAN)
    with pytest.raises(tc.TopologyError, match="no path from rank 0 to rank 2"):
        line.with_faults([tc.link_down((1, 2))])
    with pytest.raises(tc.TopologyError, match="no path from rank 0 to rank 2"):
        tc.simulate(line, "all_reduce", 8, algorithm="ring", faults=[tc.link_down((1, 2))])


def test_a_lost_plane_leaves_the_others_to_carry_its_traffic() -> None:
    planes = tc.Topology.switch(8, planes=4, bandwidth=RATE, latency=SPAN)
    result = tc.simulate(planes, "all_to_all", "1MiB", algorithm="direct", faults=[tc.node_down("switch 8")])
    healthy = tc.simulate(planes, "all_to_all", "1MiB", algorithm="direct")
    touches_it = (planes.link_source == 8) | (planes.link_destination == 8)
    assert result.link_bytes[touches_it].sum() == 0
    assert result.link_bytes.sum() == healthy.link_bytes.sum()


@pytest.mark.parametrize("model", MODELS)
def test_a_late_rank_delays_a_ring_by_as_much(ring: tc.Topology, model: Model) -> None:
    """Every rank needs what the late one sends last, and the ring's steps are the same after it."""
    healthy = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring", model=model)
    late = tc.simulate(ring, "all_reduce", "1MiB", algorithm="ring", model=model, faults=[tc.late(5, by="200us")])
    assert late.time_ps == healthy.time_ps + 200_000_000


@pytest.mark.parametrize("model", MODELS)
def test_a_slow_rank_launches_as_slowly_as_it_says(model: Model) -> None:
    """Two ranks exchange one message each: the slow one's launch of 1 µs takes 1.5 µs."""
    pair = tc.Topology.ring(2, bandwidth=RATE, latency=SPAN).with_endpoint(launch="1us")
    healthy = tc.simulate(pair, "all_gather", 2, algorithm="ring", model=model)
    slow = tc.simulate(pair, "all_gather", 2, algorithm="ring", model=model, faults=[tc.slow(1, times=1.5)])
    assert slow.time_ps == healthy.time_ps + 500_000


def test_a_slow_link_has_that_fraction_of_its_rate(ring: tc.Topology) -> None:
    view = ring.with_faults([tc.link_slow(3, "1/3")])
    assert int(view.link_bandwidth[3]) == 64_000_000_000 // 3
    others = np.arange(ring.links) != 3
    np.testing.assert_array_equal(view.link_bandwidth[others], ring.link_bandwidth[others])


def test_a_link_with_errors_sends_packets_again(ring: tc.Topology) -> None:
    small = ring.with_packets(payload="4KiB")
    healthy = tc.simulate(small, "all_gather", "8MiB", algorithm="ring")
    result = tc.simulate(small, "all_gather", "8MiB", algorithm="ring", faults=[tc.link_errors((0, 1), 1e-5)])
    assert result.time_ps > healthy.time_ps


def test_a_pair_names_all_links_from_one_node_to_the_other() -> None:
    both_ways = [(0, 1, RATE, SPAN), (0, 1, RATE, SPAN), (1, 0, RATE, SPAN), (1, 0, RATE, SPAN), (0, 1, RATE, SPAN)]
    pair = tc.Topology.from_links(2, both_ways)
    slowed = pair.with_faults([tc.link_slow((0, 1), 0.5)])
    assert slowed.faults == tuple(tc.link_slow(link, "1/2") for link in (0, 1, 4))
    cable = pair.with_faults([tc.link_down(1, both=True)])
    assert cable.faults == (tc.link_down(1), tc.link_down(3))
    with pytest.raises(tc.TopologyError, match=r"link 4 .* has no link back"):
        pair.with_faults([tc.link_down(4, both=True)])


def test_nodes_have_names(ultraserver: tc.Topology) -> None:
    assert ultraserver.node_name(5) == ultraserver.node_name("chip 5") == "chip 5"
    assert ultraserver.node_name(144) == "switch 144"
    by_name = ultraserver.with_faults([tc.link_down(("chip 0", "switch 144"))])
    assert by_name.faults == ultraserver.with_faults([tc.link_down((0, 144))]).faults


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000))
def test_fractions_are_exact(fraction: Fraction) -> None:
    exact = tc.link_slow(0, fraction)
    assert tc.link_slow(0, str(fraction)) == exact
    assert hash(tc.link_slow(0, str(fraction))) == hash(exact)
    assert repr(exact) == f"link_slow(0, '{fraction}')"


def test_a_float_stands_for_the_decimal_that_it_prints_as() -> None:
    for value in (0.1, np.float64(0.1), "0.1", Decimal("0.1"), Fraction(1, 10)):
        assert tc.link_slow(0, value) == tc.link_slow(0, "1/10")  # type: ignore[arg-type]
    assert tc.slow(0, times=2) == tc.slow(0, times="4/2")


EVERY = [
    tc.link_down(3),
    tc.link_down((0, "switch 8"), both=True),
    tc.link_slow(("chip 1", 8), "1/3"),
    tc.link_errors(3, 1e-12, both=True),
    tc.node_down("switch 8"),
    tc.late(5, by="200us"),
    tc.late(5, by=2**64 - 1),
    tc.slow(5, times="3/2"),
]


@pytest.mark.parametrize("fault", EVERY, ids=repr)
def test_a_fault_prints_as_the_call_that_makes_it(fault: tc.Fault) -> None:
    assert eval(repr(fault), vars(faults)) == fault
    assert [other for other in EVERY if other == fault] == [fault]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("link-down:3", tc.link_down(3)),
        ("link-down:3:both", tc.link_down(3, both=True)),
        ("link-down: chip 0 - switch 8", tc.link_down(("chip 0", "switch 8"))),
        ("link-slow:0-8:both:1/3", tc.link_slow((0, 8), "1/3", both=True)),
        ("link-errors:3:1e-12", tc.link_errors(3, 1e-12)),
        ("node-down:switch 8", tc.node_down("switch 8")),
        ("node-down:8", tc.node_down(8)),
        ("late:5:200us", tc.late(5, by="200us")),
        ("slow:5:1.5", tc.slow(5, times="3/2")),
    ],
)
def test_a_fault_is_read_from_text(text: str, fault: tc.Fault) -> None:
    assert faults.parse(text) == fault


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("link-dwon:3", "unknown fault 'link-dwon' .* did you mean 'link-down'"),
        ("", "choose from link-down"),
        ("link-down", "must be link-down:LINK, got 'link-down'"),
        ("link-down:", "must be link-down:LINK"),
        ("link-down:x", "link must be a whole number, got 'x'"),
        ("link-down:chip 0-spine 8", "source|destination must be the number of a node"),
        ("link-slow:3", "must be link-slow:LINK:FRACTION"),
        ("link-slow:3:half", "fraction .* got 'half'"),
        ("link-errors:3:few", "bit error rate must be a number, got 'few'"),
        ("late:5", "must be late:RANK:TIME"),
        ("late:five:1us", "rank must be a whole number, got 'five'"),
        ("late:5:soon", "soon"),
        ("slow:5:both:2", "must be slow:RANK:TIMES"),
    ],
)
def test_a_text_that_is_no_fault_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        faults.parse(text)
    assert isinstance(raised.value, tc.TrncommError)


BAD: list[tuple[Callable[[], tc.Fault], str]] = [
    (lambda: tc.link_down(99), "link must be below 16, the number of links, got 99"),
    (lambda: tc.link_down(-1), "link .* got -1"),
    (lambda: tc.link_down(2**32), "link .* got 4294967296"),
    (lambda: tc.link_down((0, 4)), "no link from chip 0 to chip 4"),
    (lambda: tc.link_down((0, 8)), "chips 0 to 7 and no switches, got 8"),
    (lambda: tc.link_down((0, "switch 1")), "got 'switch 1'"),
    (lambda: tc.link_down((0, "spine 1")), 'destination must be the number .* got "spine 1"'),
    (lambda: tc.link_down((0, 1, 2)), "pair .* got"),  # type: ignore[arg-type]
    (lambda: tc.link_slow(0, 0), "above 0 and at most 1, got 0/1"),
    (lambda: tc.link_slow(0, 1.5), "above 0 and at most 1, got 3/2"),
    (lambda: tc.link_slow(0, -0.5), "from 0 to 2\\^32 - 1, got -0.5"),
    (lambda: tc.link_slow(0, 1 / 3), "such as .*1/3.* got 0.333"),
    (lambda: tc.link_slow(0, float("nan")), "fraction .* got nan"),
    (lambda: tc.link_slow(0, "1/0"), "fraction .* got '1/0'"),
    (lambda: tc.link_errors(0, 1.0), "bit_error_rate must be from 0 to below 1, got 1"),
    (lambda: tc.link_errors(0, float("nan")), "bit_error_rate .* got NaN"),
    (lambda: tc.node_down(3), "a switch, .* got 3, a chip"),
    (lambda: tc.late(8, by=1), "rank must be below 8"),
    (lambda: tc.late(0, by="soon"), "soon"),
    (lambda: tc.slow(0, times=0.5), "at least 1, got 1/2"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_a_fault_that_cant_be_is_refused_by_its_value(
    ring: tc.Topology, make: Callable[[], tc.Fault], message: str
) -> None:
    with pytest.raises(tc.TopologyError, match=message) as raised:
        ring.with_faults([make()])
    assert isinstance(raised.value, ValueError)


def test_two_faults_of_a_kind_on_one_link_are_refused(ring: tc.Topology) -> None:
    once = ring.with_faults([tc.link_slow(0, 0.5)])
    with pytest.raises(tc.TopologyError, match="at most one LinkSlow"):
        once.with_faults([tc.link_slow(0, 0.25)])


def test_things_that_are_no_faults_are_type_errors(ring: tc.Topology) -> None:
    with pytest.raises(TypeError, match="Fault"):
        ring.with_faults(["link-down:3"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        tc.link_slow(0, None)  # type: ignore[arg-type]


def test_a_result_and_a_topology_print_their_faults(ring: tc.Topology) -> None:
    view = ring.with_faults([tc.late(5, by="200us")])
    assert "faults: late(5, by='200 µs')" in str(view)
    assert "faults    late(5, by='200 µs')" in str(tc.simulate(view, "all_reduce", 8, algorithm="ring"))


def test_a_comparison_takes_faults(ring: tc.Topology) -> None:
    late = [tc.late(0, by="1ms")]
    table = tc.compare(ring, "all_reduce", ["1KiB"], algorithms=["ring"], faults=late)
    single = tc.simulate(ring, "all_reduce", "1KiB", algorithm="ring", model="flow", faults=late)
    assert table.time_ps.tolist() == [single.time_ps]
