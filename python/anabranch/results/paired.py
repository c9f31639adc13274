"""Whether two series values differ, decided seed by seed: for the report's sentences and for the marks of its tables.

Every series value sees the same flows under a seed, so that the difference under a seed says more than two intervals
side by side: these may overlap where the difference never changes its sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.base import units
from anabranch.results import stats

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGITS = 100.0
"""Ratios from here on are told without decimals."""

Seeds = dict[int, tuple[float, str]]
"""Seed to a number and the run that it comes from."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as much one series value has as another, with the ends of its interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the two differ, as far as the seeds can tell; with one seed, whether they differ at all."""
        if self.low is None or self.high is None:
            return not math.isclose(self.value, 1.0, rel_tol=1e-9)
        return not self.low <= 1.0 <= self.high

    @property
    def text(self) -> str:
        """The ratio, and its interval in brackets."""
        if self.low is None or self.high is None:
            return short(self.value)
        ends = "no interval" if math.isinf(self.high) else f"{short(self.low)} to {short(self.high)}"
        return f"{short(self.value)} ({ends}{'' if self.significant else '; not significant'})"


def level(comparisons: int) -> float:
    """Level at which each of so many comparisons is judged, so that all of them together keep the usual one."""
    return 1 - (1 - stats.CONFIDENCE) / max(1, comparisons)


def over(comparisons: int) -> str:
    """What a legend adds where the level allows for several settings."""
    return f" ({stats.CONFIDENCE:.0%} over all {comparisons} settings)" if comparisons > 1 else ""


def ratio(
    above: Mapping[int, tuple[float, str]],
    below: Mapping[int, tuple[float, str]],
    *,
    confidence: float = stats.CONFIDENCE,
) -> Ratio | None:
    """Divide what two series values have under the same seeds.

    Parameters
    ----------
    above, below
        Seed to a number and the run that it comes from. A pair of runs that several seeds gave counts once.
    confidence
        Level of the interval.

    Returns
    -------
    Ratio or None
        Geometric mean over the seeds under which both have a positive number, with Student's interval if at least two
        pairs differ; None if there is no such seed. Two seeds at a high level may give an interval without an upper
        end: it is infinite.

    Examples
    --------
    >>> ratio({1: (2.0, "a"), 2: (8.0, "b")}, {1: (1.0, "c"), 2: (4.0, "d")}).text
    '2.00'
    >>> ratio({1: (2.0, "a"), 2: (2.2, "b")}, {1: (1.0, "c"), 2: (1.0, "d")}).significant
    True
    >>> ratio({1: (2.0, "a"), 2: (4.0, "b")}, {1: (1.0, "c"), 2: (1.0, "d")}, confidence=1 - 1e-6).text
    '2.83 (no interval; not significant)'
    """
    pairs = {
        (above[seed][1], below[seed][1]): math.log(above[seed][0] / below[seed][0])
        for seed in above
        if seed in below and above[seed][0] > 0 and below[seed][0] > 0
    }
    if not pairs:
        return None
    mean, half = stats.interval(list(pairs.values()), confidence=confidence)
    if half is None or half == 0:
        return Ratio(_exp(mean))
    return Ratio(_exp(mean), _exp(mean - half), _exp(mean + half))


def differ(one: Mapping[int, tuple[float, str]], other: Mapping[int, tuple[float, str]], *, confidence: float) -> bool:
    """Whether two series values differ, as far as the seeds can tell.

    Where both always have a positive number their `ratio` decides; shares that may be zero are subtracted. Without a
    seed in common nothing tells that they do not: they count as different.
    """
    common = [seed for seed in one if seed in other]
    if all(one[seed][0] > 0 and other[seed][0] > 0 for seed in common):
        found = ratio(one, other, confidence=confidence)
        return found is None or found.significant
    pairs = {(one[seed][1], other[seed][1]): one[seed][0] - other[seed][0] for seed in common}
    mean, half = stats.interval(list(pairs.values()), confidence=confidence)
    return abs(mean) > (half or 0.0)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def short(value: float) -> str:
    """Three digits; two decimals below ten, so that 1.02 is not 1.0."""
    return f"{value:.0f}" if value >= DIGITS else units.digits(value)
