"""The command ``anabranch traffic generate``: volumes drawn from a fitted model, for the simulator to follow."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.common import errors, stderr
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
    app.command(name="generate")(generate_command)


def generate_command(
    file: Annotated[
        Path,
        typer.Argument(help="Parquet of volumes, CSV of times and volumes, or a results folder.", metavar="FILE"),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The series, for sizes.file of a workload.", metavar="CSV")],
    model: Annotated[
        ModelName, typer.Option(help="Model to fit and to draw from; best: that of least AIC.")
    ] = ModelName.best,
    width: Annotated[
        str | None, typer.Option("--bin", help="Width of a bin.", metavar="TIME", show_default="the file's")
    ] = None,
    bins: Annotated[int | None, typer.Option(min=1, help="How many bins.", show_default="as many as known")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Put the largest where the largest was: bursts stay bursts.")
    ] = False,
    csv_bin: Annotated[
        str | None,
        typer.Option(
            "--csv-bin",
            help="Width of the bins of CSV files.",
            metavar="TIME",
            show_default="the usual time between their rows",
        ),
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="Link of a results folder, such as h0-edge0.0.", show_default="the only one")
    ] = None,
) -> None:
    """Fit a model to volumes and draw a series from it that a workload of the simulator can follow."""
    with errors():
        from anabranch.traffic import synthetic  # noqa: PLC0415

        measured = _series(file, width, csv_bin, link)
        fitted = _fitted(measured, model)
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


def _series(file: Path, width: str | None, csv_bin: str | None, link: str | None) -> Volumes:
    """The one series of a file, at a width."""
    from anabranch.traffic import quantities, reading  # noqa: PLC0415

    csv_s = None if csv_bin is None else quantities.seconds(csv_bin, "--csv-bin")
    found = reading.read(file, bin_s=csv_s, link=link)
    names = list(dict.fromkeys(one.name for one in found))
    if len(names) > 1:
        shown = ", ".join(map(repr, names[:5])) + (" ..." if len(names) > 5 else "")  # noqa: PLR2004 - as many as fit
        raise AnabranchError(
            f"{file}: {len(names)} series ({shown}): which one?", hint="--link NAME, or a file of one series"
        )
    found.sort(key=lambda one: one.bin_ns)
    if width is None:
        return found[0]
    asked = quantities.seconds(width, "--bin")
    return next((one for one in reversed(found) if round(asked * 1e9) % one.bin_ns == 0), found[0]).at(asked)


def _fitted(measured: Volumes, model: ModelName) -> Fitted:
    from anabranch.traffic import fit  # noqa: PLC0415
    from anabranch.traffic.outcome import Inconclusive  # noqa: PLC0415

    study = fit.fit(measured) if model is ModelName.best else fit.fit(measured, [model.value])
    if study.best is None:
        reasons = dict.fromkeys(f.reason for f in study.fits.values() if isinstance(f, Inconclusive))
        raise AnabranchError(f"{measured.source or measured.name}: no model has a fit: {'; '.join(reasons)}")
    return study.fitted[0]
