"""The loop is closed: volumes drawn from a model drive the simulator, and what its links count has that model again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import anabranch
from anabranch.cli.main import app
from anabranch.traffic import fit, models, reading
from anabranch.traffic.series import Volumes, VolumesError
from anabranch.traffic.simulated import link_volumes
from anabranch.traffic.synthetic import generate, write_csv

if TYPE_CHECKING:
    from anabranch.traffic.models import Model

SCENARIOS = Path(__file__).parents[2] / "scenarios/traffic"
PACKET = 1500
HEADER = 28

BINS, BIN_S = 1200, 0.1
"""Two minutes in bins of 100 ms."""

SCENARIO = """
[fabric]
topology = "star"
hosts = 2
rate = "1Gbps"
delay = "1us"

[transport]
name = "udp"

[[workload]]
sizes = {{ law = "volumes", file = "series.csv", spread = "{spread}" }}
placement = {{ pattern = "pairs", pairs = [[0, 1]] }}

[measure]
volumes = true
interval = "100ms"

[run]
time_limit = "120s"
"""

MODELS: list[Model] = [models.LogNormal(mu=np.log(20e6), sigma=0.5), models.Weibull(shape=1.5, scale=24e6)]
"""About 20 Mbps: some 200 packets in a bin."""


def simulate(volumes: Volumes, folder: Path, spread: str) -> anabranch.Results:
    write_csv(volumes, folder / "series.csv")
    (folder / "loop.toml").write_text(SCENARIO.format(spread=spread))
    return anabranch.run(folder / "loop.toml", out=folder / "out")


@pytest.mark.parametrize("spread", ["even", "poisson"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_what_goes_in_comes_out(model: Model, spread: str, tmp_path: Path) -> None:
    put_in = generate(model, BINS, BIN_S, seed=7, zero_share=0.1)
    results = simulate(put_in, tmp_path, spread)
    assert results.runs["status"].to_list() == ["complete"]
    (got_out,) = link_volumes(results, link="h0-edge0")

    assert (len(got_out), got_out.bin_ns, got_out.start_ns) == (BINS, put_in.bin_ns, 0)
    assert abs(int(got_out.bytes.sum()) - int(put_in.bytes.sum())) <= HEADER
    # Bins and sums of bins: a packet is sent when it is full. At random instants packets may queue up across a border.
    packets = 1 if spread == "even" else 3
    assert np.abs(np.cumsum(got_out.bytes) - np.cumsum(put_in.bytes)).max() < packets * PACKET + HEADER
    assert ((got_out.bytes > 0) <= (put_in.bytes > 0)).all(), "an empty bin stays empty"

    before, after = fit.fit(put_in), fit.fit(got_out)
    assert before.best == after.best == model.name
    fitted = after.fits[model.name]
    assert isinstance(fitted, fit.Fitted)
    for name, (low, high) in fitted.intervals(0.99).items():
        assert low <= model.parameters()[name] <= high, name
    assert stats.binomtest(after.zeros, BINS, 0.1).pvalue > 0.01
    assert after.zeros == before.zeros


def test_the_other_end_of_the_wire_sees_the_same(tmp_path: Path) -> None:
    put_in = generate(MODELS[0], 100, BIN_S, seed=1)
    results = simulate(put_in, tmp_path, "even")
    both = {volumes.name: volumes for volumes in link_volumes(results)}
    assert sorted(both) == ["edge0-h1", "h0-edge0"], "nothing comes back"
    assert both["h0-edge0"].bytes.tolist() == both["edge0-h1"].bytes.tolist()


def test_generated_volumes_follow_the_fit() -> None:
    fitted = fit.fit(generate(MODELS[1], 5000, 1.0, seed=3, zero_share=0.2)).fitted[0]
    drawn = generate(fitted, 20_000, 1.0, seed=4)
    assert drawn.bytes.dtype.kind == "f"
    assert (drawn.bytes == np.round(drawn.bytes)).all()
    assert abs((drawn.bytes == 0).mean() - fitted.zero_share) < 0.01
    rates = drawn.rates()
    # The critical value of Kolmogorov and Smirnov at 1 %.
    assert fit.ks_distance(fitted.model, np.sort(rates[rates > 0])) < 1.63 / np.sqrt((rates > 0).sum())
    again = generate(fitted, 20_000, 1.0, seed=4)
    assert (drawn.bytes == again.bytes).all()
    assert (drawn.bytes != generate(fitted, 20_000, 1.0, seed=5).bytes).any()


def test_the_order_of_a_series_can_be_kept() -> None:
    random = np.random.default_rng(1)
    smooth = np.convolve(random.lognormal(sigma=1.0, size=2019), np.ones(20), "valid") * 1e6
    measured = Volumes.of(smooth, bin_s=1.0)
    free = generate(MODELS[0], 2000, 1.0, seed=1)
    bound = generate(MODELS[0], 2000, 1.0, seed=1, like=measured)
    assert sorted(free.bytes) == sorted(bound.bytes)
    assert stats.spearmanr(bound.bytes, smooth).statistic == pytest.approx(1)
    near = [np.corrcoef(v.bytes[1:], v.bytes[:-1])[0, 1] for v in (free, bound)]
    assert abs(near[0]) < 0.1
    assert near[1] > 0.8


def test_the_file_is_read_back(tmp_path: Path) -> None:
    volumes = Volumes.of([1500, 0, 2999.6], bin_s=0.005, name="a\nb", source="here")
    write_csv(volumes, tmp_path / "series.csv")
    text = (tmp_path / "series.csv").read_text().splitlines()
    assert text == ["# of a b: here", "# bin: 5ms", "start_ns,bytes", "0,1500", "5000000,0", "10000000,3000"]
    (back,) = reading.read(tmp_path / "series.csv")
    assert (back.bin_ns, back.bytes.tolist()) == (5_000_000, [1500, 0, 3000])


def test_what_cannot_be_generated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VolumesError, match="0 bins"):
        generate(MODELS[0], 0, 1.0, seed=1)
    with pytest.raises(VolumesError, match="share of 1"):
        generate(MODELS[0], 10, 1.0, seed=1, zero_share=1.0)
    with pytest.raises(VolumesError, match="draws volumes of more than"):
        generate(models.Pareto(alpha=1.01, x_min=1e6), 1000, 1.0, seed=1)
    with pytest.raises(VolumesError, match="3 known bins do not tell the order of 10"):
        generate(MODELS[0], 10, 1.0, seed=1, like=Volumes.of([1, None, 2, 3], bin_s=1.0))
    with pytest.raises(VolumesError, match="bin 1 is not known"):
        write_csv(Volumes.of([1, None], bin_s=1.0), tmp_path / "series.csv")


def test_results_without_volumes_or_without_the_link_say_so(tmp_path: Path) -> None:
    results = simulate(generate(MODELS[0], 5, BIN_S, seed=1), tmp_path, "even")
    with pytest.raises(VolumesError, match=r"no link 'h0-edge1'") as caught:
        link_volumes(results, link="h0-edge1")
    assert "h0-edge0" in (caught.value.hint or "")
    with pytest.raises(VolumesError, match="no run called"):
        link_volumes(results, run="p009-s1")
    silent = anabranch.run(tmp_path / "loop.toml", ["measure={}", "run.time_limit=1s"], out=tmp_path / "silent")
    with pytest.raises(VolumesError, match="no link of these runs has a volume"):
        link_volumes(silent)


def test_the_commands_go_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(generate(MODELS[0], 300, BIN_S, seed=2, zero_share=0.05, name="port"), "port.csv")
    runner = CliRunner()
    command = ["traffic", "generate", "port.csv", "--model", "lognormal", "--bins", "100", "--keep-order", "-o"]
    made = runner.invoke(app, [*command, "series.csv"])
    assert made.exit_code == 0, made.output
    assert "log-normal (mu " in made.stderr
    Path("loop.toml").write_text(SCENARIO.format(spread="poisson"))
    anabranch.run("loop.toml", ["run.time_limit=10s"], out="out")
    for command in (["fit", "out"], ["dimension", "out"], ["bill", "out", "--every", "100ms"]):
        shown = runner.invoke(app, ["traffic", *command, "--link", "h0-edge0"])
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.strip()
    again = runner.invoke(app, ["traffic", "generate", "out", "-o", "again.csv"])
    assert again.exit_code == 2
    assert "2 series ('h0-edge0', 'edge0-h1'): which one?" in again.stderr
    assert runner.invoke(app, ["traffic", "generate", "out", "--link", "0", "-o", "again.csv"]).exit_code == 0


def test_the_series_of_the_scenario_is_the_one_that_it_says() -> None:
    # The arguments are those of the comment in the scenario.
    drawn = generate(models.LogNormal(mu=np.log(100e6), sigma=0.6), 200, 0.01, seed=1, zero_share=0.1)
    (stored,) = reading.read(SCENARIOS / "volumes.csv")
    assert stored.bin_ns == drawn.bin_ns
    assert np.abs(np.asarray(stored.bytes) - np.asarray(drawn.bytes)).max() <= 1
