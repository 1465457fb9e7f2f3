"""Every algorithm, over many numbers of ranks and sizes; and the pages about them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import trncomm as tc

ROOT = Path(__file__).parent.parent
COLLECTIVES = ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "gather", "scatter"]
PAIRS = [(collective, known.name) for collective in COLLECTIVES for known in tc.algorithms(collective)]
BANDWIDTH = 64_000_000_000
LATENCY_PS = 500_000


def crossbar(ranks: int) -> tc.Topology:
    return tc.Topology.fully_connected(ranks, bandwidth=BANDWIDTH, latency="500ns")


def message_ps(size: int) -> int:
    return LATENCY_PS + -(-size * 10**12 // BANDWIDTH)


@settings(deadline=None)
@given(
    pair=st.sampled_from(PAIRS),
    ranks=st.one_of(st.integers(2, 40), st.just(144)),
    size=st.sampled_from([0, 1, 2, 127, 128, 129, 1000, 65_537]),
    root=st.integers(0, 143),
    model=st.sampled_from(["loggp", "flow", "packet"]),
)
def test_every_algorithm_is_proved_and_no_faster_than_any_bound(
    pair: tuple[str, str], ranks: int, size: int, root: int, model: tc.simulation.Model
) -> None:
    collective, algorithm = pair
    rooted = collective in {"broadcast", "reduce", "gather", "scatter"}
    topology = crossbar(ranks)
    try:
        schedule = tc.build(topology, collective, algorithm, root=root % ranks if rooted else 0)
    except tc.AlgorithmError as refused:
        reason = str(refused)
        others = {known.name for known in tc.algorithms(collective)} - {algorithm}
        assume(not any(other in reason for other in others))
        raise
    proof = tc.verify(schedule)
    assert proof.method == "exact"
    # A time below a bound is an error of the run.
    result = tc.run(topology, schedule, size, model=model)
    assert result.bound_ps is None or result.time_ps >= result.bound_ps


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 13, 40, 144])
def test_sparbit_takes_a_step_for_each_distance(ranks: int) -> None:
    block = 4096
    distances = [1 << bit for bit in range((ranks - 1).bit_length())]
    expected = sum(message_ps(block * -(-(ranks - distance) // (2 * distance))) for distance in distances)
    result = tc.simulate(crossbar(ranks), "all_gather", block * ranks, algorithm="sparbit", model="loggp")
    assert result.time_ps == expected
    assert result.messages == ranks * len(distances)
    assert set(result.sent_bytes.tolist()) == {(ranks - 1) * block}


@pytest.mark.parametrize(("groups", "members"), [(1, 7), (5, 1), (2, 3), (6, 4), (36, 4), (9, 16)])
def test_a_tree_in_two_levels_is_as_deep_as_both(groups: int, members: int) -> None:
    # The member v of a tree hears by as many messages as v has bits; all of a rank's go over links of their own.
    depth = sum(max(v.bit_count() for v in range(count)) for count in (groups, members))
    result = tc.simulate(
        crossbar(groups * members),
        "broadcast",
        "64KiB",
        algorithm="hierarchical_tree",
        root=groups * members - 1,
        parameters={"levels": [members]},
        model="loggp",
    )
    assert result.time_ps == depth * message_ps(65536)


@pytest.mark.parametrize("collective", ["broadcast", "reduce", "gather", "scatter"])
def test_a_tree_in_two_levels_enters_and_leaves_each_group_once(collective: str) -> None:
    topology = tc.Topology.torus((6, 4), bandwidth=BANDWIDTH, latency="500ns")
    for root in (0, 9, 23):
        schedule = tc.build(topology, collective, "hierarchical_tree", root=root)
        outside = [message for message in schedule.steps() if message[1] // 4 != message[2] // 4]
        assert len(outside) == 5
        assert tc.verify(schedule).method == "exact"


def test_messages_are_listed_by_step() -> None:
    steps = tc.build(crossbar(4), "all_reduce", "direct").steps()
    assert len(steps) == 24
    assert {step for step, *_ in steps} == {0, 1}
    assert steps == sorted(steps)


def test_the_pages_are_current() -> None:
    pages = runpy.run_path(str(ROOT / "scripts/algorithm_pages.py"))["pages"]()
    assert len(pages) > 60, "a page and a picture for each algorithm"
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/algorithms").iterdir()}
    assert sorted(kept) == sorted(pages)
    old = [name for name, text in pages.items() if kept[name] != text]
    assert not old, f"scripts/algorithm_pages.py writes them anew: {old}"
