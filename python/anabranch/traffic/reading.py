"""Volume series from any file: Parquet as this package writes it, or what `anabranch.traffic.bin_files` reads.

That is captures, interface counters, flow records, and tables of times and volumes. A table that could as well be one
of packets or of counters is taken for one of volumes, because statistics are what its reader wants.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from anabranch.errors import TrafficError
from anabranch.traffic import series
from anabranch.traffic.bin import Binned, Progress, bin_files
from anabranch.traffic.series import SECOND, VolumesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.series import Volumes

Tell = Callable[[str], object]
"""Told, line by line, what should be known before the numbers are used."""

VOLUMES: Literal["csv-volumes"] = "csv-volumes"
"""The format whose bins are as wide as the file says; everything else can be binned to any width."""


def read(
    file: str | Path,
    *,
    widths: Sequence[float] = (),
    bin_s: float | None = None,
    form: str | None = None,
    unit: str | None = None,
    tell: Tell | None = None,
    progress: Progress | None = None,
) -> list[Volumes]:
    """Read the series of a file.

    Parameters
    ----------
    file
        Parquet (``.parquet``), or what `anabranch.traffic.bin_files` reads.
    widths
        Bin widths in seconds that will be wanted: a capture, flow records and counters are binned to those that its
        usual widths do not make. Volumes have the width that the file has.
    bin_s
        Width of the bins of a table of volumes in seconds; default: the usual time between its rows.
    form, unit
        Format of the file and unit of its volumes, if it does not tell (``format`` and ``unit`` of `bin_files`).
    tell
        Told what is unusual about the file.
    progress
        Told how far reading is; see `anabranch.traffic.bin_files`.

    Returns
    -------
    list[Volumes]
        At least one; several of one name differ in width. Bins of which nothing is known are missing.

    Raises
    ------
    VolumesError
        If a Parquet file cannot be read.
    TrafficError
        If another file cannot be read, or holds nothing; the message names the file and the place.
    """
    path = Path(file)
    if path.suffix == ".parquet":
        found = series.read(path)
        if not found:
            raise VolumesError(f"{path}: no series in it")
        return found
    interval = None if bin_s is None else _text(bin_s)

    def binned(bins: Sequence[str]) -> Binned:
        return bin_files(path, bins, format=form, if_unclear=VOLUMES, unit=unit, interval=interval, progress=progress)

    try:
        usual = binned(())
    except FileNotFoundError as error:
        raise TrafficError(f"{path}: no such file") from error
    if not usual.volumes:
        raise TrafficError(f"{path}: no records in it")
    if tell is not None:
        for line in usual.files[0].remarks:
            tell(f"{path}: {line}")
    made = list(usual)
    others = [width for width in widths if all(round(width * SECOND) % one.bin_ns for one in made)]
    if others and usual.files[0].format != VOLUMES:
        made += binned([_text(width) for width in others])
    return made


def _text(seconds: float) -> str:
    return f"{round(seconds * SECOND)}ns"
