"""What a calculation gives, where an experiment needs no simulation: tables, in place of the results of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from anabranch.results.manifest import Manifest
from anabranch.results.tables import Tables
from anabranch.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Calculated(Tables):
    """Tables that were calculated, by name: results without runs, of the command that makes them. Their seed is 0."""

    def __init__(self, command: Sequence[str], tables: Mapping[str, pl.DataFrame]) -> None:
        self.folder = Path()
        self.keys = ()
        self.manifest = Manifest(__version__, tuple(command), "", "", (), {}, ())
        self.tables = {name: table.with_columns(pl.lit(0).alias("seed")) for name, table in tables.items()}
