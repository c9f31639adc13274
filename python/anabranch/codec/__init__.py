"""The project's RaptorQ codec (RFC 6330): objects to packets and back, and how fast it is on this machine.

An object is cut into blocks, a block into K source symbols of T bytes. `encode` makes all packets of an object at once,
`decode` the object of any packets that suffice: K of a block, or very rarely a few more. `Encoder` makes more repair
packets whenever they are needed, `Decoder` takes packets as they arrive. `Config` describes the object; receivers need
it first.

>>> data = bytes(range(256)) * 100
>>> sent = encode(data, symbol_size=1000, repair=3)
>>> sent.array.shape
(29, 1004)
>>> decode(sent.config, sent.array[3:]) == data
True

`bench` measures speed and decode latency; the `LatencyTable` that it returns can be written to a file that a scenario
names: ``transport.scdp.decode_table = "FILE"``.
"""

from anabranch.codec.config import SYMBOL_SIZE, Config
from anabranch.codec.decoder import Decoder, Limits, decode
from anabranch.codec.encoder import Encoder, encode
from anabranch.codec.latency import LOSSES, TABLES, LatencyTable, Row, bench, command_line
from anabranch.codec.packets import Packets
from anabranch.errors import CodecError, IncompleteError

__all__ = [
    "LOSSES",
    "SYMBOL_SIZE",
    "TABLES",
    "CodecError",
    "Config",
    "Decoder",
    "Encoder",
    "IncompleteError",
    "LatencyTable",
    "Limits",
    "Packets",
    "Row",
    "bench",
    "command_line",
    "decode",
    "encode",
]
