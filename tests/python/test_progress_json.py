"""Progress as JSON, for scripts: `docs/reference/progress.md`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clusters
import pytest
from typer.testing import CliRunner

from anabranch.cli import app, progress_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import StandIn

PAGE = Path(__file__).parents[2] / "docs/reference/progress.md"


def documented() -> dict[str, set[str]]:
    """The fields of each event that the page describes."""
    every = {"start", "progress", "end", "error"}
    fields: dict[str, set[str]] = {event: set() for event in every}
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for field, events in rows:
        named = set(re.findall(r"`(\w+)`", events))
        for event in (every - named) if events.startswith("all") else named:
            fields[event].add(field)
    return fields


def lines(stderr: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]


def test_a_sweep_on_processes_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress_json, "EVERY_S", 0.0)
    (tmp_path / "a.toml").write_text(clusters.SCENARIO)
    line = ["run", "a.toml", "repeat=5", "--on", "local:1", "--out", "r", "--no-report", "--json", "--progress", "json"]
    with clusters.forked_workers():
        done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    told = lines(done.stderr)
    assert len(told) == len(done.stderr.splitlines())  # nothing else is said
    start, *between, end = told
    assert start["event"] == "start"
    assert start["dashboard"].startswith("http://127.0.0.1:")
    assert (start["on"], start["runs_total"]) == ("local:1", 10)
    assert {one["event"] for one in between} == {"progress"}
    assert [one["runs_done"] for one in between] == sorted(one["runs_done"] for one in between)
    assert between[-1]["threads"] == 1
    assert between[-1]["events"] > 0
    assert between[-1]["left_s"] >= 0
    assert end == end | {"event": "end", "runs_done": 10, "runs_total": 10, "runs_failed": 0, "out": "r"}
    fields = documented()
    assert start.keys() == fields["start"] - {"experiment"}
    assert between[-1].keys() == fields["progress"]
    assert end.keys() == fields["end"]
    json.loads(done.stdout)


def reports(*states: dict[str, Any]) -> Callable[[Callable[[str], bool]], None]:
    def during(progress: Callable[[str], bool]) -> None:
        import time

        for state in states:
            progress(json.dumps(state))
            time.sleep(0.5)

    return during


@pytest.mark.usefixtures("folder")
def test_threads_are_followed(core: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_json, "EVERY_S", 0.0)
    state = {"runs_done": 3, "runs_kept": 1, "runs_total": 12, "events": 900, "events_per_s": 300.04}
    core.during = reports(state | {"current": ["p000-s1", "p001-s1"], "simulated_ns": 5.0, "eta_s": 9.0})
    done = CliRunner().invoke(app, ["run", "good.toml", "--out", "r", "--no-report", "--progress", "json"])
    assert done.exit_code == 0, done.output
    start, *between, end = lines(done.stderr)
    assert (start["on"], start["dashboard"]) == (None, None)
    wanted = {"runs_done": 3, "runs_kept": 1, "runs_running": 2, "runs_failed": 0, "events": 900, "events_per_s": 300.0}
    assert between
    assert between[-1] == between[-1] | wanted
    assert between[-1].keys() == documented()["progress"] - {"threads"}
    assert end["event"] == "end"


@pytest.mark.usefixtures("folder")
def test_what_goes_wrong_is_the_last_line(core: StandIn) -> None:
    def fails(_: object) -> None:
        raise OSError(28, "No space left on device", "r/runs")

    core.during = fails
    done = CliRunner().invoke(app, ["run", "good.toml", "--out", "r", "--no-report", "--progress", "json"])
    assert done.exit_code == 2
    told = lines(done.stderr)
    assert [one["event"] for one in told] == ["start", "error"]
    assert "No space left on device" in told[1]["message"]
    assert told[1].keys() == documented()["error"]
    assert "error: r/runs: No space left on device" in done.stderr  # for people, as ever


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("style", ["none", "auto"])
def test_other_styles_write_no_json(core: StandIn, style: str) -> None:
    core.during = reports({"runs_done": 3, "runs_total": 12})
    done = CliRunner().invoke(app, ["run", "good.toml", "--out", "r", "--no-report", "--progress", style])
    assert done.exit_code == 0, done.output
    assert lines(done.stderr) == []
    bad = CliRunner().invoke(app, ["run", "good.toml", "--progress", "xml"])
    assert bad.exit_code == 2
