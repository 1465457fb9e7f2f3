from __future__ import annotations

import builtins
import importlib
import math

import pytest

import trncomm as tc

TRUE = {"launch": "2200ns", "latency": "350ns", "bandwidth": "31GB/s"}


def synthetic() -> list[tc.Measurement]:
    """Times of a Trn1 whose figures are known."""
    machine = tc.machines.trn1(launch="2200ns", latency="350ns", bandwidth="31GB/s")
    rows = []
    for size in ("1KiB", "32KiB", "1MiB", "32MiB", "256MiB"):
        for algorithm in ("ring", "rdh", "kangaring"):
            result = tc.simulate(machine, "all_reduce", size, algorithm=algorithm, model="flow", verify=False)
            rows.append(tc.Measurement("all_reduce", algorithm, size, result.time_ps / 1e6))
    return rows


def test_known_figures_are_recovered() -> None:
    pytest.importorskip("scipy.optimize", reason="calibration needs SciPy")
    found = tc.calibrate("trn1", synthetic(), source="a test")
    values = {figure.name: figure.value for figure in found.figures}
    assert values["launch"] == pytest.approx(2_200_000, rel=0.01)
    assert values["latency"] == pytest.approx(350_000, rel=0.02)
    assert values["bandwidth"] == pytest.approx(31 * 10**9, rel=0.01)
    # The measurements have no noise, so what remains is the rounding of steps of the search.
    assert found.fit_error < 1e-3
    assert found.held_out_error is not None
    assert found.held_out_error < 1e-3
    assert sum(residual.held_out for residual in found.residuals) == 3
    assert all("calibrated from a test" in figure.source for figure in found.figures)
    assert "calibrated from a test" in found.machine.name


def test_too_few_measurements_are_refused() -> None:
    with pytest.raises(tc.ArgumentError, match="2 measurements can't tell 3 figures"):
        tc.calibrate("trn1", synthetic()[:2])


def test_a_figure_that_is_not_there_is_refused_by_its_nearest() -> None:
    with pytest.raises(tc.ArgumentError, match="latency"):
        tc.calibrate("trn1", synthetic()[:3], fit=["latancy"])


def test_a_figure_that_is_no_quantity_is_refused() -> None:
    with pytest.raises(tc.ArgumentError, match="shape of trn1"):
        tc.calibrate("trn1", synthetic()[:3], fit=["shape"])


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
def test_times_that_no_run_takes_are_refused(time: float) -> None:
    with pytest.raises(tc.ArgumentError, match="positive"):
        tc.Measurement("all_reduce", "ring", 8, time)


def test_without_scipy_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str, package: str | None = None) -> object:
        if name.startswith("scipy"):
            raise builtins.ImportError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(tc.ArgumentError, match=r"pip install 'trncomm\[calibration\]'"):
        tc.calibrate("trn1", synthetic())
