"""How each transport looks in every chart, table and drawing: one colour, one dash, one marker.

Colours lie in the middle of the lightness range, so that they keep a contrast of 3:1 on a white and on a near-black
page, and differ under the common colour deficiencies; dash and marker tell the same apart without colour. A transport
that is not listed gets the next free look of `SPARE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Style:
    """A look.

    Attributes
    ----------
    label
        Name for people.
    colour
        ``#rrggbb``.
    dash
        Lengths of strokes and gaps in pixels; empty: a solid line.
    marker
        A Vega symbol shape: its name, or a path.
    """

    label: str
    colour: str
    dash: tuple[int, ...]
    marker: str


STAR = "M0-1L.29-.4L.95-.31L.48.15L.59.81L0 .5L-.59.81L-.48.15L-.95-.31L-.29-.4Z"
SALTIRE = "M-.7-.9L0-.25L.7-.9L.9-.7L.25 0L.9.7L.7.9L0 .25L-.7.9L-.9.7L-.25 0L-.9-.7Z"
HEXAGON = "M0-.9L.78-.45L.78.45L0 .9L-.78.45L-.78-.45Z"
HOURGLASS = "M-.75-.85L.75-.85L-.75.85L.75.85Z"
PENTAGON = "M0-.95L.85-.15L.6.85L-.6.85L-.85-.15Z"
ARROWHEAD = "M-.9-.9L.9 0L-.9 .9L-.4 0Z"
HOUSE = "M-.9 0L0-.9L.9 0L.45 .8L-.45 .8Z"
BAR = "M-.9-.3L.9-.3L.9 .3L-.9 .3Z"
CHEVRONS = "M-.95 0L-.3-.8L-.3 .8ZM.95 0L.3-.8L.3 .8Z"
LOZENGE = "M0-.95L.5 0L0 .95L-.5 0Z"
CUP = "M-.85-.85L-.4-.85L-.4 .4L.4 .4L.4-.85L.85-.85L.85 .85L-.85 .85Z"
CAPSULE = "M-.3-.9L.3-.9L.3 .9L-.3 .9Z"
TRAPEZOID = "M-.4-.7L.4-.7L.9 .7L-.9 .7Z"
ANVIL = "M-.9-.8L.9-.8L.9-.4L.3-.4L.3 .4L.9 .4L.9 .8L-.9 .8L-.9 .4L-.3 .4L-.3-.4L-.9-.4Z"
FUNNEL = "M-.9-.8L.9-.8L.25 .1L.25 .9L-.25 .9L-.25 .1Z"
ARROW_UP = "M0-.95L.8 0L.35 0L.35 .9L-.35 .9L-.35 0L-.8 0Z"
TAG = "M-.6-.9L.6-.9L.6 .3L0 .9L-.6 .3Z"
ROOF = "M-.95 .1L0-.8L.95 .1L.95 .6L0-.25L-.95 .6Z"
ARCH = "M-.9 .9L-.9-.9L.9-.9L.9 .9L.45 .9L.45-.4L-.45-.4L-.45 .9Z"
"""Shapes that Vega does not name: paths within a square of side 2."""

TRANSPORTS: dict[str, Style] = {
    "scdp": Style("SCDP", "#1f77c4", (), "circle"),
    "ndp": Style("NDP", "#d2601a", (8, 3), "square"),
    "homa": Style("Homa", "#d13a74", (6, 2, 6, 6), CUP),
    "phost": Style("pHost", "#8c4fd0", (4, 3, 10, 3), ROOF),
    "dctcp": Style("DCTCP", "#0c8f68", (2, 2), "triangle-up"),
    "tcp": Style("TCP", "#a04fb5", (10, 3, 2, 3), "diamond"),
    "newreno": Style("TCP NewReno", "#a04fb5", (10, 3, 2, 3), "diamond"),
    "reno": Style("TCP Reno", "#c0437e", (6, 2, 2, 2, 2, 2), "cross"),
    "cubic": Style("TCP CUBIC", "#8a7412", (4, 4), "triangle-down"),
    "mptcp": Style("MPTCP", "#178a99", (12, 4), "triangle-left"),
    "pias": Style("PIAS", "#7a6f67", (1, 3), "triangle-right"),
    "ndp+": Style("NDP+", "#a85a2e", (6, 2), STAR),
    "d2tcp": Style("D2TCP", "#c23b3b", (5, 2, 1, 2), HOURGLASS),
    "fa-dctcp": Style("FA-DCTCP", "#5b7a8c", (9, 2, 2, 2), PENTAGON),
    "ecn-star": Style("ECN*", "#9b6a00", (7, 2, 1, 2, 1, 2), ARROWHEAD),
    "l2dct": Style("L2DCT", "#2f8f8f", (12, 2, 2, 2), HOUSE),
    "hull": Style("HULL", "#b4542f", (2, 4, 8, 4), BAR),
    "pfabric": Style("pFabric", "#4a72b8", (16, 3), LOZENGE),
    "udp": Style("UDP", "#6b5fc4", (3, 3, 1, 3), SALTIRE),
    "swift": Style("Swift", "#2e86ab", (5, 4, 1, 4), ANVIL),
    "roce": Style("RoCEv2", "#a8477a", (2, 2, 6, 2), TRAPEZOID),
    "dcqcn": Style("DCQCN", "#3f8f4f", (4, 2, 1, 2, 1, 2), CAPSULE),
    "timely": Style("TIMELY", "#7d56b8", (2, 3, 6, 3, 2, 3), FUNNEL),
    "hpcc": Style("HPCC", "#b5651d", (8, 2, 1, 2), ARCH),
    "uec": Style("Ultra Ethernet", "#4f7f3a", (10, 2, 4, 2), TAG),
    "eqds": Style("EQDS", "#b3486b", (3, 2, 3, 5), ARROW_UP),
    "front-back": Style("Front-Back", "#7b8420", (3, 2, 10, 2), CHEVRONS),
    "polyraptor": Style("Polyraptor", "#5f8a1f", (14, 3, 2, 3, 2, 3), HEXAGON),
}
"""Name in results to look."""

SPARE: tuple[Style, ...] = (
    Style("", "#1f77c4", (), "circle"),
    Style("", "#d2601a", (8, 3), "square"),
    Style("", "#0c8f68", (2, 2), "triangle-up"),
    Style("", "#a04fb5", (10, 3, 2, 3), "diamond"),
    Style("", "#c0437e", (6, 2, 2, 2, 2, 2), "cross"),
    Style("", "#8a7412", (4, 4), "triangle-down"),
    Style("", "#178a99", (12, 4), "triangle-left"),
    Style("", "#7a6f67", (1, 3), "triangle-right"),
)
"""Looks for transports without one of their own and for values of other sweep keys."""


def assign(names: Iterable[str]) -> dict[str, Style]:
    """Give each name its look; no two names share one until the looks run out.

    Parameters
    ----------
    names
        Transports as named in results, or labels of other sweep values.

    Returns
    -------
    dict[str, Style]
        Name to look, in the order given.

    Examples
    --------
    >>> looks = assign(["scdp", "mystery"])
    >>> looks["scdp"].label, looks["mystery"].label
    ('SCDP', 'mystery')
    >>> looks["mystery"].colour != looks["scdp"].colour
    True
    """
    wanted = list(dict.fromkeys(names))
    known: dict[str, Style] = {}
    used: set[str] = set()
    for name in wanted:
        style = TRANSPORTS.get(name)
        if style is not None and style.colour not in used:
            known[name] = style
            used.add(style.colour)
    free = [style for style in SPARE if style.colour not in used]
    looks: dict[str, Style] = {}
    for name in wanted:
        if name in known:
            looks[name] = known[name]
            continue
        style = free.pop(0) if free else SPARE[len(looks) % len(SPARE)]
        named = TRANSPORTS.get(name)
        looks[name] = Style(named.label if named else name, style.colour, style.dash, style.marker)
    return looks


_SYMBOLS = {
    "circle": "M0-4A4 4 0 1 1 0 4A4 4 0 1 1 0-4Z",
    "square": "M-3.6-3.6H3.6V3.6H-3.6Z",
    "triangle-up": "M0-4.4L4.4 3.6H-4.4Z",
    "triangle-down": "M0 4.4L4.4-3.6H-4.4Z",
    "triangle-left": "M-4.4 0L3.6-4.4V4.4Z",
    "triangle-right": "M4.4 0L-3.6-4.4V4.4Z",
    "diamond": "M0-5L4.2 0L0 5L-4.2 0Z",
    "cross": "M-1.5-4.4H1.5V-1.5H4.4V1.5H1.5V4.4H-1.5V1.5H-4.4V-1.5H-1.5Z",
}


_NUMBER = re.compile(r"-?\d*\.?\d+")


def symbol(style: Style) -> str:
    """SVG path of a style's marker around the origin, about 9 pixels wide.

    Examples
    --------
    >>> symbol(TRANSPORTS["ndp"])
    'M-3.6-3.6H3.6V3.6H-3.6Z'
    """
    return _SYMBOLS.get(style.marker) or _NUMBER.sub(lambda number: f"{4.6 * float(number[0]):.2g} ", style.marker)
