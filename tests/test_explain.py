from __future__ import annotations

import json

import numpy as np
import pytest

import trncomm as tc
from trncomm import cli


@pytest.mark.parametrize("model", ["loggp", "flow", "packet"])
def test_the_parts_are_the_whole_time(ultraserver: tc.Topology, model: tc.simulation.Model) -> None:
    result = tc.simulate(ultraserver, "all_reduce", "8MiB", algorithm="hierarchical", model=model)
    why = result.explain()
    assert sum(why.parts.values()) == why.time_ps == result.time_ps
    for part, time in why.parts.items():
        assert int(why.part_ps(part).sum()) == time or part == "late start"


def test_the_steps_follow_one_another_without_a_gap(ultraserver: tc.Topology) -> None:
    why = tc.simulate(ultraserver, "all_to_all", "8MiB", algorithm="pairwise", model="flow").explain()
    np.testing.assert_array_equal(why.begin_ps[1:], why.end_ps[:-1])
    assert why.begin_ps[0] == 0
    assert why.end_ps[-1] == why.time_ps
    assert len(why) == len(why.kind) == len(why.source)


def test_a_straggler_is_named(ultraserver: tc.Topology) -> None:
    faults = [tc.late(17, by="3ms")]
    why = tc.simulate(ultraserver, "all_gather", "1MiB", algorithm="ring", model="loggp", faults=faults).explain()
    assert why.parts["late start"] == 3 * 10**9
    assert why.source[0] == 17
    assert "before rank 17 began" in str(why)


def test_an_unknown_part_is_named(ultraserver: tc.Topology) -> None:
    why = tc.simulate(ultraserver, "all_gather", "1MiB", algorithm="ring", model="loggp").explain()
    with pytest.raises(KeyError, match="lanch"):
        why.part_ps("lanch")


def test_a_run_of_one_rank_has_nothing_to_explain() -> None:
    alone = tc.Topology.ring(1, bandwidth=1, latency=0)
    why = tc.simulate(alone, "all_reduce", "1KiB", algorithm="ring").explain()
    assert (why.time_ps, len(why)) == (0, 0)
    assert "ranks none" in str(why)


def test_a_result_keeps_what_it_was_made_of(ultraserver: tc.Topology) -> None:
    result = tc.simulate(ultraserver, "all_gather", "1MiB", algorithm="ring", faults=[tc.late(3, by="1us")])
    assert len(result.topology.faults) == 1
    again = tc.run(result.topology, result.schedule, result.size_bytes)
    assert again.time_ps == result.time_ps


def test_the_command_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "-b", "1M", "--algorithm", "direct", "--model", "flow"]) == 0
    assert "critical path  2 messages" in capsys.readouterr().out
    assert cli.main(["explain", "-b", "1M", "--algorithm", "direct", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["launch"] > 0
