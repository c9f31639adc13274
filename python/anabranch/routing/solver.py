"""Linear programs from sparse entries, solved by HiGHS."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from anabranch.errors import RoutingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Vector: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class Rows:
    """A sparse matrix in the making, and its right-hand side."""

    right: list[float] = field(default_factory=list)
    row: list[np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=list)
    column: list[np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=list)
    value: list[Vector] = field(default_factory=list)

    def add(self, row: Iterable[int], column: Iterable[int], value: Iterable[float]) -> None:
        """Add entries; those of the same place add up."""
        self.row.append(np.fromiter(row, dtype=np.int64))
        self.column.append(np.fromiter(column, dtype=np.int64))
        self.value.append(np.fromiter(value, dtype=np.float64))

    def matrix(self, columns: int) -> Any:  # noqa: ANN401 - a sparse matrix, of which SciPy's types know too little
        """The matrix, one row for each entry of the right-hand side; None without rows."""
        if not self.right:
            return None
        if not self.row:
            return coo_array((len(self.right), columns)).tocsr()
        place = (np.concatenate(self.row), np.concatenate(self.column))
        return coo_array((np.concatenate(self.value), place), shape=(len(self.right), columns)).tocsr()


@dataclass(frozen=True, slots=True)
class Solution:
    """The least value, where it is taken, and the solver's wall-clock time."""

    value: float
    at: Vector
    seconds: float


def minimise(cost: Vector, *, below: Rows, equal: Rows | None = None, least: Sequence[float] | None = None) -> Solution:
    """Minimise ``cost @ x`` for ``below @ x <= right``, ``equal @ x == right`` and ``x >= least`` (zero by default).

    Raises
    ------
    RoutingError
        If there is no solution.
    """
    columns = len(cost)
    start = time.perf_counter()
    found = cast("Any", linprog)(
        cost,
        A_ub=below.matrix(columns),
        b_ub=below.right or None,
        A_eq=None if equal is None else equal.matrix(columns),
        b_eq=None if equal is None else equal.right or None,
        bounds=(0, None) if least is None else [(one, None) for one in least],
        method="highs",
    )
    if found.status != 0:
        raise RoutingError(f"the linear program has no solution: {found.message}")
    return Solution(float(found.fun), found.x, time.perf_counter() - start)
