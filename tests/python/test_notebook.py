"""The example notebook runs, and shows what it would show now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from anabranch.results.findings import findings

if TYPE_CHECKING:
    from anabranch import Results

pytest.importorskip("anabranch._core")

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial" / "notebook.ipynb"


def test_its_cells_run_and_find_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[dict[str, Any]] = [
        cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), namespace)
    results: Results = namespace["results"]
    shown = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in shown} == {"execute_result"}
    assert sum("image/png" in output["data"] for output in shown) == 2
    table = "".join(next(output["data"]["text/html"] for output in shown if "text/html" in output["data"]))
    for sentence in findings(results):
        assert f"<p><b>{sentence}</b></p>" in table, "`make notebook` runs it again"
