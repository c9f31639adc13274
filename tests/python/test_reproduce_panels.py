"""Panels: the numbers behind each kind of figure, and that every kind is drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

from anabranch.reproduce.drawing import panel
from anabranch.reproduce.looks import series_of
from anabranch.reproduce.model import PanelOf, SeriesOf
from anabranch.reproduce.reductions.requests import requests
from anabranch.reproduce.rows import by_seed
from anabranch.results import schema
from anabranch.showing.figures import Axis, Figure, Panel, Series, drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch import Results
    from anabranch.reproduce.model import PanelKind
    from anabranch.reproduce.rows import Source

X, Y = Axis("x"), Axis("y (Gbps)")
TIME = "time_ns * 1e-9"
FRAME = pl.DataFrame(
    {
        "transport": "scdp",
        "seed": [1, 1, 1, 2, 2, 2],
        "load": [0.5, 0.5, 0.7, 0.5, 0.5, 0.7],
        "name": ["b", "b", "a", "b", "b", "a"],
        "v": [1.0, 3.0, 7.0, 5.0, 7.0, 9.0],
    }
)


def series(frame: pl.DataFrame = FRAME, **what: Any) -> tuple[Series, ...]:  # noqa: ANN401 - as an entry of a file
    return series_of(SeriesOf(**what), frame)


SCDP = series(transport="scdp")
BOTH = SCDP + series(transport="ndp")


def make(kind: PanelKind, frame: pl.DataFrame, lines: Sequence[Series], value: str, **more: Any) -> Panel:  # noqa: ANN401 - as above
    of = PanelOf(kind, "", "", value, **more)
    return panel(of, frame, lines, key=of.key, caption=of.caption)


def points(panel: Panel, *columns: str) -> list[tuple[object, ...]]:
    return panel.data.select(columns or ("x", "y")).rows()


def test_means_are_of_per_seed_values() -> None:
    panel = make("means", FRAME, SCDP, "AVG(v)", over="load", x=X, y=Y)
    # Seeds give 2 and 6 at 0.5, 7 and 9 at 0.7; t(0.975, 1) = 12.706, standard errors 2 and 1.
    assert points(panel) == [(0.5, 4.0), (0.7, 8.0)]
    assert panel.data["low"].to_list() == pytest.approx([4 - 2 * 12.7062, 8 - 12.7062], rel=1e-4)
    assert panel.data["high"].to_list() == pytest.approx([4 + 2 * 12.7062, 8 + 12.7062], rel=1e-4)
    one = make("means", FRAME.filter(seed=1), SCDP, "AVG(v)", over="load", x=X, y=Y)
    assert one.data["low"].to_list() == [None, None]


def test_bars_keep_the_order_of_the_data() -> None:
    panel = make("bars", FRAME, SCDP, "MAX(v)", over="name", y=Y)
    assert points(panel) == [("b", 5.0), ("a", 8.0)]


def test_stacked_bars_have_no_intervals() -> None:
    panel = make("stacked", FRAME, series(column="name", values=("a", "b")), "SUM(v)", over="load", x=X, y=Y)
    assert points(panel, "series", "x", "y", "low") == [("b", "0.5", 8.0, None), ("a", "0.7", 8.0, None)]


def test_ranked_averages_each_rank_over_seeds() -> None:
    panel = make("ranked", FRAME, SCDP, "v", y=Y)
    assert points(panel) == [(1.0, 3.0), (2.0, 5.0), (3.0, 8.0)]
    # What did not finish is first, with zero.
    missing = FRAME.with_columns(pl.when(pl.col("v") == 1).then(None).otherwise("v").alias("v"))
    assert points(make("ranked", missing, SCDP, "v", y=Y))[0] == (1.0, 2.5)
    # Seeds with different numbers of sessions are compared at equal shares.
    assert len(points(make("ranked", FRAME.slice(1), SCDP, "v", y=Y))) == 2


def test_distributions_count_what_has_no_value() -> None:
    frame = pl.DataFrame({"transport": "scdp", "seed": 1, "v": [2.0, 1.0, 2.0, None]})
    assert points(make("cdf", frame, SCDP, "v", x=X)) == [(1.0, 0.25), (2.0, 0.75)]
    assert points(make("ccdf", frame, SCDP, "v", x=X)) == [(0.0, 1.0), (1.0, 0.75), (2.0, 0.25)]
    whole = make("ccdf", frame.drop_nulls(), SCDP, "v", x=X, y=Axis("share", log=True))
    assert points(whole) == [(0.0, 1.0), (1.0, pytest.approx(2 / 3))]
    assert points(make("cdf", frame.clear(), SCDP, "v", x=X)) == []


def test_time_series_are_means_over_seeds_in_order() -> None:
    frame = pl.DataFrame(
        {"transport": "scdp", "seed": [1, 1, 2, 2], "time_ns": [2e9, 1e9, 1e9, 2e9], "v": [4.0, 2.0, 6.0, 8.0]}
    )
    assert points(make("curve", frame, SCDP, "AVG(v)", over=TIME, x=X, y=Y)) == [(1.0, 4.0), (2.0, 6.0)]
    assert points(make("curve", frame.filter(seed=1), SCDP, "AVG(v)", over=TIME, x=X, y=Y)) == [
        (1.0, 2.0),
        (2.0, 4.0),
    ]


def test_series_without_data_are_left_out() -> None:
    panel = make("means", FRAME, BOTH, "AVG(v)", over="load", x=X, y=Y)
    assert [one.label for one in panel.series] == ["SCDP"]


def test_looks_are_told_apart() -> None:
    ndp = BOTH[1].style
    (chain,) = series(transport="ndp", label="NDP, daisy chain", filter={"fallback": "daisy-chain"}, turn=1)
    (ahead,) = series(transport="ndp", label="NDP, read-ahead", filter={"blocks": 3}, turn=2)
    assert chain.where == {"transport": "ndp", "fallback": "daisy-chain"}
    assert ndp.colour == chain.style.colour == ahead.style.colour
    assert len({(one.dash, one.marker) for one in (ndp, chain.style, ahead.style)}) == 3
    ports = series(column="port", values=tuple(range(12)), label="port {}")
    assert len({one.style.colour for one in ports}) == 12


def flow(request: int, session: int, dst: int, size: int, start: float, end: float | None, **more: object) -> dict:  # type: ignore[type-arg]
    row = dict.fromkeys(schema.FLOWS, 0) | {"run": "p000-s1", "workload": "w", "mode": "unicast", "decoded": False}
    row |= {"request": request, "session": session, "dst_host": dst, "size_bytes": size, "start_ns": start}
    return row | {"end_ns": end, "background": False, "seed": 1, "status": "complete", "transport": "ndp"} | more


class Stub:
    """Results with given flows."""

    keys = ("transport",)

    def __init__(self, rows: list[dict]) -> None:  # type: ignore[type-arg]
        self.flows = pl.DataFrame(rows, infer_schema_length=None)


def source(results: object) -> Source:
    """Results as reductions take them."""
    return cast("Source", SimpleNamespace(results=results))


def test_requests_gather_their_sessions() -> None:
    rows = [
        # A write by three unicast sessions: one object, done at the last replica.
        flow(0, 0, 5, 1000, 0.0, 50.0, packets_sent=3, packets_trimmed=1),
        flow(0, 1, 6, 1000, 0.0, 80.0, packets_sent=3),
        flow(0, 2, 7, 1000, 10.0, 70.0, packets_sent=3, decoded=True),
        # A write by multicast: one session, its counts in the row of each receiver.
        flow(1, 3, 5, 1000, 0.0, 40.0, packets_sent=9, overhead_symbols=1),
        flow(1, 3, 6, 1000, 0.0, 45.0, packets_sent=9, overhead_symbols=2),
        # A read of three blocks at once: the sizes add up.
        *(flow(2, 4 + block, 9, 300, 100.0, 150.0 + block) for block in range(3)),
        # A part that did not finish.
        flow(3, 7, 1, 10, 0.0, 5.0),
        flow(3, 8, 2, 10, 0.0, None),
        flow(9, 9, 3, 10, 0.0, None, background=True),
    ]
    frame = requests(source(Stub(rows)))
    assert frame["request"].to_list() == [0, 1, 2, 3]
    assert frame["size_bytes"].to_list() == [1000, 1000, 900, 10]
    assert frame["fct_ns"].to_list() == [80.0, 45.0, 52.0, None]
    assert frame["goodput_bps"].to_list()[:2] == [8e9 * 1000 / 80, 8e9 * 1000 / 45]
    assert frame["packets_sent"].to_list() == [9, 9, 0, 0]
    assert frame["packets_trimmed"].to_list() == [1, 0, 0, 0]
    assert frame["overhead_symbols"].to_list() == [0, 3, 0, 0]
    assert frame["decoded"].to_list() == [True, False, False, False]
    assert requests(source(Stub(rows)), workload="none").is_empty()


def test_without_requests_a_session_is_one(results: Results) -> None:
    frame = requests(source(results))
    assert frame.height == results.flows.filter(~pl.col("background")).height
    assert by_seed(frame.filter(transport="scdp"), pl.len()) == {1: 120, 2: 120, 3: 120}


@pytest.mark.usefixtures("checked_charts")
def test_every_kind_is_drawn(results: Results) -> None:
    flows = requests(source(results))
    some = BOTH
    goodput, fct = "goodput_bps / 1e9", "fct_ns / 1e6"
    log = Axis("FCT (ms)", log=True)
    time = pl.DataFrame({"transport": "scdp", "seed": 1, "time_ns": [0.0, 1e9], "v": [1.0, 2.0]})
    panels = (
        make("ranked", flows, some, goodput, y=Y, key="a", caption="ranked"),
        make("means", flows, some, f"AVG({fct})", over="1.0", x=X, y=log, key="b"),
        make("bars", flows, some, f"AVG({fct})", over="workload", y=log, key="c"),
        make("bars", flows, some, f"AVG({goodput})", over="workload", y=Y, key="d"),
        make("stacked", flows, some, f"AVG({goodput})", over="workload", x=X, y=Y, key="e"),
        make("cdf", flows, some, fct, x=log, key="f"),
        make("ccdf", flows, some, fct, x=X, y=Axis("CCDF", log=True, domain=(1e-3, 1)), key="g"),
        make("curve", time, some, "AVG(v)", over=TIME, x=X, y=Y, key="h"),
        make("means", flows.clear(), some, f"AVG({goodput})", over="seed", x=X, y=Y, key="i"),
    )
    figure = Figure("1", "All kinds", panels)
    picture = drawing.svg(figure)
    assert picture.startswith("<svg")
    for text in ("(a) ranked", "SCDP", "NDP", "FCT (ms)", "y (Gbps)"):
        assert text in picture
    assert "currentColor" not in picture
    assert drawing.pdf(figure).startswith(b"%PDF")
    for one in panels:
        spec = drawing.page_spec(one)
        assert spec["width"] == "container"
        assert "$schema" not in spec
