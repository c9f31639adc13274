"""From packets to the object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Self, cast

from anabranch.base import core
from anabranch.codec.buffers import BYTES, flat, view_of
from anabranch.codec.config import Config, config_of
from anabranch.codec.config import whole as checked
from anabranch.codec.packets import Packets
from anabranch.errors import CodecError, IncompleteError

if TYPE_CHECKING:
    from anabranch.codec.buffers import Memory

MOST_BYTES = 2**64 - 1
MOST = 2**32 - 1
SHOWN = 4
"""Blocks that a message names."""

TABLE = 2
"""Dimensions of an array with a packet in each row."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much memory and time a description and packets may make a decoder take.

    Twelve bytes can describe an object of 942 GB, and one packet start a block of 3.7 GB: set limits that fit what you
    expect.

    Attributes
    ----------
    object_bytes
        The largest acceptable object (F).
    block_bytes
        The largest acceptable block (K * T). A block in progress takes up to about three times its bytes.
    source_symbols
        The largest acceptable K.
    blocks_in_progress
        How many blocks may be in progress at once; packets of further ones are refused.
    extra_symbols
        How many more symbols than K a block may keep without being decodable. Among honest packets fewer than one block
        in a hundred needs one more, fewer than one in ten thousand two.
    """

    object_bytes: int = 2**30
    block_bytes: int = 2**28
    source_symbols: int = 56_403
    blocks_in_progress: int = 255
    extra_symbols: int = 32

    def __post_init__(self) -> None:
        for field in fields(self):
            most = MOST_BYTES if field.name.endswith("bytes") else MOST
            checked(field.name, getattr(self, field.name), 0, most)

    @classmethod
    def none(cls) -> Self:
        """Accept every object: for descriptions that can be trusted."""
        return cls(object_bytes=MOST_BYTES, block_bytes=MOST_BYTES)


class Decoder:
    """Collects packets of one object, and decodes each block as soon as that is possible.

    Packets may come in any order, repeatedly, and from several senders. One that is malformed raises `CodecError` and
    changes nothing. One with wrong bytes cannot be told from a right one, and spoils its block: compare a hash of the
    object. Threads may share a decoder; they take turns, with the interpreter released.

    Parameters
    ----------
    config
        The description of the object, or its 12 bytes.
    limits
        What to refuse; default: objects of more than 1 GiB, blocks of more than 256 MiB.

    Raises
    ------
    CodecError
        If the description is none, or beyond the limits.

    Examples
    --------
    >>> from anabranch import codec
    >>> encoder = codec.Encoder(bytes(100_000), 1000)
    >>> decoder = Decoder(encoder.config)
    >>> decoder.add_many(encoder.source_packets().array[:90])
    False
    >>> decoder.missing
    10
    >>> decoder.add_many(encoder.repair_packets(0, 15))
    True
    >>> decoder.result() == bytes(100_000)
    True
    """

    __slots__ = ("_config", "_handle")

    def __init__(self, config: Config | Memory, *, limits: Limits | None = None) -> None:
        self._config = config_of(config)
        self._handle = core.codec("CodecDecoder", self._config.to_bytes(), astuple(limits or Limits()))

    @property
    def config(self) -> Config:
        """The description of the object."""
        return self._config

    def add(self, packet: Memory) -> bool:
        """Take a packet, and decode its block if that is possible now.

        Parameters
        ----------
        packet
            4 bytes of payload ID, and one symbol, or several in a row; the last source symbol may lack its padding
            (RFC 6330 §4.4.2).

        Returns
        -------
        bool
            Whether the object is complete. Packets that are not needed any more change nothing.

        Raises
        ------
        CodecError
            If the packet does not fit the object, or a limit is reached.
        """
        return bool(core.codec(self._handle.add, flat(packet, "the packet")))

    def add_many(self, packets: Packets | Memory | Iterable[Memory]) -> bool:
        """Take packets up to the one that completes the object.

        Parameters
        ----------
        packets
            `Packets`; an array of bytes of shape (n, 4 + T), or the same in one dimension; or packets one by one.
            Arrays that are not C-contiguous, as those of every second packet, are copied.

        Returns
        -------
        bool
            Whether the object is complete.

        Raises
        ------
        CodecError
            If a packet does not fit the object, or a limit is reached: the message numbers it, from 0. Those before it
            were taken.
        """
        if isinstance(packets, Packets):
            packets = packets.data
        elif isinstance(packets, Iterable) and not _has_memory(packets):
            return self._add_each(packets)
        return bool(core.codec(self._handle.add_many, self._rows(cast("Memory", packets))))

    def _rows(self, packets: Memory) -> bytes | memoryview:
        """Check an array of packets.

        Raises
        ------
        CodecError
            If it is none.
        """
        size = self._config.packet_size
        view = view_of(packets, "the packets")
        if view.format not in BYTES:
            raise CodecError(
                f"the packets: expected an array of bytes (uint8), got elements of format {view.format!r}",
                hint="array.astype(numpy.uint8), if each element is a byte",
            )
        lengths = view.shape or ()
        if len(lengths) > TABLE or (len(lengths) == TABLE and lengths[1] != size):
            shape = ", ".join(str(length) for length in lengths)
            raise CodecError(f"the packets: expected an array of shape (n, {size}), that is 4 + T, got ({shape})")
        return flat(packets, "the packets") if view.c_contiguous else view.tobytes()

    def _add_each(self, packets: Iterable[Memory]) -> bool:
        complete = self.complete
        for index, packet in enumerate(packets):
            if complete:
                break
            try:
                complete = self.add(packet)
            except CodecError as error:
                raise CodecError(f"packet {index}: {error.message}", hint=error.hint) from error
        return complete

    @property
    def missing_by_block(self) -> tuple[int, ...]:
        """How many more symbols each block needs at least; 0 if it is decoded."""
        return tuple(core.codec(self._handle.missing))

    @property
    def missing(self) -> int:
        """How many more symbols must arrive at least, for all blocks together; 0 if the object is complete.

        After as many, fewer than one block in a hundred cannot be decoded, and this is 1 again.
        """
        return sum(self.missing_by_block)

    @property
    def complete(self) -> bool:
        """Whether all blocks are decoded."""
        return self.missing == 0

    def result(self) -> bytes:
        """Return the object.

        Raises
        ------
        IncompleteError
            If symbols are missing; the message says how many, and of which blocks.
        """
        blocks = self.missing_by_block
        if not any(blocks):
            return cast("bytes", core.codec(self._handle.result))
        wanting = [(number, missing) for number, missing in enumerate(blocks) if missing]
        shown = ", ".join(f"block {number}: {missing}" for number, missing in wanting[:SHOWN])
        more = ", ..." if len(wanting) > SHOWN else ""
        raise IncompleteError(
            f"the object is not complete: at least {sum(blocks)} more symbols are needed, in {len(wanting)} of "
            f"{len(blocks)} blocks ({shown}{more})",
            missing=sum(blocks),
            hint="add packets of these blocks with ESIs that have not arrived yet: more repair packets",
        )


def _has_memory(packets: object) -> bool:
    """Say whether an object is memory rather than a collection of packets. Python before 3.12 has no name for it."""
    try:
        memoryview(cast("bytes", packets))
    except TypeError:
        return False
    except (ValueError, BufferError):
        return True  # of a kind that cannot be shown, which `view_of` says
    return True


def decode(
    config: Config | Memory, packets: Packets | Memory | Iterable[Memory], *, limits: Limits | None = None
) -> bytes:
    """Decode an object from any packets that suffice.

    Parameters
    ----------
    config
        The description of the object, or its 12 bytes.
    packets
        As `Decoder.add_many` takes them.
    limits
        As `Decoder` takes them.

    Returns
    -------
    bytes
        The object.

    Raises
    ------
    IncompleteError
        If the packets do not suffice; the message says how many symbols are missing.
    CodecError
        If the description is beyond the limits, or a packet does not fit it.
    """
    decoder = Decoder(config, limits=limits)
    decoder.add_many(packets)
    return decoder.result()
