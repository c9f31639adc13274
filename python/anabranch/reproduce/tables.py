"""A table of claims in Markdown: a row for each, with a column for each setting under which it was measured.

An experiment begins with a row of its name, its size and the settings of the columns below. What all rows of it share
is said there, and not again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anabranch.base import units
from anabranch.reproduce.claims import TOLERANCE
from anabranch.reproduce.comparison import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anabranch.reproduce.causes import Causes
    from anabranch.reproduce.comparison import Row

NEAR = f"within {100 * TOLERANCE:.0f} %"
WORDS: Mapping[str, str] = {"undecided": "not decided", "quick": "not judged"}
"""Verdicts that are shorter in a table than elsewhere."""
APART = {"holds within the interval", "not measured", "not decided"}
"""Those that are told beside how many numbers hold."""


def grid(*lines: Sequence[str]) -> str:
    """A table with its head; a cell has no bars."""
    head, *others = ("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *others])


def statements(rows: Sequence[Row]) -> list[list[Row]]:
    """Put the rows together that are one line of a table: a statement of an experiment, under its settings."""
    found: list[list[Row]] = []
    lines: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        key = (row.experiment.name, row.claim.statement, row.claim.unit)
        if key not in lines or row.claim.setting in _settings([lines[key]]):
            lines[key] = []
            found.append(lines[key])
        lines[key].append(row)
    return found


def table(rows: Sequence[Row], causes: Causes, old: Mapping[str, str], section: str = "") -> str:
    """Write a table.

    Parameters
    ----------
    rows
        The claims.
    causes
        Those of the section, which get letters here.
    old
        The experiments whose records are older than the model.
    section
        What stands above the table, and so not in its rows.
    """
    groups = list(_groups(statements(rows)))
    columns = max(len(_settings(lines)) for lines in groups)
    table = [["the paper says", "paper", *_filled(["ours"], columns), "verdict, cause"]]
    named = ""
    for lines in groups:
        one, settings = lines[0][0].experiment, _settings(lines)
        size = _size([row for row in rows if row.experiment is one])
        age = ", older than the model" if one.name in old else ""
        name = f"**`{one.name}`**" if named == one.name else f"**`{one.name}`** {size}{age}"
        named = one.name
        table.append([name, "", *_filled([f"*{of}*" if of else "" for of in settings], columns), ""])
        for line, before in zip(lines, [None, *lines], strict=False):
            numbers = _filled(_numbers(line, settings, size), columns)
            said = _said(line[0].claim.statement, before[0].claim.statement if before else "")
            where = _where(line, section)
            said = f"{said} ({where})" if where else said
            table.append([said, _paper(line), *numbers, _verdict(line, causes)])
    return grid(*table)


def _said(statement: str, before: str) -> str:
    """A statement; what it has before a colon is left out where the one before begins the same."""
    begin, colon, rest = statement.partition(": ")
    return f"… {rest}" if colon and before.startswith(f"{begin}: ") else statement


def _groups(lines: Sequence[list[Row]]) -> Iterator[list[list[Row]]]:
    """Divide lines so that those of one group are of one experiment and share settings; those without are first."""
    for name in dict.fromkeys(line[0].experiment.name for line in lines):
        groups: list[list[list[Row]]] = []
        for line in (one for one in lines if one[0].experiment.name == name):
            joined = [one for one in groups if {*_settings(one)} & {*_settings([line])}]
            groups = [one for one in groups if one not in joined]
            groups.append([*(of for one in joined for of in one), line])
        yield from sorted(groups, key=lambda group: _settings(group) != [""])


def _settings(lines: Sequence[Sequence[Row]]) -> list[str]:
    """The settings of these lines, in the order in which their experiment first has them."""
    found = {row.claim.setting for line in lines for row in line}
    return [one for one in dict.fromkeys(claim.setting for claim in lines[0][0].experiment.claim) if one in found]


def _filled(cells: Sequence[str], columns: int) -> list[str]:
    return [*cells, *[""] * (columns - len(cells))]


def _size(rows: Sequence[Row]) -> str:
    """The size of an experiment, with the number of seeds that most of its claims have."""
    ((size, _),) = Counter(row.size for row in rows).most_common(1)
    return size


def _where(line: Sequence[Row], section: str) -> str:
    """The places of a statement, each part once and without the section that stands above."""
    parts = [part for row in line for part in row.claim.where.split(", ")]
    return ", ".join(part for part in dict.fromkeys(parts) if part != section)


def _bare(row: Row) -> str:
    """The paper's number without its unit."""
    return row.paper.removesuffix(row.claim.unit).rstrip()


def _paper(line: Sequence[Row]) -> str:
    """The paper's number; where it is another one for each setting it stands beside ours."""
    papers = list(dict.fromkeys(row.paper for row in line))
    return papers[0] if len(papers) == 1 else f"(…) {line[0].claim.unit}".rstrip()


def _numbers(line: Sequence[Row], settings: Sequence[str], size: str) -> list[str]:
    """Ours, for each setting: plain where it agrees, bold where nothing explains it; told if it is of another size."""
    several = len({row.paper for row in line}) > 1
    cells = {}
    for row in line:
        mean = row.ours.mean
        said = "–" if mean is None else units.with_interval(mean, row.ours.ci)
        mark = {"explained": "*", "unexplained": "**"}.get(row.verdict, "")
        apart = f" ({row.size.rpartition(', ')[2]})" if row.size != size and mean is not None else ""
        cells[row.claim.setting] = f"{mark}{said}{mark}{f' ({_bare(row)})' if several else ''}{apart}"
    return [cells.get(setting, "") for setting in settings]


def _verdict(line: Sequence[Row], causes: Causes) -> str:
    """What became of a statement: a word if all agrees, or of how many numbers it holds and why not of the others."""
    deviating = {"explained", "unexplained"}
    words = Counter(WORDS.get(row.verdict, row.words) for row in line if row.verdict not in deviating)
    why = _cause(line, causes)
    if len(words) == 1 and not why:
        return next(iter(words))
    good = sum(row.verdict in GOOD for row in line)
    near = NEAR if line[0].claim.relation == "equals" else "hold"
    said = [f"{good} of {len(line)} {near}"] if good else []
    said += [f"{count} {word.removeprefix('holds ')}" for word, count in words.items() if word in APART]
    return ", ".join([*said, why] if why else said)


def _cause(line: Sequence[Row], causes: Causes) -> str:
    """Why numbers deviate, in a word and the letters of the list below."""
    said: dict[str, list[str]] = {}
    for row in line:
        if row.verdict in {"explained", "unexplained", "undecided"}:
            word = {"explained": row.kind, "unexplained": "**unexplained**"}.get(row.verdict, "")
            said.setdefault(word, []).extend(causes.letters(row))
    each = ((word, ", ".join(dict.fromkeys(letters))) for word, letters in said.items())
    return ", ".join(filter(None, (f"{word} ({letters})" if letters else word for word, letters in each)))
