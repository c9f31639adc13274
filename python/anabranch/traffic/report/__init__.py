"""A report of traces: the figures and the table of Alasmar et al., for any set of them, in one offline page."""

from anabranch.traffic.report.findings import findings
from anabranch.traffic.report.page import Report, make, render, write, write_figures
from anabranch.traffic.report.study import DIMENSION_WIDTHS, EPSILONS, Trace, folders, study
from anabranch.traffic.report.uses import chosen

__all__ = [
    "DIMENSION_WIDTHS",
    "EPSILONS",
    "Report",
    "Trace",
    "chosen",
    "findings",
    "folders",
    "make",
    "render",
    "study",
    "write",
    "write_figures",
]
