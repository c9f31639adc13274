"""Volumes of simulated links: what ``[measure] volumes = true`` recorded, as series."""

from __future__ import annotations

import difflib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.base import places
from anabranch.results.tables import Tables
from anabranch.traffic.series import Volumes, VolumesError

if TYPE_CHECKING:
    from anabranch.results.manifest import RunEntry

METRIC = "bytes"
"""In ``series.parquet``: bytes that a link has sent since the last sample."""


def link_volumes(
    results: Tables | str | Path, *, run: str | None = None, link: str | int | None = None
) -> list[Volumes]:
    """Read the volumes of the links of a results folder.

    Parameters
    ----------
    results
        Results, or the folder that ``anabranch run`` wrote.
    run
        Name of a run, such as ``p000-s1``; default: all.
    link
        A directed link by its ends, ``h0-edge0.0``, by run and ends, ``p000-s1/h0-edge0.0``, or by its number; default:
        all that sent anything.

    Returns
    -------
    list[Volumes]
        At least one: of each run and link the whole bins of the run, from 0 on. A bin counts the packets whose
        transmission starts in it; in a bin without a sample the link was silent. Names are those of the links, with
        the run before them if there are several.

    Raises
    ------
    VolumesError
        If the runs have no volumes, or no such run or link.
    """
    opened = results if isinstance(results, Tables) else Tables(places.reached(results))
    where = str(opened.folder)
    runs = [one for one in opened.manifest.runs if run in {None, one.run}]
    if not runs:
        some = ", ".join(one.run for one in opened.manifest.runs[:5])
        raise VolumesError(f"{where}: no run called {run!r}", hint=f"runs are called {some}")
    samples = opened.scan("series").filter(pl.col("metric") == METRIC).select("run", "time_ns", "id", "value").collect()
    names = _names(opened)
    found, several = [], len(runs) > 1
    known, measured = set(), False
    for entry in runs:
        own = samples.filter(pl.col("run") == entry.run).partition_by("id", as_dict=True)
        measured |= bool(own)
        for number, name in names[entry.run].items():
            full = f"{entry.run}/{name}"
            known |= {name, full}
            sent = own.get((number,), samples.clear())
            if str(link) in {name, full, str(number)} or (link is None and not sent.is_empty()):
                found.append(_bins(sent, entry, full if several else name, where))
    if not measured:
        raise VolumesError(
            f"{where}: no link of these runs has a volume: none was measured, none sent anything, or the runs are "
            "shorter than a bin",
            hint='in the scenario: [measure] volumes = true, interval = "1ms"',
        )
    if not found:
        close = difflib.get_close_matches(str(link), sorted(known), n=1)
        example = close[0] if close else min(known)
        raise VolumesError(f"{where}: no link {link!r}", hint=f"links look like {example!r}, from sender to receiver")
    return found


def _names(results: Tables) -> dict[str, dict[int, str]]:
    """For every run its directed links: number and name; parallel links have their number in the name."""
    names: dict[str, dict[int, str]] = {}
    for part in results.links.select("run", "link", "src", "dst").partition_by("run"):
        rows = [(int(number), f"{src}-{dst}") for _, number, src, dst in part.iter_rows()]
        often = Counter(name for _, name in rows)
        names[str(part["run"][0])] = {n: f"{name}#{n}" if often[name] > 1 else name for n, name in rows}
    return names


def _bins(samples: pl.DataFrame, entry: RunEntry, name: str, where: str) -> Volumes:
    """The whole bins of a run."""
    if entry.interval_ns is None:
        raise VolumesError(f"{where}: the manifest does not tell the interval of run {entry.run}")
    if entry.interval_ns != round(entry.interval_ns):
        raise VolumesError(f"{where}: bins of {entry.interval_ns} ns are no whole number of nanoseconds")
    # A sample is the end of its bin, so the run has as many bins as it had times to look.
    count = int(entry.simulated_ns / entry.interval_ns + 1e-9)
    numbers = np.zeros(count, dtype=np.int64)
    places = np.round(samples["time_ns"].to_numpy() / entry.interval_ns).astype(np.int64) - 1
    numbers[places] = np.round(samples["value"].to_numpy()).astype(np.int64)
    return Volumes(
        bin_ns=round(entry.interval_ns),
        start_ns=0,
        bytes=numbers,
        missing=np.zeros(count, dtype=np.bool_),
        name=name,
        source=f"{where}/runs/{entry.run}",
    )
