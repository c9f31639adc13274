"""Numbers behind the charts: distributions thinned to what a chart can show."""

from __future__ import annotations

import numpy as np

POINTS = 300
"""Points of a thinned curve."""


def cdf(values: np.ndarray, *, total: int | None = None, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative distribution, thinned, with its extremes exact.

    Half of the points are spread evenly over the distribution and half approach the upper end geometrically, so that
    p99 and p99.9 stay visible however many values there are.

    Parameters
    ----------
    values
        Values, in any order; no NaN.
    total
        Size of the population, at least the number of values; more than that leaves the curve short of 1, as for flows
        that did not finish. Default: the number of values.
    points
        Most points to return.

    Returns
    -------
    tuple[numpy.ndarray, numpy.ndarray]
        Values in ascending order, and the share of the population that is at most that large.

    Examples
    --------
    >>> x, y = cdf(np.array([3.0, 1.0, 2.0]), total=4)
    >>> x.tolist(), y.tolist()
    ([1.0, 2.0, 3.0], [0.25, 0.5, 0.75])
    """
    ordered = np.sort(values)
    n = ordered.size
    places = thinned(n, points)
    return ordered[places], (places + 1) / (total or max(n, 1))


def thinned(n: int, points: int = POINTS) -> np.ndarray:
    """Choose places of a sorted array of `n` values: even, and denser towards the end; first and last always."""
    if n <= points:
        return np.arange(n)
    even = np.linspace(0, n - 1, points - points // 2)
    tail = n - np.geomspace(1, n, points // 2)
    return np.unique(np.concatenate([even, tail]).round().astype(int))


def evenly(n: int, points: int) -> np.ndarray:
    """Choose `points` places of a sorted array of `n` values, as far apart as can be; first and last always."""
    return np.linspace(0, n - 1, points).round().astype(int)


def ranks(values: np.ndarray, *, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Values from least to greatest against their rank, as a share of the number of values; thinned evenly.

    Returns
    -------
    tuple[numpy.ndarray, numpy.ndarray]
        Ranks between 0 and 1, and values in ascending order.
    """
    ordered = np.sort(values)
    n = ordered.size
    places = evenly(n, min(n, points))
    return (places + 0.5) / max(n, 1), ordered[places]


def rounded(values: np.ndarray, significant: int = 4) -> list[float]:
    """Round to significant digits, to keep the file small."""
    return [float(f"{value:.{significant}g}") for value in values]
