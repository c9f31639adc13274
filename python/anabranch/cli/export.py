"""What ``anabranch report --csv FILE`` writes: the statistics, or one of the tables that they are made of."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.base import places, targets
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    import polars as pl

    from anabranch.results.tables import Tables


class Table(StrEnum):
    """Tables that can be written as CSV."""

    STATISTICS = "statistics"
    LAYERS = "layers"
    RUNS = "runs"
    FLOWS = "flows"
    LINKS = "links"
    BLOCKS = "blocks"
    JOBS = "jobs"
    RANKS = "ranks"
    OPERATIONS = "operations"
    SERIES = "series"


def check(folder: str, csv: Path | None, table: Table | None, *, as_json: bool) -> None:
    """Check the options before anything is read.

    Raises
    ------
    AnabranchError
        If they do not go together, or the file may not be written.
    """
    if csv is None:
        if table is not None:
            raise AnabranchError(
                f"--table {table}: it says which table --csv writes", hint=f"--csv FILE --table {table}"
            )
        return
    if as_json:
        raise AnabranchError("--csv and --json: expected one of them", hint="both are the statistics")
    targets.check(csv, [] if places.is_url(folder) else [folder], "--csv")


def write(results: Tables, csv: Path, table: Table) -> None:
    """Write a table as CSV, whole or not at all.

    Raises
    ------
    AnabranchError
        If the experiment does not have that table, or the file is its scenario.
    """
    scenario = Path(results.manifest.scenario_file)
    targets.check(csv, [scenario] if scenario.is_file() else [], "--csv")
    frame = _frame(results, table)
    if frame.is_empty():
        raise AnabranchError(f"{results.folder}: the table {table} is empty: nothing was written")
    with targets.whole(csv) as draft:
        frame.write_csv(draft)


def _frame(results: Tables, table: Table) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - `--help` can do without

    from anabranch.results import jobs, stats  # noqa: PLC0415

    if table is Table.STATISTICS:
        behind = stats.background_table(results).with_columns(pl.lit("background").alias("bucket"))
        return pl.concat([stats.fct_table(results), behind], how="diagonal")
    if table is Table.JOBS:
        return jobs.job_table(results)
    if table is Table.LAYERS:
        return stats.layer_table(results)
    if table is Table.RUNS:
        return results.runs
    return results.collect(table.value)
