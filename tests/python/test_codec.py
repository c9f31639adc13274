"""The codec, measured through the compiled core: small blocks, few samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import anabranch
from anabranch import codec
from anabranch.cli import app
from anabranch.errors import AnabranchError
from anabranch.results.notes import notes

HELLO = Path(__file__).parents[2] / "scenarios/examples/hello.toml"
QUICK = ["codec", "bench", "--quick", "--k", "1,40"]


@pytest.fixture(scope="module")
def table() -> codec.LatencyTable:
    return codec.bench(source_symbols=[40, 1, 40], quick=True)


def test_every_block_size_is_measured_once_with_all_losses(table: codec.LatencyTable) -> None:
    lost = {k: [entry["lost"] for entry in table.data["entries"] if entry["source_symbols"] == k] for k in (1, 40)}
    assert lost == {1: [0, 1], 40: [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 30, 40]}
    assert table.symbol_size == 1436
    assert table.data["command"] == "anabranch codec bench --symbol-size 1436 --k 1,40 --quick"
    assert all(entry["extra"] == 2 for entry in table.data["entries"] if entry["lost"])


def test_rows_sum_up_what_was_measured(table: codec.LatencyTable) -> None:
    one, forty = table.rows()
    assert (one.source_symbols, forty.source_symbols) == (1, 40)
    assert list(one.decode_ns) == [100]
    assert list(forty.decode_ns) == [5, 10, 20, 50, 100]
    entries = [entry for entry in table.data["entries"] if entry["source_symbols"] == 40 and entry["lost"]]
    assert forty.slowest_ns == max(entry["decode_ns"]["median"] for entry in entries)
    assert forty.decode_ns[5] == next(e["decode_ns"]["median"] for e in entries if e["lost"] == 2)
    # Slower than any memory, or faster than a modem: something else was measured.
    assert 1e8 < forty.decode_bps < 1e13
    assert 1e8 < forty.encode_bps < 1e13


@pytest.mark.parametrize(("size", "symbols"), [(0, [1]), (65536, [1]), (8, [0]), (8, [56404]), (-1, [1])])
def test_numbers_out_of_range_are_refused(size: int, symbols: list[int]) -> None:
    with pytest.raises(AnabranchError, match=r"^codec bench: "):
        codec.bench(symbol_size=size, source_symbols=symbols, quick=True)


def test_what_progress_raises_ends_the_measurement() -> None:
    seen = []

    def told(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        codec.bench(symbol_size=8, source_symbols=[10], quick=True, progress=told)
    assert seen == [(0, 7), (1, 7), (2, 7)]  # one encoding, and 0, 1, 2, 3, 5 and 10 lost


def test_the_program_prints_a_table_or_json_and_writes_a_file(tmp_path: Path) -> None:
    file = tmp_path / "latency.json"
    shown = CliRunner().invoke(app, [*QUICK, "--latency-table", str(file)])
    assert shown.exit_code == 0, shown.stderr
    assert "slowest" in shown.stdout
    assert "measured on" in shown.stdout
    assert f"latency table: {file}" in shown.stderr
    written = json.loads(file.read_text())
    assert {entry["source_symbols"] for entry in written["entries"]} == {1, 40}
    assert written["command"] == "anabranch codec bench --symbol-size 1436 --k 1,40 --quick"
    # One measurement a line, so that two tables can be compared by eye.
    assert sum('"lost"' in line for line in file.read_text().splitlines()) == len(written["entries"])
    assert [path.name for path in tmp_path.iterdir()] == ["latency.json"]
    printed = CliRunner().invoke(app, [*QUICK, "--json"])
    assert json.loads(printed.stdout)["what"].startswith("Processor time")


def test_bad_numbers_of_symbols_are_an_error_with_a_hint() -> None:
    result = CliRunner().invoke(app, ["codec", "bench", "--k", "ten"])
    assert result.exit_code == 2
    assert result.stderr == "error: --k ten: expected whole numbers with commas between\nhint: --k 10,50,100\n"


def test_a_scenario_uses_the_table_and_its_results_say_so(table: codec.LatencyTable, tmp_path: Path) -> None:
    table.write(tmp_path / "mine.json")
    (tmp_path / "hello.toml").write_text(HELLO.read_text())
    out = tmp_path / "out"
    for name, expected in (("mine.json", table.origin), ("measured", "avx")):
        settings = [f"transport.scdp.decode_table={name}", "transport.scdp.block_symbols=40"]
        results = anabranch.run(tmp_path / "hello.toml", settings, out=out, force=True)
        model = results.manifest.runs[0].decode_latency
        assert model is not None
        assert model.startswith(f'table "{name}", measured on ')
        assert expected in model
        assert f"decode latency of SCDP's blocks: {model}" in notes(results)
    with pytest.raises(
        AnabranchError, match=r"mine\.json: latencies of 1 to 40 .* but blocks have 1 to 100 .*"
    ) as caught:
        anabranch.run(tmp_path / "hello.toml", ["transport.scdp.decode_table=mine.json"], out=out)
    assert "hint: measure them: `anabranch codec bench --k 1,10,50,100 " in str(caught.value)
    default = anabranch.run(tmp_path / "hello.toml", out=out, force=True).manifest.runs[0]
    assert default.decode_latency == "rate 1300Mbps, the default (SCDP §V-C)"
