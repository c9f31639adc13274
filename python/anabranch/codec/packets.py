"""Packets of an object in one piece of memory, which NumPy sees without a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.codec.config import PAYLOAD_ID, Config

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Packets:
    r"""Packets of one symbol each, as they are sent: 4 bytes of payload ID, T bytes of symbol (RFC 6330 §4.4.2).

    They can be counted, iterated over and indexed; a packet is a memory view of 4 + T bytes.

    Attributes
    ----------
    config
        The description of their object.
    data
        All packets, one after the other.

    Examples
    --------
    >>> from anabranch import codec
    >>> sent = codec.encode(b"What goes over the wire", symbol_size=8, repair=1)
    >>> [bytes(packet[4:]) for packet in sent][:3]
    [b'What goe', b's over t', b'he wire\x00']
    >>> sent.esis
    array([0, 1, 2, 3], dtype=uint32)
    >>> sent.is_repair
    array([False, False, False,  True])
    """

    config: Config
    data: bytes

    def __len__(self) -> int:
        return len(self.data) // self.config.packet_size

    def __getitem__(self, index: int) -> memoryview:
        # `range` knows negative indices, and what is out of range.
        start = range(0, len(self.data), self.config.packet_size)[index]
        return memoryview(self.data)[start : start + self.config.packet_size]

    def __iter__(self) -> Iterator[memoryview]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} packets of {self.config.packet_size} bytes>"

    @property
    def array(self) -> npt.NDArray[np.uint8]:
        """The packets, shape (n, 4 + T): a read-only view of `data`."""
        import numpy as np  # noqa: PLC0415 - the command line can do without

        return np.frombuffer(self.data, np.uint8).reshape(-1, self.config.packet_size)

    @property
    def symbols(self) -> npt.NDArray[np.uint8]:
        """The symbols, shape (n, T): a read-only view of `data`."""
        return self.array[:, PAYLOAD_ID:]

    @property
    def block_numbers(self) -> npt.NDArray[np.uint8]:
        """The number of each packet's block (SBN), from 0, shape (n,): a read-only view of `data`."""
        return self.array[:, 0]

    @property
    def esis(self) -> npt.NDArray[np.uint32]:
        """The encoding symbol ID of each packet, shape (n,): below K for source symbols, below 2^24 for all."""
        import numpy as np  # noqa: PLC0415 - as above

        ids = np.ascontiguousarray(self.array[:, :PAYLOAD_ID]).view(">u4").reshape(-1)
        return (ids & 0xFF_FFFF).astype(np.uint32)

    @property
    def is_repair(self) -> npt.NDArray[np.bool_]:
        """Whether each packet holds a repair symbol, shape (n,)."""
        import numpy as np  # noqa: PLC0415 - as above

        return self.esis >= np.array(self.config.source_symbols, np.uint32)[self.block_numbers]
