"""A bill for each month: charges are monthly, so a file that spans several months has several charges.

Times of the real world are divided at calendar months of a time zone, UTC unless another is said, which is what
contracts say; a trace that begins at zero has no calendar and is divided every so many days. A month of which less than
a day was measured, beside others, is a fragment that only the time zone makes, or a poll too many: it has no charge
unless it is asked for.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError
from anabranch.traffic import bill as billing
from anabranch.traffic.bill import Bill, Port
from anabranch.traffic.outcome import Inconclusive
from anabranch.traffic.series import SECOND
from anabranch.traffic.stationarity import DAY_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.bill import Direction, Method, Tariff
    from anabranch.traffic.series import Volumes

DATED_NS = 10**17
"""Times before this, in 1973, are those of a trace and not of the real world."""

DAYS = 30
"""Days of a month where there is no calendar."""

FRAGMENT_NS = DAY_NS
"""Of a fragment less than this was measured: time zones differ by less."""


@dataclass(frozen=True, slots=True)
class Month:
    """A month and its bill.

    Attributes
    ----------
    name
        ``2024-05``, or the days of a trace: ``days 0 to 30``.
    begin_ns, end_ns
        When it begins and ends.
    bill
        Its bill, or why there is none.
    measured_ns
        Intervals that have a rate on all ports, together: less than the month where it is a partial one.
    """

    name: str
    begin_ns: int
    end_ns: int
    bill: Bill | Inconclusive
    measured_ns: int

    @property
    def days(self) -> float:
        """Length in days."""
        return (self.end_ns - self.begin_ns) / DAY_NS

    @property
    def measured_days(self) -> float:
        """Days' worth of intervals with a rate on all ports."""
        return self.measured_ns / DAY_NS

    @property
    def whole(self) -> bool:
        """Whether all of it was measured, to an hour."""
        return self.end_ns - self.begin_ns - self.measured_ns <= DAY_NS // 24

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        found = {"inconclusive": self.bill.reason} if isinstance(self.bill, Inconclusive) else self.bill.as_json()
        return {"month": self.name, "whole": self.whole, "measured_days": self.measured_days, **found}


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a port that lies in a month; None: nothing of it does."""

    inbound: Volumes | None
    outbound: Volumes | None


def fewest(percentile: float) -> int:
    """How many samples a percentile needs to be below the largest.

    Examples
    --------
    >>> fewest(95), fewest(99), fewest(100)
    (20, 100, 1)
    """
    return 1 if percentile >= 100 else math.ceil(round(100 / (100 - percentile), 9))  # noqa: PLR2004 - per cent


def bills(
    ports: Sequence[Port],
    *,
    tariff: Tariff | None = None,
    direction: Direction = "max",
    percentile: float = billing.PERCENTILE,
    method: Method = "nearest-rank",
    interval_ns: int = billing.INTERVAL_NS,
    month_days: int | None = None,
    zone: dt.tzinfo = dt.UTC,
) -> list[Month]:
    """Compute the bill of every month in which a port was measured.

    Parameters
    ----------
    tariff
        Prices; default: none.
    ports, direction, percentile, method, interval_ns
        As for `anabranch.traffic.bill.bill`.
    month_days
        Days of a month of traces without a calendar; default: 30.
    zone
        Where months begin.

    Returns
    -------
    list[Month]
        At least one, in order of time.

    Raises
    ------
    AnabranchError
        As `anabranch.traffic.bill.bill`, and if no month has enough samples for a bill.
    """
    series = [one for port in ports for one in (port.inbound, port.outbound) if one is not None and len(one)]
    if not series:
        raise AnabranchError("no port to bill")
    first = min(one.start_ns for one in series)
    last = max(one.start_ns + len(one) * one.bin_ns for one in series)
    made = []
    periods = _periods(first, last, month_days or DAYS, zone)
    for name, begin, end in periods:
        parts = [_Part(*(_between(one, begin, end) for one in (port.inbound, port.outbound))) for port in ports]
        pairs = zip(ports, parts, strict=True)
        if any(p.inbound is None or (given.outbound is not None and p.outbound is None) for given, p in pairs):
            found: Bill | Inconclusive = Inconclusive("a port was not measured in it")
            samples = 0
        else:
            found, samples = _bill(
                [Port(part.inbound, part.outbound) for part in parts if part.inbound is not None],
                tariff=tariff or billing.Tariff(),
                direction=direction,
                percentile=percentile,
                method=method,
                interval_ns=interval_ns,
            )
        if len(periods) > 1 and first >= DATED_NS and isinstance(found, Bill) and samples * interval_ns < FRAGMENT_NS:
            hours = samples * interval_ns / DAY_NS * 24
            found = Inconclusive(
                f"a fragment of {hours:.1f} h: --month {name} bills it, "
                f"--time-zone says where months begin ({zone} now)"
            )
        made.append(Month(name, begin, end, found, samples * interval_ns))
    if all(isinstance(month.bill, Inconclusive) for month in made):
        reasons = dict.fromkeys(f"{month.name}: {month.bill}" for month in made)
        raise AnabranchError(
            f"no month can be billed: {'; '.join(reasons)}",
            hint="measure longer, or choose shorter intervals: --every 1min",
        )
    return made


def _bill(
    ports: Sequence[Port],
    *,
    tariff: Tariff,
    direction: Direction,
    percentile: float,
    method: Method,
    interval_ns: int,
) -> tuple[Bill | Inconclusive, int]:
    """The bill, and of how many samples it is."""
    try:
        found = billing.bill(
            ports, tariff=tariff, direction=direction, percentile=percentile, method=method, interval_ns=interval_ns
        )
    except billing.NothingKnownError as error:
        return Inconclusive(error.message), 0
    samples, needed = min(one.samples for one in found.percentiles), fewest(percentile)
    if samples < needed:
        what = f"{samples} sample{'' if samples == 1 else 's'}"
        return Inconclusive(f"{what}: below {needed} the {percentile:g}th percentile is the largest"), samples
    return found, samples


def _between(volumes: Volumes | None, begin_ns: int, end_ns: int) -> Volumes | None:
    if volumes is None:
        return None
    part = volumes.between(begin_ns, end_ns)
    return part if len(part) else None


def _periods(first_ns: int, last_ns: int, days: int, zone: dt.tzinfo) -> list[tuple[str, int, int]]:
    """The months, or periods of so many days, that a time touches: name, begin and end."""
    if first_ns < DATED_NS:
        # Whole periods from the beginning of the trace on.
        width = days * DAY_NS
        count = max(1, -(-(last_ns - first_ns) // width))
        starts = [(k * days, first_ns + k * width) for k in range(count)]
        return [(f"days {day} to {day + days}", begin, begin + width) for day, begin in starts]
    found: list[tuple[str, int, int]] = []
    month = dt.datetime.fromtimestamp(first_ns // SECOND, tz=zone)
    while True:
        name = f"{month:%Y-%m}"
        begin, end = billing.calendar_month(name, zone)
        if begin >= last_ns:
            return found
        found.append((name, begin, end))
        month = dt.datetime.fromtimestamp(end // SECOND, tz=zone)
