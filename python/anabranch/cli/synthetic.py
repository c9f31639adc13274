"""The command ``anabranch traffic generate``: volumes drawn from a fitted model, for the simulator to follow."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.base import units
from anabranch.cli.common import errors, stderr
from anabranch.cli.volume_files import FILES, Link, Reader, Reading, reads, widest
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.traffic.fit import Fitted
    from anabranch.traffic.series import Volumes

# The statistics pull in Polars and SciPy, which `anabranch --help` can do without: they are imported where they are
# used.


class ModelName(StrEnum):
    """`anabranch.traffic.models.MODELS` for the command line."""

    best = "best"
    lognormal = "lognormal"
    normal = "normal"
    weibull = "weibull"
    exponential = "exponential"
    gamma = "gamma"
    pareto = "pareto"


def register(app: typer.Typer) -> None:
    """Add the command to a group."""
    app.command(name="generate", short_help="Draw a series like one that was measured.")(generate_command)


@reads
def generate_command(
    file: Annotated[
        Path,
        typer.Argument(help=FILES, metavar="FILE"),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The series, for sizes.file of a workload.", metavar="CSV")],
    model: Annotated[
        ModelName, typer.Option(help="Model to fit and to draw from; best: that of least AIC.")
    ] = ModelName.best,
    width: Annotated[
        str | None, typer.Option("--bin", help="Width of a bin.", metavar="TIME", show_default="the file's")
    ] = None,
    bins: Annotated[
        int | None, typer.Option(min=1, max=20_000_000, help="How many bins.", show_default="as many as known")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Put the largest where the largest was: bursts stay bursts.")
    ] = False,
    link: Link = None,
    reading: Reading,
) -> None:
    """Fit a model to volumes and draw a series from it that a workload of the simulator can follow."""
    with errors():
        from anabranch.base import targets  # noqa: PLC0415
        from anabranch.traffic import synthetic  # noqa: PLC0415
        from anabranch.traffic.fit import KS_WARN  # noqa: PLC0415
        from anabranch.traffic.sweep import BINS_MIN  # noqa: PLC0415

        targets.check(out, [file], "-o")
        measured = _series(file, width, Reader(reading, link))
        known = int(measured.is_known.sum())
        if known < BINS_MIN:
            raise AnabranchError(
                f"{measured.source or measured.name}: {known} bins are known: "
                f"at least {BINS_MIN} are needed for a model",
                hint="measure longer, or choose finer bins: --bin 100ms",
            )
        fitted = _fitted(measured, model)
        if fitted.ks > KS_WARN:
            what = f"the {fitted.model.label} fits badly (KS {fitted.ks:.2f})"
            stderr().print(f"note: {what}: the series is not like {measured.name}", markup=False)
        _tell_cycle(measured, kept=keep_order)
        drawn = synthetic.generate(
            fitted,
            bins or measured.known().size,
            measured.bin_s,
            seed,
            like=measured if keep_order else None,
            name=f"like {measured.name}",
        )
        synthetic.write_csv(drawn, out)
        parameters = ", ".join(f"{name} {value:.6g}" for name, value in fitted.model.parameters().items())
        stderr().print(
            f"{fitted.model.label} ({parameters}; bits per second), {fitted.zero_share:.1%} of the bins empty, "
            f"KS {fitted.ks:.3f}",
            markup=False,
        )
        stderr().print(f"volumes: {out}", markup=False)


def _tell_cycle(measured: Volumes, *, kept: bool) -> None:
    """Say what becomes of a cycle that the traffic follows."""
    from anabranch.traffic.cycle import daily_cycle  # noqa: PLC0415

    found = daily_cycle(measured)
    if found is None or not found.present:
        return
    cycle = "daily cycle" if found.is_day else f"cycle of {units.time(found.period_ns)}"
    if kept:
        text = f"the {cycle} of {measured.name} is kept with its order"
    else:
        why = "its bins are drawn independently; --keep-order keeps it"
        text = f"{measured.name} has a {cycle}, and the series has none: {why}"
    stderr().print(f"note: {text}", markup=False)


def _series(file: Path, width: str | None, reader: Reader) -> Volumes:
    """The one series of a file, at a width."""
    from anabranch.traffic import quantities  # noqa: PLC0415
    from anabranch.traffic.series import SECOND  # noqa: PLC0415

    asked = None if width is None else quantities.seconds(width, "--bin")
    traces = reader.traces([file], exact=() if asked is None else [asked])
    if len(traces) > 1:
        names = [trace[0].name for trace in traces]
        shown = ", ".join(map(repr, names[:5])) + (" ..." if len(names) > 5 else "")  # noqa: PLR2004 - as many as fit
        raise AnabranchError(f"{file}: {len(names)} series ({shown}): which one?", hint="--link, --row or --column")
    (trace,) = traces
    if asked is None and len(trace) > 1:
        shown = ", ".join(units.time(one.bin_ns) for one in trace)
        raise AnabranchError(f"{file}: bins of which width? It has {shown}", hint="--bin 100ms")
    if asked is None:
        return trace[0]
    return widest(trace, round(asked * SECOND)).at(asked)


def _fitted(measured: Volumes, model: ModelName) -> Fitted:
    from anabranch.traffic import fit  # noqa: PLC0415
    from anabranch.traffic.outcome import Inconclusive  # noqa: PLC0415

    study = fit.fit(measured) if model is ModelName.best else fit.fit(measured, [model.value])
    if study.best is None:
        reasons = dict.fromkeys(f.reason for f in study.fits.values() if isinstance(f, Inconclusive))
        raise AnabranchError(f"{measured.source or measured.name}: no model has a fit: {'; '.join(reasons)}")
    return study.fitted[0]
