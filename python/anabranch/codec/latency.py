"""Speed and decode latency of the project's RaptorQ codec, measured on this machine.

`bench` measures; the `LatencyTable` that it returns can be written to a file that a scenario names:
``transport.scdp.decode_table = "FILE"``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import core, targets
from anabranch.codec.config import SYMBOL_SIZE
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TABLES = ("measured",)
"""Tables that come with the program: names for ``transport.scdp.decode_table``."""

LOSSES = (1, 5, 10, 20, 50, 100)
"""Loss rates in per cent that `LatencyTable.rows` shows."""


@dataclass(frozen=True, slots=True)
class Row:
    """One block size.

    Attributes
    ----------
    source_symbols
        K.
    encode_bps, decode_bps
        Source data by time, in bits per second: encoding it to one repair symbol; decoding with 5 % lost, the handing
        over of symbols included.
    decode_ns
        Loss rate in per cent to nanoseconds from the last symbol to the block; none for rates below one symbol.
    slowest_ns
        The most that any number of losses takes: what a simulation uses.
    """

    source_symbols: int
    encode_bps: float
    decode_bps: float
    decode_ns: Mapping[int, int]
    slowest_ns: int


@dataclass(frozen=True, slots=True)
class LatencyTable:
    """What was measured, as it is written to a file.

    Attributes
    ----------
    data
        The table: ``entries`` and ``encodes``, and where they come from (``date``, ``commit``, ``command``,
        ``machine``, ``load``, ``compiler``, ``level``).
    """

    data: Mapping[str, Any]

    @property
    def symbol_size(self) -> int:
        """Bytes of a symbol."""
        return int(self.data["encodes"][0]["symbol_size"])

    @property
    def origin(self) -> str:
        """Machine, instruction set and date in one line."""
        return ", ".join(str(self.data[key]) for key in ("machine", "level", "date"))

    def rows(self) -> list[Row]:
        """Sum the table up, one row for each number of source symbols, in ascending order."""
        encodes = {entry["source_symbols"]: entry for entry in self.data["encodes"]}
        return [self._row(encodes[k]) for k in sorted(encodes)]

    def _row(self, encode: Mapping[str, Any]) -> Row:
        k = encode["source_symbols"]
        entries = {e["lost"]: e for e in self.data["entries"] if e["source_symbols"] == k and e["lost"] > 0}
        # As many as the measurement takes for this rate: rounded half up, at least one.
        lost = {rate: max(1, (k * rate + 50) // 100) for rate in LOSSES}
        decode = entries[lost[5]]
        bits = 8e9 * k * encode["symbol_size"]
        return Row(
            source_symbols=k,
            encode_bps=bits / encode["encode_ns"]["median"],
            decode_bps=bits / (decode["receive_ns"]["median"] + decode["decode_ns"]["median"]),
            decode_ns={rate: entries[n]["decode_ns"]["median"] for rate, n in lost.items() if k * rate >= 100},  # noqa: PLR2004
            slowest_ns=max(entry["decode_ns"]["median"] for entry in entries.values()),
        )

    def to_json(self) -> str:
        """Write the table as JSON, one measurement a line."""
        parts = []
        for key, value in self.data.items():
            text = json.dumps(value)
            if isinstance(value, list):
                text = "[\n" + ",\n".join(f"  {json.dumps(item)}" for item in value) + "\n ]"
            parts.append(f" {json.dumps(key)}: {text}")
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def write(self, file: str | Path) -> None:
        """Write the table to a file, which appears when it is complete."""
        with targets.whole(file) as draft:
            draft.write_text(self.to_json(), encoding="utf-8")


def bench(
    *,
    symbol_size: int = SYMBOL_SIZE,
    source_symbols: Sequence[int] | None = None,
    quick: bool = False,
    command: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> LatencyTable:
    """Measure how fast blocks are encoded and decoded, by number of source symbols and losses.

    One thread, its processor time, memory warm, plans made beforehand. A block of K symbols loses some of them; as many
    repair symbols and two more arrive in their place, as SCDP's receivers ask for.

    Parameters
    ----------
    symbol_size
        Bytes of a symbol, 1 to 65535.
    source_symbols
        Numbers K of source symbols, each 1 to 56403; default: from 1 to 10000.
    quick
        Few samples: to try it, not to quote it.
    command
        Command line to keep in the table; default: the equivalent ``anabranch codec bench``.
    progress
        Told how many measurements are done and how many there are.

    Returns
    -------
    LatencyTable
        What was measured.

    Raises
    ------
    AnabranchError
        If a number is out of range.
    """
    chosen = None if source_symbols is None else sorted(set(source_symbols))
    line = command or command_line(symbol_size=symbol_size, source_symbols=chosen, quick=quick)
    try:
        text = core.call("codec_bench", symbol_size, chosen, quick, line, progress)
    except (ValueError, OverflowError) as error:
        raise AnabranchError(f"codec bench: {error}") from error
    return LatencyTable(json.loads(text))


def command_line(
    *, symbol_size: int = SYMBOL_SIZE, source_symbols: Sequence[int] | None = None, quick: bool = False
) -> str:
    """Write the command that measures the same.

    Examples
    --------
    >>> command_line(source_symbols=[10, 100], quick=True)
    'anabranch codec bench --symbol-size 1436 --k 10,100 --quick'
    """
    chosen = [] if source_symbols is None else ["--k", ",".join(str(k) for k in source_symbols)]
    parts = ["anabranch", "codec", "bench", "--symbol-size", str(symbol_size), *chosen, *(["--quick"] if quick else [])]
    return " ".join(parts)
