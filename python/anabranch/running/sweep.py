"""A scenario that runs in the background, for notebooks: started at once, asked now and then, waited for at the end."""

from __future__ import annotations

import html
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from anabranch.base import places, units
from anabranch.running import outputs
from anabranch.running.options import Options, check, reached, taking
from anabranch.running.plan import plan
from anabranch.running.run import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.showing.notebook import Results


class Sweep:
    """A sweep that goes on in the background.

    Made by `anabranch.sweep`. Its results can be read at any time; what went wrong with the sweep as a whole is raised
    by `wait`, and by `results` after the end.

    Attributes
    ----------
    out : pathlib.Path
        Where the results go.
    """

    def __init__(self, path: str | Path, overrides: Sequence[str], out: str | Path, options: Options) -> None:
        self.out = places.place(out)
        options["out"] = out
        self._latest: Mapping[str, Any] = {}
        self._stop = threading.Event()
        self._error: BaseException | None = None

        def tell(state: Mapping[str, Any]) -> bool:
            self._latest = state
            return not self._stop.is_set()

        def work() -> None:
            try:
                run(path, overrides, progress=tell, **options)
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                self._error = error

        self._thread = threading.Thread(target=work, name="anabranch-sweep", daemon=True)
        self._thread.start()

    @property
    def progress(self) -> Mapping[str, Any]:
        """How far it is: ``runs_done``, ``runs_total``, ``events_per_s`` and so on, as `anabranch.run` tells them."""
        return self._latest

    @property
    def done(self) -> bool:
        """Whether it has ended, one way or the other."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, for so many seconds at most; returns whether it has come.

        Raises
        ------
        AnabranchError
            If the sweep could not be made, or lost its workers. What had finished is kept.
        """
        self._thread.join(timeout)
        if self.done and self._error is not None:
            raise self._error
        return self.done

    @property
    def results(self) -> Results:
        """What there is until now: the rows of complete runs, in frames (``flows``) and scans (``scan("flows")``)."""
        from anabranch.showing.notebook import load  # noqa: PLC0415 - Polars takes a moment

        if self.done:
            self.wait()
        return load(self.out)

    @property
    def failed(self) -> Mapping[str, str]:
        """The runs that have failed, and why."""
        from anabranch.results import manifest  # noqa: PLC0415

        if not (self.out / "manifest.json").is_file():
            return {}
        runs = manifest.read(self.out).runs
        return {run.run: run.message or run.status for run in runs if run.status == "failed"}

    def cancel(self) -> None:
        """Stop; finished runs are kept, and ``resume=True`` goes on from there."""
        self._stop.set()

    def __repr__(self) -> str:
        state = self._latest
        parts = [f"{state.get('runs_done', 0)} of {state.get('runs_total', '?')} runs"]
        if state.get("runs_failed"):
            parts.append(f"{state['runs_failed']} failed")
        if self._error is not None:
            parts.append(f"ended: {self._error}")
        elif self.done:
            parts.append("cancelled" if self._stop.is_set() else "done")
        else:
            if state.get("threads") == 0:
                parts.append("waiting for workers")
            elif "runs_running" in state:
                parts.append(f"{state['runs_running']} running on {state['threads']} threads")
            if state.get("events_per_s"):
                parts.append(f"{units.count(state['events_per_s'])} events/s")
        return f"<Sweep {str(self.out)!r}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: a bar, and the same words."""
        total = self._latest.get("runs_total") or 1
        done = self._latest.get("runs_done", 0)
        return f'<progress value="{done}" max="{total}"></progress> {html.escape(repr(self)[1:-1])}'


@taking(Options)
def sweep(path: str | Path, overrides: Sequence[str] = (), **options: Unpack[Options]) -> Sweep:
    """Run a scenario in the background.

    Parameters
    ----------
    path
        Scenario file.
    overrides
        ``key=value`` settings that replace those of the file.
    {options}

    Returns
    -------
    Sweep
        A handle: ``progress``, ``wait()``, ``results``, ``failed``, ``cancel()``.

    Raises
    ------
    AnabranchError
        If the scenario cannot be run, or the folder of the results be used.
    """
    check(options)
    planned = plan(path, overrides, seeds=options["seeds"]).runs
    out = outputs.default(Path(path), overrides, seeds=options["seeds"]) if options["out"] is None else options["out"]
    where = reached(out, options)
    outputs.check(where, planned, resume=options["resume"], force=options["force"])
    if options["on"] is not None:
        from anabranch.running.cluster.start import prepare  # noqa: PLC0415 - Dask takes a second

        prepare(options["on"])
    return Sweep(path, overrides, out, options)
