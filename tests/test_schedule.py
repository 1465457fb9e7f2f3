from __future__ import annotations

import pytest

import trncomm as tc

COLLECTIVES = ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"]
EVERY_ALGORITHM = [(collective, known.name) for collective in COLLECTIVES for known in tc.algorithms(collective)]


@pytest.mark.parametrize(("collective", "algorithm"), EVERY_ALGORITHM)
def test_every_algorithm_is_proved(ultraserver: tc.Topology, collective: str, algorithm: str) -> None:
    """On the UltraServer, or on a torus where the algorithm needs powers of two."""
    try:
        schedule = tc.build(ultraserver, collective, algorithm)
    except tc.AlgorithmError:
        torus = tc.Topology.torus((4, 4), bandwidth="128GB/s", latency="200ns")
        schedule = tc.build(torus, collective, algorithm)
    proof = tc.verify(schedule)
    assert schedule.collective == collective
    assert (proof.method, proof.miss_probability) == ("exact", 0)
    assert proof.chunks_checked >= schedule.chunks


def test_a_large_schedule_is_proved_by_fingerprint() -> None:
    big = tc.Topology.switch(512, bandwidth="25GB/s", latency="1us")
    proof = tc.verify(tc.build(big, "all_reduce", "recursive_halving_doubling"))
    assert proof.method == "fingerprint"
    assert 0 < proof.miss_probability < 1e-6


@pytest.mark.parametrize(("collective", "algorithm"), [("all_reduce", "ring"), ("all_to_all", "pairwise")])
def test_a_schedule_for_100_800_ranks_takes_under_100_kb(collective: str, algorithm: str) -> None:
    cluster = tc.Topology.switch(100_800, bandwidth="25GB/s", latency="1us")
    assert tc.build(cluster, collective, algorithm).nbytes < 100_000


def test_a_schedule_prints_as_a_program(ring: tc.Topology) -> None:
    text = str(tc.build(ring, "all_gather", "ring"))
    assert "for i in 0..7:" in text
    assert "send output" in text
    assert "receive output" in text


def test_names_of_other_tools_are_read(ring: tc.Topology) -> None:
    for name in ("all_reduce", "allreduce", "allr", "psum", "ALL-REDUCE"):
        assert tc.build(ring, name, "ring").collective == "all_reduce"


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_says_what_it_is(collective: str) -> None:
    found = tc.algorithms(collective)
    assert found
    for known in found:
        assert known.summary
        assert known.source
        assert known.ranks


@pytest.mark.parametrize(
    ("collective", "algorithm", "root", "parameters", "message"),
    [
        ("all_reduec", "ring", 0, {}, "all_reduce"),
        ("all_reduce", "rinng", 0, {}, "ring"),
        ("broadcast", "binomial", 8, {}, "from 0 to 7, got 8"),
        ("broadcast", "binomial", -1, {}, "root .* got -1"),
        ("all_reduce", "ring", 1, {}, "root .* got 1"),
        ("all_reduce", "ring", 0, {"colour": 3}, "colour"),
        ("all_reduce", "ring", 0, {"colour": -3}, "colour .* got -3"),
    ],
)
def test_what_cant_be_built_is_refused_by_its_value(
    ring: tc.Topology, collective: str, algorithm: str, root: int, parameters: dict[str, int], message: str
) -> None:
    with pytest.raises(tc.AlgorithmError, match=message) as raised:
        tc.build(ring, collective, algorithm, root=root, parameters=parameters)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("algorithm", ["ring", "hierarchical"])
def test_a_hundred_thousand_ranks_are_proved(algorithm: str) -> None:
    cluster = tc.machines.ultracluster()
    proof = tc.verify(tc.build(cluster, "all_reduce", algorithm))
    assert proof.method == "symmetric"
    assert proof.chunks_checked == 100_800**2
    assert 0 < proof.miss_probability < 1e-12
