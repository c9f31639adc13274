"""What a statistic is when it has no value: a reason, never a NaN."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """No answer.

    Attributes
    ----------
    reason
        Why, as a clause that fits into a sentence.
    """

    reason: str

    def __str__(self) -> str:
        return f"inconclusive: {self.reason}"


LEVEL = 0.1
"""A likelihood ratio decides if its p-value is below this, and a power law is plausible if its own is above: the
threshold of Clauset et al. (2009) and of the paper, section III."""
