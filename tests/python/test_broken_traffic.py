"""Every broken capture and table gets a message that names what is wrong: no traceback, no hang, nothing harmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from broken import captures, runner, tables

if TYPE_CHECKING:
    from pathlib import Path

    from broken.case import Case

CASES: dict[str, Case] = {
    f"{kind}-{case.name}": case
    for kind, cases in (("captures", captures.CASES), ("tables", tables.CASES))
    for case in cases
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_input_is_told(name: str, tmp_path: Path) -> None:
    faults = runner.check(CASES[name], tmp_path)
    assert not faults, "\n".join(faults)


def test_there_are_enough_of_each_kind() -> None:
    assert len(captures.CASES) >= 60
    assert len(tables.CASES) >= 60
    assert len(CASES) == len(captures.CASES) + len(tables.CASES)
