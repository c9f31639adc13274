"""Results of an experiment as Polars frames: `Tables` of a folder that ``anabranch run`` wrote.

Each table carries the columns of the run it comes from: the sweep
keys, ``transport``, ``seed`` and ``status``.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.base import places
from anabranch.base.fabric import Fabric
from anabranch.errors import ResultError
from anabranch.results import manifest as manifests
from anabranch.results import schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.manifest import Manifest

# A sweep key that would hide a column of a table is renamed `point.KEY`.
_TAKEN = frozenset(column for table in schema.TABLES.values() for column in table) | {
    "seed",
    "status",
    "message",
    "transport",
}


UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What Polars raises for files that are damaged, or gone."""

AGAIN = (
    "the file was cut short or changed; remove the folder of that run, and `anabranch run FILE --out DIR --resume` "
    "makes it again"
)
"""What to do about a damaged file."""


AT_ONCE = 32
"""Files of an object store that are looked at at a time."""


class Tables:
    """An experiment's tables; `anabranch.Results` are these with their figures.

    Parameters
    ----------
    folder
        Result folder.

    Attributes
    ----------
    folder : pathlib.Path
        Result folder.
    manifest : Manifest
        What was run and how each run ended.
    keys : tuple[str, ...]
        Columns that name a sweep point, in order: the sweep keys, and ``transport``, which stands for a key that says
        the same (``transport.name``).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._layouts: dict[Path, Mapping[str, pl.DataType]] = {}
        self.manifest: Manifest = manifests.read(folder)
        names = list(dict.fromkeys(key for run in self.manifest.runs for key in run.point))
        self._columns = {key: f"point.{key}" if key in _TAKEN else key for key in names}
        # `transport.name` and the like repeat what every run says of itself.
        repeats = {key for key in names if all(run.point.get(key) == run.transport for run in self.manifest.runs)}
        self.keys: tuple[str, ...] = (
            *(name for key, name in self._columns.items() if key not in repeats),
            "transport",
        )

    def __repr__(self) -> str:
        runs = self.manifest.runs
        return f"<Results {str(self.folder)!r}: {len(runs)} runs, {len(self.manifest.seeds)} seeds, by {self.keys}>"

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run: sweep keys, ``transport``, ``seed``, ``status``, and the run's figures.

        Columns: ``run``, the sweep keys, ``transport``, ``seed``, ``status``, ``message``, ``fingerprint``,
        ``scenario_hash``, ``events``, ``simulated_ns``, ``wall_s``, ``cpu_s``, and ``packets_*`` from the conservation
        counts.
        """
        runs = self.manifest.runs
        columns: dict[str, pl.Series] = {"run": pl.Series("run", [run.run for run in runs], pl.String())}
        for key, name in self._columns.items():
            columns[name] = _column(name, [run.point.get(key) for run in runs])
        columns["transport"] = pl.Series("transport", [run.transport for run in runs], pl.String())
        for name, kind in {
            "seed": pl.Int64(),
            "status": pl.String(),
            "message": pl.String(),
            "fingerprint": pl.String(),
            "scenario_hash": pl.String(),
            "events": pl.Int64(),
            "simulated_ns": pl.Float64(),
            "wall_s": pl.Float64(),
            "cpu_s": pl.Float64(),
        }.items():
            columns[name] = pl.Series(name, [getattr(run, name) for run in runs], kind)
        for name in dict.fromkeys(key for run in runs for key in run.conservation):
            values = [run.conservation.get(name) for run in runs]
            columns[f"packets_{name}"] = pl.Series(f"packets_{name}", values, pl.Int64())
        return pl.DataFrame(columns)

    def collect(self, table: str, frame: pl.LazyFrame | None = None) -> pl.DataFrame:
        """Read a table, or what was made of its `scan`; a damaged file is named.

        Parameters
        ----------
        table
            ``flows``, ``links``, ``blocks``, ``ranks``, ``operations`` or ``series``.
        frame
            Made from ``scan(table)``; default: the table as it is.

        Raises
        ------
        ResultError
            If a file of the table cannot be read.
        """
        try:
            return (self.scan(table) if frame is None else frame).collect()
        except UNREADABLE as error:
            raise self._blame(table, error) from error

    def _blame(self, table: str, error: BaseException) -> ResultError:
        """The error of the first file of a table that cannot be read: what is read together fails together."""
        for run, path in self._paths(table):
            try:
                columns = schema.TABLES[table]
                _scan([(run, path)], columns, _layout(path, columns)).collect()
            except ResultError as own:
                return own
            except UNREADABLE as own:
                return _damaged(path, own)
        return ResultError(f"{self.folder}: the table {table} cannot be read ({_first_line(error)})")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow and receiver, with the columns of its run (``docs/reference/results.md``)."""
        return self.collect("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per directed link and run, with the columns of its run."""
        return self.collect("links")

    @cached_property
    def blocks(self) -> pl.DataFrame:
        """One row per block of barrier-synchronised requests, with the columns of its run; empty without barriers."""
        return self.collect("blocks")

    @cached_property
    def ranks(self) -> pl.DataFrame:
        """One row per rank of a job that has something to do, with the columns of its run; empty without jobs."""
        return self.collect("ranks")

    @cached_property
    def operations(self) -> pl.DataFrame:
        """One row per operation of a job that has begun, with the columns of its run; empty if none are recorded."""
        return self.collect("operations")

    @cached_property
    def series(self) -> pl.DataFrame:
        """Time series, with the columns of their run; empty if the scenario asks for none."""
        return self.collect("series")

    @cached_property
    def fabric(self) -> Fabric:
        """Nodes and links of the first sweep point's fabric."""
        path = self.folder / "fabric.json"
        try:
            return Fabric.parse(path.read_text(encoding="utf-8"), where=str(path))
        except FileNotFoundError as error:
            raise ResultError(
                f"{path}: missing", hint="`anabranch run FILE --out DIR --resume` writes it again"
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise ResultError(f"{path}: cannot be read ({error})", hint=AGAIN) from error

    def scan(self, table: str) -> pl.LazyFrame:
        """Open a table without reading it, for results larger than memory.

        Parameters
        ----------
        table
            ``flows``, ``links``, ``blocks``, ``ranks``, ``operations`` or ``series``.

        Returns
        -------
        polars.LazyFrame
            The rows of all runs, joined with the columns of `runs` that name the sweep point, seed and status.

        Raises
        ------
        ResultError
            If a complete run lacks the table, or the table lacks a column.
        """
        columns = schema.TABLES.get(table)
        if columns is None:
            raise ResultError(f"no table called {table!r}", hint=f"the tables are {', '.join(schema.TABLES)}")
        paths = self._paths(table)
        about = self.runs.select("run", *self.keys, "seed", "status").lazy()
        # Files of one layout are one scan: Polars takes 20 times as long for as many scans of a file each.
        layouts = zip(paths, self._layouts_of(paths, columns), strict=True)
        alike = groupby(((run, path, layout) for (run, path), layout in layouts), key=itemgetter(2))
        frames = [_scan([(run, path) for run, path, _ in files], columns, layout) for layout, files in alike]
        frame = pl.concat(frames) if frames else pl.LazyFrame(schema=columns)
        return frame.join(about, on="run", how="left", maintain_order="left")

    def _layouts_of(
        self, paths: Sequence[tuple[str, Path]], columns: Mapping[str, pl.DataType]
    ) -> list[Mapping[str, pl.DataType]]:
        """The columns of files; those of an object store, which do not change, are looked at once, many at a time."""
        if not places.is_url(self.folder):
            return [_layout(path, columns) for _, path in paths]
        new = [path for _, path in paths if path not in self._layouts]
        with ThreadPoolExecutor(max(1, min(len(new), AT_ONCE))) as threads:
            self._layouts.update(zip(new, threads.map(lambda path: _layout(path, columns), new), strict=True))
        return [self._layouts[path] for _, path in paths]

    def _paths(self, table: str) -> list[tuple[str, Path]]:
        paths = []
        for run in self.manifest.runs:
            path = self.folder / "runs" / run.run / f"{table}.parquet"
            if path.is_file():
                paths.append((run.run, path))
            elif run.complete and table not in schema.OPTIONAL:
                raise ResultError(f"{path}: missing, although the manifest says that the run is complete")
        return paths


_FILE = "file of the row"


def _scan(
    files: Sequence[tuple[str, Path]], columns: Mapping[str, pl.DataType], present: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Open the files of some runs, which have the same columns; those that they lack are null."""
    # A folder may be named `a[1]` or `a=1`: no pattern, no partition.
    frame = pl.scan_parquet(
        [path if isinstance(path, Path) else str(path) for _, path in files],
        glob=False,
        hive_partitioning=False,
        include_file_paths=_FILE,
        storage_options=dict(places.storage_options(files[0][1])) or None,
    )
    # A resumed experiment may hold runs of one in which they had another name.
    run = pl.col(_FILE).replace_strict({str(path): run for run, path in files}, return_dtype=pl.String)
    return frame.with_columns(run.alias("run")).select(
        (pl.col(name) if name in present else pl.lit(None).alias(name)).cast(kind) for name, kind in columns.items()
    )


def _layout(path: Path, columns: Mapping[str, pl.DataType]) -> Mapping[str, pl.DataType]:
    """The columns of a file; an error if one of those that it should have is missing or something else."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:  # Polars takes names as text
        raise ResultError(f"{str(path)!a}: not valid UTF-8", hint="give the folder another name") from error
    try:
        with path.open("rb") as opened:  # to Polars its name may be a pattern
            present = pl.read_parquet_schema(opened)
    except UNREADABLE as error:
        raise _damaged(path, error) from error
    missing = [name for name in columns if name not in present and name not in schema.ADDED]
    if missing:
        raise ResultError(f"{path}: column {missing[0]!r} is missing", hint="see docs/reference/results.md")
    for name, kind in columns.items():
        if name in present and not _fits(present[name], kind):
            raise ResultError(
                f"{path}: column {name!r} has the type {present[name]}, expected {kind}",
                hint="see docs/reference/results.md",
            )
    return present


def _fits(found: pl.DataType, wanted: pl.DataType) -> bool:
    """Whether a column can be read as what it should be: another width of the same kind, or nothing but nulls."""
    if found in {pl.Null(), wanted}:
        return True
    if wanted == pl.String:
        return isinstance(found, pl.Categorical | pl.Enum)
    if wanted.is_float():
        return found.is_numeric()
    if wanted.is_integer():
        return found.is_integer()
    return False


def _damaged(path: Path, error: BaseException) -> ResultError:
    return ResultError(f"{path}: cannot be read as Parquet ({_first_line(error)})", hint=AGAIN)


def _first_line(error: BaseException) -> str:
    """What a library said, without the plan that it appends."""
    text = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return text if len(text) <= 200 else f"{text[:197]}..."  # noqa: PLR2004 - two lines


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of sweep values; values of mixed types become text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {bool} or kinds <= {str}:
        return pl.Series(name, values, dtype=None if kinds else pl.String())
    if kinds <= {int, float}:
        return pl.Series(name, values, pl.Float64())
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, texts, pl.String())
