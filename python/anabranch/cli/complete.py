"""What shells complete: names of experiments, and scenario files."""

from __future__ import annotations

from pathlib import Path

from anabranch.base import bundle
from anabranch.errors import AnabranchError


def experiments(incomplete: str) -> list[tuple[str, str]]:
    """Names of experiments and papers that begin so, with their titles."""
    from anabranch.cli import catalogue  # noqa: PLC0415

    try:
        known, _ = catalogue.entries()
    except (AnabranchError, OSError):
        return []
    names = [(one.name, one.title) for one in known]
    papers = [(paper, "all of them") for paper in dict.fromkeys(one.paper for one in known)]
    return [(name, help_) for name, help_ in [*papers, *names] if name.startswith(incomplete)]


def scenarios(incomplete: str) -> list[str]:
    """Scenarios that come with Anabranch and begin so, where no file does: the shell completes files itself."""
    folder = Path(incomplete).parent if incomplete else Path()
    try:
        # Nothing typed yet: everything begins so.
        if incomplete and any(str(file).startswith(str(Path(incomplete))) for file in folder.glob("*")):
            return []
        return [name for name in bundle.scenarios() if incomplete and name.startswith(incomplete)]
    except (AnabranchError, OSError, ValueError):
        return []
