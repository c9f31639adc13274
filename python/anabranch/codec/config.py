"""The description of an object, which receivers need before its first packet (RFC 6330 §3.3)."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from anabranch.base import core
from anabranch.codec.buffers import flat
from anabranch.errors import CodecError

if TYPE_CHECKING:
    from anabranch.codec.buffers import Memory

SYMBOL_SIZE = 1436
"""Bytes of a symbol in SCDP's packets of 1500 bytes (``transport.scdp``: `packet` less `header`)."""

PAYLOAD_ID = 4
"""Bytes of a payload ID: the number of the block in 8 bits, the encoding symbol ID (ESI) in 24 (RFC 6330 §3.2)."""

RANGES = {
    "object_size": (0, 942_574_504_275, " bytes"),
    "symbol_size": (1, 65_535, " bytes"),
    "blocks": (1, 255, ""),
    "sub_blocks": (1, 65_535, ""),
    "alignment": (1, 255, " bytes"),
}
"""Least and greatest value and unit of each number (RFC 6330 §3.3.2 and §3.3.3, with erratum 5548)."""


def whole(name: str, value: int, least: int, greatest: int, unit: str = "") -> int:
    """Check a whole number.

    Raises
    ------
    CodecError
        If it is none, or out of range.
    """
    try:
        number = operator.index(value)
    except TypeError as error:
        raise CodecError(f"{name} = {value!r}: expected a whole number") from error
    if not least <= number <= greatest:
        raise CodecError(f"{name} = {number}: expected {least} to {greatest}{unit}")
    return number


@dataclass(frozen=True, slots=True)
class Config:
    """How an object is cut into blocks and symbols: the FEC object transmission information of RFC 6330 §3.3.

    `for_object` chooses the blocks. With the numbers given here, anything that the RFC allows can be described.

    Parameters
    ----------
    object_size
        F, bytes of the object: 0 to 942 574 504 275.
    symbol_size
        T, bytes of a symbol: 1 to 65535, a multiple of `alignment`.
    blocks
        Z: 1 to 255. No block may have more than 56403 symbols.
    sub_blocks
        N, parts of a block that a receiver short of memory could decode one after the other: 1 to 65535. With one, each
        source symbol is T bytes in a row of the object.
    alignment
        Al: sub-blocks are cut at multiples of so many bytes, 1 to 255. It matters only with several of them.

    Raises
    ------
    CodecError
        If the numbers break a rule of the RFC.

    Examples
    --------
    >>> config = Config(1_000_000, 1000, blocks=3)
    >>> config.source_symbols
    (334, 333, 333)
    >>> Config.from_bytes(config.to_bytes()) == config
    True
    """

    object_size: int
    symbol_size: int
    blocks: int = 1
    sub_blocks: int = 1
    alignment: int = 1

    def __post_init__(self) -> None:
        for name, (least, greatest, unit) in RANGES.items():
            object.__setattr__(self, name, whole(name, getattr(self, name), least, greatest, unit))
        self.to_bytes()

    @classmethod
    def for_object(cls, object_size: int, symbol_size: int = SYMBOL_SIZE) -> Self:
        """Choose as few blocks as have at most 10 MiB each, by the algorithm of RFC 6330 §4.3.

        Parameters
        ----------
        object_size
            F, bytes of the object.
        symbol_size
            T, bytes of a symbol: what packets have room for after the 4 bytes of the payload ID.

        Returns
        -------
        Config
            With one sub-block.

        Raises
        ------
        CodecError
            If a number is out of range, or the object needs more than 255 such blocks (above 2.6 GB): larger blocks are
            asked for by ``Config(object_size, symbol_size, blocks=255)``.
        """
        numbers = {"object_size": object_size, "symbol_size": symbol_size}
        sizes = (whole(name, value, *RANGES[name]) for name, value in numbers.items())
        return cls.from_bytes(core.codec("codec_choose", *sizes))

    @classmethod
    def from_bytes(cls, data: Memory) -> Self:
        """Read the 12 bytes that `to_bytes` writes.

        Raises
        ------
        CodecError
            If there are not 12, or the numbers in them break a rule of the RFC.
        """
        return cls(*core.codec("codec_read", bytes(flat(data, "the description of the object"))))

    def to_bytes(self) -> bytes:
        """Write the description as it is sent: 12 bytes, big endian (RFC 6330 §3.3.2 and §3.3.3)."""
        described: bytes = core.codec(
            "codec_describe", self.object_size, self.symbol_size, self.blocks, self.sub_blocks, self.alignment
        )
        return described

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    @property
    def source_symbols(self) -> tuple[int, ...]:
        """K of each block; 0 for the last blocks of an object with fewer symbols than blocks."""
        return tuple(core.codec("codec_source_symbols", self.to_bytes()))

    @property
    def packet_size(self) -> int:
        """Bytes of a packet with one symbol: 4 + T."""
        return PAYLOAD_ID + self.symbol_size


def config_of(config: Config | Memory) -> Config:
    """Take a description, or read it from its 12 bytes.

    Raises
    ------
    CodecError
        If the bytes are none.
    """
    return config if isinstance(config, Config) else Config.from_bytes(config)
