"""Series and their looks: a transport's own, of a transport used in another way, of the values of a swept key."""

from __future__ import annotations

import colorsys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anabranch.base import styles
from anabranch.errors import AnabranchError
from anabranch.reproduce.model import quantity
from anabranch.reproduce.rows import in_order
from anabranch.showing.figures import Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anabranch.reproduce.model import SeriesOf

# From dark to light and on to red, neighbours a step apart: twelve parts of a bar can be told apart.
RAMP = (
    "#173f5f",
    "#1f6f8b",
    "#2a9d8f",
    "#57b894",
    "#8ab17d",
    "#bfc06a",
    "#e9c46a",
    "#f0a95c",
    "#f4865f",
    "#e76f51",
    "#c44536",
    "#8f2d56",
)


def series_of(of: SeriesOf, frame: pl.DataFrame) -> tuple[Series, ...]:
    """Make the series that an entry of a file stands for; those of a column's values depend on the rows."""
    if of.column:
        values = of.values or [value for (value,) in in_order(frame, [of.column])]
        if of.transport:
            return tuple(
                variant(
                    of.transport, of.label.replace("{}", quantity(value)), {**of.filter, of.column: value}, turn=turn
                )
                for turn, value in enumerate(values)
            )
        made = values_of(of.column, sorted(values) if of.sorted else values, of.label or "{}", of.labels)
        made = ramp(made) if of.ramp else apart(made, of.look) if isinstance(of.look, int) else made
        return tuple(replace(one, where={**of.filter, **one.where}) for one in made)
    if of.transport:
        return (variant(of.transport, of.label, of.filter, turn=of.turn),)
    look = styles.SPARE[of.look] if isinstance(of.look, int) else styles.TRANSPORTS[str(of.look)]
    return (Series(of.label or look.label, of.filter, look),)


def transports(*names: str) -> tuple[Series, ...]:
    """Series of transports, each with the look that it has everywhere.

    Examples
    --------
    >>> [series.label for series in transports("scdp", "ndp")]
    ['SCDP', 'NDP']
    """
    looks = styles.assign(names)
    return tuple(Series(looks[name].label, {"transport": name}, looks[name]) for name in names)


def variant(base: str, label: str, condition: Mapping[str, Any], *, turn: int = 1) -> Series:
    """A series that is a transport used in a certain way (daisy-chained, with read-ahead).

    Parameters
    ----------
    base
        The transport, which is added to the condition.
    label
        Name for people; default: the transport's.
    condition
        Column to value.
    turn
        0: the transport's own look; 1 for the first variant, which has its colour and another dash; 2 for the second.
    """
    (plain,) = transports(base)
    label = label or plain.label
    made = replace(plain, label=label, where={**plain.where, **condition})
    if turn:
        free = turns(base)
        if turn > len(free):
            raise AnabranchError(f"{label}: {plain.label} has looks for {len(free)} ways of using it, not for {turn}")
        made = replace(made, style=styles.Style(label, plain.style.colour, *free[turn - 1]))
    return made


def turns(base: str) -> list[tuple[tuple[int, ...], str]]:
    """Dashes and markers for ways of using a transport, each other than its own.

    Examples
    --------
    >>> len(turns("scdp")), len(turns("ndp")), turns("ndp")[0]
    (4, 3, ((2, 2), 'triangle-down'))
    """
    (plain,) = transports(base)
    dashes = [dash for dash in ((8, 3), (2, 2), (10, 3, 2, 3), (5, 2)) if dash != plain.style.dash]
    markers = [mark for mark in ("triangle-down", "diamond", "cross", "triangle-left") if mark != plain.style.marker]
    return list(zip(dashes, markers, strict=False))


def values_of(
    column: str, values: Sequence[Any], label: str = "{}", labels: Mapping[str, str] | None = None
) -> tuple[Series, ...]:
    """Series of the values of a swept key.

    Parameters
    ----------
    column
        The key as a column of the results.
    values
        Its values.
    label
        Name for people, with ``{}`` for the value.
    labels
        Names of values that have one.

    Examples
    --------
    >>> [series.label for series in values_of("load", [0.5, 0.6], "load {}")]
    ['load 0.5', 'load 0.6']
    """
    names = [(labels or {}).get(str(value)) or label.replace("{}", quantity(value)) for value in values]
    looks = styles.assign(names) if len(names) <= len(styles.SPARE) else _wheel(names)
    return tuple(Series(text, {column: value}, looks[text]) for text, value in zip(names, values, strict=True))


def _wheel(labels: Sequence[str]) -> dict[str, styles.Style]:
    """Looks for more values than there are looks, as the ports of a switch: colours around the wheel."""
    looks = {}
    for turn, label in enumerate(labels):
        red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(turn / len(labels), 0.48, 0.55))
        spare = styles.SPARE[turn % len(styles.SPARE)]
        looks[label] = styles.Style(label, f"#{red:02x}{green:02x}{blue:02x}", spare.dash, spare.marker)
    return looks


def apart(series: Sequence[Series], skip: int) -> tuple[Series, ...]:
    """Give series the free looks from `skip` on, so that a figure's other panels may use the looks before.

    Examples
    --------
    >>> [one.style.colour for one in apart(values_of("rate", [2000, 4000]), 2)]
    ['#0c8f68', '#a04fb5']
    """
    looks = [styles.SPARE[(skip + turn) % len(styles.SPARE)] for turn in range(len(series))]
    return tuple(replace(one, style=replace(look, label=one.label)) for one, look in zip(series, looks, strict=True))


def ramp(series: Sequence[Series]) -> tuple[Series, ...]:
    """Give the parts of stacked bars, such as the ports of a switch, colours in order.

    Examples
    --------
    >>> [one.style.colour for one in ramp(values_of("port", [0, 1, 2]))]
    ['#173f5f', '#8ab17d', '#f4865f']
    """
    step = max(1, len(RAMP) // max(1, len(series)))
    colours = [RAMP[turn * step % len(RAMP)] for turn in range(len(series))]
    return tuple(
        replace(one, style=styles.Style(one.label, colour, (), "square"))
        for one, colour in zip(series, colours, strict=True)
    )


def told_apart(series: Sequence[Series]) -> tuple[Series, ...]:
    """Give series of one colour, which dash and marker tell apart in curves, colours of their own for bars.

    Examples
    --------
    >>> base = transports("dctcp")
    >>> both = told_apart((*base, variant("dctcp", "DCTCP with more", {"more": True})))
    >>> both[0].style == base[0].style, both[0].style.colour == both[1].style.colour
    (True, False)
    """
    used = {one.style.colour for one in series}
    free = [spare.colour for spare in styles.SPARE if spare.colour not in used]
    seen: set[str] = set()
    told = []
    for one in series:
        again = one.style.colour in seen and bool(free)
        told.append(replace(one, style=replace(one.style, colour=free.pop(0))) if again else one)
        seen.add(one.style.colour)
    return tuple(told)
