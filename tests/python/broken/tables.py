"""Broken tables: encodings, separators, columns, units, dates, numbers, order, counters that are none, Parquet."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import polars as pl

from broken.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FIT = ("traffic", "fit")
BIN = ("traffic", "bin")
DIMENSION = ("traffic", "dimension")
BILL = ("traffic", "bill")
GENERATE = ("traffic", "generate")
REPORT = ("traffic", "report")
MAY = 1_714_521_600
VOLUMES = ("--format", "csv-volumes")


def rows(count: int, row: Callable[[int], str], head: str = "time,bytes") -> str:
    """A table."""
    return head + "\n" + "".join(row(k) + "\n" for k in range(count))


def good(count: int = 100, *, separator: str = ",", head: str = "time,bytes", step: int = 300) -> str:
    """A table of volumes without a fault."""
    return rows(count, lambda k: f"{MAY + k * step}{separator}{1000 + k * k * 37 % 977}", head)


def replaced(line: int, text: str, table: str | None = None) -> str:
    """A good table with another line; 1 is the line of names."""
    lines = (good() if table is None else table).splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def case(
    name: str,
    content: str | bytes,
    *says: str,
    file: str = "port.csv",
    command: tuple[str, ...] = FIT,
    options: tuple[str, ...] = (),
    exits: frozenset[int] = frozenset({2}),
    seconds: float = 30.0,
) -> Case:
    """A table that is refused, or read with a warning."""
    return Case(
        name=name, argv=(*command, file, *options), files={file: content}, says=says, exits=exits, seconds=seconds
    )


def parquet(columns: dict[str, Iterable[object]], facts: object = None, **schema: pl.DataType) -> bytes:
    """A Parquet file."""
    buffer = io.BytesIO()
    frame = pl.DataFrame({name: list(values) for name, values in columns.items()}, schema_overrides=schema or None)
    metadata = {} if facts is None else {"anabranch.volumes": facts if isinstance(facts, str) else json.dumps(facts)}
    frame.write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()


STARTS = [MAY * 10**9 + k * 300 * 10**9 for k in range(100)]
WHOLE = parquet({"start_ns": STARTS, "bytes": range(100)})
WARNED = frozenset({0})

TEXT_CASES = (
    case("empty", "", "port.csv: byte 0: the file is empty"),
    case("only-a-header", "time,bytes\n", "no records"),
    case("only-comments", "# one\n# two\n", "port.csv", "hint:"),
    case("only-newlines", "\n" * 5000, "port.csv", "hint:"),
    case("utf-16", good().encode("utf-16"), "line 1 (byte 0): the text is UTF-16", "hint: iconv"),
    case("utf-16-without-mark", good().encode("utf-16-le"), "the text is UTF-16", "hint: iconv"),
    case("utf-16-big-endian", good().encode("utf-16-be"), "the text is UTF-16", "hint: iconv"),
    case("utf-32", good().encode("utf-32-be"), "port.csv", "hint:"),
    case("latin-1-time", good(head="z\xe4it,bytes").encode("latin-1"), "no column looks like a time", "--time COLUMN"),
    case("nul-in-row-51", replaced(51, f"{MAY + 50 * 300},1\x0000"), "line 51 (byte", "byte 00 is no text"),
    case("nul-far-below", replaced(900, "\0", good(1000)), "line 900 (byte", "is not a time"),
    case("escape-in-a-row", replaced(30, f"{MAY},\x1b[2J"), "line 30 (byte", "byte 1b is no text"),
    case("binary-behind-a-header", b"time,bytes\n" + bytes(range(256)) * 40, "line 2 (byte", "is no text"),
    case("one-line-of-megabytes", "x" * (3 << 20), "a line of more than", options=VOLUMES),
    case("line-of-200-kb", replaced(40, "9" * 200_000 + ",1"), "line 40 (byte", "is not a time"),
    case("header-of-200-kb", "x" * 200_000 + ",y\n1,2\n", "port.csv", "hint:"),
    case("value-of-200-kb", replaced(40, f"{MAY},{'9' * 200_000}"), "line 40 (byte", "is not a volume"),
    case("open-quote", replaced(10, f'"{MAY},5'), "line 10 (byte", "is not a time"),
    case("wrong-separator", good(separator="|", head="time|bytes"), "port.csv", "hint:"),
    case("html", "<html><body>502 Bad Gateway</body></html>\n", "port.csv", "hint:"),
    case("json", json.dumps({"time": [1, 2], "bytes": [3, 4]}), "port.csv", "hint:"),
    case("a-scenario", '[fabric]\nkind = "fat-tree"\n', "port.csv", "hint:", file="port.csv"),
)

COLUMN_CASES = (
    case("no-time", good(head="when,bytes"), "no column looks like a time: when, bytes", "--time COLUMN"),
    case("no-such-time", good(), 'there is no column "when"', "columns: time, bytes", options=("--time", "when")),
    case(
        "no-such-column", good(), 'there is no column "octets"', "columns: time, bytes", options=("--column", "octets")
    ),
    case("no-such-key", good(), 'there is no column "port"', options=("--by", "port")),
    case("no-such-condition", good(), 'there is no column "port"', options=("--row", "port=1")),
    case("no-row-matches", good(head="time,bytes"), "no records", options=("--row", "bytes=nothing")),
    case("condition-without-value", good(), "--row bytes: expected COLUMN=VALUE", "hint:", options=("--row", "bytes")),
    case("time-as-column", good(), "port.csv", "no records", options=("--column", "time", "--row", "time=x")),
    case("short-row", replaced(20, f"{MAY + 18 * 300}"), "line 20 (byte", 'the row has 1 fields: column "bytes"'),
    case("header-again", replaced(20, "time,bytes"), "line 20 (byte", '"time" is not a time'),
    case("text-for-bytes", replaced(20, f"{MAY + 18 * 300},many"), "line 20", '"many" is not a volume'),
    case("nothing-numeric", rows(60, lambda k: f"{k},a", "time,word"), "no column holds volumes", "--column NAME"),
    case("many-columns", "time," + ",".join(f"c{k}" for k in range(20_000)) + "\n1\n", "port.csv", "hint:"),
    case(
        "many-columns-unnamed-time",
        ",".join(f"c{k}" for k in range(20_000)) + "\n1\n",
        "... (20000 in all)",
    ),
    case(
        "too-many-series", rows(20_000, lambda k: f"{k},p{k},5", "time,port,bytes"), "more than 10000 series", "--row"
    ),
    case(
        "two-series-in-one",
        rows(80, lambda k: f"{k // 2 * 300},{k % 2},{k % 7}", "time,class,bytes"),
        "line 3",
        "--by COLUMN",
    ),
    case("unknown-unit", good(), '"parsecs" is not a unit of volume', options=("--unit", "parsecs")),
    case("unknown-format", good(), 'format "excel" is not known', options=("--format", "excel")),
    case("unknown-time-unit", good(), "--time-unit", options=("--time-unit", "weeks")),
    case("seventeen-bits", good(), "--counter-bits 17: counters have 32 or 64 bits", options=("--counter-bits", "17")),
    case("read-as-pcap", good(), "does not begin with a1b2c3d4", options=("--format", "pcap")),
    case("read-as-flows", good(), "not a table of nfdump", options=("--format", "nfdump")),
    case("link-of-a-table", good(), "--link has no effect", options=("--link", "h0"), exits=WARNED),
)

TIME_CASES = (
    case("milliseconds", rows(60, lambda k: f"{(MAY + k * 300) * 1000},{k % 7}"), "line 2", "--time-unit ms"),
    case("microseconds", rows(60, lambda k: f"{(MAY + k * 300) * 10**6},{k % 7}"), "line 2", "--time-unit us"),
    case("nanoseconds", rows(60, lambda k: f"{(MAY + k * 300) * 10**9},{k % 7}"), "line 2", "--time-unit ns"),
    case("american-dates", rows(60, lambda k: f"05/01/2024 00:{k:02},{k % 7}"), "line 2", "the year first"),
    case("american-dates-unnamed", rows(60, lambda k: f"05/01/2024 00:{k:02},{k % 7}", "# none"), "the year first"),
    case("german-dates", rows(60, lambda k: f"01.05.2024 00:{k:02},{k % 7}"), "line 2", "the year first"),
    case("february-30", replaced(9, "2024-13-30 00:00:00,1"), "line 9", "is not a time"),
    case("hour-25", replaced(9, "2024-05-01 25:00:00,1"), "line 9", "is not a time"),
    case("year-9999", rows(60, lambda k: f"9999-01-01 00:{k:02}:00,{k % 7}"), "line 2", "is not a time"),
    case(
        "zones-mixed",
        replaced(
            50, "2024-05-01T04:00:00Z,5", rows(99, lambda k: f"2024-05-01 {k // 12:02}:{k % 12 * 5:02}:00,{k % 7}")
        ),
        "line 50",
        "has a time zone, and the times before have none",
    ),
    case(
        "one-stamp-years-later",
        replaced(60, "2034-05-01 00:00:00,5", good(2000)),
        "line 60",
        "rows of 300 s would be missing",
        "--keep-partial",
    ),
    case("one-stamp-of-zero", replaced(60, "0,5", good(2000)), "line 60", "rows of 300 s would be missing"),
    case("first-stamp-of-zero", replaced(2, "0,5", good(2000)), "line 3", "would be missing"),
    case("stamps-not-a-number", replaced(60, "nan,5"), "line 60", '"nan" is not a time'),
    case("all-rows-at-once", rows(60, lambda k: f"{MAY},{k % 7}"), "say how long a bin is", "--interval 5min"),
    case("one-row", "time,bytes\n0,5\n", "say how long a bin is", "--interval 5min"),
    case("one-row-with-interval", "time,bytes\n0,5\n", "1 bins", "at least 50", options=("--interval", "5min")),
    case("two-rows", "time,bytes\n0,5\n300,6\n", "at least 50 are needed"),
    case(
        "numbered-bins", rows(60, lambda k: f"{k},{k % 7}", "bin,bytes"), "nothing says how long a bin is", "--interval"
    ),
    case(
        "numbers-of-bins-beyond",
        rows(60, lambda k: f"{k + 10**12},{k % 7}", "bin,bytes"),
        "port.csv: line 2",
        options=("--interval", "5min"),
    ),
    case("interval-of-zero", good(), "--interval '0s'", options=("--interval", "0s")),
    case("interval-too-wide", good(), "the row is in the same bin", options=("--interval", "1d")),
    case("finer-than-the-table", good(), "finer than the table", command=BIN, options=("--bin", "1ns")),
    case(
        "nanosecond-bins-of-packets",
        rows(60, lambda k: f"{k}.{k * 37 % 97},60", "time,length"),
        "more than 20000000 bins of 1 ns",
        command=BIN,
        options=("--bin", "1ns"),
    ),
    case("width-of-centuries", good(), "longer than a clock of 64 bits", options=("--bin", "99999999d")),
    case("width-not-a-number", good(), "bin width 'nans'", options=("--bin", "nans")),
)

VALUE_CASES = (
    case("negative", replaced(20, f"{MAY + 18 * 300},-5"), "line 20", '"-5" is not a volume: expected a number from 0'),
    case("infinite", replaced(20, f"{MAY + 18 * 300},inf"), "line 20", '"inf" is not a volume'),
    case("huge", replaced(20, f"{MAY + 18 * 300},1e300"), "line 20", '"1e300" is not a volume'),
    case("hexadecimal", replaced(20, f"{MAY + 18 * 300},0x1F"), "line 20", '"0x1F" is not a volume'),
    case("thousands", replaced(20, f'{MAY + 18 * 300},"1,234"'), "line 20", '"1,234" is not a volume'),
    case(
        "unknown-units-in-cells",
        replaced(20, f"{MAY + 18 * 300},5 furlongs"),
        "line 20",
        '"5 furlongs" is not a volume',
    ),
    case(
        "all-unknown",
        rows(80, lambda k: f"{k * 300},", "time,bytes"),
        "port.csv",
        "80 values are empty or no number",
        options=VOLUMES,
    ),
    case("some-unknown", replaced(20, f"{MAY + 18 * 300},nan"), "1 value is empty or no number", exits=WARNED),
    case("all-zero", rows(80, lambda k: f"{k * 300},0"), "port.csv", command=GENERATE, options=("-o", "made.csv")),
    case("rows-twice", good(100) + good(100).split("\n", 1)[1], "port.csv"),
    case(
        "rows-thrice-at-once",
        rows(300, lambda k: f"{MAY + k // 3 * 300},{k % 7}"),
        "line 3",
        "same bin as the one before",
    ),
    case(
        "counters-that-go-down",
        rows(200, lambda k: f"{k * 10},{5000 + k * 11 % 97}", "time,in_octets"),
        'column "in_octets" goes down in',
        "--format csv-volumes",
        options=("--format", "counters"),
    ),
    case("counters-negative", rows(90, lambda k: f"{k * 10},{k - 5}", "time,in_octets"), '"-5" is not a count'),
    case(
        "counters-beyond-64-bits",
        rows(90, lambda k: f"{k * 10},{2**64 + k}", "time,in_octets"),
        "is not a count",
        options=("--format", "counters"),
    ),
    case("counters-of-one-poll", "time,in_octets\n0,5\n", "single poll", options=("--format", "counters")),
    case(
        "counters-leap",
        rows(90, lambda k: f"{k * 10 + k // 60 * 10**9},{k}", "time,in_octets"),
        "line 62",
        "would be missing",
    ),
    case(
        "packets-of-4-gib",
        rows(90, lambda k: f"{k}.{k * 37 % 97},4294967296", "time,length"),
        "is not the length of a packet",
    ),
)

PARQUET_CASES = (
    case("parquet-empty", b"", "port.parquet: not a Parquet file", file="port.parquet"),
    case("parquet-cut", WHOLE[:-20], "port.parquet: not a Parquet file", file="port.parquet"),
    case("parquet-damaged", WHOLE[:8] + bytes(len(WHOLE) - 60) + WHOLE[-52:], "port.parquet", file="port.parquet"),
    case(
        "parquet-length-of-footer",
        WHOLE[:-8] + b"\xff\xff\xff\x7f" + WHOLE[-4:],
        "port.parquet: not a Parquet file",
        file="port.parquet",
    ),
    case("parquet-of-text", good(), "port.parquet: not a Parquet file", file="port.parquet"),
    case("parquet-without-start", parquet({"bytes": range(9)}), "no column 'start_ns'", "hint:", file="port.parquet"),
    case("parquet-without-bytes", parquet({"start_ns": STARTS}), "no column 'bytes'", file="port.parquet"),
    case(
        "parquet-without-rows",
        parquet({"start_ns": [], "bytes": []}, start_ns=pl.Int64(), bytes=pl.Int64()),
        "no series in it",
        file="port.parquet",
    ),
    case(
        "parquet-bytes-of-text",
        parquet({"start_ns": STARTS, "bytes": ["x"] * 100}),
        "port.parquet",
        "bytes",
        file="port.parquet",
    ),
    case(
        "parquet-starts-of-text",
        parquet({"start_ns": ["x"] * 100, "bytes": range(100)}),
        "port.parquet",
        "start_ns",
        file="port.parquet",
    ),
    case(
        "parquet-starts-unknown",
        parquet({"start_ns": [*STARTS[:50], None, *STARTS[51:]], "bytes": range(100)}),
        "port.parquet",
        "start_ns",
        file="port.parquet",
    ),
    case(
        "parquet-bytes-negative",
        parquet({"start_ns": STARTS, "bytes": range(-50, 50)}),
        "bin 0 holds -50",
        file="port.parquet",
    ),
    case(
        "parquet-bytes-infinite",
        parquet({"start_ns": STARTS, "bytes": [float("inf")] * 100}),
        "bin 0 holds inf",
        file="port.parquet",
    ),
    case(
        "parquet-width-of-zero",
        parquet({"start_ns": STARTS, "bytes": range(100), "bin_ns": [0] * 100}),
        "bins of 0 ns",
        file="port.parquet",
    ),
    case(
        "parquet-width-negative",
        parquet({"start_ns": STARTS, "bytes": range(100), "bin_ns": [-5] * 100}),
        "bins of -5 ns",
        file="port.parquet",
    ),
    case(
        "parquet-deep-facts",
        parquet({"start_ns": STARTS, "bytes": range(100)}, "[" * 100_000),
        "port.parquet: not a Parquet file of volumes",
        file="port.parquet",
    ),
    case("parquet-one-row", parquet({"start_ns": [0], "bytes": [1]}), "port.parquet", file="port.parquet"),
    case(
        "parquet-out-of-order",
        parquet({"start_ns": STARTS[::-1], "bytes": range(100), "bin_ns": [300 * 10**9] * 100}),
        "does not begin a bin after row",
        file="port.parquet",
    ),
    case(
        "parquet-rows-twice",
        parquet({"start_ns": [s for s in STARTS for _ in "ab"], "bytes": range(200), "bin_ns": [300 * 10**9] * 200}),
        "does not begin a bin after row",
        file="port.parquet",
    ),
    case(
        "parquet-stamp-leaps",
        parquet({"start_ns": [*STARTS, 2**62], "bytes": range(101), "bin_ns": [10**6] * 101}),
        "port.parquet",
        "hint:",
        file="port.parquet",
    ),
    case(
        "parquet-facts-damaged",
        parquet({"start_ns": STARTS, "bytes": range(100)}, "{not json"),
        "port.parquet",
        file="port.parquet",
    ),
    case(
        "parquet-facts-of-another-kind",
        parquet({"start_ns": STARTS[:1] * 2, "bytes": [1, 2]}, [{"bin_ns": "wide"}]),
        "port.parquet",
        file="port.parquet",
    ),
)

USE_CASES = (
    case(
        "bill-of-one-sample",
        "time,bytes\n2024-05-01 00:00:00,5\n",
        "no month can be billed",
        "hint:",
        command=BILL,
        options=("--interval", "5min"),
    ),
    case("bill-of-19-samples", good(19), "19 samples: below 20 the 95th percentile is the largest", command=BILL),
    case("bill-of-a-month-not-there", good(), "nothing in that month", command=BILL, options=("--month", "1999-01")),
    case("bill-of-no-month", good(), "month 'May'", "hint:", command=BILL, options=("--month", "May")),
    case(
        "bill-forecast-from-hours",
        good(300),
        "less than the 30 days to forecast from",
        command=BILL,
        options=("--forecast-days", "30"),
    ),
    case("bill-percentile-of-zero", good(), "percentile 0", command=BILL, options=("--percentile", "0")),
    case("bill-percentile-not-a-number", good(), "percentile nan", command=BILL, options=("--percentile", "nan")),
    case("bill-hourly-polls", good(100, step=3600), "bins of", "hint:", command=BILL),
    case("bill-two-in-one-out", good(), "expected as many", command=BILL, options=("port.csv", "--out", "port.csv")),
    case("dimension-of-two-rows", "time,bytes\n0,5\n300,6\n", "at least 50 are needed", command=DIMENSION),
    case("dimension-by-more-than-all", good(), "epsilon 1.5", command=DIMENSION, options=("--epsilon", "1.5")),
    case("dimension-holds-all-out", good(), "held-out share 1", command=DIMENSION, options=("--held-out", "1")),
    case("generate-over-its-input", good(), "is the input", "hint:", command=GENERATE, options=("-o", "port.csv")),
    case(
        "generate-endlessly", good(), "--bins", command=GENERATE, options=("-o", "made.csv", "--bins", "1000000000000")
    ),
    case("generate-into-a-folder", good(), "-o . is a folder", command=GENERATE, options=("-o", ".")),
    case("generate-into-no-folder", good(), "port.csv", command=GENERATE, options=("-o", "port.csv/made.csv")),
    case("bin-over-its-input", good(), "is the input", command=BIN, options=("-o", "./port.csv")),
    case("report-over-its-input", good(), "is the input", command=REPORT, options=("-o", "port.csv")),
    case(
        "report-figures-into-a-file",
        good(),
        "is no folder",
        command=REPORT,
        options=("-o", "x.html", "--figures", "port.csv"),
    ),
    case(
        "report-of-two-rows", "time,bytes\n0,5\n300,6\n", "fewer than 50 bins", command=REPORT, options=("-o", "x.html")
    ),
    case(
        "report-of-nothing", rows(90, lambda k: f"{k * 300},0"), "no traffic", command=REPORT, options=("-o", "x.html")
    ),
    case("report-no-such-trace", good(), "hint:", command=REPORT, options=("-o", "x.html", "--show", "nobody")),
)

CASES = (*TEXT_CASES, *COLUMN_CASES, *TIME_CASES, *VALUE_CASES, *PARQUET_CASES, *USE_CASES)
