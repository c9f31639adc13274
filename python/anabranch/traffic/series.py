"""The volume series as the whole package knows it: bytes per bin, with what is not known kept apart from zero.

On disk a series is Parquet: one row for each bin, the columns `COLUMNS`, and the rest as JSON in the file's metadata
under `METADATA`. One file holds several series: of several bin widths, told apart by ``bin_ns``, or of several links,
told apart by ``name``.
"""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anabranch.base import targets, units
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Floats = NDArray[np.float64]
"""Numbers."""

METADATA = "anabranch.volumes"
"""Key of the file's metadata: JSON, a list of ``{"bin_ns", "name", "source", "complete", "unit"}``."""

COLUMNS = ("bin_ns", "name", "start_ns", "bytes", "packets")
"""Width of the bin, name of the series, start of the bin (Unix time or time in the trace), bytes (null: not known),
packets (null: not known or not counted). Times and widths in nanoseconds. ``bytes`` is float64 where a series has
fractions, as averages do, and int64 otherwise. A file of one series may lack ``bin_ns`` and ``name``."""

SECOND = 1_000_000_000
"""Nanoseconds in a second."""

REASON = 300
"""Letters of another library's error that a message repeats."""

BINS_MAX = 20_000_000
"""Bins of one series, at most: 27 hours of 5 ms."""


class VolumesError(AnabranchError):
    """A volume series that cannot be read, or cannot be what is asked of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Volumes:
    """Bytes per bin on one link, in bins of equal width without holes between them.

    Attributes
    ----------
    bin_ns
        Width of a bin, T, in nanoseconds, at least 1.
    start_ns
        Where the first bin begins: nanoseconds of Unix time, or of the trace.
    bytes
        Bytes in each bin, int64 or float64, not negative. What stands in a bin that is `missing` has no meaning.
    missing
        Bins of which nothing is known: a poll that failed, a gap in the capture. Not zero.
    packets
        Packets in each bin; None if they were not counted.
    complete
        Whether the last bin was measured to its end. If not, `known` leaves it out.
    name
        What was measured.
    source
        Where the numbers come from.
    unit
        What the numbers are, if they are not known to be bytes: shown beside every rate.
    """

    bin_ns: int
    start_ns: int
    bytes: NDArray[np.int64] | Floats
    missing: NDArray[np.bool_]
    packets: NDArray[np.int64] | None = None
    complete: bool = True
    name: str = "volumes"
    source: str = ""
    unit: str = "bytes"

    def __post_init__(self) -> None:
        """Check what every user of a series relies on."""
        n = len(self.bytes)
        if self.bin_ns < 1:
            raise VolumesError(f"{self.name}: bins of {self.bin_ns} ns", hint="a bin is at least 1 ns wide")
        if len(self.missing) != n or (self.packets is not None and len(self.packets) != n):
            raise VolumesError(f"{self.name}: {n} volumes, {len(self.missing)} marks of missing bins: expected as many")
        bad = np.flatnonzero(~self.missing & ~(np.isfinite(self.bytes) & (np.asarray(self.bytes) >= 0)))
        if bad.size:
            raise VolumesError(
                f"{self.name}: bin {bad[0]} holds {self.bytes[bad[0]]} bytes: expected a finite number of at least 0",
                hint="mark a bin of which nothing is known as missing",
            )

    @classmethod
    def of(
        cls,
        values: Iterable[float | None] | NDArray[Any],
        *,
        bin_s: float,
        start_ns: int = 0,
        name: str = "volumes",
        source: str = "",
        unit: str = "bytes",
    ) -> Volumes:
        """Make a series of volumes, in bytes per bin; NaN and None are missing bins.

        Examples
        --------
        >>> v = Volumes.of([100, 200, None, 400], bin_s=0.1)
        >>> v.known().tolist(), v.rates().tolist()
        ([100.0, 200.0, 400.0], [8000.0, 16000.0, 32000.0])
        """
        numbers = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=float)
        missing = np.isnan(numbers)
        return cls(
            bin_ns=round(bin_s * SECOND),
            start_ns=start_ns,
            bytes=np.where(missing, 0.0, numbers),
            missing=missing,
            name=name,
            source=source,
            unit=unit,
        )

    @classmethod
    def of_rates(
        cls, bps: Iterable[float | None] | NDArray[Any], *, bin_s: float, start_ns: int = 0, name: str = "volumes"
    ) -> Volumes:
        """Make a series of mean rates, in bits per second; NaN and None are missing bins."""
        rates = np.asarray(bps if isinstance(bps, np.ndarray) else list(bps), dtype=float)
        return cls.of(rates * (bin_s / 8), bin_s=bin_s, start_ns=start_ns, name=name)

    def __len__(self) -> int:
        return len(self.bytes)

    @property
    def bin_s(self) -> float:
        """Width of a bin, T, in seconds."""
        return self.bin_ns / SECOND

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """For each bin, whether its volume is known: not missing, and measured to its end."""
        known = ~self.missing
        if not self.complete and known.size:
            known[-1] = False
        return known

    def known(self) -> Floats:
        """Bytes in the bins that are known, in order of time."""
        return np.asarray(self.bytes, dtype=float)[self.is_known]

    def rates(self) -> Floats:
        """Mean rate in the bins that are known, in bits per second, in order of time."""
        return self.known() * (8 / self.bin_s)

    def starts_ns(self) -> NDArray[np.int64]:
        """Start of every bin, in nanoseconds."""
        return self.start_ns + np.arange(len(self), dtype=np.int64) * self.bin_ns

    def rebin(self, factor: int) -> Volumes:
        """Join neighbouring bins, from the first on.

        Parameters
        ----------
        factor
            How many bins make one, at least 1.

        Returns
        -------
        Volumes
            Bins of `factor` times the width. One is missing if any of its parts is. What does not fill a bin at the end
            is left out.
        """
        if factor < 1:
            raise VolumesError(f"{self.name}: cannot join {factor} bins", hint="a whole number of at least 1")
        if factor == 1:
            return self
        usable = len(self) if self.complete else max(0, len(self) - 1)
        count = usable // factor
        cut = count * factor
        packets = None if self.packets is None else self.packets[:cut].reshape(count, factor).sum(axis=1)
        return replace(
            self,
            bin_ns=self.bin_ns * factor,
            bytes=self.bytes[:cut].reshape(count, factor).sum(axis=1),
            missing=np.asarray(self.missing[:cut].reshape(count, factor).any(axis=1)),
            packets=packets,
            complete=True,
        )

    def at(self, bin_s: float) -> Volumes:
        """Re-bin to a width in seconds.

        Raises
        ------
        VolumesError
            If the width is not a whole number of bins.
        """
        width = round(bin_s * SECOND)
        factor, rest = divmod(width, self.bin_ns)
        if rest or factor < 1:
            raise VolumesError(
                f"{self.name}: bins of {units.time(self.bin_ns)} do not make bins of {units.time(width)}",
                hint="ask for a multiple, or bin the capture again",
            )
        return self.rebin(factor)

    def split(self, first: int) -> tuple[Volumes, Volumes]:
        """Cut in two: the first so many bins, and the rest."""
        return self._part(slice(0, first)), self._part(slice(first, None))

    def between(self, begin_ns: int, end_ns: int) -> Volumes:
        """The bins that begin at `begin_ns` or later and before `end_ns`."""
        first = max(0, -(-(begin_ns - self.start_ns) // self.bin_ns))
        last = max(first, -(-(end_ns - self.start_ns) // self.bin_ns))
        return self._part(slice(first, last))

    def _part(self, part: slice) -> Volumes:
        begin, end, _ = part.indices(len(self))
        return replace(
            self,
            start_ns=self.start_ns + begin * self.bin_ns,
            bytes=self.bytes[part],
            missing=self.missing[part],
            packets=None if self.packets is None else self.packets[part],
            complete=self.complete or end < len(self),
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the file's metadata say of this series."""
        names = ("bin_ns", "name", "source", "complete", "unit")
        return {name: getattr(self, name) for name in names}


def write(file: str | Path, series: Sequence[Volumes]) -> None:
    """Write series to one Parquet file, which appears when it is complete.

    Raises
    ------
    OSError
        If the file cannot be written, as on a full disk; the error names it, and nothing is left of it.
    """
    frame = _frame(series)
    facts = json.dumps([one.facts for one in series])
    with targets.whole(file) as draft:
        try:
            with draft.open("wb") as opened:
                frame.write_parquet(opened, metadata={METADATA: facts})
        except pl.exceptions.PolarsError as error:
            raise OSError(errno.EIO, f"cannot be written: {error}", str(file)) from error


def _whole(numbers: NDArray[np.int64] | Floats, missing: NDArray[np.bool_]) -> NDArray[np.int64] | Floats:
    """Volumes as integers, unless one that is known has a fraction."""
    if numbers.dtype.kind == "f" and bool(np.all(missing | (numbers == np.floor(numbers)))):
        return np.where(missing, 0, numbers).astype(np.int64)
    return numbers


def _frame(series: Sequence[Volumes]) -> pl.DataFrame:
    """The rows of all series, made at once: there may be thousands."""
    if not series:
        return pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.Int64()))
    owner = np.repeat(np.arange(len(series)), [len(one) for one in series])
    missing = np.concatenate([one.missing for one in series])
    known = pl.Series(~missing)
    numbers = _whole(np.concatenate([np.asarray(one.bytes) for one in series]), missing)
    counts = np.concatenate([np.zeros(len(v), dtype=np.int64) if v.packets is None else v.packets for v in series])
    counted = known & pl.Series([one.packets is not None for one in series]).gather(owner)
    frame = pl.DataFrame(
        {
            "bin_ns": pl.Series([one.bin_ns for one in series], dtype=pl.Int64()).gather(owner),
            "name": pl.Series([one.name for one in series], dtype=pl.String()).gather(owner),
            "start_ns": np.concatenate([one.starts_ns() for one in series]),
            "bytes": numbers,
            "packets": counts,
        }
    )
    return frame.with_columns(
        pl.when(known).then(pl.col("bytes")).alias("bytes"), pl.when(counted).then(pl.col("packets")).alias("packets")
    )


def read(file: str | Path) -> list[Volumes]:
    """Read the series of a Parquet file.

    Raises
    ------
    VolumesError
        If the file has none; the message names the file and what is missing.
    """
    path = Path(file)
    try:
        # Opened here: to Polars a name may be a pattern, and has to be UTF-8.
        with path.open("rb") as opened:
            frame = pl.read_parquet(opened)
            opened.seek(0)
            facts = _facts(json.loads(pl.read_parquet_metadata(opened).get(METADATA, "[]")))
    except FileNotFoundError as error:
        raise VolumesError(f"{path}: no such file") from error
    except (pl.exceptions.PolarsError, ValueError, RecursionError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0][:REASON]
        raise VolumesError(f"{path}: not a Parquet file of volumes: {reason}") from error
    for column in ("start_ns", "bytes"):
        if column not in frame.columns:
            raise VolumesError(f"{path}: no column {column!r}", hint=f"the columns are {', '.join(COLUMNS)}")
    frame = _typed(frame, path)
    known: dict[tuple[object, object], dict[str, Any]] = {}
    for fact in facts:
        known.setdefault((fact.get("bin_ns"), fact.get("name")), fact)
    return list(_split(_named(frame, facts), known, path))


def _typed(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The columns that count, with the types that they should have."""
    made = []
    for name in frame.columns:
        if name not in COLUMNS:
            continue
        column = frame[name]
        if name == "name":
            made.append(column.cast(pl.String()))
            continue
        if name in {"start_ns", "bin_ns"} and column.null_count():
            raise VolumesError(f"{path}: column {name!r}: row {column.is_null().arg_max()} has no value")
        if name == "start_ns" and column.dtype == pl.Datetime:
            column = column.dt.epoch("ns")
        wanted = column.dtype.is_integer() or (name == "bytes" and column.dtype.is_float())
        if not wanted and column.dtype != pl.Null:
            expected = "numbers" if name == "bytes" else "whole numbers"
            raise VolumesError(f"{path}: column {name!r} holds {column.dtype}: expected {expected}")
        try:
            made.append(column if column.dtype.is_float() else column.cast(pl.Int64()))
        except pl.exceptions.PolarsError as error:
            raise VolumesError(f"{path}: column {name!r} holds numbers of more than 63 bits") from error
    return pl.DataFrame(made)


FACTS = {"bin_ns": int, "name": str}
"""What facts that tell series apart must be; others are as good as absent."""


def _facts(metadata: object) -> list[dict[str, Any]]:
    """The metadata of every series; a file of one may hold it without a list around it."""
    entries = metadata if isinstance(metadata, list) else [metadata]
    return [
        {key: value for key, value in entry.items() if isinstance(value, FACTS.get(key, object))}
        for entry in entries
        if isinstance(entry, dict)
    ]


def _named(frame: pl.DataFrame, facts: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """With the width and the name of every row: a file of one series may lack them."""
    if "bin_ns" not in frame.columns:
        widths = {entry["bin_ns"] for entry in facts if isinstance(entry.get("bin_ns"), int)}
        steps = frame["start_ns"].diff().drop_nulls()
        width = widths.pop() if len(widths) == 1 else (int(cast("int", steps.min())) if len(steps) else 0)
        frame = frame.with_columns(pl.lit(width, dtype=pl.Int64()).alias("bin_ns"))
    if "name" not in frame.columns:
        names = {entry["name"] for entry in facts if "name" in entry}
        frame = frame.with_columns(pl.lit(names.pop() if len(names) == 1 else "volumes").alias("name"))
    return frame


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows with times laid onto bins of equal width; the bins without a row are missing.

    Attributes
    ----------
    start_ns, bin_ns
        First bin and width.
    places
        For each row, its bin.
    count
        How many bins.
    """

    start_ns: int
    bin_ns: int
    places: NDArray[np.int64] = field(repr=False)
    count: int

    @classmethod
    def over(cls, starts_ns: NDArray[np.int64], bin_ns: int, where: str) -> Grid:
        """Lay times onto bins; the message of an error names `where`."""
        if not starts_ns.size:
            return cls(0, bin_ns, starts_ns, 0)
        start = int(starts_ns[0])
        # To the nearest bin: polls jitter by a little, and a bin holds one of them.
        places = (starts_ns - start + bin_ns // 2) // bin_ns
        if int(places.max()) >= BINS_MAX:
            row = int((places >= BINS_MAX).argmax())
            raise VolumesError(
                f"{where}: row {row} begins {units.time(int(starts_ns[row]) - start)} after the first: "
                f"more than {BINS_MAX} bins of {units.time(bin_ns)}",
                hint="is its time damaged?",
            )
        if (np.diff(places) < 1).any():
            row = int(np.flatnonzero(np.diff(places) < 1)[0]) + 1
            raise VolumesError(
                f"{where}: row {row} does not begin a bin after row {row - 1}, with bins of {units.time(bin_ns)}",
                hint="rows in order of time, one for each bin",
            )
        return cls(start, bin_ns, places, int(places[-1]) + 1)

    def lay(self, values: NDArray[Any], nothing: float) -> NDArray[Any]:
        """Values in their bins, and `nothing` in the others."""
        laid = np.full(self.count, nothing, dtype=values.dtype)
        laid[self.places] = values
        return laid


def _split(frame: pl.DataFrame, facts: dict[tuple[object, object], dict[str, Any]], path: Path) -> Iterator[Volumes]:
    """The series of a file, in order of their first rows; there may be thousands, so columns are converted once."""
    groups = frame.with_row_index("row").group_by("bin_ns", "name", maintain_order=True).agg("row")
    starts, numbers = frame["start_ns"].to_numpy(), frame["bytes"].fill_null(0).to_numpy()
    known = frame["bytes"].is_not_null().to_numpy()
    has_packets = "packets" in frame.columns
    counts = frame["packets"].fill_null(0).to_numpy() if has_packets else numbers
    counted = frame["packets"].is_not_null().to_numpy() if has_packets else np.zeros(len(frame), dtype=bool)
    for bin_ns, name, own in groups.iter_rows():
        if bin_ns < 1:
            raise VolumesError(
                f"{path}: {name}: bins of {bin_ns} ns",
                hint="a column bin_ns with the width, or two rows or more without it",
            )
        rows = np.asarray(own)
        fact = facts.get((bin_ns, name)) or facts.get((bin_ns, None), {})
        grid = Grid.over(starts[rows].astype(np.int64), bin_ns, f"{path}: {name}")
        yield Volumes(
            bin_ns=bin_ns,
            start_ns=grid.start_ns,
            bytes=grid.lay(numbers[rows], 0),
            missing=~grid.lay(known[rows], nothing=False),
            packets=grid.lay(counts[rows], 0) if counted[rows].any() else None,
            complete=bool(fact.get("complete", True)),
            name=str(name),
            source=str(fact.get("source", path.name)),
            unit=str(fact.get("unit", "bytes")),
        )
