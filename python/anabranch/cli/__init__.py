"""The program ``anabranch``: data on standard output, everything else on standard error."""

from anabranch.cli.main import app, main

__all__ = ["app", "main"]
