"""Help and completion: every option says in words what it takes, and shells complete names and files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
import typer.main
from test_imports import COMMANDS
from typer.testing import CliRunner

from anabranch.base import bundle, cache
from anabranch.cli import app, catalogue
from anabranch.cli.catalogue import Entry
from anabranch.reproduce import registry

if TYPE_CHECKING:
    from pathlib import Path

WITH_HELP = [argv for argv in COMMANDS if "--help" in argv]


@pytest.mark.parametrize("argv", WITH_HELP, ids=" ".join)
def test_every_option_says_in_words_what_it_takes(argv: tuple[str, ...]) -> None:
    text = CliRunner().invoke(app, argv, terminal_width=100).stdout
    assert not re.search(r"<[^>]*>|\blist\[|x>=|<=x|\[\[|\{", text), text


def test_every_option_has_help() -> None:
    def check(command: Any, path: str) -> None:  # noqa: ANN401 - of Typer, which does not export it
        for param in command.params:
            assert param.help, f"{path}: {param.name}"
        for name, inner in getattr(command, "commands", {}).items():
            check(inner, f"{path} {name}")

    check(typer.main.get_command(app), "anabranch")


def test_the_list_of_commands_is_not_cut() -> None:
    for argv in (["--help"], ["traffic", "--help"], ["codec", "--help"]):
        assert "..." not in CliRunner().invoke(app, argv, terminal_width=80).stdout.replace("ARGS]...", "")


def complete(words: str, folder: Path, shell: str = "bash") -> list[str]:
    environment = {
        **os.environ,
        "_ANABRANCH_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    probe = "import sys; sys.argv[0] = 'anabranch'; from anabranch.cli import main; main()"
    command = [sys.executable, "-c", probe]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=folder, timeout=120
    )
    return done.stdout.split()


def test_commands_and_options_are_completed(tmp_path: Path) -> None:
    assert complete("anabranch rep", tmp_path) == ["reproduce", "report"]
    assert "--decode-table" in complete("anabranch reproduce --d", tmp_path)


def test_experiments_are_completed_from_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The list that is kept, without the plans, which take seconds; `test_catalogue.py` makes it whole.
    monkeypatch.chdir(tmp_path)
    listed = [asdict(Entry(one.name, one.title, one.figures)) for one in registry.experiments()]
    kept = {"key": catalogue._key(), "full": listed, "speed": 1e6}
    cache.write(catalogue.FILE, json.dumps(kept).encode())
    found = complete("anabranch reproduce scdp/fig1", tmp_path)
    assert {"scdp/fig10", "scdp/fig13"} <= set(found)
    assert all(name.startswith("scdp/fig1") for name in found)
    assert complete("anabranch reproduce son", tmp_path)[0] == "song"


def test_scenarios_are_completed_where_there_is_no_such_file(tmp_path: Path) -> None:
    assert "scenarios/examples/hello.toml" in complete("anabranch run scenarios/ex", tmp_path)
    (tmp_path / "scenarios").mkdir()
    assert complete("anabranch run scen", tmp_path) == []  # the shell knows it


def test_completion_never_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.cli import complete as completers

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bundle, "locate", lambda name: None)  # noqa: ARG005
    assert all(name.startswith("scdp") for name, _ in completers.experiments("scdp"))
    assert completers.scenarios("scen") == []
    assert completers.scenarios("\0") == []


def test_titles_help_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.cli import complete as completers

    entries = (Entry("scdp/fig13", "Windows", ("13a",)),)
    monkeypatch.setattr(catalogue, "entries", lambda: (entries, 1e6))
    assert completers.experiments("") == [("scdp", "all of them"), ("scdp/fig13", "Windows")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(shell: str, tmp_path: Path) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "anabranch", "--show-completion", shell]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=120
    )
    assert "_ANABRANCH_COMPLETE" in done.stdout or "COMPLETE" in done.stdout
