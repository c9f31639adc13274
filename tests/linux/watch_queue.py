"""Samples the queue of an interface by rtnetlink(7), until SIGTERM: `watch_queue.py DEVICE [--every SECONDS]`.

Prints one object of JSON at the end: when the first sample was taken (`CLOCK_MONOTONIC`), the packets in each as one
text, and the counters of each queueing discipline. `tc -s` would do, but for a process for each sample.
"""

import argparse
import json
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator

RTM_GETQDISC, RTM_NEWQDISC, NLMSG_DONE, NLMSG_ERROR = 38, 36, 3, 2
BUFFER = memoryview(bytearray(1 << 16))
REQUEST_DUMP = 0x301
TCA_KIND, TCA_STATS2 = 1, 7
TCA_STATS_QUEUE, TCA_STATS_APP = 3, 4
ROOT = 0xFFFFFFFF
HEADER = struct.Struct("=IHHII")
QDISC = struct.Struct("=BxxxiIII")
"""`struct tcmsg`: family, interface, handle, parent, references."""
QUEUE = struct.Struct("=IIIII")
"""`struct gnet_stats_queue`: packets, bytes, drops, requeues, overlimits."""
RED = struct.Struct("=IIII")
"""`struct tc_red_xstats`: early drops, drops for want of room, other drops, marks."""


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3 :]


def disciplines(netlink: socket.socket, device: int) -> Iterator[tuple[str, int, tuple[int, ...], bytes]]:
    """Kind, parent, counters of the queue and those of the kind, of each discipline of a device."""
    message = HEADER.pack(HEADER.size + QDISC.size, RTM_GETQDISC, REQUEST_DUMP, 1, 0) + QDISC.pack(0, device, 0, 0, 0)
    netlink.send(message)
    while True:
        data = bytes(BUFFER[: netlink.recv_into(BUFFER)])
        while data:
            length, kind, *_ = HEADER.unpack_from(data)
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                sys.exit("the kernel does not tell its queues")
            body, data = data[HEADER.size : length], data[(length + 3) & ~3 :]
            _, found, _, parent, _ = QDISC.unpack_from(body)
            if kind != RTM_NEWQDISC or found != device:
                continue
            told = dict(attributes(body[QDISC.size :]))
            stats = dict(attributes(told.get(TCA_STATS2, b"")))
            queue = QUEUE.unpack_from(stats.get(TCA_STATS_QUEUE, bytes(QUEUE.size)))
            yield told[TCA_KIND].rstrip(b"\0").decode(), parent, queue, stats.get(TCA_STATS_APP, b"")


def summary(netlink: socket.socket, device: int) -> dict[str, dict[str, int]]:
    found = {}
    for kind, _, queue, own in disciplines(netlink, device):
        found[kind] = {"dropped": queue[2]}
        if kind == "red" and len(own) >= RED.size:
            early, full, other, marked = RED.unpack_from(own)
            found[kind] |= {"early": early, "full": full, "other": other, "marked": marked}
    return found


def watch(device: int, every: float) -> None:
    counts: list[int] = []
    going = True

    def stop(*_: object) -> None:
        nonlocal going
        going = False

    signal.signal(signal.SIGTERM, stop)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        begun = time.monotonic()
        print("watching", flush=True)
        while going:
            counts.extend(queue[0] for _, parent, queue, _ in disciplines(netlink, device) if parent == ROOT)
            time.sleep(max(0.0, begun + len(counts) * every - time.monotonic()))
        told = {"event": "queue", "start": begun, "every": every, "disciplines": summary(netlink, device)}
        print(json.dumps({**told, "packets": ",".join(map(str, counts))}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device")
    parser.add_argument("--every", type=float, default=0.001)
    arguments = parser.parse_args()
    watch(socket.if_nametoindex(arguments.device), arguments.every)


if __name__ == "__main__":
    main()
