from __future__ import annotations

import numpy as np
import pytest

import trncomm as tc


@pytest.mark.parametrize(
    ("collective", "algorithm", "model", "ranks_run"),
    [
        ("all_reduce", "hierarchical", "flow", 1),
        ("all_reduce", "hierarchical", "packet", 1),
        ("all_reduce", "ring", "packet", 72),
        ("all_to_all", "direct", "flow", 1),
        ("all_to_all", "pairwise", "packet", 1),
    ],
)
def test_a_folded_run_gives_the_same_bytes(
    ultraserver: tc.Topology, collective: str, algorithm: str, model: tc.simulation.Model, ranks_run: int
) -> None:
    folded, whole = (
        tc.simulate(ultraserver, collective, 144 * 4096, algorithm=algorithm, model=model, verify=False, fold=fold)
        for fold in (True, False)
    )
    assert (folded.ranks_run, whole.ranks_run) == (ranks_run, 144)
    assert folded.links_run < whole.links_run == ultraserver.links
    assert folded.time_ps == whole.time_ps
    for column in ("finish_ps", "sent_bytes", "link_bytes", "link_busy_ps"):
        np.testing.assert_array_equal(getattr(folded, column), getattr(whole, column))
    for count in ("messages", "packet_hops"):
        assert getattr(folded, count) == getattr(whole, count)
    assert folded.latency is not None
    assert whole.latency is not None
    assert folded.latency.mean_ps == whole.latency.mean_ps
    assert f"{ranks_run} of 144 ranks" in str(folded)
    assert "folded" not in str(whole)
