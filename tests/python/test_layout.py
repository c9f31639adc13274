"""Tables on narrow terminals: names, units and numbers are never cut."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import fixtures
import pytest
from rich.console import Console
from rich.table import Table

from anabranch import load
from anabranch.cli import reproduce
from anabranch.cli.catalogue import Entry
from anabranch.showing import table
from anabranch.showing.layout import narrowing

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from anabranch import Results

WIDTHS = (40, 60, 80, 120)


def shown(what: RenderableType, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(what)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_summary_keeps_names_and_units(results: Results, width: int) -> None:
    lines = shown(table.render(results), width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text
    for transport in ("SCDP", "NDP", "DCTCP", "TCP NewReno"):
        assert transport in text
    for unit in ("µs", "ms", "Mbps"):
        assert unit in text
    for part in ("mean FCT", "p99 slowdown", "mean goodput", "all sizes", "≤ 10 KB"):
        assert part in text


def test_a_single_series_is_a_table_where_it_fits(tmp_path: Path) -> None:
    one = load(fixtures.write(tmp_path / "one", fixtures.Fixture(sweep={"transport.name": ["scdp"]})))
    assert "flows of" in "\n".join(shown(table.render(one), 80))
    assert "flows of" not in "\n".join(shown(table.render(one), 40))


def test_the_layouts_have_the_same_numbers(results: Results) -> None:
    words = (" ".join(shown(table.render(results), width)).split() for width in WIDTHS)
    numbers = [sorted(word for word in all_ if re.fullmatch(r"\d+\.\d+", word)) for all_ in words]
    assert numbers[0]
    assert all(one == numbers[0] for one in numbers)


ENTRIES = [
    Entry("song/fig11", "Stride(4), Random and Stride(2)", ("5.11",), points=9, runs=2700, work=1e8, longest=1e6)
]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_experiments_keeps_names_and_times(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from anabranch.cli import catalogue

    monkeypatch.setattr(catalogue, "entries", lambda *, quick: (ENTRIES, 1e6))  # noqa: ARG005
    monkeypatch.setattr(reproduce, "stdout", lambda: Console(width=width))
    reproduce._list([], quick=False, seeds=None, threads=1)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    for part in ("song/fig11", "2700", "2 min", "Stride(4)"):
        assert part in text


@pytest.mark.parametrize("width", WIDTHS)
def test_the_comparison_keeps_numbers_with_their_units(width: int) -> None:
    row: Any = SimpleNamespace(
        experiment=SimpleNamespace(name="scdp/fig13"),
        claim=SimpleNamespace(says="goodput of the window that the paper chooses"),
        paper="≥ 0.957 Gbps", measured="0.951 ± 0.004 Gbps", ratio="0.994", words="holds within the interval",
    )  # fmt: skip
    lines = shown(reproduce._compared(cast("Any", [row])), width)
    assert max(map(len, lines)) <= width
    for part in ("scdp/fig13", row.paper, row.measured, row.ratio):
        assert part in "\n".join(lines)


@pytest.mark.parametrize("width", [40, 60])
def test_any_table_gives_its_rows_one_after_the_other_where_it_is_too_wide(width: int) -> None:
    made = Table(title="a title")
    for name in ("method", "capacity in bits per second", "exceeded by so many bins", ""):
        made.add_column(name, no_wrap=True)
    made.add_row("log-normal", "35.1 Gbps", "0.02 %", "")
    made.add_row("Weibull", "28.9 Gbps", "1.2 %", "a warning")
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(narrowing(made))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    assert lines[:4] == [
        "a title",
        "method log-normal",
        "  capacity in bits per second: 35.1 Gbps",
        "  exceeded by so many bins: 0.02 %",
    ]
    assert "  a warning" in lines
    wide = Console(width=120, file=io.StringIO(), color_system=None)
    with wide.capture() as captured:
        wide.print(narrowing(made))
    assert "35.1 Gbps" in captured.get()
    assert "capacity in bits per second:" not in captured.get()
