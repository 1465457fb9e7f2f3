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


def test_a_padded_size_has_equal_chunks_and_folds(ultraserver: tc.Topology) -> None:
    plain, padded = (
        tc.simulate(ultraserver, "all_reduce", 2 * 1_000_003, algorithm="ring", dtype="bf16", model="flow", pad=pad)
        for pad in (False, True)
    )
    assert (plain.size_bytes, plain.ranks_run) == (2 * 1_000_003, 144)
    assert padded.size_bytes == 2 * 144 * 6945
    assert padded.ranks_run == 72
    assert plain.time_ps <= padded.time_ps
