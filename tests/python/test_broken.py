"""Every broken input gets a message that names what is wrong: no traceback, no hang, nothing harmed."""

from __future__ import annotations

import importlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest
from broken import KINDS, Case, runner
from broken.forks import Forks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES: dict[str, Case] = {
    f"{kind}-{case.name}": case for kind in KINDS for case in importlib.import_module(f"broken.{kind}").CASES
}


STARTED = {name for kind in KINDS for name in [name for name in CASES if name.startswith(f"{kind}-")][::25]}
"""Some twenty of all kinds run in an interpreter that is started for them, as users have it."""


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future]]:  # type: ignore[type-arg]
    """The faults of every chosen case; a few processes at a time."""
    chosen = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and "name" in getattr(getattr(item, "callspec", None), "params", ())
    ]
    root: Path = tmp_path_factory.mktemp("broken")
    free: SimpleQueue[Forks] = SimpleQueue()

    def one(name: str) -> list[str]:
        folder = root / name
        folder.mkdir()
        if name in STARTED:
            return runner.check(CASES[name], folder)
        forks = free.get()
        try:
            faults = runner.check(CASES[name], folder, forks)
        except BaseException:
            # Whatever it answers next may be of this case.
            forks.kill()
            free.put(stack.enter_context(Forks(environment)))
            raise
        free.put(forks)
        return faults

    workers = os.cpu_count() or 1
    environment = {**os.environ, **runner.ENVIRONMENT}
    with ExitStack() as stack, ThreadPoolExecutor(max_workers=workers) as pool:
        for _ in range(workers):
            free.put(stack.enter_context(Forks(environment)))
        yield {name: pool.submit(one, name) for name in chosen}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_input_is_told(name: str, answers: dict[str, Future[list[str]]]) -> None:
    faults = answers[name].result()
    assert not faults, "\n".join(faults)


def test_names_are_unique() -> None:
    for kind in KINDS:
        names = [case.name for case in importlib.import_module(f"broken.{kind}").CASES]
        assert len(names) == len(set(names)), kind


@pytest.mark.parametrize("forked", [True, False])
def test_a_wrong_answer_is_a_fault(tmp_path: Path, *, forked: bool) -> None:
    case = Case(name="wrong", argv=("report", "nowhere"), says=("a word that is not said",), exits=frozenset({0}))
    with Forks({**os.environ, **runner.ENVIRONMENT}) if forked else nullcontext() as forks:
        faults = runner.check(case, tmp_path, forks)
    assert faults[0] == "exit code 2, expected 0"
    assert faults[1] == "standard error lacks 'a word that is not said'"
    assert "error: nowhere: does not exist" in faults[2]
