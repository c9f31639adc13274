"""The command ``anabranch job``: a training job, a collective or a model's step, on a fabric under transports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.base import places, units
from anabranch.cli import elsewhere, progress, runs
from anabranch.cli.common import EXIT_CODES, errors, stderr
from anabranch.errors import AnabranchError
from anabranch.running import outputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anabranch.running.job import Summary
    from anabranch.running.presets import Preset

EPILOG = f"""\
Fabrics and models: `anabranch job --fabrics` and `--models` list them. The scenario is written beside the results, to
be changed and run with `anabranch run`. {EXIT_CODES}"""


def _fabrics(value: bool) -> None:  # noqa: FBT001 - typer calls it so
    if value:
        from anabranch.running.fabrics import fabrics  # noqa: PLC0415

        _list(fabrics())


def _models(value: bool) -> None:  # noqa: FBT001 - typer calls it so
    if value:
        from anabranch.running.models import models  # noqa: PLC0415

        _list(models())


def _list(listed: Iterable[Preset]) -> None:
    for one in listed:
        typer.echo(f"{one.name}\n  {one.summary}\n  source: {one.source}")
    raise typer.Exit


def job_command(
    what: Annotated[
        str,
        typer.Argument(
            help="A job: GOAL (.goal, .bin), a connection matrix of htsim (.cm), a Chakra trace (NAME.0.et), a "
            "workload of SimAI; a collective: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all; or a "
            "training step of a model: llama-3-70b.",
            metavar="FILE|NAME",
        ),
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            help="Settings that replace those of the scenario: fabric.oversubscription=4.", metavar="[KEY=VALUE]..."
        ),
    ] = None,
    *,
    fabric: Annotated[
        str, typer.Option(help="The fabric, sized for the ranks; --fabrics lists them.", metavar="NAME")
    ] = ("dgx-h100"),
    transport: Annotated[
        str, typer.Option(help="The transport, or several with commas between, to compare.", metavar="NAMES")
    ] = "ndp",
    packet: Annotated[str, typer.Option(help="A full packet, headers included.", metavar="BYTES")] = "4160B",
    file_format: Annotated[
        str | None, typer.Option("--format", help="goal, cm, chakra or simai.", show_default="by the file's ending")
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="Of a Chakra trace: the JSON file of its groups.", metavar="FILE")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=2, help="Ranks of a collective, or of a SimAI workload that does not say it.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="Size of a collective: 256MB.", metavar="BYTES")] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="Of a collective: ring, hierarchical ...; of a file that does not say it, and of a model: "
            "all-reduce=hierarchical, with commas between several.",
            metavar="NAME",
        ),
    ] = None,
    chunks: Annotated[
        int | None, typer.Option(min=1, help="Of a chain or two trees: chunks that follow each other.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Of a collective: how often.")] = 1,
    shape: Annotated[
        str | None,
        typer.Option(help="Of a model: what differs from its own shape, layers=16,data=8.", metavar="KEY=NUMBER,..."),
    ] = None,
    out: Annotated[str | None, elsewhere.flag("out")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the statistics as JSON instead of a table.")] = False,
    seeds: Annotated[int | None, elsewhere.flag("seeds")] = None,
    threads: Annotated[int, elsewhere.flag("threads")] = 0,
    time_limit_wall: Annotated[str | None, elsewhere.flag("time_limit_wall_s")] = None,
    progress_style: Annotated[progress.Style, progress.OPTION] = progress.Style.AUTO,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the scenario, tell how large it is, and stop.")
    ] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")] = False,
    resume: Annotated[bool, elsewhere.flag("resume")] = False,
    force: Annotated[bool, elsewhere.flag("force")] = False,
    _list_fabrics: Annotated[
        bool, typer.Option("--fabrics", callback=_fabrics, is_eager=True, help="List the fabrics and their sources.")
    ] = False,
    _list_models: Annotated[
        bool, typer.Option("--models", callback=_models, is_eager=True, help="List the models and their sources.")
    ] = False,
) -> None:
    """Run a training job, a collective or a model on a fabric: how long a step takes, and what bounds it."""
    with errors():
        from anabranch.running import job as jobs  # noqa: PLC0415 - `--help` can do without
        from anabranch.running import presets  # noqa: PLC0415
        from anabranch.running.fabrics import fabric as named  # noqa: PLC0415
        from anabranch.running.models import model  # noqa: PLC0415

        chosen = named(fabric)
        transports, settings = _transports(transport), list(overrides or ())
        told = [ranks, size, algorithm, *(f"{n}x" for n in (rounds,) if n > 1), shape]
        home = Path("out", _name(what, told, fabric, transports))
        beside = home if out is None or places.is_url(out) else Path(out)
        scenario = beside.with_name(f"{beside.name}.toml")
        of_collectives = {"--size": size, "--chunks": chunks, "--rounds": rounds if rounds > 1 else None}
        of_files = {"--format": file_format, "--groups": groups}
        preset = None
        if what in jobs.COLLECTIVES:
            _refuse(f"{what} is a collective", {**of_files, "--shape": shape})
            if ranks is None or size is None:
                raise AnabranchError(
                    f"{what} needs --ranks and --size", hint=f"anabranch job {what} --ranks 64 --size 256MB"
                )
            table = jobs.of_collective(what, ranks=ranks, size=size, algorithm=algorithm, chunks=chunks, rounds=rounds)
        elif what in presets.names("model"):
            _refuse(f"{what} is a model", {**of_files, **of_collectives, "--ranks": ranks})
            preset = model(what)
            table = jobs.of_model(preset.with_shape(_numbers(shape)), _algorithms(algorithm))
        else:
            _refuse(f"{what} is a file", {**of_collectives, "--shape": shape})
            table = jobs.of_file(
                Path(what), scenario.parent, format=file_format, ranks=ranks, algorithms=_algorithms(algorithm),
                groups=groups,
            )  # fmt: skip
        about = jobs.summary(table, scenario.parent, chosen.server)
        text = jobs.scenario(_title(what), table, chosen, transports, about=about, packet=packet, model=preset)
        _write(scenario, text, force=force)
        _tell(about, chosen.name, scenario)
        code = runs.run(
            scenario,
            settings,
            out=str(outputs.default(scenario, settings, seeds=seeds)) if out is None else out,
            how=elsewhere.chosen(
                time_limit_wall, progress_style, seeds=seeds, threads=threads, resume=resume, force=force
            ),
            as_json=as_json,
            dry_run=dry_run,
            report=not no_report,
        )
    raise typer.Exit(code)


def _transports(text: str) -> list[str]:
    from anabranch.running.transports import transports  # noqa: PLC0415 - `--help` can do without

    known = {one.name for one in transports()}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise AnabranchError(f"--transport {text}: there is no {name!r}", hint="`anabranch transports` lists them")
        if names.count(name) > 1:
            raise AnabranchError(f"--transport {text}: {name} is named twice")
    return names


def _algorithms(text: str | None) -> dict[str, str] | None:
    """Read ``all-reduce=hierarchical,all-gather=ring``."""
    if text is None:
        return None
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(kind and name for kind, _, name in pairs):
        raise AnabranchError(
            f"--algorithm {text}: of which collective?",
            hint="for a file or a model: --algorithm all-reduce=hierarchical",
        )
    return {kind.strip(): name.strip() for kind, _, name in pairs}


def _numbers(text: str | None) -> dict[str, float]:
    """Read ``layers=16,tflops=450.5``."""
    pairs = [] if text is None else [pair.partition("=") for pair in text.split(",")]
    for key, _, value in pairs:
        if not key.strip() or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", value.strip()):
            raise AnabranchError(f"--shape {text}: expected KEY=NUMBER", hint="--shape layers=16,data=8")
    return {key.strip(): float(value) if "." in value else int(value) for key, _, value in pairs}


def _title(what: str) -> str:
    return re.sub(r"\.(0\.et|goal|bin|cm|et|txt)$", "", Path(what).name)


def _name(what: str, told: Sequence[object], fabric: str, transports: Sequence[str]) -> str:
    """Name of a scenario: ``all-reduce-64-64MB-hierarchical-dgx-h100-ndp``."""
    parts = [_title(what), *(str(part) for part in told if part is not None), fabric, *transports]
    return re.sub(r"[^\w.+-]+", "_", "-".join(parts))


def _write(scenario: Path, text: str, *, force: bool) -> None:
    """Write the scenario, but not over another one, which somebody may have changed or written for something else."""
    if not force and scenario.exists() and scenario.read_bytes() != text.encode():
        raise AnabranchError(
            f"{scenario} is there and says something else",
            hint=f"`anabranch run {scenario}` runs it; --out DIR writes elsewhere, --force replaces it",
        )
    scenario.parent.mkdir(parents=True, exist_ok=True)
    scenario.write_text(text, encoding="utf-8")


def _refuse(what_it_is: str, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise AnabranchError(f"{option} does not apply: {what_it_is}")


def _tell(about: Summary, fabric: str, scenario: Path) -> None:
    said = [
        f"{about.ranks} ranks", f"{units.count(about.messages)} messages of {units.size(about.size_bytes)} in all",
        f"{units.count(about.computations)} computations",
    ]  # fmt: skip
    stderr().print(f"job: {', '.join(said)}; on {fabric}", markup=False, highlight=False)
    stderr().print(f"scenario: {scenario}", markup=False, highlight=False, soft_wrap=True)
