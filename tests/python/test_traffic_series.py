"""The volume series: what is known, re-binning, and the files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import TrafficError
from anabranch.traffic import quantities, reading, series
from anabranch.traffic.series import SECOND, Volumes, VolumesError

if TYPE_CHECKING:
    from pathlib import Path

VOLUMES = st.lists(st.one_of(st.none(), st.integers(0, 10**12)), max_size=60)


@given(VOLUMES, st.integers(1, 9))
def test_rebinning_keeps_every_byte_of_the_bins_that_are_full_and_known(values: list[int | None], factor: int) -> None:
    volumes = Volumes.of(values, bin_s=0.1)
    wide = volumes.rebin(factor)
    assert len(wide) == len(values) // factor
    assert wide.bin_ns == volumes.bin_ns * factor
    for i in range(len(wide)):
        part = values[i * factor : (i + 1) * factor]
        if any(value is None for value in part):
            assert wide.missing[i]
        else:
            assert wide.bytes[i] == sum(value for value in part if value is not None)


@given(VOLUMES, st.integers(0, 60))
def test_a_split_series_is_the_series(values: list[int | None], at: int) -> None:
    volumes = Volumes.of(values, bin_s=1, start_ns=7)
    first, later = volumes.split(at)
    np.testing.assert_array_equal(np.concatenate([first.known(), later.known()]), volumes.known())
    np.testing.assert_array_equal(np.concatenate([first.starts_ns(), later.starts_ns()]), volumes.starts_ns())


def test_the_last_bin_counts_only_if_it_was_measured_to_its_end() -> None:
    volumes = Volumes(SECOND, 0, np.array([1, 2, 3, 4]), np.zeros(4, dtype=bool), complete=False)
    assert volumes.known().tolist() == [1, 2, 3]
    assert volumes.rebin(2).known().tolist() == [3]
    assert volumes.split(2)[0].known().tolist() == [1, 2]
    assert volumes.split(2)[1].known().tolist() == [3]


def test_parts_in_time() -> None:
    volumes = Volumes.of([1, 2, 3, 4], bin_s=1, start_ns=10 * SECOND)
    assert volumes.between(11 * SECOND, 13 * SECOND).known().tolist() == [2, 3]
    assert volumes.between(0, 11 * SECOND).known().tolist() == [1]
    assert len(volumes.between(20 * SECOND, 30 * SECOND)) == 0


def test_rates_are_bits_per_second() -> None:
    assert Volumes.of([1e6], bin_s=0.1).rates().tolist() == [8e7]
    assert Volumes.of_rates([8e7, 0], bin_s=0.1).known().tolist() == [1e6, 0]


@pytest.mark.parametrize("bad", [-1.0, float("inf")])
def test_what_is_no_volume_is_refused(bad: float) -> None:
    with pytest.raises(VolumesError, match="bin 1 holds"):
        Volumes.of([1.0, bad], bin_s=1)


def test_widths_that_are_no_multiple_are_refused() -> None:
    with pytest.raises(VolumesError, match="do not make bins of"):
        Volumes.of([1.0, 2.0], bin_s=0.1).at(0.25)


@given(VOLUMES.filter(lambda v: len(v) > 0), st.booleans())
def test_parquet_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, values: list[int | None], complete: bool
) -> None:
    file = tmp_path_factory.mktemp("volumes") / "v.parquet"
    packets = np.arange(len(values))
    one = Volumes.of(values, bin_s=0.005, start_ns=123, name="a", source="here", unit="gbit")
    fine = Volumes(one.bin_ns, 123, one.bytes, one.missing, packets, complete, "a", "here", "gbit")
    averages = Volumes.of([0.5, None, 2.25], bin_s=300, name="b")
    series.write(file, [fine, averages])
    back = series.read(file)
    assert [(v.name, v.bin_ns, v.start_ns, v.source, v.unit) for v in back] == [
        ("a", 5_000_000, 123, "here", "gbit"),
        ("b", 300 * SECOND, 0, "", "bytes"),
    ]
    assert back[0].complete is complete
    np.testing.assert_array_equal(back[0].missing, fine.missing)
    np.testing.assert_array_equal(back[0].known(), fine.known())
    np.testing.assert_array_equal(back[1].known(), [0.5, 2.25])
    if not fine.missing.all():
        assert back[0].packets is not None
        np.testing.assert_array_equal(back[0].packets[~fine.missing], packets[~fine.missing])


def test_volumes_without_fractions_are_integers_on_disk(tmp_path: Path) -> None:
    file = tmp_path / "v.parquet"
    series.write(file, [Volumes.of([1, None, 3], bin_s=1)])
    frame = pl.read_parquet(file)
    assert frame.columns == list(series.COLUMNS)
    assert frame["bytes"].dtype == pl.Int64()
    assert frame["bytes"].to_list() == [1, None, 3]


def test_a_file_of_one_series_needs_neither_name_nor_width(tmp_path: Path) -> None:
    file = tmp_path / "v.parquet"
    pl.DataFrame({"start_ns": [0, 10, 20, 40], "bytes": [1, 2, 3, 5]}).write_parquet(file)
    (volumes,) = series.read(file)
    assert (volumes.bin_ns, volumes.missing.tolist()) == (10, [False, False, False, True, False])


def test_files_that_are_none_of_ours_are_named(tmp_path: Path) -> None:
    (tmp_path / "junk.parquet").write_bytes(b"junk")
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(VolumesError, match=r"junk\.parquet: not a Parquet file"):
        series.read(tmp_path / "junk.parquet")
    with pytest.raises(VolumesError, match=r"other\.parquet: no column 'start_ns'"):
        series.read(tmp_path / "other.parquet")
    with pytest.raises(VolumesError, match=r"none\.parquet: no such file"):
        series.read(tmp_path / "none.parquet")


def csv(folder: Path, text: str, name: str = "port.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_csv_of_times_and_bytes(tmp_path: Path) -> None:
    file = csv(tmp_path, "# made up\ntime,bytes\n2024-05-01 00:00,10\n2024-05-01 00:05,20\n2024-05-01 00:15,40\n")
    (volumes,) = reading.read(file)
    assert volumes.bin_ns == 300 * SECOND
    assert volumes.name == "port.csv"
    assert volumes.start_ns == 1_714_521_600 * SECOND
    assert volumes.missing.tolist() == [False, False, True, False]
    assert volumes.known().tolist() == [10, 20, 40]
    # The same numbers as rates, if that is what they are.
    (rates,) = reading.read(file, told=reading.Told(unit="kbps"))
    assert rates.rates().tolist() == [10_000, 20_000, 40_000]


def test_csv_with_late_polls_empty_fields_and_units(tmp_path: Path) -> None:
    text = "t_s,in_Mbps,out_Mbps\n0.2,8,16\n300.9,,16\n599.8,8,16\n901.1,8,16\n"
    inbound, outbound = reading.read(csv(tmp_path, text))
    assert [one.name.split()[-1] for one in (inbound, outbound)] == ["in_Mbps", "out_Mbps"]
    assert inbound.bin_ns == 300 * SECOND
    assert inbound.missing.tolist() == [False, True, False, False]
    np.testing.assert_allclose(inbound.rates(), 8e6)
    np.testing.assert_allclose(outbound.rates(), 16e6)


def test_averages_keep_their_fractions(tmp_path: Path) -> None:
    values = [9.31455, 0.37583, 8.14696, 1e-3, 12.0]
    file = csv(tmp_path, "time,bytes\n" + "".join(f"{i},{x}\n" for i, x in enumerate(values)))
    told: list[str] = []
    (volumes,) = reading.read(file, tell=told.append)
    assert volumes.known().tolist() == values
    assert [line.partition(": ")[2] for line in told] == [
        "read as csv-volumes: bytes: bytes in each row of 1 s, as no name and no --unit says otherwise"
    ]


def test_two_values_for_a_bin_are_refused(tmp_path: Path) -> None:
    file = csv(tmp_path, "time,bytes\n0,5\n1,2\n2,3\n1,4\n3,9\n")
    with pytest.raises(TrafficError, match=r"port\.csv: 1 bins have more than one value"):
        reading.read(file)


def test_what_has_no_effect_is_said(tmp_path: Path) -> None:
    told: list[str] = []
    file = csv(tmp_path, "time,length\n0,60\n0.3,70\n0.31,80\n9,60\n", "packets.csv")
    reading.read(file, told=reading.Told(unit="Gbps"), tell=told.append)
    series.write(tmp_path / "v.parquet", [Volumes.of([1, 2, 3], bin_s=1)])
    reading.read(tmp_path / "v.parquet", told=reading.Told(bin_s=5), tell=told.append)
    assert ["has no effect" in line or "have no effect" in line for line in told] == [True, True]
    with pytest.raises(TrafficError, match="standard input"):
        reading.read("-")


def test_packets_are_binned_to_the_widths_that_are_wanted(tmp_path: Path) -> None:
    rows = "\n".join(f"{0.003 * i * (1 + i % 3 / 10):.4f},{60 + i % 7}" for i in range(5000))
    file = csv(tmp_path, f"time,length\n{rows}\n", "packets.csv")
    told: list[str] = []
    found = reading.read(file, widths=(0.1, 0.007), tell=told.append)
    assert [one.bin_s for one in found] == [0.005, 0.1, 1.0, 5.0, 0.007]
    assert {int(one.bytes.sum()) for one in found} == {sum(60 + i % 7 for i in range(5000))}
    assert len(told) == 1
    assert "out of order" in told[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("time,bytes\nnoon,3\nlater,4\n", '"noon" is not a time'),
        ("time,bytes\n0,1\n0,2\n0,3\n", "the rows do not say how long a bin is"),
        ("time,bytes\n0,1\n1,-2\n2,3\n", 'line 3 .*"-2" is not a volume'),
        ("bin,bytes\n0,1\n1,2\n", "the rows are numbered, and nothing says how long a bin is"),
    ],
)
def test_csv_that_cannot_be_read_is_told_where_and_why(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TrafficError, match=message) as caught:
        reading.read(csv(tmp_path, text))
    assert "port.csv" in caught.value.message


def test_quantities() -> None:
    assert quantities.bps("2.5 gbps") == 2.5e9
    for bad in ("1", "Gbps", "-1Gbps", "0bps", "1 apple", "1..2Gbps"):
        with pytest.raises(Exception, match="expected a number above zero and a unit"):
            quantities.bps(bad)


def test_many_series_are_written_and_read_quickly(tmp_path: Path) -> None:
    many = [Volumes.of([1.0, None, 3.0 + k], bin_s=300, name=f"c{k}", source="wide.csv") for k in range(20_000)]
    begun = time.process_time()
    file = tmp_path / "wide.parquet"
    series.write(file, many)
    found = series.read(file)
    # Proportional to the number of series: comparing all with all took minutes.
    assert time.process_time() - begun < 20
    assert [one.name for one in found] == [one.name for one in many]
    assert found[7].known().tolist() == [1.0, 10.0]
    assert found[7].source == "wide.csv"


def test_facts_that_make_no_sense_are_as_good_as_absent(tmp_path: Path) -> None:
    file = tmp_path / "volumes.parquet"
    frame = pl.DataFrame({"start_ns": [k * SECOND for k in range(9)], "bytes": range(9)})
    frame.write_parquet(file, metadata={series.METADATA: '[{"bin_ns": "wide", "name": ["x"]}, 7]'})
    (found,) = series.read(file)
    assert (found.name, found.bin_ns, found.bytes.sum()) == ("volumes", SECOND, 36)


def test_a_name_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    file = tmp_path / "p\udcff.csv"
    file.write_text("time,bytes\n0,1\n")
    with pytest.raises(TrafficError, match=r"p\\udcff.csv': not valid UTF-8"):
        reading.read(file)
