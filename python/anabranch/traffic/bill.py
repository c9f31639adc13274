"""The bill by the 95th percentile, as operators compute it.

Port counters are polled every five minutes; the rates of a calendar month are sorted, the top five per cent are
discarded, and the largest that is left is billed (nearest rank: of 8640 samples 432 are discarded). Several ports are
summed *per interval* before that. A poll that failed is no sample: it is not zero, and not discarded either.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anabranch.base import units
from anabranch.errors import AnabranchError
from anabranch.traffic.series import SECOND, Volumes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.series import Floats

INTERVAL_NS = 300 * SECOND
"""Five minutes."""

PERCENTILE = 95.0
"""The usual one."""

MEGA = 1e6
"""Prices are per megabit per second."""

Direction = Literal["max", "interval-max", "sum", "separate", "in", "out"]
"""How two directions make one bill.

``max``: the larger of the two percentiles (the usual way). ``interval-max``: the percentile of the larger direction of
each interval. ``sum``: the percentile of in + out. ``separate``: each direction is billed, the charges are added.
``in``, ``out``: one only.
"""

Method = Literal["nearest-rank", "linear"]
"""``nearest-rank`` bills a rate that was measured; ``linear`` interpolates between two, as spreadsheets do."""


class NothingKnownError(AnabranchError):
    """No interval has a rate on every port: there is nothing to take a percentile of."""


@dataclass(frozen=True, slots=True)
class Port:
    """One port: a series for each direction; None if the direction is not counted."""

    inbound: Volumes
    outbound: Volumes | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One interval: its start in nanoseconds, and its rate in bits per second."""

    start_ns: int
    bps: float


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile with everything needed to check it.

    Attributes
    ----------
    name
        What it is of: ``in``, ``out``, ``in + out``, ``larger of in and out``.
    bps
        The percentile, in bits per second.
    rank
        Its place among the samples in ascending order, from 1; for ``linear`` the place below it.
    samples
        Intervals with a rate.
    missing
        Intervals without one: some port was not polled.
    discarded
        The samples above it, in order of time: the audit list.
    """

    name: str
    bps: float
    rank: int
    samples: int
    missing: int
    discarded: tuple[Sample, ...]

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        names = ("name", "bps", "rank", "samples", "missing")
        discarded = [{"start_ns": sample.start_ns, "bps": sample.bps} for sample in self.discarded]
        return {name: getattr(self, name) for name in names} | {"discarded": discarded}


@dataclass(frozen=True, slots=True)
class Tariff:
    """Prices for a month, in any currency.

    Attributes
    ----------
    commit_bps
        What is paid for in any case, in bits per second.
    price
        For each megabit per second of the commit.
    overage
        For each above it; None: the same.
    """

    commit_bps: float = 0.0
    price: float = 0.0
    overage: float | None = None

    def __post_init__(self) -> None:
        for name, price in (("price", self.price), ("overage", self.overage)):
            if price is not None and not 0 <= price < math.inf:
                raise AnabranchError(f"{name} {price}: expected a number that is not negative", hint="0.5")

    def charge(self, bps: float) -> float:
        """The charge for a billed rate.

        Examples
        --------
        >>> Tariff(commit_bps=1e9, price=0.5, overage=0.8).charge(1.2e9)
        660.0
        """
        above = self.price if self.overage is None else self.overage
        return self.commit_bps / MEGA * self.price + max(0.0, bps - self.commit_bps) / MEGA * above


@dataclass(frozen=True, slots=True)
class Bill:
    """A bill.

    Attributes
    ----------
    direction, method
        How it was computed.
    percentile
        Which percentile, 95 as a rule.
    percentiles
        All that were computed; with ``max`` and ``separate`` there are two.
    billed_bps
        The rate that is billed; with ``separate`` the sum of both.
    tariff, charge
        Prices, and what they come to.
    first_ns, last_ns
        Start of the first interval and end of the last.
    ports
        How many.
    """

    direction: Direction
    method: Method
    percentile: float
    percentiles: tuple[Percentile, ...]
    billed_bps: float
    tariff: Tariff
    charge: float
    first_ns: int
    last_ns: int
    ports: int

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        names = ("direction", "method", "percentile", "billed_bps", "charge", "first_ns", "last_ns", "ports")
        tariff = {"commit_bps": self.tariff.commit_bps, "price": self.tariff.price, "overage": self.tariff.overage}
        percentiles = [one.as_json() for one in self.percentiles]
        return {name: getattr(self, name) for name in names} | {"tariff": tariff, "percentiles": percentiles}


def bill(
    ports: Sequence[Port],
    *,
    tariff: Tariff = Tariff(),
    direction: Direction = "max",
    percentile: float = PERCENTILE,
    method: Method = "nearest-rank",
    interval_ns: int = INTERVAL_NS,
) -> Bill:
    """Compute the bill of one or several ports, of all the time that they were measured.

    `anabranch.traffic.months.bills` divides that time into months first.

    Parameters
    ----------
    ports
        At least one. Series with finer bins are joined to intervals that begin on whole multiples of their width.
    tariff
        Prices.
    direction
        How the two directions are billed; ports without an outbound series count as one that sends nothing, unless no
        port has one.
    percentile
        Above 0, at most 100.
    method
        Definition of the percentile.
    interval_ns
        Width of an interval in nanoseconds.

    Returns
    -------
    Bill
        Bill and audit list.

    Raises
    ------
    AnabranchError
        If there is nothing to bill, series do not fit together, or a number is out of range.
    """
    if not 0 < percentile <= 100:  # noqa: PLR2004 - per cent
        raise AnabranchError(f"percentile {percentile}: expected a number above 0 and at most 100", hint="95 is usual")
    if not ports:
        raise AnabranchError("no port to bill")
    if direction != "in" and all(port.outbound is None for port in ports):
        if direction == "out":
            raise AnabranchError("there is no outbound series", hint="bill the direction that was measured: in")
        direction = "in"
    series = billed(ports, direction, interval_ns)
    percentiles = tuple(_percentile(name, one, percentile, method) for name, one in series)
    rates = [one.bps for one in percentiles]
    return Bill(
        direction=direction,
        method=method,
        percentile=percentile,
        percentiles=percentiles,
        billed_bps=sum(rates) if direction == "separate" else max(rates),
        tariff=tariff,
        charge=sum(map(tariff.charge, rates)) if direction == "separate" else tariff.charge(max(rates)),
        first_ns=min(one.start_ns for _, one in series),
        last_ns=max(one.start_ns + len(one) * one.bin_ns for _, one in series),
        ports=len(ports),
    )


def calendar_month(text: str, zone: dt.tzinfo = dt.UTC) -> tuple[int, int]:
    """Begin and end of a calendar month of a time zone, in nanoseconds of Unix time.

    Examples
    --------
    >>> begin, end = calendar_month("2024-02")
    >>> (end - begin) // (86_400 * SECOND)
    29
    >>> import zoneinfo
    >>> begin, end = calendar_month("2024-10", zoneinfo.ZoneInfo("Europe/Berlin"))  # an hour of its last Sunday twice
    >>> (end - begin) // (3_600 * SECOND) - 31 * 24
    1

    Raises
    ------
    AnabranchError
        If the text is no month.
    """
    try:
        begin = dt.datetime.strptime(text, "%Y-%m").replace(tzinfo=zone)
    except ValueError as error:
        raise AnabranchError(f"month {text!r}: expected a year and a month", hint="2024-05") from error
    end = (begin + dt.timedelta(days=31)).replace(day=1)
    return int(begin.timestamp()) * SECOND, int(end.timestamp()) * SECOND


def intervals(volumes: Volumes, interval_ns: int = INTERVAL_NS) -> Volumes:
    """Join the bins of a series to billing intervals, which begin on whole multiples of their width.

    A series whose bins are intervals already is left as it is, whenever its polls are made.
    """
    factor, rest = divmod(interval_ns, volumes.bin_ns)
    if rest or factor < 1:
        raise AnabranchError(
            f"{volumes.name}: bins of {units.time(volumes.bin_ns)} do not make intervals of {units.time(interval_ns)}",
            hint=(
                f"charge by a multiple of the bins: --every {units.time(volumes.bin_ns).replace(' ', '')}"
                if volumes.bin_ns >= INTERVAL_NS
                else f"bin the input to a width that divides {units.time(interval_ns)}"
            ),
        )
    if factor == 1:
        return volumes
    skipped = -(-(-volumes.start_ns % interval_ns) // volumes.bin_ns)
    return volumes.split(skipped)[1].rebin(factor)


def total(series: Sequence[Volumes], interval_ns: int = INTERVAL_NS) -> Volumes:
    """Sum series interval by interval; where one is not known, neither is the sum.

    Raises
    ------
    AnabranchError
        If their intervals are not the same clock's.
    """
    parts = [intervals(one, interval_ns) for one in series]
    first = min(part.start_ns for part in parts)
    last = max(part.start_ns + len(part) * interval_ns for part in parts)
    count = (last - first) // interval_ns
    volumes, known = np.zeros(count), np.ones(count, dtype=bool)
    for part in parts:
        offset, rest = divmod(part.start_ns - first, interval_ns)
        if rest:
            raise AnabranchError(
                f"{part.name} begins {units.time(rest)} into an interval of {parts[0].name}",
                hint="put the intervals of all ports onto one clock: --align clock",
            )
        here = np.zeros(count, dtype=bool)
        here[offset : offset + len(part)] = part.is_known
        volumes[offset : offset + len(part)] += np.where(part.is_known, part.bytes, 0)
        known &= here
    name = " + ".join(part.name for part in parts)
    return Volumes(interval_ns, first, volumes, ~known, name=name, source=parts[0].source)


def billed(ports: Sequence[Port], direction: Direction, interval_ns: int = INTERVAL_NS) -> list[tuple[str, Volumes]]:
    """The series of which percentiles are taken, with what they are: one, or two for ``max`` and ``separate``."""
    inbound = total([port.inbound for port in ports], interval_ns)
    sent = [port.outbound for port in ports if port.outbound is not None]
    outbound = total(sent, interval_ns) if sent else None
    if outbound is None or direction == "in":
        return [("in", inbound)]
    if direction == "out":
        return [("out", outbound)]
    if direction == "sum":
        return [("in + out", total([inbound, outbound], inbound.bin_ns))]
    if direction == "interval-max":
        # The sum has the common intervals and what is missing; its volumes are replaced.
        both = total([inbound, outbound], inbound.bin_ns)
        larger = np.zeros(len(both))
        for part in (inbound, outbound):
            offset = (part.start_ns - both.start_ns) // both.bin_ns
            here = larger[offset : offset + len(part)]
            np.maximum(here, np.where(part.is_known, part.bytes, 0), out=here)
        return [("larger of in and out", Volumes(both.bin_ns, both.start_ns, larger, both.missing, name=both.name))]
    return [("in", inbound), ("out", outbound)]


def _percentile(name: str, series: Volumes, percentile: float, method: Method) -> Percentile:
    rates, starts = series.rates(), series.starts_ns()[series.is_known]
    if rates.size == 0:
        raise NothingKnownError(f"{name}: no interval has a rate on every port")
    bps, rank = quantile(rates, percentile, method)
    # Of equal rates at the edge, as many are discarded as the rank leaves: the later ones.
    order = np.lexsort((starts, rates))
    top = np.sort(order[rank:])
    return Percentile(
        name=name,
        bps=bps,
        rank=rank,
        samples=rates.size,
        missing=len(series) - rates.size,
        discarded=tuple(Sample(int(starts[i]), float(rates[i])) for i in top),
    )


def quantile(rates: Floats, percentile: float = PERCENTILE, method: Method = "nearest-rank") -> tuple[float, int]:
    """Percentile of rates, and its rank from 1 in ascending order (for ``linear`` the rank below it).

    Examples
    --------
    >>> quantile(np.arange(1.0, 8641.0))
    (8208.0, 8208)
    >>> quantile(np.array([1.0, 2.0, 3.0, 4.0]), 50, "linear")
    (2.5, 2)
    """
    n = rates.size
    if method == "linear":
        place = percentile / 100 * (n - 1)
        ordered = np.sort(rates)
        low = math.floor(place)
        high = min(low + 1, n - 1)
        return float(ordered[low] + (place - low) * (ordered[high] - ordered[low])), low + 1
    # In hundredths of a per cent, so that 95 % of 8640 is 8208 and not the next for the last bit of a float.
    rank = max(1, -(-round(percentile * 100) * n // 10_000))
    return float(np.partition(rates, rank - 1)[rank - 1]), rank
