"""How many of a paper's claims came out, and what became of the others: in one sentence, from the rows.

The claims are those at the paper's own settings. What was measured at other settings is counted apart; what the paper
fed its experiments with is no claim.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, get_args

from anabranch.reproduce.claims import TOLERANCE
from anabranch.reproduce.comparison import GOOD
from anabranch.reproduce.model import ExplanationKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.comparison import Row

PAPER, VARIANT = "at the paper's settings", "at other settings"


def claims(rows: Sequence[Row], *, variant: bool = False) -> list[Row]:
    """The rows that are claims at the paper's settings, or those of variants."""
    return [row for row in rows if not row.claim.input and row.variant == variant]


def inputs(rows: Sequence[Row]) -> list[Row]:
    """The rows of what the paper fed its experiments with."""
    return [row for row in rows if row.claim.input]


def told(rows: Sequence[Row], where: str) -> str:
    """Count rows by verdict, in a sentence; empty without any.

    Examples
    --------
    >>> told([], PAPER)
    ''
    """
    if not rows:
        return ""
    found = Counter(row.verdict for row in rows)
    kinds = Counter(row.kind for row in rows if row.verdict == "explained")
    by_kind = ", ".join(f"{kinds[kind]} {kind}" for kind in get_args(ExplanationKind) if kinds[kind])
    near = f"{100 * TOLERANCE:.0f} %"
    counts = [
        (sum(found[one] for one in GOOD), f"holds or lies within {near}", f"hold or lie within {near}"),
        (found["explained"], f"deviates and is explained ({by_kind})", f"deviate and are explained ({by_kind})"),
        (found["unexplained"], "is unexplained", "are unexplained"),
        (found["undecided"], "is not decided", "are not decided"),
        (found["missing"], "is not measured", "are not measured"),
        (found["quick"], "is of the quick size", "are of the quick size"),
    ]
    parts = [f"{count} {one if count == 1 else several}" for count, one, several in counts if count]
    said = f"Of {len(rows)} claim{'' if len(rows) == 1 else 's'} {where} {', '.join(parts)}."
    alone = sum(row.alone for row in rows)
    return f"{said} {alone} of these numbers {'is' if alone == 1 else 'are'} of one seed." if alone else said


def summary(rows: Sequence[Row]) -> list[str]:
    """The sentences of a paper: its claims, then those of variants."""
    apart = told(claims(rows, variant=True), VARIANT)
    return [
        said for said in (told(claims(rows), PAPER), apart and f"Counted apart: {apart[0].lower()}{apart[1:]}") if said
    ]
