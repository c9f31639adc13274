"""``anabranch traffic report``: the numbers behind the figures, the files, and the page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from anabranch.base import units
from anabranch.cli import app
from anabranch.errors import AnabranchError
from anabranch.traffic import report, series
from anabranch.traffic.bill import quantile
from anabranch.traffic.dimension import Capacity, dimension
from anabranch.traffic.fit import Fitted, fit
from anabranch.traffic.report import distribution, single, uses
from anabranch.traffic.series import Volumes
from anabranch.traffic.tails import Against

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.traffic.report import Trace

run = CliRunner()

EPSILONS = (0.1, 0.01)
SETS = ("set-1", "set-1", "set-2")


def invoke(*arguments: str | Path) -> Result:
    return run.invoke(app, ["traffic", "report", *map(str, arguments)], catch_exceptions=False)


def made_up() -> list[Volumes]:
    """A log-normal and a Weibull trace of a minute and a half in one set, and one with an outage in another."""
    random = np.random.default_rng(3)
    down = random.lognormal(9, 0.3, 9000)
    down[4000:6000] = 0
    return [
        Volumes.of(random.lognormal(9, 0.6, 9000).round(), bin_s=0.01, name="a"),
        Volumes.of(8000 * random.weibull(1.4, 9000).round(3), bin_s=0.01, name="b"),
        Volumes.of(down.round(), bin_s=0.01, name="down"),
    ]


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    studied, without = report.study([[one] for one in made_up()], widths=(0.01, 0.1, 1.0), epsilons=EPSILONS, sets=SETS)
    assert without == []
    return studied


def test_each_trace_is_studied_at_every_width(traces: list[Trace]) -> None:
    assert [(t.number, t.name, t.dataset) for t in traces] == [
        (1, "a", "set-1"),
        (2, "b", "set-1"),
        (3, "down", "set-2"),
    ]
    assert [v.bin_s for v in traces[0].sweep.verdicts] == [0.01, 0.1, 1.0]
    assert traces[0].main.bin_s == 0.1
    assert [t.anomalous for t in traces] == [False, False, True]
    # The paper's widths of Figure 6, though 500 ms is no width of the sweep.
    assert {p.bin_s for p in traces[0].promises} == {0.1, 0.5, 1.0}


def test_capacities_are_those_of_dimension(traces: list[Trace]) -> None:
    volumes = made_up()[0].at(0.1)
    whole, split = dimension(volumes, epsilon=0.01, held_out=0), dimension(volumes, epsilon=0.01)
    for one, later in zip(whole.capacities, split.capacities, strict=True):
        assert isinstance(one, Capacity)
        assert isinstance(later, Capacity)
        found = traces[0].promise(one.method, 0.01, 0.1)
        assert found is not None
        assert later.held_out is not None
        assert (found.bps, found.share, found.held_out) == (one.bps, one.in_sample.share, later.held_out.share)


def test_likelihood_ratios_are_circled_where_they_do_not_decide(traces: list[Trace]) -> None:
    one, two, _ = distribution.figures(traces)
    assert [panel.caption for panel in one.panels] == [
        "set-1, x_min: the smallest volume",
        "set-2, x_min: the smallest volume",
        "set-1, x_min fitted",
        "set-2, x_min fitted",
    ]
    row = one.panels[2].data.filter(name="a", series="Weibull").row(0, named=True)
    tail = traces[0].main.tails["fitted"]
    test = tail.against["weibull"]  # type: ignore[union-attr]
    assert isinstance(test, Against)
    assert (row["x"], row["y"], row["ring"]) == (1, test.r, test.p >= 0.1)
    # Figure 2: one point for each width.
    assert sorted(two.panels[0].data.filter(name="b")["series"]) == ["1.00 s", "10.0 ms", "100 ms"]


def test_correlations_are_in_order_with_their_spread(traces: list[Trace]) -> None:
    _, _, four = distribution.figures(traces)
    ranked = four.panels[0].data.filter(series="100 ms")
    gammas = [f.gamma for t in traces[:2] if isinstance(f := t.main.study.fits["lognormal"], Fitted)]
    assert ranked["y"].to_list() == sorted(gammas)
    assert ranked["x"].to_list() == [1, 2]
    bars = next(p for p in four.panels if p.caption == "set-1: mean over traces").data
    row = bars.filter(series="log-normal", x="100 ms").row(0, named=True)
    assert row["y"] == pytest.approx(np.mean(gammas))
    assert row["high"] - row["y"] == pytest.approx(np.std(gammas, ddof=1))


def test_mean_exceedance_over_a_set(traces: list[Trace]) -> None:
    figure = uses.exceedance(traces, EPSILONS, held_out=False)
    assert figure is not None
    panel = next(p for p in figure.panels if p.caption == "log-normal, epsilon = 0.1")
    row = panel.data.filter(x="set-1", series="500 ms").row(0, named=True)
    shares = [p.share for t in traces[:2] if (p := t.promise("lognormal", 0.1, 0.5))]
    off = [abs(share - 0.1) for share in shares]
    assert row["y"] == pytest.approx(np.mean(shares))
    assert row["high"] - row["y"] == pytest.approx(np.std(off, ddof=1) / np.sqrt(2))
    assert panel.references[0].y == 0.1


def test_table_one_is_the_error_over_the_spread(traces: list[Trace]) -> None:
    rows = {row.model: row for row in uses.table(traces)}
    actual = np.array([t.actual_bps for t in traces[:2]])
    predicted = np.array([t.predicted_bps["weibull"] for t in traces[:2]])
    expected = np.sqrt(np.mean((predicted - actual) ** 2)) / actual.std()
    assert rows["weibull"].nrmse["set-1"] == pytest.approx(expected)
    assert rows["weibull"].nrmse["set-2"] is None  # one trace has no spread
    assert rows["weibull"].median["set-2"] > 0
    study = fit(made_up()[1].at(0.1))
    model = study.fits["weibull"]
    assert isinstance(model, Fitted)
    assert traces[1].predicted_bps["weibull"] == pytest.approx(model.quantile(0.95))


def test_the_density_holds_all_bins(traces: list[Trace]) -> None:
    panel = single.density(traces[2])
    corners = panel.data.filter(series=single.HISTOGRAM)
    x, y = corners["x"].to_numpy(), corners["y"].to_numpy()
    assert np.sum((x[1::2] - x[::2]) * y[::2]) == pytest.approx(1)
    # A fifth of the bins is empty; where bins have traffic the model holds the rest.
    curve = panel.data.filter(series="normal")
    mass = np.trapezoid(curve["y"].to_numpy(), curve["x"].to_numpy())
    assert mass == pytest.approx(7 / 9, abs=0.05)


def test_quantiles_of_the_right_model_lie_on_the_diagonal(traces: list[Trace]) -> None:
    panel = single.quantiles(traces[0])
    own = panel.data.filter(series="log-normal")
    middle = own[10 : len(own) // 2]
    np.testing.assert_allclose(middle["x"].to_numpy(), middle["y"].to_numpy(), rtol=0.1)
    assert panel.references[0].y is None


def test_a_trace_can_be_chosen_for_the_figures_of_one(traces: list[Trace]) -> None:
    assert uses.normal_and_anomalous(traces)[0].name == "a"
    assert uses.normal_and_anomalous(traces, "b")[0].name == "b"
    assert uses.normal_and_anomalous(traces, "3")[0].name == "down"
    assert uses.normal_and_anomalous(traces)[1] is traces[2]
    with pytest.raises(AnabranchError, match="no trace 'c'"):
        report.make(traces, epsilons=EPSILONS, shown="c")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("traces")
    made = []
    for one, name in zip(made_up(), SETS, strict=True):
        file = folder / name / f"{one.name}.parquet"
        file.parent.mkdir(exist_ok=True)
        # Where the capture lay does not matter: the sets are the folders of the files that are given.
        series.write(file, [Volumes.of(one.bytes, bin_s=0.01, name=one.name, source="/elsewhere/capture.pcap")])
        made.append(file)
    return made


@pytest.mark.usefixtures("checked_charts")
def test_the_page_stands_alone_and_says_what_was_found(files: list[Path], tmp_path: Path) -> None:
    page, figures = tmp_path / "report.html", tmp_path / "figures"
    result = invoke(*files, "-o", page, "--figures", figures, "--bin", "10ms,100ms,1s", "--epsilon", "0.1,0.01")
    assert result.exit_code == 0, result.stderr
    assert "Best model by AIC: " in result.stdout
    assert "Anomalous: 1 of 3 (outage 1)" in result.stdout
    text = page.read_text(encoding="utf-8")
    shown = text.split("<script", maxsplit=1)[0]
    assert "http" not in text.split('id="specs"')[0].replace("http-equiv", "")
    for number in range(1, 8):
        assert f"Figure {number}: " in shown, number
    for words in ("Table I", "Figure 6, held out", "set-2", "outage", "Make it again"):
        assert words in shown, words
    # Every chart has its place, and every place its chart.
    specs = json.loads(re.search(r'id="specs">(.*?)</script>', text, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert sorted(map(int, re.findall(r'data-spec="(\d+)"', shown))) == list(range(len(specs)))
    names = {file.name for file in figures.iterdir()}
    for figure in ("1", "2", "3", "4", "5", "6", "6-held-out", "7"):
        assert {f"fig{figure}.svg", f"fig{figure}.pdf"} <= names
    assert (figures / "fig5.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "series,x,y" in (figures / "fig5.csv").read_text(encoding="utf-8")


@pytest.mark.usefixtures("checked_charts")
def test_one_trace_and_every_number(files: list[Path], tmp_path: Path) -> None:
    result = invoke(files[0], "-o", tmp_path / "one.html", "--bin", "100ms", "--epsilon", "0.01", "--json")
    found = json.loads(result.stdout)
    (trace,) = found["traces"]
    assert trace["widths"][0]["best"] == "lognormal"
    assert trace["percentile"]["actual_bps"] == fit_actual(made_up()[0].at(0.1))
    assert {p["method"] for p in trace["promises"]} == {"meent", "lognormal", "weibull", "normal", "empirical"}
    assert found["table_1"][0]["nrmse"] == {"all traces": None}
    assert "By bin width" in (tmp_path / "one.html").read_text(encoding="utf-8")


def fit_actual(volumes: Volumes) -> float:
    ordered = np.sort(volumes.rates())
    return float(ordered[int(np.ceil(0.95 * ordered.size)) - 1])


def test_what_is_too_short_or_empty_is_said(tmp_path: Path) -> None:
    series.write(tmp_path / "short.parquet", [Volumes.of(range(1, 20), bin_s=1, name="short")])
    series.write(tmp_path / "long.parquet", [Volumes.of(np.arange(1, 200) % 37, bin_s=1, name="long")])
    both = invoke(tmp_path / "short.parquet", tmp_path / "long.parquet", "-o", tmp_path / "r.html")
    assert both.exit_code == 0
    assert "not studied: short: fewer than 50 bins" in (tmp_path / "r.html").read_text(encoding="utf-8")
    alone = invoke(tmp_path / "short.parquet", "-o", tmp_path / "none.html")
    assert alone.exit_code == 2
    assert "nothing to report: short: fewer than 50 bins" in alone.stderr
    assert not (tmp_path / "none.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", "2"), "--epsilon '2': expected shares of bins between 0 and 1"),
        (("--epsilon", "few"), "--epsilon 'few': expected shares"),
        (("--show", "nobody"), "no trace 'nobody'"),
        (("--bin", "5"), "bin width '5': expected a number above zero and a unit"),
    ],
)
def test_bad_requests_write_nothing(
    files: list[Path], tmp_path: Path, arguments: tuple[str, str], message: str
) -> None:
    result = invoke(files[0], "-o", tmp_path / "r.html", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_traces_that_no_model_fits_are_reported_all_the_same(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    sparse = np.where(random.uniform(size=400) < 0.97, 0, random.lognormal(9, 0.5, 400)).round()
    flat = Volumes.of(np.full(200, 1000.0), bin_s=0.1, name="flat <b>")
    for many in ([flat], [Volumes.of(sparse, bin_s=0.1, name="sparse")], [flat, made_up()[0]]):
        studied, _ = report.study([[one] for one in many], widths=(0.1,))
        made = report.make(studied)
        page = report.render(made)
        assert "flat <b>" not in page.split("<script", maxsplit=1)[0]
        json.dumps(made.as_json(), allow_nan=False)
        report.write_figures(made, tmp_path / "figures")


def test_a_line_breaks_where_nothing_is_known() -> None:
    values = np.arange(1.0, 101.0)
    values[40:60] = np.nan
    studied, _ = report.study([[Volumes.of(values, bin_s=0.1, name="gap")]], widths=(0.1,))
    panel = single.rate(studied[0], 0.01, uses.METHODS)
    rate = panel.data.filter(series=panel.series[0].label)
    assert rate["y"].null_count() == 1
    (broken,) = rate.filter(pl.col("y").is_null())["x"]
    assert broken == pytest.approx(4.0)
    assert rate.filter(pl.col("x").is_between(4.05, 5.95)).is_empty()


def test_polls_that_are_nearly_alike_are_one_width() -> None:
    random = np.random.default_rng(6)
    many = [
        [Volumes.of(random.lognormal(9, 0.5, 300), bin_s=bin_s, name=f"{bin_s}")] for bin_s in (299.7, 300.0, 300.4)
    ]
    studied, _ = report.study(many, widths=(0.1,))
    _, two, four = distribution.figures(studied)
    assert [one.label for one in two.panels[0].series] == ["300 s"]
    assert four.panels[0].data["x"].to_list() == [1, 2, 3]
    bars = next(panel for panel in four.panels if panel.kind == "bars")
    assert bars.data.height == 2
    assert bars.interval == "one standard deviation over traces"


def test_the_main_width_has_capacities_whatever_figure_six_shows() -> None:
    studied, _ = report.study([[made_up()[0]]], widths=(0.01, 0.2), epsilons=(0.01,))
    assert studied[0].dimensioned == [0.1, 0.5, 1.0]
    assert studied[0].promise("lognormal", 0.01, 0.2) is not None
    drawn = single.rate(studied[0], 0.01, uses.METHODS)
    assert any("log-normal: " in name for name in drawn.data["series"].unique())


def test_one_anomalous_trace_says_so() -> None:
    studied, _ = report.study([[made_up()[2]]], widths=(0.1,))
    assert any(text.startswith("outage at T = 100 ms: ") for text in report.findings(studied))


def test_one_trace_has_no_figures_of_one_point(tmp_path: Path) -> None:
    studied, _ = report.study([[made_up()[0]]], widths=(0.1, 1.0))
    made = report.make(studied)
    page = report.render(made)
    assert "Figure" not in page.partition("<main>")[2].partition("<script")[0]
    assert "Table I" not in page
    report.write_figures(made, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        *("figtrace-1.svg", "figtrace-1.pdf"),
        *(f"figtrace-1{key}.csv" for key in "abc"),
    }
    with pytest.raises(AnabranchError, match="no trace 'x'"):
        report.make(studied, shown="x")


def planner(bin_s: float = 300.0, *, days: int = 7, begin: str = "2024-05-01") -> Volumes:
    """A link with a daily cycle that is either quiet or busy."""
    random = np.random.default_rng(9)
    n = round(days * 86_400 / bin_s)
    hour = np.arange(n) * bin_s / 3600 % 24
    busy = (hour >= 8) & (hour < 20)
    rates = np.where(busy, random.lognormal(np.log(8e8), 0.15, n), random.lognormal(np.log(1e8), 0.15, n))
    start = int(np.datetime64(begin, "ns").astype(np.int64))
    return Volumes.of((rates * bin_s / 8).round(), bin_s=bin_s, start_ns=start, name="uplink")


def test_findings_of_one_trace_are_what_a_planner_asks() -> None:
    studied, _ = report.study([[planner()]], widths=(300.0,))
    capacity, bill, cycle, distribution_, *_ = report.findings(studied)
    assert capacity.startswith("Capacity that 1.00% of the bins of 300 s may exceed: ")
    expected = units.rate(quantile(planner().rates(), 95.0)[0])
    assert bill == f"Bill: the 95th percentile of intervals of 300 s is {expected} (2016 intervals)."
    assert cycle.startswith("Daily cycle: busiest at ")
    assert cycle.endswith("): dimension for the busy hours.")
    assert "The density has 2 modes, at 99.5 Mbps and 803 Mbps, " in distribution_
    assert "which no single model describes" in distribution_
    short, _ = report.study([[planner(days=1)]], widths=(300.0,))
    assert any("not to be told (it takes 3 days" in text for text in report.findings(short))


def told(rates: np.ndarray, *, bin_s: float = 300.0, begin: str = "2024-05-01") -> list[str]:
    start = int(np.datetime64(begin, "ns").astype(np.int64)) if begin else 0
    series = Volumes.of((rates * bin_s / 8).round(), bin_s=bin_s, start_ns=start, name="x")
    return report.findings(report.study([[series]], widths=(bin_s,))[0])


def test_a_link_that_grows_is_not_told_to_need_less() -> None:
    random = np.random.default_rng(4)
    grows = np.linspace(1e6, 2e7, 2000) * random.lognormal(0, 0.1, 2000)
    capacity = told(grows)[0]
    assert "the later part is another, growing or changed; do not rely on it" in capacity
    assert "less capacity would do" not in capacity


def test_cycles_that_are_weak_undated_or_fall_silent() -> None:
    random = np.random.default_rng(5)
    hour = np.arange(2016) * 300 / 3600
    noise = random.lognormal(0, 0.02, hour.size)
    weak = told(3e6 * (1 + 0.12 * np.sin(2 * np.pi * hour / 24)) * noise)[2]
    assert weak.startswith("Daily cycle: weak: busiest at ")
    assert "dimension" not in weak
    silent = told(1e7 * np.maximum(0, np.sin(2 * np.pi * hour / 24)) * noise)[2]
    assert "UTC, when nothing comes" in silent
    assert "UTC" not in told(1e7 * (2 + np.sin(2 * np.pi * hour / 24)) * noise, begin="")[2]
    assert "the rate does not vary" in " ".join(told(np.full(2016, 1e6)))


def test_rates_stand_over_dates_where_these_are_known() -> None:
    studied, _ = report.study([[planner()]], widths=(300.0,))
    panel = single.rate(studied[0], 0.01, uses.METHODS)
    assert panel.x.dates
    assert str(panel.data["x"].min()).startswith("2024-05-01 00:00")
    without, _ = report.study([[Volumes.of(planner().known(), bin_s=300.0, name="x")]], widths=(300.0,))
    assert single.rate(without[0], 0.01, uses.METHODS).x.title == "time (days)"


def test_an_idle_link_is_drawn_by_decades() -> None:
    random = np.random.default_rng(2)
    rates = np.where(random.random(3000) < 0.4, 0, random.lognormal(12, 2, 3000)).round()
    studied, _ = report.study([[Volumes.of(rates, bin_s=1.0, name="idle")]], widths=(1.0,))
    panel = single.density(studied[0], caption="Density")
    assert panel.x.log
    assert panel.caption == f"Density ({np.mean(rates == 0):.0%} of the bins are empty and not drawn)"
    corners = panel.data.filter(series=single.HISTOGRAM)
    x, y = np.log10(corners["x"].to_numpy()), corners["y"].to_numpy()
    assert np.sum((x[1::2] - x[::2]) * y[::2]) == pytest.approx(1)


def test_a_trace_is_read_once(files: list[Path], tmp_path: Path) -> None:
    result = invoke(files[0], files[0], "-o", tmp_path / "r.html")
    assert (result.exit_code, "are one file" in result.stderr) == (2, True)
