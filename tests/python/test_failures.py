"""What is not the input's fault: terminals without letters, full disks, closed pipes, faults of the program itself."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import fixtures
import pytest

from anabranch.base import targets
from anabranch.cli import common, terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broken.forks import Forks

SCENARIO = """\
repeat = 2
[fabric]
topology = "star"
hosts = 8
[transport]
name = "ndp"
[[workload]]
sizes = { law = "fixed", size = "20KB" }
placement = { pattern = "permutation" }
"""


def command(
    folder: Path,
    *argv: str,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "anabranch", *argv],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_terminal_without_letters_gets_plain_ones(tmp_path: Path) -> None:
    fixtures.write(tmp_path / "r")
    done = command(tmp_path, "report", "r", environment=ASCII)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    rich = command(tmp_path, "report", "r", environment={"PYTHONIOENCODING": "utf-8"}).stdout
    assert " ± " in rich
    assert " +-" in done.stdout
    assert "<=10 KB" in done.stdout
    assert "us" in done.stdout
    # Columns stay in line: every line is as long as with the letters.
    assert [len(line) for line in done.stdout.splitlines()] == [len(line) for line in rich.splitlines()]


def test_errors_and_help_too(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "Größe ± µ"\nhosst = 1\n' + SCENARIO)
    done = command(tmp_path, "run", "a.toml", "--dry-run", environment=ASCII)
    assert done.returncode == 2
    assert done.stderr.isascii()
    assert "hosst" in done.stderr
    for name in ("run", "report", "reproduce"):
        assert command(tmp_path, name, "--help", environment=ASCII).returncode == 0


def test_a_name_that_is_no_text(forks: Forks, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    fixtures.write(tmp_path / "r").rename(tmp_path / name)
    done = forks.run(tmp_path, "report", name)
    assert done.returncode == 2
    assert "not valid UTF-8\nhint: " in done.stderr
    assert "Traceback" not in done.stderr
    (tmp_path / "a.toml").write_text(SCENARIO)
    done = forks.run(tmp_path, "run", "a.toml", "--out", os.fsdecode(b"o\xff"))
    assert done.returncode == 2
    assert "not valid UTF-8" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_named_like_a_pattern(forks: Forks, tmp_path: Path) -> None:
    fixtures.write(tmp_path / "a[1]*")
    assert forks.run(tmp_path, "report", "a[1]*").returncode == 0


def test_a_report_that_does_not_fit_is_named(forks: Forks, tmp_path: Path) -> None:
    fixtures.write(tmp_path / "r")
    before = sorted(path.name for path in (tmp_path / "r").iterdir())
    done = forks.run(tmp_path, "report", "r", limits={resource.RLIMIT_FSIZE: 100_000})
    assert done.returncode == 2
    assert "error: r/report.html: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == before


def test_results_that_do_not_fit_are_named_and_what_fits_is_kept(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    done = forks.run(tmp_path, "run", "a.toml", "--out", "r", limits={resource.RLIMIT_FSIZE: 2_500})
    assert done.returncode == 2
    assert "error: cannot write r/" in done.stderr
    assert "File too large" in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
    drafts = [path.name for path in (tmp_path / "r").rglob(".*")]
    assert drafts == []
    again = forks.run(tmp_path, "run", "a.toml", "--out", "r", "--resume")
    assert again.returncode == 0, again.stderr


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="no /dev/full")
def test_standard_output_on_a_full_disk(tmp_path: Path) -> None:
    fixtures.write(tmp_path / "r")
    with Path("/dev/full").open("w") as out:
        line = [sys.executable, "-m", "anabranch", "report", "r"]
        done = subprocess.run(
            line, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, timeout=300, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: output: No space left on device\nhint: the disk is full")
    assert "Traceback" not in done.stderr


def test_a_full_disk_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, _: bytes) -> int:
        self.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a").write_text("older")
    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(OSError, match="No space left") as caught:
        targets.put(tmp_path / "a", "newer")
    assert caught.value.filename == str(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "older"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_the_systems_errors_have_hints(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    for error in (
        OSError(number, os.strerror(number), "out/a"),
        OSError(f"cannot write out/a: no (os error {number})"),
    ):
        with pytest.raises(typer.Exit), common.errors():
            raise error
        assert "out/a: " in (said := capsys.readouterr().err)
        assert f"\nhint: {common.HINTS[number]}" in said


CLOSED = {0, 1, 141}
"""Exit codes of a program whose reader went away: it may have been done already."""


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    fixtures.write(tmp_path / "r")
    line = f"'{sys.executable}' -m anabranch report r | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "error" not in done.stderr
    assert done.returncode in CLOSED
    line = f"'{sys.executable}' -m anabranch schema | head -c 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    assert done.returncode in CLOSED


def test_a_fault_of_the_program_says_how_to_report_it(tmp_path: Path) -> None:
    probe = (
        "import sys, anabranch.base.core as core\n"
        "def call(*_): raise ZeroDivisionError('oops')\n"
        "core.call = call\n"
        "from anabranch.cli import main\n"
        "sys.argv = ['anabranch', 'schema']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 70
    assert "ZeroDivisionError: oops" in done.stderr
    *_, error, hint = done.stderr.splitlines()
    assert error == "error: this is a fault of anabranch, not of your input"
    assert hint.startswith("hint: report it with the lines above, the version (")
    assert hint.endswith("anabranch schema")


def test_permission_denied_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from anabranch.cli import app

    fixtures.write(tmp_path / "r")

    def refuse(self: Path, *_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_text", refuse)
    result = CliRunner().invoke(app, ["report", str(tmp_path / "r")], catch_exceptions=False)
    assert result.exit_code == 2
    assert "manifest.json: cannot be read (Permission denied)" in result.stderr


def test_every_letter_of_the_program_has_a_plain_one() -> None:
    import anabranch

    root = Path(anabranch.__file__).parent
    sources = [*root.glob("*.py"), *root.glob("cli/*.py"), *root.glob("reproduce/c*.py"), *root.glob("traffic/*.py")]
    letters = {letter for source in sources for letter in source.read_text(encoding="utf-8") if not letter.isascii()}
    assert letters - set(terminal.PLAIN) - set("§éü⚠Δθλ") == set()
