"""Errors that a person can do something about. The command line prints them without a traceback."""


class AnabranchError(Exception):
    """Base of the package's own errors.

    Parameters
    ----------
    message
        What is wrong, and where.
    hint
        What to do about it, on a line of its own when printed.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class ScenarioError(AnabranchError):
    """A scenario that cannot be read or cannot be run; the message names file, line and key."""


class ResultError(AnabranchError):
    """A result folder that is missing, incomplete or not one of ours."""


class StatisticsError(AnabranchError):
    """A statistic that would be wrong or misleading if computed as asked."""


class TrafficError(AnabranchError):
    """A capture or table that cannot be read, or cannot be read as asked; the message names the file and the place."""


class RoutingError(AnabranchError):
    """A question about routing that has no answer: a fabric, traffic or scheme that cannot be read or used."""


class CodecError(AnabranchError):
    """An object that cannot be encoded, a packet that cannot be used, or a description beyond the limits."""


class IncompleteError(CodecError):
    """An object that cannot be decoded from the packets that arrived.

    Attributes
    ----------
    missing
        How many more symbols, of all blocks together, must arrive at least.
    """

    def __init__(self, message: str, *, missing: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.missing = missing


class ClusterError(AnabranchError):
    """Machines that cannot be used for a sweep, or were lost during it; what had finished is kept."""


class StoreError(AnabranchError, OSError):
    """A result folder that must not be written, or an object store that does not answer; the message names it."""


class SupersededError(StoreError):
    """The sweep of a worker is gone, and another one may write to its results."""


class CoreMissingError(AnabranchError):
    """The compiled simulator is not installed."""


class PanicError(RuntimeError):
    """A run made the simulator panic, which is a fault of the simulator; the message names the run."""
