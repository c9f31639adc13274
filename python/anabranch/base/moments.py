"""Times for people: dates where a stamp can be one, in UTC or another zone."""

from __future__ import annotations

import datetime as dt
import zoneinfo

from anabranch.errors import AnabranchError

EPOCH_NS = 100_000_000 * 1_000_000_000
"""Stamps below this are taken as time since the start of a trace, not since 1970."""

SECOND = 1_000_000_000


def zone(name: str | None) -> dt.tzinfo:
    """A time zone by its name in the IANA database; None is UTC.

    Examples
    --------
    >>> zone(None) is dt.UTC, str(zone("Europe/Berlin"))
    (True, 'Europe/Berlin')

    Raises
    ------
    AnabranchError
        If the name is not known.
    """
    if name is None:
        return dt.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise AnabranchError(
            f"time zone {name!r} is not known", hint="a name of the IANA database: --time-zone Europe/Berlin"
        ) from error


def moment(ns: int) -> str:
    """Write a time stamp: a date if it can be one, else seconds.

    Examples
    --------
    >>> moment(1_558_249_392_402_000_000), moment(2_500_000_000)
    ('2019-05-19 07:03:12.402 UTC', '2.500 s')
    """
    if abs(ns) < EPOCH_NS:
        return f"{ns / 1e9:.3f} s"
    stamp = dt.datetime.fromtimestamp(ns // SECOND, tz=dt.UTC)
    return f"{stamp:%Y-%m-%d %H:%M:%S}.{ns // 1_000_000 % 1000:03} UTC"
