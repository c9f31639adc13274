"""What the papers describe, and what of it exists here: ``docs/fidelity/data/inventory.csv``, a row for each system."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from anabranch.errors import AnabranchError
from anabranch.reproduce.schema import nearest

FILE = Path("docs/fidelity/data/inventory.csv")
COLUMNS = ["kind", "system", "seed", "state", "rank", "where", "note"]
State = Literal["works", "partly", "missing"]
Rank = Literal["core", "compared", "described", "cited"]
"""What a system is to the papers: their own work, what they measure it against, background, or a reference."""


@dataclass(frozen=True, slots=True)
class System:
    """A system of a paper: where that describes it, whether it is here, and the files that show it."""

    kind: str
    system: str
    seed: str
    state: str
    rank: str
    where: tuple[str, ...]
    note: str


def read(root: Path) -> list[System]:
    """Read the inventory.

    Raises
    ------
    AnabranchError
        If a row has an unknown state or rank, names a file that there is not, or says that something is here without
        naming any.
    """
    with (root / FILE).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, restkey="more"))
    return [_system(row, root, f"{FILE}: line {line}") for line, row in enumerate(rows, start=2)]


def _system(row: dict[str, str], root: Path, at: str) -> System:
    if list(row) != COLUMNS or None in row.values():
        raise AnabranchError(f"{at}: expected the columns {', '.join(COLUMNS)}", hint="quote what has a comma")
    for column, known in (("state", get_args(State)), ("rank", get_args(Rank))):
        if row[column] not in known:
            raise AnabranchError(f"{at}: {column} {row[column]!r}", hint=nearest(row[column], known))
    where = tuple(row["where"].split())
    if bool(where) == (row["state"] == "missing"):
        raise AnabranchError(f"{at}: {row['system']}: what is here names its files, what is missing none")
    for path in where:
        if not (root / path).exists():
            raise AnabranchError(f"{at}: {path} is not there")
    return System(**{**row, "where": where})  # type: ignore[arg-type]
