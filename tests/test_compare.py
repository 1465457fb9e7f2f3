from __future__ import annotations

import json

import numpy as np
import pytest

import trncomm as tc


@pytest.fixture
def table(ring: tc.Topology) -> tc.Table:
    return tc.compare(ring, "all_reduce", ["1KiB", "1MiB", "64MiB"], algorithms=["ring", "direct"], dtype="bf16")


def test_a_table_has_one_row_a_run(table: tc.Table) -> None:
    assert len(table) == 6
    assert table.algorithm.tolist() == ["ring", "direct"] * 3
    assert table.size_bytes.tolist() == [1024, 1024, 1 << 20, 1 << 20, 1 << 26, 1 << 26]
    np.testing.assert_array_equal(table.count * 2, table.size_bytes)


def test_a_table_holds_what_single_runs_give(ring: tc.Topology, table: tc.Table) -> None:
    for row in range(len(table)):
        size, algorithm = int(table.size_bytes[row]), str(table.algorithm[row])
        single = tc.simulate(ring, "all_reduce", size, algorithm=algorithm, model="flow", dtype="bf16")
        assert table.time_ps[row] == single.time_ps
        assert table.busbw_GBps[row] == pytest.approx(single.busbw / 1e9)


def test_the_fastest_of_each_size_is_marked(table: tc.Table) -> None:
    for size in set(table.size_bytes.tolist()):
        rows = table.size_bytes == size
        np.testing.assert_array_equal(table.best[rows], table.time_ps[rows] == table.time_ps[rows].min())
    lines = [line for line in str(table).splitlines() if line.split() and line.split()[0].isdigit()]
    assert len(lines) == 3
    for line, size in zip(lines, (1024, 1 << 20, 1 << 26), strict=True):
        winner = str(table.algorithm[(table.size_bytes == size) & table.best][0])
        assert line.split()[-1] == winner
        assert line.count("*") == 1


def test_a_table_reads_like_nccom_test(table: tc.Table) -> None:
    text = str(table)
    for column in ("size(B)", "count(elems)", "type", "time(us)", "algbw(GB/s)", "busbw(GB/s)"):
        assert column in text
    assert "Avg bus bandwidth:" in text


def test_columns_are_read_only(table: tc.Table) -> None:
    for name, column in table.to_dict().items():
        assert len(column) == len(table), name
        with pytest.raises(ValueError, match="read-only"):
            column[0] = column[0]


def test_a_table_is_not_a_mapping(table: tc.Table) -> None:
    """`pandas.DataFrame(mapping)` would silently make a frame of the column names."""
    assert not hasattr(table, "keys")
    assert not hasattr(table, "__getitem__")


def test_the_report_has_the_keys_of_nccom_test(table: tc.Table) -> None:
    report = json.loads(table.to_json())
    assert len(report["results"]) == len(table)
    first = report["results"][0]
    assert {"size(B)", "count(elems)", "type", "time:avg(us)", "algbw(GB/s)", "busbw(GB/s)"} <= first.keys()
    assert first["time(ps)"] == table.time_ps[0]


def test_all_algorithms_that_fit_are_compared_by_default(ring: tc.Topology) -> None:
    table = tc.compare(ring, "all_reduce", [1024])
    assert {*table.algorithm.tolist(), *table.skipped} == {known.name for known in tc.algorithms("all_reduce")}


def test_progress_goes_from_0_to_1(ring: tc.Topology) -> None:
    shares: list[float] = []
    tc.compare(ring, "all_reduce", [1, 2, 3], algorithms=["ring"], progress=lambda share, _: shares.append(share))
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def test_an_algorithm_asked_for_by_name_must_exist(ring: tc.Topology) -> None:
    with pytest.raises(tc.AlgorithmError, match="rinng"):
        tc.compare(ring, "all_reduce", [1024], algorithms=["ring", "rinng"])


def test_a_comparison_without_sizes_is_refused(ring: tc.Topology) -> None:
    with pytest.raises(tc.ArgumentError, match="sizes"):
        tc.compare(ring, "all_reduce", [])


def test_a_size_of_zero_has_no_bandwidth(ring: tc.Topology) -> None:
    table = tc.compare(ring, "all_reduce", [0], algorithms=["ring"])
    assert table.algbw_GBps.tolist() == [0]
    assert "0.00" in str(table)
