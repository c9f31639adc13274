"""The papers' numbers, and how far ours are from them.

A claim gives one value per seed; the seeds are independent samples, so that mean and 95 % confidence interval
(Student's t) follow. Seeds that change nothing are no samples: where all give the same value there is no interval.

A number that deviates by more than 20 %, and a bound that does not hold, need an explanation: without one the verdict
is *unexplained*. A bound has no tolerance besides the interval of what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from anabranch.results import stats

if TYPE_CHECKING:
    from anabranch.results.tables import Tables

TOLERANCE = 0.20
"""Deviations beyond this share of the paper's number need an explanation."""

ROUNDING = 1e-9
"""Share by which numbers that are equal may differ in floating point."""

Relation = Literal["equals", "at most", "at least"]
"""What the paper says: our number is its number, or is bounded by it."""

Verdict = Literal["agrees", "holds", "within", "undecided", "explained", "unexplained", "quick", "missing"]
"""How a measured number stands to the paper's.

``agrees``: a number within 20 %. ``holds``: a bound that is kept. ``within``: a bound that the mean misses, and the
95 % interval includes. ``undecided``: the same, but the interval is wider than 20 % of the paper's number on each side.
``explained``: beyond, and the reason is written down. ``unexplained``: beyond, and it is not.
``quick``: measured in the quick size, which is not the paper's experiment: not judged. ``missing``: no value.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A number that a paper states, and how ours is measured: ``docs/reference/experiments.md`` has the keys.

    A statement without a number, that a quantity is at most another, is a ratio bounded by 1. An `input` is what the
    paper's experiment was fed with, and no result; a `variant` is measured at other settings than the paper's. Neither
    counts among the paper's claims.
    """

    key: str
    statement: str
    where: str
    paper: float
    unit: str = ""
    relation: Relation = "equals"
    tolerance: float = TOLERANCE
    setting: str = ""
    input: bool = False
    variant: bool = False
    explanation: str = ""
    rows: str = ""
    filter: Mapping[str, object] = field(default_factory=dict)
    condition: str = ""
    value: str = ""
    compare: Literal["", "ratio", "raised", "lowered", "difference"] = ""
    above: Mapping[str, object] = field(default_factory=dict)
    below: Mapping[str, object] = field(default_factory=dict)
    function: str = ""
    with_: Mapping[str, object] = field(default_factory=dict)

    @property
    def says(self) -> str:
        """The statement with its setting."""
        return f"{self.statement}, {self.setting}" if self.setting else self.statement


@dataclass(frozen=True, slots=True)
class Measured:
    """Our number for a claim: one value per seed."""

    values: Mapping[int, float]

    @property
    def mean(self) -> float | None:
        """Mean over seeds; None without values."""
        return stats.interval(list(self.values.values()))[0] if self.values else None

    @property
    def ci(self) -> float | None:
        """Half width of the 95 % interval; None for fewer than two seeds, and where all gave the same value."""
        return None if self.alike or not self.values else stats.interval(list(self.values.values()))[1]

    @property
    def alone(self) -> bool:
        """Whether it is the value of one seed: nothing is known about the spread."""
        return len(self.values) == 1

    @property
    def alike(self) -> bool:
        """Whether several seeds gave one and the same value: nothing is known about the spread."""
        return len(self.values) > 1 and len(set(self.values.values())) == 1


def measure(values: Mapping[int, float], results: Tables) -> Measured:
    """Make a claim's number of its values; those that are not numbers count as not measured.

    Seeds whose runs are all those of an earlier seed count once, unless all values are alike anyway.
    """
    known = {seed: float(values[seed]) for seed in sorted(values) if math.isfinite(values[seed])}
    if len(set(known.values())) > 1:
        repeated = stats.repeated_seeds(results)
        known = {seed: value for seed, value in known.items() if seed not in repeated}
    return Measured(known)


def deviation(paper: float, mean: float, relation: Relation = "equals") -> float:
    """By what share of the paper's number ours is off; a bound is off only beyond it.

    Examples
    --------
    >>> round(deviation(10.0, 13.0), 3), deviation(10.0, 13.0, "at least"), deviation(0.0, 1.0)
    (0.3, 0.0, inf)
    """
    if (relation == "at most" and mean <= paper) or (relation == "at least" and mean >= paper):
        return 0.0
    if paper == 0:
        return 0.0 if mean == 0 else math.inf
    return abs(mean - paper) / abs(paper)


def judge(
    claim: Claim, mean: float | None, *, quick: bool, ci: float | None = None, explained: bool = False
) -> Verdict:
    """Say how a measured mean, with half the width of its interval, stands to the paper's number."""
    if mean is None:
        return "missing"
    if quick:
        return "quick"
    off = deviation(claim.paper, mean, claim.relation)
    if claim.relation != "equals":
        if off == 0.0:
            return "holds"
        if ci is not None and abs(mean - claim.paper) <= ci:
            return "within" if ci <= TOLERANCE * abs(claim.paper) else "undecided"
    elif off <= max(claim.tolerance, ROUNDING):
        return "agrees"
    return "explained" if explained else "unexplained"
