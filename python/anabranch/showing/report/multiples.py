"""Time series as small multiples: rows on one axis of times, a cursor that they share, and a strip to zoom with."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.showing.curves import rounded
from anabranch.showing.report.over_time import MOMENTS, points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.base.styles import Style
    from anabranch.showing.report.over_time import OverTime, Strip

HEIGHT = 74
OVERVIEW = 30
LINES = 4
"""Lines that the texts of events take in turn."""

AXIS = 52
"""Width that every row gives its axis, so that the times stand below each other."""

FULL = 0xFFFF
"""What stands for the greatest value of a curve."""

TEXT = "currentColor"


def multiples(found: OverTime, looks: Sequence[Style], config: Mapping[str, Any]) -> dict[str, Any]:
    """Make the Vega-Lite specification; the page sets its width.

    Parameters
    ----------
    found
        What was measured.
    looks
        Looks of the labels that the curves have.
    config
        Configuration of the page's charts.
    """
    scale, unit = _unit(found)
    times = rounded(found.times / scale, 6)
    # Texts of neighbours stand below each other.
    events = [
        {"x": float(f"{time / scale:.6g}"), "event": text, "line": 2 + 12 * (place % LINES)}
        for place, (time, text) in enumerate(found.events)
    ]
    shown = found.rows
    rows = [
        _row(place, strip, times, unit, looks=looks, events=events, last=place + 1 == len(shown))
        for place, strip in enumerate(shown)
    ]
    views = [f"row{place}" for place in range(len(rows))]
    return {
        "params": [
            {"name": "hidden", "value": []},
            {
                "name": "cursor",
                "views": views,
                "select": {
                    "type": "point",
                    "on": "pointerover",
                    "clear": "pointerout",
                    "nearest": True,
                    "encodings": ["x"],
                },
            },
            {"name": "zoom", "views": ["overview"], "select": {"type": "interval", "encodings": ["x"]}},
        ],
        "vconcat": [*rows, _overview(shown[0], times, unit, looks)],
        "spacing": 16,
        "config": {**config, "concat": {"spacing": 16}},
    }


def _unit(found: OverTime) -> tuple[float, str]:
    """Unit of the axis of times: nanoseconds in it, and its name."""
    return (1e9, "s") if found.times[-1] > 2e9 else (1e6, "ms")  # noqa: PLR2004 - two seconds


def with_samples(found: OverTime, spec: dict[str, Any]) -> dict[str, Any]:
    """Give the specification all samples, from which ``over_time.js`` draws where a reader zooms in or chooses rows.

    A curve is written as whole numbers of 16 bits, of which the largest is its greatest value, compressed.
    """
    scale, unit = _unit(found)
    strips = [
        {
            "title": strip.title,
            "unit": strip.unit,
            "of": strip.of,
            "who": strip.who,
            "shown": strip.shown,
            "largest": strip.thinned is np.max,
            "curves": [[label, *_packed(curve)] for label, curve in strip.curves.items()],
        }
        for strip in found.strips
    ]
    about = {"begin": found.begin, "step": found.step, "count": found.count, "interval": found.interval}
    names = [[of, who, name] for (of, who), name in found.names.items()]
    more = {"scale": scale, "unit": unit, "moments": MOMENTS, "strips": strips, "names": names}
    return {**spec, "usermeta": {**about, **more}}


def _packed(curve: np.ndarray) -> tuple[float, str]:
    """The greatest value of a curve, and its samples in parts of it: little-endian, zlib, base64."""
    most = float(curve.max(initial=0.0))
    whole = np.zeros(curve.size) if most <= 0 else np.clip(curve, 0.0, None) / most * FULL
    raw = whole.round().astype("<u2").tobytes()
    return float(f"{most:.6g}"), base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


def _data(strip: Strip, times: Sequence[float]) -> dict[str, Any]:
    """One record a time, a field for each curve: ``s0``, ``s1`` ..."""
    curves = [rounded(points(strip, curve)) for curve in strip.curves.values()]
    return {
        "values": [
            {"x": time, **{f"s{n}": curve[place] for n, curve in enumerate(curves)}} for place, time in enumerate(times)
        ]
    }


def _folded(strip: Strip) -> list[dict[str, Any]]:
    """From a field for each curve to a record for each point, named by its label."""
    names = list(strip.curves)
    return [
        {"fold": [f"s{n}" for n in range(len(names))], "as": ["field", "y"]},
        {"calculate": f"{json.dumps(names)}[toNumber(slice(datum.field, 1))]", "as": "series"},
        {"filter": "indexof(hidden, datum.series) < 0"},
    ]


def _looks(looks: Sequence[Style]) -> dict[str, Any]:
    labels = [look.label for look in looks]
    return {
        "color": {
            "field": "series",
            "type": "nominal",
            "legend": None,
            "scale": {"domain": labels, "range": [look.colour for look in looks]},
        },
        "strokeDash": {
            "field": "series",
            "type": "nominal",
            "legend": None,
            "scale": {"domain": labels, "range": [list(look.dash) or [1, 0] for look in looks]},
        },
    }


def _x(unit: str, *, shown: bool, domain: Any = None) -> dict[str, Any]:  # noqa: ANN401 - of Vega-Lite
    axis = {"labels": shown, "ticks": shown, "title": f"time ({unit})" if shown else None, "grid": True}
    scale: dict[str, Any] = {"nice": False}
    if domain is not None:
        scale["domain"] = domain
    return {"field": "x", "type": "quantitative", "axis": axis, "scale": scale}


def _row(
    place: int,
    strip: Strip,
    times: Sequence[float],
    unit: str,
    *,
    looks: Sequence[Style],
    events: Sequence[Mapping[str, Any]],
    last: bool,
) -> dict[str, Any]:
    x = _x(unit, shown=last, domain={"param": "zoom", "encoding": "x"})
    y = {
        "field": "y",
        "type": "quantitative",
        "title": strip.unit,
        "axis": {"minExtent": AXIS, "maxExtent": AXIS, "tickCount": 3, "format": "~s"},
        "scale": {"zero": True},
    }
    tips = [{"field": "x", "type": "quantitative", "title": f"time ({unit})", "format": ".5~g"}] + [
        {"field": f"s{n}", "type": "quantitative", "title": f"{label} ({strip.unit})", "format": ".4~g"}
        for n, label in enumerate(strip.curves)
    ]
    at_cursor = {"condition": {"param": "cursor", "empty": False, "value": 0.7}, "value": 0}
    layers: list[dict[str, Any]] = [
        {
            "transform": _folded(strip),
            "mark": {"type": "line", "strokeWidth": 1.4, "clip": True},
            "encoding": {"y": y, **_looks(looks)},
        },
        {
            "name": f"row{place}",
            "mark": {"type": "rule", "color": TEXT, "clip": True},
            "encoding": {"opacity": at_cursor, "tooltip": tips},
        },
    ]
    if events:
        data = {"values": list(events)}
        tip = [tips[0], {"field": "event", "type": "nominal", "title": "event"}]
        layers.append(
            {
                "data": data,
                "mark": {"type": "rule", "color": TEXT, "strokeDash": [3, 3], "strokeWidth": 1.2, "clip": True},
                "encoding": {"tooltip": tip},
            }
        )
        if place == 0:
            mark = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "color": TEXT, "clip": True}
            line: dict[str, Any] = {"field": "line", "type": "quantitative", "scale": None, "axis": None}
            layers.append({"data": data, "mark": mark, "encoding": {"text": {"field": "event"}, "y": line}})
    return {
        "height": HEIGHT,
        "width": 600,
        "title": {
            "text": strip.title,
            "anchor": "start",
            "fontSize": 12.5,
            "fontWeight": 600,
            "color": TEXT,
            "offset": 4,
        },
        "data": {"name": f"samples{place}", **_data(strip, times)},
        "encoding": {"x": x},
        "layer": layers,
    }


def _overview(strip: Strip, times: Sequence[float], unit: str, looks: Sequence[Style]) -> dict[str, Any]:
    """The first row again, small: what is dragged over here is shown above."""
    axis = {"minExtent": AXIS, "maxExtent": AXIS, "labels": False, "ticks": False, "grid": False, "title": None}
    return {
        "name": "overview",
        "height": OVERVIEW,
        "width": 600,
        "title": {
            "text": "Drag here to zoom in, double-click to see all",
            "anchor": "start",
            "fontSize": 12,
            "fontWeight": "normal",
            "color": TEXT,
            "offset": 4,
        },
        "data": _data(strip, times),
        "transform": _folded(strip),
        "mark": {"type": "line", "strokeWidth": 1},
        "encoding": {
            "x": _x(unit, shown=True),
            "y": {"field": "y", "type": "quantitative", "axis": axis},
            **_looks(looks),
        },
    }
