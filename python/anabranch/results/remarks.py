"""What to know before trusting runs, as the core finds it before they begin: put into few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anabranch.results.manifest import Remark

NAMED = 4
"""Remarks that a line holds."""

MOST_LINES = 8
"""Lines."""


def remarked(runs: Iterable[Sequence[Remark]]) -> list[str]:
    """Put what is to be said of many runs into few lines: one for each hint, and before it what it is a hint to.

    Examples
    --------
    >>> from anabranch.results.manifest import Remark
    >>> ndp = Remark("ndp: 12 packets fill 17 %", "a larger window")
    >>> tcp = Remark("tcp: 64 KB fill 60 %", "a larger window")
    >>> remarked([[ndp], [ndp, tcp], []])
    ['ndp: 12 packets fill 17 %; tcp: 64 KB fill 60 % (hint: a larger window)']
    """
    # What differs in its hint only (the load that fits depends on headers) is said once.
    hints: dict[str, str | None] = {}
    for remarks in runs:
        for remark in remarks:
            hints.setdefault(remark.text, remark.hint)
    by_hint: dict[str | None, list[str]] = {}
    for text, hint in hints.items():
        by_hint.setdefault(hint, []).append(text)
    lines = []
    for hint, texts in by_hint.items():
        more = [f"and {len(texts) - NAMED} more"] if len(texts) > NAMED else []
        lines.append("; ".join([*texts[:NAMED], *more]) + (f" (hint: {hint})" if hint else ""))
    more = [f"and {len(lines) - MOST_LINES} more remarks, in manifest.json"] if len(lines) > MOST_LINES else []
    return [*lines[:MOST_LINES], *more]
