"""Algorithms that are chosen, and names of reductions."""

from __future__ import annotations

import pytest

import trncomm as tc

SIZES = ["64KiB", "8MiB", "256MiB"]


@pytest.fixture(scope="module")
def torus() -> tc.Topology:
    return tc.Topology.torus((4, 4), bandwidth="64GB/s", latency="500ns")


@pytest.mark.parametrize(("size", "algorithm"), [*zip(SIZES, ["direct", "rdh", "multi_ring"], strict=True)])
def test_auto_follows_the_published_ranges_on_a_trn2(size: str, algorithm: str) -> None:
    result = tc.simulate(tc.machines.trn2(), "all_reduce", size, algorithm="auto", model="flow")
    assert result.choice is not None
    assert (result.algorithm, result.choice.algorithm, result.choice.asked) == (algorithm, algorithm, "auto")
    assert "Neuron takes" in result.choice.reason
    assert "chosen" in str(result)


@pytest.mark.parametrize(("size", "algorithm"), [*zip(SIZES, ["mesh", "rdh", "kangaring"], strict=True)])
def test_auto_takes_what_needs_several_ranks_a_chip_where_there_are(size: str, algorithm: str) -> None:
    topology = tc.machines.trn2(ranks_per_chip=4)
    result = tc.simulate(topology, "all_gather", size, algorithm="auto", model="flow")
    assert result.algorithm == algorithm


def test_auto_falls_back_to_the_ring_where_no_power_of_two_is() -> None:
    result = tc.simulate(tc.machines.trn3_ultraserver(), "all_gather", "8MiB", algorithm="auto", model="flow")
    assert result.algorithm == "ring"
    assert result.choice is not None
    assert [candidate.algorithm for candidate in result.choice.candidates] == ["rdh", "ring"]
    assert "power of two" in result.choice.candidates[0].note


def test_auto_takes_a_hierarchy_across_ultraservers() -> None:
    cluster = tc.machines.trn3_ultracluster(ultraservers=4)
    result = tc.simulate(cluster, "reduce_scatter", "64KiB", algorithm="auto", model="flow")
    assert result.algorithm == "hierarchical"
    assert result.choice is not None
    assert "aren't published" in result.choice.reason


def test_auto_says_that_there_is_no_rule_where_there_is_none(torus: tc.Topology) -> None:
    result = tc.simulate(tc.machines.trn2(), "broadcast", "1MiB", algorithm="auto", model="flow")
    assert result.choice is not None
    assert "no sizes for broadcast" in result.choice.reason
    with pytest.raises(tc.AlgorithmError, match=r"trn2.*'best'"):
        tc.simulate(torus, "all_reduce", "1MiB", algorithm="auto")


@pytest.mark.parametrize("size", SIZES)
def test_best_is_no_slower_than_any_that_serves(torus: tc.Topology, size: str) -> None:
    best = tc.simulate(torus, "all_reduce", size, algorithm="best", model="flow")
    table = tc.compare(torus, "all_reduce", [size], model="flow")
    assert best.time_ps == int(table.time_ps.min())
    assert best.choice is not None
    names = [candidate.algorithm for candidate in best.choice.candidates]
    assert sorted(names) == sorted(known.name for known in tc.algorithms("all_reduce"))
    times = [candidate.time_ps for candidate in best.choice.candidates if candidate.time_ps is not None]
    assert times == sorted(times)
    assert all(candidate.note for candidate in best.choice.candidates if candidate.time_ps is None)


def test_a_list_names_the_candidates(torus: tc.Topology) -> None:
    result = tc.simulate(torus, "all_reduce", "1MiB", algorithm=["ring", "bucket"], model="flow")
    assert result.algorithm == "bucket"
    assert result.choice is not None
    assert {candidate.algorithm for candidate in result.choice.candidates} == {"ring", "bucket"}


def test_a_named_algorithm_is_no_choice(torus: tc.Topology) -> None:
    assert tc.simulate(torus, "all_reduce", "1MiB", algorithm="ring", model="flow").choice is None


def test_parameters_need_a_name(torus: tc.Topology) -> None:
    with pytest.raises(tc.AlgorithmError, match="'best' names none"):
        tc.simulate(torus, "broadcast", "1MiB", algorithm="best", parameters={"pieces": 4})


def test_reductions_are_read_and_take_the_same_time(torus: tc.Topology) -> None:
    plain = tc.simulate(torus, "all_reduce", "1MiB", algorithm="ring", model="flow")
    for op in ("sum", "avg", "average", "min", "max", "MAX"):
        assert tc.simulate(torus, "all_reduce", "1MiB", algorithm="ring", model="flow", op=op).time_ps == plain.time_ps


@pytest.mark.parametrize(
    ("collective", "op", "message"),
    [("all_reduce", "avrage", "did you mean 'average'"), ("all_gather", "sum", "reduces nothing")],
)
def test_a_reduction_that_is_none_is_refused(torus: tc.Topology, collective: str, op: str, message: str) -> None:
    with pytest.raises(tc.ArgumentError, match=message):
        tc.simulate(torus, collective, "1MiB", algorithm="ring", op=op)


def test_parameters_are_typed() -> None:
    known = {found.name: found.parameters for found in tc.algorithms("all_reduce")}
    levels, inner = known["hierarchical"]["levels"], known["hierarchical"]["inner"]
    assert (levels.kind, levels.default, levels.range) == ("counts", (), None)
    assert (inner.kind, inner.default, inner.range) == ("algorithm", "ring", None)
    pieces = known["binary_tree"]["pieces"]
    assert (pieces.name, pieces.kind, pieces.default, pieces.range) == ("pieces", "count", 16, (1, 65536))
    assert "default 16" in str(pieces)


def test_the_fastest_by_flow_need_not_be_so_by_loggp() -> None:
    # Fluids reach both children of a node at once, so that a tree is quicker by them than where ports serve in order.
    switch = tc.Topology.switch(9, bandwidth="64GB/s", latency="500ns")
    best = tc.simulate(switch, "broadcast", 1_000_000, algorithm="best", model="flow")
    alone = {}
    for info in tc.algorithms("broadcast"):
        try:
            alone[info.name] = tc.simulate(switch, "broadcast", 1_000_000, algorithm=info.name, model="flow").time_ps
        except tc.AlgorithmError:
            continue
    assert best.choice is not None
    times = {candidate.algorithm: candidate.time_ps for candidate in best.choice.candidates}
    assert {name: time for name, time in times.items() if time is not None} == alone
    assert best.time_ps == min(alone.values())
