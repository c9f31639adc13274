"""Every broken input gets a message that names what is wrong: no traceback, no hang, nothing harmed."""

from __future__ import annotations

import importlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from broken import KINDS, Case, runner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES: dict[str, Case] = {
    f"{kind}-{case.name}": case for kind in KINDS for case in importlib.import_module(f"broken.{kind}").CASES
}


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future]]:  # type: ignore[type-arg]
    """The faults of every chosen case; a few processes at a time."""
    chosen = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item, "callspec")
    ]
    root: Path = tmp_path_factory.mktemp("broken")

    def one(name: str) -> list[str]:
        folder = root / name
        folder.mkdir()
        return runner.check(CASES[name], folder)

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        yield {name: pool.submit(one, name) for name in chosen}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_input_is_told(name: str, answers: dict[str, Future[list[str]]]) -> None:
    faults = answers[name].result()
    assert not faults, "\n".join(faults)


def test_there_are_many_of_each_kind() -> None:
    numbers = {kind: sum(name.startswith(f"{kind}-") for name in CASES) for kind in KINDS}
    assert min(numbers.values()) >= 45, numbers
    assert len(CASES) >= 250, numbers


def test_names_are_unique() -> None:
    for kind in KINDS:
        names = [case.name for case in importlib.import_module(f"broken.{kind}").CASES]
        assert len(names) == len(set(names)), kind
