"""The report: one self-contained HTML file that works offline, from a mail attachment, on paper.

`write` puts it beside the results. Everything it shows is computed from the result tables; it makes no network request
(a Content-Security-Policy in the file forbids any).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.showing.report.page import html, write

__all__ = ["html", "write"]


def __getattr__(name: str) -> object:
    # Altair takes a second to load, and the parts without charts can do without.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module("anabranch.showing.report.page"), name)
    return value
