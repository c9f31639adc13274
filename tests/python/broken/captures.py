"""Broken captures: truncated at each structure, lengths and stamps that cannot be, wrong magic, damaged compression."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import struct
import zlib
from functools import partial
from typing import TYPE_CHECKING

from broken.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIN = ("traffic", "bin")
FIT = ("traffic", "fit")
START = 1_700_000_000


def record(
    second: int,
    size: int = 60,
    *,
    kept: int | None = None,
    order: str = "<",
    fraction: int = 0,
    wire: int | None = None,
) -> bytes:
    """A record of pcap."""
    have = size if kept is None else kept
    return struct.pack(f"{order}IIII", second, fraction, have, size if wire is None else wire) + bytes(size)


def head(*, magic: int = 0xA1B2C3D4, order: str = "<", snaplen: int = 65535, link: int = 1) -> bytes:
    """The header of a pcap file."""
    return struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snaplen, link)


PACKETS = b"".join(record(START + k) for k in range(20))
PCAP = head() + PACKETS


def block(kind: int, body: bytes, *, length: int | None = None, trailer: int | None = None, order: str = "<") -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    size = 12 + len(body)
    first, last = size if length is None else length, size if trailer is None else trailer
    return struct.pack(f"{order}II", kind, first) + body + struct.pack(f"{order}I", last)


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
INTERFACE = block(1, struct.pack("<HHI", 1, 0, 65535))


def enhanced(micros: int, size: int = 60, *, interface: int = 0, kept: int | None = None) -> bytes:
    """An enhanced packet block."""
    have = size if kept is None else kept
    return block(6, struct.pack("<IIIII", interface, micros >> 32, micros & 0xFFFFFFFF, have, size) + bytes(size))


PCAPNG = SECTION + INTERFACE + b"".join(enhanced((START + k) * 10**6) for k in range(20))


def erf(second: int, *, size: int = 60, length: int | None = None, kind: int = 2, wire: int | None = None) -> bytes:
    """A record of ERF."""
    whole = 18 + size
    header = struct.pack("<Q", second << 32) + bytes([kind, 4])
    sizes = struct.pack(">HHH", whole if length is None else length, 0, size if wire is None else wire)
    return header + sizes + bytes(2 + size)


ERF = b"".join(erf(START + k) for k in range(20))
FLOWS = (
    b"ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n"
    b"2024-06-28 23:17:41,2024-06-28 23:17:44,3.0,1.2.3.4,10.0.0.1,443,10693,UDP,.,6,2,9,9000,1,60\n"
)
FLOW = FLOWS.splitlines()[1].decode()
CSV_HEAD = FLOWS.splitlines()[0].decode()


def flows(**changed: str) -> str:
    """A table of nfdump with one flow, of which some fields are others."""
    names = CSV_HEAD.split(",")
    values = dict(zip(names, FLOW.split(","), strict=True)) | changed
    return CSV_HEAD + "\n" + ",".join(values[name] for name in names) + "\n"


def case(
    name: str,
    content: bytes | str | Callable[[], bytes],
    *says: str,
    file: str = "trace.pcap",
    options: tuple[str, ...] = ("--bin", "1s"),
    command: tuple[str, ...] = BIN,
    exits: frozenset[int] = frozenset({2}),
) -> Case:
    """A file that is read and refused; what takes long to make is made when the case runs."""
    argv = (*command, file, *options)
    if callable(content):
        return Case(
            name=name, argv=argv, make=lambda folder: (folder / file).write_bytes(content()), says=says, exits=exits
        )
    return Case(name=name, argv=argv, files={file: content}, says=says, exits=exits)


def made(name: str, make: Callable[[Path], object], *says: str, argv: tuple[str, ...]) -> Case:
    """Something that is no file with bytes."""
    return Case(name=name, argv=argv, says=says, make=make)


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def _loop(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")


def _dangling(folder: Path) -> None:
    (folder / "trace.pcap").symlink_to("nowhere")


def _device(folder: Path, device: str) -> None:
    (folder / "trace.pcap").symlink_to(device)


def _folder(folder: Path) -> None:
    (folder / "trace.pcap").mkdir()


CUT = "--keep-partial keeps"
WHOLE_GZIP = gzip.compress(PCAP, mtime=0)
WHOLE_XZ = lzma.compress(PCAP)


def bomb(megabytes: int, unit: bytes, start: bytes = b"") -> bytes:
    """A small gzip file of much data: one compressed megabyte, which stands by itself, again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    part = unit * ((1 << 20) // len(unit))
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
    check = zlib.crc32(start)
    for _ in range(megabytes):
        check = zlib.crc32(part, check)
    size = len(start) + megabytes * len(part)
    end = packer.flush() + struct.pack("<II", check, size & 0xFFFFFFFF)
    return gzip.compress(b"", mtime=0)[:10] + first + again * megabytes + end


ZSTD_HUGE_WINDOW = b"\x28\xb5\x2f\xfd\x00\xf8" + bytes(20)
ZSTD_CUT = b"\x28\xb5\x2f\xfd\x24\x0b\x59\x00\x00"
SKIPPABLE = b"\x50\x2a\x4d\x18" + struct.pack("<I", 0xFFFFFFF0) + bytes(100)

PCAP_CASES = (
    case("pcap-empty", b"", "trace.pcap: byte 0: the file is empty"),
    case("pcap-one-byte", b"\xd4", "trace.pcap: byte 0: "),
    case("pcap-magic-only", PCAP[:4], "trace.pcap: byte 0: the file header is cut: 4 of 24 bytes"),
    case("pcap-header-cut", PCAP[:23], "the file header is cut: 23 of 24 bytes"),
    case("pcap-no-records", PCAP[:24], "nothing to count: trace.pcap: the file holds no records"),
    case("pcap-record-header-cut", PCAP[: 24 + 76 + 9], "trace.pcap: byte 100: the last record is cut", CUT),
    case("pcap-packet-cut", PCAP[:-30], "the last record is cut: 30 bytes of a packet", CUT),
    case("pcap-first-packet-cut", PCAP[: 24 + 16 + 10], "byte 24: the last record is cut: 10 bytes", CUT),
    case("pcap-wrong-magic", b"\xd4\xc3\xb2\xa0" + PCAP[4:], "not a format known here: it begins with d4 c3 b2 a0"),
    case("pcap-swapped-words", b"\xc3\xd4\xa1\xb2" + PCAP[4:], "not a format known here"),
    case("pcap-huge-length", PCAP + record(START + 20, kept=0xFFFFFFFF), "says that 4294967295 bytes", CUT),
    case("pcap-negative-length", PCAP + record(START + 20, kept=0x80000000), "says that 2147483648 bytes", CUT),
    case("pcap-length-beyond-file", PCAP + record(START + 20, kept=60_000), "the last record is cut: 60 bytes", CUT),
    case("pcap-snaplen-of-4-gib", head(snaplen=0xFFFFFFFF) + record(START, kept=300_000), "allows 262144", CUT),
    case(
        "pcap-other-byte-order-inside",
        head() + b"".join(record(START + k, order=">") for k in range(3)),
        "byte 24: the record says that 1006632960 bytes",
    ),
    case(
        "pcap-absurd-stamp",
        PCAP + record(0xFFFFFFFF) + record(START + 21),
        "is 82.286 years from the first",
        "more than 20000000 bins of 1 s",
        options=("--bin", "1s"),
    ),
    case(
        "pcap-stamp-of-zero",
        head() + record(START) + record(0),
        "more than 20000000 bins of 1 s",
        "0.000000000 s",
    ),
    case(
        "pcap-stamp-leaps",
        head() + record(START, wire=99) + record(START + 900_000) + record(START + 900_001),
        "is a time stamp damaged?",
        exits=frozenset({0}),
    ),
    case("pcap-nanosecond-bins", PCAP, "more than 20000000 bins of 1 ns", options=("--bin", "1ns")),
    case("pcap-kuznetzov-cut", head(magic=0xA1B2CD34) + record(START)[:20], "the last record is cut", CUT),
    case("pcap-text-behind", PCAP + b"tcpdump: 20 packets captured\n", "byte 1544:", CUT),
    case("pcap-hole-of-zeros", head() + PACKETS[:76] + bytes(76) + PACKETS[76:], "more than 20000000 bins"),
    case(
        "pcap-unknown-link",
        head(link=999) + PACKETS,
        "do not say whether they match",
        options=("--bin", "1s", "--filter", "tcp"),
        exits=frozenset({0}),
    ),
    case(
        "pcap-kept-in-part",
        PCAP[:-30],
        "damaged, read up to there",
        options=("--bin", "1s", "--keep-partial"),
        exits=frozenset({1}),
    ),
    case("pcap-insisted-on", b"GIF89a" + bytes(100), "does not begin with a1b2c3d4", options=("--format", "pcap")),
    case("pcap-read-as-erf", PCAP, "trace.pcap: byte 0:", options=("--format", "erf")),
    case("pcap-read-as-table", PCAP, "trace.pcap: line", options=("--format", "csv-volumes")),
    case("pcap-fitted-though-cut", PCAP[:-30], "the last record is cut", CUT, command=FIT, options=()),
    case(
        "pcap-too-short-to-fit",
        head() + record(START) * 2,
        "at least 50 are needed",
        command=FIT,
        options=("--bin", "1s"),
    ),
    case("pcap-named-twice", PCAP, "is named twice", options=("trace.pcap",)),
    case("pcap-bad-filter", PCAP, "hint:", options=("--filter", "tcp and (port")),
    case("pcap-bad-prefix", PCAP, "hint:", options=("--direction", "in", "--inside", "10.0.0.0/99")),
    case("pcap-inside-without-direction", PCAP, "--direction", options=("--inside", "10.0.0.0/8")),
    case("pcap-width-of-zero", PCAP, "bin width '0s'", options=("--bin", "0s")),
    case("pcap-width-without-unit", PCAP, "bin width '5'", options=("--bin", "5")),
)

PCAPNG_CASES = (
    case("pcapng-section-cut", PCAPNG[:20], "the last block is cut: 20 bytes of it", CUT),
    case("pcapng-interface-cut", PCAPNG[: len(SECTION) + 10], "the last block is cut", CUT),
    case("pcapng-packet-cut", PCAPNG[:-20], "the last block is cut", CUT),
    case("pcapng-no-byte-order", SECTION[:8] + b"\0\0\0\0" + SECTION[12:] + INTERFACE, "not a format known here"),
    case("pcapng-second-section-without-order", PCAPNG + SECTION[:8] + b"\1\2\3\4" + SECTION[12:], "no byte order"),
    case("pcapng-block-of-no-length", PCAPNG + block(6, b"", length=0), "a block of 0 bytes: expected a multiple of 4"),
    case("pcapng-block-of-4-gib", PCAPNG + block(6, b"", length=0xFFFFFFFC), "a block of 4294967292 bytes"),
    case("pcapng-block-not-by-four", PCAPNG + block(6, bytes(16), length=27), "a block of 27 bytes"),
    case("pcapng-ends-disagree", PCAPNG + block(6, bytes(40), trailer=48), "52 bytes at its start and 48 at its end"),
    case("pcapng-large-block-cut", PCAPNG + block(99, b"", length=100 << 20), "is cut", CUT),
    case(
        "pcapng-packet-of-no-interface", SECTION + enhanced(1), "a packet of interface 0, but the section describes 0"
    ),
    case("pcapng-packet-of-interface-7", PCAPNG + enhanced(1, interface=7), "a packet of interface 7"),
    case("pcapng-packet-larger-than-block", PCAPNG + enhanced(1, kept=9999), "a packet of 9999 bytes in a block"),
    case("pcapng-packet-without-fields", PCAPNG + block(6, bytes(8)), "is too short for its fields"),
    case("pcapng-interface-without-fields", SECTION + block(1, b""), "is too short for its fields"),
    case(
        "pcapng-absurd-resolution",
        SECTION + block(1, struct.pack("<HHI", 1, 0, 65535) + b"\x09\0\x01\0\xff\0\0\0\0\0\0\0") + enhanced(1),
        "time in units of 0xff is too fine",
    ),
    case("pcapng-stamp-beyond-all", PCAPNG + enhanced(2**63), "more than 146 years from 1970"),
    case("pcapng-simple-before-interface", SECTION + block(3, bytes(8)), "before the section describes an interface"),
    case("pcapng-only-sections", SECTION * 3, "no records"),
    case("pcapng-without-section", INTERFACE + enhanced(1), "not a format known here"),
    case("pcapng-insisted-on", INTERFACE, "does not begin with a section header", options=("--format", "pcapng")),
)

OTHER_CASES = (
    case("erf-cut", ERF[:-20], "the last record is cut", CUT, file="trace.erf"),
    case(
        "erf-record-too-short",
        ERF + erf(START + 20, length=3),
        "a record of 3 bytes: expected at least 16",
        file="trace.erf",
        options=("--format", "erf"),
    ),
    case(
        "erf-record-of-no-length",
        ERF + erf(START + 20, length=0),
        "a record of 0 bytes",
        file="trace.erf",
        options=("--format", "erf"),
    ),
    case("erf-unknown-type", erf(START, kind=99) * 3, "not a format known here", file="trace.erf"),
    case(
        "erf-time-leaps",
        ERF + erf(0xF0000000),
        "more than 20000000 bins",
        file="trace.erf",
        options=("--bin", "1s", "--format", "erf"),
    ),
    case("nfdump-no-rows", CSV_HEAD + "\n", "no records", file="flows.csv", options=()),
    case("nfdump-no-date", flows(ts="now"), "flows.csv: line 2", '"now" is not a time', file="flows.csv", options=()),
    case("nfdump-no-end", flows(te="later"), '"later" is not a time', file="flows.csv", options=()),
    case("nfdump-negative-bytes", flows(ibyt="-5"), '"-5" is not a count', file="flows.csv", options=()),
    case("nfdump-bytes-in-words", flows(ibyt="9.0 M"), "is not a count", file="flows.csv", options=()),
    case(
        "nfdump-fields-missing",
        CSV_HEAD + "\n2024-06-28 23:17:41,2024-06-28 23:17:44\n",
        "is missing",
        file="flows.csv",
        options=(),
    ),
    case(
        "nfdump-flow-of-a-century", flows(te="2124-06-28 23:17:44"), "hint:", file="flows.csv", options=("--bin", "1s")
    ),
    case("nfdump-huge-counts", flows(ibyt="99999999999999999999999"), "is not a count", file="flows.csv", options=()),
    made("link-to-nowhere", _dangling, "trace.pcap: No such file", argv=(*BIN, "trace.pcap")),
    made("link-loop", _loop, "a: Too many levels of symbolic links", argv=(*BIN, "a")),
    made("folder", _folder, "trace.pcap: is a folder, expected a file", argv=(*BIN, "trace.pcap")),
    made("folder-fitted", _folder, "trace.pcap", "hint:", argv=(*FIT, "trace.pcap")),
    made("no-such-file", lambda _: None, "trace.pcap: No such file", argv=(*BIN, "trace.pcap")),
    made("endless-zeros", partial(_device, device="/dev/zero"), "is a device", argv=(*BIN, "trace.pcap")),
    made("endless-zeros-fitted", partial(_device, device="/dev/zero"), "is a device", argv=(*FIT, "trace.pcap")),
    made("endless-noise", partial(_device, device="/dev/urandom"), "is a device", argv=(*FIT, "trace.pcap")),
    made("nothing-at-all", partial(_device, device="/dev/null"), "is a device", argv=(*BIN, "trace.pcap")),
    made("pipe-without-writer", _fifo, "a pipe can be read once", argv=(*FIT, "pipe")),
    Case(
        name="standard-input-twice", argv=(*FIT, "-"), says=("standard input cannot be read here", "hint:"), stdin=PCAP
    ),
    Case(name="standard-input-empty", argv=(*BIN, "-"), says=("-: byte 0: the file is empty",)),
    Case(
        name="standard-input-noise", argv=(*BIN, "-"), says=("not a format known here",), stdin=bytes(range(256)) * 999
    ),
)

COMPRESSED_CASES = (
    case("gzip-cut", WHOLE_GZIP[:-30], "the gzip data ends too early", CUT, file="trace.pcap.gz"),
    case("gzip-header-cut", WHOLE_GZIP[:5], "gzip data", file="trace.pcap.gz"),
    case("gzip-damaged", WHOLE_GZIP[:40] + b"\xff\xff\xff" + WHOLE_GZIP[43:], "gzip data", file="trace.pcap.gz"),
    case(
        "gzip-wrong-sum",
        WHOLE_GZIP[:-8] + b"\0\0\0\0" + WHOLE_GZIP[-4:],
        "the gzip data is damaged",
        file="trace.pcap.gz",
    ),
    case("gzip-with-rubbish", WHOLE_GZIP + b"rubbish", "the gzip data", file="trace.pcap.gz"),
    case("gzip-of-nothing", gzip.compress(b"", mtime=0), "the file is empty", file="trace.pcap.gz"),
    case(
        "gzip-twice",
        gzip.compress(WHOLE_GZIP, mtime=0),
        "not a format known here: it begins with 1f 8b",
        file="trace.pcap.gz",
    ),
    case("gzip-bomb-of-zeros", partial(bomb, 2000, b"\0"), "not a format known here", file="bomb.gz"),
    case("gzip-bomb-behind-pcap", partial(bomb, 200, b"\0", PCAP), "more than 20000000 bins", file="bomb.gz"),
    case(
        "gzip-bomb-of-one-line",
        partial(bomb, 500, b"7", b"time,bytes\n0,"),
        "a line of more than",
        file="bomb.csv.gz",
        options=("--format", "csv-volumes"),
    ),
    case(
        "gzip-bomb-fitted",
        partial(bomb, 500, b"7", b"time,bytes\n0,"),
        "bomb.csv.gz: line 2",
        "a line of more than",
        file="bomb.csv.gz",
        command=FIT,
        options=(),
    ),
    case("xz-cut", WHOLE_XZ[:-30], "the xz data", CUT, file="trace.pcap.xz"),
    case("xz-damaged", WHOLE_XZ[:30] + bytes(8) + WHOLE_XZ[38:], "the xz data is damaged", file="trace.pcap.xz"),
    case("xz-header-only", WHOLE_XZ[:12], "the xz data", file="trace.pcap.xz"),
    case(
        "xz-asks-for-4-gib",
        WHOLE_XZ[:12]
        + b"\x02\x00\x21\x01\x28\x00\x00\x00"
        + zlib.crc32(b"\x02\x00\x21\x01\x28\x00\x00\x00").to_bytes(4, "little")
        + WHOLE_XZ[24:],
        "the xz data",
        file="trace.pcap.xz",
    ),
    case("zstd-cut", ZSTD_CUT, "zstd data", file="trace.pcap.zst"),
    case("zstd-asks-for-much", ZSTD_HUGE_WINDOW, "zstd data is damaged", file="trace.pcap.zst"),
    case("zstd-skips-beyond-its-end", SKIPPABLE, "the zstd data ends too early", file="trace.pcap.zst"),
    case("zstd-noise", b"\x28\xb5\x2f\xfd" + bytes(range(200)), "zstd data", file="trace.pcap.zst"),
    case("bzip2-is-not-read", bz2.compress(PCAP), "it begins with 42 5a 68", "gzip, xz or zstd", file="trace.pcap.bz2"),
    case("zip-is-not-read", b"PK\3\4" + bytes(60), "it begins with 50 4b 03 04", file="trace.zip"),
)

CASES = (*PCAP_CASES, *PCAPNG_CASES, *OTHER_CASES, *COMPRESSED_CASES)
