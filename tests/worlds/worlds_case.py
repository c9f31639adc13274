"""What is compared: three transfers under four conditions, and what is measured of one run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent

SYMBOL_BYTES = 1420
FRAME_BYTES = 1514
OBJECT_BYTES = 4_000_000
SOURCE_SYMBOLS = -(-OBJECT_BYTES // SYMBOL_BYTES)

CONDITIONS = ("no loss", "1 % loss", "trimming", "short queue")
"""In the order of the sweeps of the lab files."""


@dataclass(frozen=True)
class Transfer:
    """Who sends to whom; `file` names its lab file and its scenario."""

    file: str
    name: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    slow: bool
    """Whether the link to `d` is slow where the queue is short; else the senders meet at it."""


TRANSFERS = (
    Transfer("unicast", "one to one", ("a",), ("d",), slow=True),
    Transfer("group", "one to three", ("a",), ("b", "c", "d"), slow=True),
    Transfer("fetch", "three to one", ("b", "c", "d"), ("a",), slow=False),
)


@dataclass(frozen=True)
class Measured:
    """One run. Bytes are those of Ethernet frames without checksum."""

    symbols: int
    """Encoding symbols that the senders put on the wire; to a group once."""
    pulls: int
    """Datagrams that the receivers sent: pulls, but for a handful."""
    uplink_bytes: int
    """What the senders' links carried."""
    seconds: float
    """Until the last receiver has the object."""
    trimmed: int
    lost: int
    """Packets dropped by queues or links."""
    copies: int
    """Symbols of a group that were sent to one receiver as well."""


METRICS = ("symbols", "pulls", "uplink_bytes", "seconds")
"""Those that are compared."""


@dataclass(frozen=True)
class Runs:
    """The runs of one case in one world. `changed` says what is not as in the comparison, if anything."""

    transfer: str
    condition: str
    world: str
    changed: str
    runs: tuple[Measured, ...]

    def median(self, metric: str) -> float:
        """Over the runs: other programs hold single ones up."""
        return float(median(getattr(run, metric) for run in self.runs))

    def as_json(self) -> dict[str, object]:
        """For the record."""
        return asdict(self)

    @staticmethod
    def of_json(data: dict[str, object]) -> "Runs":
        """What `as_json` wrote."""
        runs = data.pop("runs")
        assert isinstance(runs, Sequence)
        return Runs(runs=tuple(Measured(**run) for run in runs), **data)  # type: ignore[arg-type]


def replaced(text: str, changes: Sequence[tuple[str, str]]) -> str:
    """The text with each first text of a pair, which must be there, replaced by the second."""
    for old, new in changes:
        if old not in text:
            raise ValueError(f"{old!r} is not there to be replaced")
        text = text.replace(old, new)
    return text
