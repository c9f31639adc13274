"""From an object to packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.base import core
from anabranch.codec.buffers import flat
from anabranch.codec.config import SYMBOL_SIZE, Config
from anabranch.codec.config import whole as checked
from anabranch.codec.packets import Packets
from anabranch.errors import CodecError

if TYPE_CHECKING:
    from anabranch.codec.buffers import Memory

IDS = 2**24
"""Encoding symbol IDs of a block (RFC 6330 §3.2)."""

BLOCKS = 255
"""The most blocks that an object can have (RFC 6330 §3.3.3)."""


def encode(data: Memory, *, symbol_size: int | None = None, repair: int = 0, config: Config | None = None) -> Packets:
    """Make the packets of an object: of each block all source packets, then the repair packets.

    The interpreter is released while symbols are computed, so other threads go on. Memory that a ``bytes`` object owns
    is read where it is, also through memory views and NumPy arrays of it. All other memory (``bytearray``, arrays with
    memory of their own, memory maps) could be written to meanwhile: it is copied, one block at a time, at most 10 MiB
    unless `config` has larger blocks.

    Parameters
    ----------
    data
        The object: anything with C-contiguous memory.
    symbol_size
        T, bytes of a symbol, 1 to 65535; default: 1436, or what `config` says.
    repair
        Repair packets of each block. With K source symbols, there are 2^24 - K.
    config
        How to cut the object; default: ``Config.for_object(len(data), symbol_size)``.

    Returns
    -------
    Packets
        In the order of blocks, and in a block of ESIs.

    Raises
    ------
    CodecError
        If `data` has no contiguous memory or another length than `config` says, or a number is out of range.
    """
    whole = flat(data, "the object")
    chosen = _config(whole, symbol_size, config)
    repair = checked("repair", repair, 0, IDS)
    return Packets(chosen, core.codec("codec_encode", whole, chosen.to_bytes(), repair))


class Encoder:
    """Makes packets of one object, whichever are asked for, as often as they are asked for.

    Memory that a ``bytes`` object owns is read where it is, for as long as the encoder lives. All other memory could be
    written to between two packets: it is copied once, here. Threads may share an encoder; they take turns.

    Parameters
    ----------
    data, symbol_size, config
        As for `encode`.
    blocks_in_memory
        How many encoded blocks to keep for the next repair packets, 1 to 255; each takes somewhat more memory than the
        block has bytes. A packet of another block costs encoding it. Default: all.

    Raises
    ------
    CodecError
        As `encode`.

    Examples
    --------
    >>> encoder = Encoder(bytes(100_000), 1000)
    >>> len(encoder.source_packets())
    100
    >>> encoder.repair_packets(0, 2).esis
    array([100, 101], dtype=uint32)
    """

    __slots__ = ("_config", "_handle")

    def __init__(
        self,
        data: Memory,
        symbol_size: int | None = None,
        *,
        config: Config | None = None,
        blocks_in_memory: int = BLOCKS,
    ) -> None:
        whole = flat(data, "the object")
        self._config = _config(whole, symbol_size, config)
        blocks = checked("blocks_in_memory", blocks_in_memory, 1, BLOCKS)
        self._handle = core.codec("CodecEncoder", whole, self._config.to_bytes(), blocks)

    @property
    def config(self) -> Config:
        """What receivers must know first."""
        return self._config

    def source_packets(self, *, block: int | None = None) -> Packets:
        """Make the source packets of a block, or of all blocks.

        Raises
        ------
        CodecError
            If there is no such block.
        """
        return Packets(self._config, core.codec(self._handle.source, self._block(block)))

    def repair_packets(self, start: int, count: int, *, block: int | None = None) -> Packets:
        """Make repair packets of a block, or of each block.

        Parameters
        ----------
        start
            Number of the first: 0 is the first repair packet of all, with ESI K.
        count
            How many, of each block.
        block
            Number of the block, from 0; default: all.

        Raises
        ------
        CodecError
            If there is no such block, or the ESI of the last packet would have more than 24 bits.
        """
        first, number = checked("start", start, 0, IDS), checked("count", count, 0, IDS)
        return Packets(self._config, core.codec(self._handle.repair, first, number, self._block(block)))

    def _block(self, block: int | None) -> int | None:
        return None if block is None else checked("block", block, 0, self._config.blocks - 1)


def _config(data: bytes | memoryview, symbol_size: int | None, config: Config | None) -> Config:
    """Choose the description of an object, if it was not given.

    Raises
    ------
    CodecError
        If two that were given contradict each other.
    """
    if config is None:
        return Config.for_object(len(data), SYMBOL_SIZE if symbol_size is None else symbol_size)
    if symbol_size is not None and symbol_size != config.symbol_size:
        raise CodecError(
            f"symbol_size = {symbol_size}: expected {config.symbol_size}, as in `config`", hint="leave one of them out"
        )
    return config
