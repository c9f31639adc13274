"""What ``anabranch traffic`` writes: never over what it reads, and whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.base import targets
from anabranch.cli import app
from anabranch.errors import AnabranchError
from anabranch.traffic import series
from anabranch.traffic.series import Volumes

if TYPE_CHECKING:
    from collections.abc import Callable

run = CliRunner()

COMMANDS = (("bin",), ("generate",), ("report",))
"""Commands that write what ``-o`` names."""


def invoke(*arguments: str | Path) -> Result:
    return run.invoke(app, ["traffic", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "port.csv"
    values = np.random.default_rng(1).lognormal(10, 0.5, 200).round()
    file.write_text("time,bytes\n" + "".join(f"{k * 300},{v:.0f}\n" for k, v in enumerate(values)))
    return file


def _spelt(table: Path) -> list[Path]:
    """The same file by other names."""
    soft, hard = table.with_name("soft.csv"), table.with_name("hard.csv")
    soft.symlink_to(table.name)
    hard.hardlink_to(table)
    return [table, table.parent / "." / ".." / table.parent.name / table.name, soft, hard]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_input_is_not_written_over(command: tuple[str], table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = table.read_bytes()
    monkeypatch.chdir(table.parent)
    for out in [*_spelt(table), Path(table.name)]:
        result = invoke(*command, table, "-o", out)
        assert result.exit_code == 2, out
        assert "is the input" in result.stderr, out
        assert "\nhint: choose another name" in result.stderr
    assert table.read_bytes() == before
    assert sorted(path.name for path in table.parent.iterdir()) == ["hard.csv", "port.csv", "soft.csv"]


def test_an_input_among_several_is_not_written_over(table: Path) -> None:
    other = table.with_name("other.csv")
    other.write_bytes(table.read_bytes())
    for command in ("bin", "report"):
        extra = ("--each",) if command == "bin" else ()
        result = invoke(command, other, table, *extra, "-o", table)
        assert result.exit_code == 2
        assert "is the input" in result.stderr


def test_figures_do_not_replace_an_input(table: Path) -> None:
    folder = table.parent / "figures"
    folder.mkdir()
    given = table.rename(folder / "fig1a.csv")
    before = given.read_bytes()
    result = invoke("report", given, "-o", folder / "page.html", "--figures", folder)
    assert result.exit_code == 2
    assert "holds the input" in result.stderr
    assert given.read_bytes() == before
    result = invoke("report", given, "-o", folder / "page.html", "--figures", given)
    assert (result.exit_code, "is no folder" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_folder_is_no_file_to_write(command: tuple[str], table: Path) -> None:
    folder = table.parent / "results"
    folder.mkdir()
    result = invoke(*command, table, "-o", folder)
    assert result.exit_code == 2
    assert "is a folder: expected a file" in result.stderr
    assert sorted(path.name for path in table.parent.rglob("*")) == ["port.csv", "results"]


def test_a_link_is_written_through_and_a_pipe_gets_the_bytes(table: Path) -> None:
    (table.parent / "real").mkdir()
    real, link = table.parent / "real" / "made.csv", table.with_name("link.csv")
    real.write_text("old")
    link.symlink_to(real)
    assert invoke("generate", table, "-o", link).exit_code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("# of like port.csv")
    null = Path("/dev/null")
    assert invoke("generate", table, "-o", null).exit_code == 0
    assert null.is_char_device()
    assert {path.name for path in table.parent.rglob("*")} == {"port.csv", "real", "made.csv", "link.csv"}


def _volumes() -> list[Volumes]:
    # Noise, which compression makes no smaller.
    return [Volumes.of(np.random.default_rng(1).integers(0, 2**50, 200_000).astype(float), bin_s=0.005)]


@pytest.mark.parametrize("old", [None, "old"])
def test_a_full_disk_leaves_nothing_half_written(old: str | None, tmp_path: Path) -> None:
    target = tmp_path / "volumes.parquet"
    if old is not None:
        target.write_text(old)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match=r"File too large|cannot be written") as caught:
            series.write(target, _volumes())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(target)
    assert [path.name for path in tmp_path.iterdir()] == ([] if old is None else ["volumes.parquet"])
    assert old is None or target.read_text() == old


def test_the_command_names_the_file_that_the_disk_has_no_room_for(table: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for command, target in (("bin", "x.parquet"), ("generate", "x.csv")):
        result = subprocess.run(
            [sys.executable, "-m", "anabranch", "traffic", command, table.name, "-o", target],
            cwd=table.parent,
            preexec_fn=limit,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 2, result.stderr
        assert f"error: {target}: " in result.stderr, result.stderr
        assert "Traceback" not in result.stderr
    assert [path.name for path in table.parent.iterdir()] == ["port.csv"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, ValueError, OSError])
def test_whatever_ends_the_writing_removes_the_draft(end: Callable[[], BaseException], tmp_path: Path) -> None:
    def fail() -> None:
        with targets.whole(tmp_path / "made.csv") as draft:
            draft.write_text("half")
            assert draft.parent == tmp_path
            raise end()

    with pytest.raises(BaseException):  # noqa: B017, PT011 - whichever it was
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 1)])
def test_signals_remove_the_draft(number: int, code: int, tmp_path: Path) -> None:
    script = (
        "import time\nfrom anabranch.base import targets\n"
        "with targets.whole('made.csv') as draft:\n"
        "    draft.write_text('half')\n    print('ready', flush=True)\n    time.sleep(30)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert len(list(tmp_path.iterdir())) == 1
    os.kill(process.pid, number)
    begun = time.monotonic()
    assert process.wait(timeout=20) in {code, -number}
    process.stdout.close()
    assert time.monotonic() - begun < 20
    assert list(tmp_path.iterdir()) == []


def test_names_of_255_letters_have_a_draft_too(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 251 + ".csv")
    with targets.whole(target) as draft:
        draft.write_text("all")
    assert target.read_text() == "all"
    with pytest.raises(AnabranchError, match="is a folder"), targets.whole(tmp_path):
        pass


def _shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell, in which ``anabranch`` is this program."""
    program = f"anabranch() {{ '{sys.executable}' -m anabranch \"$@\"; }}; "
    return subprocess.run(
        ["bash", "-c", program + line], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_standard_output_is_written_where_it_stands(table: Path) -> None:
    folder = table.parent
    (folder / "all.csv").write_text("precious\n")
    done = _shell("anabranch traffic generate port.csv -o /dev/stdout >> all.csv", folder)
    assert done.returncode == 0, done.stderr
    kept = (folder / "all.csv").read_text()
    assert kept.startswith("precious\n")
    assert kept.count("\n") > 50, "the series, too"
    done = _shell("anabranch traffic generate port.csv -o /dev/stdout | head -n 1", folder)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_dash_is_no_file(table: Path) -> None:
    result = invoke("bin", table, "-o", "-")
    assert result.exit_code == 2
    assert "-o -: expected a file\nhint: /dev/stdout" in result.stderr


def test_permissions_stay(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.parquet"
    assert invoke("bin", table, "-o", out).exit_code == 0
    out.chmod(0o600)
    assert invoke("bin", table, "-o", out).exit_code == 0
    assert out.stat().st_mode & 0o777 == 0o600


def test_why_a_file_cannot_be_written_is_said(table: Path) -> None:
    result = invoke("bin", table, "-o", "/proc/made.parquet")
    assert result.exit_code == 2
    assert "/proc/made.parquet" in result.stderr
    assert "None" not in result.stderr


@pytest.mark.parametrize("name", ["a[1].parquet", "caf\udce9.parquet", "波" * 80 + ".parquet"])
@pytest.mark.usefixtures("table")
def test_names_are_no_patterns_and_need_not_be_utf_8(name: str, tmp_path: Path) -> None:
    # A pattern `a[1]` would find this one, which is another series.
    series.write(tmp_path / "a1.parquet", [Volumes.of_rates(np.full(100, 1e9), bin_s=1, name="other")])
    out = tmp_path / name
    done = _shell(f"anabranch traffic bin port.csv --bin 300s -o $'{_ansi(name)}'", tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = series.read(out)
    assert found.bytes.max() < 1e6


def _ansi(name: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(name))
