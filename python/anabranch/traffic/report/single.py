"""One trace at one bin width: its density and models, its Q-Q plot, its rate over time with capacities."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.showing.curves import thinned
from anabranch.showing.figures import Axis, Panel, Reference
from anabranch.traffic.fit import Data, Fitted, qq
from anabranch.traffic.report.frames import label, panel, scale, series
from anabranch.traffic.report.study import MODELS, width
from anabranch.traffic.series import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.traffic.report.study import Promise, Trace
    from anabranch.traffic.series import Floats, Volumes

CELLS = 80
"""Cells of a histogram, at most."""

QUANTILES = 160
"""Points of a Q-Q plot, at most: denser towards the tail."""

MOMENTS = 600
"""Points of a rate over time, at most."""

CLOCKS = ((86_400, "days"), (3600, "h"), (60, "min"), (1, "s"))
"""Units of a time axis: seconds in each, and its name."""

DATED_NS = 315_532_800 * SECOND
"""Series that begin before 1980 count from some beginning of their own."""

DECADES = 1.5
"""Decades between the 5th and the 95th percentile from which on rates are drawn on a logarithmic axis."""

HISTOGRAM = "bins of the trace"
"""Name of the data in the legend of a density."""


def density(trace: Trace, *, key: str = "", caption: str = "") -> Panel:
    """The density of the rates, empty bins included, and of the models where bins have traffic.

    Where rates span decades, or the link is idle now and then, that of their logarithm, without the empty bins.
    """
    rates = trace.main_volumes.rates()
    used = rates[rates > 0]
    low, high = np.quantile(used, [0.05, 0.95])
    if high > low * 10**DECADES or any(anomaly.kind == "idle" for anomaly in trace.main.anomalies):
        return _logarithmic(trace, used, 1 - used.size / rates.size, key=key, caption=caption)
    unit, name = scale(float(rates.max()))
    x = rates / unit
    heights, edges = np.histogram(x, bins=_cells(x), density=True)
    corners = [
        (edge, height)
        for i, height in enumerate(heights)
        for edge, height in ((edges[i], height), (edges[i + 1], height))
    ]
    rows: list[dict[str, Any]] = [{"series": HISTOGRAM, "x": a, "y": b} for a, b in corners]
    top = float(heights.max())
    grid = np.linspace(max(edges[0], edges[-1] * 1e-3), edges[-1], 150)
    fits = _fits(trace)
    for model, found in fits.items():
        values = (1 - found.zero_share) * np.exp(found.model.ln_density(grid * unit)) * unit
        rows += [{"series": label(model), "x": a, "y": b} for a, b in zip(grid, values, strict=True)]
    shown = series([HISTOGRAM, *map(label, fits)])
    return panel(
        "curves",
        rows,
        shown,
        x=Axis(f"rate ({name})"),
        y=Axis(f"density (1/{name})", domain=(0.0, 1.3 * top)),
        key=key,
        caption=caption,
    )


def _logarithmic(trace: Trace, used: Floats, empty: float, *, key: str, caption: str) -> Panel:
    """Density per decade, of bins with traffic."""
    unit, name = scale(float(np.median(used)))
    logs = np.log10(used / unit)
    heights, edges = np.histogram(logs, bins=_cells(logs), density=True)
    rows: list[dict[str, Any]] = [
        {"series": HISTOGRAM, "x": 10**edge, "y": height}
        for i, height in enumerate(heights)
        for edge, height in ((edges[i], height), (edges[i + 1], height))
    ]
    grid = np.linspace(edges[0], edges[-1], 150)
    fits = _fits(trace)
    for model, found in fits.items():
        values = np.exp(found.model.ln_density(10**grid * unit)) * unit * 10**grid * math.log(10)
        rows += [{"series": label(model), "x": 10**a, "y": b} for a, b in zip(grid, values, strict=True)]
    shown = series([HISTOGRAM, *map(label, fits)])
    without = f" ({empty:.0%} of the bins are empty and not drawn)" if empty > 0 else ""
    x, y = Axis(f"rate ({name})", log=True), Axis("density per decade", domain=(0.0, 1.3 * float(heights.max())))
    return panel("curves", rows, shown, x=x, y=y, key=key, caption=f"{caption}{without}")


def _cells(x: Floats) -> int:
    """Cells by Freedman and Diaconis's rule, within bounds."""
    low, high = np.quantile(x, [0.25, 0.75])
    cell = 2 * (high - low) / x.size ** (1 / 3)
    spread = float(np.ptp(x))
    return CELLS if cell <= 0 else max(10, min(CELLS, math.ceil(spread / cell)))


def quantiles(trace: Trace, *, key: str = "", caption: str = "") -> Panel:
    """Q-Q plot: the rates of bins with traffic against the models' quantiles (the pairs of eq. 1)."""
    data = Data.of(trace.main_volumes)
    unit, name = scale(float(data.ordered.max()))
    places = thinned(data.ordered.size, QUANTILES)
    top = 2 * float(data.ordered.max())
    rows = []
    for model, found in _fits(trace).items():
        reference = qq(found.model, data.ordered)[places]
        pairs = zip(reference, data.ordered[places], strict=True)
        # Quantiles far beyond the data would press everything else into a corner; the table has the distance.
        rows += [{"series": label(model), "x": a / unit, "y": b / unit} for a, b in pairs if 0 <= a <= top]
    shown = series([HISTOGRAM, *map(label, _fits(trace))])[1:]
    return panel(
        "points",
        rows,
        shown,
        x=Axis(f"model ({name})"),
        y=Axis(f"measured ({name})"),
        key=key,
        caption=caption,
        references=(Reference(),),
    )


def rate(trace: Trace, epsilon: float, methods: tuple[str, ...], *, key: str = "", caption: str = "") -> Panel:
    """The rate over time, and the capacities that methods ask for: the paper's Figure 5."""
    volumes, promises = trace.main_volumes, _promises(trace, epsilon, methods)
    unit, name = scale(max([float(volumes.rates().max()), *(one.bps for one in promises.values())]))
    times, rates, joined = _over_time(volumes)
    x, moments = _clock(volumes.start_ns, times)
    of = f", largest of {joined} bins" if joined > 1 else ""
    measured = f"measured, T = {width(volumes.bin_s)}{of}"
    rows: list[dict[str, Any]] = [
        {"series": measured, "x": t, "y": None if np.isnan(r) else r / unit}
        for t, r in zip(moments, rates, strict=True)
    ]
    names = []
    for method, one in promises.items():
        names.append(f"{label(method)}: {one.bps / unit:.4g} {name}, exceeded by {one.share:.3f}")
        rows += [{"series": names[-1], "x": end, "y": one.bps / unit} for end in (moments[0], moments[-1])]
    return panel(
        "curves",
        rows,
        series([measured, *names]),
        x=x,
        y=Axis(f"rate ({name})"),
        key=key,
        caption=caption,
    )


def _clock(start_ns: int, times: Floats) -> tuple[Axis, list[Any]]:
    """Dates where the series knows them, else the time since its beginning in a unit that reads well."""
    if start_ns >= DATED_NS:
        begin = dt.datetime.fromtimestamp(0, dt.UTC)
        moments = [begin + dt.timedelta(seconds=start_ns / SECOND + float(time)) for time in times]
        return Axis("time (UTC)", dates=True), moments
    long, clock = next((s, n) for s, n in CLOCKS if times[-1] >= 2 * s or s == 1)
    return Axis(f"time ({clock})"), list(times / long)


def _promises(trace: Trace, epsilon: float, methods: tuple[str, ...]) -> Mapping[str, Promise]:
    found = {method: trace.promise(method, epsilon, trace.main.bin_s) for method in methods}
    return {method: one for method, one in found.items() if one is not None}


def _over_time(volumes: Volumes) -> tuple[Floats, Floats, int]:
    """Times since the start in seconds and rates; of long series the largest of neighbouring bins.

    Where bins are missing stands a NaN, so that no line is drawn across.
    """
    known = volumes.is_known
    times = (volumes.starts_ns()[known] - volumes.start_ns) / 1e9
    rates = volumes.rates()
    joined = -(-rates.size // MOMENTS)
    gaps = np.flatnonzero(np.diff(times) > 1.5 * volumes.bin_s) + 1
    runs = np.split(np.arange(rates.size), gaps)
    starts = np.concatenate([run[::joined] for run in runs])
    largest = np.maximum.reduceat(rates, starts)
    ends = np.searchsorted(starts, gaps)
    return np.insert(times[starts], ends, times[gaps - 1] + volumes.bin_s), np.insert(largest, ends, np.nan), joined


def _fits(trace: Trace) -> dict[str, Fitted]:
    fits = trace.main.study.fits
    return {name: found for name in MODELS if isinstance(found := fits.get(name), Fitted)}
