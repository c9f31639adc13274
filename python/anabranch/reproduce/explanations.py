"""What an explanation must have to explain a deviation. There are three kinds; all else is not explained.

*Measured* names experiments of ours and shows a number that one of them recorded, other than those that it explains.
*Arithmetic* shows a number that it computes. That *the paper does not say* something needs neither. A text that says
that something was not examined explains nothing, whatever it calls itself. What lacks what its kind needs counts as not
explained.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anabranch.reproduce import prose

if TYPE_CHECKING:
    from anabranch.reproduce.model import Experiment, Explanation

OPEN = re.compile(
    r"\b(?:not (?:been )?(?:examined|explained|investigated|known|understood)|nobody knows|unclear|unexplained)\b",
    re.IGNORECASE,
)
"""Words of a text that leaves the reason open."""
RECORDED = {"claim", "record", "interval"}
"""References to numbers of ours."""


def lacks(why: Explanation, experiment: Experiment) -> str:
    """What an explanation that an experiment shows lacks to be of its kind; empty if it lacks nothing."""
    if why.kind == "not explained":
        return ""
    text = prose.whole(why.text, experiment)
    if found := OPEN.search(" ".join(text.split())):
        return f"it says {found[0]!r}: expected the kind 'not explained'"
    refers = prose.references(text)
    if why.kind == "measured":
        own = {claim.key for claim in experiment.claim if experiment.explained.get(claim.explanation) is why}
        repeated = own | {f"{experiment.name}#{key}" for key in own}
        told = [target for kind, target in refers if kind in RECORDED and not (kind == "claim" and target in repeated)]
        shown = {target.rpartition("#")[0] or experiment.name for target in told}
        if not shown & set(why.experiments):
            return f"measured, but no number of {', '.join(why.experiments)} is in its text"
    if why.kind == "arithmetic" and not any(kind == "=" for kind, _ in refers):
        return "arithmetic, but its text computes nothing: expected {= EXPRESSION}"
    return ""
