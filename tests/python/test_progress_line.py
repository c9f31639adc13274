"""How far a run is, in one line that overwrites itself."""

from __future__ import annotations

import io

from anabranch.running.progress_line import Line, interactive


def test_the_line_overwrites_itself_and_goes() -> None:
    stream = io.StringIO()
    line = Line(stream)
    assert line({"runs_done": 9, "runs_total": 10, "eta_s": 12.3})
    assert line({"runs_done": 10, "runs_total": 10, "eta_s": None})
    line.end()
    first, second, gone = stream.getvalue().split("\r")[1:4]
    assert first == "9 of 10 runs, about 12 s left"
    assert second == f"{'10 of 10 runs':<{len(first)}}"
    assert gone.strip() == ""


def test_files_are_not_watched() -> None:
    assert not interactive(io.StringIO())
