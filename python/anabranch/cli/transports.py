"""The command ``anabranch transports``: what there is to choose from."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.common import errors, stdout
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from anabranch.running.transports import Transport

DETAILS = "--json has their keys"

EPILOG = """\
Exit codes: 0 done; 1 the simulator is not installed; 2 there is no such transport; 70 a fault of this program.
"""


def transports_command(
    name: Annotated[
        str | None, typer.Argument(help="One transport: all that is known of it.", metavar="[NAME]")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """List the transports: what each is, what drives it, what switches do for it, its presets, and its page."""
    with errors():
        from anabranch.running.transports import transports  # noqa: PLC0415 - `--help` can do without

        every = transports()
        chosen = every if name is None else (_find(every, name),)
        if as_json:
            typer.echo(json.dumps([asdict(one) for one in chosen], indent=2))
        elif name is None:
            stdout().print(_table(chosen))
        else:
            typer.echo("\n".join(lines(chosen[0])))


def _find(every: Sequence[Transport], name: str) -> Transport:
    found = next((one for one in every if one.name == name.lower()), None)
    if found is None:
        names = [one.name for one in every]
        near = difflib.get_close_matches(name.lower(), names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise AnabranchError(f"no transport is named {name!r}", hint=hint)
    return found


def _table(every: Sequence[Transport]) -> Table:
    from rich import box  # noqa: PLC0415 - `--help` can do without
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("transport", "driven by", "queue", "paths"):
        table.add_column(heading, no_wrap=True)
    table.add_column("what it is")
    for one in every:
        presets = ", ".join(preset.name for preset in one.presets)
        what = f"{one.summary} Presets: {presets}." if presets else one.summary
        table.add_row(one.name, one.driven_by, one.queue, one.routing, what)
    return table


def lines(one: Transport) -> list[str]:
    """Say all that is known of a transport."""
    groups = "of its own" if one.groups else "by unicast (workload.fallback)"
    rows = [
        ("driven by", one.driven_by),
        ("switches", f"queue = {one.queue}: {one.queue_summary}"),
        *([("", "made for those that lose nothing: [switch.pfc]")] if one.lossless else []),
        *([("", "write the state of their ports into packets (INT)")] if one.telemetry else []),
        ("paths", f"mode = {one.routing}: {one.routing_summary}"),
        ("groups", f"one-to-many and many-to-one sessions {groups}"),
        *_presets(one),
        ("page", one.page),
        ("keys", "docs/reference/scenario.md, [transport]"),
    ]
    width = max(len(label) for label, _ in rows)
    return [f"{one.name}: {one.summary}", *(f"  {label:<{width}}  {text}" for label, text in rows)]


def _presets(one: Transport) -> list[tuple[str, str]]:
    """Say which presets there are, each with its source on a line of its own."""
    rows = []
    for preset in one.presets:
        rate = preset.rate or "any rate"
        rows += [("", f"{preset.name}, {rate}: {preset.summary}"), ("", f"  from {preset.source}")]
    return [("presets", f"preset = NAME in [transport] ({DETAILS}):"), *rows] if rows else []
