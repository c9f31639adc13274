"""Broken inputs by kind, and what the program must say to each.

One module per kind holds its cases as data, in a tuple ``CASES``; `KINDS` lists the modules. ``test_broken.py`` runs
every case in a process of its own (`runner`), most of them forked (`forks`). To add one, write a `Case` into the module
of its kind.
"""

from broken.case import Case

__all__ = ["Case"]

KINDS = ("scenarios", "results", "captures", "tables")
"""Modules of cases in this package."""
