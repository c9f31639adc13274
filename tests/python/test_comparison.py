"""Which columns are compared side by side and which split the experiment."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import fixtures
import pytest

from anabranch import load
from anabranch.base import styles
from anabranch.results.comparison import compare

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("sweep", "series", "panel_keys", "panels"),
    [
        ({"transport.name": ["scdp", "ndp"]}, "transport", (), 1),
        ({"load": [0.1, 0.9], "transport.name": ["scdp", "ndp"]}, "transport", ("load",), 2),
        ({"rto": ["10us", "1ms", "200ms"]}, "rto", (), 1),
        ({"rto": ["10us", "1ms", "200ms"], "load": [0.1, 0.2]}, "load", ("rto",), 3),
        ({}, "transport", (), 1),
        ({"variant": ["ndp-8", "ndp-16", "scdp-8"]}, "variant", (), 1),
        ({"variant": ["ndp-8", "scdp-8"]}, "transport", (), 1),
    ],
)
def test_sides(
    tmp_path: Path, sweep: dict[str, list[Any]], series: str, panel_keys: tuple[str, ...], panels: int
) -> None:
    results = load(fixtures.write(tmp_path / "r", fixtures.Fixture(sweep=sweep, seeds=(1,), sessions=20)))
    comparison = compare(results)
    assert (comparison.series, comparison.panel_keys, len(comparison.panels)) == (series, panel_keys, panels)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("style", [*styles.TRANSPORTS.values(), *styles.SPARE], ids=lambda style: style.colour)
def test_colours_are_legible_on_light_and_dark(style: styles.Style) -> None:
    # WCAG 2.2 §1.4.11: graphics need 3:1 against what is beside them.
    assert contrast(style.colour, "#ffffff") >= 3
    assert contrast(style.colour, "#14171a") >= 3


def test_no_two_transports_share_a_look() -> None:
    looks = [style for name, style in styles.TRANSPORTS.items() if name != "tcp"]
    for one, other in itertools.combinations(looks, 2):
        assert one.colour != other.colour
        assert one.dash != other.dash
        assert one.marker != other.marker
    for one, other in itertools.combinations(styles.SPARE, 2):
        assert len({one.dash, other.dash}) == len({one.marker, other.marker}) == len({one.colour, other.colour}) == 2


def test_unknown_names_get_free_looks_and_known_ones_keep_theirs() -> None:
    looks = styles.assign(["homa", "scdp", "tcp", "newreno", "swift"])
    assert looks["scdp"] == styles.TRANSPORTS["scdp"]
    assert len({look.colour for look in looks.values()}) == 5
    assert looks["newreno"].label == "TCP NewReno"
    many = styles.assign([f"t{i}" for i in range(20)])
    assert len(many) == 20
