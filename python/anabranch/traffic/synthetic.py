"""Volumes drawn from a model, and the file by which the simulator follows them.

Bins are drawn independently of each other: a model of volumes says how large they are, not in which order they come.
Traffic comes in bursts that are longer than a bin; `generate` keeps the order of a series if it is given one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.base import targets
from anabranch.traffic.fit import Fitted
from anabranch.traffic.series import BINS_MAX, SECOND, Volumes, VolumesError

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.traffic.models import Model
    from anabranch.traffic.series import Floats

BYTES_MAX = 1e18
"""Largest volume of a bin, and of all bins: what the simulator takes, and what whole numbers hold."""

CHUNK = 100_000
"""Rows that are written at a time."""

UNITS = (("s", SECOND), ("ms", 1_000_000), ("us", 1_000), ("ns", 1))
"""Units of the width of a bin in the simulator's files, in nanoseconds."""


def generate(
    model: Model | Fitted,
    bins: int,
    bin_s: float,
    seed: int,
    *,
    zero_share: float | None = None,
    like: Volumes | None = None,
    name: str = "synthetic",
) -> Volumes:
    """Draw a series from a model.

    Parameters
    ----------
    model
        Distribution of the rates of bins with traffic, in bits per second; or a fit, which says too how many bins are
        empty.
    bins
        How many, 1 to 20 million.
    bin_s
        Width of a bin in seconds: that at which the model was fitted.
    seed
        Of the random numbers, at least 0. The same arguments give the same series.
    zero_share
        Probability that a bin is empty, from 0 and below 1; default: the fit's, or 0.
    like
        A series whose order is kept: the drawn volumes are put in the order of its ranks, so that the largest comes
        where its largest was (the Schaake shuffle, Clark et al. 2004; after Iman and Conover 1982). It needs `bins`
        known bins or more; the first ones count, without those that are missing.
    name
        Name of the series.

    Returns
    -------
    Volumes
        Whole bytes. What a normal model draws below zero is an empty bin.

    Raises
    ------
    VolumesError
        If an argument is out of range, or the model draws a volume that is larger than 1 EB.
    """
    share = (model.zero_share if isinstance(model, Fitted) else 0.0) if zero_share is None else zero_share
    law = model.model if isinstance(model, Fitted) else model
    if not 1 <= bins <= BINS_MAX or not bin_s > 0:
        raise VolumesError(
            f"{name}: {bins} bins of {bin_s} s: expected 1 to {BINS_MAX} bins, wider than 0",
            hint="draw wider bins, or several series with seeds of their own",
        )
    if not 0 <= share < 1:
        raise VolumesError(f"{name}: a share of {share} of the bins is empty: expected a number from 0 and below 1")
    random = np.random.default_rng(seed)
    busy = random.random(bins) >= share
    drawn = law.quantile(random.random(bins)) * (bin_s / 8)
    drawn = np.where(busy & (drawn > 0), np.maximum(np.round(drawn), 1.0), 0.0)
    if not drawn.sum() <= BYTES_MAX:
        raise VolumesError(
            f"{name}: the {law.label} model draws volumes of more than {BYTES_MAX:g} bytes",
            hint="its tail is too heavy to be drawn from; choose another model",
        )
    if like is not None:
        drawn = _in_order_of(drawn, like)
    return Volumes.of(drawn, bin_s=bin_s, name=name, source=f"{law.label} model, seed {seed}")


def _in_order_of(drawn: Floats, like: Volumes) -> Floats:
    """The same values, in the order of the ranks of another series."""
    known = like.known()[: drawn.size]
    if known.size < drawn.size:
        raise VolumesError(
            f"{like.name}: {known.size} known bins do not tell the order of {drawn.size}",
            hint="ask for fewer bins, or do not keep the order",
        )
    ordered = np.empty_like(drawn)
    ordered[np.argsort(known, kind="stable")] = np.sort(drawn)
    return ordered


def write_csv(volumes: Volumes, file: str | Path) -> None:
    """Write a series as the simulator reads it: ``sizes = { law = "volumes", file = ... }``.

    The file appears when it is complete. `anabranch.traffic.reading.read` reads it, too.

    Raises
    ------
    VolumesError
        If a bin is not known: the simulator cannot send what nobody knows.
    """
    unknown = np.flatnonzero(~volumes.is_known)
    if unknown.size:
        raise VolumesError(
            f"{volumes.name}: bin {unknown[0]} is not known, nor are {unknown.size - 1} others",
            hint="fill them in, or take the part between them: Volumes.split",
        )
    name, scale = next((unit, ns) for unit, ns in UNITS if volumes.bin_ns % ns == 0)
    about = f"{volumes.name}: {volumes.source}" if volumes.source else volumes.name
    head = ["# of " + " ".join(about.split()), f"# bin: {volumes.bin_ns // scale}{name}", "start_ns,bytes"]
    numbers = np.round(np.asarray(volumes.bytes, dtype=float)).astype(np.int64)
    starts = volumes.starts_ns()
    with targets.whole(file) as draft, draft.open("w", encoding="utf-8") as out:
        out.write("\n".join(head) + "\n")
        for first in range(0, len(volumes), CHUNK):
            part = zip(starts[first : first + CHUNK].tolist(), numbers[first : first + CHUNK].tolist(), strict=True)
            out.write("".join(f"{start},{count}\n" for start, count in part))
