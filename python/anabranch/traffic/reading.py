"""Volume series from files: Parquet as this package writes it, and CSV of times and volumes as everybody else does.

A CSV file has a header, after lines that begin with ``#``; its first column whose name says so, or else its first, is
the time (ISO 8601, taken as UTC unless it says otherwise, or seconds), and every other column of numbers is a series.
The name of a column may end in a unit: ``_bps``, ``_kbps``, ``_Mbps``, ``_Gbps`` are mean rates; anything else is bytes
per bin.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from anabranch.traffic import series, simulated
from anabranch.traffic.quantities import RATES
from anabranch.traffic.series import SECOND, Grid, Volumes, VolumesError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIMES = ("time", "t", "t_s", "t_ms", "t_ns", "t_unix_s", "timestamp", "start", "start_ns", "date", "datetime", "bin")
"""Names of a column of times, in any case. ``_ms`` and ``_ns`` are units; ``bin`` counts bins, and needs a width."""

SCALES = {"_ms": 1e6, "_ns": 1.0}
"""Nanoseconds in the units that a time's name may end in; seconds otherwise."""

USUAL = (0.001, 0.005, 0.01, 0.1, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 86400.0)
"""Widths in seconds that polls mean when they are a little late."""

LATE = 0.01
"""How much is a little."""


def read(file: str | Path, *, bin_s: float | None = None, link: str | None = None) -> list[Volumes]:
    """Read the series of a file.

    Parameters
    ----------
    file
        Parquet (``.parquet``), or CSV, compressed or not; or a results folder of the simulator.
    bin_s
        Width of the bins of a CSV file in seconds; default: the usual time between its rows.
    link
        Which link of a results folder (`simulated.link_volumes`); default: all that sent anything.

    Returns
    -------
    list[Volumes]
        At least one. Bins without a row, and values that are empty, are missing.

    Raises
    ------
    VolumesError
        If the file cannot be read; the message names file, row and column.
    """
    path = Path(file)
    if path.is_dir():
        return simulated.link_volumes(path, link=link)
    if path.suffix == ".parquet":
        found = series.read(path)
        if not found:
            raise VolumesError(f"{path}: no series in it")
        return found
    frame = _frame(path)
    time = next((name for name in frame.columns if name.lower() in TIMES), frame.columns[0])
    names = [name for name in frame.columns if name != time and frame[name].dtype.is_numeric()]
    if not names:
        raise VolumesError(
            f"{path}: no column of numbers beside {time!r}", hint="a header and rows such as: 2024-05-01 00:00,1500000"
        )
    starts = _starts(frame[time], path, bin_s)
    width = round(bin_s * SECOND) if bin_s is not None else _usual_step(starts, path)
    grid = Grid.over(starts, width, str(path))
    return [_column(frame[name], grid, path, alone=len(names) == 1) for name in names]


def _frame(path: Path) -> pl.DataFrame:
    try:
        frame = pl.read_csv(path, comment_prefix="#", infer_schema_length=None, try_parse_dates=True)
    except FileNotFoundError as error:
        raise VolumesError(f"{path}: no such file") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        text = str(error).split("\n", maxsplit=1)[0]
        raise VolumesError(f"{path}: not CSV: {text}", hint="a header, then time,bytes in every row") from error
    if frame.width < 2 or frame.is_empty():  # noqa: PLR2004 - a time and a volume
        raise VolumesError(f"{path}: expected a header with a time and a volume, and rows", hint="time,bytes")
    return frame


def _starts(column: pl.Series, path: Path, bin_s: float | None) -> NDArray[np.int64]:
    """Times as nanoseconds."""
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise VolumesError(f"{path}: no time in row {row} of column {column.name!r}")
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("ns")).to_physical().to_numpy().astype(np.int64)
    if not column.dtype.is_numeric():
        raise VolumesError(
            f"{path}: {column[0]!r} in column {column.name!r} is no time", hint="2024-05-01 00:00:00, or seconds"
        )
    numbers = column.cast(pl.Float64()).to_numpy()
    if column.name.lower() == "bin":
        if bin_s is None:
            raise VolumesError(f"{path}: column {column.name!r} counts bins: how wide are they?", hint="--bin 5min")
        scale = bin_s * SECOND
    else:
        scale = next((s for end, s in SCALES.items() if column.name.lower().endswith(end)), float(SECOND))
    return np.round(numbers * scale).astype(np.int64)


def _usual_step(starts: NDArray[np.int64], path: Path) -> int:
    """The time between rows: the median, taken for the usual width that it is close to."""
    if starts.size < 2:  # noqa: PLR2004 - one row has no step
        raise VolumesError(f"{path}: one row does not tell how wide a bin is", hint="--bin 5min")
    step = float(np.quantile(np.diff(starts), 0.5, method="lower"))
    if step <= 0:
        raise VolumesError(
            f"{path}: rows are not in order of time, or have the same time",
            hint="packets are binned with `anabranch traffic bin`",
        )
    near = [width * SECOND for width in USUAL if abs(step / (width * SECOND) - 1) < LATE]
    return round(near[0]) if near else round(step)


def _column(values: pl.Series, grid: Grid, path: Path, *, alone: bool) -> Volumes:
    unit = next((name for name in RATES if values.name.endswith(f"_{name}") or values.name == name), None)
    known = grid.lay(values.is_not_null().to_numpy(), nothing=False)
    numbers = grid.lay(cast("NDArray[np.float64]", values.cast(pl.Float64()).fill_null(0).to_numpy()), 0)
    if unit is not None:
        numbers = numbers * (RATES[unit] / 8 * grid.bin_ns / SECOND)
    bad = np.flatnonzero(known & ~(np.isfinite(numbers) & (numbers >= 0)))
    if bad.size:
        row = int(np.searchsorted(grid.places, bad[0]))
        raise VolumesError(
            f"{path}: column {values.name!r}, row {row}: {values[row]} is no volume",
            hint="leave the field empty for a poll that failed",
        )
    name = path.name.split(".")[0] if alone else values.name
    return Volumes(grid.bin_ns, grid.start_ns, numbers, ~known, name=name, source=str(path))
