"""How ``--help`` reads: what goes where an option takes a value, in words, and no names of types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 100
"""Columns of help at most."""

METAVARS = {"int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER", "Path": "PATH", "str": "TEXT"}
"""What stands for a value of a type, where the option does not say it better."""


def metavar(option: TyperOption) -> str:
    """What stands for an option's value: its choices, or a word."""
    nothing: Any = None  # types need no context
    shown = str(option.display_type_rich(nothing)).strip("<>.")
    listed = re.fullmatch(r"list\[(.*)\]", shown)
    return METAVARS.get(listed[1] if listed else shown, shown)


def words(help_text: str) -> str:
    """Write the limits and defaults that Typer adds to a text in words.

    Examples
    --------
    >>> words("Seeds.  [default: (the scenario's); x>=1]")
    "Seeds.  [default: the scenario's; at least 1]"
    >>> words("Bytes.  [default: 1436; 1<=x<=65535]")
    'Bytes.  [default: 1436; 1 to 65535]'
    >>> words("Runs at a time; 0: one per core.  [default: 0; x>=0]")
    'Runs at a time; 0: one per core.  [default: 0]'
    """
    text, mark, added = help_text.rpartition("  [")
    if not mark:
        return help_text
    added = re.sub(r"default: \((.*)\)(?=[;\]])", r"default: \1", added)
    added = re.sub(r"; x>=0\b", "", added)
    added = re.sub(r"x>=(\d+)", r"at least \1", added)
    added = re.sub(r"(\d+)<=x<=(\d+)", r"\1 to \2", added)
    return f"{text}{mark}{added}"


class Command(TyperCommand):
    """A command whose help names values by what they are."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - passed on
        super().__init__(*arguments, **named)
        for param in self.params:
            if isinstance(param, TyperOption) and not param.is_flag and param.metavar is None:
                param.metavar = metavar(param)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's own class, which it does not export
        """Write the arguments of the usage line: as they are named, in brackets where they may be left out."""
        pieces = [self.options_metavar] if self.options_metavar else []
        arguments = (param for param in self.get_params(ctx) if isinstance(param, TyperArgument))
        return [*pieces, *(param.metavar or str(param.name).upper() for param in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Write the lists of arguments and options."""
        lists: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            if isinstance(param, TyperArgument):
                name = (param.metavar or str(param.name).upper()).strip("[].")
            lists["Arguments" if isinstance(param, TyperArgument) else "Options"].append((name, words(text)))
        for title, records in lists.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class App(typer.Typer):
    """Commands with such help."""

    def command(self, name: str | None = None, **named: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - passed on
        """Add a command, as `typer.Typer.command` does."""
        return super().command(name, cls=Command, **named)
