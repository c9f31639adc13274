"""Traffic over the kernel's own TCP, in hosts of a lab: `serve` answers with bytes, `fetch` asks many at once.

    load.py serve [--congestion NAME]
    load.py fetch --from ADDRESS,... --bytes N [--congestion NAME] [--repeat N] [--jitter SECONDS] [--seed N]

Prints objects of JSON, one a line. The standard library is all it needs. Times are of `CLOCK_MONOTONIC`, the same in
all namespaces of a kernel.
"""

import argparse
import bisect
import json
import random
import select
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path

PORT = 5001
BLOCK = 1 << 14
CHUNK = memoryview(bytes(1 << 17))
LONGEST = struct.Struct("!Q")
SETTLES = 1.0
"""Seconds from the last start until windows are what they stay."""

COUNTERS = ("TCPTimeouts", "TCPFastRetrans", "TCPSlowStartRetrans", "TCPLossProbes")
"""Of `/proc/net/netstat`: why segments were sent again."""


def opened(congestion: str | None) -> socket.socket:
    """A socket with this congestion control, which both ends of DCTCP need (RFC 8257 §3.2)."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if congestion is not None:
        try:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        except OSError as error:
            sys.exit(f"the kernel has no congestion control {congestion!r}: {error.strerror}")
    return made


def answer(connection: socket.socket) -> None:
    """Sends as many bytes as each request asks for, until the other end closes."""
    with connection:
        while (request := connection.recv(LONGEST.size, socket.MSG_WAITALL)) and len(request) == LONGEST.size:
            (left,) = LONGEST.unpack(request)
            while left:
                left -= connection.send(CHUNK[: min(left, len(CHUNK))])


def counters() -> dict[str, int]:
    text = Path("/proc/net/netstat").read_text(encoding="ascii")
    lines = [line.split() for line in text.splitlines() if line.startswith("TcpExt:")]
    found = dict(zip(lines[0][1:], map(int, lines[1][1:]), strict=True))
    return {name: found.get(name, 0) for name in COUNTERS}


def serve(congestion: str | None) -> None:
    """Until SIGTERM, and tells what the host sent again."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(json.dumps({"event": "served", **counters()}), flush=True)))
    with opened(congestion) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", PORT))
        listener.listen(256)
        print("listening", flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()


def receive(connection: socket.socket, size: int, delay: float, progress: list[tuple[float, int]]) -> None:
    """Asks for bytes after a delay, and notes when how many were there."""
    buffer = memoryview(bytearray(BLOCK))
    got = 0
    time.sleep(delay)
    progress.append((time.monotonic(), got))
    connection.sendall(LONGEST.pack(size))
    while got < size:
        # Wakes for whole blocks: to wake for each packet would take more time than TCP itself.
        wanted = min(size - got, BLOCK)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
        select.select([connection], [], [])
        count = connection.recv_into(buffer[:wanted])
        if count == 0:
            return
        got += count
        progress.append((time.monotonic(), got))


def arrived(progress: list[tuple[float, int]], at: float) -> float:
    """Bytes that were there at this time, on a straight line between two notes."""
    after = bisect.bisect_left(progress, (at, 0))
    (early, before), (late, then) = progress[after - 1], progress[after]
    return before + (then - before) * (at - early) / (late - early)


def fetch_once(servers: list[str], size: int, congestion: str | None, starts: list[float]) -> dict[str, object]:
    """One request to each server, so many seconds after all connections are open."""
    connections = [opened(congestion) for _ in servers]
    for connection, server in zip(connections, servers, strict=True):
        connection.connect((server, PORT))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    notes: list[list[tuple[float, int]]] = [[] for _ in servers]
    each = zip(connections, starts, notes, strict=True)
    threads = [threading.Thread(target=receive, args=(one, size, delay, note)) for one, delay, note in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connection in connections:
        connection.close()
    if any(note[-1][1] < size for note in notes):
        sys.exit("a server has closed its connection before all was sent")
    flows = [{"start": round(note[0][0], 6), "end": round(note[-1][0], 6)} for note in notes]
    told: dict[str, object] = {"event": "fetched", "bytes": size, "flows": flows}
    begin, end = max(note[0][0] for note in notes) + SETTLES, min(note[-1][0] for note in notes)
    if begin < end:
        total = sum(arrived(note, end) - arrived(note, begin) for note in notes)
        told["steady_mbps"] = round(total * 8e-6 / (end - begin), 4)
    return told


def fetch(arguments: argparse.Namespace) -> None:
    draw = random.Random(arguments.seed)
    servers = arguments.servers.split(",")
    for _ in range(arguments.repeat):
        starts = [draw.uniform(0, arguments.jitter) for _ in servers]
        print(json.dumps(fetch_once(servers, arguments.bytes, arguments.congestion, starts)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="what", required=True)
    for what in ("serve", "fetch"):
        kinds.add_parser(what).add_argument("--congestion", help="congestion control; default: the kernel's")
    fetching = kinds.choices["fetch"]
    fetching.add_argument("--from", dest="servers", required=True, metavar="ADDRESS,...")
    fetching.add_argument("--bytes", type=int, required=True, help="of each server")
    fetching.add_argument("--repeat", type=int, default=1, help="so often, with new connections")
    fetching.add_argument("--jitter", type=float, default=0.0, help="requests leave at random within so many seconds")
    fetching.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.what == "serve":
        serve(arguments.congestion)
    else:
        fetch(arguments)


if __name__ == "__main__":
    main()
