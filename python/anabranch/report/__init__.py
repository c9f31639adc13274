"""The report: one self-contained HTML file that works offline, from a mail attachment, on paper.

`write` puts it beside the results. Everything it shows is computed from the result tables; it makes no network request
(a Content-Security-Policy in the file forbids any).
"""

from anabranch.report.page import html, write

__all__ = ["html", "write"]
