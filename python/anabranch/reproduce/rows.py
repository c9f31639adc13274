"""Rows of results as an experiment defines them, and a claim's number of them.

Conditions and values are SQL expressions, which Polars reads (`polars.sql_expr`): column names with dots stand in
double quotes. What SQL does not say is a named function of `anabranch.reproduce.reductions`, which takes `Source` and
returns rows.
"""

from __future__ import annotations

import importlib
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

from anabranch.errors import AnabranchError
from anabranch.reproduce.schema import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anabranch.reproduce.claims import Claim
    from anabranch.reproduce.model import Experiment, Rows
    from anabranch.results.tables import Tables

REDUCTIONS = "anabranch.reproduce.reductions"
TABLES = ("flows", "links", "series", "ranks", "runs")
"""Tables of results."""


def expression(text: str) -> pl.Expr:
    """Read an SQL expression.

    Raises
    ------
    AnabranchError
        If it is none.

    Examples
    --------
    >>> pl.DataFrame({"fabric.rate": [1, 3]}).select(expression('AVG("fabric.rate") / 2')).item()
    1.0
    """
    try:
        return pl.sql_expr(text)
    except PolarsError as error:
        raise AnabranchError(f"not an SQL expression: {text}: {error}") from error


@contextmanager
def located(at: str) -> Iterator[None]:
    """Say where an expression did not fit its rows: what Polars says names the columns that there are."""
    try:
        yield
    except PolarsError as error:
        raise AnabranchError(f"{at}: {error}") from error


def where(values: Mapping[str, Any], condition: str = "") -> pl.Expr:
    """Condition that columns have these values, or one of them; and an SQL condition."""
    chosen = pl.lit(value=True)
    for name, value in values.items():
        chosen &= pl.col(name).is_in(value) if isinstance(value, list) else pl.col(name) == value
    return chosen & expression(condition) if condition else chosen


def function(name: str) -> Callable[..., Any]:
    """Find ``module.function`` of the reductions.

    Raises
    ------
    AnabranchError
        If there is none.
    """
    module, _, of = name.rpartition(".")
    known: dict[str, Callable[..., Any]] = {}
    if re.fullmatch(r"[a-z_]+", module):
        with suppress(ModuleNotFoundError):
            found = importlib.import_module(f"{REDUCTIONS}.{module}")
            own = (one for one in vars(found).items() if getattr(one[1], "__module__", "") == found.__name__)
            known = dict(own)
    if of not in known:
        raise AnabranchError(f"{name}: {REDUCTIONS} has no such function", hint=nearest(of, known) if known else None)
    return known[of]


def by_seed(frame: pl.DataFrame, value: pl.Expr) -> dict[int, float]:
    """Reduce rows to one value per seed; seeds without a value are left out.

    Examples
    --------
    >>> frame = pl.DataFrame({"seed": [1, 1, 2], "x": [1.0, 3.0, 5.0]})
    >>> by_seed(frame, pl.col("x").mean())
    {1: 2.0, 2: 5.0}
    """
    return dict(frame.group_by("seed").agg(value.cast(pl.Float64).alias("value")).drop_nulls().sort("seed").rows())


COMPARED: Mapping[str, Callable[[float, float], float]] = {
    "ratio": lambda above, below: above / below,
    "raised": lambda above, below: 100 * (above / below - 1),
    "lowered": lambda above, below: 100 * (1 - above / below),
    "difference": lambda above, below: above - below,
}
"""What is said of two numbers: seed by seed, so that the interval is that under common random numbers."""


@dataclass(slots=True)
class Source:
    """An experiment's results, as the rows that it defines; each made once."""

    experiment: Experiment
    results: Tables
    made: dict[str, pl.DataFrame] = field(default_factory=dict)
    making: list[str] = field(default_factory=list)

    def rows(self, name: str) -> pl.DataFrame:
        """Rows by name: a definition, a table of the results, or what a calculation made."""
        defined = self.experiment.rows
        if name not in self.made:
            if name in self.making:
                raise AnabranchError(f"{self.experiment.name}: rows.{name} come from themselves: {self.making}")
            self.making.append(name)
            try:
                with located(f"{self.experiment.name}: rows.{name}"):
                    self.made[name] = self._define(defined[name]) if name in defined else self._table(name)
            finally:
                self.making.pop()
        return self.made[name]

    def _table(self, name: str) -> pl.DataFrame:
        calculated: Mapping[str, pl.DataFrame] = getattr(self.results, "tables", {})
        if name not in {*calculated, *TABLES}:
            known = [*self.experiment.rows, *TABLES, *calculated]
            raise AnabranchError(f"{self.experiment.name}: no rows are called {name!r}", hint=nearest(name, known))
        table: pl.DataFrame = calculated[name] if name in calculated else getattr(self.results, name)
        return table

    def _define(self, rows: Rows) -> pl.DataFrame:
        frame = function(rows.from_)(self, **rows.with_) if "." in rows.from_ else self.rows(rows.from_)
        for column, text in rows.columns.items():
            frame = frame.with_columns(expression(text).alias(column))
        for column, labels in rows.names.items():
            frame = frame.with_columns(_named(self._labels(column, labels)).alias(column))
        frame = frame.filter(where(rows.filter, rows.condition))
        if rows.by:
            values = [expression(text).alias(column) for column, text in rows.values.items()]
            by = [column for column in rows.by if column in frame.columns or not self._fixed(column, frame)]
            frame = frame.group_by(by, maintain_order=True).agg(values)
        return frame.sort(rows.sort, maintain_order=True) if rows.sort else frame

    def _fixed(self, column: str, frame: pl.DataFrame) -> bool:
        """Whether a column that rows lack is a key of the scenario that it does not sweep: the same in all of them."""
        if "." not in column:
            return False  # Polars says so
        if not self.experiment.sweeps(column):
            with suppress(AnabranchError):
                self.experiment.setting(column)
                return True
        raise AnabranchError(
            f"{self.experiment.name}: rows.{self.making[-1]}: no column {column!r}, nor a key that the scenario fixes",
            hint=nearest(column, [*frame.columns, *sorted(self.experiment.swept())]),
        )

    def _labels(self, column: str, labels: Mapping[str, Mapping[str, object]] | str) -> Mapping[str, Any]:
        """Labels of a column; those that other rows have, by their name."""
        return self._labels(column, self.experiment.rows[labels].names[column]) if isinstance(labels, str) else labels

    def measure(self, claim: Claim) -> dict[int, float]:
        """A claim's number: seed to value; empty where the experiment did not measure it."""
        with located(f"{self.experiment.name}: claim {claim.key}"):
            if claim.function:
                found: dict[int, float] = function(claim.function)(self, **claim.with_)
                return found
            frame, value = self.rows(claim.rows).filter(where(claim.filter, claim.condition)), expression(claim.value)
            if not claim.compare:
                return by_seed(frame, value)
            above, below = (by_seed(frame.filter(where(of)), value) for of in (claim.above, claim.below))
        both = [seed for seed in above if seed in below and (below[seed] or claim.compare == "difference")]
        return {seed: COMPARED[claim.compare](above[seed], below[seed]) for seed in both}


def _named(labels: Mapping[str, Mapping[str, object]]) -> pl.Expr:
    """Label rows by what they have."""
    label = pl.lit(None, pl.String)
    for name, has in labels.items():
        label = pl.when(where(has)).then(pl.lit(name)).otherwise(label)
    return label


def in_order(frame: pl.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """List the combinations of columns' values, each once, in the order of the runs: that of the scenario.

    Examples
    --------
    >>> in_order(pl.DataFrame({"size": ["1MB", "1MB", "4MB"]}), ["size"])
    [('1MB',), ('4MB',)]
    """
    return frame.select(columns).unique(maintain_order=True).rows()
