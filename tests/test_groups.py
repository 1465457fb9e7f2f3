"""Groups that Neuron doesn't allow are named with the rule and the nearest that it does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import trncomm as tc
from trncomm.machines import check_group

TRN1 = tc.machines.trn1(ranks_per_chip=2)
TRN2 = tc.machines.trn2(ranks_per_chip=4)
TRN2_OF_SINGLE_CORES = tc.machines.trn2(ranks_per_chip=8)
TWO = tc.machines.trn2_ultracluster(instances=2, ranks_per_chip=4)
TRN3 = tc.machines.trn3_ultraserver(ranks_per_chip=4)


@pytest.mark.parametrize(
    ("machine", "ranks"),
    [
        *((TRN1, ranks) for ranks in (1, 2, 4, 8, 16, 32)),
        *((TRN2, ranks) for ranks in (1, 4, 8, 16, 32, 64)),
        *((TRN2_OF_SINGLE_CORES, ranks) for ranks in (4, 8, 32, 64, 128)),
        (TWO, 128),
        (TWO, [5, 69]),
        (TRN3, 576),
        (TRN3, 12),
        (tc.machines.trn3_ultraserver(), 144),
    ],
)
def test_what_the_sources_list_is_allowed(machine: tc.Topology, ranks: int | list[int]) -> None:
    check = check_group(machine, ranks)
    assert check.allowed, str(check)
    assert check.nearest == check.ranks


@pytest.mark.parametrize(
    ("machine", "ranks", "rule", "nearest"),
    [
        (TRN1, 24, "must be 1, 2, 4, 8, 16, 32", range(16)),
        (TRN1, 3, "must be 1, 2, 4, 8, 16, 32", range(2)),
        (TRN2, 2, "must be 1, 4, 8, 16, 32, 64", range(1)),
        (TRN2, [3, 9, 12], "must be 1, 4, 8, 16, 32, 64", [0, 3, 9, 12]),
        (TRN2_OF_SINGLE_CORES, 16, "must be 1, 4, 8, 32, 64, 128", range(8)),
        (TRN2, [0, 1, 1, 2, 3], "each rank once", range(4)),
        (TWO, [0, 1, 2, 3, 64, 65, 66], "the same ranks of every instance", [0, 1, 2, 3, 64, 65, 66, 67]),
        (TWO, 72, "the same ranks of every instance", range(128)),
    ],
)
def test_what_they_do_not_list_is_named_with_the_nearest(
    machine: tc.Topology, ranks: int | list[int], rule: str, nearest: Sequence[int]
) -> None:
    check = check_group(machine, ranks)
    assert not check.allowed
    assert rule in check.rule
    assert check.nearest == tuple(nearest)
    assert check.source in str(check)
    assert check_group(machine, check.nearest).allowed


@pytest.mark.parametrize(
    ("machine", "ranks", "collective", "algorithm", "rule", "nearest"),
    [
        (TRN2, [0, 4, 8, 12], None, "kangaring", "all ranks of a chip or none", range(16)),
        (TRN3, 576, None, "kangaring", "at most 256 ranks", range(256)),
        (TRN2, 8, "all_gather_v", None, "the 4 ranks of one chip", range(4)),
        (TWO, [0, 65], "all_to_all_v", None, "the same place of instances", [0, 64]),
        (TRN3, 4, "all_to_all_v", None, "two or more chips in a row", range(8)),
        (TRN2, [0, 40], "permute", None, "ranks joined directly", ()),
    ],
)
def test_collectives_and_algorithms_have_rules_besides(
    machine: tc.Topology,
    ranks: int | list[int],
    collective: str | None,
    algorithm: str | None,
    rule: str,
    nearest: Sequence[int],
) -> None:
    check = check_group(machine, ranks, collective=collective, algorithm=algorithm)
    assert not check.allowed
    assert rule in check.rule
    assert check.nearest == tuple(nearest)
    if nearest:
        assert check_group(machine, check.nearest, collective=collective, algorithm=algorithm).allowed


def test_a_ring_of_neighbours_may_permute() -> None:
    assert check_group(TRN2, [0, 4, 8, 12], collective="permute").allowed
    assert check_group(TRN2, [0, 1, 2, 3], collective="permute").allowed


@pytest.mark.parametrize(
    ("machine", "ranks", "message"),
    [
        (TRN2, 65, "rank must be from 0 to 63, got 64"),
        (TRN2, 0, "at least 1 rank"),
        (TRN2, [-1], "got -1"),
        (tc.machines.trn2(ranks_per_chip=2), 4, "1 or 4 or 8 ranks of a chip"),
        (tc.machines.nvlink_72(), 4, "not of 'nvlink-72'"),
    ],
)
def test_what_is_no_group_of_a_trainium_machine_is_refused(
    machine: tc.Topology, ranks: int | list[int], message: str
) -> None:
    with pytest.raises(tc.TopologyError, match=message):
        check_group(machine, ranks)
