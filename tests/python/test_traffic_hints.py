"""Hints name options that the command has: all commands share those by which files are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from anabranch.cli import app

ROOT = Path(__file__).parents[2]
COMMANDS = ("bin", "fit", "dimension", "bill", "generate", "report")
ONLY_BIN = {"--each", "--direction", "--inside"}
"""Options in messages about several files of one series, and about directions: only ``bin`` knows either."""

OWN = {
    "--bin": {"bin", "fit", "dimension", "generate", "report"},
    "--every": {"bill"},
    "--forecast-days": {"bill"},
    "--month": {"bill"},
    "--month-days": {"bill"},
    "--out": {"bill", "bin", "generate", "report"},
    "--epsilon": {"dimension", "report"},
    "--held-out": {"dimension"},
    "--link": {"fit", "dimension", "bill", "generate", "report"},
}
"""Options of some commands, in messages of those commands."""

run = CliRunner()


def options(command: str) -> set[str]:
    group = typer.main.get_command(app)
    found = group.commands["traffic"].commands[command]  # type: ignore[attr-defined]
    return {name for parameter in found.params for name in parameter.opts}


def invoke(*arguments: str | Path) -> Result:
    return run.invoke(app, ["traffic", *map(str, arguments)], catch_exceptions=False)


def named(text: str) -> set[str]:
    """Options that a text names."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))


def _messages() -> set[str]:
    """Options in the messages of the reader and of the statistics: in string literals, not in comments."""
    sources = [*(ROOT / "crates/traffic/src").rglob("*.rs"), *(ROOT / "python/anabranch/traffic").rglob("*.py")]
    found: set[str] = set()
    for source in sources:
        code = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        lines = (line for line in code.splitlines() if not line.lstrip().startswith(("//", "#")))
        for literal in re.findall(r'"(?:[^"\\]|\\.)*"', "\n".join(lines), re.DOTALL):
            found |= named(literal)
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_options_that_messages_about_files_name(command: str) -> None:
    there = options(command)
    for option in _messages():
        if option in ONLY_BIN:
            continue
        if option in OWN:
            assert option in there or command not in OWN[option], option
            continue
        assert option in there, f"{command} lacks {option}"


def test_bin_has_what_only_bin_is_told_of() -> None:
    assert options("bin") >= ONLY_BIN


DAMAGE = {
    "cut.pcap": bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000") + b"\x01" * 20,
    "words.csv": b"when,bytes\n0,1\n300,2\n600,1\n",
    "stamps.csv": b"time,bytes\n1714521600000,1\n1714521900000,2\n1714522200000,1\n",
    "late.csv": b"time,bytes\n" + b"".join(b"%d,%d\n" % (k * 300, k % 7) for k in range(200)) + b"9999999999,1\n",
    "two.csv": b"time,class,bytes\n0,a,1\n0,b,2\n300,a,5\n300,b,1\n600,a,2\n600,b,3\n",
    "far.csv": b"time,bytes\n0,5\n300,2\n600,3\n4000000000,1\n",
    "steps.csv": b"bin,bytes\n0,1\n1,2\n2,1\n3,2\n",
    "resets.csv": b"time,in_octets\n" + b"".join(b"%d,%d\n" % (k * 300, 1000 + k % 3) for k in range(100)),
    "utf16.csv": "time,bytes\n0,1\n300,2\n".encode("utf-16"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", DAMAGE)
def test_a_hint_names_no_option_that_the_command_lacks(command: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(DAMAGE[name])
    more = ("-o", tmp_path / "made") if command in {"bin", "generate", "report"} else ()
    for extra in ((), ("--format", "counters") if name == "resets.csv" else ("--keep-partial",)):
        result = invoke(command, file, *more, *extra)
        lacking = named(result.stderr) - options(command)
        assert not lacking, result.stderr
    assert not (tmp_path / f".{name}.part").exists()


def test_a_truncated_capture_is_fitted_with_keep_partial(tmp_path: Path) -> None:
    head = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    records = b"".join(
        (1_700_000_000 + k // 10).to_bytes(4, "little")
        + (k % 10 * 100_000).to_bytes(4, "little")
        + (60).to_bytes(4, "little")
        + (60 + k * 7919 % 1400).to_bytes(4, "little")
        + bytes(60)
        for k in range(2000)
    )
    file = tmp_path / "cut.pcap"
    file.write_bytes((head + records)[:-30])
    refused = invoke("fit", file, "--bin", "1s")
    assert refused.exit_code == 2
    assert "--keep-partial" in refused.stderr
    result = invoke("fit", file, "--bin", "1s", "--keep-partial")
    assert result.exit_code == 0, result.stderr
    assert "T = 1.00 s" in result.stdout
    assert "damaged, read up to there" in result.stderr


def test_a_results_folder_and_parquet_are_told_nothing_that_was_not_said(tmp_path: Path) -> None:
    from anabranch.traffic import series

    file = tmp_path / "x.parquet"
    series.write(file, [series.Volumes.of([float(k % 7) for k in range(200)], bin_s=300)])
    assert "has no effect" not in invoke("fit", file).stderr
    assert "has no effect" in invoke("fit", file, "--unit", "kbit").stderr
