"""What is compared: settings that mean the same to the kernel and to the simulator."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

FRAME = 1514
"""A full packet where queues count: Ethernet, IPv4, TCP with time stamps (66 B), and payload."""
PAYLOAD = 1448

EXACT, AVERAGED, MININET, OFFLOADED = "exact", "averaged", "mininet", "mininet-offload"
"""How the kernel's queues are: see the page's table."""


RFC, BARE, LINUX = "rfc", "bare", "linux"
RULES: Mapping[str, tuple[str, ...]] = {
    RFC: (),
    BARE: ("transport.tcp.window_rules=linux-6.1",),
    LINUX: (
        "transport.tcp.window_rules=linux-6.1",
        "transport.tcp.rack=true",
        # Of its timers: `TCP_TIMEOUT_MIN`, two ticks of the virtual machine's kernel (tools/linux-vm/linux.config).
        "transport.tcp.clock_granularity=8ms",
    ),
}
"""The simulator's TCP: by the RFCs; as the kernel without tail loss probes and RACK; as the kernel."""


@dataclass(frozen=True)
class Case:
    """One setting of an experiment. Rates in Mbit/s, times in us, buffers and thresholds in full packets."""

    experiment: str
    transport: str
    """`dctcp`; `ecn-star`: the kernel's Reno with ECN; `reno`."""
    senders: int
    rate: int
    delay: int
    """Of one link, one way."""
    buffer: int
    size: int
    """Bytes of each sender."""
    mark: int | None = None
    """Marking threshold; none: a queue that drops only."""
    layout: str = EXACT
    jitter: float = 0.0
    requests: int = 1
    """So often, one after the other, with new connections."""
    sysctl: Mapping[str, int] = field(default_factory=dict)
    sample: float = 0.01
    """Seconds between two looks at the queue."""

    @property
    def key(self) -> str:
        changed = "".join(f"-{name.rpartition('.')[2]}={value}" for name, value in self.sysctl.items())
        return f"{self.simulated}-{self.layout}{changed}"

    @property
    def simulated(self) -> str:
        """The key of the simulator's case, which has the queue as it is, by the RFCs' rules."""
        return f"{self.experiment}-{self.transport}-{self.senders}-b{self.buffer}-k{self.mark or 0}"

    def simulated_by(self, rules: str) -> str:
        """The key of the simulator's case by these rules."""
        return self.simulated if rules == RFC else f"{self.simulated}-{rules}"

    @property
    def capacity(self) -> float:
        """Payload that the link carries, in Mbit/s."""
        return self.rate * PAYLOAD / FRAME

    @property
    def red_burst(self) -> int:
        """The burst that tc makes the weight of RED's average of."""
        assert self.mark is not None
        return self.mark if self.layout == EXACT else 20

    @property
    def red_weight(self) -> float:
        """The weight that tc makes of threshold and burst (`tc_red_eval_ewma`, tc/tc_red.c of iproute2)."""
        assert self.mark is not None
        weight, wanted = 1.0, self.red_burst + 1 - self.mark
        for _ in range(31):
            weight /= 2
            if wanted <= (1 - (1 - weight) ** self.red_burst) / weight:
                break
        return weight


@dataclass(frozen=True)
class Measured:
    """One run. Seconds of each flow, request by request; samples of the queue while all flows were running."""

    flows: tuple[tuple[tuple[float, float], ...], ...]
    size: int
    queue: tuple[float, ...] = ()
    """Mean, 5th, 50th and 95th percentile, in packets."""
    counts: Mapping[str, float] = field(default_factory=dict)
    """Packets marked and dropped, timeouts, and so on. The kernel's are the mean of a case's runs, in each of them."""
    steady_mbps: float | None = None
    """While all flows were running, from a second after the last start: none of blocks."""

    @property
    def seconds(self) -> list[float]:
        """Of each request: from the first start to the last end."""
        return [max(end for _, end in one) - min(start for start, _ in one) for one in self.flows]

    @property
    def spread(self) -> float:
        """Microseconds from the first to the last start of a request's flows, on average."""
        return mean(1e6 * (max(start for start, _ in one) - min(start for start, _ in one)) for one in self.flows)

    @property
    def mbps(self) -> float:
        """While all flows were running; of blocks, of all requests together."""
        if self.steady_mbps is not None:
            return self.steady_mbps
        return sum(len(one) for one in self.flows) * self.size * 8e-6 / sum(self.seconds)

    def summary(self) -> dict[str, Any]:
        """What a record keeps."""
        seconds = sorted(self.seconds)
        return {
            "mbps": round(self.mbps, 4),
            "seconds": [round(mean(seconds), 6), round(seconds[len(seconds) // 2], 6), round(seconds[-1], 6)],
            "spread_us": round(self.spread, 1),
            "queue": [round(value, 3) for value in self.queue],
            "counts": dict(self.counts),
        }


STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 20: 2.093}
"""Student's t for 95 % of both sides, by the number of values."""


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of its 95 % confidence interval."""
    if len(values) < 2:
        return mean(values), 0.0
    return mean(values), STUDENT[len(values)] * stdev(values) / len(values) ** 0.5


def adaptation(size: int = 40_000_000) -> Iterator[Case]:
    """Joy §4.4: two to four long flows at the lower and the upper threshold. So many bytes in all."""
    for layout in (EXACT, AVERAGED, MININET, OFFLOADED):
        for transport, lower in (("dctcp", 3), ("ecn-star", 5)):
            if layout == AVERAGED and transport == "ecn-star":
                # A repetition did not end within 600 s: the page says what may be the cause.
                continue
            for senders in (2, 3, 4) if layout in {EXACT, AVERAGED} else (2,):
                for mark in (lower, 10):
                    yield Case(
                        "adaptation", transport, senders, 100, 150, 25, size // senders, mark, layout, jitter=0.1
                    )


def queue(size: int = 20_000_000) -> Iterator[Case]:
    """Joy §3.6.1.5: the queue of two long DCTCP flows."""
    for layout in (EXACT, AVERAGED, MININET, OFFLOADED):
        yield Case("queue", "dctcp", 2, 100, 225, 2770, size, 5, layout, jitter=0.1, sample=0.002)


NO_PROBES = {"net.ipv4.tcp_early_retrans": 0, "net.ipv4.tcp_recovery": 0}
"""Without tail loss probes and without RACK (RFC 8985)."""


def incast(requests: int = 10) -> Iterator[Case]:
    """1 MB in all from 2 to 60 senders, 1 Gbps, a buffer of 100 packets."""
    for transport, mark in (("dctcp", 20), ("reno", None)):
        for sysctl in ({}, NO_PROBES):
            for senders in (2, 4, 8, 16, 32, 60):
                size = 1_000_000 // senders
                yield Case("incast", transport, senders, 1000, 20, 100, size, mark, requests=requests, sysctl=sysctl)


def song(requests: int = 10) -> Iterator[Case]:
    """Song §5.3: blocks from 3, 5 and 7 senders with Reno, 262144 B of each, behind one link."""
    for senders in (3, 5, 7):
        for buffer in (20, 80):
            for sysctl in ({}, NO_PROBES):
                yield Case("song", "reno", senders, 1000, 1500, buffer, 262_144, requests=requests, sysctl=sysctl)


EXPERIMENTS = {"adaptation": adaptation, "queue": queue, "incast": incast, "song": song}
