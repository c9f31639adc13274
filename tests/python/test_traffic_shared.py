"""The "first look" table of the shared data's README, row by row, with this package's own functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import traces

from anabranch.traffic.dimension import meent
from anabranch.traffic.fit import Fitted, Study, Vuong, fit
from anabranch.traffic.stationarity import Stationarity, stationarity

pytestmark = pytest.mark.skipif(not traces.TRACES.is_dir(), reason=traces.MISSING)

FIRST = 20_000
"""The table's stationarity tests are of so many of the first bins."""

SHORT = {"logn": "lognormal", "norm": "normal", "weib": "weibull", "expo": "exponential"}


@dataclass(frozen=True)
class Row:
    """One row: what the table prints, and what this package finds."""

    cells: dict[str, str]
    rates: np.ndarray
    study: Study

    def fitted(self, name: str) -> Fitted:
        found = self.study.fits[name]
        assert isinstance(found, Fitted)
        return found


@cache
def row(number: int) -> Row:
    cells = traces.first_look()[number]
    volumes = traces.SERIES[cells["trace"], cells["bin"]]()
    return Row(cells, volumes.rates(), fit(volumes, ("lognormal", "normal", "weibull", "exponential")))


def rows() -> list[object]:
    if not traces.TRACES.is_dir():
        return [0]
    return [pytest.param(i, id=f"{c['trace']} {c['bin']}") for i, c in enumerate(traces.first_look())]


each_row = pytest.mark.parametrize("number", rows())


def same(printed: str, value: float) -> bool:
    """Whether a number is the printed one, to one unit of its last digit."""
    digits = printed.strip().rstrip("%").lstrip("+-")
    unit = 10.0 ** -len(digits.split(".")[1]) if "." in digits else 1.0
    return abs(float(printed.strip().rstrip("%")) - value) <= 1.01 * unit


def test_the_table_has_every_series() -> None:
    assert {(c["trace"], c["bin"]) for c in traces.first_look()} == set(traces.SERIES)


@each_row
def test_size_spread_and_zeros(number: int) -> None:
    r = row(number)
    assert r.study.n == int(r.cells["n"])
    assert same(r.cells["CoV"], r.study.cov)
    assert same(r.cells["zero bins"], 100 * r.study.zeros / r.study.n)


@each_row
def test_best_of_four_and_ratios(number: int) -> None:
    r = row(number)
    assert r.study.best == SHORT[r.cells["best of 4"]]
    for other, column in (("normal", "LN vs normal z (p)"), ("weibull", "LN vs Weibull z (p)")):
        match = re.fullmatch(r"([+-][\d.]+) \((.+)\)", r.cells[column])
        assert match is not None
        test = r.study.compare("lognormal", other)
        assert isinstance(test, Vuong)
        assert same(match[1], test.z)
        # The p-value follows from z; of a z that is one unit of its last digit off it is off, too.
        if abs(test.z) < 5:
            assert test.p == pytest.approx(float(match[2]), rel=0.3)


@each_row
def test_distance_and_correlation(number: int) -> None:
    r = row(number)
    for column, attribute in (("KS LN/N", "ks"), ("gamma LN/N", "gamma")):
        for printed, name in zip(r.cells[column].split("/"), ("lognormal", "normal"), strict=True):
            assert same(printed, getattr(r.fitted(name), attribute)), (column, name)


@each_row
def test_exceedances_and_percentile(number: int) -> None:
    r = row(number)
    by_meent, by_model = r.cells["eps_hat at 0.01 Meent/LN"].split("/")
    assert same(by_meent, float((r.rates >= meent(r.rates, 0.01)).mean()))
    # The table's log-normal is that of the bins with traffic alone; `Fitted.quantile` counts the empty ones.
    model = r.fitted("lognormal").model
    assert same(by_model, float((r.rates >= float(model.quantile(np.asarray(0.99)))).mean()))
    error = float(model.quantile(np.asarray(0.95))) / float(np.quantile(r.rates, 0.95)) - 1
    assert same(r.cells["LN p95 error"], 100 * error)


@each_row
def test_stationarity(number: int) -> None:
    r = row(number)
    found = stationarity(r.rates[:FIRST])
    assert isinstance(found, Stationarity)
    adf, kpss = (float(part) for part in r.cells["ADF p / KPSS p"].split("/"))
    assert np.log(found.adf.p) == pytest.approx(np.log(adf), rel=0.01, abs=0.1)
    assert found.kpss.p == pytest.approx(kpss, abs=0.002)
