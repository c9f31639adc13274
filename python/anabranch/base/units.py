"""Numbers as people read them: times, rates, sizes and counts with an SI prefix.

For display only: nothing here is parsed back; tables of results keep plain numbers with the unit in the column name.
"""

from __future__ import annotations

import math

_TIME = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_RATE = ((1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps"))
_SIZE = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B"))
EXACT_BELOW = 10_000
"""Counts below this are written out."""

_COUNT = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def digits(value: float, significant: int = 3) -> str:
    """Write a number with a given number of significant digits and no exponent.

    Parameters
    ----------
    value
        The number.
    significant
        Significant digits; digits left of the point are never dropped.

    Examples
    --------
    >>> digits(0.012345), digits(1.5), digits(123.4), digits(12345.6)
    ('0.0123', '1.50', '123', '12346')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    places = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, 9)}f}"


def with_interval(
    value: float, half_width: float | None, scale: float = 1.0, *, most_decimals: int | None = None
) -> str:
    """Write a number and its interval, both with as many decimals; an interval that is not zero does not read as zero.

    Parameters
    ----------
    value, half_width
        The number, and half the width of its interval; None, or not finite: there is none.
    scale
        Unit to divide both by.
    most_decimals
        Decimals of the number at most: of a share that was counted, more of them say nothing.

    Examples
    --------
    >>> with_interval(13.42, 0.318), with_interval(0.25, None), with_interval(0.951142, 0.000428)
    ('13.4 ± 0.3', '0.250', '0.951 ± 0.0004')
    >>> with_interval(0.02541, 0.07051, most_decimals=2), with_interval(25.31, None, most_decimals=2)
    ('0.03 ± 0.07', '25.3')
    """
    text = digits(value / scale)
    if most_decimals is not None and len(text.partition(".")[2]) > most_decimals:
        text = f"{value / scale:.{most_decimals}f}"
    if half_width is None or not math.isfinite(half_width):
        return text
    wide = f"{half_width / scale:.{len(text.partition('.')[2])}f}"
    if half_width and not float(wide):
        wide = digits(half_width / scale, 1)
    return f"{text} ± {wide}"


def _pick(value: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    for scale, name in units:
        if abs(value) >= scale:
            return scale, name
    return units[-1]


def _show(value: float | None, units: tuple[tuple[float, str], ...], significant: int) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    scale, name = _pick(value, units)
    if value == 0:
        return f"0 {name}".rstrip()
    return f"{digits(value / scale, significant)} {name}".rstrip()


def time_unit(ns: float) -> tuple[float, str]:
    """Choose the unit in which a time reads best.

    Parameters
    ----------
    ns
        A time in nanoseconds.

    Returns
    -------
    tuple[float, str]
        Nanoseconds in the unit, and its name.

    Examples
    --------
    >>> time_unit(25_000.0)
    (1000.0, 'µs')
    """
    return _pick(ns, _TIME)


def rate_unit(bps: float) -> tuple[float, str]:
    """Choose the unit in which a bit rate reads best: bits per second in the unit, and its name.

    Examples
    --------
    >>> rate_unit(9.4e8)
    (1000000.0, 'Mbps')
    """
    return _pick(bps, _RATE)


def time(ns: float | None, significant: int = 3) -> str:
    """Write a time given in nanoseconds.

    Examples
    --------
    >>> time(12_340.0), time(2e9), time(None)
    ('12.3 µs', '2.00 s', '–')
    """
    return _show(ns, _TIME, significant)


def rate(bps: float | None, significant: int = 3) -> str:
    """Write a bit rate given in bits per second.

    Examples
    --------
    >>> rate(1e9), rate(0)
    ('1.00 Gbps', '0 bps')
    """
    return _show(bps, _RATE, significant)


def size(number: float | None, significant: int = 3) -> str:
    """Write a size given in bytes, with decimal prefixes.

    Examples
    --------
    >>> size(1_500_000)
    '1.50 MB'
    """
    return _show(number, _SIZE, significant)


def count(number: float | None, significant: int = 3) -> str:
    """Write a count, or a mean of counts; below 10 000 there is no prefix.

    Examples
    --------
    >>> count(9_999), count(2_708.3), count(0.33), count(12_345_678)
    ('9999', '2708', '0.330', '12.3 M')
    """
    if number is not None and number < EXACT_BELOW and (number >= 100 or float(number).is_integer()):  # noqa: PLR2004
        return str(round(number))
    return _show(number, _COUNT, significant)


def duration(seconds: float) -> str:
    """Write a time of work.

    Examples
    --------
    >>> duration(0.4), duration(42), duration(600), duration(9000)
    ('1 s', '42 s', '10 min', '2.5 h')
    """
    if seconds < 90:  # noqa: PLR2004 - below a minute and a half, in seconds
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:  # noqa: PLR2004 - below an hour and a half, in minutes
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
