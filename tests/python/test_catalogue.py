"""The list of experiments that is kept: what it says, when it is made again, and that it needs nothing heavy."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.base import cache
from anabranch.cli import catalogue
from anabranch.cli.catalogue import Entry
from anabranch.reproduce import costs, registry, runner
from anabranch.running import speed


def kept() -> Path:
    return cache.path(catalogue.FILE)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Asks for lists to be made, by size; making one is quick."""
    asked: list[bool] = []

    def make(*, quick: bool) -> list[Entry]:
        asked.append(quick)
        return [Entry("scdp/fig13", "Windows", ("13a", "13b"), points=12, runs=60, work=6e6, longest=2e6)]

    monkeypatch.setattr(catalogue, "_make", make)
    monkeypatch.setattr(catalogue, "_speed", lambda: 1e6)
    return asked


def test_it_lists_every_experiment_with_its_runs_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "calibrate", lambda: 2e6)
    found, packets = catalogue.entries()
    assert [(one.name, one.title, one.figures) for one in found] == [
        (one.name, one.title, one.figures) for one in registry.experiments()
    ]
    assert not any(one.problem for one in found)
    for name in ("scdp/fig13", "joy/fig09"):
        (entry,) = (one for one in found if one.name == name)
        (experiment,) = registry.find([name])
        plan = runner.prepare(experiment, Path()).plan
        each = speed.predict(plan.runs, costs.known(name, quick=False), speed=2e6)
        assert entry.runs == len(plan.runs)
        assert entry.seconds(packets, 3) == pytest.approx(speed.seconds([*each.values()], 3))


def test_it_is_kept_and_made_again_when_a_file_changes(made: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    first = catalogue.entries()
    assert catalogue.entries() == first
    catalogue.entries(quick=True)
    assert catalogue.entries() == first
    assert made == [False, True]
    monkeypatch.setattr(catalogue, "_sources", lambda: iter([kept()]))
    catalogue.entries()
    assert made == [False, True, False]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"key": 1}'])
def test_a_file_of_something_else_is_replaced(made: list[bool], content: str) -> None:
    cache.write(catalogue.FILE, content.encode())
    assert cache.read(catalogue.FILE) == content.encode()
    catalogue.entries()
    catalogue.entries()
    assert made == [False]


def test_it_works_where_nothing_can_be_kept(made: list[bool], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert catalogue.entries() == catalogue.entries()
    assert made == [False, False]


def test_seeds_and_threads_scale_it() -> None:
    entry = Entry("a/b", "", (), points=3, runs=6, work=6e6, longest=2e6)
    assert entry.seconds(1e6, 1) == 6
    assert entry.seconds(1e6, 100) == 2  # the longest run
    assert (entry.under(1).runs, entry.under(1).seconds(1e6, 1)) == (3, 3)
