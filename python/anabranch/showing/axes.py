"""What all charts share, as pieces of Vega-Lite: their configuration, logarithmic axes, series that can be hidden."""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import altair as alt
import numpy as np
from altair.utils import schemapi

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Axis = TypeVar("Axis", alt.X, alt.Y)

MARKERS = 7
"""Markers along a curve: enough to tell it apart without colour, few enough to see the curve."""

CHECKED = False
"""Whether pages and figures are checked against the schema of Vega-Lite while they are made, as tests ask for."""


@dataclass(slots=True)
class _Switch:
    """Altair's switch for its checks, which all threads share: how many make charts without them, and what it was."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    makers: int = 0
    before: bool = True


_switch = _Switch()


@contextmanager
def unchecked() -> Iterator[None]:
    """Make charts without a check of each of their parts, which takes a quarter of the time of a page.

    Charts that other threads make meanwhile are not checked either.
    """
    with _switch.lock:
        if not _switch.makers:
            _switch.before, schemapi.DEBUG_MODE = schemapi.DEBUG_MODE, CHECKED
        _switch.makers += 1
    try:
        yield
    finally:
        with _switch.lock:
            _switch.makers -= 1
            if not _switch.makers:
                schemapi.DEBUG_MODE = _switch.before


def spec_of(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The specification of a chart, without `$schema`: an address, although nothing would fetch it."""
    spec: dict[str, Any] = chart.to_dict(validate=CHECKED)
    spec.pop("$schema", None)
    return spec


class _Rows(alt.InlineDataset):
    """Rows of a layer. Altair copies each layer some ten times on its way into a chart; these stay where they are."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(rows)  # type: ignore[no-untyped-call]

    def __deepcopy__(self, _: object = None) -> _Rows:
        return self

    def to_dict(self, *_: object, **__: object) -> list[dict[str, Any]]:  # type: ignore[override]  # as it is: a list
        return self._args[0]  # type: ignore[no-any-return]


def inline(rows: list[dict[str, Any]]) -> alt.InlineData:
    """Data of a layer; nobody may change the rows afterwards."""
    return alt.InlineData(values=_Rows(rows))


def toggled(spec: dict[str, Any]) -> None:
    """Let the page hide series of a chart: those named by its parameter ``hidden``."""
    spec["params"] = [*spec.get("params", []), {"name": "hidden", "value": []}]
    # A layer with data of its own does not see the transforms of the whole.
    for part in [spec, *_layers(spec)]:
        if "data" in part:
            part["transform"] = [{"filter": "indexof(hidden, datum.series) < 0"}, *part.get("transform", [])]


def _layers(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All layers of a specification, and theirs."""
    for layer in spec.get("layer", []):
        yield layer
        yield from _layers(layer)


CONFIG: dict[str, Any] = {
    "background": None,
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.13,
        "labelFontSize": 11.5,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelOverlap": "greedy",
        "labelSeparation": 4,
        "titlePadding": 8,
    },
}


ENOUGH = 4
"""Ticks that an axis should have."""


def log_axis(channel: Axis, values: Sequence[Any]) -> Axis:
    """Give an axis a logarithmic scale over the values, with ticks at decades, at 1, 2 and 5 if these are few."""
    ends = np.concatenate([np.atleast_1d(value) for value in values])
    low, high = 0.95 * float(ends.min()), 1.05 * float(ends.max())
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    shown: list[float] = []
    for factors in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        shown = [float(f"{tick:.2g}") for tick in ticks if low <= tick <= high]
        if len(shown) >= ENOUGH:
            break
    if len(shown) < 2:  # noqa: PLR2004 - an axis needs two numbers
        shown = [float(f"{tick:.3g}") for tick in np.linspace(low, high, 4)[1:-1]]
    axis = alt.Axis(values=shown, format="~g")
    return channel.scale(type="log", domain=[low, high], nice=False).axis(axis)


def as_low(channel: alt.Y) -> alt.Y:
    """The same axis for the lower end of an error bar."""
    other = channel.copy()
    other.shorthand = "low:Q"
    return other
