"""Series and their looks: a transport's own, of a transport used in another way, of the values of a swept key."""

from __future__ import annotations

import colorsys
from dataclasses import replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from anabranch.base import styles
from anabranch.errors import AnabranchError
from anabranch.reproduce.model import quantity
from anabranch.reproduce.rows import in_order
from anabranch.showing.figures import Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    """Make the series that an entry of a file stands for; those of a column's values depend on the rows.

    Examples
    --------
    >>> import polars as pl
    >>> from anabranch.reproduce.model import SeriesOf
    >>> two = pl.DataFrame({"rate": [2000, 4000]})
    >>> [(one.label, one.style.colour) for one in series_of(SeriesOf(column="rate", label="λ = {}", look=2), two)]
    [('λ = 2000', '#0c8f68'), ('λ = 4000', '#a04fb5')]
    >>> [one.style.colour for one in series_of(SeriesOf(column="rate", ramp=True), two)]
    ['#173f5f', '#e9c46a']
    """
    named = list(_named(of, frame))
    if of.transport:
        each = enumerate(named, start=of.turn)
        return tuple(variant(of.transport, label, condition, turn) for turn, (label, condition) in each)
    looks = _looks(of, [label for label, _ in named])
    return tuple(Series(label or look.label, has, look) for (label, has), look in zip(named, looks, strict=True))


def _named(of: SeriesOf, frame: pl.DataFrame) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Labels, and which rows they are for: the entry's own, or those of a column's values."""
    if not of.column:
        return [(of.label, of.filter)]
    values: Sequence[Any] = of.values or [value for (value,) in in_order(frame, [of.column])]
    pattern = of.label or "{}"
    return [
        (of.labels.get(str(value)) or pattern.replace("{}", quantity(value)), {**of.filter, of.column: value})
        for value in (sorted(values) if of.sorted else values)
    ]


def variant(base: str, label: str, condition: Mapping[str, Any], turn: int) -> Series:
    """A series that is a transport used in a certain way (daisy-chained, with read-ahead).

    Its rows are the transport's that fit `condition`; its label is the transport's if it has no other. Its look is the
    transport's at turn 0; the first variant, turn 1, has its colour and another dash, and so on.
    """
    look = styles.TRANSPORTS[base]
    label = label or look.label
    if turn > len(free := turns(base)):
        raise AnabranchError(f"{label}: {look.label} has looks for {len(free)} ways of using it, not for {turn}")
    if turn:
        look = styles.Style(label, look.colour, *free[turn - 1])
    return Series(label, {"transport": base, **condition}, look)


def turns(base: str) -> list[tuple[tuple[int, ...], str]]:
    """Dashes and markers for ways of using a transport, each other than its own.

    Examples
    --------
    >>> len(turns("scdp")), len(turns("ndp")), turns("ndp")[0]
    (4, 3, ((2, 2), 'triangle-down'))
    """
    plain = styles.TRANSPORTS[base]
    dashes = [dash for dash in ((8, 3), (2, 2), (10, 3, 2, 3), (5, 2)) if dash != plain.dash]
    markers = [mark for mark in ("triangle-down", "diamond", "cross", "triangle-left") if mark != plain.marker]
    return list(zip(dashes, markers, strict=False))


def _looks(of: SeriesOf, names: Sequence[str]) -> Iterable[styles.Style]:
    """Looks of rows without a transport: a transport's, the free ones in order from a number on, or as everywhere."""
    if isinstance(of.look, str):
        return [styles.TRANSPORTS[of.look]]
    if of.ramp:
        step = max(1, len(RAMP) // max(1, len(names)))
        return [styles.Style(name, RAMP[turn * step % len(RAMP)], (), "square") for turn, name in enumerate(names)]
    if of.look is not None:  # so that a figure's other panels may use the looks before
        return islice(cycle(styles.SPARE), of.look, of.look + len(names))
    if len(names) <= len(styles.SPARE):
        known = styles.assign(names)
        return [known[name] for name in names]
    # More values than there are looks, as the ports of a switch: colours on the wheel.
    spare = cycle(styles.SPARE)
    return [replace(next(spare), colour=_on_wheel(turn / len(names))) for turn in range(len(names))]


def _on_wheel(turn: float) -> str:
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(turn, 0.48, 0.55))
    return f"#{red:02x}{green:02x}{blue:02x}"


def told_apart(series: Sequence[Series]) -> tuple[Series, ...]:
    """Give series of one colour, which dash and marker tell apart in curves, colours of their own for bars.

    Examples
    --------
    >>> base = variant("dctcp", "", {}, 0)
    >>> both = told_apart((base, variant("dctcp", "DCTCP with more", {"more": True}, 1)))
    >>> both[0].style == base.style, both[0].style.colour == both[1].style.colour
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
