"""The cases of the comparison with csg-htsim: transports with the same settings in both, on matrices that both read."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PAYLOAD, HEADER = 4096, 64
PACKET = PAYLOAD + HEADER
SENDERS = 32
QUEUE = 35
"""Packets that a port of NDP holds, and of windows that fill the path: csg-htsim's own validation has 35 and 50."""
WINDOW = 50
PAUSE, RESUME = 15, 12
"""Packets from which on csg-htsim's lossless switches pause a link, and let it go on: its defaults."""
BASE_RTT_US = 12
"""csg-htsim's HPCC has this round trip, and grows by a packet; its packets have no room for telemetry."""
PACKETS = {"permutation": 1221, "incast": 244}
"""Full packets of a flow: 5 MB and 1 MB."""


@dataclass(frozen=True)
class World:
    """A fat tree, its packets, and how much its hosts send.

    Attributes:
        k: Ports of a switch.
        rate_mbps: Of every link.
        delay_us: Of every link.
        payload: Bytes of a packet without its header.
        packets: Full packets of a flow, by matrix.
        end_us: When csg-htsim stops.
        steps: Of a ring: messages that carry a chunk, one after the other; 2 (hosts - 1) of a whole all-reduce.
    """

    k: int = 8
    rate_mbps: int = 100_000
    delay_us: int = 1
    payload: int = PAYLOAD
    packets: Mapping[str, int] = field(default_factory=lambda: PACKETS)
    end_us: int = 20_000
    steps: int = 1

    @property
    def hosts(self) -> int:
        return self.k**3 // 4


WORLD = World()
"""Where the transports are compared."""
HOSTS = WORLD.hosts


@dataclass(frozen=True)
class Case:
    """A transport.

    Attributes:
        name: For people.
        program: Of csg-htsim.
        theirs: Its options beside the fabric's.
        ours: The scenario's lines beside the fabric's.
        repaired: Whether csg-htsim is patched.
        uet: Whether the program is Ultra Ethernet's fork, uet-htsim.
    """

    name: str
    program: str
    theirs: tuple[str, ...]
    ours: str
    repaired: bool = False
    uet: bool = False


ECMP = ("-strat", "ecmp_host", "-paths", str(HOSTS))
LOSSLESS = f'switch.pfc = {{ xoff = "{PAUSE * PAYLOAD}B", xon = "{RESUME * PAYLOAD}B" }}\n'
ROCE = f'{{ packet = "{PACKET}B", header = "{HEADER}B" }}'
HPCC = f"""{LOSSLESS}
[transport]
name = "hpcc"
roce = {ROCE}
hpcc = {{ base_rtt = "{BASE_RTT_US}us", additive_increase = "{PAYLOAD}B", telemetry = "0B" }}
"""

BUFFER, FIRST = 1000, 15
"""Packets that a port holds under Swift, so that nothing is lost, and the first window, csg-htsim's default."""
SWIFT_THEIRS = ("-q", str(BUFFER), "-cwnd", str(FIRST))
SWIFT = f"""
switch.buffer = "{BUFFER} packets"
[transport]
name = "swift"
[transport.tcp]
packet = "{PACKET}B"
header = "{HEADER}B"
initial_window = {FIRST}
handshake = false
receive_window = "16MB"
rto_initial = "1ms"
rto_min = "1ms"
"""

SPRAYED = (*ECMP, "-q", str(QUEUE))
EQDS = f"""
switch.buffer = "{QUEUE} packets"
[transport]
name = "eqds"
uec = {{ packet = "{PACKET}B", header = "{HEADER}B", initial_window = {WINDOW}, entropies = {HOSTS} }}
"""


def uec(control: str, marks: str) -> str:
    """Ultra Ethernet's transport over ports of so many packets that mark."""
    return f"""
[switch]
buffer = "{QUEUE} packets"
{marks}
[transport]
name = "uec"
uec = {{ packet = "{PACKET}B", header = "{HEADER}B", control = "{control}", entropies = {HOSTS} }}
"""


UEC_PATHS = ("-paths", str(HOSTS), "-q", str(QUEUE))


def ndp(queue: int, window: int, packet: int = PACKET) -> Case:
    """NDP, with ports and first windows of so many packets of so many bytes."""
    return Case(
        "NDP",
        "htsim_ndp",
        ("-strat", "perm", "-q", str(queue), "-cwnd", str(window)),
        f"""
routing.mode = "per-packet-permuted"
switch.buffer = "{queue} packets"
[transport]
name = "ndp"
ndp = {{ packet = "{packet}B", header = "{HEADER}B", initial_window = {window} }}
""",
    )


CASES: tuple[Case, ...] = (
    ndp(QUEUE, WINDOW),
    Case("EQDS", "htsim_eqds", (*SPRAYED, "-cwnd", str(WINDOW)), EQDS),
    Case("UEC, NSCC", "htsim_uec", ("-sender_cc_only", *UEC_PATHS), uec("nscc", ""), uet=True),
    Case("UEC, RCCC", "htsim_uec", ("-receiver_cc_only", *UEC_PATHS), uec("rccc", ""), uet=True),
    Case("RoCE", "htsim_roce", ECMP, f'{LOSSLESS}\n[transport]\nname = "roce"\nroce = {ROCE}\n'),
    Case("HPCC", "htsim_hpcc", ECMP, HPCC),
    Case("HPCC, repaired", "htsim_hpcc", ECMP, HPCC, repaired=True),
    Case("Swift", "htsim_swift", SWIFT_THEIRS, SWIFT),
    Case("Swift, repaired", "htsim_swift", SWIFT_THEIRS, SWIFT, repaired=True),
)


def matrix(kind: str, seed: int, world: World = WORLD) -> str:
    """A connection matrix in csg-htsim's format: a permutation without fixed points, an incast to host 0, or a ring.

    In a ring, as csg-htsim's `gen_allreduce.py` writes it, each host has a chunk, which goes from host to host: whoever
    has got it sends it on, when the sender before knows that all of it has arrived.
    """
    flows, size = pairs(kind, seed, world), world.packets[kind] * world.payload
    lines = [f"{a}->{b} id {n + 1} {begin(n, world)} size {size}" for n, (a, b) in enumerate(flows)]
    triggers = [n for n in range(1, len(flows)) if n % world.steps]
    for n in triggers:
        lines[n - 1] += f" send_done_trigger {n}"
    lines += [f"trigger id {n} oneshot" for n in triggers]
    head = [f"Nodes {world.hosts}", f"Connections {len(flows)}", *([f"Triggers {len(triggers)}"] if triggers else [])]
    return "\n".join([*head, *lines, ""])


def begin(flow: int, world: World) -> str:
    """When a flow begins: at once, or, in a ring, when the one before is done."""
    return f"trigger {flow}" if flow % world.steps else "start 0"


def pairs(kind: str, seed: int, world: World = WORLD) -> list[tuple[int, int]]:
    """Who sends to whom."""
    chosen = random.Random(f"{kind} {seed}")
    if kind == "incast":
        return [(a, 0) for a in sorted(chosen.sample(range(1, world.hosts), SENDERS))]
    to = list(range(world.hosts))
    if kind == "ring":
        chosen.shuffle(to)
        steps = [(first, step) for first in range(world.hosts) for step in range(world.steps)]
        return [(to[(a + n) % world.hosts], to[(a + n + 1) % world.hosts]) for a, n in steps]
    while any(a == b for a, b in enumerate(to)):
        chosen.shuffle(to)
    return list(enumerate(to))


def scenario(case: Case, file: Path, world: World = WORLD) -> str:
    """The scenario that reads a matrix; of a ring, with its triggers."""
    flows = (
        f'job = {{ file = "{file.name}" }}'
        if world.steps > 1
        else f'trace = {{ file = "{file.name}", start_unit = "ps" }}'
    )
    return f"""
fabric = {{ topology = "fat-tree", k = {world.k}, rate = "{world.rate_mbps}Mbps", delay = "{world.delay_us}us" }}
{case.ours}
[[workload]]
name = "matrix"
{flows}
"""


def options(case: Case, file: Path, kind: str, seed: int, world: World = WORLD) -> list[str]:
    """What csg-htsim's program is called with."""
    links = ["-nodes", str(world.hosts), "-linkspeed", str(world.rate_mbps)]
    shared = [*links, "-tm", file.name, "-o", "log", "-end", str(world.end_us)]
    packet = world.payload + HEADER
    if case.program == "htsim_swift":
        # Swift's packets have no header; it has links of 1 us and one seed, and does not take sizes from the matrix.
        own = ["-mtu", str(packet), "-flowsize", str(world.packets[kind])]
    else:
        whole = case.program in {"htsim_eqds", "htsim_uec"}
        own = ["-mtu", str(packet if whole else world.payload), "-hop_latency", str(world.delay_us), "-seed", str(seed)]
    return [*shared, *own, *case.theirs]
